// RUN: tenon-opt %s --split-input-file --fusion-form-groups --verify-grouped-form | FileCheck %s

// An element-wise chain becomes one kernel; the broadcast is read, not stored.

// CHECK-LABEL: func.func @main
// CHECK: step.group elementwise(%arg1, %arg0) : (tensor<8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
// CHECK: stablehlo.broadcast_in_dim
// CHECK: stablehlo.add
// CHECK: stablehlo.tanh
// CHECK: step.yield
// CHECK-NOT: step.group
func.func @main(%x: tensor<4x8xf32>, %b: tensor<8xf32>) -> tensor<4x8xf32> {
  %0 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<8xf32>) -> tensor<4x8xf32>
  %1 = stablehlo.add %x, %0 : tensor<4x8xf32>
  %2 = stablehlo.tanh %1 : tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// -----

// Softmax is one row kernel: two reductions level by level.

// CHECK-LABEL: func.func @main
// CHECK: step.group row(%{{.*}}) : (tensor<4x8xf32>) -> tensor<4x8xf32>
// CHECK-COUNT-2: stablehlo.reduce
// CHECK-NOT: step.group
func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<4xf32>) -> tensor<4x8xf32>
  %2 = stablehlo.subtract %x, %1 : tensor<4x8xf32>
  %3 = stablehlo.exponential %2 : tensor<4x8xf32>
  %4 = stablehlo.reduce(%3 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<4xf32>) -> tensor<4x8xf32>
  %6 = stablehlo.divide %3, %5 : tensor<4x8xf32>
  return %6 : tensor<4x8xf32>
}

// -----

// A reduced row used as a column needs another row's value: two kernels.

// CHECK-LABEL: func.func @main
// CHECK: step.group row
// CHECK: step.group elementwise
func.func @main(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<8x8xf32>, tensor<f32>) -> tensor<8xf32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [1] : (tensor<8xf32>) -> tensor<8x8xf32>
  %2 = stablehlo.subtract %x, %1 : tensor<8x8xf32>
  return %2 : tensor<8x8xf32>
}

// -----

// Two gradients over the same columns share the pass over their operand.

// CHECK-LABEL: func.func @main
// CHECK: step.group column(%{{.*}}, %{{.*}}) : (tensor<640x32xf32>, tensor<640x32xf32>) -> (tensor<32xf32>, tensor<32xf32>)
// CHECK-NOT: step.group
func.func @main(%dy: tensor<640x32xf32>, %x: tensor<640x32xf32>) -> (tensor<32xf32>, tensor<32xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%dy init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<640x32xf32>, tensor<f32>) -> tensor<32xf32>
  %1 = stablehlo.multiply %dy, %x : tensor<640x32xf32>
  %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<640x32xf32>, tensor<f32>) -> tensor<32xf32>
  return %0, %2 : tensor<32xf32>, tensor<32xf32>
}

// -----

// Merging the first and the last would close a cycle through the product.

// CHECK-LABEL: func.func @main
// CHECK: step.group elementwise
// CHECK: step.group generic
// CHECK: step.group elementwise
func.func @main(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = stablehlo.add %x, %x : tensor<8x8xf32>
  %1 = stablehlo.dot_general %0, %0, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = stablehlo.add %0, %1 : tensor<8x8xf32>
  return %2 : tensor<8x8xf32>
}

// -----

// A reshape moves no bytes and stays a view between groups.

// CHECK-LABEL: func.func @main
// CHECK: step.group elementwise
// CHECK: stablehlo.reshape
// CHECK: step.group elementwise
func.func @main(%x: tensor<4x6xf32>) -> tensor<24xf32> {
  %0 = stablehlo.tanh %x : tensor<4x6xf32>
  %1 = stablehlo.reshape %0 : (tensor<4x6xf32>) -> tensor<24xf32>
  %2 = stablehlo.negate %1 : tensor<24xf32>
  return %2 : tensor<24xf32>
}

// -----

// Where a maximum was is looked for among values that its kernel widens itself.

// CHECK-LABEL: func.func @main
// CHECK: step.group generic(%arg1, %arg0) : (tensor<2x7x4xbf16>, tensor<2x8x4xbf16>) -> tensor<2x8x4xf32>
// CHECK-COUNT-2: stablehlo.convert
// CHECK: stablehlo.select_and_scatter
// CHECK-NOT: step.group
func.func @main(%x: tensor<2x8x4xbf16>, %y: tensor<2x7x4xbf16>) -> tensor<2x8x4xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.convert %x {step.cast} : (tensor<2x8x4xbf16>) -> tensor<2x8x4xf32>
  %1 = stablehlo.convert %y {step.cast} : (tensor<2x7x4xbf16>) -> tensor<2x7x4xf32>
  %2 = "stablehlo.select_and_scatter"(%0, %1, %zero) <{window_dimensions = array<i64: 1, 2, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.compare GE, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<2x8x4xf32>, tensor<2x7x4xf32>, tensor<f32>) -> tensor<2x8x4xf32>
  return %2 : tensor<2x8x4xf32>
}

// -----

// What nobody reads is no result of a kernel, and of no use to one: not in front
// of a group that stands, nor in a loop, nor what only its like reads.

// CHECK-LABEL: func.func @main
// CHECK-NOT: stablehlo.add
// CHECK-NOT: stablehlo.multiply
// CHECK: step.group generic(%arg0)
// CHECK: stablehlo.while
// CHECK-NOT: stablehlo.exponential
// CHECK: return
func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = stablehlo.add %x, %x : tensor<4x8xf32>
  %1 = stablehlo.multiply %0, %x : tensor<4x8xf32>
  %2 = step.group generic(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %3 = stablehlo.tanh %a : tensor<4x8xf32>
    step.yield %3 : tensor<4x8xf32>
  }
  %true = stablehlo.constant dense<true> : tensor<i1>
  %4:2 = stablehlo.while(%y = %2, %go = %true) : tensor<4x8xf32>, tensor<i1> cond {
    stablehlo.return %go : tensor<i1>
  } do {
    %5 = stablehlo.exponential %0 : tensor<4x8xf32>
    %6 = stablehlo.negate %y : tensor<4x8xf32>
    %7 = stablehlo.not %go : tensor<i1>
    stablehlo.return %6, %7 : tensor<4x8xf32>, tensor<i1>
  }
  return %4#0 : tensor<4x8xf32>
}

// -----

// What an unread group alone reads, too.

// CHECK-LABEL: func.func @main
// CHECK-NEXT: step.group elementwise
// CHECK-NEXT: ^bb0
// CHECK-NEXT: stablehlo.cosine
// CHECK-NEXT: step.yield
// CHECK-NEXT: }
// CHECK-NEXT: return
func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = stablehlo.add %x, %x : tensor<4x8xf32>
  %1 = step.group generic(%0) : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %2 = stablehlo.tanh %a : tensor<4x8xf32>
    step.yield %2 : tensor<4x8xf32>
  }
  %3 = stablehlo.optimization_barrier %1 : tensor<4x8xf32>
  %4 = stablehlo.cosine %x : tensor<4x8xf32>
  return %4 : tensor<4x8xf32>
}
