// Constraints of sizes, quantized axes and regions, one failing case or more per number.
// RUN: tenon-opt --bound-text=false %s --split-input-file --verify-diagnostics

func.func @byte_size(%a: tensor<4611686018427387904xi1>) {
  // expected-error@+1 {{'stablehlo.convert' op result #0 of type 'tensor<4611686018427387904xf32>' needs more than 9223372036854775807 bytes: the product overflows at dimension 0 of size 4611686018427387904}}
  %r = "stablehlo.convert"(%a) : (tensor<4611686018427387904xi1>) -> tensor<4611686018427387904xf32>
  return
}

// -----

func.func @byte_size_b() {
  // expected-error@+1 {{'stablehlo.iota' op result #0 of type 'tensor<3037000500x3037000500x2xf32>' needs more than 9223372036854775807 bytes: the product overflows at dimension 1 of size 3037000500}}
  %r = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<3037000500x3037000500x2xf32>
  return
}

// -----

func.func @byte_size_c(%a: tensor<f32>) {
  // expected-error@+1 {{'stablehlo.broadcast_in_dim' op result #0 of type 'tensor<2x9223372036854775807xf32>' needs more than 9223372036854775807 bytes: the product overflows at dimension 1 of size 9223372036854775807}}
  %r = "stablehlo.broadcast_in_dim"(%a) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x9223372036854775807xf32>
  return
}

// -----

func.func @quantized_axis(%a: tensor<2x!quant.uniform<i8:f32:1, {0.5,0.5}>>) {
  // expected-error@+1 {{'stablehlo.reshape' op operand #0 of type 'tensor<2x!quant.uniform<i8:f32:1, {5.000000e-01,5.000000e-01}>>' is quantized along dimension 1, expected at least 0 and less than 1}}
  %r = "stablehlo.reshape"(%a) : (tensor<2x!quant.uniform<i8:f32:1, {0.5,0.5}>>) -> tensor<2x!quant.uniform<i8:f32:0, {0.5,0.5}>>
  return
}

// -----

func.func @quantized_scales(%a: tensor<3x!quant.uniform<i8:f32:0, {0.5,0.5}>>) {
  // expected-error@+1 {{'stablehlo.transpose' op operand #0 of type 'tensor<3x!quant.uniform<i8:f32:0, {5.000000e-01,5.000000e-01}>>' has 2 scales, expected 3, the size of the quantized dimension 0}}
  %r = "stablehlo.transpose"(%a) <{permutation = array<i64: 0>}> : (tensor<3x!quant.uniform<i8:f32:0, {0.5,0.5}>>) -> tensor<3x!quant.uniform<i8:f32:0, {0.5,0.5}>>
  return
}

// -----

func.func @terminator(%a: tensor<2xf32>) {
  // expected-error@+1 {{'stablehlo.sort' op region 'comparator' must end with stablehlo.return}}
  %r = "stablehlo.sort"(%a) <{dimension = 0 : i64}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
  }) : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @extreme_values(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{'stablehlo.reverse' op 'dimensions' holds 9223372036854775807 twice, at positions 0 and 2, expected distinct values}}
  %r = "stablehlo.reverse"(%a) <{dimensions = array<i64: 9223372036854775807, 0, 9223372036854775807>}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @extreme_values_b(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{'stablehlo.reverse' op 'dimensions' holds -9223372036854775808 at position 0, expected a dimension of 'result' of rank 2 (at least 0, less than 2)}}
  %r = "stablehlo.reverse"(%a) <{dimensions = array<i64: -9223372036854775808>}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @extreme_values_c(%a: tensor<4xf32>, %b: tensor<i32>) {
  // expected-error@+1 {{'stablehlo.dynamic_slice' op 'slice_sizes' holds -9223372036854775808 at position 0, expected at least 0}}
  %r = "stablehlo.dynamic_slice"(%a, %b) <{slice_sizes = array<i64: -9223372036854775808>}> : (tensor<4xf32>, tensor<i32>) -> tensor<?xf32>
  return
}
