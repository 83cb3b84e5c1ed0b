// Constraints of convolution, one failing case or more per number.
// RUN: tenon-opt %s --split-input-file --verify-diagnostics

func.func @convolution_c1(%a: tensor<1x8x8x4xf32>, %b: tensor<3x4x6xf32>) {
  // expected-error@+1 {{'stablehlo.convolution' op 'lhs' has rank 4 and 'rhs' has rank 3, expected equal ranks of at least 2}}
  %r = "stablehlo.convolution"(%a, %b) <{dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x4x6xf32>) -> tensor<1x6x6x6xf32>
  return
}

// -----

func.func @convolution_c2(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x6xf32>) {
  // expected-error@+1 {{'stablehlo.convolution' op 'window_strides' has 1 entry, expected 2, one for each spatial dimension}}
  %r = "stablehlo.convolution"(%a, %b) <{dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64, window_strides = array<i64: 1>}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x6x6x6xf32>
  return
}

// -----

func.func @convolution_c3(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x6xf32>) {
  // expected-error@+1 {{'stablehlo.convolution' op 'window_strides' holds 0 at position 1, expected at least 1}}
  %r = "stablehlo.convolution"(%a, %b) <{dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64, window_strides = array<i64: 1, 0>}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x6x6x6xf32>
  return
}

// -----

func.func @convolution_c4(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x6xf32>) {
  // expected-error@+1 {{'stablehlo.convolution' op dimension 1 of 'padding' has size 3, expected 2: found shape [2, 3], expected [2, 2], low and high padding of each dimension}}
  %r = "stablehlo.convolution"(%a, %b) <{dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64, padding = dense<0> : tensor<2x3xi64>}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x6x6x6xf32>
  return
}

// -----

func.func @convolution_c4_b(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x6xf32>) {
  // expected-error@+1 {{'stablehlo.convolution' op 'padding' has rank 1 and shape [4], expected rank 2 and shape [2, 2], low and high padding of each dimension}}
  %r = "stablehlo.convolution"(%a, %b) <{dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64, padding = dense<0> : tensor<4xi64>}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x6x6x6xf32>
  return
}

// -----

func.func @convolution_c5(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x6xf32>) {
  // expected-error@+1 {{'stablehlo.convolution' op 'lhs_dilation' has 3 entries, expected 2, one for each spatial dimension}}
  %r = "stablehlo.convolution"(%a, %b) <{dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64, lhs_dilation = array<i64: 1, 1, 1>}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x6x6x6xf32>
  return
}

// -----

func.func @convolution_c6(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x6xf32>) {
  // expected-error@+1 {{'stablehlo.convolution' op 'lhs_dilation' holds 0 at position 0, expected at least 1}}
  %r = "stablehlo.convolution"(%a, %b) <{dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64, lhs_dilation = array<i64: 0, 1>}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x6x6x6xf32>
  return
}

// -----

func.func @convolution_c7(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x6xf32>) {
  // expected-error@+1 {{'stablehlo.convolution' op 'rhs_dilation' has 0 entries, expected 2, one for each spatial dimension}}
  %r = "stablehlo.convolution"(%a, %b) <{dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64, rhs_dilation = array<i64>}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x6x6x6xf32>
  return
}

// -----

func.func @convolution_c8(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x6xf32>) {
  // expected-error@+1 {{'stablehlo.convolution' op 'rhs_dilation' holds -2 at position 1, expected at least 1}}
  %r = "stablehlo.convolution"(%a, %b) <{dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64, rhs_dilation = array<i64: 1, -2>}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x6x6x6xf32>
  return
}

// -----

func.func @convolution_c9(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x6xf32>) {
  // expected-error@+1 {{'stablehlo.convolution' op 'window_reversal' has 1 entry, expected 2, one for each spatial dimension}}
  %r = "stablehlo.convolution"(%a, %b) <{dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64, window_reversal = array<i1: false>}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x6x6x6xf32>
  return
}

// -----

func.func @convolution_c10(%a: tensor<3x8x8x4xf32>, %b: tensor<3x3x4x6xf32>) {
  // expected-error@+1 {{'stablehlo.convolution' op dimension 0 of 'lhs' has size 3, expected a multiple of 'batch_group_count' = 2}}
  %r = "stablehlo.convolution"(%a, %b) <{dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 2 : i64}> : (tensor<3x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x6x6x6xf32>
  return
}

// -----

func.func @convolution_c11(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x6xf32>) {
  // expected-error@+1 {{'stablehlo.convolution' op dimension 3 of 'lhs' has size 4, expected a multiple of 'feature_group_count' = 3}}
  %r = "stablehlo.convolution"(%a, %b) <{dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 3 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x6x6x6xf32>
  return
}

// -----

func.func @convolution_c12(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x6xf32>) {
  // expected-error@+1 {{'stablehlo.convolution' op 'input_spatial_dimensions' has 1 entry, expected 2, one for each spatial dimension}}
  %r = "stablehlo.convolution"(%a, %b) <{dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 3, input_spatial_dimensions = [1], kernel_input_feature_dimension = 2, kernel_output_feature_dimension = 3, kernel_spatial_dimensions = [0, 1], output_batch_dimension = 0, output_feature_dimension = 3, output_spatial_dimensions = [1, 2]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x6x6x6xf32>
  return
}

// -----

func.func @convolution_c13(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x6xf32>) {
  // expected-error@+1 {{'stablehlo.convolution' op 'input_dimensions' holds 4 at position 3, expected a dimension of 'lhs' of rank 4 (at least 0, less than 4)}}
  %r = "stablehlo.convolution"(%a, %b) <{dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 3, input_spatial_dimensions = [1, 4], kernel_input_feature_dimension = 2, kernel_output_feature_dimension = 3, kernel_spatial_dimensions = [0, 1], output_batch_dimension = 0, output_feature_dimension = 3, output_spatial_dimensions = [1, 2]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x6x6x6xf32>
  return
}

// -----

func.func @convolution_c13_b(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x6xf32>) {
  // expected-error@+1 {{'stablehlo.convolution' op 'input_dimensions' holds 1 twice, at positions 2 and 3, expected distinct values}}
  %r = "stablehlo.convolution"(%a, %b) <{dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 3, input_spatial_dimensions = [1, 1], kernel_input_feature_dimension = 2, kernel_output_feature_dimension = 3, kernel_spatial_dimensions = [0, 1], output_batch_dimension = 0, output_feature_dimension = 3, output_spatial_dimensions = [1, 2]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x6x6x6xf32>
  return
}

// -----

func.func @convolution_c14(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x5x6xf32>) {
  // expected-error@+1 {{'stablehlo.convolution' op dimension 2 of 'rhs' has size 5, expected 4, the size 4 of dimension 3 of 'lhs' divided by 'feature_group_count' = 1}}
  %r = "stablehlo.convolution"(%a, %b) <{dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x5x6xf32>) -> tensor<1x6x6x6xf32>
  return
}

// -----

func.func @convolution_c15(%a: tensor<4x8x8x4xf32>, %b: tensor<3x3x4x6xf32>) {
  // expected-error@+1 {{'stablehlo.convolution' op dimension 3 of 'rhs' has size 6, expected a multiple of 'batch_group_count' = 4}}
  %r = "stablehlo.convolution"(%a, %b) <{dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 4 : i64}> : (tensor<4x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x6x6x6xf32>
  return
}

// -----

func.func @convolution_c16(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x2x5xf32>) {
  // expected-error@+1 {{'stablehlo.convolution' op dimension 3 of 'rhs' has size 5, expected a multiple of 'feature_group_count' = 2}}
  %r = "stablehlo.convolution"(%a, %b) <{dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 2 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x2x5xf32>) -> tensor<1x6x6x6xf32>
  return
}

// -----

func.func @convolution_c17(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x6xf32>) {
  // expected-error@+1 {{'stablehlo.convolution' op 'kernel_spatial_dimensions' has 3 entries, expected 2, one for each spatial dimension}}
  %r = "stablehlo.convolution"(%a, %b) <{dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 3, input_spatial_dimensions = [1, 2], kernel_input_feature_dimension = 2, kernel_output_feature_dimension = 3, kernel_spatial_dimensions = [0, 1, 1], output_batch_dimension = 0, output_feature_dimension = 3, output_spatial_dimensions = [1, 2]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x6x6x6xf32>
  return
}

// -----

func.func @convolution_c18(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x6xf32>) {
  // expected-error@+1 {{'stablehlo.convolution' op 'kernel_dimensions' holds -1 at position 0, expected a dimension of 'rhs' of rank 4 (at least 0, less than 4)}}
  %r = "stablehlo.convolution"(%a, %b) <{dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 3, input_spatial_dimensions = [1, 2], kernel_input_feature_dimension = -1, kernel_output_feature_dimension = 3, kernel_spatial_dimensions = [0, 1], output_batch_dimension = 0, output_feature_dimension = 3, output_spatial_dimensions = [1, 2]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x6x6x6xf32>
  return
}

// -----

func.func @convolution_c18_b(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x6xf32>) {
  // expected-error@+1 {{'stablehlo.convolution' op 'kernel_dimensions' holds 3 twice, at positions 0 and 1, expected distinct values}}
  %r = "stablehlo.convolution"(%a, %b) <{dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 3, input_spatial_dimensions = [1, 2], kernel_input_feature_dimension = 3, kernel_output_feature_dimension = 3, kernel_spatial_dimensions = [0, 1], output_batch_dimension = 0, output_feature_dimension = 3, output_spatial_dimensions = [1, 2]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x6x6x6xf32>
  return
}

// -----

func.func @convolution_c19(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x6xf32>) {
  // expected-error@+1 {{'stablehlo.convolution' op 'output_spatial_dimensions' has 0 entries, expected 2, one for each spatial dimension}}
  %r = "stablehlo.convolution"(%a, %b) <{dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 3, input_spatial_dimensions = [1, 2], kernel_input_feature_dimension = 2, kernel_output_feature_dimension = 3, kernel_spatial_dimensions = [0, 1], output_batch_dimension = 0, output_feature_dimension = 3, output_spatial_dimensions = []>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x6x6x6xf32>
  return
}

// -----

func.func @convolution_c20(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x6xf32>) {
  // expected-error@+1 {{'stablehlo.convolution' op 'output_dimensions' holds 4 at position 1, expected a dimension of 'result' of rank 4 (at least 0, less than 4)}}
  %r = "stablehlo.convolution"(%a, %b) <{dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 3, input_spatial_dimensions = [1, 2], kernel_input_feature_dimension = 2, kernel_output_feature_dimension = 3, kernel_spatial_dimensions = [0, 1], output_batch_dimension = 0, output_feature_dimension = 4, output_spatial_dimensions = [1, 2]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x6x6x6xf32>
  return
}

// -----

func.func @convolution_c20_b(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x6xf32>) {
  // expected-error@+1 {{'stablehlo.convolution' op 'output_dimensions' holds 0 twice, at positions 0 and 1, expected distinct values}}
  %r = "stablehlo.convolution"(%a, %b) <{dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 3, input_spatial_dimensions = [1, 2], kernel_input_feature_dimension = 2, kernel_output_feature_dimension = 3, kernel_spatial_dimensions = [0, 1], output_batch_dimension = 0, output_feature_dimension = 0, output_spatial_dimensions = [1, 2]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x6x6x6xf32>
  return
}

// -----

func.func @convolution_c21(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x6xf32>) {
  // expected-error@+1 {{'stablehlo.convolution' op 'feature_group_count' is 0, expected at least 1}}
  %r = "stablehlo.convolution"(%a, %b) <{dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 0 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x6x6x6xf32>
  return
}

// -----

func.func @convolution_c22(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x6xf32>) {
  // expected-error@+1 {{'stablehlo.convolution' op 'batch_group_count' is -1, expected at least 1}}
  %r = "stablehlo.convolution"(%a, %b) <{dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = -1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x6x6x6xf32>
  return
}

// -----

func.func @convolution_c23(%a: tensor<2x8x8x4xf32>, %b: tensor<3x3x4x6xf32>) {
  // expected-error@+1 {{'stablehlo.convolution' op 'feature_group_count' is 2 and 'batch_group_count' is 2, expected one of them to be 1}}
  %r = "stablehlo.convolution"(%a, %b) <{dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 2 : i64, batch_group_count = 2 : i64}> : (tensor<2x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x6x6x6xf32>
  return
}

// -----

func.func @convolution_c24(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x6xf32>) {
  // expected-error@+1 {{'stablehlo.convolution' op 'precision_config' has 3 entries, expected 2, one for each operand}}
  %r = "stablehlo.convolution"(%a, %b) <{dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64, precision_config = [#stablehlo<precision HIGH>, #stablehlo<precision HIGH>, #stablehlo<precision HIGH>]}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x6x6x6xf32>
  return
}

// -----

func.func @convolution_c25(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x6xf32>) {
  // expected-error@+1 {{'stablehlo.convolution' op dimension 2 of 'result' has size 7, expected 6: found shape [1, 6, 7, 6], expected [1, 6, 6, 6], batch, features and number of windows}}
  %r = "stablehlo.convolution"(%a, %b) <{dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x6x7x6xf32>
  return
}

// -----

func.func @convolution_c25_b(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x6xf32>) {
  // expected-error@+1 {{'stablehlo.convolution' op dimension 0 of 'result' has size 2, expected 1: found shape [2, 6, 6, 6], expected [1, 6, 6, 6], batch, features and number of windows}}
  %r = "stablehlo.convolution"(%a, %b) <{dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<2x6x6x6xf32>
  return
}

// -----

func.func @convolution_c25_c(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x6xf32>) {
  // expected-error@+1 {{'stablehlo.convolution' op dimension 3 of 'result' has size 5, expected 6: found shape [1, 6, 6, 5], expected [1, 6, 6, 6], batch, features and number of windows}}
  %r = "stablehlo.convolution"(%a, %b) <{dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x6x6x5xf32>
  return
}

// -----

func.func @convolution_c26(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x6xf32>) {
  // expected-error@+1 {{'stablehlo.convolution' op 'result' has rank 3 and shape [1, 6, 6], expected rank 4 and shape [1, 6, 6, 6], batch, features and number of windows}}
  %r = "stablehlo.convolution"(%a, %b) <{dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x6x6xf32>
  return
}

// -----

func.func @convolution_c27(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x6xf16>) {
  // expected-error@+1 {{'stablehlo.convolution' op expected 'lhs' and 'rhs' to have the same element type, found 'f32' and 'f16'}}
  %r = "stablehlo.convolution"(%a, %b) <{dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf16>) -> tensor<1x6x6x6xf32>
  return
}

// -----

func.func @convolution_c27_b(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x6xf32>) {
  // expected-error@+1 {{'stablehlo.convolution' op 'result' has element type 'i32', expected one that 'f32' can be promoted to}}
  %r = "stablehlo.convolution"(%a, %b) <{dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x6x6x6xi32>
  return
}

// -----

func.func @convolution_c28(%a: tensor<1x8x8x4x!quant.uniform<i8:f32, 0.5>>, %b: tensor<3x3x4x6xf32>) {
  // expected-error@+1 {{'stablehlo.convolution' op element types are '!quant.uniform<i8:f32, 5.000000e-01>', 'f32' and '!quant.uniform<i8:f32, 5.000000e-01>', expected 'rhs' to be quantized, and 'lhs' if and only if 'result' is}}
  %r = "stablehlo.convolution"(%a, %b) <{dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4x!quant.uniform<i8:f32, 0.5>>, tensor<3x3x4x6xf32>) -> tensor<1x6x6x6x!quant.uniform<i8:f32, 0.5>>
  return
}

// -----

func.func @convolution_c29(%a: tensor<1x8x8x4x!quant.uniform<i8:f32, 0.5>>, %b: tensor<3x3x4x6x!quant.uniform<i8:f32:2, {0.5,0.5,0.5,0.5}>>) {
  // expected-error@+1 {{'stablehlo.convolution' op 'rhs' is quantized along dimension 2, expected 3, the kernel's output feature dimension}}
  %r = "stablehlo.convolution"(%a, %b) <{dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4x!quant.uniform<i8:f32, 0.5>>, tensor<3x3x4x6x!quant.uniform<i8:f32:2, {0.5,0.5,0.5,0.5}>>) -> tensor<1x6x6x6x!quant.uniform<i8:f32, 0.5>>
  return
}

// -----

func.func @convolution_c30(%a: tensor<1x8x8x4x!quant.uniform<i8:f32, 0.5>>, %b: tensor<3x3x4x6x!quant.uniform<i8:f32:3, {0.5,0.5,0.5,0.5,0.5,0.5}>>) {
  // expected-error@+1 {{'stablehlo.convolution' op 'result' is quantized along dimension 1, expected 3, the output feature dimension}}
  %r = "stablehlo.convolution"(%a, %b) <{dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4x!quant.uniform<i8:f32, 0.5>>, tensor<3x3x4x6x!quant.uniform<i8:f32:3, {0.5,0.5,0.5,0.5,0.5,0.5}>>) -> tensor<1x6x6x6x!quant.uniform<i8:f32:1, {0.5,0.5,0.5,0.5,0.5,0.5}>>
  return
}

// -----

func.func @convolution_c31(%a: tensor<1x8x8x4x!quant.uniform<i8:f32, 0.5>>, %b: tensor<3x3x4x6x!quant.uniform<i4:f32, 0.5>>) {
  // expected-error@+1 {{'stablehlo.convolution' op 'lhs' and 'rhs' have element types '!quant.uniform<i8:f32, 5.000000e-01>' and '!quant.uniform<i4:f32, 5.000000e-01>', expected one storage type}}
  %r = "stablehlo.convolution"(%a, %b) <{dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4x!quant.uniform<i8:f32, 0.5>>, tensor<3x3x4x6x!quant.uniform<i4:f32, 0.5>>) -> tensor<1x6x6x6x!quant.uniform<i8:f32, 0.5>>
  return
}

// -----

func.func @convolution_c32(%a: tensor<1x8x8x4x!quant.uniform<i8:f32, 0.5>>, %b: tensor<3x3x4x6x!quant.uniform<i8:f32, 0.5>>) {
  // expected-error@+1 {{'stablehlo.convolution' op element types of 'lhs', 'rhs' and 'result' are '!quant.uniform<i8:f32, 5.000000e-01>', '!quant.uniform<i8:f32, 5.000000e-01>' and '!quant.uniform<i8:f16, 5.000000e-01>', expected all to stand for 'f32'}}
  %r = "stablehlo.convolution"(%a, %b) <{dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4x!quant.uniform<i8:f32, 0.5>>, tensor<3x3x4x6x!quant.uniform<i8:f32, 0.5>>) -> tensor<1x6x6x6x!quant.uniform<i8:f16, 0.5>>
  return
}

// -----

func.func @convolution_c33(%a: tensor<1x8x8x4x!quant.uniform<i8:f32, 0.5>>, %b: tensor<3x3x4x6x!quant.uniform<i8:f32, 0.5>>) {
  // expected-error@+1 {{'stablehlo.convolution' op 'rhs' is quantized per tensor but 'result' has element type '!quant.uniform<i8:f32:3, {5.000000e-01,5.000000e-01,5.000000e-01,5.000000e-01,5.000000e-01,5.000000e-01}>', expected it to be quantized per tensor}}
  %r = "stablehlo.convolution"(%a, %b) <{dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4x!quant.uniform<i8:f32, 0.5>>, tensor<3x3x4x6x!quant.uniform<i8:f32, 0.5>>) -> tensor<1x6x6x6x!quant.uniform<i8:f32:3, {0.5,0.5,0.5,0.5,0.5,0.5}>>
  return
}

// -----

func.func @convolution_c34(%a: tensor<1x8x8x4xf16>, %b: tensor<3x3x4x6x!quant.uniform<i8:f32, 0.5>>) {
  // expected-error@+1 {{'stablehlo.convolution' op element types of 'lhs', 'rhs' and 'result' are 'f16', '!quant.uniform<i8:f32, 5.000000e-01>' and 'f16', expected all to stand for 'f32'}}
  %r = "stablehlo.convolution"(%a, %b) <{dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf16>, tensor<3x3x4x6x!quant.uniform<i8:f32, 0.5>>) -> tensor<1x6x6x6xf16>
  return
}

// -----

func.func @window_overflow(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x6xf32>) {
  // expected-error@+1 {{'stablehlo.convolution' op window of spatial dimension 0 overflows 64-bit arithmetic after padding and dilation}}
  %r = "stablehlo.convolution"(%a, %b) <{dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64, padding = dense<9223372036854775807> : tensor<2x2xi64>}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x6x6x6xf32>
  return
}
