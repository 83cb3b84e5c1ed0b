// With as many bits of exponent as the type has, subnormal numbers stay; their
// digits are rounded in their place. With fewer bits they become zero.

// RUN: tenon run --reference %s

func.func @main() {
  %a = stablehlo.constant dense<[0x00400001, 0x80200000, 0x007FFFFF, 0x7FC00000]> : tensor<4xf32>
  %x = stablehlo.optimization_barrier %a : tensor<4xf32>
  %0 = stablehlo.reduce_precision %x, format = e8m8 : tensor<4xf32>
  check.expect_eq_const %0, dense<[0x00400000, 0x80200000, 0x00800000, 0x7FC00000]> : tensor<4xf32>
  %1 = stablehlo.reduce_precision %x, format = e7m8 : tensor<4xf32>
  check.expect_eq_const %1, dense<[0.0, -0.0, 0.0, 0x7FC00000]> : tensor<4xf32>
  return
}
