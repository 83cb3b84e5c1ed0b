// RUN: tenon-opt %s --fusion-form-attention-groups | FileCheck %s

// Slices, transposes, reshapes and what widens 16 bits become part of the group,
// what computes does not; a result that nobody reads is none of the group's,
// and one that is only read in 16 bits is stored so.
// CHECK-LABEL: func.func @main
// CHECK: %[[SUM:.*]] = stablehlo.add
// CHECK: %[[GROUP:.*]]:3 = step.group generic(%arg1, %arg2, %[[SUM]]) : (tensor<8x8xf32>, tensor<2x8x4xf32>, tensor<2x8x12xf32>) -> (tensor<2x8x4xf32>, tensor<2x8xf32>, tensor<2x8xf32>)
// CHECK: stablehlo.slice
// CHECK: stablehlo.transpose
// CHECK: step.attention
// CHECK: step.yield %output, %maximum, %sum
// CHECK: step.group generic(
// CHECK: stablehlo.convert {{.*}} : (tensor<2x8x4xbf16>) -> tensor<2x8x4xf32>
// CHECK: step.attention_gradient
// CHECK-SAME: -> (tensor<2x8x4xbf16>, tensor<2x8x4xf32>, tensor<2x8x4xf32>)
// CHECK: step.yield %query_gradient, %value_gradient : tensor<2x8x4xbf16>, tensor<2x8x4xf32>
func.func @main(%x: tensor<2x8x12xf32>, %b: tensor<8x8xf32>, %v: tensor<2x8x4xf32>, %narrow: tensor<2x8x4xbf16>)
    -> (tensor<2x8x4xf32>, tensor<2x8x4xbf16>, tensor<2x8x4xf32>) {
  %all = stablehlo.add %x, %x : tensor<2x8x12xf32>
  %q = stablehlo.slice %all [0:2, 0:8, 0:4] : (tensor<2x8x12xf32>) -> tensor<2x8x4xf32>
  %k0 = stablehlo.slice %all [0:2, 0:8, 4:8] : (tensor<2x8x12xf32>) -> tensor<2x8x4xf32>
  %k = stablehlo.transpose %k0, dims = [0, 2, 1] : (tensor<2x8x4xf32>) -> tensor<2x4x8xf32>
  %o, %max, %sum = step.attention %q [0, q, d], %k [0, d, k], %v [0, k, v] bias %b [q, k] -> [0, q, v] {scale = 1.0 : f32}
    : (tensor<2x8x4xf32>, tensor<2x4x8xf32>, tensor<2x8x4xf32>, tensor<8x8xf32>) -> (tensor<2x8x4xf32>, tensor<2x8xf32>, tensor<2x8xf32>)
  %g = stablehlo.convert %narrow : (tensor<2x8x4xbf16>) -> tensor<2x8x4xf32>
  %dq, %dk, %dv = step.attention_gradient %q [0, q, d], %k [0, d, k], %v [0, k, v] bias %b [q, k] of %max, %sum, %g [0, q, v]
    -> [0, q, d], [0, k, d], [0, k, v] {scale = 1.0 : f32}
    : (tensor<2x8x4xf32>, tensor<2x4x8xf32>, tensor<2x8x4xf32>, tensor<8x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8x4xf32>)
      -> (tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>)
  %dn = stablehlo.convert %dq : (tensor<2x8x4xf32>) -> tensor<2x8x4xbf16>
  return %o, %dn, %dv : tensor<2x8x4xf32>, tensor<2x8x4xbf16>, tensor<2x8x4xf32>
}
