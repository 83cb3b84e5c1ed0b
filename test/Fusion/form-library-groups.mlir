// RUN: tenon-opt %s --split-input-file --fusion-form-library-groups=cpu=x86-64-v3 | FileCheck %s
// RUN: tenon-opt %s --split-input-file --fusion-form-library-groups="cpu=x86-64-v3 choose=true" --remarks-filter="fusion-.*" --remark-format=emitRemark 2>%t.remarks | FileCheck %s --check-prefix=CHOOSE
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// The transposes of an operand and of the result are strides of the call.

// CHECK-LABEL: func.func @main
// CHECK: step.group library(%arg0, %arg1)
// CHECK-SAME: exec.library = {{.*}}rhs_stride_k = 1 : i64, rhs_stride_n = 64 : i64
func.func @main(%x: tensor<32x64xf32>, %w: tensor<48x64xf32>) -> tensor<32x48xf32> {
  %0 = stablehlo.transpose %w, dims = [1, 0] : (tensor<48x64xf32>) -> tensor<64x48xf32>
  %1 = stablehlo.dot_general %x, %0, contracting_dims = [1] x [0] : (tensor<32x64xf32>, tensor<64x48xf32>) -> tensor<32x48xf32>
  return %1 : tensor<32x48xf32>
}

// -----

// The data gradient of a convolution is recognised by its dilated input and
// mirrored kernel.

// CHECK-LABEL: func.func @main
// CHECK: step.group library
// CHECK-SAME: data_gradient
func.func @main(%dy: tensor<2x4x4x8xf32>, %w: tensor<3x3x4x8xf32>) -> tensor<2x8x8x4xf32> {
  %0 = stablehlo.reverse %w, dims = [0, 1] : tensor<3x3x4x8xf32>
  %1 = stablehlo.convolution(%dy, %0) dim_numbers = [b, 0, 1, f]x[0, 1, o, i]->[b, 0, 1, f], window = {pad = [[1, 2], [1, 2]], lhs_dilate = [2, 2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x4x4x8xf32>, tensor<3x3x4x8xf32>) -> tensor<2x8x8x4xf32>
  return %1 : tensor<2x8x8x4xf32>
}

// -----

// An integer product is left to the generic template.

// CHECK-LABEL: func.func @main
// CHECK-NOT: step.group
// CHECK: stablehlo.dot_general
func.func @main(%x: tensor<4x8xi32>, %w: tensor<8x4xi32>) -> tensor<4x4xi32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x8xi32>, tensor<8x4xi32>) -> tensor<4x4xi32>
  return %0 : tensor<4x4xi32>
}

// -----

// Rows of two dimensions that are apart in memory: the longer one makes the
// products, the shorter one their batch.

// CHECK-LABEL: func.func @main
// CHECK: step.group library(%arg0, %arg1)
// CHECK-SAME: batch = [{{[{][^}]*}} size = 2 : i64}, {{[{][^}]*}} size = 4 : i64}]
// CHECK-SAME: m = 128 : i64
func.func @main(%q: tensor<128x2x4x64xf32>, %k: tensor<128x2x64xf32>) -> tensor<2x128x4x128xf32> {
  %0 = stablehlo.dot_general %q, %k, batching_dims = [1] x [1], contracting_dims = [3] x [2] : (tensor<128x2x4x64xf32>, tensor<128x2x64xf32>) -> tensor<2x128x4x128xf32>
  return %0 : tensor<2x128x4x128xf32>
}

// -----

// Small products are generated code's where it takes less time, and the
// library's where the kernel would gather.

// CHECK-LABEL: func.func @small
// CHECK-COUNT-2: step.group library
// REMARK: remark: [Missed] LibraryCall {{.*}}Reason="generated code takes 0.{{.*}} us, the call 0.{{.*}} us (predicted)"
// CHOOSE-LABEL: func.func @small
// CHOOSE-NEXT: stablehlo.dot_general
// CHOOSE-NEXT: step.group library
func.func @small(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>, %y: tensor<64x64xf32>) -> (tensor<4x16xf32>, tensor<64x64xf32>) {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %1 = stablehlo.dot_general %y, %y, contracting_dims = [0] x [1] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %0, %1 : tensor<4x16xf32>, tensor<64x64xf32>
}
