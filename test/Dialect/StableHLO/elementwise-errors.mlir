// Constraints of elementwise operations and constants, one failing case or more per number.
// RUN: tenon-opt %s --split-input-file --verify-diagnostics

func.func @constant_c1() {
  // expected-error@+1 {{'stablehlo.constant' op expected 'value' and 'output' to have the same type, found 'tensor<2xf32>' and 'tensor<3xf32>'}}
  %r = "stablehlo.constant"() <{value = dense<1.0> : tensor<2xf32>}> : () -> tensor<3xf32>
  return
}

// -----

func.func @constant_c1_b() {
  // expected-error@+1 {{'stablehlo.constant' op expected 'value' and 'output' to have the same type, found 'tensor<2xi32>' and 'tensor<2xf32>'}}
  %r = "stablehlo.constant"() <{value = dense<1> : tensor<2xi32>}> : () -> tensor<2xf32>
  return
}

// -----

func.func @constant_c1_c() {
  // expected-error@+1 {{'stablehlo.constant' op 'value' has element type 'i16', expected 'i8', which stores 'output'}}
  %r = "stablehlo.constant"() <{value = dense<1> : tensor<2xi16>}> : () -> tensor<2x!quant.uniform<i8:f32, 0.5>>
  return
}

// -----

func.func @convert_c1(%a: tensor<2xf32>) {
  // expected-error@+1 {{'stablehlo.convert' op operand 0 and result 0 must have the same shape, found 'tensor<2xf32>' and 'tensor<3xi32>'}}
  %r = "stablehlo.convert"(%a) : (tensor<2xf32>) -> tensor<3xi32>
  return
}

// -----

func.func @is_finite_c1(%a: tensor<2xf32>) {
  // expected-error@+1 {{'stablehlo.is_finite' op operand 0 and result 0 must have the same shape, found 'tensor<2xf32>' and 'tensor<3xi1>'}}
  %r = "stablehlo.is_finite"(%a) : (tensor<2xf32>) -> tensor<3xi1>
  return
}

// -----

func.func @select_c1(%a: tensor<3xi1>, %b: tensor<2xf32>, %c: tensor<2xf32>) {
  // expected-error@+1 {{'stablehlo.select' op expected 'pred' and 'on_true' to have the same shape, found [3] and [2], which differ in dimension 0}}
  %r = "stablehlo.select"(%a, %b, %c) : (tensor<3xi1>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @select_c2(%a: tensor<2xi1>, %b: tensor<2xf32>, %c: tensor<2xf16>) {
  // expected-error@+1 {{'stablehlo.select' op expected 'on_true' and 'on_false' to have the same element type, found 'f32' and 'f16'}}
  %r = "stablehlo.select"(%a, %b, %c) : (tensor<2xi1>, tensor<2xf32>, tensor<2xf16>) -> tensor<2xf32>
  return
}

// -----

func.func @select_c2_b(%a: tensor<i1>, %b: tensor<2xf32>, %c: tensor<3xf32>) {
  // expected-error@+1 {{'stablehlo.select' op expected 'on_true' and 'on_false' to have the same shape, found [2] and [3], which differ in dimension 0}}
  %r = "stablehlo.select"(%a, %b, %c) : (tensor<i1>, tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @select_c2_c(%a: tensor<i1>, %b: tensor<2xf32>, %c: tensor<2xf32>) {
  // expected-error@+1 {{'stablehlo.select' op expected 'on_true' and 'result' to have the same shape, found [2] and [3], which differ in dimension 0}}
  %r = "stablehlo.select"(%a, %b, %c) : (tensor<i1>, tensor<2xf32>, tensor<2xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @clamp_c1(%a: tensor<3xf32>, %b: tensor<2xf32>, %c: tensor<f32>) {
  // expected-error@+1 {{'stablehlo.clamp' op expected 'min' and 'operand' to have the same shape, found [3] and [2], which differ in dimension 0}}
  %r = "stablehlo.clamp"(%a, %b, %c) : (tensor<3xf32>, tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  return
}

// -----

func.func @clamp_c2(%a: tensor<f32>, %b: tensor<2xf32>, %c: tensor<2x1xf32>) {
  // expected-error@+1 {{'stablehlo.clamp' op expected 'max' and 'operand' to have the same shape, found [2, 1] and [2] of ranks 2 and 1}}
  %r = "stablehlo.clamp"(%a, %b, %c) : (tensor<f32>, tensor<2xf32>, tensor<2x1xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @clamp_c3(%a: tensor<f16>, %b: tensor<2xf32>, %c: tensor<f32>) {
  // expected-error@+1 {{'stablehlo.clamp' op expected 'min' and 'operand' to have the same element type, found 'f16' and 'f32'}}
  %r = "stablehlo.clamp"(%a, %b, %c) : (tensor<f16>, tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  return
}

// -----

func.func @clamp_c3_b(%a: tensor<f32>, %b: tensor<2xf32>, %c: tensor<f64>) {
  // expected-error@+1 {{'stablehlo.clamp' op expected 'max' and 'operand' to have the same element type, found 'f64' and 'f32'}}
  %r = "stablehlo.clamp"(%a, %b, %c) : (tensor<f32>, tensor<2xf32>, tensor<f64>) -> tensor<2xf32>
  return
}

// -----

func.func @clamp_c4(%a: tensor<f32>, %b: tensor<2xf32>, %c: tensor<f32>) {
  // expected-error@+1 {{'stablehlo.clamp' op expected 'operand' and 'result' to have the same shape, found [2] and [3], which differ in dimension 0}}
  %r = "stablehlo.clamp"(%a, %b, %c) : (tensor<f32>, tensor<2xf32>, tensor<f32>) -> tensor<3xf32>
  return
}

// -----

func.func @reduce_precision_c1(%a: tensor<2xf32>) {
  // expected-error@+1 {{'stablehlo.reduce_precision' op operand 0 and result 0 must have the same type, found 'tensor<2xf32>' and 'tensor<2xf16>'}}
  %r = "stablehlo.reduce_precision"(%a) <{exponent_bits = 5 : i32, mantissa_bits = 10 : i32}> : (tensor<2xf32>) -> tensor<2xf16>
  return
}

// -----

func.func @reduce_precision_c2(%a: tensor<2xf32>) {
  // expected-error@+1 {{'stablehlo.reduce_precision' op 'exponent_bits' is 0, expected at least 1}}
  %r = "stablehlo.reduce_precision"(%a) <{exponent_bits = 0 : i32, mantissa_bits = 10 : i32}> : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @reduce_precision_c3(%a: tensor<2xf32>) {
  // expected-error@+1 {{'stablehlo.reduce_precision' op 'mantissa_bits' is -1, expected at least 0}}
  %r = "stablehlo.reduce_precision"(%a) <{exponent_bits = 5 : i32, mantissa_bits = -1 : i32}> : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @compare_c1(%a: tensor<2xf32>, %b: tensor<2xf16>) {
  // expected-error@+1 {{'stablehlo.compare' op expected 'lhs' and 'rhs' to have the same element type, found 'f32' and 'f16'}}
  %r = "stablehlo.compare"(%a, %b) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<2xf32>, tensor<2xf16>) -> tensor<2xi1>
  return
}

// -----

func.func @compare_c2(%a: tensor<2xf32>, %b: tensor<3xf32>) {
  // expected-error@+1 {{'stablehlo.compare' op operands 0 and 1 must have the same shape, found 'tensor<2xf32>' and 'tensor<3xf32>'}}
  %r = "stablehlo.compare"(%a, %b) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xi1>
  return
}

// -----

func.func @compare_c2_b(%a: tensor<2xf32>, %b: tensor<2xf32>) {
  // expected-error@+1 {{'stablehlo.compare' op operand 0 and result 0 must have the same shape, found 'tensor<2xf32>' and 'tensor<2x1xi1>'}}
  %r = "stablehlo.compare"(%a, %b) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<2xf32>, tensor<2xf32>) -> tensor<2x1xi1>
  return
}

// -----

func.func @compare_c3(%a: tensor<2xi32>, %b: tensor<2xi32>) {
  // expected-error@+1 {{'stablehlo.compare' op 'compare_type' is UNSIGNED, expected SIGNED for elements of type 'i32'}}
  %r = "stablehlo.compare"(%a, %b) <{comparison_direction = #stablehlo<comparison_direction LT>, compare_type = #stablehlo<comparison_type UNSIGNED>}> : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
  return
}

// -----

func.func @compare_c3_b(%a: tensor<2xui32>, %b: tensor<2xui32>) {
  // expected-error@+1 {{'stablehlo.compare' op 'compare_type' is SIGNED, expected UNSIGNED for elements of type 'ui32'}}
  %r = "stablehlo.compare"(%a, %b) <{comparison_direction = #stablehlo<comparison_direction LT>, compare_type = #stablehlo<comparison_type SIGNED>}> : (tensor<2xui32>, tensor<2xui32>) -> tensor<2xi1>
  return
}

// -----

func.func @compare_c3_c(%a: tensor<2xi1>, %b: tensor<2xi1>) {
  // expected-error@+1 {{'stablehlo.compare' op 'compare_type' is SIGNED, expected UNSIGNED for elements of type 'i1'}}
  %r = "stablehlo.compare"(%a, %b) <{comparison_direction = #stablehlo<comparison_direction LT>, compare_type = #stablehlo<comparison_type SIGNED>}> : (tensor<2xi1>, tensor<2xi1>) -> tensor<2xi1>
  return
}

// -----

func.func @compare_c3_d(%a: tensor<2xf32>, %b: tensor<2xf32>) {
  // expected-error@+1 {{'stablehlo.compare' op 'compare_type' is SIGNED, expected FLOAT or TOTALORDER for elements of type 'f32'}}
  %r = "stablehlo.compare"(%a, %b) <{comparison_direction = #stablehlo<comparison_direction LT>, compare_type = #stablehlo<comparison_type SIGNED>}> : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  return
}

// -----

func.func @compare_c3_e(%a: tensor<2xcomplex<f32>>, %b: tensor<2xcomplex<f32>>) {
  // expected-error@+1 {{'stablehlo.compare' op 'compare_type' is TOTALORDER, expected FLOAT for elements of type 'complex<f32>'}}
  %r = "stablehlo.compare"(%a, %b) <{comparison_direction = #stablehlo<comparison_direction LT>, compare_type = #stablehlo<comparison_type TOTALORDER>}> : (tensor<2xcomplex<f32>>, tensor<2xcomplex<f32>>) -> tensor<2xi1>
  return
}

// -----

func.func @bitcast_convert_c1(%a: tensor<2xf32>) {
  // expected-error@+1 {{'stablehlo.bitcast_convert' op expected 'operand' and 'result' to have the same shape, found [2] and [3], which differ in dimension 0}}
  %r = "stablehlo.bitcast_convert"(%a) : (tensor<2xf32>) -> tensor<3xi32>
  return
}

// -----

func.func @bitcast_convert_c1_b(%a: tensor<2xf32>) {
  // expected-error@+1 {{'stablehlo.bitcast_convert' op 'result' has rank 1 and shape [2], expected rank 2 and shape [2, 4], the other side's shape and the number of narrow elements in a wide one}}
  %r = "stablehlo.bitcast_convert"(%a) : (tensor<2xf32>) -> tensor<2xi8>
  return
}

// -----

func.func @bitcast_convert_c1_c(%a: tensor<2xf32>) {
  // expected-error@+1 {{'stablehlo.bitcast_convert' op dimension 1 of 'result' has size 2, expected 4: found shape [2, 2], expected [2, 4], the other side's shape and the number of narrow elements in a wide one}}
  %r = "stablehlo.bitcast_convert"(%a) : (tensor<2xf32>) -> tensor<2x2xi8>
  return
}

// -----

func.func @bitcast_convert_c1_d(%a: tensor<2x3xi8>) {
  // expected-error@+1 {{'stablehlo.bitcast_convert' op dimension 1 of 'operand' has size 3, expected 4: found shape [2, 3], expected [2, 4], the other side's shape and the number of narrow elements in a wide one}}
  %r = "stablehlo.bitcast_convert"(%a) : (tensor<2x3xi8>) -> tensor<2xf32>
  return
}

// -----

func.func @bitcast_convert_c1_e(%a: tensor<f6E2M3FN>) {
  // expected-error@+1 {{'stablehlo.bitcast_convert' op converts from 6-bit to 4-bit elements, expected one to be a multiple of the other}}
  %r = "stablehlo.bitcast_convert"(%a) : (tensor<f6E2M3FN>) -> tensor<i4>
  return
}

// -----

func.func @bitcast_convert_c2(%a: tensor<complex<f32>>) {
  // expected-error@+1 {{'stablehlo.bitcast_convert' op converts from 'complex<f32>' to 'i64', expected both or neither to be complex}}
  %r = "stablehlo.bitcast_convert"(%a) : (tensor<complex<f32>>) -> tensor<i64>
  return
}

// -----

func.func @cbrt_c1(%a: tensor<2xf32>) {
  // expected-error@+1 {{'stablehlo.cbrt' op operand 0 and result 0 must have the same type, found 'tensor<2xf32>' and 'tensor<2xf64>'}}
  %r = "stablehlo.cbrt"(%a) : (tensor<2xf32>) -> tensor<2xf64>
  return
}

// -----

func.func @ceil_c1(%a: tensor<2xf32>) {
  // expected-error@+1 {{'stablehlo.ceil' op operand 0 and result 0 must have the same type, found 'tensor<2xf32>' and 'tensor<2xf64>'}}
  %r = "stablehlo.ceil"(%a) : (tensor<2xf32>) -> tensor<2xf64>
  return
}

// -----

func.func @cosine_c1(%a: tensor<2xf32>) {
  // expected-error@+1 {{'stablehlo.cosine' op operand 0 and result 0 must have the same type, found 'tensor<2xf32>' and 'tensor<2xf64>'}}
  %r = "stablehlo.cosine"(%a) : (tensor<2xf32>) -> tensor<2xf64>
  return
}

// -----

func.func @exponential_c1(%a: tensor<2xf32>) {
  // expected-error@+1 {{'stablehlo.exponential' op operand 0 and result 0 must have the same type, found 'tensor<2xf32>' and 'tensor<2xf64>'}}
  %r = "stablehlo.exponential"(%a) : (tensor<2xf32>) -> tensor<2xf64>
  return
}

// -----

func.func @exponential_minus_one_c1(%a: tensor<2xf32>) {
  // expected-error@+1 {{'stablehlo.exponential_minus_one' op operand 0 and result 0 must have the same type, found 'tensor<2xf32>' and 'tensor<2xf64>'}}
  %r = "stablehlo.exponential_minus_one"(%a) : (tensor<2xf32>) -> tensor<2xf64>
  return
}

// -----

func.func @floor_c1(%a: tensor<2xf32>) {
  // expected-error@+1 {{'stablehlo.floor' op operand 0 and result 0 must have the same type, found 'tensor<2xf32>' and 'tensor<2xf64>'}}
  %r = "stablehlo.floor"(%a) : (tensor<2xf32>) -> tensor<2xf64>
  return
}

// -----

func.func @log_c1(%a: tensor<2xf32>) {
  // expected-error@+1 {{'stablehlo.log' op operand 0 and result 0 must have the same type, found 'tensor<2xf32>' and 'tensor<2xf64>'}}
  %r = "stablehlo.log"(%a) : (tensor<2xf32>) -> tensor<2xf64>
  return
}

// -----

func.func @log_plus_one_c1(%a: tensor<2xf32>) {
  // expected-error@+1 {{'stablehlo.log_plus_one' op operand 0 and result 0 must have the same type, found 'tensor<2xf32>' and 'tensor<2xf64>'}}
  %r = "stablehlo.log_plus_one"(%a) : (tensor<2xf32>) -> tensor<2xf64>
  return
}

// -----

func.func @logistic_c1(%a: tensor<2xf32>) {
  // expected-error@+1 {{'stablehlo.logistic' op operand 0 and result 0 must have the same type, found 'tensor<2xf32>' and 'tensor<2xf64>'}}
  %r = "stablehlo.logistic"(%a) : (tensor<2xf32>) -> tensor<2xf64>
  return
}

// -----

func.func @negate_c1(%a: tensor<2xf32>) {
  // expected-error@+1 {{'stablehlo.negate' op operand 0 and result 0 must have the same type, found 'tensor<2xf32>' and 'tensor<2xf64>'}}
  %r = "stablehlo.negate"(%a) : (tensor<2xf32>) -> tensor<2xf64>
  return
}

// -----

func.func @round_nearest_afz_c1(%a: tensor<2xf32>) {
  // expected-error@+1 {{'stablehlo.round_nearest_afz' op operand 0 and result 0 must have the same type, found 'tensor<2xf32>' and 'tensor<2xf64>'}}
  %r = "stablehlo.round_nearest_afz"(%a) : (tensor<2xf32>) -> tensor<2xf64>
  return
}

// -----

func.func @round_nearest_even_c1(%a: tensor<2xf32>) {
  // expected-error@+1 {{'stablehlo.round_nearest_even' op operand 0 and result 0 must have the same type, found 'tensor<2xf32>' and 'tensor<2xf64>'}}
  %r = "stablehlo.round_nearest_even"(%a) : (tensor<2xf32>) -> tensor<2xf64>
  return
}

// -----

func.func @rsqrt_c1(%a: tensor<2xf32>) {
  // expected-error@+1 {{'stablehlo.rsqrt' op operand 0 and result 0 must have the same type, found 'tensor<2xf32>' and 'tensor<2xf64>'}}
  %r = "stablehlo.rsqrt"(%a) : (tensor<2xf32>) -> tensor<2xf64>
  return
}

// -----

func.func @sign_c1(%a: tensor<2xf32>) {
  // expected-error@+1 {{'stablehlo.sign' op operand 0 and result 0 must have the same type, found 'tensor<2xf32>' and 'tensor<2xf64>'}}
  %r = "stablehlo.sign"(%a) : (tensor<2xf32>) -> tensor<2xf64>
  return
}

// -----

func.func @sine_c1(%a: tensor<2xf32>) {
  // expected-error@+1 {{'stablehlo.sine' op operand 0 and result 0 must have the same type, found 'tensor<2xf32>' and 'tensor<2xf64>'}}
  %r = "stablehlo.sine"(%a) : (tensor<2xf32>) -> tensor<2xf64>
  return
}

// -----

func.func @sqrt_c1(%a: tensor<2xf32>) {
  // expected-error@+1 {{'stablehlo.sqrt' op operand 0 and result 0 must have the same type, found 'tensor<2xf32>' and 'tensor<2xf64>'}}
  %r = "stablehlo.sqrt"(%a) : (tensor<2xf32>) -> tensor<2xf64>
  return
}

// -----

func.func @tan_c1(%a: tensor<2xf32>) {
  // expected-error@+1 {{'stablehlo.tan' op operand 0 and result 0 must have the same type, found 'tensor<2xf32>' and 'tensor<2xf64>'}}
  %r = "stablehlo.tan"(%a) : (tensor<2xf32>) -> tensor<2xf64>
  return
}

// -----

func.func @tanh_c1(%a: tensor<2xf32>) {
  // expected-error@+1 {{'stablehlo.tanh' op operand 0 and result 0 must have the same type, found 'tensor<2xf32>' and 'tensor<2xf64>'}}
  %r = "stablehlo.tanh"(%a) : (tensor<2xf32>) -> tensor<2xf64>
  return
}

// -----

func.func @count_leading_zeros_c1(%a: tensor<2xi32>) {
  // expected-error@+1 {{'stablehlo.count_leading_zeros' op operand 0 and result 0 must have the same type, found 'tensor<2xi32>' and 'tensor<2xi64>'}}
  %r = "stablehlo.count_leading_zeros"(%a) : (tensor<2xi32>) -> tensor<2xi64>
  return
}

// -----

func.func @not_c1(%a: tensor<2xi32>) {
  // expected-error@+1 {{'stablehlo.not' op operand 0 and result 0 must have the same type, found 'tensor<2xi32>' and 'tensor<2xi64>'}}
  %r = "stablehlo.not"(%a) : (tensor<2xi32>) -> tensor<2xi64>
  return
}

// -----

func.func @popcnt_c1(%a: tensor<2xi32>) {
  // expected-error@+1 {{'stablehlo.popcnt' op operand 0 and result 0 must have the same type, found 'tensor<2xi32>' and 'tensor<2xi64>'}}
  %r = "stablehlo.popcnt"(%a) : (tensor<2xi32>) -> tensor<2xi64>
  return
}

// -----

func.func @atan2_c1(%a: tensor<2xf32>, %b: tensor<3xf32>) {
  // expected-error@+1 {{'stablehlo.atan2' op operands 0 and 1 must have the same type, found 'tensor<2xf32>' and 'tensor<3xf32>'}}
  %r = "stablehlo.atan2"(%a, %b) : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @divide_c1(%a: tensor<2xf32>, %b: tensor<3xf32>) {
  // expected-error@+1 {{'stablehlo.divide' op operands 0 and 1 must have the same type, found 'tensor<2xf32>' and 'tensor<3xf32>'}}
  %r = "stablehlo.divide"(%a, %b) : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @maximum_c1(%a: tensor<2xf32>, %b: tensor<3xf32>) {
  // expected-error@+1 {{'stablehlo.maximum' op operands 0 and 1 must have the same type, found 'tensor<2xf32>' and 'tensor<3xf32>'}}
  %r = "stablehlo.maximum"(%a, %b) : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @minimum_c1(%a: tensor<2xf32>, %b: tensor<3xf32>) {
  // expected-error@+1 {{'stablehlo.minimum' op operands 0 and 1 must have the same type, found 'tensor<2xf32>' and 'tensor<3xf32>'}}
  %r = "stablehlo.minimum"(%a, %b) : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @multiply_c1(%a: tensor<2xf32>, %b: tensor<3xf32>) {
  // expected-error@+1 {{'stablehlo.multiply' op operands 0 and 1 must have the same type, found 'tensor<2xf32>' and 'tensor<3xf32>'}}
  %r = "stablehlo.multiply"(%a, %b) : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @power_c1(%a: tensor<2xf32>, %b: tensor<3xf32>) {
  // expected-error@+1 {{'stablehlo.power' op operands 0 and 1 must have the same type, found 'tensor<2xf32>' and 'tensor<3xf32>'}}
  %r = "stablehlo.power"(%a, %b) : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @remainder_c1(%a: tensor<2xf32>, %b: tensor<3xf32>) {
  // expected-error@+1 {{'stablehlo.remainder' op operands 0 and 1 must have the same type, found 'tensor<2xf32>' and 'tensor<3xf32>'}}
  %r = "stablehlo.remainder"(%a, %b) : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @subtract_c1(%a: tensor<2xf32>, %b: tensor<3xf32>) {
  // expected-error@+1 {{'stablehlo.subtract' op operands 0 and 1 must have the same type, found 'tensor<2xf32>' and 'tensor<3xf32>'}}
  %r = "stablehlo.subtract"(%a, %b) : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @and_c1(%a: tensor<2xi32>, %b: tensor<2xi32>) {
  // expected-error@+1 {{'stablehlo.and' op operand 0 and result 0 must have the same type, found 'tensor<2xi32>' and 'tensor<2xi16>'}}
  %r = "stablehlo.and"(%a, %b) : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi16>
  return
}

// -----

func.func @or_c1(%a: tensor<2xi32>, %b: tensor<2xi32>) {
  // expected-error@+1 {{'stablehlo.or' op operand 0 and result 0 must have the same type, found 'tensor<2xi32>' and 'tensor<2xi16>'}}
  %r = "stablehlo.or"(%a, %b) : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi16>
  return
}

// -----

func.func @xor_c1(%a: tensor<2xi32>, %b: tensor<2xi32>) {
  // expected-error@+1 {{'stablehlo.xor' op operand 0 and result 0 must have the same type, found 'tensor<2xi32>' and 'tensor<2xi16>'}}
  %r = "stablehlo.xor"(%a, %b) : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi16>
  return
}

// -----

func.func @shift_left_c1(%a: tensor<2xi32>, %b: tensor<2xi32>) {
  // expected-error@+1 {{'stablehlo.shift_left' op operand 0 and result 0 must have the same type, found 'tensor<2xi32>' and 'tensor<2xi16>'}}
  %r = "stablehlo.shift_left"(%a, %b) : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi16>
  return
}

// -----

func.func @shift_right_arithmetic_c1(%a: tensor<2xi32>, %b: tensor<2xi32>) {
  // expected-error@+1 {{'stablehlo.shift_right_arithmetic' op operand 0 and result 0 must have the same type, found 'tensor<2xi32>' and 'tensor<2xi16>'}}
  %r = "stablehlo.shift_right_arithmetic"(%a, %b) : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi16>
  return
}

// -----

func.func @shift_right_logical_c1(%a: tensor<2xi32>, %b: tensor<2xi32>) {
  // expected-error@+1 {{'stablehlo.shift_right_logical' op operand 0 and result 0 must have the same type, found 'tensor<2xi32>' and 'tensor<2xi16>'}}
  %r = "stablehlo.shift_right_logical"(%a, %b) : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi16>
  return
}

// -----

func.func @add_c1(%a: tensor<2xf32>, %b: tensor<2xf64>) {
  // expected-error@+1 {{'stablehlo.add' op operands 0 and 1 must have the same type, found 'tensor<2xf32>' and 'tensor<2xf64>'}}
  %r = "stablehlo.add"(%a, %b) : (tensor<2xf32>, tensor<2xf64>) -> tensor<2xf32>
  return
}

// -----

func.func @add_c2(%a: tensor<2x!quant.uniform<i8:f32, 0.5>>, %b: tensor<2xf32>) {
  // expected-error@+1 {{'stablehlo.add' op operands 0 and 1 must have the same type, found 'tensor<2x!quant.uniform<i8:f32, 5.000000e-01>>' and 'tensor<2xf32>'}}
  %r = "stablehlo.add"(%a, %b) : (tensor<2x!quant.uniform<i8:f32, 0.5>>, tensor<2xf32>) -> tensor<2x!quant.uniform<i8:f32, 0.5>>
  return
}

// -----

func.func @add_c3(%a: tensor<2x!quant.uniform<i8:f32, 0.5>>, %b: tensor<2x!quant.uniform<i4:f32, 0.5>>) {
  // expected-error@+1 {{'stablehlo.add' op operands 0 and 1 must have the same type, found 'tensor<2x!quant.uniform<i8:f32, 5.000000e-01>>' and 'tensor<2x!quant.uniform<i4:f32, 5.000000e-01>>'}}
  %r = "stablehlo.add"(%a, %b) : (tensor<2x!quant.uniform<i8:f32, 0.5>>, tensor<2x!quant.uniform<i4:f32, 0.5>>) -> tensor<2x!quant.uniform<i8:f32, 0.5>>
  return
}

// -----

func.func @add_c4(%a: tensor<2x!quant.uniform<i8:f32, 0.5>>, %b: tensor<2x!quant.uniform<i8:f16, 0.5>>) {
  // expected-error@+1 {{'stablehlo.add' op operands 0 and 1 must have the same type, found 'tensor<2x!quant.uniform<i8:f32, 5.000000e-01>>' and 'tensor<2x!quant.uniform<i8:f16, 5.000000e-01>>'}}
  %r = "stablehlo.add"(%a, %b) : (tensor<2x!quant.uniform<i8:f32, 0.5>>, tensor<2x!quant.uniform<i8:f16, 0.5>>) -> tensor<2x!quant.uniform<i8:f32, 0.5>>
  return
}

// -----

func.func @add_c5(%a: tensor<2x!quant.uniform<i8:f32, 0.5>>, %b: tensor<2x!quant.uniform<i8:f32:0, {0.5,0.5}>>) {
  // expected-error@+1 {{'stablehlo.add' op element types are '!quant.uniform<i8:f32, 5.000000e-01>', '!quant.uniform<i8:f32:0, {5.000000e-01,5.000000e-01}>' and '!quant.uniform<i8:f32, 5.000000e-01>', expected 'result' to be quantized per axis if and only if an operand is}}
  %r = "stablehlo.add"(%a, %b) : (tensor<2x!quant.uniform<i8:f32, 0.5>>, tensor<2x!quant.uniform<i8:f32:0, {0.5,0.5}>>) -> tensor<2x!quant.uniform<i8:f32, 0.5>>
  return
}

// -----

func.func @add_c6(%a: tensor<2x2x!quant.uniform<i8:f32:0, {0.5,0.5}>>, %b: tensor<2x2x!quant.uniform<i8:f32, 0.5>>) {
  // expected-error@+1 {{'stablehlo.add' op 'lhs' is quantized along dimension 0 and 'result' along dimension 1, expected the same}}
  %r = "stablehlo.add"(%a, %b) : (tensor<2x2x!quant.uniform<i8:f32:0, {0.5,0.5}>>, tensor<2x2x!quant.uniform<i8:f32, 0.5>>) -> tensor<2x2x!quant.uniform<i8:f32:1, {0.5,0.5}>>
  return
}

// -----

func.func @add_c7(%a: tensor<2x2x!quant.uniform<i8:f32, 0.5>>, %b: tensor<2x2x!quant.uniform<i8:f32:0, {0.5,0.5}>>) {
  // expected-error@+1 {{'stablehlo.add' op 'rhs' is quantized along dimension 0 and 'result' along dimension 1, expected the same}}
  %r = "stablehlo.add"(%a, %b) : (tensor<2x2x!quant.uniform<i8:f32, 0.5>>, tensor<2x2x!quant.uniform<i8:f32:0, {0.5,0.5}>>) -> tensor<2x2x!quant.uniform<i8:f32:1, {0.5,0.5}>>
  return
}

// -----

func.func @abs_c1(%a: tensor<2xf32>) {
  // expected-error@+1 {{'stablehlo.abs' op operand 0 and result 0 must have the same shape, found 'tensor<2xf32>' and 'tensor<3xf32>'}}
  %r = "stablehlo.abs"(%a) : (tensor<2xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @abs_c2(%a: tensor<2xcomplex<f32>>) {
  // expected-error@+1 {{'stablehlo.abs' op 'result' has element type 'f64', expected 'f32' for elements of type 'complex<f32>'}}
  %r = "stablehlo.abs"(%a) : (tensor<2xcomplex<f32>>) -> tensor<2xf64>
  return
}

// -----

func.func @real_c1(%a: tensor<2xcomplex<f32>>) {
  // expected-error@+1 {{'stablehlo.real' op operand 0 and result 0 must have the same shape, found 'tensor<2xcomplex<f32>>' and 'tensor<3xf32>'}}
  %r = "stablehlo.real"(%a) : (tensor<2xcomplex<f32>>) -> tensor<3xf32>
  return
}

// -----

func.func @real_c2(%a: tensor<2xcomplex<f32>>) {
  // expected-error@+1 {{'stablehlo.real' op 'result' has element type 'f64', expected 'f32' for elements of type 'complex<f32>'}}
  %r = "stablehlo.real"(%a) : (tensor<2xcomplex<f32>>) -> tensor<2xf64>
  return
}

// -----

func.func @imag_c1(%a: tensor<2xcomplex<f32>>) {
  // expected-error@+1 {{'stablehlo.imag' op operand 0 and result 0 must have the same shape, found 'tensor<2xcomplex<f32>>' and 'tensor<3xf32>'}}
  %r = "stablehlo.imag"(%a) : (tensor<2xcomplex<f32>>) -> tensor<3xf32>
  return
}

// -----

func.func @imag_c2(%a: tensor<2xf32>) {
  // expected-error@+1 {{'stablehlo.imag' op 'result' has element type 'f16', expected 'f32' for elements of type 'f32'}}
  %r = "stablehlo.imag"(%a) : (tensor<2xf32>) -> tensor<2xf16>
  return
}

// -----

func.func @complex_c1(%a: tensor<2xf32>, %b: tensor<2xf64>) {
  // expected-error@+1 {{'stablehlo.complex' op expected 'lhs' and 'rhs' to have the same type, found 'tensor<2xf32>' and 'tensor<2xf64>'}}
  %r = "stablehlo.complex"(%a, %b) : (tensor<2xf32>, tensor<2xf64>) -> tensor<2xcomplex<f32>>
  return
}

// -----

func.func @complex_c2(%a: tensor<2xf32>, %b: tensor<2xf32>) {
  // expected-error@+1 {{'stablehlo.complex' op operand 0 and result 0 must have the same shape, found 'tensor<2xf32>' and 'tensor<3xcomplex<f32>>'}}
  %r = "stablehlo.complex"(%a, %b) : (tensor<2xf32>, tensor<2xf32>) -> tensor<3xcomplex<f32>>
  return
}

// -----

func.func @complex_c3(%a: tensor<2xf32>, %b: tensor<2xf32>) {
  // expected-error@+1 {{'stablehlo.complex' op 'result' has element type 'complex<f64>', expected 'complex<f32>'}}
  %r = "stablehlo.complex"(%a, %b) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xcomplex<f64>>
  return
}
