// RUN: tenon-opt %s --split-input-file --fusion-widen-dots=cpu=x86-64-v4 | FileCheck %s
// RUN: tenon-opt %s --split-input-file --fusion-widen-dots=cpu=x86-64-v4+avx512bf16 | FileCheck %s --check-prefix=NATIVE

// f16 products are computed in f32 and rounded once.

// CHECK-LABEL: func.func @half
// CHECK-COUNT-2: stablehlo.convert
// CHECK: stablehlo.dot_general {{.*}} -> tensor<2x4xf32>
// CHECK: stablehlo.convert {{.*}} -> tensor<2x4xf16>
// NATIVE-LABEL: func.func @half
// NATIVE: stablehlo.dot_general {{.*}} -> tensor<2x4xf32>
func.func @half(%x: tensor<2x8xf16>, %w: tensor<8x4xf16>) -> tensor<2x4xf16> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<2x8xf16>, tensor<8x4xf16>) -> tensor<2x4xf16>
  return %0 : tensor<2x4xf16>
}

// -----

// CHECK-LABEL: func.func @brain
// CHECK: stablehlo.dot_general {{.*}} -> tensor<2x4xf32>
// NATIVE-LABEL: func.func @brain
// NATIVE-NOT: stablehlo.convert
// NATIVE: stablehlo.dot_general {{.*}} -> tensor<2x4xbf16>
func.func @brain(%x: tensor<2x8xbf16>, %w: tensor<8x4xbf16>) -> tensor<2x4xbf16> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<2x8xbf16>, tensor<8x4xbf16>) -> tensor<2x4xbf16>
  return %0 : tensor<2x4xbf16>
}
