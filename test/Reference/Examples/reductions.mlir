// RUN: tenon run %s --reference
// RUN: tenon run %s

// Operations that combine elements.

func.func private @reduce_e1() {
  %x = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %z = stablehlo.constant dense<100> : tensor<i32>
  %0 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [1] : (tensor<2x3xi32>, tensor<i32>) -> tensor<2xi32>
  check.expect_eq_const %0, dense<[106, 115]> : tensor<2xi32>
  return
}
func.func private @reduce_window_e1() {
  %x = stablehlo.constant dense<[[1, 2, 3, 4], [5, 6, 7, 8]]> : tensor<2x4xi32>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %0 = "stablehlo.reduce_window"(%x, %z) <{window_dimensions = array<i64: 1, 2>, window_strides = array<i64: 1, 2>, window_dilations = array<i64: 1, 2>, padding = dense<[[0, 0], [1, 1]]> : tensor<2x2xi64>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %1 = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %1 : tensor<i32>
  }) : (tensor<2x4xi32>, tensor<i32>) -> tensor<2x2xi32>
  check.expect_eq_const %0, dense<[[2, 6], [6, 14]]> : tensor<2x2xi32>
  return
}
func.func private @select_and_scatter_e1() {
  %x = stablehlo.constant dense<[[1, 5, 2, 8], [9, 3, 4, 7]]> : tensor<2x4xi32>
  %s = stablehlo.constant dense<[[10, 20]]> : tensor<1x2xi32>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %0 = "stablehlo.select_and_scatter"(%x, %s, %z) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %1 = stablehlo.compare GE, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }, {
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %1 = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %1 : tensor<i32>
  }) : (tensor<2x4xi32>, tensor<1x2xi32>, tensor<i32>) -> tensor<2x4xi32>
  check.expect_eq_const %0, dense<[[0, 0, 0, 20], [10, 0, 0, 0]]> : tensor<2x4xi32>
  return
}
func.func private @dot_general_e1() {
  %x = stablehlo.constant dense<[[[1, 2], [3, 4]], [[5, 6], [7, 8]]]> : tensor<2x2x2xi32>
  %y = stablehlo.constant dense<[[[1, 0], [0, 2]], [[3, 1], [1, 0]]]> : tensor<2x2x2xi32>
  %0 = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x2x2xi32>, tensor<2x2x2xi32>) -> tensor<2x2x2xi32>
  check.expect_eq_const %0, dense<[[[1, 4], [3, 8]], [[21, 5], [29, 7]]]> : tensor<2x2x2xi32>
  return
}
func.func private @convolution_e1() {
  %x = stablehlo.constant dense<[[[[1], [2], [3]], [[4], [5], [6]], [[7], [8], [9]]]]> : tensor<1x3x3x1xi32>
  %k = stablehlo.constant dense<[[[[1]], [[2]]], [[[0]], [[-1]]]]> : tensor<2x2x1x1xi32>
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 1], pad = [[0, 1], [1, 0]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x3x3x1xi32>, tensor<2x2x1x1xi32>) -> tensor<1x2x3x1xi32>
  check.expect_eq_const %0, dense<[[[[-2], [0], [2]], [[14], [23], [26]]]]> : tensor<1x2x3x1xi32>
  return
}
func.func private @dynamic_conv_e1() {
  %x = stablehlo.constant dense<[[[[1], [2], [3]], [[4], [5], [6]], [[7], [8], [9]]]]> : tensor<1x3x3x1xi32>
  %k = stablehlo.constant dense<[[[[1]], [[2]]], [[[0]], [[-1]]]]> : tensor<2x2x1x1xi32>
  %padding = stablehlo.constant dense<[[0, 1], [1, 0]]> : tensor<2x2xi32>
  %0 = "stablehlo.dynamic_conv"(%x, %k, %padding) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, window_strides = array<i64: 2, 1>}> : (tensor<1x3x3x1xi32>, tensor<2x2x1x1xi32>, tensor<2x2xi32>) -> tensor<1x2x3x1xi32>
  check.expect_eq_const %0, dense<[[[[-2], [0], [2]], [[14], [23], [26]]]]> : tensor<1x2x3x1xi32>
  return
}
func.func private @batch_norm_inference_e1() {
  %x = stablehlo.constant dense<[[1.0, 2.0], [3.0, 6.0]]> : tensor<2x2xf64>
  %scale = stablehlo.constant dense<[2.0, 1.0]> : tensor<2xf64>
  %offset = stablehlo.constant dense<[0.5, 1.0]> : tensor<2xf64>
  %mean = stablehlo.constant dense<[2.0, 4.0]> : tensor<2xf64>
  %variance = stablehlo.constant dense<[1.0, 4.0]> : tensor<2xf64>
  %0 = "stablehlo.batch_norm_inference"(%x, %scale, %offset, %mean, %variance) <{epsilon = 0.0 : f32, feature_index = 1 : i64}> : (tensor<2x2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>) -> tensor<2x2xf64>
  check.expect_almost_eq_const %0, dense<[[-1.5, 0.0], [2.5, 2.0]]> : tensor<2x2xf64>
  return
}
func.func private @batch_norm_training_e1() {
  %x = stablehlo.constant dense<[[1.0, 2.0], [3.0, 6.0]]> : tensor<2x2xf64>
  %scale = stablehlo.constant dense<[2.0, 1.0]> : tensor<2xf64>
  %offset = stablehlo.constant dense<[0.5, 1.0]> : tensor<2xf64>
  %0:3 = "stablehlo.batch_norm_training"(%x, %scale, %offset) <{epsilon = 0.0 : f32, feature_index = 1 : i64}> : (tensor<2x2xf64>, tensor<2xf64>, tensor<2xf64>) -> (tensor<2x2xf64>, tensor<2xf64>, tensor<2xf64>)
  check.expect_almost_eq_const %0#0, dense<[[-1.5, 0.0], [2.5, 2.0]]> : tensor<2x2xf64>
  check.expect_almost_eq_const %0#1, dense<[2.0, 4.0]> : tensor<2xf64>
  check.expect_almost_eq_const %0#2, dense<[1.0, 4.0]> : tensor<2xf64>
  return
}
func.func private @batch_norm_grad_e1() {
  %x = stablehlo.constant dense<[[1.0, 2.0], [3.0, 6.0]]> : tensor<2x2xf64>
  %scale = stablehlo.constant dense<[2.0, 1.0]> : tensor<2xf64>
  %mean = stablehlo.constant dense<[2.0, 4.0]> : tensor<2xf64>
  %variance = stablehlo.constant dense<[1.0, 4.0]> : tensor<2xf64>
  %g = stablehlo.constant dense<[[1.0, 2.0], [1.0, 0.0]]> : tensor<2x2xf64>
  %0:3 = "stablehlo.batch_norm_grad"(%x, %scale, %mean, %variance, %g) <{epsilon = 0.0 : f32, feature_index = 1 : i64}> : (tensor<2x2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2x2xf64>) -> (tensor<2x2xf64>, tensor<2xf64>, tensor<2xf64>)
  // Over two numbers every gradient lies in the directions that are taken away.
  check.expect_almost_eq_const %0#0, dense<0.0> : tensor<2x2xf64>
  check.expect_almost_eq_const %0#1, dense<[0.0, -2.0]> : tensor<2xf64>
  check.expect_almost_eq_const %0#2, dense<[2.0, 2.0]> : tensor<2xf64>
  return
}
func.func private @cholesky_e1() {
  %x = stablehlo.constant dense<[[4.0, 0.0, 0.0], [6.0, 10.0, 0.0], [2.0, 5.0, 14.0]]> : tensor<3x3xf32>
  %0 = stablehlo.cholesky %x, lower = true : tensor<3x3xf32>
  check.expect_almost_eq_const %0, dense<[[2.0, 0.0, 0.0], [3.0, 1.0, 0.0], [1.0, 2.0, 3.0]]> : tensor<3x3xf32>
  return
}
func.func private @triangular_solve_e1() {
  %a = stablehlo.constant dense<[[2.0, 0.0], [1.0, 4.0]]> : tensor<2x2xf32>
  %b = stablehlo.constant dense<[[2.0, 4.0], [9.0, 10.0]]> : tensor<2x2xf32>
  %0 = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  check.expect_almost_eq_const %0, dense<[[1.0, 2.0], [2.0, 2.0]]> : tensor<2x2xf32>
  return
}
func.func private @fft_e1() {
  %x = stablehlo.constant dense<[(1.0, 0.0), (2.0, 0.0), (0.0, 0.0), (1.0, 0.0)]> : tensor<4xcomplex<f32>>
  %0 = stablehlo.fft %x, type = FFT, length = [4] : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  check.expect_almost_eq_const %0, dense<[(4.0, 0.0), (1.0, -1.0), (-2.0, 0.0), (1.0, 1.0)]> : tensor<4xcomplex<f32>>
  return
}

func.func @main() {
  func.call @reduce_e1() : () -> ()
  func.call @reduce_window_e1() : () -> ()
  func.call @select_and_scatter_e1() : () -> ()
  func.call @dot_general_e1() : () -> ()
  func.call @convolution_e1() : () -> ()
  func.call @dynamic_conv_e1() : () -> ()
  func.call @batch_norm_inference_e1() : () -> ()
  func.call @batch_norm_training_e1() : () -> ()
  func.call @batch_norm_grad_e1() : () -> ()
  func.call @cholesky_e1() : () -> ()
  func.call @triangular_solve_e1() : () -> ()
  func.call @fft_e1() : () -> ()
  return
}
