// RUN: tenon-opt %s --split-input-file --fusion-align-contractions | FileCheck %s
// RUN: tenon-opt %s --split-input-file --fusion-align-contractions --fusion-form-library-groups=cpu=x86-64-v3 | FileCheck %s --check-prefix=GROUP

// Contracted dimensions apart in the left operand are brought together.

// CHECK-LABEL: func.func @apart
// CHECK: stablehlo.transpose %arg0, dims = [1, 0, 2] : (tensor<4x16x8xf32>) -> tensor<16x4x8xf32>
// CHECK: stablehlo.dot_general {{.*}} contracting_dims = [1, 2] x [0, 1]
// GROUP-LABEL: func.func @apart
// GROUP: step.group library
// GROUP-SAME: k = 32 : i64
func.func @apart(%x: tensor<4x16x8xf32>, %w: tensor<4x8x32xf32>) -> tensor<16x32xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [0, 2] x [0, 1] : (tensor<4x16x8xf32>, tensor<4x8x32xf32>) -> tensor<16x32xf32>
  return %0 : tensor<16x32xf32>
}

// -----

// The smaller operand is the one that is copied.

// CHECK-LABEL: func.func @smaller
// CHECK: stablehlo.transpose %arg1, dims = [1, 2, 3, 0] : (tensor<4x2x16x8xf32>) -> tensor<2x16x8x4xf32>
// CHECK: stablehlo.dot_general %arg0, {{.*}} batching_dims = [0] x [0], contracting_dims = [2, 3] x [2, 3]
// GROUP-LABEL: func.func @smaller
// GROUP: step.group library
func.func @smaller(%x: tensor<2x64x8x4xf32>, %w: tensor<4x2x16x8xf32>) -> tensor<2x64x16xf32> {
  %0 = stablehlo.dot_general %x, %w, batching_dims = [0] x [1], contracting_dims = [2, 3] x [3, 0] : (tensor<2x64x8x4xf32>, tensor<4x2x16x8xf32>) -> tensor<2x64x16xf32>
  return %0 : tensor<2x64x16xf32>
}

// -----

// Only the order in which they are named differs: nothing to copy.

// CHECK-LABEL: func.func @order
// CHECK-NOT: stablehlo.transpose
// CHECK: contracting_dims = [2, 1] x [1, 0]
// GROUP-LABEL: func.func @order
// GROUP: step.group library(%arg0, %arg1)
// GROUP-SAME: k = 1280 : i64
func.func @order(%x: tensor<512x8x160xf32>, %w: tensor<8x160x128xf32>) -> tensor<512x128xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [2, 1] x [1, 0] : (tensor<512x8x160xf32>, tensor<8x160x128xf32>) -> tensor<512x128xf32>
  return %0 : tensor<512x128xf32>
}

// -----

// They are side by side behind the transpose, which is written out then.

// CHECK-LABEL: func.func @behind
// CHECK-COUNT-1: stablehlo.transpose
// CHECK-NOT: stablehlo.transpose
// GROUP-LABEL: func.func @behind
// GROUP: stablehlo.transpose
// GROUP: step.group library
func.func @behind(%x: tensor<32x64x96xf32>, %y: tensor<64x32x256xf32>) -> tensor<96x256xf32> {
  %0 = stablehlo.transpose %y, dims = [1, 0, 2] : (tensor<64x32x256xf32>) -> tensor<32x64x256xf32>
  %1 = stablehlo.dot_general %x, %0, contracting_dims = [0, 1] x [0, 1] : (tensor<32x64x96xf32>, tensor<32x64x256xf32>) -> tensor<96x256xf32>
  return %1 : tensor<96x256xf32>
}

// -----

// A matrix times a vector uses every element once: no copy.

// CHECK-LABEL: func.func @vector
// CHECK-NOT: stablehlo.transpose
// GROUP-LABEL: func.func @vector
// GROUP-NOT: step.group
func.func @vector(%x: tensor<4x16x8xf32>, %w: tensor<4x8xf32>) -> tensor<16xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [0, 2] x [0, 1] : (tensor<4x16x8xf32>, tensor<4x8xf32>) -> tensor<16xf32>
  return %0 : tensor<16xf32>
}
