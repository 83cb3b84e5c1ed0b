// RUN: tenon run %s --reference
// RUN: tenon run %s

// Matrix decompositions, as JAX exports them for the CPU: what they return put
// together again gives the matrix.

func.func @main() {
  %a = stablehlo.constant dense<[[4.0, 2.0], [2.0, 10.0]]> : tensor<2x2xf32>
  %l:2 = stablehlo.custom_call @lapack_spotrf_ffi(%a) {mhlo.backend_config = {uplo = 76 : ui8}} : (tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<i32>)
  check.expect_almost_eq_const %l#0, dense<[[2.0, 2.0], [1.0, 3.0]]> : tensor<2x2xf32>
  check.expect_eq_const %l#1, dense<0> : tensor<i32>

  %b = stablehlo.constant dense<[[2.0, 4.0], [10.0, 8.0]]> : tensor<2x2xf32>
  %x = stablehlo.custom_call @lapack_strsm_ffi(%l#0, %b) {mhlo.backend_config = {diag = 78 : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = 76 : ui8}} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  check.expect_almost_eq_const %x, dense<[[1.0, 2.0], [3.0, 2.0]]> : tensor<2x2xf32>

  %m = stablehlo.constant dense<[[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], [[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]]]> : tensor<2x3x2xf64>
  %lu:3 = stablehlo.custom_call @lapack_dgetrf_ffi(%m) : (tensor<2x3x2xf64>) -> (tensor<2x3x2xf64>, tensor<2x2xi32>, tensor<2xi32>)
  check.expect_eq_const %lu#1, dense<[[3, 3], [3, 2]]> : tensor<2x2xi32>

  %qr:2 = stablehlo.custom_call @lapack_dgeqrf_ffi(%m) : (tensor<2x3x2xf64>) -> (tensor<2x3x2xf64>, tensor<2x2xf64>)
  %q = stablehlo.custom_call @lapack_dorgqr_ffi(%qr#0, %qr#1) : (tensor<2x3x2xf64>, tensor<2x2xf64>) -> tensor<2x3x2xf64>
  %unit = stablehlo.dot_general %q, %q, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (tensor<2x3x2xf64>, tensor<2x3x2xf64>) -> tensor<2x2x2xf64>
  check.expect_almost_eq_const %unit, dense<[[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]]]> : tensor<2x2x2xf64> {tolerance = 1.0e-12 : f64}

  %s:5 = stablehlo.custom_call @lapack_dgesdd_ffi(%m) {mhlo.backend_config = {mode = 83 : ui8}} : (tensor<2x3x2xf64>) -> (tensor<2x3x2xf64>, tensor<2x2xf64>, tensor<2x3x2xf64>, tensor<2x2x2xf64>, tensor<2xi32>)
  %sizes = stablehlo.broadcast_in_dim %s#1, dims = [0, 2] : (tensor<2x2xf64>) -> tensor<2x3x2xf64>
  %scaled = stablehlo.multiply %s#2, %sizes : tensor<2x3x2xf64>
  %again = stablehlo.dot_general %scaled, %s#3, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x3x2xf64>, tensor<2x2x2xf64>) -> tensor<2x3x2xf64>
  check.expect_almost_eq %again, %m : tensor<2x3x2xf64>

  // Without vectors; their places may have either extents.
  %values:5 = stablehlo.custom_call @lapack_dgesdd_ffi(%m) {mhlo.backend_config = {mode = 78 : ui8}} : (tensor<2x3x2xf64>) -> (tensor<2x3x2xf64>, tensor<2x2xf64>, tensor<2x3x2xf64>, tensor<2x2x2xf64>, tensor<2xi32>)
  check.expect_almost_eq %values#1, %s#1 : tensor<2x2xf64>
  %full:5 = stablehlo.custom_call @lapack_dgesdd_ffi(%m) {mhlo.backend_config = {mode = 78 : ui8}} : (tensor<2x3x2xf64>) -> (tensor<2x3x2xf64>, tensor<2x2xf64>, tensor<2x3x3xf64>, tensor<2x2x2xf64>, tensor<2xi32>)
  check.expect_almost_eq %full#1, %s#1 : tensor<2x2xf64>

  %h = stablehlo.constant dense<[[(2.0, 0.0), (0.0, 1.0)], [(0.0, -1.0), (2.0, 0.0)]]> : tensor<2x2xcomplex<f32>>
  %e:3 = stablehlo.custom_call @lapack_cheevd_ffi(%h) {mhlo.backend_config = {mode = 86 : ui8, uplo = 76 : ui8}} : (tensor<2x2xcomplex<f32>>) -> (tensor<2x2xcomplex<f32>>, tensor<2xf32>, tensor<i32>)
  check.expect_almost_eq_const %e#1, dense<[1.0, 3.0]> : tensor<2xf32>
  return
}
