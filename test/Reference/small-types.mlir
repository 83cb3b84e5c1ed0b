// RUN: tenon run %s --reference

// Types narrower than a byte and floating point of eight bits and less: every
// operation rounds, and what is too large becomes what the type has for it.

func.func @main() {
  %x = stablehlo.constant dense<[1, 7, -8]> : tensor<3xi4>
  %y = stablehlo.add %x, %x : tensor<3xi4>
  check.expect_eq_const %y, dense<[2, -2, 0]> : tensor<3xi4>
  %u = stablehlo.constant dense<[1, 3, 2]> : tensor<3xui2>
  %v = stablehlo.multiply %u, %u : tensor<3xui2>
  check.expect_eq_const %v, dense<[1, 1, 0]> : tensor<3xui2>

  %f = stablehlo.constant dense<[17.0, 400.0, 0.001, 1.0e6]> : tensor<4xf32>
  %e4m3 = stablehlo.convert %f : (tensor<4xf32>) -> tensor<4xf8E4M3FN>
  %e4m3_back = stablehlo.convert %e4m3 : (tensor<4xf8E4M3FN>) -> tensor<4xf32>
  check.expect_eq_const %e4m3_back, dense<[16.0, 384.0, 0.001953125, 0x7FC00000]> : tensor<4xf32>
  %e5m2 = stablehlo.convert %f : (tensor<4xf32>) -> tensor<4xf8E5M2>
  %e5m2_back = stablehlo.convert %e5m2 : (tensor<4xf8E5M2>) -> tensor<4xf32>
  check.expect_eq_const %e5m2_back, dense<[16.0, 384.0, 0.0009765625, 0x7F800000]> : tensor<4xf32>
  %e2m1 = stablehlo.convert %f : (tensor<4xf32>) -> tensor<4xf4E2M1FN>
  %e2m1_back = stablehlo.convert %e2m1 : (tensor<4xf4E2M1FN>) -> tensor<4xf32>
  check.expect_eq_const %e2m1_back, dense<[6.0, 6.0, 0.0, 6.0]> : tensor<4xf32>
  %sum = stablehlo.add %e5m2, %e5m2 : tensor<4xf8E5M2>
  %sum_back = stablehlo.convert %sum : (tensor<4xf8E5M2>) -> tensor<4xf32>
  check.expect_eq_const %sum_back, dense<[32.0, 768.0, 0.001953125, 0x7F800000]> : tensor<4xf32>
  return
}
