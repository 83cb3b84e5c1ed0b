// RUN: tenon run %s --reference
// RUN: tenon run %s

// Products of booleans, and floating-point sums of products of integers.

func.func @main() {
  %x = stablehlo.constant dense<[[true, true, false], [false, true, false]]> : tensor<2x3xi1>
  %y = stablehlo.constant dense<[[true, false], [true, false], [false, true]]> : tensor<3x2xi1>
  %z = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<2x3xi1>, tensor<3x2xi1>) -> tensor<2x2xi1>
  check.expect_eq_const %z, dense<[[true, false], [true, false]]> : tensor<2x2xi1>

  %a = stablehlo.constant dense<[[100, 100], [1, -2]]> : tensor<2x2xi8>
  %b = stablehlo.constant dense<[[100, 1], [100, 2]]> : tensor<2x2xi8>
  %c = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2x2xi8>, tensor<2x2xi8>) -> tensor<2x2xbf16>
  check.expect_eq_const %c, dense<[[19968.0, 300.0], [-100.0, -3.0]]> : tensor<2x2xbf16>
  %d = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2x2xi8>, tensor<2x2xi8>) -> tensor<2x2xi32>
  check.expect_eq_const %d, dense<[[20000, 300], [-100, -3]]> : tensor<2x2xi32>
  return
}
