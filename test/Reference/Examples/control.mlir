// RUN: tenon run %s --reference
// RUN: tenon run %s

// Control flow, grouping of values, and random bits.

func.func private @sum_of_squares(%x: tensor<2xf32>) -> tensor<f32> {
  %0 = stablehlo.multiply %x, %x : tensor<2xf32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %1 = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
  return %1 : tensor<f32>
}
func.func private @case_e1() {
  %known = stablehlo.constant dense<-3> : tensor<i32>
  %i = stablehlo.optimization_barrier %known : tensor<i32>
  %x = stablehlo.constant dense<[5, 6]> : tensor<2xi64>
  %y = stablehlo.constant dense<[7, 8]> : tensor<2xi64>
  // An index that is no branch takes the last one.
  %0 = "stablehlo.case"(%i) ({
    stablehlo.return %x : tensor<2xi64>
  }, {
    stablehlo.return %y : tensor<2xi64>
  }) : (tensor<i32>) -> tensor<2xi64>
  check.expect_eq_const %0, dense<[7, 8]> : tensor<2xi64>
  return
}
func.func private @if_e1() {
  %known = stablehlo.constant dense<false> : tensor<i1>
  %p = stablehlo.optimization_barrier %known : tensor<i1>
  %x = stablehlo.constant dense<[5, 6]> : tensor<2xi64>
  %y = stablehlo.constant dense<[7, 8]> : tensor<2xi64>
  %0 = "stablehlo.if"(%p) ({
    stablehlo.return %x : tensor<2xi64>
  }, {
    stablehlo.return %y : tensor<2xi64>
  }) : (tensor<i1>) -> tensor<2xi64>
  check.expect_eq_const %0, dense<[7, 8]> : tensor<2xi64>
  return
}
func.func private @while_e1() {
  %one = stablehlo.constant dense<1> : tensor<i64>
  %end = stablehlo.constant dense<6> : tensor<i64>
  %0:2 = stablehlo.while(%i = %one, %product = %one) : tensor<i64>, tensor<i64>
  cond {
    %p = stablehlo.compare LT, %i, %end : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %m = stablehlo.multiply %product, %i : tensor<i64>
    %n = stablehlo.add %i, %one : tensor<i64>
    stablehlo.return %n, %m : tensor<i64>, tensor<i64>
  }
  check.expect_eq_const %0#1, dense<120> : tensor<i64>
  return
}
func.func private @composite_e1() {
  %x = stablehlo.constant dense<[3.0, 4.0]> : tensor<2xf32>
  %0 = stablehlo.composite "own.norm" %x {composite_attributes = {squared = true}, decomposition = @sum_of_squares, version = 1 : i32} : (tensor<2xf32>) -> tensor<f32>
  check.expect_eq_const %0, dense<25.0> : tensor<f32>
  return
}
func.func private @optimization_barrier_e1() {
  %x = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %y = stablehlo.constant dense<[3, 4]> : tensor<2xi32>
  %0:2 = stablehlo.optimization_barrier %x, %y : tensor<2xf32>, tensor<2xi32>
  check.expect_eq_const %0#0, dense<[1.0, 2.0]> : tensor<2xf32>
  check.expect_eq_const %0#1, dense<[3, 4]> : tensor<2xi32>
  return
}
func.func private @tuple_e1() {
  %x = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %y = stablehlo.constant dense<3> : tensor<i32>
  %0 = stablehlo.tuple %x, %y : tuple<tensor<2xf32>, tensor<i32>>
  %1 = stablehlo.get_tuple_element %0[0] : (tuple<tensor<2xf32>, tensor<i32>>) -> tensor<2xf32>
  check.expect_eq_const %1, dense<[1.0, 2.0]> : tensor<2xf32>
  return
}
func.func private @get_tuple_element_e1() {
  %x = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %y = stablehlo.constant dense<3> : tensor<i32>
  %0 = stablehlo.tuple %y : tuple<tensor<i32>>
  %1 = stablehlo.tuple %x, %0 : tuple<tensor<2xf32>, tuple<tensor<i32>>>
  %2 = stablehlo.get_tuple_element %1[1] : (tuple<tensor<2xf32>, tuple<tensor<i32>>>) -> tuple<tensor<i32>>
  %3 = stablehlo.get_tuple_element %2[0] : (tuple<tensor<i32>>) -> tensor<i32>
  check.expect_eq_const %3, dense<3> : tensor<i32>
  return
}
func.func private @rng_bit_generator_e1() {
  %s = stablehlo.constant dense<[7, 9]> : tensor<2xui64>
  %0:2 = "stablehlo.rng_bit_generator"(%s) <{rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>}> : (tensor<2xui64>) -> (tensor<2xui64>, tensor<2x2xui64>)
  %1:2 = "stablehlo.rng_bit_generator"(%0#0) <{rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>}> : (tensor<2xui64>) -> (tensor<2xui64>, tensor<2x2xui64>)
  // One draw advances the counter by as many blocks as it used.
  check.expect_eq_const %0#0, dense<[7, 13]> : tensor<2xui64>
  check.expect_eq_const %1#0, dense<[7, 17]> : tensor<2xui64>
  return
}

func.func @main() {
  func.call @case_e1() : () -> ()
  func.call @if_e1() : () -> ()
  func.call @while_e1() : () -> ()
  func.call @composite_e1() : () -> ()
  func.call @optimization_barrier_e1() : () -> ()
  func.call @tuple_e1() : () -> ()
  func.call @get_tuple_element_e1() : () -> ()
  func.call @rng_bit_generator_e1() : () -> ()
  return
}
