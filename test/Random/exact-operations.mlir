// Operations that round once give the same bits interpreted and compiled, at
// the edges of their types.

// RUN: tenon run %s
// RUN: tenon run --reference %s

func.func @main() {
  // A negative power of zero is what dividing by it gives.
  %n = stablehlo.constant dense<[0, 1, -1, 2, 0]> : tensor<5xi32>
  %e = stablehlo.constant dense<[-1, -5, -3, -1, 0]> : tensor<5xi32>
  %b, %p = stablehlo.optimization_barrier %n, %e : tensor<5xi32>, tensor<5xi32>
  %0 = stablehlo.power %b, %p : tensor<5xi32>
  check.expect_eq_const %0, dense<[-1, 1, -1, 0, 1]> : tensor<5xi32>

  // The remainder of f64 is exact: both have 53 digits.
  %u = stablehlo.constant dense<[0x4340000000000001, 0x7FEFFFFFFFFFFFFF, 0xC00C000000000000]> : tensor<3xf64>
  %v = stablehlo.constant dense<[3.0, 0x4008000000000001, 2.0]> : tensor<3xf64>
  %x, %y = stablehlo.optimization_barrier %u, %v : tensor<3xf64>, tensor<3xf64>
  %1 = stablehlo.remainder %x, %y : tensor<3xf64>
  check.expect_eq_const %1, dense<[1.0, 0x3FE6B91B9380BC40, -1.5]> : tensor<3xf64>

  // Subnormal numbers of f16 stay with all five bits of exponent.
  %h = stablehlo.constant dense<[0x81D0, 0x0001, 0x7E00]> : tensor<3xf16>
  %z = stablehlo.optimization_barrier %h : tensor<3xf16>
  %2 = stablehlo.reduce_precision %z, format = e5m8 : tensor<3xf16>
  check.expect_eq_const %2, dense<[0x81D0, 0x0000, 0x7E00]> : tensor<3xf16>

  // The bits of a signaling NaN.
  %s = stablehlo.constant dense<[32001, -511]> : tensor<2xi16>
  %t = stablehlo.optimization_barrier %s : tensor<2xi16>
  %3 = stablehlo.bitcast_convert %t : (tensor<2xi16>) -> tensor<2xf16>
  %4 = stablehlo.reverse %3, dims = [0] : tensor<2xf16>
  %5 = stablehlo.bitcast_convert %4 : (tensor<2xf16>) -> tensor<2xi16>
  check.expect_eq_const %5, dense<[-511, 32001]> : tensor<2xi16>
  return
}
