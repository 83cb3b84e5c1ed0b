// RUN: tenon run %s --reference
// RUN: tenon run %s

// Operations on one element at a time.

func.func private @abs_e1() {
  %x = stablehlo.constant dense<[-7, 0, 12]> : tensor<3xi32>
  %0 = stablehlo.abs %x : tensor<3xi32>
  check.expect_eq_const %0, dense<[7, 0, 12]> : tensor<3xi32>
  return
}
func.func private @cbrt_e1() {
  %x = stablehlo.constant dense<[0.0, 27.0, -64.0]> : tensor<3xf64>
  %0 = stablehlo.cbrt %x : tensor<3xf64>
  check.expect_almost_eq_const %0, dense<[0.0, 3.0, -4.0]> : tensor<3xf64> {tolerance = 1.0e-6 : f64}
  return
}
func.func private @ceil_e1() {
  %x = stablehlo.constant dense<[-1.5, -0.25, 0.25, 3.0]> : tensor<4xf32>
  %0 = stablehlo.ceil %x : tensor<4xf32>
  check.expect_eq_const %0, dense<[-1.0, -0.0, 1.0, 3.0]> : tensor<4xf32>
  return
}
func.func private @cosine_e1() {
  %x = stablehlo.constant dense<[0.0, 3.141592653589793]> : tensor<2xf64>
  %0 = stablehlo.cosine %x : tensor<2xf64>
  check.expect_almost_eq_const %0, dense<[1.0, -1.0]> : tensor<2xf64> {tolerance = 1.0e-6 : f64}
  return
}
func.func private @count_leading_zeros_e1() {
  %x = stablehlo.constant dense<[0, 1, 300, -1]> : tensor<4xi16>
  %0 = stablehlo.count_leading_zeros %x : tensor<4xi16>
  check.expect_eq_const %0, dense<[16, 15, 7, 0]> : tensor<4xi16>
  return
}
func.func private @exponential_e1() {
  %x = stablehlo.constant dense<[0.0, 2.0]> : tensor<2xf64>
  %0 = stablehlo.exponential %x : tensor<2xf64>
  check.expect_almost_eq_const %0, dense<[1.0, 7.38905609893065]> : tensor<2xf64> {tolerance = 1.0e-6 : f64}
  return
}
func.func private @exponential_minus_one_e1() {
  %x = stablehlo.constant dense<[0.0, 1.0]> : tensor<2xf64>
  %0 = stablehlo.exponential_minus_one %x : tensor<2xf64>
  check.expect_almost_eq_const %0, dense<[0.0, 1.718281828459045]> : tensor<2xf64> {tolerance = 1.0e-6 : f64}
  return
}
func.func private @floor_e1() {
  %x = stablehlo.constant dense<[-1.5, -0.25, 0.25, 3.0]> : tensor<4xf32>
  %0 = stablehlo.floor %x : tensor<4xf32>
  check.expect_eq_const %0, dense<[-2.0, -1.0, 0.0, 3.0]> : tensor<4xf32>
  return
}
func.func private @log_e1() {
  %x = stablehlo.constant dense<[1.0, 2.0, 8.0]> : tensor<3xf64>
  %0 = stablehlo.log %x : tensor<3xf64>
  check.expect_almost_eq_const %0, dense<[0.0, 0.6931471805599453, 2.0794415416798357]> : tensor<3xf64> {tolerance = 1.0e-6 : f64}
  return
}
func.func private @log_plus_one_e1() {
  %x = stablehlo.constant dense<[0.0, 1.0]> : tensor<2xf64>
  %0 = stablehlo.log_plus_one %x : tensor<2xf64>
  check.expect_almost_eq_const %0, dense<[0.0, 0.6931471805599453]> : tensor<2xf64> {tolerance = 1.0e-6 : f64}
  return
}
func.func private @logistic_e1() {
  %x = stablehlo.constant dense<[0.0, 1.0, -1.0]> : tensor<3xf64>
  %0 = stablehlo.logistic %x : tensor<3xf64>
  check.expect_almost_eq_const %0, dense<[0.5, 0.7310585786300049, 0.2689414213699951]> : tensor<3xf64> {tolerance = 1.0e-6 : f64}
  return
}
func.func private @negate_e1() {
  %x = stablehlo.constant dense<[-128, 0, 5]> : tensor<3xi8>
  %0 = stablehlo.negate %x : tensor<3xi8>
  check.expect_eq_const %0, dense<[-128, 0, -5]> : tensor<3xi8>
  return
}
func.func private @negate_e2() {
  %x = stablehlo.constant dense<[(1.0, -2.0), (0.5, 3.0)]> : tensor<2xcomplex<f32>>
  %0 = stablehlo.negate %x : tensor<2xcomplex<f32>>
  check.expect_eq_const %0, dense<[(-1.0, 2.0), (-0.5, -3.0)]> : tensor<2xcomplex<f32>>
  return
}
func.func private @not_e1() {
  %x = stablehlo.constant dense<[0, -1, 6]> : tensor<3xi8>
  %0 = stablehlo.not %x : tensor<3xi8>
  check.expect_eq_const %0, dense<[-1, 0, -7]> : tensor<3xi8>
  return
}
func.func private @not_e2() {
  %x = stablehlo.constant dense<[true, false]> : tensor<2xi1>
  %0 = stablehlo.not %x : tensor<2xi1>
  check.expect_eq_const %0, dense<[false, true]> : tensor<2xi1>
  return
}
func.func private @popcnt_e1() {
  %x = stablehlo.constant dense<[0, 7, -1]> : tensor<3xi16>
  %0 = stablehlo.popcnt %x : tensor<3xi16>
  check.expect_eq_const %0, dense<[0, 3, 16]> : tensor<3xi16>
  return
}
func.func private @round_nearest_afz_e1() {
  %x = stablehlo.constant dense<[-1.5, -0.4, 0.5, 1.4, 2.5]> : tensor<5xf32>
  %0 = stablehlo.round_nearest_afz %x : tensor<5xf32>
  check.expect_eq_const %0, dense<[-2.0, -0.0, 1.0, 1.0, 3.0]> : tensor<5xf32>
  return
}
func.func private @round_nearest_even_e1() {
  %x = stablehlo.constant dense<[-1.5, -0.4, 0.5, 1.5, 2.5]> : tensor<5xf32>
  %0 = stablehlo.round_nearest_even %x : tensor<5xf32>
  check.expect_eq_const %0, dense<[-2.0, -0.0, 0.0, 2.0, 2.0]> : tensor<5xf32>
  return
}
func.func private @rsqrt_e1() {
  %x = stablehlo.constant dense<[1.0, 16.0, 0.25]> : tensor<3xf32>
  %0 = stablehlo.rsqrt %x : tensor<3xf32>
  check.expect_almost_eq_const %0, dense<[1.0, 0.25, 2.0]> : tensor<3xf32> {tolerance = 1.0e-6 : f64}
  return
}
func.func private @sign_e1() {
  %x = stablehlo.constant dense<[-0.0, 0.0, -3.5, 7.0, 0x7FF8000000000000]> : tensor<5xf64>
  %0 = stablehlo.sign %x : tensor<5xf64>
  check.expect_eq_const %0, dense<[-0.0, 0.0, -1.0, 1.0, 0x7FF8000000000000]> : tensor<5xf64>
  return
}
func.func private @sine_e1() {
  %x = stablehlo.constant dense<[0.0, 1.5707963267948966]> : tensor<2xf64>
  %0 = stablehlo.sine %x : tensor<2xf64>
  check.expect_almost_eq_const %0, dense<[0.0, 1.0]> : tensor<2xf64> {tolerance = 1.0e-6 : f64}
  return
}
func.func private @sqrt_e1() {
  %x = stablehlo.constant dense<[0.0, 2.25, 81.0]> : tensor<3xf32>
  %0 = stablehlo.sqrt %x : tensor<3xf32>
  check.expect_eq_const %0, dense<[0.0, 1.5, 9.0]> : tensor<3xf32>
  return
}
func.func private @tan_e1() {
  %x = stablehlo.constant dense<[0.0, 0.7853981633974483]> : tensor<2xf64>
  %0 = stablehlo.tan %x : tensor<2xf64>
  check.expect_almost_eq_const %0, dense<[0.0, 1.0]> : tensor<2xf64> {tolerance = 1.0e-6 : f64}
  return
}
func.func private @tanh_e1() {
  %x = stablehlo.constant dense<[-1.0, 0.0, 1.0]> : tensor<3xf64>
  %0 = stablehlo.tanh %x : tensor<3xf64>
  check.expect_almost_eq_const %0, dense<[-0.7615941559557649, 0.0, 0.7615941559557649]> : tensor<3xf64> {tolerance = 1.0e-6 : f64}
  return
}
func.func private @add_e1() {
  %x = stablehlo.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
  %y = stablehlo.constant dense<[[10, 20], [30, 40]]> : tensor<2x2xi32>
  %0 = stablehlo.add %x, %y : tensor<2x2xi32>
  check.expect_eq_const %0, dense<[[11, 22], [33, 44]]> : tensor<2x2xi32>
  return
}
func.func private @and_e1() {
  %x = stablehlo.constant dense<[12, 3, -1]> : tensor<3xi8>
  %y = stablehlo.constant dense<[10, 5, 85]> : tensor<3xi8>
  %0 = stablehlo.and %x, %y : tensor<3xi8>
  check.expect_eq_const %0, dense<[8, 1, 85]> : tensor<3xi8>
  return
}
func.func private @atan2_e1() {
  %x = stablehlo.constant dense<[0.0, 1.0, -1.0]> : tensor<3xf64>
  %y = stablehlo.constant dense<[1.0, 0.0, 0.0]> : tensor<3xf64>
  %0 = stablehlo.atan2 %x, %y : tensor<3xf64>
  check.expect_almost_eq_const %0, dense<[0.0, 1.5707963267948966, -1.5707963267948966]> : tensor<3xf64> {tolerance = 1.0e-6 : f64}
  return
}
func.func private @divide_e1() {
  %x = stablehlo.constant dense<[17, -17, 17, -17]> : tensor<4xi32>
  %y = stablehlo.constant dense<[5, 5, -5, -5]> : tensor<4xi32>
  %0 = stablehlo.divide %x, %y : tensor<4xi32>
  check.expect_eq_const %0, dense<[3, -3, -3, 3]> : tensor<4xi32>
  return
}
func.func private @maximum_e1() {
  %x = stablehlo.constant dense<[1.0, -2.0, 0x7FC00000]> : tensor<3xf32>
  %y = stablehlo.constant dense<[0.5, 3.0, 1.0]> : tensor<3xf32>
  %0 = stablehlo.maximum %x, %y : tensor<3xf32>
  check.expect_eq_const %0, dense<[1.0, 3.0, 0x7FC00000]> : tensor<3xf32>
  return
}
func.func private @minimum_e1() {
  %x = stablehlo.constant dense<[1, -2, 9]> : tensor<3xi32>
  %y = stablehlo.constant dense<[5, 3, 4]> : tensor<3xi32>
  %0 = stablehlo.minimum %x, %y : tensor<3xi32>
  check.expect_eq_const %0, dense<[1, -2, 4]> : tensor<3xi32>
  return
}
func.func private @multiply_e1() {
  %x = stablehlo.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
  %y = stablehlo.constant dense<[[5, 6], [7, -8]]> : tensor<2x2xi32>
  %0 = stablehlo.multiply %x, %y : tensor<2x2xi32>
  check.expect_eq_const %0, dense<[[5, 12], [21, -32]]> : tensor<2x2xi32>
  return
}
func.func private @or_e1() {
  %x = stablehlo.constant dense<[12, 3, 0]> : tensor<3xi8>
  %y = stablehlo.constant dense<[10, 5, 85]> : tensor<3xi8>
  %0 = stablehlo.or %x, %y : tensor<3xi8>
  check.expect_eq_const %0, dense<[14, 7, 85]> : tensor<3xi8>
  return
}
func.func private @or_e2() {
  %x = stablehlo.constant dense<[false, false, true, true]> : tensor<4xi1>
  %y = stablehlo.constant dense<[false, true, false, true]> : tensor<4xi1>
  %0 = stablehlo.or %x, %y : tensor<4xi1>
  check.expect_eq_const %0, dense<[false, true, true, true]> : tensor<4xi1>
  return
}
func.func private @power_e1() {
  %x = stablehlo.constant dense<[-2.0, 2.0, -3.0, 9.0, 4.0]> : tensor<5xf64>
  %y = stablehlo.constant dense<[3.0, -2.0, 2.0, 0.5, 0.0]> : tensor<5xf64>
  %0 = stablehlo.power %x, %y : tensor<5xf64>
  check.expect_almost_eq_const %0, dense<[-8.0, 0.25, 9.0, 3.0, 1.0]> : tensor<5xf64> {tolerance = 1.0e-6 : f64}
  return
}
func.func private @remainder_e1() {
  %x = stablehlo.constant dense<[17, -17, 17, -17]> : tensor<4xi32>
  %y = stablehlo.constant dense<[5, 5, -5, -5]> : tensor<4xi32>
  %0 = stablehlo.remainder %x, %y : tensor<4xi32>
  check.expect_eq_const %0, dense<[2, -2, 2, -2]> : tensor<4xi32>
  return
}
func.func private @shift_left_e1() {
  %x = stablehlo.constant dense<[1, 3, -1]> : tensor<3xi8>
  %y = stablehlo.constant dense<[4, 7, 8]> : tensor<3xi8>
  %0 = stablehlo.shift_left %x, %y : tensor<3xi8>
  check.expect_eq_const %0, dense<[16, -128, 0]> : tensor<3xi8>
  return
}
func.func private @shift_right_arithmetic_e1() {
  %x = stablehlo.constant dense<[64, -64, -1]> : tensor<3xi8>
  %y = stablehlo.constant dense<[3, 3, 9]> : tensor<3xi8>
  %0 = stablehlo.shift_right_arithmetic %x, %y : tensor<3xi8>
  check.expect_eq_const %0, dense<[8, -8, -1]> : tensor<3xi8>
  return
}
func.func private @shift_right_logical_e1() {
  %x = stablehlo.constant dense<[64, -64, -1]> : tensor<3xi8>
  %y = stablehlo.constant dense<[3, 3, 9]> : tensor<3xi8>
  %0 = stablehlo.shift_right_logical %x, %y : tensor<3xi8>
  check.expect_eq_const %0, dense<[8, 24, 0]> : tensor<3xi8>
  return
}
func.func private @subtract_e1() {
  %x = stablehlo.constant dense<[1.5, 2.0]> : tensor<2xf32>
  %y = stablehlo.constant dense<[0.5, 5.0]> : tensor<2xf32>
  %0 = stablehlo.subtract %x, %y : tensor<2xf32>
  check.expect_eq_const %0, dense<[1.0, -3.0]> : tensor<2xf32>
  return
}
func.func private @xor_e1() {
  %x = stablehlo.constant dense<[12, 3, -1]> : tensor<3xi8>
  %y = stablehlo.constant dense<[10, 5, 85]> : tensor<3xi8>
  %0 = stablehlo.xor %x, %y : tensor<3xi8>
  check.expect_eq_const %0, dense<[6, 6, -86]> : tensor<3xi8>
  return
}
func.func private @xor_e2() {
  %x = stablehlo.constant dense<[false, false, true, true]> : tensor<4xi1>
  %y = stablehlo.constant dense<[false, true, false, true]> : tensor<4xi1>
  %0 = stablehlo.xor %x, %y : tensor<4xi1>
  check.expect_eq_const %0, dense<[false, true, true, false]> : tensor<4xi1>
  return
}
func.func private @clamp_e1() {
  %low = stablehlo.constant dense<[0, 10, -5]> : tensor<3xi32>
  %x = stablehlo.constant dense<[-3, 12, 9]> : tensor<3xi32>
  %high = stablehlo.constant dense<[6, 20, 5]> : tensor<3xi32>
  %0 = stablehlo.clamp %low, %x, %high : tensor<3xi32>
  check.expect_eq_const %0, dense<[0, 12, 5]> : tensor<3xi32>
  return
}
func.func private @compare_e1() {
  %x = stablehlo.constant dense<[1.0, 4.0, 2.0]> : tensor<3xf32>
  %y = stablehlo.constant dense<[1.0, 3.0, 5.0]> : tensor<3xf32>
  %0 = stablehlo.compare LT, %x, %y, FLOAT : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  check.expect_eq_const %0, dense<[false, false, true]> : tensor<3xi1>
  return
}
func.func private @complex_e1() {
  %x = stablehlo.constant dense<[1.5, -3.0]> : tensor<2xf64>
  %y = stablehlo.constant dense<[2.5, 4.0]> : tensor<2xf64>
  %0 = stablehlo.complex %x, %y : tensor<2xcomplex<f64>>
  check.expect_eq_const %0, dense<[(1.5, 2.5), (-3.0, 4.0)]> : tensor<2xcomplex<f64>>
  return
}
func.func private @convert_e1() {
  %x = stablehlo.constant dense<[-2, 0, 200]> : tensor<3xi64>
  %0 = stablehlo.convert %x : (tensor<3xi64>) -> tensor<3xcomplex<f64>>
  check.expect_eq_const %0, dense<[(-2.0, 0.0), (0.0, 0.0), (200.0, 0.0)]> : tensor<3xcomplex<f64>>
  return
}
func.func private @bitcast_convert_e1() {
  %x = stablehlo.constant dense<0x4010000000000001> : tensor<f64>
  %0 = stablehlo.bitcast_convert %x : (tensor<f64>) -> tensor<4xi16>
  check.expect_eq_const %0, dense<[1, 0, 0, 16400]> : tensor<4xi16>
  return
}
func.func private @real_e1() {
  %x = stablehlo.constant dense<[(1.0, 2.0), (3.0, -4.0)]> : tensor<2xcomplex<f32>>
  %0 = stablehlo.real %x : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  check.expect_eq_const %0, dense<[1.0, 3.0]> : tensor<2xf32>
  return
}
func.func private @imag_e1() {
  %x = stablehlo.constant dense<[(1.0, 2.0), (3.0, -4.0)]> : tensor<2xcomplex<f32>>
  %0 = stablehlo.imag %x : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  check.expect_eq_const %0, dense<[2.0, -4.0]> : tensor<2xf32>
  return
}
func.func private @is_finite_e1() {
  %x = stablehlo.constant dense<[0x7FF0000000000000, 0xFFF0000000000000, 0x7FF8000000000000, -7.0, 0.0]> : tensor<5xf64>
  %0 = stablehlo.is_finite %x : (tensor<5xf64>) -> tensor<5xi1>
  check.expect_eq_const %0, dense<[false, false, false, true, true]> : tensor<5xi1>
  return
}
func.func private @reduce_precision_e1() {
  %x = stablehlo.constant dense<[1.0, 70000.0, 0.1, 1.0e-9, 0xFF800000]> : tensor<5xf32>
  %0 = stablehlo.reduce_precision %x, format = e5m2 : tensor<5xf32>
  check.expect_eq_const %0, dense<[1.0, 0x7F800000, 0.09375, 0.0, 0xFF800000]> : tensor<5xf32>
  return
}
func.func private @select_e1() {
  %p = stablehlo.constant dense<[[false, true], [true, false]]> : tensor<2x2xi1>
  %x = stablehlo.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
  %y = stablehlo.constant dense<[[5, 6], [7, 8]]> : tensor<2x2xi32>
  %0 = stablehlo.select %p, %x, %y : tensor<2x2xi1>, tensor<2x2xi32>
  check.expect_eq_const %0, dense<[[5, 2], [3, 8]]> : tensor<2x2xi32>
  return
}
func.func private @map_e1() {
  %x = stablehlo.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi64>
  %y = stablehlo.constant dense<[[5, 6], [7, 8]]> : tensor<2x2xi64>
  %0 = "stablehlo.map"(%x, %y) <{dimensions = array<i64: 0, 1>}> ({
  ^bb0(%a: tensor<i64>, %b: tensor<i64>):
    %1 = stablehlo.subtract %b, %a : tensor<i64>
    %2 = stablehlo.multiply %1, %b : tensor<i64>
    stablehlo.return %2 : tensor<i64>
  }) : (tensor<2x2xi64>, tensor<2x2xi64>) -> tensor<2x2xi64>
  check.expect_eq_const %0, dense<[[20, 24], [28, 32]]> : tensor<2x2xi64>
  return
}

func.func @main() {
  func.call @abs_e1() : () -> ()
  func.call @cbrt_e1() : () -> ()
  func.call @ceil_e1() : () -> ()
  func.call @cosine_e1() : () -> ()
  func.call @count_leading_zeros_e1() : () -> ()
  func.call @exponential_e1() : () -> ()
  func.call @exponential_minus_one_e1() : () -> ()
  func.call @floor_e1() : () -> ()
  func.call @log_e1() : () -> ()
  func.call @log_plus_one_e1() : () -> ()
  func.call @logistic_e1() : () -> ()
  func.call @negate_e1() : () -> ()
  func.call @negate_e2() : () -> ()
  func.call @not_e1() : () -> ()
  func.call @not_e2() : () -> ()
  func.call @popcnt_e1() : () -> ()
  func.call @round_nearest_afz_e1() : () -> ()
  func.call @round_nearest_even_e1() : () -> ()
  func.call @rsqrt_e1() : () -> ()
  func.call @sign_e1() : () -> ()
  func.call @sine_e1() : () -> ()
  func.call @sqrt_e1() : () -> ()
  func.call @tan_e1() : () -> ()
  func.call @tanh_e1() : () -> ()
  func.call @add_e1() : () -> ()
  func.call @and_e1() : () -> ()
  func.call @atan2_e1() : () -> ()
  func.call @divide_e1() : () -> ()
  func.call @maximum_e1() : () -> ()
  func.call @minimum_e1() : () -> ()
  func.call @multiply_e1() : () -> ()
  func.call @or_e1() : () -> ()
  func.call @or_e2() : () -> ()
  func.call @power_e1() : () -> ()
  func.call @remainder_e1() : () -> ()
  func.call @shift_left_e1() : () -> ()
  func.call @shift_right_arithmetic_e1() : () -> ()
  func.call @shift_right_logical_e1() : () -> ()
  func.call @subtract_e1() : () -> ()
  func.call @xor_e1() : () -> ()
  func.call @xor_e2() : () -> ()
  func.call @clamp_e1() : () -> ()
  func.call @compare_e1() : () -> ()
  func.call @complex_e1() : () -> ()
  func.call @convert_e1() : () -> ()
  func.call @bitcast_convert_e1() : () -> ()
  func.call @real_e1() : () -> ()
  func.call @imag_e1() : () -> ()
  func.call @is_finite_e1() : () -> ()
  func.call @reduce_precision_e1() : () -> ()
  func.call @select_e1() : () -> ()
  func.call @map_e1() : () -> ()
  return
}
