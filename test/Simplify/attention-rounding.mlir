// RUN: tenon run %s --reference
// RUN: tenon run %s
// RUN: tenon-opt %s --simplify-expand-attention -o %t.mlir && tenon run %t.mlir --reference

// Three keys of equal weight. A weight of 1/3 is 171/512 in bf16, the gradient
// of the first weight, (129/128)^2, is 65/64, and two slopes of -1/3 of that
// are -173/512. What is not rounded is not.
func.func @main() {
  %q = stablehlo.constant dense<0.0> : tensor<1x1xbf16>
  %one = stablehlo.constant dense<1.0> : tensor<1x1xbf16>
  %first = stablehlo.constant dense<[[1.0], [0.0], [0.0]]> : tensor<3x1xbf16>
  %ones = stablehlo.constant dense<1.0> : tensor<3x1xbf16>
  %most = stablehlo.constant dense<3.0> : tensor<1xf32>
  %total = stablehlo.constant dense<3.0> : tensor<1xf32>
  %v = stablehlo.constant dense<[[1.0078125], [0.0], [0.0]]> : tensor<3x1xbf16>
  %g = stablehlo.constant dense<1.0078125> : tensor<1x1xbf16>

  %o0, %max0, %sum0 = step.attention %q [q, d], %first [k, d], %ones [k, v] -> [q, v] {scale = 3.0 : f32}
    : (tensor<1x1xbf16>, tensor<3x1xbf16>, tensor<3x1xbf16>) -> (tensor<1x1xf32>, tensor<1xf32>, tensor<1xf32>)
  check.expect_almost_eq_const %o0, dense<1.0> : tensor<1x1xf32> {tolerance = 1.0e-6 : f64}
  check.expect_eq_const %max0, dense<0.0> : tensor<1xf32>
  check.expect_eq_const %sum0, dense<3.0> : tensor<1xf32>
  %o1, %max1, %sum1 = step.attention %q [q, d], %first [k, d], %ones [k, v] -> [q, v] {rounds_weights, scale = 3.0 : f32}
    : (tensor<1x1xbf16>, tensor<3x1xbf16>, tensor<3x1xbf16>) -> (tensor<1x1xf32>, tensor<1xf32>, tensor<1xf32>)
  check.expect_almost_eq_const %o1, dense<1.001953125> : tensor<1x1xf32> {tolerance = 1.0e-6 : f64}

  // Slopes of the first key, of the second, and the weights.
  %dq0, %dk0, %dv0 = step.attention_gradient %q [q, d], %first [k, d], %v [k, v] of %max0, %sum0, %g [q, v] -> [q, d], [k, d], [k, v] {scale = 3.0 : f32}
    : (tensor<1x1xbf16>, tensor<3x1xbf16>, tensor<3x1xbf16>, tensor<1xf32>, tensor<1xf32>, tensor<1x1xbf16>) -> (tensor<1x1xf32>, tensor<3x1xf32>, tensor<3x1xf32>)
  check.expect_almost_eq_const %dq0, dense<0.67712402> : tensor<1x1xf32> {tolerance = 1.0e-6 : f64}
  check.expect_almost_eq_const %dv0, dense<0.33593750> : tensor<3x1xf32> {tolerance = 1.0e-6 : f64}
  %dq1, %dk1, %dv1 = step.attention_gradient %q [q, d], %first [k, d], %v [k, v] of %max0, %sum0, %g [q, v] -> [q, d], [k, d], [k, v] {rounds_weight_gradients, scale = 3.0 : f32}
    : (tensor<1x1xbf16>, tensor<3x1xbf16>, tensor<3x1xbf16>, tensor<1xf32>, tensor<1xf32>, tensor<1x1xbf16>) -> (tensor<1x1xf32>, tensor<3x1xf32>, tensor<3x1xf32>)
  check.expect_almost_eq_const %dq1, dense<0.67708333> : tensor<1x1xf32> {tolerance = 1.0e-6 : f64}
  check.expect_almost_eq_const %dv1, dense<0.33593750> : tensor<3x1xf32> {tolerance = 1.0e-6 : f64}
  %dq2, %dk2, %dv2 = step.attention_gradient %one [q, d], %ones [k, d], %v [k, v] of %most, %total, %g [q, v] -> [q, d], [k, d], [k, v]
    {rounds_slopes, rounds_weight_gradients, rounds_weights, scale = 3.0 : f32}
    : (tensor<1x1xbf16>, tensor<3x1xbf16>, tensor<3x1xbf16>, tensor<1xf32>, tensor<1xf32>, tensor<1x1xbf16>) -> (tensor<1x1xf32>, tensor<3x1xf32>, tensor<3x1xf32>)
  check.expect_almost_eq_const %dk2, dense<[[0.67578125], [-0.337890625], [-0.337890625]]> : tensor<3x1xf32> {tolerance = 1.0e-6 : f64}
  check.expect_almost_eq_const %dv2, dense<0.33659363> : tensor<3x1xf32> {tolerance = 1.0e-6 : f64}
  return
}
