// A conditional on a value that is not known when the program is compiled.

// RUN: tenon run %s
// RUN: tenon run --reference %s

func.func @main() {
  %c = stablehlo.constant dense<[true, false]> : tensor<2xi1>
  %a = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %p, %x = stablehlo.optimization_barrier %c, %a : tensor<2xi1>, tensor<2xf32>
  %p0 = stablehlo.slice %p [0:1] : (tensor<2xi1>) -> tensor<1xi1>
  %yes = stablehlo.reshape %p0 : (tensor<1xi1>) -> tensor<i1>
  %p1 = stablehlo.slice %p [1:2] : (tensor<2xi1>) -> tensor<1xi1>
  %no = stablehlo.reshape %p1 : (tensor<1xi1>) -> tensor<i1>
  %0 = "stablehlo.if"(%yes) ({
    %2 = stablehlo.add %x, %x : tensor<2xf32>
    stablehlo.return %2 : tensor<2xf32>
  }, {
    %2 = stablehlo.multiply %x, %x : tensor<2xf32>
    stablehlo.return %2 : tensor<2xf32>
  }) : (tensor<i1>) -> tensor<2xf32>
  %1 = "stablehlo.if"(%no) ({
    %2 = stablehlo.add %x, %x : tensor<2xf32>
    stablehlo.return %2 : tensor<2xf32>
  }, {
    %2 = stablehlo.multiply %x, %x : tensor<2xf32>
    stablehlo.return %2 : tensor<2xf32>
  }) : (tensor<i1>) -> tensor<2xf32>
  check.expect_eq_const %0, dense<[2.0, 4.0]> : tensor<2xf32>
  check.expect_eq_const %1, dense<[1.0, 4.0]> : tensor<2xf32>
  return
}
