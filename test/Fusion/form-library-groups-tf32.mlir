// RUN: tenon-opt %s --split-input-file --fusion-form-library-groups="gpu=true tf32=true" | FileCheck %s
// RUN: tenon-opt %s --split-input-file --fusion-form-library-groups=gpu=true | FileCheck %s --check-prefix=EXACT

// Calls on GPUs may round operands of f32 to tf32.

// CHECK-LABEL: func.func @main
// CHECK: factors = "tf32"
// EXACT-LABEL: func.func @main
// EXACT: factors = "exact"
func.func @main(%x: tensor<32x64xf32>, %w: tensor<64x48xf32>) -> tensor<32x48xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<32x64xf32>, tensor<64x48xf32>) -> tensor<32x48xf32>
  return %0 : tensor<32x48xf32>
}

// -----

// Of 16 bits there is nothing to round.

// CHECK-LABEL: func.func @main
// CHECK: factors = "exact"
// EXACT-LABEL: func.func @main
// EXACT: factors = "exact"
func.func @main(%x: tensor<32x64xbf16>, %w: tensor<64x48xbf16>) -> tensor<32x48xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<32x64xbf16>, tensor<64x48xbf16>) -> tensor<32x48xf32>
  return %0 : tensor<32x48xf32>
}
