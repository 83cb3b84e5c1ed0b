// RUN: tenon-opt %s --import-expand-linear-algebra --split-input-file | FileCheck %s

// A processor without fused multiply-add writes the same matrices.
// RUN: tenon-opt %s --import-expand-linear-algebra --split-input-file -o %t.fused
// RUN: env GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX2,-FMA tenon-opt %s --import-expand-linear-algebra --split-input-file -o %t.plain
// RUN: diff %t.fused %t.plain

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

// Half and quarter turns are exact.

// CHECK-LABEL: func.func @exact
// CHECK-DAG: dense<{{\[\[}}1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00], [1.000000e+00, 0.000000e+00, -1.000000e+00, 0.000000e+00],
// CHECK-DAG: dense<{{\[\[}}0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00], [0.000000e+00, 1.000000e+00, 0.000000e+00, -1.000000e+00],
func.func @exact(%a: tensor<4xcomplex<f64>>) -> tensor<4xcomplex<f64>> {
  %0 = stablehlo.fft %a, type = FFT, length = [4] : (tensor<4xcomplex<f64>>) -> tensor<4xcomplex<f64>>
  return %0 : tensor<4xcomplex<f64>>
}

// -----

// CHECK-LABEL: func.func @double
func.func @double(%a: tensor<60xcomplex<f64>>) -> tensor<60xcomplex<f64>> {
  %0 = stablehlo.fft %a, type = IFFT, length = [60] : (tensor<60xcomplex<f64>>) -> tensor<60xcomplex<f64>>
  return %0 : tensor<60xcomplex<f64>>
}

// -----

// A transform whose matrix would be large stays, and is refused later.

// CHECK-LABEL: func.func @long
// CHECK: stablehlo.fft
func.func @long(%a: tensor<2048xcomplex<f32>>) -> tensor<2048xcomplex<f32>> {
  %0 = stablehlo.fft %a, type = FFT, length = [2048] : (tensor<2048xcomplex<f32>>) -> tensor<2048xcomplex<f32>>
  return %0 : tensor<2048xcomplex<f32>>
}
