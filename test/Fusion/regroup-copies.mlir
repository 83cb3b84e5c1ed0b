// RUN: tenon-opt %s --split-input-file --fusion-regroup-copies | FileCheck %s

// A copy and a copy of what it computes join the kernel that reads them.

// CHECK-LABEL: func.func @chain
// CHECK-NEXT: step.group row(%arg0, %arg1) attributes {step.joined_nodes = array<i64: 4, 5>, step.nanoseconds = {{[0-9]+}} : i64, step.node = 9 : i64, step.node_values = array<i64: 7>}
// CHECK: stablehlo.tanh
// CHECK: stablehlo.multiply
// CHECK: stablehlo.reduce
// CHECK-NOT: step.group
func.func @chain(%x: tensor<8x64xf32>, %g: tensor<8x64xf32>) -> tensor<8xf32> {
  %t = step.group elementwise(%x) attributes {step.node = 4 : i64, step.recomputed} : (tensor<8x64xf32>) -> tensor<8x64xf32> {
  ^bb0(%a: tensor<8x64xf32>):
    %0 = stablehlo.tanh %a : tensor<8x64xf32>
    step.yield %0 : tensor<8x64xf32>
  }
  %m = step.group elementwise(%g, %t) attributes {step.node = 5 : i64, step.recomputed} : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32> {
  ^bb0(%a: tensor<8x64xf32>, %b: tensor<8x64xf32>):
    %0 = stablehlo.multiply %a, %b : tensor<8x64xf32>
    step.yield %0 : tensor<8x64xf32>
  }
  %s = step.group row(%m) attributes {step.node = 9 : i64, step.node_values = array<i64: 7>} : (tensor<8x64xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8x64xf32>):
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<8x64xf32>, tensor<f32>) -> tensor<8xf32>
    step.yield %0 : tensor<8xf32>
  }
  return %s : tensor<8xf32>
}

// -----

// A first run stays where it is, and so does a copy that two kernels read.

// CHECK-LABEL: func.func @first
// CHECK-COUNT-4: step.group elementwise
func.func @first(%x: tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>) {
  %t = step.group elementwise(%x) attributes {step.node = 0 : i64} : (tensor<8x64xf32>) -> tensor<8x64xf32> {
  ^bb0(%a: tensor<8x64xf32>):
    %0 = stablehlo.tanh %a : tensor<8x64xf32>
    step.yield %0 : tensor<8x64xf32>
  }
  %u = step.group elementwise(%t) attributes {step.node = 1 : i64, step.recomputed} : (tensor<8x64xf32>) -> tensor<8x64xf32> {
  ^bb0(%a: tensor<8x64xf32>):
    %0 = stablehlo.sine %a : tensor<8x64xf32>
    step.yield %0 : tensor<8x64xf32>
  }
  %v = step.group elementwise(%u) attributes {step.node = 2 : i64} : (tensor<8x64xf32>) -> tensor<8x64xf32> {
  ^bb0(%a: tensor<8x64xf32>):
    %0 = stablehlo.negate %a : tensor<8x64xf32>
    step.yield %0 : tensor<8x64xf32>
  }
  %w = step.group elementwise(%u) attributes {step.node = 3 : i64} : (tensor<8x64xf32>) -> tensor<8x64xf32> {
  ^bb0(%a: tensor<8x64xf32>):
    %0 = stablehlo.cosine %a : tensor<8x64xf32>
    step.yield %0 : tensor<8x64xf32>
  }
  return %v, %w : tensor<8x64xf32>, tensor<8x64xf32>
}

// -----

// Two large values would have to wait for the reader instead of one.

// CHECK-LABEL: func.func @waiting
// CHECK-COUNT-4: step.group elementwise
func.func @waiting(%x: tensor<8x64xf32>, %g: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %a = step.group elementwise(%x) attributes {step.node = 0 : i64} : (tensor<8x64xf32>) -> tensor<8x64xf32> {
  ^bb0(%p: tensor<8x64xf32>):
    %0 = stablehlo.tanh %p : tensor<8x64xf32>
    step.yield %0 : tensor<8x64xf32>
  }
  %b = step.group elementwise(%x) attributes {step.node = 1 : i64} : (tensor<8x64xf32>) -> tensor<8x64xf32> {
  ^bb0(%p: tensor<8x64xf32>):
    %0 = stablehlo.sine %p : tensor<8x64xf32>
    step.yield %0 : tensor<8x64xf32>
  }
  %c = step.group elementwise(%a, %b) attributes {step.node = 2 : i64, step.recomputed} : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32> {
  ^bb0(%p: tensor<8x64xf32>, %q: tensor<8x64xf32>):
    %0 = stablehlo.add %p, %q : tensor<8x64xf32>
    step.yield %0 : tensor<8x64xf32>
  }
  %d = step.group elementwise(%g, %c) attributes {step.node = 3 : i64} : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32> {
  ^bb0(%p: tensor<8x64xf32>, %q: tensor<8x64xf32>):
    %0 = stablehlo.multiply %p, %q : tensor<8x64xf32>
    step.yield %0 : tensor<8x64xf32>
  }
  return %d : tensor<8x64xf32>
}

// -----

// What another node runs between stays between.

// CHECK-LABEL: func.func @between
// CHECK-COUNT-3: step.group elementwise
func.func @between(%x: tensor<8x64xf32>, %g: tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>) {
  %t = step.group elementwise(%x) attributes {step.node = 0 : i64, step.recomputed} : (tensor<8x64xf32>) -> tensor<8x64xf32> {
  ^bb0(%a: tensor<8x64xf32>):
    %0 = stablehlo.tanh %a : tensor<8x64xf32>
    step.yield %0 : tensor<8x64xf32>
  }
  %s = step.group elementwise(%g) attributes {step.node = 1 : i64} : (tensor<8x64xf32>) -> tensor<8x64xf32> {
  ^bb0(%a: tensor<8x64xf32>):
    %0 = stablehlo.sine %a : tensor<8x64xf32>
    step.yield %0 : tensor<8x64xf32>
  }
  %m = step.group elementwise(%g, %t) attributes {step.node = 2 : i64} : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32> {
  ^bb0(%a: tensor<8x64xf32>, %b: tensor<8x64xf32>):
    %0 = stablehlo.multiply %a, %b : tensor<8x64xf32>
    step.yield %0 : tensor<8x64xf32>
  }
  return %m, %s : tensor<8x64xf32>, tensor<8x64xf32>
}

// -----

// A transfer that ran beside a copy and its reader runs beside the one kernel,
// one that had ended before the copy still has.

// CHECK-LABEL: func.func @beside
// CHECK: step.group save(%arg0) attributes {step.beside = 1 : i64, step.nanoseconds = 1 : i64}
// CHECK: step.group save(%arg1) attributes {step.beside = 1 : i64, step.nanoseconds = 2 : i64}
// CHECK: step.group row
func.func @beside(%x: tensor<8x64xf32>, %y: tensor<8x64xf32>) -> (tensor<8xf32>, tensor<8x64xf32>, tensor<8x64xf32>) {
  %c = step.group save(%x) attributes {step.beside = 1 : i64, step.nanoseconds = 1 : i64} : (tensor<8x64xf32>) -> tensor<8x64xf32> {
  ^bb0(%a: tensor<8x64xf32>):
    step.yield %a : tensor<8x64xf32>
  }
  %d = step.group save(%y) attributes {step.beside = 2 : i64, step.nanoseconds = 2 : i64} : (tensor<8x64xf32>) -> tensor<8x64xf32> {
  ^bb0(%a: tensor<8x64xf32>):
    step.yield %a : tensor<8x64xf32>
  }
  %t = step.group elementwise(%x) attributes {step.recomputed} : (tensor<8x64xf32>) -> tensor<8x64xf32> {
  ^bb0(%a: tensor<8x64xf32>):
    %0 = stablehlo.tanh %a : tensor<8x64xf32>
    step.yield %0 : tensor<8x64xf32>
  }
  %s = step.group row(%t) : (tensor<8x64xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8x64xf32>):
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<8x64xf32>, tensor<f32>) -> tensor<8xf32>
    step.yield %0 : tensor<8xf32>
  }
  return %s, %c, %d : tensor<8xf32>, tensor<8x64xf32>, tensor<8x64xf32>
}
