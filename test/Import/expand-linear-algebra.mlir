// RUN: tenon-opt %s --import-expand-linear-algebra --split-input-file | FileCheck %s

// What the expansions compute is tested in test/Reference/linear-algebra.mlir.

// CHECK-LABEL: func.func @factor
// CHECK-NOT: cholesky
// CHECK: stablehlo.while
// CHECK: stablehlo.sqrt
func.func @factor(%a: tensor<2x3x3xf32>) -> tensor<2x3x3xf32> {
  %0 = stablehlo.cholesky %a, lower = true : tensor<2x3x3xf32>
  return %0 : tensor<2x3x3xf32>
}

// -----

// CHECK-LABEL: func.func @transform
// CHECK-NOT: stablehlo.fft
// CHECK: stablehlo.dot_general
// CHECK: stablehlo.complex
func.func @transform(%a: tensor<2x6xf32>) -> tensor<2x4xcomplex<f32>> {
  %0 = stablehlo.fft %a, type = RFFT, length = [6] : (tensor<2x6xf32>) -> tensor<2x4xcomplex<f32>>
  return %0 : tensor<2x4xcomplex<f32>>
}

// -----

// A transform whose matrix would be large stays, and is refused later.

// CHECK-LABEL: func.func @long
// CHECK: stablehlo.fft
func.func @long(%a: tensor<2048xcomplex<f32>>) -> tensor<2048xcomplex<f32>> {
  %0 = stablehlo.fft %a, type = FFT, length = [2048] : (tensor<2048xcomplex<f32>>) -> tensor<2048xcomplex<f32>>
  return %0 : tensor<2048xcomplex<f32>>
}
