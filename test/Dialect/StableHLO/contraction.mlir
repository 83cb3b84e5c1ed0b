// RUN: tenon-opt %s | tenon-opt | FileCheck %s
// RUN: tenon-opt %s --mlir-print-op-generic | tenon-opt | FileCheck %s

// CHECK-LABEL: func.func @products
func.func @products(%a: tensor<8x4x6xf32>, %b: tensor<8x6x5xf32>, %m: tensor<4x6xbf16>, %n: tensor<6x5xbf16>, %f: tensor<4xf8E5M2>) {
  // CHECK: stablehlo.dot_general %arg0, %arg1, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, HIGHEST] : (tensor<8x4x6xf32>, tensor<8x6x5xf32>) -> tensor<8x4x5xf32>
  %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, HIGHEST] : (tensor<8x4x6xf32>, tensor<8x6x5xf32>) -> tensor<8x4x5xf32>
  // CHECK: stablehlo.dot_general %arg2, %arg3, contracting_dims = [1] x [0] : (tensor<4x6xbf16>, tensor<6x5xbf16>) -> tensor<4x5xf32>
  %1 = stablehlo.dot_general %m, %n, contracting_dims = [1] x [0] : (tensor<4x6xbf16>, tensor<6x5xbf16>) -> tensor<4x5xf32>
  // CHECK: stablehlo.dot_general %arg2, %arg3, contracting_dims = [] x [] : (tensor<4x6xbf16>, tensor<6x5xbf16>) -> tensor<4x6x6x5xbf16>
  %2 = stablehlo.dot_general %m, %n, contracting_dims = [] x [] : (tensor<4x6xbf16>, tensor<6x5xbf16>) -> tensor<4x6x6x5xbf16>
  // CHECK: stablehlo.dot_general %arg0, %arg1, batching_dims = [0] x [0], contracting_dims = [2] x [1], algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<8x4x6xf32>, tensor<8x6x5xf32>) -> tensor<8x4x5xf32>
  %3 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1], algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<8x4x6xf32>, tensor<8x6x5xf32>) -> tensor<8x4x5xf32>
  // CHECK: stablehlo.dot_general %arg2, %arg3, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT], algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 6, allow_imprecise_accumulation = false> : (tensor<4x6xbf16>, tensor<6x5xbf16>) -> tensor<4x5xf32>
  %4 = stablehlo.dot_general %m, %n, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT], algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 6, allow_imprecise_accumulation = false> : (tensor<4x6xbf16>, tensor<6x5xbf16>) -> tensor<4x5xf32>
  // CHECK: stablehlo.dot_general %arg4, %arg4, contracting_dims = [0] x [0], algorithm = <lhs_precision_type = f8E5M2, rhs_precision_type = f8E5M2, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = true> : (tensor<4xf8E5M2>, tensor<4xf8E5M2>) -> tensor<f32>
  %9 = stablehlo.dot_general %f, %f, contracting_dims = [0] x [0], algorithm = <lhs_precision_type = f8E5M2, rhs_precision_type = f8E5M2, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = true> : (tensor<4xf8E5M2>, tensor<4xf8E5M2>) -> tensor<f32>
  // CHECK: stablehlo.dot %arg2, %arg3, precision = [HIGH, DEFAULT] : (tensor<4x6xbf16>, tensor<6x5xbf16>) -> tensor<4x5xbf16>
  %5 = stablehlo.dot %m, %n, precision = [HIGH, DEFAULT] : (tensor<4x6xbf16>, tensor<6x5xbf16>) -> tensor<4x5xbf16>
  // CHECK: stablehlo.dot %arg2, %arg3 : (tensor<4x6xbf16>, tensor<6x5xbf16>) -> tensor<4x5xbf16>
  %6 = stablehlo.dot %m, %n : (tensor<4x6xbf16>, tensor<6x5xbf16>) -> tensor<4x5xbf16>
  // CHECK: stablehlo.einsum %arg2, %arg3, config = "ij,jk->ik" : (tensor<4x6xbf16>, tensor<6x5xbf16>) -> tensor<4x5xbf16>
  %7 = stablehlo.einsum %m, %n, config = "ij,jk->ik" : (tensor<4x6xbf16>, tensor<6x5xbf16>) -> tensor<4x5xbf16>
  // CHECK: stablehlo.unary_einsum %arg2, config = "ij->i" : (tensor<4x6xbf16>) -> tensor<4xbf16>
  %8 = stablehlo.unary_einsum %m, config = "ij->i" : (tensor<4x6xbf16>) -> tensor<4xbf16>
  return
}

// CHECK-LABEL: func.func @convolutions
func.func @convolutions(%x: tensor<8x16x16x3xf32>, %k: tensor<3x3x3x4xf32>, %y: tensor<2x5xf32>, %l: tensor<5x7xf32>,
                        %pads: tensor<2x2xi32>) {
  // CHECK: stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 1], pad = {{\[\[}}1, 1], [0, 2]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<8x16x16x3xf32>, tensor<3x3x3x4xf32>) -> tensor<8x8x16x4xf32>
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 1], pad = [[1, 1], [0, 2]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [0, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<8x16x16x3xf32>, tensor<3x3x3x4xf32>) -> tensor<8x8x16x4xf32>
  // CHECK: stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[f, 1, 0, b], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x16x16x3xf32>, tensor<3x3x3x4xf32>) -> tensor<4x14x14x8xf32>
  %1 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[f, 1, 0, b], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x16x16x3xf32>, tensor<3x3x3x4xf32>) -> tensor<4x14x14x8xf32>
  // CHECK: stablehlo.convolution(%arg2, %arg3) dim_numbers = [b, f]x[i, o]->[b, f], window = {pad = []} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x5xf32>, tensor<5x7xf32>) -> tensor<2x7xf32>
  %2 = stablehlo.convolution(%y, %l) dim_numbers = [b, f]x[i, o]->[b, f], window = {pad = []} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x5xf32>, tensor<5x7xf32>) -> tensor<2x7xf32>
  // CHECK: "stablehlo.dynamic_conv"(%arg0, %arg1, %arg4) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<8x16x16x3xf32>, tensor<3x3x3x4xf32>, tensor<2x2xi32>) -> tensor<8x?x?x4xf32>
  %3 = "stablehlo.dynamic_conv"(%x, %k, %pads) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 3, input_spatial_dimensions = [1, 2], kernel_input_feature_dimension = 2, kernel_output_feature_dimension = 3, kernel_spatial_dimensions = [0, 1], output_batch_dimension = 0, output_feature_dimension = 3, output_spatial_dimensions = [1, 2]>, feature_group_count = 1 : i64}> : (tensor<8x16x16x3xf32>, tensor<3x3x3x4xf32>, tensor<2x2xi32>) -> tensor<8x?x?x4xf32>
  return
}

// CHECK-LABEL: func.func @linear_algebra
func.func @linear_algebra(%a: tensor<5x4x4xf64>, %b: tensor<5x4x2xf64>, %z: tensor<16xcomplex<f32>>) {
  // CHECK: stablehlo.cholesky %arg0, lower = true : tensor<5x4x4xf64>
  %0 = stablehlo.cholesky %a, lower = true : tensor<5x4x4xf64>
  // CHECK: stablehlo.cholesky %arg0 : tensor<5x4x4xf64>
  %1 = stablehlo.cholesky %a : tensor<5x4x4xf64>
  // CHECK: "stablehlo.triangular_solve"(%arg0, %arg1) <{left_side = true, lower = false, transpose_a = #stablehlo<transpose ADJOINT>, unit_diagonal = false}> : (tensor<5x4x4xf64>, tensor<5x4x2xf64>) -> tensor<5x4x2xf64>
  %2 = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = false, transpose_a = #stablehlo<transpose ADJOINT>, unit_diagonal = false}> : (tensor<5x4x4xf64>, tensor<5x4x2xf64>) -> tensor<5x4x2xf64>
  // CHECK: stablehlo.fft %arg2, type = FFT, length = [16] : (tensor<16xcomplex<f32>>) -> tensor<16xcomplex<f32>>
  %3 = stablehlo.fft %z, type = FFT, length = [16] : (tensor<16xcomplex<f32>>) -> tensor<16xcomplex<f32>>
  // CHECK: stablehlo.fft %arg2, type = IRFFT, length = [30] : (tensor<16xcomplex<f32>>) -> tensor<30xf32>
  %4 = stablehlo.fft %z, type = IRFFT, length = [30] : (tensor<16xcomplex<f32>>) -> tensor<30xf32>
  return
}

// A convolution of integers may be summed in floating point: exporters write it.
// CHECK-LABEL: func.func @float_sums
// CHECK: stablehlo.convolution
func.func @float_sums(%x: tensor<1x4x4x1xi16>, %k: tensor<1x1x1x1xi16>) -> tensor<1x4x4x1xbf16> {
  %0 = "stablehlo.convolution"(%x, %k) <{dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x4x4x1xi16>, tensor<1x1x1x1xi16>) -> tensor<1x4x4x1xbf16>
  return %0 : tensor<1x4x4x1xbf16>
}
