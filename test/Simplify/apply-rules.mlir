// RUN: tenon-opt %s --simplify-apply-rules=subnormals=keep --split-input-file | FileCheck %s

// Identities of floating point. x + 0 is not one of them: it turns -0 into +0.

// CHECK-LABEL: func.func @neutral
// CHECK-SAME: (%[[X:.*]]: tensor<8xf32>)
// CHECK: %[[SUM:.*]] = stablehlo.add %[[X]], %{{.*}} : tensor<8xf32>
// CHECK: return %[[X]], %[[SUM]]
func.func @neutral(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<8xf32>
  %minuszero = stablehlo.constant dense<-0.0> : tensor<8xf32>
  %one = stablehlo.constant dense<1.0> : tensor<8xf32>
  %inf = stablehlo.constant dense<0x7F800000> : tensor<8xf32>
  %minusinf = stablehlo.constant dense<0xFF800000> : tensor<8xf32>
  %0 = stablehlo.multiply %one, %x : tensor<8xf32>
  %1 = stablehlo.divide %0, %one : tensor<8xf32>
  %2 = stablehlo.subtract %1, %zero : tensor<8xf32>
  %3 = stablehlo.add %minuszero, %2 : tensor<8xf32>
  %4 = stablehlo.maximum %minusinf, %3 : tensor<8xf32>
  %5 = stablehlo.minimum %4, %inf : tensor<8xf32>
  %6 = stablehlo.negate %5 : tensor<8xf32>
  %7 = stablehlo.negate %6 : tensor<8xf32>
  %8 = stablehlo.add %x, %zero : tensor<8xf32>
  return %7, %8 : tensor<8xf32>, tensor<8xf32>
}

// -----

// Where -0 cannot be, + 0 changes nothing: a sum that starts at +0 is never -0.

// CHECK-LABEL: func.func @sums
// CHECK: %[[R:.*]] = stablehlo.reduce
// CHECK-NEXT: return %[[R]]
func.func @sums(%x: tensor<4x8xf32>) -> tensor<8xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4x8xf32>, tensor<f32>) -> tensor<8xf32>
  %1 = stablehlo.reshape %0 : (tensor<8xf32>) -> tensor<1x8xf32>
  %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<1x8xf32>, tensor<f32>) -> tensor<8xf32>
  return %2 : tensor<8xf32>
}

// -----

// A sum of one element keeps its addition, because the element may be -0.

// CHECK-LABEL: func.func @sum_of_one
// CHECK-SAME: (%[[X:.*]]: tensor<1x8xf32>)
// CHECK: %[[R:.*]] = stablehlo.reshape %[[X]]
// CHECK: stablehlo.add %[[R]], %{{.*}} : tensor<8xf32>
func.func @sum_of_one(%x: tensor<1x8xf32>) -> tensor<8xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<1x8xf32>, tensor<f32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// Division by a power of two is exact multiplication; by 3 it is not.

// CHECK-LABEL: func.func @division
// CHECK: stablehlo.multiply %{{.*}}, %[[EIGHTH:.*]] : tensor<8xf32>
// CHECK: stablehlo.divide
// CHECK: stablehlo.divide
func.func @division(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %eight = stablehlo.constant dense<8.0> : tensor<8xf32>
  %three = stablehlo.constant dense<3.0> : tensor<8xf32>
  // The inverse of 2^127 is subnormal.
  %huge = stablehlo.constant dense<0x7F000000> : tensor<8xf32>
  %0 = stablehlo.divide %x, %eight : tensor<8xf32>
  %1 = stablehlo.divide %x, %three : tensor<8xf32>
  %2 = stablehlo.divide %x, %huge : tensor<8xf32>
  return %0, %1, %2 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// -----

// Roundings of the user stay; exact conversions go.

// CHECK-LABEL: func.func @roundings
// CHECK-SAME: (%[[X:.*]]: tensor<8xf32>, %[[H:.*]]: tensor<8xbf16>)
// CHECK: %[[D:.*]] = stablehlo.convert %[[X]] : (tensor<8xf32>) -> tensor<8xbf16>
// CHECK: %[[U:.*]] = stablehlo.convert %[[D]] : (tensor<8xbf16>) -> tensor<8xf32>
// CHECK: %[[P:.*]] = stablehlo.reduce_precision %[[X]], format = e8m7
// CHECK: %[[W:.*]] = stablehlo.convert %[[H]] : (tensor<8xbf16>) -> tensor<8xf64>
// CHECK: return %[[U]], %[[P]], %[[H]], %[[W]]
func.func @roundings(%x: tensor<8xf32>, %h: tensor<8xbf16>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xbf16>, tensor<8xf64>) {
  %0 = stablehlo.convert %x : (tensor<8xf32>) -> tensor<8xbf16>
  %1 = stablehlo.convert %0 : (tensor<8xbf16>) -> tensor<8xf32>
  %2 = stablehlo.reduce_precision %x, format = e8m7 : tensor<8xf32>
  %3 = stablehlo.convert %h : (tensor<8xbf16>) -> tensor<8xf32>
  %4 = stablehlo.convert %3 : (tensor<8xf32>) -> tensor<8xbf16>
  %5 = stablehlo.convert %3 : (tensor<8xf32>) -> tensor<8xf64>
  return %1, %2, %4, %5 : tensor<8xf32>, tensor<8xf32>, tensor<8xbf16>, tensor<8xf64>
}

// -----

// CHECK-LABEL: func.func @choices
// CHECK-SAME: (%[[P:.*]]: tensor<8xi1>, %[[X:.*]]: tensor<8xf32>, %[[Y:.*]]: tensor<8xf32>)
// CHECK: %[[S:.*]] = stablehlo.select %[[P]], %[[Y]], %[[X]]
// CHECK: return %[[X]], %[[X]], %[[S]], %[[P]]
func.func @choices(%p: tensor<8xi1>, %x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xi1>) {
  %true = stablehlo.constant dense<true> : tensor<8xi1>
  %false = stablehlo.constant dense<false> : tensor<8xi1>
  %0 = stablehlo.select %true, %x, %y : tensor<8xi1>, tensor<8xf32>
  %1 = stablehlo.select %p, %x, %x : tensor<8xi1>, tensor<8xf32>
  %n = stablehlo.not %p : tensor<8xi1>
  %2 = stablehlo.select %n, %x, %y : tensor<8xi1>, tensor<8xf32>
  %3 = stablehlo.select %p, %true, %false : tensor<8xi1>, tensor<8xi1>
  return %0, %1, %2, %3 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xi1>
}

// -----

// What repeats a small tensor is computed on the small one.

// CHECK-LABEL: func.func @small
// CHECK-SAME: (%[[A:.*]]: tensor<f32>, %[[B:.*]]: tensor<f32>)
// CHECK: %[[S:.*]] = stablehlo.multiply %[[A]], %[[B]] : tensor<f32>
// CHECK: %[[E:.*]] = stablehlo.exponential %[[S]] : tensor<f32>
// CHECK: stablehlo.broadcast_in_dim %[[E]], dims = [] : (tensor<f32>) -> tensor<64x64xf32>
func.func @small(%a: tensor<f32>, %b: tensor<f32>) -> tensor<64x64xf32> {
  %0 = stablehlo.broadcast_in_dim %a, dims = [] : (tensor<f32>) -> tensor<64x64xf32>
  %1 = stablehlo.broadcast_in_dim %b, dims = [] : (tensor<f32>) -> tensor<64x64xf32>
  %2 = stablehlo.multiply %0, %1 : tensor<64x64xf32>
  %3 = stablehlo.exponential %2 : tensor<64x64xf32>
  return %3 : tensor<64x64xf32>
}

// -----

// Unit dimensions that a reshape has added are not there to compute on: a mean
// and its root per row, spread over the row, without the shape in between.

// CHECK-LABEL: func.func @units
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32>)
// CHECK: %[[A:.*]] = stablehlo.add %[[X]], %{{.*}} : tensor<4x8xf32>
// CHECK: %[[R:.*]] = stablehlo.rsqrt %[[A]] : tensor<4x8xf32>
// CHECK: %[[M:.*]] = stablehlo.multiply %[[R]], %[[X]] : tensor<4x8xf32>
// CHECK: stablehlo.broadcast_in_dim %[[M]], dims = [0, 1] : (tensor<4x8xf32>) -> tensor<4x8x16xf32>
func.func @units(%x: tensor<4x8xf32>) -> tensor<4x8x16xf32> {
  %eps = stablehlo.constant dense<1.0e-5> : tensor<4x8x1xf32>
  %0 = stablehlo.reshape %x : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
  %1 = stablehlo.add %0, %eps : tensor<4x8x1xf32>
  %2 = stablehlo.rsqrt %1 : tensor<4x8x1xf32>
  %3 = stablehlo.multiply %2, %0 : tensor<4x8x1xf32>
  %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1, 2] : (tensor<4x8x1xf32>) -> tensor<4x8x16xf32>
  return %4 : tensor<4x8x16xf32>
}

// -----

// CHECK-LABEL: func.func @slices_of_widening
// CHECK-SAME: %[[X:.*]]: tensor<4x8xbf16>, %[[Y:.*]]: tensor<4x8xf32>
// CHECK: %[[LEFT:.*]] = stablehlo.slice %[[X]] [0:4, 0:4] : (tensor<4x8xbf16>) -> tensor<4x4xbf16>
// CHECK: %[[WIDE:.*]] = stablehlo.convert %[[LEFT]] : (tensor<4x4xbf16>) -> tensor<4x4xf32>
// CHECK: %[[RIGHT:.*]] = stablehlo.slice %[[X]] [0:4, 4:8] : (tensor<4x8xbf16>) -> tensor<4x4xbf16>
// CHECK: stablehlo.convert %[[RIGHT]] : (tensor<4x4xbf16>) -> tensor<4x4xf32>
// CHECK: %[[NARROW:.*]] = stablehlo.convert %[[Y]] : (tensor<4x8xf32>) -> tensor<4x8xbf16>
// CHECK: stablehlo.slice %[[NARROW]]
// CHECK: %[[READ:.*]] = stablehlo.convert %[[X]] : (tensor<4x8xbf16>) -> tensor<4x8xf64>
// CHECK: stablehlo.slice %[[READ]]
func.func @slices_of_widening(%x: tensor<4x8xbf16>, %y: tensor<4x8xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xbf16>, tensor<4x4xf64>, tensor<4x8xf64>) {
  %wide = stablehlo.convert %x : (tensor<4x8xbf16>) -> tensor<4x8xf32>
  %left = stablehlo.slice %wide [0:4, 0:4] : (tensor<4x8xf32>) -> tensor<4x4xf32>
  %right = stablehlo.slice %wide [0:4, 4:8] : (tensor<4x8xf32>) -> tensor<4x4xf32>
  %narrow = stablehlo.convert %y : (tensor<4x8xf32>) -> tensor<4x8xbf16>
  %part = stablehlo.slice %narrow [0:4, 0:4] : (tensor<4x8xbf16>) -> tensor<4x4xbf16>
  %read = stablehlo.convert %x : (tensor<4x8xbf16>) -> tensor<4x8xf64>
  %other = stablehlo.slice %read [0:4, 0:4] : (tensor<4x8xf64>) -> tensor<4x4xf64>
  return %left, %right, %part, %other, %read : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xbf16>, tensor<4x4xf64>, tensor<4x8xf64>
}

// CHECK-LABEL: func.func @slices
// CHECK-SAME: (%[[X:.*]]: tensor<8x8xf32>, %[[Y:.*]]: tensor<8x8xf32>)
// CHECK: %[[A:.*]] = stablehlo.slice %[[X]] [3:8:2, 0:8] : (tensor<8x8xf32>) -> tensor<3x8xf32>
// CHECK: %[[B:.*]] = stablehlo.slice %[[Y]] [0:2, 0:8]
// CHECK: %[[C:.*]] = stablehlo.slice %[[X]] [0:4, 0:8]
// CHECK: return %[[A]], %[[X]], %[[B]], %[[C]], %[[X]]
func.func @slices(%x: tensor<8x8xf32>, %y: tensor<8x8xf32>) -> (tensor<3x8xf32>, tensor<8x8xf32>, tensor<2x8xf32>, tensor<4x8xf32>, tensor<8x8xf32>) {
  %0 = stablehlo.slice %x [1:8, 0:8] : (tensor<8x8xf32>) -> tensor<7x8xf32>
  %1 = stablehlo.slice %0 [2:7:2, 0:8] : (tensor<7x8xf32>) -> tensor<3x8xf32>
  %2 = stablehlo.slice %x [0:8, 0:8] : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %both = stablehlo.concatenate %x, %y, dim = 0 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
  %3 = stablehlo.slice %both [8:10, 0:8] : (tensor<16x8xf32>) -> tensor<2x8xf32>
  %top = stablehlo.slice %x [0:1, 0:8] : (tensor<8x8xf32>) -> tensor<1x8xf32>
  %rest = stablehlo.slice %x [1:4, 0:8] : (tensor<8x8xf32>) -> tensor<3x8xf32>
  %4 = stablehlo.concatenate %top, %rest, dim = 0 : (tensor<1x8xf32>, tensor<3x8xf32>) -> tensor<4x8xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %5 = stablehlo.pad %x, %zero, low = [0, 0], high = [0, 0], interior = [0, 0] : (tensor<8x8xf32>, tensor<f32>) -> tensor<8x8xf32>
  return %1, %2, %3, %4, %5 : tensor<3x8xf32>, tensor<8x8xf32>, tensor<2x8xf32>, tensor<4x8xf32>, tensor<8x8xf32>
}

// -----

// CHECK-LABEL: func.func @branches
// CHECK-SAME: (%[[X:.*]]: tensor<f32>)
// CHECK: %[[R:.*]] = stablehlo.negate %[[X]]
// CHECK: return %[[R]]
func.func @branches(%x: tensor<f32>) -> tensor<f32> {
  %seven = stablehlo.constant dense<7> : tensor<i32>
  %0 = "stablehlo.case"(%seven) ({
    stablehlo.return %x : tensor<f32>
  }, {
    // There is no branch 7, so the last one runs.
    %n = stablehlo.negate %x : tensor<f32>
    stablehlo.return %n : tensor<f32>
  }) : (tensor<i32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

// Nothing is looked up across a barrier; what nobody reads leaves it.

// CHECK-LABEL: func.func @barriers
// CHECK-SAME: (%[[X:.*]]: tensor<f32>, %[[Y:.*]]: tensor<f32>)
// CHECK: %[[N:.*]] = stablehlo.negate %[[X]]
// CHECK: %[[B:.*]] = stablehlo.optimization_barrier %[[N]] : tensor<f32>
// CHECK: %[[M:.*]] = stablehlo.negate %[[B]]
// CHECK: return %[[M]]
func.func @barriers(%x: tensor<f32>, %y: tensor<f32>) -> tensor<f32> {
  %n = stablehlo.negate %x : tensor<f32>
  %e = stablehlo.exponential %y : tensor<f32>
  %0:2 = stablehlo.optimization_barrier %n, %e : tensor<f32>, tensor<f32>
  %m = stablehlo.negate %0#0 : tensor<f32>
  return %m : tensor<f32>
}
