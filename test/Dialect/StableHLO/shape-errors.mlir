// Constraints of operations that arrange elements, one failing case or more per number.
// RUN: tenon-opt %s --split-input-file --verify-diagnostics

func.func @broadcast_in_dim_c1(%a: tensor<3xf32>) {
  // expected-error@+1 {{'stablehlo.broadcast_in_dim' op expected 'operand' and 'result' to have the same element type, found 'f32' and 'f64'}}
  %r = "stablehlo.broadcast_in_dim"(%a) <{broadcast_dimensions = array<i64: 1>}> : (tensor<3xf32>) -> tensor<2x3xf64>
  return
}

// -----

func.func @broadcast_in_dim_c2(%a: tensor<3xf32>) {
  // expected-error@+1 {{'stablehlo.broadcast_in_dim' op 'broadcast_dimensions' has 2 entries, expected 1, one for each dimension of 'operand'}}
  %r = "stablehlo.broadcast_in_dim"(%a) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @broadcast_in_dim_c3(%a: tensor<3xf32>) {
  // expected-error@+1 {{'stablehlo.broadcast_in_dim' op 'broadcast_dimensions' holds 2 at position 0, expected a dimension of 'result' of rank 2 (at least 0, less than 2)}}
  %r = "stablehlo.broadcast_in_dim"(%a) <{broadcast_dimensions = array<i64: 2>}> : (tensor<3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @broadcast_in_dim_c4(%a: tensor<3x3xf32>) {
  // expected-error@+1 {{'stablehlo.broadcast_in_dim' op 'broadcast_dimensions' holds 1 twice, at positions 0 and 1, expected distinct values}}
  %r = "stablehlo.broadcast_in_dim"(%a) <{broadcast_dimensions = array<i64: 1, 1>}> : (tensor<3x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @broadcast_in_dim_c5(%a: tensor<3xf32>) {
  // expected-error@+1 {{'stablehlo.broadcast_in_dim' op dimension 0 of 'operand' has size 3, expected 1 or the size 2 of dimension 0 of 'result'}}
  %r = "stablehlo.broadcast_in_dim"(%a) <{broadcast_dimensions = array<i64: 0>}> : (tensor<3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @broadcast_in_dim_c6(%a: tensor<3x!quant.uniform<i8:f32:0, {0.5,0.5,0.5}>>) {
  // expected-error@+1 {{'stablehlo.broadcast_in_dim' op 'result' is quantized along dimension 0, expected 1, where dimension 0 of 'operand' goes}}
  %r = "stablehlo.broadcast_in_dim"(%a) <{broadcast_dimensions = array<i64: 1>}> : (tensor<3x!quant.uniform<i8:f32:0, {0.5,0.5,0.5}>>) -> tensor<3x3x!quant.uniform<i8:f32:0, {0.5,0.5,0.5}>>
  return
}

// -----

func.func @broadcast_in_dim_c6_b(%a: tensor<1x!quant.uniform<i8:f32:0, {0.5}>>) {
  // expected-error@+1 {{'stablehlo.broadcast_in_dim' op 'result' has scale 2.500000e-01 and zero point 0 at index 2, expected 5.000000e-01 and 0, those of 'operand'}}
  %r = "stablehlo.broadcast_in_dim"(%a) <{broadcast_dimensions = array<i64: 1>}> : (tensor<1x!quant.uniform<i8:f32:0, {0.5}>>) -> tensor<2x3x!quant.uniform<i8:f32:1, {0.5, 0.5, 0.25}>>
  return
}

// -----

func.func @reshape_c1(%a: tensor<4xf32>) {
  // expected-error@+1 {{'stablehlo.reshape' op expected 'operand' and 'result' to have the same element type, found 'f32' and 'i32'}}
  %r = "stablehlo.reshape"(%a) : (tensor<4xf32>) -> tensor<2x2xi32>
  return
}

// -----

func.func @reshape_c2(%a: tensor<4x6xf32>) {
  // expected-error@+1 {{'stablehlo.reshape' op 'operand' of type 'tensor<4x6xf32>' has 24 elements but 'result' of type 'tensor<5x5xf32>' has 25, expected equal numbers}}
  %r = "stablehlo.reshape"(%a) : (tensor<4x6xf32>) -> tensor<5x5xf32>
  return
}

// -----

func.func @reshape_c2_b(%a: tensor<3x0xf32>) {
  // expected-error@+1 {{'stablehlo.reshape' op 'operand' of type 'tensor<3x0xf32>' has 0 elements but 'result' of type 'tensor<3xf32>' has 3, expected equal numbers}}
  %r = "stablehlo.reshape"(%a) : (tensor<3x0xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @reshape_c3(%a: tensor<2x6x!quant.uniform<i8:f32:1, {0.5,0.5,0.5,0.5,0.5,0.5}>>) {
  // expected-error@+1 {{'stablehlo.reshape' op 'operand' is quantized along dimension 1 of 'tensor<2x6x!quant.uniform<i8:f32:1, {5.000000e-01,5.000000e-01,5.000000e-01,5.000000e-01,5.000000e-01,5.000000e-01}>>' and 'result' along dimension 0 of 'tensor<6x2x!quant.uniform<i8:f32:0, {5.000000e-01,5.000000e-01,5.000000e-01,5.000000e-01,5.000000e-01,5.000000e-01}>>', expected the same size there, and as many elements before and after}}
  %r = "stablehlo.reshape"(%a) : (tensor<2x6x!quant.uniform<i8:f32:1, {0.5,0.5,0.5,0.5,0.5,0.5}>>) -> tensor<6x2x!quant.uniform<i8:f32:0, {0.5,0.5,0.5,0.5,0.5,0.5}>>
  return
}

// -----

func.func @transpose_c1(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{'stablehlo.transpose' op expected 'operand' and 'result' to have the same element type, found 'f32' and 'f16'}}
  %r = "stablehlo.transpose"(%a) <{permutation = array<i64: 1, 0>}> : (tensor<2x3xf32>) -> tensor<3x2xf16>
  return
}

// -----

func.func @transpose_c2(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{'stablehlo.transpose' op 'permutation' has 1 entry, expected 2, one for each dimension of 'operand'}}
  %r = "stablehlo.transpose"(%a) <{permutation = array<i64: 0>}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @transpose_c2_b(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{'stablehlo.transpose' op 'permutation' holds 0 twice, at positions 0 and 1, expected distinct values}}
  %r = "stablehlo.transpose"(%a) <{permutation = array<i64: 0, 0>}> : (tensor<2x3xf32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @transpose_c2_c(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{'stablehlo.transpose' op 'permutation' holds 2 at position 1, expected a dimension of 'operand' of rank 2 (at least 0, less than 2)}}
  %r = "stablehlo.transpose"(%a) <{permutation = array<i64: 0, 2>}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @transpose_c3(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{'stablehlo.transpose' op dimension 0 of 'result' has size 2, expected 3: found shape [2, 3], expected [3, 2], the dimensions of 'operand' in the order of 'permutation'}}
  %r = "stablehlo.transpose"(%a) <{permutation = array<i64: 1, 0>}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @transpose_c4(%a: tensor<3x3x!quant.uniform<i8:f32:0, {0.5,0.5,0.5}>>) {
  // expected-error@+1 {{'stablehlo.transpose' op 'result' is quantized along dimension 0, which is dimension 1 of 'operand', expected dimension 0}}
  %r = "stablehlo.transpose"(%a) <{permutation = array<i64: 1, 0>}> : (tensor<3x3x!quant.uniform<i8:f32:0, {0.5,0.5,0.5}>>) -> tensor<3x3x!quant.uniform<i8:f32:0, {0.5,0.5,0.5}>>
  return
}

// -----

func.func @reverse_c1(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{'stablehlo.reverse' op operand 0 and result 0 must have the same type, found 'tensor<2x3xf32>' and 'tensor<3x2xf32>'}}
  %r = "stablehlo.reverse"(%a) <{dimensions = array<i64: 0>}> : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return
}

// -----

func.func @reverse_c1_b(%a: tensor<2x3x!quant.uniform<i8:f32, 0.5>>) {
  // expected-error@+1 {{'stablehlo.reverse' op expected 'operand' and 'result' to have the same type, found 'tensor<2x3x!quant.uniform<i8:f32, 5.000000e-01>>' and 'tensor<2x3x!quant.uniform<i8:f32, 5.000000e-01:3>>'}}
  %r = "stablehlo.reverse"(%a) <{dimensions = array<i64: 0>}> : (tensor<2x3x!quant.uniform<i8:f32, 0.5>>) -> tensor<2x3x!quant.uniform<i8:f32, 0.5:3>>
  return
}

// -----

func.func @reverse_c2(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{'stablehlo.reverse' op 'dimensions' holds 0 twice, at positions 0 and 1, expected distinct values}}
  %r = "stablehlo.reverse"(%a) <{dimensions = array<i64: 0, 0>}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @reverse_c3(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{'stablehlo.reverse' op 'dimensions' holds -1 at position 0, expected a dimension of 'result' of rank 2 (at least 0, less than 2)}}
  %r = "stablehlo.reverse"(%a) <{dimensions = array<i64: -1>}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @iota_c1() {
  // expected-error@+1 {{'stablehlo.iota' op 'iota_dimension' is 2, expected a dimension of 'output' of rank 2 (at least 0, less than 2)}}
  %r = "stablehlo.iota"() <{iota_dimension = 2 : i64}> : () -> tensor<2x3xf32>
  return
}

// -----

func.func @iota_c1_b() {
  // expected-error@+1 {{'stablehlo.iota' op 'iota_dimension' is 0, expected a dimension of 'output' of rank 0 (at least 0, less than 0)}}
  %r = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<f32>
  return
}

// -----

func.func @concatenate_c1(%a: tensor<2x3xf32>, %b: tensor<2x3xf16>) {
  // expected-error@+1 {{'stablehlo.concatenate' op expected 'inputs' #0 and 'inputs' #1 to have the same element type, found 'f32' and 'f16'}}
  %r = "stablehlo.concatenate"(%a, %b) <{dimension = 0 : i64}> : (tensor<2x3xf32>, tensor<2x3xf16>) -> tensor<4x3xf32>
  return
}

// -----

func.func @concatenate_c2(%a: tensor<2x3xf32>, %b: tensor<2x4xf32>) {
  // expected-error@+1 {{'stablehlo.concatenate' op dimension 1 of 'inputs' #1 has size 4, expected 3: found shape [2, 4], expected [2, 3], that of 'inputs' #0 except for 'dimension'}}
  %r = "stablehlo.concatenate"(%a, %b) <{dimension = 0 : i64}> : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @concatenate_c2_b(%a: tensor<2x3xf32>, %b: tensor<2xf32>) {
  // expected-error@+1 {{'stablehlo.concatenate' op 'inputs' #1 has rank 1 and shape [2], expected rank 2 and shape [2, 3], that of 'inputs' #0 except for 'dimension'}}
  %r = "stablehlo.concatenate"(%a, %b) <{dimension = 0 : i64}> : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @concatenate_c3() {
  // expected-error@+1 {{'stablehlo.concatenate' op has no inputs, expected at least one}}
  %r = "stablehlo.concatenate"() <{dimension = 0 : i64}> : () -> tensor<4x3xf32>
  return
}

// -----

func.func @concatenate_c4(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{'stablehlo.concatenate' op 'dimension' is 2, expected a dimension of 'inputs' #0 of rank 2 (at least 0, less than 2)}}
  %r = "stablehlo.concatenate"(%a) <{dimension = 2 : i64}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @concatenate_c4_b(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{'stablehlo.concatenate' op 'dimension' is -1, expected a dimension of 'inputs' #0 of rank 2 (at least 0, less than 2)}}
  %r = "stablehlo.concatenate"(%a) <{dimension = -1 : i64}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @concatenate_c5(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>) {
  // expected-error@+1 {{'stablehlo.concatenate' op expected 'inputs' #0 and 'result' to have the same element type, found 'f32' and 'f64'}}
  %r = "stablehlo.concatenate"(%a, %b) <{dimension = 0 : i64}> : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<4x3xf64>
  return
}

// -----

func.func @concatenate_c6(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>) {
  // expected-error@+1 {{'stablehlo.concatenate' op dimension 0 of 'result' has size 5, expected 4: found shape [5, 3], expected [4, 3], the sum of the inputs' sizes in 'dimension'}}
  %r = "stablehlo.concatenate"(%a, %b) <{dimension = 0 : i64}> : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<5x3xf32>
  return
}

// -----

func.func @concatenate_overflow(%a: tensor<9223372036854775807x0xf32>, %b: tensor<9223372036854775807x0xf32>) {
  // expected-error@+1 {{'stablehlo.concatenate' op sizes of dimension 0 of 'inputs' #0 to #1 add up to more than 9223372036854775807}}
  %r = "stablehlo.concatenate"(%a, %b) <{dimension = 0 : i64}> : (tensor<9223372036854775807x0xf32>, tensor<9223372036854775807x0xf32>) -> tensor<?x0xf32>
  return
}

// -----

func.func @pad_c1(%a: tensor<2x3xf32>, %b: tensor<f16>) {
  // expected-error@+1 {{'stablehlo.pad' op expected 'operand' and 'padding_value' to have the same element type, found 'f32' and 'f16'}}
  %r = "stablehlo.pad"(%a, %b) <{edge_padding_low = array<i64: 0, 1>, edge_padding_high = array<i64: 0, 0>, interior_padding = array<i64: 0, 0>}> : (tensor<2x3xf32>, tensor<f16>) -> tensor<2x4xf32>
  return
}

// -----

func.func @pad_c1_b(%a: tensor<2x3xf32>, %b: tensor<f32>) {
  // expected-error@+1 {{'stablehlo.pad' op expected 'operand' and 'result' to have the same element type, found 'f32' and 'f64'}}
  %r = "stablehlo.pad"(%a, %b) <{edge_padding_low = array<i64: 0, 1>, edge_padding_high = array<i64: 0, 0>, interior_padding = array<i64: 0, 0>}> : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x4xf64>
  return
}

// -----

func.func @pad_i2(%a: tensor<2x3xf32>, %b: tensor<1xf32>) {
  // expected-error@+1 {{'stablehlo.pad' op 'padding_value' has rank 1, expected a tensor without dimensions}}
  %r = "stablehlo.pad"(%a, %b) <{edge_padding_low = array<i64: 0, 1>, edge_padding_high = array<i64: 0, 0>, interior_padding = array<i64: 0, 0>}> : (tensor<2x3xf32>, tensor<1xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @pad_c2(%a: tensor<2x3xf32>, %b: tensor<f32>) {
  // expected-error@+1 {{'stablehlo.pad' op 'edge_padding_low' has 1 entry, expected 2, one for each dimension of 'operand'}}
  %r = "stablehlo.pad"(%a, %b) <{edge_padding_low = array<i64: 0>, edge_padding_high = array<i64: 0, 0>, interior_padding = array<i64: 0, 0>}> : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @pad_c2_b(%a: tensor<2x3xf32>, %b: tensor<f32>) {
  // expected-error@+1 {{'stablehlo.pad' op 'edge_padding_high' has 3 entries, expected 2, one for each dimension of 'operand'}}
  %r = "stablehlo.pad"(%a, %b) <{edge_padding_low = array<i64: 0, 1>, edge_padding_high = array<i64: 0, 0, 0>, interior_padding = array<i64: 0, 0>}> : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @pad_c2_c(%a: tensor<2x3xf32>, %b: tensor<f32>) {
  // expected-error@+1 {{'stablehlo.pad' op 'interior_padding' has 1 entry, expected 2, one for each dimension of 'operand'}}
  %r = "stablehlo.pad"(%a, %b) <{edge_padding_low = array<i64: 0, 1>, edge_padding_high = array<i64: 0, 0>, interior_padding = array<i64: 0>}> : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @pad_c3(%a: tensor<2x3xf32>, %b: tensor<f32>) {
  // expected-error@+1 {{'stablehlo.pad' op 'interior_padding' holds -1 at position 1, expected at least 0}}
  %r = "stablehlo.pad"(%a, %b) <{edge_padding_low = array<i64: 0, 1>, edge_padding_high = array<i64: 0, 0>, interior_padding = array<i64: 0, -1>}> : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @pad_c4(%a: tensor<2x3xf32>, %b: tensor<f32>) {
  // expected-error@+1 {{'stablehlo.pad' op dimension 1 of 'result' has size 8, expected 9: found shape [2, 8], expected [2, 9], the padded shape of 'operand'}}
  %r = "stablehlo.pad"(%a, %b) <{edge_padding_low = array<i64: 0, 1>, edge_padding_high = array<i64: 0, 1>, interior_padding = array<i64: 0, 2>}> : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x8xf32>
  return
}

// -----

func.func @pad_c4_b(%a: tensor<2x3xf32>, %b: tensor<f32>) {
  // expected-error@+1 {{'stablehlo.pad' op padding of dimension 1 of size 3 by -2 and -2 with 0 between elements gives a size that is negative, expected at least 0}}
  %r = "stablehlo.pad"(%a, %b) <{edge_padding_low = array<i64: 0, -2>, edge_padding_high = array<i64: 0, -2>, interior_padding = array<i64: 0, 0>}> : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x0xf32>
  return
}

// -----

func.func @pad_c4_c(%a: tensor<2x3xf32>, %b: tensor<f32>) {
  // expected-error@+1 {{'stablehlo.pad' op padding of dimension 1 of size 3 by 9223372036854775807 and 1 with 0 between elements gives a size that is above 9223372036854775807, expected at least 0}}
  %r = "stablehlo.pad"(%a, %b) <{edge_padding_low = array<i64: 0, 9223372036854775807>, edge_padding_high = array<i64: 0, 1>, interior_padding = array<i64: 0, 0>}> : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x0xf32>
  return
}
