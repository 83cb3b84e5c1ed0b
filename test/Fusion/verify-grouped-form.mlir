// RUN: tenon-opt %s --verify-grouped-form --split-input-file --verify-diagnostics

// Groups, constants, loops with groups inside, views and barriers are grouped form.
func.func @main(%x: tensor<4x8xf32>, %n: tensor<i32>) -> (tensor<4xf32>, tensor<32xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<4x8xf32>
  cond {
    %more = step.group elementwise(%i, %n) : (tensor<i32>, tensor<i32>) -> tensor<i1> {
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %c = stablehlo.compare LT, %a, %b, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      step.yield %c : tensor<i1>
    }
    stablehlo.return %more : tensor<i1>
  } do {
    %next:2 = step.group generic(%i, %v) : (tensor<i32>, tensor<4x8xf32>) -> (tensor<i32>, tensor<4x8xf32>) {
    ^bb0(%a: tensor<i32>, %b: tensor<4x8xf32>):
      %one = stablehlo.constant dense<1> : tensor<i32>
      %c = stablehlo.add %a, %one : tensor<i32>
      step.yield %c, %b : tensor<i32>, tensor<4x8xf32>
    }
    stablehlo.return %next#0, %next#1 : tensor<i32>, tensor<4x8xf32>
  }
  %1 = stablehlo.optimization_barrier %0#1 : tensor<4x8xf32>
  %2 = step.group row(%1) : (tensor<4x8xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %init = stablehlo.constant dense<0.0> : tensor<f32>
    %s = stablehlo.reduce(%a init: %init) applies stablehlo.add across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
    step.yield %s : tensor<4xf32>
  }
  %3 = stablehlo.reshape %1 : (tensor<4x8xf32>) -> tensor<32xf32>
  return %2, %3 : tensor<4xf32>, tensor<32xf32>
}

// -----

func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{'stablehlo.tanh' op stands outside a group in grouped form}}
  %0 = stablehlo.tanh %x : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// Regions of loops are looked into.
func.func @main(%x: tensor<i32>) -> tensor<i32> {
  %0 = stablehlo.while(%i = %x) : tensor<i32>
  cond {
    %more = stablehlo.constant dense<true> : tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    // expected-error@+1 {{'stablehlo.add' op stands outside a group}}
    %n = stablehlo.add %i, %i : tensor<i32>
    stablehlo.return %n : tensor<i32>
  }
  return %0 : tensor<i32>
}

// -----

// A sum of rows is no element-wise kernel.
func.func @main(%x: tensor<4x8xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'step.group' op is of kind elementwise, expected row}}
  %0 = step.group elementwise(%x) : (tensor<4x8xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %init = stablehlo.constant dense<0.0> : tensor<f32>
    %s = stablehlo.reduce(%a init: %init) applies stablehlo.add across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
    step.yield %s : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

// -----

// Results of different shapes have no iteration space in common.
func.func @main(%x: tensor<8xf32>, %y: tensor<4xf32>) -> (tensor<8xf32>, tensor<4xf32>) {
  // expected-error@+1 {{'step.group' op no template emits this group: }}
  %0:2 = step.group elementwise(%x, %y) : (tensor<8xf32>, tensor<4xf32>) -> (tensor<8xf32>, tensor<4xf32>) {
  ^bb0(%a: tensor<8xf32>, %b: tensor<4xf32>):
    %c = stablehlo.tanh %a : tensor<8xf32>
    %d = stablehlo.tanh %b : tensor<4xf32>
    step.yield %c, %d : tensor<8xf32>, tensor<4xf32>
  }
  return %0#0, %0#1 : tensor<8xf32>, tensor<4xf32>
}

// -----

func.func @main(%x: tensor<2x8xf32>, %w: tensor<8x4xf32>) -> tensor<2x4xf32> {
  // expected-error@+1 {{'step.group' op a library group needs the attribute 'exec.library'}}
  %0 = step.group library(%x, %w) : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32> {
  ^bb0(%a: tensor<2x8xf32>, %b: tensor<8x4xf32>):
    %d = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
    step.yield %d : tensor<2x4xf32>
  }
  return %0 : tensor<2x4xf32>
}

// -----

// expected-error@+1 {{argument 0 has no role and a successor, expected the role of a state}}
func.func @main(%x: tensor<8xf32> {step.successor = 0 : i64}) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}

// -----

// expected-error@+1 {{argument 0 has the role batch and a successor, expected the role of a state}}
func.func @main(%x: tensor<8xf32> {step.role = #step.role<batch>, step.successor = 0 : i64}) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}

// -----

// expected-error@+1 {{arguments 0 and 1 have the same successor, result 0}}
func.func @main(%x: tensor<8xf32> {step.role = #step.role<state>, step.successor = 0 : i64},
                %y: tensor<8xf32> {step.role = #step.role<state>, step.successor = 0 : i64}) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}
