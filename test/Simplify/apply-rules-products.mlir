// RUN: tenon-opt %s --simplify-apply-rules --split-input-file | FileCheck %s

// Nothing is contracted: what remains is a product per element. A rotary
// embedding written as an einsum comes like this.

// CHECK-LABEL: func.func @nothing
// CHECK-SAME: (%[[X:.*]]: tensor<2x8x4x16xf32>, %[[C:.*]]: tensor<1x8x16xf32>)
// CHECK-NOT: dot_general
// CHECK: %[[L:.*]] = stablehlo.transpose %[[X]], dims = [1, 3, 0, 2]
// CHECK: %[[S:.*]] = stablehlo.reshape %[[L]] : (tensor<8x16x2x4xf32>) -> tensor<8x16x2x4x1xf32>
// CHECK: %[[P:.*]] = stablehlo.multiply
// CHECK: stablehlo.add %[[P]], %{{.*}} : tensor<8x16x2x4x1xf32>
func.func @nothing(%x: tensor<2x8x4x16xf32>, %c: tensor<1x8x16xf32>) -> tensor<8x16x2x4x1xf32> {
  %0 = stablehlo.dot_general %x, %c, batching_dims = [1, 3] x [1, 2], contracting_dims = [] x [], precision = [DEFAULT, DEFAULT] : (tensor<2x8x4x16xf32>, tensor<1x8x16xf32>) -> tensor<8x16x2x4x1xf32>
  return %0 : tensor<8x16x2x4x1xf32>
}

// -----

// An outer product, from contracted extents of one, in any place.

// CHECK-LABEL: func.func @one
// CHECK-NOT: dot_general
// CHECK: stablehlo.multiply {{.*}} : tensor<3x5x7xf32>
func.func @one(%x: tensor<1x5x3x1xf32>, %y: tensor<7x1x3x1xf32>) -> tensor<3x5x7xf32> {
  %0 = stablehlo.dot_general %x, %y, batching_dims = [2] x [2], contracting_dims = [0, 3] x [3, 1] : (tensor<1x5x3x1xf32>, tensor<7x1x3x1xf32>) -> tensor<3x5x7xf32>
  return %0 : tensor<3x5x7xf32>
}

// -----

// 16-bit operands are multiplied and added in f32 and rounded once; integers
// are widened; booleans are combined by AND, and no zero is added.

// CHECK-LABEL: func.func @types
// CHECK-DAG: %[[A:.*]] = stablehlo.convert %arg0 : (tensor<4xbf16>) -> tensor<4xf32>
// CHECK-DAG: stablehlo.add {{.*}} : tensor<4x4xf32>
// CHECK-DAG: stablehlo.convert %{{.*}} : (tensor<4x4xf32>) -> tensor<4x4xbf16>
// CHECK-DAG: stablehlo.convert %arg1 : (tensor<4xi8>) -> tensor<4xi32>
// CHECK-DAG: stablehlo.multiply {{.*}} : tensor<4x4xi32>
// CHECK-DAG: stablehlo.multiply {{.*}} : tensor<4x4xi1>
// CHECK-NOT: stablehlo.add {{.*}}i32
// CHECK-NOT: dot_general
func.func @types(%a: tensor<4xbf16>, %i: tensor<4xi8>, %b: tensor<4xi1>) -> (tensor<4x4xbf16>, tensor<4x4xi32>, tensor<4x4xi1>) {
  %0 = stablehlo.dot_general %a, %a, contracting_dims = [] x [] : (tensor<4xbf16>, tensor<4xbf16>) -> tensor<4x4xbf16>
  %1 = stablehlo.dot_general %i, %i, contracting_dims = [] x [] : (tensor<4xi8>, tensor<4xi8>) -> tensor<4x4xi32>
  %2 = stablehlo.dot_general %b, %b, contracting_dims = [] x [] : (tensor<4xi1>, tensor<4xi1>) -> tensor<4x4xi1>
  return %0, %1, %2 : tensor<4x4xbf16>, tensor<4x4xi32>, tensor<4x4xi1>
}

// -----

// Extents of one that are not contracted make no difference, and a sum of two
// stays a dot.

// CHECK-LABEL: func.func @sums
// CHECK-COUNT-4: stablehlo.dot_general
// CHECK-NOT: stablehlo.multiply
func.func @sums(%x: tensor<1x8xf32>, %y: tensor<8x1xf32>, %z: tensor<1x1x2xf32>, %h: tensor<1xf64>) -> (tensor<1x1xf32>, tensor<1xf32>, tensor<1x1x1xf32>, tensor<1x1xf32>) {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<1x8xf32>, tensor<8x1xf32>) -> tensor<1x1xf32>
  %1 = stablehlo.dot_general %x, %x, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (tensor<1x8xf32>, tensor<1x8xf32>) -> tensor<1xf32>
  %2 = stablehlo.dot_general %z, %z, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<1x1x2xf32>, tensor<1x1x2xf32>) -> tensor<1x1x1xf32>
  // Products of f64 that are added in f32 are rounded twice.
  %3 = stablehlo.dot_general %h, %h, contracting_dims = [] x [] : (tensor<1xf64>, tensor<1xf64>) -> tensor<1x1xf32>
  return %0, %1, %2, %3 : tensor<1x1xf32>, tensor<1xf32>, tensor<1x1x1xf32>, tensor<1x1xf32>
}
