// RUN: tenon-opt %s --precision-narrow-attention | FileCheck %s
// RUN: tenon-opt %s --precision-narrow-attention="policy={{\"operations\":{\"step.attention*\":\"f32\"}}}" | FileCheck %s --check-prefix=KEPT

// KEPT-NOT: rounds_weights

// CHECK-LABEL: func.func @forward
// CHECK-NOT: stablehlo.convert
// CHECK: step.attention %{{.*}} {causal, rounds_weights, scale = 5.000000e-01 : f32} : (tensor<64x32xbf16>, tensor<64x32xbf16>, tensor<64x32xbf16>) -> (tensor<64x32xf32>
func.func @forward(%q: tensor<64x32xbf16>, %k: tensor<64x32xbf16>, %v: tensor<64x32xbf16>) -> tensor<64x32xf32> {
  %0 = stablehlo.convert %q {step.cast} : (tensor<64x32xbf16>) -> tensor<64x32xf32>
  %1 = stablehlo.convert %k {step.cast} : (tensor<64x32xbf16>) -> tensor<64x32xf32>
  %o, %m, %s = step.attention %0 [q, d], %1 [k, d], %v [k, v] -> [q, v] {causal, scale = 0.5 : f32} : (tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x32xbf16>) -> (tensor<64x32xf32>, tensor<64xf32>, tensor<64xf32>)
  return %o : tensor<64x32xf32>
}

// All operands, or none.
// CHECK-LABEL: func.func @wide_values
// CHECK: step.attention %{{.*}} {scale = 5.000000e-01 : f32} : (tensor<64x32xf32>, tensor<64x32xbf16>, tensor<64x32xf32>)
func.func @wide_values(%q: tensor<64x32xbf16>, %k: tensor<64x32xbf16>, %v: tensor<64x32xf32>) -> tensor<64x32xf32> {
  %0 = stablehlo.convert %q {step.cast} : (tensor<64x32xbf16>) -> tensor<64x32xf32>
  %o, %m, %s = step.attention %0 [q, d], %k [k, d], %v [k, v] -> [q, v] {scale = 0.5 : f32} : (tensor<64x32xf32>, tensor<64x32xbf16>, tensor<64x32xf32>) -> (tensor<64x32xf32>, tensor<64xf32>, tensor<64xf32>)
  return %o : tensor<64x32xf32>
}

// Most of a tile would be empty.
// CHECK-LABEL: func.func @few_queries
// CHECK: step.attention %{{.*}} {scale = 5.000000e-01 : f32} : (tensor<4x32xf32>
func.func @few_queries(%q: tensor<4x32xbf16>, %k: tensor<64x32xbf16>, %v: tensor<64x32xbf16>) -> tensor<4x32xf32> {
  %0 = stablehlo.convert %q {step.cast} : (tensor<4x32xbf16>) -> tensor<4x32xf32>
  %o, %m, %s = step.attention %0 [q, d], %k [k, d], %v [k, v] -> [q, v] {scale = 0.5 : f32} : (tensor<4x32xf32>, tensor<64x32xbf16>, tensor<64x32xbf16>) -> (tensor<4x32xf32>, tensor<4xf32>, tensor<4xf32>)
  return %o : tensor<4x32xf32>
}

// CHECK-LABEL: func.func @gradient
// CHECK: step.attention_gradient %arg0 [q, d], %arg1 [k, d], %arg2 [k, v] of %arg3, %arg4, %arg5 [q, v]
// CHECK-SAME: rounds_slopes, rounds_weights, scale
func.func @gradient(%q: tensor<64x32xbf16>, %k: tensor<64x32xbf16>, %v: tensor<64x32xbf16>, %m: tensor<64xf32>, %s: tensor<64xf32>, %g: tensor<64x32xbf16>) -> tensor<64x32xf32> {
  %0 = stablehlo.convert %q {step.cast} : (tensor<64x32xbf16>) -> tensor<64x32xf32>
  %1 = stablehlo.convert %k {step.cast} : (tensor<64x32xbf16>) -> tensor<64x32xf32>
  %2 = stablehlo.convert %v {step.cast} : (tensor<64x32xbf16>) -> tensor<64x32xf32>
  %3 = stablehlo.convert %g {step.cast} : (tensor<64x32xbf16>) -> tensor<64x32xf32>
  %dq, %dk, %dv = step.attention_gradient %0 [q, d], %1 [k, d], %2 [k, v] of %m, %s, %3 [q, v] -> [q, d], [k, d], [k, v] {scale = 0.5 : f32} : (tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x32xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64x32xf32>) -> (tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x32xf32>)
  return %dq : tensor<64x32xf32>
}
