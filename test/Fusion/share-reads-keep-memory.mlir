// RUN: tenon-opt %s --split-input-file --fusion-share-reads=keep-memory --verify-grouped-form | FileCheck %s
// RUN: tenon-opt %s --split-input-file --fusion-share-reads --verify-grouped-form | FileCheck %s --check-prefix=ANY
// RUN: tenon-opt %s --split-input-file --fusion-share-reads="keep-memory narrow-as-f32" --verify-grouped-form | FileCheck %s --check-prefix=NARROW

// Both results may lie where the two values lay, one of which is seen through a
// reshape.

// CHECK-LABEL: func.func @read_last
// CHECK: step.group elementwise(%{{.*}}, %{{.*}}) : (tensor<64x256xf32>, tensor<64x256xf32>) -> (tensor<64x256xf32>, tensor<64x256xf32>)
// ANY-LABEL: func.func @read_last
func.func @read_last(%x: tensor<64x256xf32>) -> (tensor<64x256xf32>, tensor<64x256xf32>) {
  %h = step.group elementwise(%x) : (tensor<64x256xf32>) -> tensor<64x256xf32> {
  ^bb0(%a: tensor<64x256xf32>):
    %0 = stablehlo.tanh %a : tensor<64x256xf32>
    step.yield %0 : tensor<64x256xf32>
  }
  %y = stablehlo.reshape %x : (tensor<64x256xf32>) -> tensor<16384xf32>
  %l = step.group elementwise(%y) : (tensor<16384xf32>) -> tensor<16384xf32> {
  ^bb0(%a: tensor<16384xf32>):
    %0 = stablehlo.negate %a : tensor<16384xf32>
    step.yield %0 : tensor<16384xf32>
  }
  %g = step.group elementwise(%h) : (tensor<64x256xf32>) -> tensor<64x256xf32> {
  ^bb0(%a: tensor<64x256xf32>):
    %0 = stablehlo.tanh %a : tensor<64x256xf32>
    step.yield %0 : tensor<64x256xf32>
  }
  %dy = stablehlo.reshape %l : (tensor<16384xf32>) -> tensor<64x256xf32>
  %d = step.group elementwise(%dy, %h) : (tensor<64x256xf32>, tensor<64x256xf32>) -> tensor<64x256xf32> {
  ^bb0(%a: tensor<64x256xf32>, %b: tensor<64x256xf32>):
    %0 = stablehlo.tanh %b : tensor<64x256xf32>
    %1 = stablehlo.multiply %a, %0 : tensor<64x256xf32>
    step.yield %1 : tensor<64x256xf32>
  }
  return %g, %d : tensor<64x256xf32>, tensor<64x256xf32>
}

// -----

// What the step was given stays in memory, so two results would lie beside it.

// CHECK-LABEL: func.func @given
// CHECK-COUNT-2: step.group elementwise
// ANY-LABEL: func.func @given
// ANY: step.group elementwise
// ANY-NOT: step.group
func.func @given(%h: tensor<64x256xf32>, %dy: tensor<64x256xf32>) -> (tensor<64x256xf32>, tensor<64x256xf32>) {
  %g = step.group elementwise(%h) : (tensor<64x256xf32>) -> tensor<64x256xf32> {
  ^bb0(%a: tensor<64x256xf32>):
    %0 = stablehlo.tanh %a : tensor<64x256xf32>
    step.yield %0 : tensor<64x256xf32>
  }
  %d = step.group elementwise(%dy, %h) : (tensor<64x256xf32>, tensor<64x256xf32>) -> tensor<64x256xf32> {
  ^bb0(%a: tensor<64x256xf32>, %b: tensor<64x256xf32>):
    %0 = stablehlo.tanh %b : tensor<64x256xf32>
    %1 = stablehlo.multiply %a, %0 : tensor<64x256xf32>
    step.yield %1 : tensor<64x256xf32>
  }
  return %g, %d : tensor<64x256xf32>, tensor<64x256xf32>
}

// -----

// What runs behind the joined kernel, since it waits for the first one, still
// reads the second value.

// CHECK-LABEL: func.func @waits
// CHECK-COUNT-4: step.group
// ANY-LABEL: func.func @waits
// ANY-COUNT-3: step.group
// ANY-NOT: step.group
func.func @waits(%x: tensor<64x256xf32>) -> (tensor<256xf32>, tensor<64x256xf32>) {
  %h:2 = step.group elementwise(%x) : (tensor<64x256xf32>) -> (tensor<64x256xf32>, tensor<64x256xf32>) {
  ^bb0(%a: tensor<64x256xf32>):
    %0 = stablehlo.tanh %a : tensor<64x256xf32>
    %1 = stablehlo.negate %a : tensor<64x256xf32>
    step.yield %0, %1 : tensor<64x256xf32>, tensor<64x256xf32>
  }
  %g = step.group elementwise(%h#0) : (tensor<64x256xf32>) -> tensor<64x256xf32> {
  ^bb0(%a: tensor<64x256xf32>):
    %0 = stablehlo.tanh %a : tensor<64x256xf32>
    step.yield %0 : tensor<64x256xf32>
  }
  %s = step.group column(%g, %h#1) : (tensor<64x256xf32>, tensor<64x256xf32>) -> tensor<256xf32> {
  ^bb0(%a: tensor<64x256xf32>, %b: tensor<64x256xf32>):
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.multiply %a, %b : tensor<64x256xf32>
    %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<64x256xf32>, tensor<f32>) -> tensor<256xf32>
    step.yield %1 : tensor<256xf32>
  }
  %d = step.group elementwise(%h#1, %h#0) : (tensor<64x256xf32>, tensor<64x256xf32>) -> tensor<64x256xf32> {
  ^bb0(%a: tensor<64x256xf32>, %b: tensor<64x256xf32>):
    %0 = stablehlo.tanh %b : tensor<64x256xf32>
    %1 = stablehlo.multiply %a, %0 : tensor<64x256xf32>
    step.yield %1 : tensor<64x256xf32>
  }
  return %s, %d : tensor<256xf32>, tensor<64x256xf32>
}

// -----

// What formats made a bf16 counts as the f32 that it was, if that is asked for.

// CHECK-LABEL: func.func @narrow
// CHECK-COUNT-4: step.group
// ANY-LABEL: func.func @narrow
// ANY-COUNT-2: step.group
// ANY-NOT: step.group
// NARROW-LABEL: func.func @given
// NARROW-COUNT-2: step.group
// NARROW-LABEL: func.func @narrow
// NARROW-COUNT-3: step.group
// NARROW-NOT: step.group
func.func @narrow(%x: tensor<64x256xf32>) -> (tensor<64x256xf32>, tensor<64x256xf32>) {
  %h = step.group elementwise(%x) : (tensor<64x256xf32>) -> tensor<64x256xbf16> {
  ^bb0(%a: tensor<64x256xf32>):
    %0 = stablehlo.tanh %a : tensor<64x256xf32>
    %1 = stablehlo.convert %0 {step.cast} : (tensor<64x256xf32>) -> tensor<64x256xbf16>
    step.yield %1 : tensor<64x256xbf16>
  }
  %dy = step.group elementwise(%x) : (tensor<64x256xf32>) -> tensor<64x256xf32> {
  ^bb0(%a: tensor<64x256xf32>):
    %0 = stablehlo.negate %a : tensor<64x256xf32>
    step.yield %0 : tensor<64x256xf32>
  }
  %g = step.group elementwise(%h) : (tensor<64x256xbf16>) -> tensor<64x256xf32> {
  ^bb0(%a: tensor<64x256xbf16>):
    %0 = stablehlo.convert %a {step.cast} : (tensor<64x256xbf16>) -> tensor<64x256xf32>
    %1 = stablehlo.tanh %0 : tensor<64x256xf32>
    step.yield %1 : tensor<64x256xf32>
  }
  %d = step.group elementwise(%dy, %h) : (tensor<64x256xf32>, tensor<64x256xbf16>) -> tensor<64x256xf32> {
  ^bb0(%a: tensor<64x256xf32>, %b: tensor<64x256xbf16>):
    %0 = stablehlo.convert %b {step.cast} : (tensor<64x256xbf16>) -> tensor<64x256xf32>
    %1 = stablehlo.tanh %0 : tensor<64x256xf32>
    %2 = stablehlo.multiply %a, %1 : tensor<64x256xf32>
    step.yield %2 : tensor<64x256xf32>
  }
  return %g, %d : tensor<64x256xf32>, tensor<64x256xf32>
}
