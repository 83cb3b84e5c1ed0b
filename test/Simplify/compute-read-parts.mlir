// RUN: tenon-opt %s --split-input-file --simplify-compute-read-parts | FileCheck %s
// RUN: tenon-opt %s --split-input-file --simplify-compute-read-parts --remarks-filter="simplify-.*" --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// The loss reads row 0 of a norm behind a residual MLP; its gradient comes back
// as a row with zeros around. One row is left of all, until the gradient of the
// input, whose reader wants the zeros.
// CHECK-LABEL: func.func @class_token
// CHECK-SAME: (%[[X:.*]]: tensor<2x9x4xf32>, %[[A:.*]]: tensor<4x8xf32>, %[[B:.*]]: tensor<8x4xf32>, %[[G:.*]]: tensor<2x1x4xf32>)
// CHECK-DAG: %[[XS:.*]] = stablehlo.slice %[[X]] [0:2, 0:1, 0:4]
// CHECK: %[[H:.*]] = stablehlo.dot_general %[[XS]], %[[A]], {{.*}} -> tensor<2x1x8xf32>
// CHECK: %[[HALF:.*]] = stablehlo.constant dense<5.000000e-01> : tensor<2x1x8xf32>
// CHECK: %[[S:.*]] = stablehlo.multiply %[[H]], %[[HALF]] : tensor<2x1x8xf32>
// CHECK: %[[F:.*]] = chlo.erf %[[S]]
// CHECK: %[[Y:.*]] = stablehlo.dot_general %[[F]], %[[B]], {{.*}} -> tensor<2x1x4xf32>
// CHECK: %[[R:.*]] = stablehlo.add %[[XS]], %[[Y]] : tensor<2x1x4xf32>
// CHECK: %[[M:.*]] = stablehlo.reduce(%[[R]] init: %{{.*}}) {{.*}} -> tensor<2x1xf32>
// CHECK: %[[N:.*]] = stablehlo.broadcast_in_dim %[[M]], dims = [0, 1] : (tensor<2x1xf32>) -> tensor<2x1x4xf32>
// CHECK: %[[D:.*]] = stablehlo.subtract %[[R]], %[[N]] : tensor<2x1x4xf32>
// CHECK: %[[GF:.*]] = stablehlo.dot_general %[[G]], %[[B]], contracting_dims = [2] x [1] {{.*}} -> tensor<2x1x8xf32>
// CHECK: %[[DB:.*]] = stablehlo.dot_general %[[F]], %[[G]], contracting_dims = [0, 1] x [0, 1] {{.*}} -> tensor<8x4xf32>
// CHECK: %[[GH:.*]] = stablehlo.multiply %[[GF]], %[[S]] : tensor<2x1x8xf32>
// CHECK: %[[DA:.*]] = stablehlo.dot_general %[[XS]], %[[GH]], contracting_dims = [0, 1] x [0, 1] {{.*}} -> tensor<4x8xf32>
// CHECK: %[[BIAS:.*]] = stablehlo.reduce(%[[GH]] init: %{{.*}}) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x1x8xf32>, tensor<f32>) -> tensor<8xf32>
// CHECK: %[[GX:.*]] = stablehlo.dot_general %[[GH]], %[[A]], {{.*}} -> tensor<2x1x4xf32>
// CHECK: %[[SUM:.*]] = stablehlo.add %[[G]], %[[GX]] : tensor<2x1x4xf32>
// CHECK: %[[P:.*]] = stablehlo.pad %[[SUM]], %{{.*}}, low = [0, 0, 0], high = [0, 8, 0]
// CHECK: return %[[D]], %[[DA]], %[[DB]], %[[BIAS]], %[[P]]
// REMARK: remark: [Passed] ReadParts {{.*}}16 operations compute what is read of them: 768 of 6912 FLOPs of their products
func.func @class_token(%x: tensor<2x9x4xf32>, %a: tensor<4x8xf32>, %b: tensor<8x4xf32>, %g: tensor<2x1x4xf32>)
    -> (tensor<2x1x4xf32>, tensor<4x8xf32>, tensor<8x4xf32>, tensor<8xf32>, tensor<2x9x4xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %half = stablehlo.constant dense<0.5> : tensor<2x9x8xf32>
  %0 = stablehlo.dot_general %x, %a, contracting_dims = [2] x [0] : (tensor<2x9x4xf32>, tensor<4x8xf32>) -> tensor<2x9x8xf32>
  %1 = stablehlo.multiply %0, %half : tensor<2x9x8xf32>
  %2 = chlo.erf %1 : tensor<2x9x8xf32> -> tensor<2x9x8xf32>
  %3 = stablehlo.dot_general %2, %b, contracting_dims = [2] x [0] : (tensor<2x9x8xf32>, tensor<8x4xf32>) -> tensor<2x9x4xf32>
  %4 = stablehlo.add %x, %3 : tensor<2x9x4xf32>
  %5 = stablehlo.reduce(%4 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<2x9x4xf32>, tensor<f32>) -> tensor<2x9xf32>
  %6 = stablehlo.broadcast_in_dim %5, dims = [0, 1] : (tensor<2x9xf32>) -> tensor<2x9x4xf32>
  %7 = stablehlo.subtract %4, %6 : tensor<2x9x4xf32>
  %8 = stablehlo.slice %7 [0:2, 0:1, 0:4] : (tensor<2x9x4xf32>) -> tensor<2x1x4xf32>
  %9 = stablehlo.pad %g, %zero, low = [0, 0, 0], high = [0, 8, 0], interior = [0, 0, 0] : (tensor<2x1x4xf32>, tensor<f32>) -> tensor<2x9x4xf32>
  %10 = stablehlo.dot_general %9, %b, contracting_dims = [2] x [1] : (tensor<2x9x4xf32>, tensor<8x4xf32>) -> tensor<2x9x8xf32>
  %11 = stablehlo.dot_general %2, %9, contracting_dims = [0, 1] x [0, 1] : (tensor<2x9x8xf32>, tensor<2x9x4xf32>) -> tensor<8x4xf32>
  %12 = stablehlo.multiply %10, %1 : tensor<2x9x8xf32>
  %13 = stablehlo.dot_general %x, %12, contracting_dims = [0, 1] x [0, 1] : (tensor<2x9x4xf32>, tensor<2x9x8xf32>) -> tensor<4x8xf32>
  %14 = stablehlo.reduce(%12 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x9x8xf32>, tensor<f32>) -> tensor<8xf32>
  %15 = stablehlo.dot_general %12, %a, contracting_dims = [2] x [1] : (tensor<2x9x8xf32>, tensor<4x8xf32>) -> tensor<2x9x4xf32>
  %16 = stablehlo.add %9, %15 : tensor<2x9x4xf32>
  return %8, %13, %11, %14, %16 : tensor<2x1x4xf32>, tensor<4x8xf32>, tensor<8x4xf32>, tensor<8xf32>, tensor<2x9x4xf32>
}

// -----

// One query of attention, with all keys; its bias and mask are cut, too. A
// causal one that is the last sees all keys.
// CHECK-LABEL: func.func @last_query
// CHECK-SAME: (%[[Q:[^:]*]]: tensor<2x8x4xf32>, %[[K:[^:]*]]: tensor<2x8x4xf32>, %[[V:[^:]*]]: tensor<2x8x4xf32>, %[[B:[^:]*]]: tensor<8x8xf32>, %[[G:[^:]*]]: tensor<2x1x4xf32>)
// CHECK-DAG: %[[QS:.*]] = stablehlo.slice %[[Q]] [0:2, 7:8, 0:4]
// CHECK-DAG: %[[BS:.*]] = stablehlo.slice %[[B]] [7:8, 0:8]
// CHECK: %[[O:.*]], %[[M:.*]], %[[S:.*]] = step.attention %[[QS]] [0, q, d], %[[K]] [0, k, d], %[[V]] [0, k, v] bias %[[BS]] [q, k] -> [0, q, v] {scale = 5.000000e-01 : f32}
// CHECK-SAME: -> (tensor<2x1x4xf32>, tensor<2x1xf32>, tensor<2x1xf32>)
// CHECK: %[[DQ:.*]], %[[DK:.*]], %[[DV:.*]] = step.attention_gradient %[[QS]] [0, q, d], %[[K]] [0, k, d], %[[V]] [0, k, v] bias %[[BS]] [q, k] of %[[M]], %[[S]], %[[G]] [0, q, v]
// CHECK-SAME: {scale = 5.000000e-01 : f32}
// CHECK-SAME: -> (tensor<2x1x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>)
// REMARK: remark: [Passed] ReadParts {{.*}}504 of 4032 FLOPs
// CHECK: %[[P:.*]] = stablehlo.pad %[[DQ]], %{{.*}}, low = [0, 7, 0], high = [0, 0, 0]
// CHECK: return %[[O]], %[[P]], %[[DK]], %[[DV]]
func.func @last_query(%q: tensor<2x8x4xf32>, %k: tensor<2x8x4xf32>, %v: tensor<2x8x4xf32>, %b: tensor<8x8xf32>, %g: tensor<2x1x4xf32>)
    -> (tensor<2x1x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %o, %m, %s = step.attention %q [0, q, d], %k [0, k, d], %v [0, k, v] bias %b [q, k] -> [0, q, v] {causal, scale = 5.000000e-01 : f32}
      : (tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<8x8xf32>) -> (tensor<2x8x4xf32>, tensor<2x8xf32>, tensor<2x8xf32>)
  %0 = stablehlo.slice %o [0:2, 7:8, 0:4] : (tensor<2x8x4xf32>) -> tensor<2x1x4xf32>
  %1 = stablehlo.pad %g, %zero, low = [0, 7, 0], high = [0, 0, 0], interior = [0, 0, 0] : (tensor<2x1x4xf32>, tensor<f32>) -> tensor<2x8x4xf32>
  %dq, %dk, %dv = step.attention_gradient %q [0, q, d], %k [0, k, d], %v [0, k, v] bias %b [q, k] of %m, %s, %1 [0, q, v] -> [0, q, d], [0, k, d], [0, k, v] {causal, scale = 5.000000e-01 : f32}
      : (tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<8x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8x4xf32>) -> (tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>)
  return %0, %dq, %dk, %dv : tensor<2x1x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>
}

// -----

// A causal query in front of others leaves out keys by its place, but one batch
// dimension of attention can be cut.
// CHECK-LABEL: func.func @first_query
// REMARK: remark: [Passed] ReadParts {{.*}}576 of 1152 FLOPs
// CHECK: step.attention %{{.*}}causal
// CHECK-SAME: -> (tensor<1x8x4xf32>, tensor<1x8xf32>, tensor<1x8xf32>)
// CHECK: stablehlo.slice %{{.*}} [0:1, 0:1, 0:4] : (tensor<1x8x4xf32>) -> tensor<1x1x4xf32>
func.func @first_query(%q: tensor<2x8x4xf32>, %k: tensor<2x8x4xf32>, %v: tensor<2x8x4xf32>) -> tensor<1x1x4xf32> {
  %o, %m, %s = step.attention %q [0, q, d], %k [0, k, d], %v [0, k, v] -> [0, q, v] {causal, scale = 5.000000e-01 : f32}
      : (tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>) -> (tensor<2x8x4xf32>, tensor<2x8xf32>, tensor<2x8xf32>)
  %0 = stablehlo.slice %o [1:2, 0:1, 0:4] : (tensor<2x8x4xf32>) -> tensor<1x1x4xf32>
  return %0 : tensor<1x1x4xf32>
}

// -----

// Transposes, reshapes that keep a dimension, concatenations along another one,
// comparisons and choices: all are cut. Two slices read what lies between them,
// too.
// CHECK-LABEL: func.func @movements
// REMARK: remark: [Passed] ReadParts {{.*}}144 of 432 FLOPs
// CHECK-SAME: (%[[X:.*]]: tensor<9x4xf32>, %[[W:.*]]: tensor<4x6xf32>)
// CHECK: %[[XS:.*]] = stablehlo.slice %[[X]] [2:5, 0:4] : (tensor<9x4xf32>) -> tensor<3x4xf32>
// CHECK: %[[D:.*]] = stablehlo.dot_general %[[XS]], %[[W]], {{.*}} -> tensor<3x6xf32>
// CHECK: %[[R:.*]] = stablehlo.reshape %[[D]] : (tensor<3x6xf32>) -> tensor<3x1x2x3xf32>
// CHECK: %[[T:.*]] = stablehlo.transpose %[[R]], dims = [2, 0, 1, 3] : (tensor<3x1x2x3xf32>) -> tensor<2x3x1x3xf32>
// CHECK: %[[C:.*]] = stablehlo.concatenate %[[T]], %[[T]], dim = 2 : (tensor<2x3x1x3xf32>, tensor<2x3x1x3xf32>) -> tensor<2x3x2x3xf32>
// CHECK: %[[L:.*]] = stablehlo.compare LT, %[[C]], %{{.*}}, FLOAT : (tensor<2x3x2x3xf32>, tensor<2x3x2x3xf32>) -> tensor<2x3x2x3xi1>
// CHECK: %[[S:.*]] = stablehlo.select %[[L]], %[[C]], %{{.*}} : tensor<2x3x2x3xi1>, tensor<2x3x2x3xf32>
// CHECK: %[[A:.*]] = stablehlo.slice %[[S]] [0:2, 0:1, 0:2, 0:3]
// CHECK: %[[B:.*]] = stablehlo.slice %[[S]] [0:2, 2:3, 0:2, 0:3]
// CHECK: return %[[A]], %[[B]]
func.func @movements(%x: tensor<9x4xf32>, %w: tensor<4x6xf32>) -> (tensor<2x1x2x3xf32>, tensor<2x1x2x3xf32>) {
  %one = stablehlo.constant dense<1.0> : tensor<2x9x2x3xf32>
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<9x4xf32>, tensor<4x6xf32>) -> tensor<9x6xf32>
  %1 = stablehlo.reshape %0 : (tensor<9x6xf32>) -> tensor<9x1x2x3xf32>
  %2 = stablehlo.transpose %1, dims = [2, 0, 1, 3] : (tensor<9x1x2x3xf32>) -> tensor<2x9x1x3xf32>
  %3 = stablehlo.concatenate %2, %2, dim = 2 : (tensor<2x9x1x3xf32>, tensor<2x9x1x3xf32>) -> tensor<2x9x2x3xf32>
  %4 = stablehlo.compare LT, %3, %one, FLOAT : (tensor<2x9x2x3xf32>, tensor<2x9x2x3xf32>) -> tensor<2x9x2x3xi1>
  %5 = stablehlo.select %4, %3, %one : tensor<2x9x2x3xi1>, tensor<2x9x2x3xf32>
  %6 = stablehlo.slice %5 [0:2, 2:3, 0:2, 0:3] : (tensor<2x9x2x3xf32>) -> tensor<2x1x2x3xf32>
  %7 = stablehlo.slice %5 [0:2, 4:5, 0:2, 0:3] : (tensor<2x9x2x3xf32>) -> tensor<2x1x2x3xf32>
  return %6, %7 : tensor<2x1x2x3xf32>, tensor<2x1x2x3xf32>
}

// -----

// Parts of a sum that are zero elsewhere, and one whose zeros a reader of all
// gets back; a part that another reader wants only where there are zeros.
// CHECK-LABEL: func.func @two_parts
// REMARK: remark: [Passed] ReadParts {{.*}}96 of 256 FLOPs
// CHECK-SAME: (%[[A:.*]]: tensor<1x4xf32>, %[[B:.*]]: tensor<1x4xf32>, %[[W:.*]]: tensor<4x4xf32>)
// CHECK: %[[PA:.*]] = stablehlo.pad %[[A]], %{{.*}}, low = [0, 0], high = [2, 0], {{.*}} -> tensor<3x4xf32>
// CHECK: %[[PB:.*]] = stablehlo.pad %[[B]], %{{.*}}, low = [2, 0], high = [0, 0], {{.*}} -> tensor<3x4xf32>
// CHECK: %[[S:.*]] = stablehlo.add %[[PA]], %[[PB]] : tensor<3x4xf32>
// CHECK: %[[D:.*]] = stablehlo.dot_general %[[S]], %[[W]], {{.*}} -> tensor<3x4xf32>
// CHECK: %[[P:.*]] = stablehlo.pad %[[D]], %{{.*}}, low = [1, 0], high = [4, 0], {{.*}} -> tensor<8x4xf32>
// CHECK: %[[Z:.*]] = stablehlo.constant dense<0.000000e+00> : tensor<2x4xf32>
// CHECK: return %[[P]], %[[Z]]
func.func @two_parts(%a: tensor<1x4xf32>, %b: tensor<1x4xf32>, %w: tensor<4x4xf32>) -> (tensor<8x4xf32>, tensor<2x4xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.pad %a, %zero, low = [1, 0], high = [6, 0], interior = [0, 0] : (tensor<1x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  %1 = stablehlo.pad %b, %zero, low = [3, 0], high = [4, 0], interior = [0, 0] : (tensor<1x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  %2 = stablehlo.add %0, %1 : tensor<8x4xf32>
  %3 = stablehlo.dot_general %2, %w, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %4 = stablehlo.slice %3 [5:7, 0:4] : (tensor<8x4xf32>) -> tensor<2x4xf32>
  return %3, %4 : tensor<8x4xf32>, tensor<2x4xf32>
}

// -----

// A sum of zeros is what it starts at, so one that starts at one has all
// elements, of the terms that are not zero.
// CHECK-LABEL: func.func @sum_from_one
// CHECK: %[[D:.*]] = stablehlo.dot_general {{.*}} -> tensor<1x2x4xf32>
// CHECK: %[[P:.*]] = stablehlo.pad %[[D]], %{{.*}}, low = [0, 3, 0], high = [0, 3, 0], interior = [0, 0, 0] : (tensor<1x2x4xf32>, tensor<f32>) -> tensor<1x8x4xf32>
// CHECK: stablehlo.reduce(%[[P]] init: %{{.*}}) applies stablehlo.add across dimensions = [0] : (tensor<1x8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
// REMARK: remark: [Passed] ReadParts {{.*}}64 of 1024 FLOPs
func.func @sum_from_one(%x: tensor<1x2x4xf32>, %w: tensor<4x4xf32>) -> tensor<8x4xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %0 = stablehlo.pad %x, %zero, low = [2, 3, 0], high = [1, 3, 0], interior = [0, 0, 0] : (tensor<1x2x4xf32>, tensor<f32>) -> tensor<4x8x4xf32>
  %1 = stablehlo.dot_general %0, %w, contracting_dims = [2] x [0] : (tensor<4x8x4xf32>, tensor<4x4xf32>) -> tensor<4x8x4xf32>
  %2 = stablehlo.reduce(%1 init: %one) applies stablehlo.add across dimensions = [0] : (tensor<4x8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  return %2 : tensor<8x4xf32>
}

// -----

// What blocks: each of these reads all of the product, or is no zero where its
// operand is, so that the product stays whole.
// CHECK-LABEL: func.func @blocked
// CHECK-COUNT-12: stablehlo.dot_general {{.*}} -> tensor<8x4x{{[fi]}}32>
// CHECK-NOT: stablehlo.dot_general
func.func @blocked(%x: tensor<8x4xf32>, %w: tensor<4x4xf32>, %row: tensor<1x4xf32>, %ints: tensor<8x4xi32>, %introw: tensor<1x4xi32>, %weights: tensor<4x4xi32>)
    -> (tensor<1x4xf32>, tensor<2x4xf32>, tensor<1x4x4xf32>, tensor<1x4xf32>, tensor<5x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<8x4xf32>,
        tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xi32>, tensor<8x4xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %intzero = stablehlo.constant dense<0> : tensor<i32>
  // Reversed along the dimension.
  %a0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %a1 = stablehlo.reverse %a0, dims = [0] : tensor<8x4xf32>
  %a2 = stablehlo.slice %a1 [0:1, 0:4] : (tensor<8x4xf32>) -> tensor<1x4xf32>
  // Every seventh row.
  %b0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %b1 = stablehlo.slice %b0 [0:8:7, 0:4] : (tensor<8x4xf32>) -> tensor<2x4xf32>
  // A reshape that cuts the dimension.
  %c0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %c1 = stablehlo.reshape %c0 : (tensor<8x4xf32>) -> tensor<2x4x4xf32>
  %c2 = stablehlo.slice %c1 [0:1, 0:4, 0:4] : (tensor<2x4x4xf32>) -> tensor<1x4x4xf32>
  // A barrier.
  %d0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %d1 = stablehlo.optimization_barrier %d0 : tensor<8x4xf32>
  %d2 = stablehlo.slice %d1 [0:1, 0:4] : (tensor<8x4xf32>) -> tensor<1x4xf32>
  // More than half.
  %e0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %e1 = stablehlo.slice %e0 [0:5, 0:4] : (tensor<8x4xf32>) -> tensor<5x4xf32>
  // A loop that captures it.
  %f0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %f1:2 = stablehlo.while(%i = %intzero, %v = %row) : tensor<i32>, tensor<1x4xf32>
  cond {
    %limit = stablehlo.constant dense<3> : tensor<i32>
    %more = stablehlo.compare LT, %i, %limit, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %step = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %i, %step : tensor<i32>
    %part = stablehlo.slice %f0 [0:1, 0:4] : (tensor<8x4xf32>) -> tensor<1x4xf32>
    %sum = stablehlo.add %v, %part : tensor<1x4xf32>
    stablehlo.return %next, %sum : tensor<i32>, tensor<1x4xf32>
  }
  // A concatenation along the dimension.
  %g0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %g1 = stablehlo.concatenate %g0, %row, dim = 0 : (tensor<8x4xf32>, tensor<1x4xf32>) -> tensor<9x4xf32>
  %g2 = stablehlo.slice %g1 [0:1, 0:4] : (tensor<9x4xf32>) -> tensor<1x4xf32>
  // Padded with ones.
  %h0 = stablehlo.pad %row, %one, low = [0, 0], high = [7, 0], interior = [0, 0] : (tensor<1x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  %h1 = stablehlo.dot_general %h0, %w, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  // Zero becomes one.
  %i0 = stablehlo.pad %row, %zero, low = [0, 0], high = [7, 0], interior = [0, 0] : (tensor<1x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  %i1 = stablehlo.exponential %i0 : tensor<8x4xf32>
  %i2 = stablehlo.dot_general %i1, %w, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  // A sum with what is not zero.
  %j0 = stablehlo.pad %row, %zero, low = [0, 0], high = [7, 0], interior = [0, 0] : (tensor<1x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  %j1 = stablehlo.add %j0, %x : tensor<8x4xf32>
  %j2 = stablehlo.dot_general %j1, %w, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  // An integer zero divided by zero is -1.
  %k0 = stablehlo.pad %introw, %intzero, low = [0, 0], high = [7, 0], interior = [0, 0] : (tensor<1x4xi32>, tensor<i32>) -> tensor<8x4xi32>
  %k1 = stablehlo.divide %k0, %ints : tensor<8x4xi32>
  %k2 = stablehlo.dot_general %k1, %weights, contracting_dims = [1] x [0] : (tensor<8x4xi32>, tensor<4x4xi32>) -> tensor<8x4xi32>
  // A largest element, and a sum that starts at one.
  %l0 = stablehlo.pad %row, %zero, low = [0, 0], high = [7, 0], interior = [0, 0] : (tensor<1x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  %l1 = stablehlo.reduce(%l0 init: %one) applies stablehlo.maximum across dimensions = [1] : (tensor<8x4xf32>, tensor<f32>) -> tensor<8xf32>
  %l2 = stablehlo.broadcast_in_dim %l1, dims = [0] : (tensor<8xf32>) -> tensor<8x4xf32>
  %l3 = stablehlo.reduce(%l0 init: %one) applies stablehlo.add across dimensions = [1] : (tensor<8x4xf32>, tensor<f32>) -> tensor<8xf32>
  %l4 = stablehlo.broadcast_in_dim %l3, dims = [0] : (tensor<8xf32>) -> tensor<8x4xf32>
  %l5 = stablehlo.multiply %l2, %l4 : tensor<8x4xf32>
  %l6 = stablehlo.dot_general %l5, %w, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  return %a2, %b1, %c2, %d2, %e1, %f1#1, %g2, %h1, %i2, %j2, %k2, %l6
      : tensor<1x4xf32>, tensor<2x4xf32>, tensor<1x4x4xf32>, tensor<1x4xf32>, tensor<5x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<8x4xf32>,
        tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xi32>, tensor<8x4xf32>
}

// -----

// Without a product there is nothing to save: element-wise operations would only
// be followed by zeros that are written.
// CHECK-LABEL: func.func @no_product
// CHECK: stablehlo.multiply %{{.*}} : tensor<8x4xf32>
// REMARK-NOT: remark: [Passed]
// REMARK: remark: [Missed] ReadParts {{.*}}there is no product among them{{.*}}2 operations compute more than is read of them
func.func @no_product(%x: tensor<8x4xf32>, %row: tensor<1x4xf32>) -> tensor<8x4xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.pad %row, %zero, low = [0, 0], high = [7, 0], interior = [0, 0] : (tensor<1x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  %1 = stablehlo.multiply %0, %x : tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}
