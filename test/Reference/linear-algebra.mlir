// RUN: tenon run %s --reference
// RUN: tenon run %s

// cholesky, triangular_solve and fft.

func.func @main() {
  %a = stablehlo.constant dense<[[[4.0, 99.0], [2.0, 10.0]], [[1.0, 99.0], [-3.0, 25.0]]]> : tensor<2x2x2xf32>
  %l = stablehlo.cholesky %a, lower = true : tensor<2x2x2xf32>
  check.expect_almost_eq_const %l, dense<[[[2.0, 0.0], [1.0, 3.0]], [[1.0, 0.0], [-3.0, 4.0]]]> : tensor<2x2x2xf32>
  %b = stablehlo.constant dense<[[[2.0], [10.0]], [[5.0], [1.0]]]> : tensor<2x2x1xf32>
  %x = "stablehlo.triangular_solve"(%l, %b) <{left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}> : (tensor<2x2x2xf32>, tensor<2x2x1xf32>) -> tensor<2x2x1xf32>
  check.expect_almost_eq_const %x, dense<[[[1.0], [3.0]], [[5.0], [4.0]]]> : tensor<2x2x1xf32>
  %t = "stablehlo.triangular_solve"(%l, %b) <{left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose TRANSPOSE>}> : (tensor<2x2x2xf32>, tensor<2x2x1xf32>) -> tensor<2x2x1xf32>
  check.expect_almost_eq_const %t, dense<[[[-0.666666687], [3.33333325]], [[5.75], [0.25]]]> : tensor<2x2x1xf32>
  %c = stablehlo.constant dense<[[[2.0, 6.0]], [[-5.0, 8.0]]]> : tensor<2x1x2xf32>
  %r = "stablehlo.triangular_solve"(%l, %c) <{left_side = false, lower = true, unit_diagonal = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}> : (tensor<2x2x2xf32>, tensor<2x1x2xf32>) -> tensor<2x1x2xf32>
  check.expect_almost_eq_const %r, dense<[[[-4.0, 6.0]], [[19.0, 8.0]]]> : tensor<2x1x2xf32>

  %h = stablehlo.constant dense<[[(2.0, 0.0), (0.0, 2.0)], [(0.0, -2.0), (6.0, 0.0)]]> : tensor<2x2xcomplex<f64>>
  %u = stablehlo.cholesky %h, lower = false : tensor<2x2xcomplex<f64>>
  check.expect_almost_eq_const %u, dense<[[(1.4142135623730951, 0.0), (0.0, 1.4142135623730951)], [(0.0, 0.0), (2.0, 0.0)]]> : tensor<2x2xcomplex<f64>>

  %signal = stablehlo.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %spectrum = stablehlo.fft %signal, type = RFFT, length = [3] : (tensor<3xf32>) -> tensor<2xcomplex<f32>>
  check.expect_almost_eq_const %spectrum, dense<[(6.0, 0.0), (-1.5, 0.866025388)]> : tensor<2xcomplex<f32>>
  %again = stablehlo.fft %spectrum, type = IRFFT, length = [3] : (tensor<2xcomplex<f32>>) -> tensor<3xf32>
  check.expect_almost_eq_const %again, dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %plane = stablehlo.constant dense<[[(1.0, 1.0), (2.0, 0.0), (0.0, 1.0)], [(0.0, -1.0), (1.0, 0.0), (3.0, 1.0)]]> : tensor<2x3xcomplex<f32>>
  %forward = stablehlo.fft %plane, type = FFT, length = [2, 3] : (tensor<2x3xcomplex<f32>>) -> tensor<2x3xcomplex<f32>>
  %backward = stablehlo.fft %forward, type = IFFT, length = [2, 3] : (tensor<2x3xcomplex<f32>>) -> tensor<2x3xcomplex<f32>>
  check.expect_almost_eq %backward, %plane : tensor<2x3xcomplex<f32>>
  return
}
