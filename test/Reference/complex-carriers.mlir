// RUN: tenon run %s --reference
// RUN: tenon run %s

// Complex values in loops, branches, reductions, sorts, contractions and
// movements.

func.func @main() {
  %x = stablehlo.constant dense<[[(1.0, 2.0), (3.0, -1.0)], [(0.0, 1.0), (-2.0, 0.0)]]> : tensor<2x2xcomplex<f32>>
  %zero = stablehlo.constant dense<(0.0, 0.0)> : tensor<complex<f32>>
  %sums = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<2x2xcomplex<f32>>, tensor<complex<f32>>) -> tensor<2xcomplex<f32>>
  check.expect_eq_const %sums, dense<[(4.0, 1.0), (-2.0, 1.0)]> : tensor<2xcomplex<f32>>

  %product = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] : (tensor<2x2xcomplex<f32>>, tensor<2x2xcomplex<f32>>) -> tensor<2x2xcomplex<f32>>
  check.expect_eq_const %product, dense<[[(-2.0, 7.0), (-1.0, 7.0)], [(-2.0, -1.0), (5.0, 3.0)]]> : tensor<2x2xcomplex<f32>>

  %count = stablehlo.constant dense<3> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %none = stablehlo.constant dense<0> : tensor<i32>
  %start = stablehlo.constant dense<(1.0, 0.0)> : tensor<complex<f32>>
  %i = stablehlo.constant dense<(0.0, 1.0)> : tensor<complex<f32>>
  %loop:2 = stablehlo.while(%at = %none, %power = %start) : tensor<i32>, tensor<complex<f32>>
  cond {
    %more = stablehlo.compare LT, %at, %count, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %next = stablehlo.add %at, %one : tensor<i32>
    %times = stablehlo.multiply %power, %i : tensor<complex<f32>>
    stablehlo.return %next, %times : tensor<i32>, tensor<complex<f32>>
  }
  check.expect_almost_eq_const %loop#1, dense<(0.0, -1.0)> : tensor<complex<f32>>

  %branch = "stablehlo.case"(%one) ({
    stablehlo.return %zero : tensor<complex<f32>>
  }, {
    %minus = stablehlo.negate %i : tensor<complex<f32>>
    stablehlo.return %minus : tensor<complex<f32>>
  }) : (tensor<i32>) -> tensor<complex<f32>>
  check.expect_almost_eq_const %branch, dense<(0.0, -1.0)> : tensor<complex<f32>>

  %keys = stablehlo.constant dense<[3, 1, 2]> : tensor<3xi32>
  %values = stablehlo.constant dense<[(3.0, 0.5), (1.0, -1.0), (2.0, 4.0)]> : tensor<3xcomplex<f32>>
  %sorted:2 = "stablehlo.sort"(%values, %keys) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<complex<f32>>, %b: tensor<complex<f32>>, %j: tensor<i32>, %k: tensor<i32>):
    %ra = stablehlo.real %a : (tensor<complex<f32>>) -> tensor<f32>
    %rb = stablehlo.real %b : (tensor<complex<f32>>) -> tensor<f32>
    %less = stablehlo.compare LT, %ra, %rb, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  }) : (tensor<3xcomplex<f32>>, tensor<3xi32>) -> (tensor<3xcomplex<f32>>, tensor<3xi32>)
  check.expect_eq_const %sorted#0, dense<[(1.0, -1.0), (2.0, 4.0), (3.0, 0.5)]> : tensor<3xcomplex<f32>>
  check.expect_eq_const %sorted#1, dense<[1, 2, 3]> : tensor<3xi32>

  %padded = stablehlo.pad %sums, %i, low = [1], high = [0], interior = [0] : (tensor<2xcomplex<f32>>, tensor<complex<f32>>) -> tensor<3xcomplex<f32>>
  %reversed = stablehlo.reverse %padded, dims = [0] : tensor<3xcomplex<f32>>
  check.expect_eq_const %reversed, dense<[(-2.0, 1.0), (4.0, 1.0), (0.0, 1.0)]> : tensor<3xcomplex<f32>>
  return
}
