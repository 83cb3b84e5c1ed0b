// RUN: tenon run %s --reference 2>&1 | FileCheck %s
// RUN: tenon run %s 2>&1 | FileCheck %s

// Random numbers without a state: made of the bits that THREE_FRY draws with the
// operation's number as key, as JAX draws them, and the same in both ways.

// CHECK-COUNT-7: warning: 'stablehlo.rng' draws the same numbers whenever it is executed
// CHECK-NOT: {{warning|error}}

func.func private @rng_e1() {
  %a = stablehlo.constant dense<-3> : tensor<i8>
  %b = stablehlo.constant dense<4> : tensor<i8>
  %shape = stablehlo.constant dense<[3, 3]> : tensor<2xi64>
  %0 = stablehlo.rng %a, %b, %shape, distribution = UNIFORM : (tensor<i8>, tensor<i8>, tensor<2xi64>) -> tensor<3x3xi8>
  check.expect_eq_const %0, dense<[[2, 2, -2], [3, -3, -1], [-3, -1, -3]]> : tensor<3x3xi8>
  return
}
func.func private @unsigned() {
  %a = stablehlo.constant dense<0> : tensor<ui64>
  %b = stablehlo.constant dense<2> : tensor<ui64>
  %none = stablehlo.constant dense<0> : tensor<ui64>
  %shape = stablehlo.constant dense<[2000]> : tensor<1xi64>
  %0 = stablehlo.rng %a, %b, %shape, distribution = UNIFORM : (tensor<ui64>, tensor<ui64>, tensor<1xi64>) -> tensor<2000xui64>
  %sum = stablehlo.reduce(%0 init: %none) applies stablehlo.add across dimensions = [0] : (tensor<2000xui64>, tensor<ui64>) -> tensor<ui64>
  %mean = stablehlo.constant dense<1000.0> : tensor<f64>
  %1 = stablehlo.convert %sum : (tensor<ui64>) -> tensor<f64>
  %within1 = stablehlo.constant dense<100.0> : tensor<f64>
  %difference1 = stablehlo.subtract %1, %mean : tensor<f64>
  %distance1 = stablehlo.abs %difference1 : tensor<f64>
  %close1 = stablehlo.compare LE, %distance1, %within1 : (tensor<f64>, tensor<f64>) -> tensor<i1>
  check.expect_eq_const %close1, dense<true> : tensor<i1>
  return
}
// Between false and true lies false alone.
func.func private @boolean() {
  %a = stablehlo.constant dense<false> : tensor<i1>
  %b = stablehlo.constant dense<true> : tensor<i1>
  %shape = stablehlo.constant dense<[5]> : tensor<1xi64>
  %0 = stablehlo.rng %a, %b, %shape, distribution = UNIFORM : (tensor<i1>, tensor<i1>, tensor<1xi64>) -> tensor<5xi1>
  check.expect_eq_const %0, dense<false> : tensor<5xi1>
  return
}
// The next number after `a` is `b`: only `a` is left.
func.func private @narrowest() {
  %a = stablehlo.constant dense<1.0> : tensor<bf16>
  %b = stablehlo.constant dense<1.0078125> : tensor<bf16>
  %shape = stablehlo.constant dense<[4, 5]> : tensor<2xi64>
  %0 = stablehlo.rng %a, %b, %shape, distribution = UNIFORM : (tensor<bf16>, tensor<bf16>, tensor<2xi64>) -> tensor<4x5xbf16>
  check.expect_eq_const %0, dense<1.0> : tensor<4x5xbf16>
  return
}
func.func private @uniform() {
  %a = stablehlo.constant dense<-2.0> : tensor<f32>
  %b = stablehlo.constant dense<6.0> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %shape = stablehlo.constant dense<[40, 100]> : tensor<2xi64>
  %0 = stablehlo.rng %a, %b, %shape, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<40x100xf32>
  %sum = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<40x100xf32>, tensor<f32>) -> tensor<f32>
  %least = stablehlo.reduce(%0 init: %b) applies stablehlo.minimum across dimensions = [0, 1] : (tensor<40x100xf32>, tensor<f32>) -> tensor<f32>
  %most = stablehlo.reduce(%0 init: %a) applies stablehlo.maximum across dimensions = [0, 1] : (tensor<40x100xf32>, tensor<f32>) -> tensor<f32>
  // Mean 2, within four of its standard deviations.
  %mean = stablehlo.constant dense<8000.0> : tensor<f32>
  %within2 = stablehlo.constant dense<600.0> : tensor<f32>
  %difference2 = stablehlo.subtract %sum, %mean : tensor<f32>
  %distance2 = stablehlo.abs %difference2 : tensor<f32>
  %close2 = stablehlo.compare LE, %distance2, %within2 : (tensor<f32>, tensor<f32>) -> tensor<i1>
  check.expect_eq_const %close2, dense<true> : tensor<i1>
  %within3 = stablehlo.constant dense<0.02> : tensor<f32>
  %difference3 = stablehlo.subtract %least, %a : tensor<f32>
  %distance3 = stablehlo.abs %difference3 : tensor<f32>
  %close3 = stablehlo.compare LE, %distance3, %within3 : (tensor<f32>, tensor<f32>) -> tensor<i1>
  check.expect_eq_const %close3, dense<true> : tensor<i1>
  %within4 = stablehlo.constant dense<0.02> : tensor<f32>
  %difference4 = stablehlo.subtract %most, %b : tensor<f32>
  %distance4 = stablehlo.abs %difference4 : tensor<f32>
  %close4 = stablehlo.compare LE, %distance4, %within4 : (tensor<f32>, tensor<f32>) -> tensor<i1>
  check.expect_eq_const %close4, dense<true> : tensor<i1>
  return
}
func.func private @normal() {
  %a = stablehlo.constant dense<1.0> : tensor<f64>
  %b = stablehlo.constant dense<2.0> : tensor<f64>
  %zero = stablehlo.constant dense<0.0> : tensor<f64>
  %shape = stablehlo.constant dense<4000> : tensor<1xi64>
  %0 = stablehlo.rng %a, %b, %shape, distribution = NORMAL : (tensor<f64>, tensor<f64>, tensor<1xi64>) -> tensor<4000xf64>
  %sum = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4000xf64>, tensor<f64>) -> tensor<f64>
  %square = stablehlo.multiply %0, %0 : tensor<4000xf64>
  %squares = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4000xf64>, tensor<f64>) -> tensor<f64>
  // Mean 1 and mean square 5.
  %mean = stablehlo.constant dense<4000.0> : tensor<f64>
  %meanSquare = stablehlo.constant dense<20000.0> : tensor<f64>
  %within5 = stablehlo.constant dense<510.0> : tensor<f64>
  %difference5 = stablehlo.subtract %sum, %mean : tensor<f64>
  %distance5 = stablehlo.abs %difference5 : tensor<f64>
  %close5 = stablehlo.compare LE, %distance5, %within5 : (tensor<f64>, tensor<f64>) -> tensor<i1>
  check.expect_eq_const %close5, dense<true> : tensor<i1>
  %within6 = stablehlo.constant dense<1800.0> : tensor<f64>
  %difference6 = stablehlo.subtract %squares, %meanSquare : tensor<f64>
  %distance6 = stablehlo.abs %difference6 : tensor<f64>
  %close6 = stablehlo.compare LE, %distance6, %within6 : (tensor<f64>, tensor<f64>) -> tensor<i1>
  check.expect_eq_const %close6, dense<true> : tensor<i1>
  return
}
// In a type of 8 bits, and with no elements at all.
func.func private @small() {
  %a = stablehlo.constant dense<0.0> : tensor<f8E4M3FN>
  %b = stablehlo.constant dense<1.0> : tensor<f8E4M3FN>
  %shape = stablehlo.constant dense<[0, 3]> : tensor<2xi64>
  %0 = stablehlo.rng %a, %b, %shape, distribution = NORMAL : (tensor<f8E4M3FN>, tensor<f8E4M3FN>, tensor<2xi64>) -> tensor<0x3xf8E4M3FN>
  check.expect_eq_const %0, dense<> : tensor<0x3xf8E4M3FN>
  return
}
func.func @main() {
  func.call @rng_e1() : () -> ()
  func.call @unsigned() : () -> ()
  func.call @boolean() : () -> ()
  func.call @narrowest() : () -> ()
  func.call @uniform() : () -> ()
  func.call @normal() : () -> ()
  func.call @small() : () -> ()
  return
}
