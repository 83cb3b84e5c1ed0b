// RUN: tenon-opt %s --simplify-expand-attention | FileCheck %s
// RUN: tenon run %s --reference
// RUN: tenon run %s
// RUN: tenon-opt %s --simplify-expand-attention -o %t.mlir && tenon run %t.mlir --reference
// RUN: tenon compile %s --target=stablehlo -o - | FileCheck %s

// Two keys of equal weight, as one operation and written out: the same numbers.
// CHECK-NOT: step.attention
// CHECK: stablehlo.exponential
// CHECK-NOT: step.attention
func.func @main() {
  %q = stablehlo.constant dense<0.0> : tensor<1x2x1xf32>
  %k = stablehlo.constant dense<[[[1.0], [3.0], [9.0]]]> : tensor<1x3x1xf32>
  %v = stablehlo.constant dense<[[[2.0], [4.0], [8.0]]]> : tensor<1x3x1xf32>
  %g = stablehlo.constant dense<1.0> : tensor<1x2x1xf32>
  %m = stablehlo.constant dense<[true, true, false]> : tensor<3xi1>
  %f = stablehlo.constant dense<[1.0, 1.0, 2.0]> : tensor<3xf32>
  %b = stablehlo.constant dense<[[5.0], [6.0]]> : tensor<2x1xf32>
  %c = stablehlo.broadcast_in_dim %b, dims = [0, 1] : (tensor<2x1xf32>) -> tensor<2x3xf32>
  %o, %max, %sum = step.attention %q [0, q, d], %k [0, k, d], %v [0, k, v] bias %c [q, k] mask %m [k] factor %f [k] -> [0, q, v] {fill = 0xFF800000 : f32, scale = 2.0 : f32}
    : (tensor<1x2x1xf32>, tensor<1x3x1xf32>, tensor<1x3x1xf32>, tensor<2x3xf32>, tensor<3xi1>, tensor<3xf32>) -> (tensor<1x2x1xf32>, tensor<1x2xf32>, tensor<1x2xf32>)
  check.expect_close_const %o, dense<3.0> : tensor<1x2x1xf32>
  check.expect_eq_const %max, dense<[[5.0, 6.0]]> : tensor<1x2xf32>
  check.expect_eq_const %sum, dense<2.0> : tensor<1x2xf32>
  %dq, %dk, %dv = step.attention_gradient %q [0, q, d], %k [0, k, d], %v [0, k, v] bias %c [q, k] mask %m [k] factor %f [k] of %max, %sum, %g [0, q, v]
    -> [0, q, d], [0, k, d], [0, k, v] {fill = 0xFF800000 : f32, scale = 2.0 : f32}
    : (tensor<1x2x1xf32>, tensor<1x3x1xf32>, tensor<1x3x1xf32>, tensor<2x3xf32>, tensor<3xi1>, tensor<3xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2x1xf32>)
      -> (tensor<1x2x1xf32>, tensor<1x3x1xf32>, tensor<1x3x1xf32>)
  check.expect_close_const %dq, dense<2.0> : tensor<1x2x1xf32>
  check.expect_close_const %dk, dense<0.0> : tensor<1x3x1xf32>
  check.expect_close_const %dv, dense<[[[1.0], [1.0], [0.0]]]> : tensor<1x3x1xf32>
  return
}
