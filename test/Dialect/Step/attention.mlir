// RUN: tenon-opt %s | tenon-opt | FileCheck %s

// CHECK-LABEL: @plain
// CHECK: %output, %maximum, %sum = step.attention %arg0 [0, q, 1, d], %arg1 [0, k, 1, d], %arg2 [0, k, 1, v] -> [0, 1, q, v] {causal, scale = 1.250000e-01 : f32}
func.func @plain(%q: tensor<2x8x3x4xf32>, %k: tensor<2x6x3x4xf32>, %v: tensor<2x6x3x5xf32>) -> tensor<2x3x8x5xf32> {
  %o, %max, %sum = step.attention %q [0, q, 1, d], %k [0, k, 1, d], %v [0, k, 1, v] -> [0, 1, q, v] {causal, scale = 0.125 : f32}
    : (tensor<2x8x3x4xf32>, tensor<2x6x3x4xf32>, tensor<2x6x3x5xf32>) -> (tensor<2x3x8x5xf32>, tensor<2x3x8xf32>, tensor<2x3x8xf32>)
  return %o : tensor<2x3x8x5xf32>
}

// Keys that queries share, and all that may stand beside the scores.
// CHECK-LABEL: @beside
// CHECK: step.attention %arg0 [q, 0, d], %arg1 [d, k], %arg2 [k, v] bias %arg3 [q, k] mask %arg4 [k] factor %arg5 [0, k] -> [q, 0, v] {fill = 0xFF800000 : f32, rounds_weights, scale = 1.000000e+00 : f32}
// CHECK: step.attention_gradient %arg0 [q, 0, d], %arg1 [d, k], %arg2 [k, v] bias %arg3 [q, k] mask %arg4 [k] factor %arg5 [0, k] of %maximum, %sum, %arg6 [0, q, v] -> [q, 0, d], [k, d], [v, k] {fill = 0xFF800000 : f32, rounds_slopes, rounds_weight_gradients, rounds_weights, scale = 1.000000e+00 : f32}
func.func @beside(%q: tensor<8x3x4xbf16>, %k: tensor<4x6xbf16>, %v: tensor<6x5xbf16>, %b: tensor<8x6xf32>, %m: tensor<6xi1>,
                  %f: tensor<3x6xf32>, %g: tensor<3x8x5xbf16>) -> (tensor<8x3x4xf32>, tensor<6x4xbf16>, tensor<5x6xbf16>) {
  %o, %max, %sum = step.attention %q [q, 0, d], %k [d, k], %v [k, v] bias %b [q, k] mask %m [k] factor %f [0, k] -> [q, 0, v]
    {fill = 0xFF800000 : f32, rounds_weights, scale = 1.0 : f32}
    : (tensor<8x3x4xbf16>, tensor<4x6xbf16>, tensor<6x5xbf16>, tensor<8x6xf32>, tensor<6xi1>, tensor<3x6xf32>) -> (tensor<8x3x5xbf16>, tensor<3x8xf32>, tensor<3x8xf32>)
  %dq, %dk, %dv = step.attention_gradient %q [q, 0, d], %k [d, k], %v [k, v] bias %b [q, k] mask %m [k] factor %f [0, k]
    of %max, %sum, %g [0, q, v] -> [q, 0, d], [k, d], [v, k] {fill = 0xFF800000 : f32, rounds_slopes, rounds_weight_gradients, rounds_weights, scale = 1.0 : f32}
    : (tensor<8x3x4xbf16>, tensor<4x6xbf16>, tensor<6x5xbf16>, tensor<8x6xf32>, tensor<6xi1>, tensor<3x6xf32>,
       tensor<3x8xf32>, tensor<3x8xf32>, tensor<3x8x5xbf16>) -> (tensor<8x3x4xf32>, tensor<6x4xbf16>, tensor<5x6xbf16>)
  return %dq, %dk, %dv : tensor<8x3x4xf32>, tensor<6x4xbf16>, tensor<5x6xbf16>
}
