// RUN: tenon-opt %s --split-input-file --verify-diagnostics

func.func @main(%x: tensor<8xf32>, %step: tensor<ui32>, %key: tensor<2xui32>) {
  // expected-error@+1 {{rounds 'tensor<8xf32>' to 'tensor<4x2xbf16>', expected an f32 and a bf16 of one shape}}
  %0 = step.stochastic_round %x, %step, %key : (tensor<8xf32>, tensor<ui32>, tensor<2xui32>) -> tensor<4x2xbf16>
  return
}

// -----

func.func @main(%x: tensor<8xf64>, %step: tensor<ui32>, %key: tensor<2xui32>) {
  // expected-error@+1 {{rounds 'tensor<8xf64>' to 'tensor<8xbf16>', expected an f32 and a bf16 of one shape}}
  %0 = step.stochastic_round %x, %step, %key : (tensor<8xf64>, tensor<ui32>, tensor<2xui32>) -> tensor<8xbf16>
  return
}

// -----

func.func @main(%x: tensor<65537x65536xf32>, %step: tensor<ui32>, %key: tensor<2xui32>) {
  // expected-error@+1 {{rounds 'tensor<65537x65536xf32>', expected a static shape of at most 4294967296 elements}}
  %0 = step.stochastic_round %x, %step, %key : (tensor<65537x65536xf32>, tensor<ui32>, tensor<2xui32>) -> tensor<65537x65536xbf16>
  return
}

// -----

func.func @main(%x: tensor<8xf32>, %step: tensor<i32>, %key: tensor<2xui32>) {
  // expected-error@+1 {{has a step of type 'tensor<i32>', expected tensor<ui32>}}
  %0 = step.stochastic_round %x, %step, %key : (tensor<8xf32>, tensor<i32>, tensor<2xui32>) -> tensor<8xbf16>
  return
}

// -----

func.func @main(%x: tensor<8xf32>, %step: tensor<ui32>, %key: tensor<4xui32>) {
  // expected-error@+1 {{has a key of type 'tensor<4xui32>', expected tensor<2xui32>}}
  %0 = step.stochastic_round %x, %step, %key : (tensor<8xf32>, tensor<ui32>, tensor<4xui32>) -> tensor<8xbf16>
  return
}

// -----

func.func @main(%x: tensor<8xf32>, %zero: tensor<f32>, %step: tensor<ui32>, %key: tensor<2xui32>) -> tensor<f32> {
  %0 = "stablehlo.reduce"(%x, %zero) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    // expected-error@+1 {{stands in a region of 'stablehlo.reduce', where elements have no index; round the operation's result instead}}
    %2 = step.stochastic_round %1, %step, %key : (tensor<f32>, tensor<ui32>, tensor<2xui32>) -> tensor<bf16>
    %3 = stablehlo.convert %2 : (tensor<bf16>) -> tensor<f32>
    stablehlo.return %3 : tensor<f32>
  }) : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func @main(%x: tensor<8xf32>, %step: tensor<ui32>, %key: tensor<2xui32>, %indices: tensor<8xi32>) -> tensor<8xbf16> {
  // expected-error@+1 {{has indices of type 'tensor<8xi32>', expected a ui32 for each element of 'tensor<8xf32>'}}
  %0 = step.stochastic_round %x, %step, %key, %indices : (tensor<8xf32>, tensor<ui32>, tensor<2xui32>, tensor<8xi32>) -> tensor<8xbf16>
  return %0 : tensor<8xbf16>
}
