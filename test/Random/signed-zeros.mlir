// Zeros of both signs are ordered: minimum and maximum, the total order, the
// largest elements.

// RUN: tenon run %s
// RUN: tenon run --reference %s

func.func @main() {
  %a = stablehlo.constant dense<[0.0, -0.0, 0.0, -0.0, 1.0]> : tensor<5xf32>
  %b = stablehlo.constant dense<[-0.0, 0.0, 0.0, -0.0, 2.0]> : tensor<5xf32>
  %x, %y = stablehlo.optimization_barrier %a, %b : tensor<5xf32>, tensor<5xf32>
  %0 = stablehlo.minimum %x, %y : tensor<5xf32>
  %1 = stablehlo.maximum %x, %y : tensor<5xf32>
  check.expect_eq_const %0, dense<[-0.0, -0.0, 0.0, -0.0, 1.0]> : tensor<5xf32>
  check.expect_eq_const %1, dense<[0.0, 0.0, 0.0, -0.0, 2.0]> : tensor<5xf32>
  %2 = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %c = stablehlo.compare LT, %l, %r, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) : (tensor<5xf32>) -> tensor<5xf32>
  check.expect_eq_const %2, dense<[-0.0, -0.0, 0.0, 0.0, 1.0]> : tensor<5xf32>
  %v, %i = chlo.top_k(%x, k = 5) : tensor<5xf32> -> (tensor<5xf32>, tensor<5xi32>)
  check.expect_eq_const %v, dense<[1.0, 0.0, 0.0, -0.0, -0.0]> : tensor<5xf32>
  check.expect_eq_const %i, dense<[4, 0, 2, 1, 3]> : tensor<5xi32>
  return
}
