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
