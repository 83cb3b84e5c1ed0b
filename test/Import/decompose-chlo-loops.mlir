// RUN: tenon-opt %s --import-decompose-chlo --split-input-file | FileCheck %s

// A scan is a loop over its dimension that fills its outputs; backwards, the
// index counts down.

// CHECK-LABEL: func.func @scan
// CHECK: %[[N:.*]] = stablehlo.constant dense<7> : tensor<i32>
// CHECK: %[[LAST:.*]] = stablehlo.constant dense<6> : tensor<i32>
// CHECK: %[[AT:.*]] = stablehlo.subtract %[[LAST]], %[[I:.*]] : tensor<i32>
// CHECK: stablehlo.dynamic_slice %arg0, %{{.*}}, %[[AT]]{{.*}}sizes = [3, 1]
// CHECK: stablehlo.multiply
// CHECK: stablehlo.add
// CHECK: stablehlo.dynamic_update_slice
// CHECK-NOT: chlo.
func.func @scan(%x: tensor<3x7xf32>, %c: tensor<3xf32>) -> (tensor<3x7xf32>, tensor<3xf32>) {
  %0:2 = "chlo.scan"(%x, %c) <{dimension = 1 : i64, is_reverse = true, operandSegmentSizes = array<i32: 1, 1>, resultSegmentSizes = array<i32: 1, 1>}> ({
  ^bb0(%a: tensor<3xf32>, %b: tensor<3xf32>):
    %z = chlo.square %a : tensor<3xf32> -> tensor<3xf32>
    %s = stablehlo.add %b, %z : tensor<3xf32>
    stablehlo.return %s, %s : tensor<3xf32>, tensor<3xf32>
  }) : (tensor<3x7xf32>, tensor<3xf32>) -> (tensor<3x7xf32>, tensor<3xf32>)
  return %0#0, %0#1 : tensor<3x7xf32>, tensor<3xf32>
}

// -----

// One product per group, for all rows; rows of other groups keep what they have.

// CHECK-LABEL: func.func @rows
// CHECK: stablehlo.while
// CHECK: %[[END:.*]] = stablehlo.add %[[FIRST:.*]], %{{.*}} : tensor<i32>
// CHECK: %[[PRODUCT:.*]] = stablehlo.dot_general %arg0, %{{.*}}, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<6x4xf32>, tensor<4x5xf32>) -> tensor<6x5xf32>
// CHECK: %[[ROW:.*]] = stablehlo.iota dim = 0 : tensor<6x5xi32>
// CHECK: %[[MASK:.*]] = stablehlo.and
// CHECK: stablehlo.select %[[MASK]], %[[PRODUCT]]
func.func @rows(%l: tensor<6x4xf32>, %r: tensor<3x4x5xf32>, %g: tensor<3xi32>) -> tensor<6x5xf32> {
  %0 = "chlo.ragged_dot"(%l, %r, %g) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>, precision_config = [#chlo<precision HIGHEST>, #chlo<precision HIGHEST>]}> : (tensor<6x4xf32>, tensor<3x4x5xf32>, tensor<3xi32>) -> tensor<6x5xf32>
  return %0 : tensor<6x5xf32>
}
