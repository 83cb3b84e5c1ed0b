// RUN: tenon-opt %s --import-canonicalize-spelling --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @broadcasts
// CHECK-SAME: (%[[B:.*]]: tensor<64xf32>, %[[S:.*]]: tensor<f32>, %[[M:.*]]: tensor<8x4xf32>)
// CHECK: stablehlo.broadcast_in_dim %[[B]], dims = [1] : (tensor<64xf32>) -> tensor<32x64xf32>
// CHECK: stablehlo.broadcast_in_dim %[[S]], dims = [] : (tensor<f32>) -> tensor<2x3xf32>
// CHECK: %[[T:.*]] = stablehlo.transpose %[[M]], dims = [1, 0]
// CHECK: stablehlo.broadcast_in_dim %[[T]], dims = [0, 2] : (tensor<4x8xf32>) -> tensor<4x5x8xf32>
func.func @broadcasts(%b: tensor<64xf32>, %s: tensor<f32>, %m: tensor<8x4xf32>) -> (tensor<32x64xf32>, tensor<2x3xf32>, tensor<4x5x8xf32>) {
  // Through a unit dimension, in two steps.
  %0 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<64xf32>) -> tensor<1x64xf32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [0, 1] : (tensor<1x64xf32>) -> tensor<32x64xf32>
  // The deprecated form.
  %2 = stablehlo.broadcast %s, sizes = [2, 3] : (tensor<f32>) -> tensor<2x3xf32>
  // One that permutes.
  %3 = stablehlo.broadcast_in_dim %m, dims = [2, 0] : (tensor<8x4xf32>) -> tensor<4x5x8xf32>
  return %1, %2, %3 : tensor<32x64xf32>, tensor<2x3xf32>, tensor<4x5x8xf32>
}

// -----

// CHECK-LABEL: func.func @units
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32>)
// CHECK: %[[A:.*]] = stablehlo.reshape %[[X]] : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
// CHECK: %[[B:.*]] = stablehlo.reshape %[[X]] : (tensor<4x8xf32>) -> tensor<4x1x8xf32>
// CHECK: return %[[A]], %[[B]], %[[X]]
func.func @units(%x: tensor<4x8xf32>) -> (tensor<4x8x1xf32>, tensor<4x1x8xf32>, tensor<4x8xf32>) {
  %0 = stablehlo.broadcast_in_dim %x, dims = [0, 1] : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
  %1 = stablehlo.transpose %0, dims = [0, 2, 1] : (tensor<4x8x1xf32>) -> tensor<4x1x8xf32>
  %2 = stablehlo.reshape %1 : (tensor<4x1x8xf32>) -> tensor<2x16xf32>
  %3 = stablehlo.reshape %2 : (tensor<2x16xf32>) -> tensor<4x8xf32>
  return %0, %1, %3 : tensor<4x8x1xf32>, tensor<4x1x8xf32>, tensor<4x8xf32>
}

// -----

// A reshape between two dimensions that are both repeated, and unit dimensions
// that find no place, stay.

// CHECK-LABEL: func.func @stays
// CHECK: stablehlo.reshape %{{.*}} : (tensor<6xf32>) -> tensor<2x3xf32>
// CHECK: stablehlo.broadcast_in_dim %{{.*}}, dims = [0, 1]
func.func @stays(%x: tensor<6xf32>) -> tensor<2x3x4xf32> {
  %0 = stablehlo.reshape %x : (tensor<6xf32>) -> tensor<2x3xf32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [0, 1] : (tensor<2x3xf32>) -> tensor<2x3x4xf32>
  return %1 : tensor<2x3x4xf32>
}

// -----

// CHECK-LABEL: func.func @constants
// CHECK-DAG: %[[A:.*]] = stablehlo.constant dense<2.000000e+00> : tensor<4x8xf32>
// CHECK-DAG: %[[B:.*]] = stablehlo.constant dense<2.000000e+00> : tensor<32xf32>
// CHECK: return %[[A]], %[[B]]
func.func @constants() -> (tensor<4x8xf32>, tensor<32xf32>) {
  %two = stablehlo.constant dense<2.0> : tensor<f32>
  %0 = stablehlo.broadcast_in_dim %two, dims = [] : (tensor<f32>) -> tensor<4x8xf32>
  %1 = stablehlo.reshape %0 : (tensor<4x8xf32>) -> tensor<32xf32>
  return %0, %1 : tensor<4x8xf32>, tensor<32xf32>
}

// -----

// CHECK-LABEL: func.func @types
// CHECK: stablehlo.compare LT, %{{.*}}, FLOAT
// CHECK: stablehlo.compare LT, %{{.*}}, SIGNED
// CHECK: stablehlo.compare EQ, %{{.*}}, UNSIGNED
// CHECK: stablehlo.compare EQ, %{{.*}}, UNSIGNED
// CHECK: stablehlo.compare LT, %{{.*}}, TOTALORDER
func.func @types(%f: tensor<4xf32>, %i: tensor<4xi32>, %u: tensor<4xui32>, %b: tensor<4xi1>) -> (tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>) {
  %0 = stablehlo.compare LT, %f, %f : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %1 = stablehlo.compare LT, %i, %i : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  %2 = stablehlo.compare EQ, %u, %u : (tensor<4xui32>, tensor<4xui32>) -> tensor<4xi1>
  %3 = stablehlo.compare EQ, %b, %b : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  %4 = stablehlo.compare LT, %f, %f, TOTALORDER : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  return %0, %1, %2, %3, %4 : tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>
}

// -----

// A conversion down and up again is a user's rounding; one to the same type is
// nothing.

// CHECK-LABEL: func.func @conversions
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>)
// CHECK: %[[D:.*]] = stablehlo.convert %[[X]] : (tensor<4xf32>) -> tensor<4xbf16>
// CHECK: %[[U:.*]] = stablehlo.convert %[[D]] : (tensor<4xbf16>) -> tensor<4xf32>
// CHECK: return %[[U]]
func.func @conversions(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.convert %x : tensor<4xf32>
  %1 = stablehlo.convert %0 : (tensor<4xf32>) -> tensor<4xbf16>
  %2 = stablehlo.convert %1 : (tensor<4xbf16>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @deprecated
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32>, %[[Y:.*]]: tensor<8xf32>)
// CHECK: stablehlo.dot_general %[[X]], %[[Y]], contracting_dims = [1] x [0]
// CHECK: %[[M:.*]] = stablehlo.add %[[X]], %{{.*}} : tensor<4x8xf32>
// CHECK: return %{{.*}}, %[[M]], %[[X]]
func.func @deprecated(%x: tensor<4x8xf32>, %y: tensor<8xf32>) -> (tensor<4xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  %0 = stablehlo.dot %x, %y : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4xf32>
  %1 = "stablehlo.map"(%x) <{dimensions = array<i64: 0, 1>}> ({
  ^bb0(%a: tensor<f32>):
    %one = stablehlo.constant dense<1.0> : tensor<f32>
    %s = stablehlo.add %a, %one : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = stablehlo.tuple %x, %y : tuple<tensor<4x8xf32>, tensor<8xf32>>
  %3 = stablehlo.get_tuple_element %2[0] : (tuple<tensor<4x8xf32>, tensor<8xf32>>) -> tensor<4x8xf32>
  return %0, %1, %3 : tensor<4xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// CHECK-LABEL: func.func @dynamic
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32>, %
// CHECK: stablehlo.reshape %[[X]] : (tensor<4x8xf32>) -> tensor<32xf32>
// CHECK: stablehlo.slice %[[X]] [0:2, 1:8:3] : (tensor<4x8xf32>) -> tensor<2x3xf32>
// CHECK: stablehlo.iota dim = 0 : tensor<4xi32>
func.func @dynamic(%x: tensor<4x8xf32>, %shape: tensor<1xi32>) -> (tensor<32xf32>, tensor<2x3xf32>, tensor<4xi32>) {
  %0 = stablehlo.dynamic_reshape %x, %shape : (tensor<4x8xf32>, tensor<1xi32>) -> tensor<32xf32>
  %start = stablehlo.constant dense<[0, 1]> : tensor<2xi32>
  %limit = stablehlo.constant dense<[2, 8]> : tensor<2xi32>
  %stride = stablehlo.constant dense<[1, 3]> : tensor<2xi32>
  %1 = stablehlo.real_dynamic_slice %x, %start, %limit, %stride : (tensor<4x8xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<2x3xf32>
  %2 = stablehlo.dynamic_iota %shape, dim = 0 : (tensor<1xi32>) -> tensor<4xi32>
  return %0, %1, %2 : tensor<32xf32>, tensor<2x3xf32>, tensor<4xi32>
}

// -----

// A reducer refers to nothing outside, also when its constant is used elsewhere.

// CHECK-LABEL: func.func @regions
// CHECK: stablehlo.reduce
// CHECK: reducer
// CHECK: stablehlo.constant dense<1.000000e+00> : tensor<f32>
func.func @regions(%x: tensor<8xf32>, %init: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %init) across dimensions = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
   reducer(%a: tensor<f32>, %b: tensor<f32>) {
    %half = stablehlo.constant dense<1.0> : tensor<f32>
    %p = stablehlo.multiply %b, %half : tensor<f32>
    %s = stablehlo.add %a, %p : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }
  return %0, %one : tensor<f32>, tensor<f32>
}

// -----

// Floating-point sums of products of integers.

// CHECK-LABEL: func.func @float_sums_of_integers
// CHECK: %[[X:.*]] = stablehlo.convert %arg0 : (tensor<2x3xi16>) -> tensor<2x3xf16>
// CHECK: %[[Y:.*]] = stablehlo.convert %arg1 : (tensor<3x2xi16>) -> tensor<3x2xf16>
// CHECK: stablehlo.dot_general %[[X]], %[[Y]]
func.func @float_sums_of_integers(%x: tensor<2x3xi16>, %y: tensor<3x2xi16>) -> tensor<2x2xf16> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<2x3xi16>, tensor<3x2xi16>) -> tensor<2x2xf16>
  return %0 : tensor<2x2xf16>
}

// -----

// Two branches: the first one if the predicate holds. Numbers are their real
// parts.

// CHECK-LABEL: func.func @branches
// CHECK: %[[ZERO:.*]] = stablehlo.constant dense<0.000000e+00> : tensor<4xf32>
// CHECK: %[[NOT:.*]] = stablehlo.not %arg0 : tensor<i1>
// CHECK: %[[INDEX:.*]] = stablehlo.convert %[[NOT]] : (tensor<i1>) -> tensor<i32>
// CHECK: %[[CASE:.*]] = "stablehlo.case"(%[[INDEX]]) ({
// CHECK-NEXT: stablehlo.return %arg1
// CHECK-NEXT: }, {
// CHECK-NEXT: stablehlo.return %[[ZERO]]
// CHECK: return %[[CASE]]
func.func @branches(%p: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "stablehlo.if"(%p) ({
    %1 = stablehlo.real %x : (tensor<4xf32>) -> tensor<4xf32>
    stablehlo.return %1 : tensor<4xf32>
  }, {
    %2 = stablehlo.imag %x : (tensor<4xf32>) -> tensor<4xf32>
    stablehlo.return %2 : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
