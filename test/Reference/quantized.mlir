// RUN: tenon run %s --reference

// Quantized elements: what hands elements on sees what stores them, everything
// else the numbers they stand for.

// uniform_quantize_e1 uniform_quantize_e2 uniform_dequantize_e1
func.func private @conversions() {
  %numbers = stablehlo.constant dense<[1.0, -0.75, 0.25, 100.0, -100.0]> : tensor<5xf32>
  // Halves to even, and the ends where a number is beyond them.
  %q = stablehlo.uniform_quantize %numbers : (tensor<5xf32>) -> tensor<5x!quant.uniform<i8:f32, 0.5:3>>
  %stored = stablehlo.bitcast_convert %q : (tensor<5x!quant.uniform<i8:f32, 0.5:3>>) -> tensor<5xi8>
  check.expect_eq_const %stored, dense<[5, 2, 4, 127, -128]> : tensor<5xi8>
  %back = stablehlo.uniform_dequantize %q : (tensor<5x!quant.uniform<i8:f32, 0.5:3>>) -> tensor<5xf32>
  check.expect_eq_const %back, dense<[1.0, -0.5, 0.5, 62.0, -65.5]> : tensor<5xf32>
  // Per axis, unsigned, and from one quantized type to another.
  %rows = stablehlo.constant dense<[[1.0, 2.0], [1.0, 2.0]]> : tensor<2x2xf32>
  %a = stablehlo.uniform_quantize %rows : (tensor<2x2xf32>) -> tensor<2x2x!quant.uniform<u8:f32:0, {0.5:1, 0.25}>>
  %b = stablehlo.uniform_quantize %a : (tensor<2x2x!quant.uniform<u8:f32:0, {0.5:1, 0.25}>>) -> tensor<2x2x!quant.uniform<i8:f32:1, {1.0, 2.0:-1}>>
  %c = stablehlo.uniform_dequantize %b : (tensor<2x2x!quant.uniform<i8:f32:1, {1.0, 2.0:-1}>>) -> tensor<2x2xf32>
  check.expect_eq %c, %rows : tensor<2x2xf32>
  return
}

func.func private @arithmetic() {
  %x = stablehlo.constant() {value = dense<[4, -6, 10]> : tensor<3xi8>} : () -> tensor<3x!quant.uniform<i8:f32, 0.5>>
  %y = stablehlo.constant() {value = dense<[2, 2, 120]> : tensor<3xi8>} : () -> tensor<3x!quant.uniform<i8:f32, 0.5>>
  %sum = stablehlo.add %x, %y : tensor<3x!quant.uniform<i8:f32, 0.5>>
  %wanted = stablehlo.constant() {value = dense<[6, -4, 127]> : tensor<3xi8>} : () -> tensor<3x!quant.uniform<i8:f32, 0.5>>
  check.expect_eq %sum, %wanted : tensor<3x!quant.uniform<i8:f32, 0.5>>
  // Of another scale: 2, 3 and 5 in quarters.
  %size = stablehlo.abs %x : (tensor<3x!quant.uniform<i8:f32, 0.5>>) -> tensor<3x!quant.uniform<i8:f32, 0.25>>
  %quarters = stablehlo.bitcast_convert %size : (tensor<3x!quant.uniform<i8:f32, 0.25>>) -> tensor<3xi8>
  check.expect_eq_const %quarters, dense<[8, 12, 20]> : tensor<3xi8>
  %less = stablehlo.compare LT, %x, %y : (tensor<3x!quant.uniform<i8:f32, 0.5>>, tensor<3x!quant.uniform<i8:f32, 0.5>>) -> tensor<3xi1>
  check.expect_eq_const %less, dense<[false, true, true]> : tensor<3xi1>
  %swapped = stablehlo.reverse %x, dims = [0] : tensor<3x!quant.uniform<i8:f32, 0.5>>
  %moved = stablehlo.bitcast_convert %swapped : (tensor<3x!quant.uniform<i8:f32, 0.5>>) -> tensor<3xi8>
  check.expect_eq_const %moved, dense<[10, -6, 4]> : tensor<3xi8>
  return
}

func.func private @products() {
  %x = stablehlo.constant() {value = dense<[[2, 4], [6, 8]]> : tensor<2x2xi8>} : () -> tensor<2x2x!quant.uniform<i8:f32, 0.5>>
  %w = stablehlo.constant() {value = dense<[[0, 1], [2, 3]]> : tensor<2x2xi8>} : () -> tensor<2x2x!quant.uniform<i8:f32, 2.0>>
  // [[1, 2], [3, 4]] times [[0, 2], [4, 6]].
  %p = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<2x2x!quant.uniform<i8:f32, 0.5>>, tensor<2x2x!quant.uniform<i8:f32, 2.0>>) -> tensor<2x2x!quant.uniform<i32:f32, 1.0>>
  %stored = stablehlo.bitcast_convert %p : (tensor<2x2x!quant.uniform<i32:f32, 1.0>>) -> tensor<2x2xi32>
  check.expect_eq_const %stored, dense<[[8, 14], [16, 30]]> : tensor<2x2xi32>
  // Numbers times quantized weights are numbers.
  %numbers = stablehlo.constant dense<[[1.0, 0.5]]> : tensor<1x2xf32>
  %mixed = stablehlo.dot_general %numbers, %w, contracting_dims = [1] x [0] : (tensor<1x2xf32>, tensor<2x2x!quant.uniform<i8:f32, 2.0>>) -> tensor<1x2xf32>
  check.expect_eq_const %mixed, dense<[[2.0, 5.0]]> : tensor<1x2xf32>
  // A reduction's region adds in the quantized type.
  %zero = stablehlo.constant() {value = dense<0> : tensor<i8>} : () -> tensor<!quant.uniform<i8:f32, 0.5>>
  %sums = "stablehlo.reduce"(%x, %zero) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<!quant.uniform<i8:f32, 0.5>>, %b: tensor<!quant.uniform<i8:f32, 0.5>>):
    %s = stablehlo.add %a, %b : tensor<!quant.uniform<i8:f32, 0.5>>
    stablehlo.return %s : tensor<!quant.uniform<i8:f32, 0.5>>
  }) : (tensor<2x2x!quant.uniform<i8:f32, 0.5>>, tensor<!quant.uniform<i8:f32, 0.5>>) -> tensor<2x!quant.uniform<i8:f32, 0.5>>
  %columns = stablehlo.bitcast_convert %sums : (tensor<2x!quant.uniform<i8:f32, 0.5>>) -> tensor<2xi8>
  check.expect_eq_const %columns, dense<[8, 12]> : tensor<2xi8>
  return
}

func.func @main() {
  func.call @conversions() : () -> ()
  func.call @arithmetic() : () -> ()
  func.call @products() : () -> ()
  return
}
