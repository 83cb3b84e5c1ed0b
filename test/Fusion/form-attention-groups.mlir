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

// Gradients of parts of one tensor are joined to one.
// CHECK-LABEL: func.func @joined
// CHECK: %[[GROUP:.*]] = step.group generic({{.*}}) : ({{.*}}) -> tensor<2x8x24xbf16>
// CHECK: %[[Q:.*]], %[[K:.*]], %[[V:.*]] = step.attention_gradient
// CHECK: %[[DQ:.*]] = stablehlo.reshape %[[Q]] : (tensor<2x8x1x8xbf16>) -> tensor<2x8x8xbf16>
// CHECK: %[[ALL:.*]] = stablehlo.concatenate %[[DQ]], {{.*}}, dim = 2
// CHECK: step.yield %[[ALL]] : tensor<2x8x24xbf16>
// CHECK: return %[[GROUP]]
func.func @joined(%x: tensor<2x8x1x8xf32>, %m: tensor<2x1x8xf32>, %g: tensor<2x8x1x8xf32>) -> tensor<2x8x24xbf16> {
  %dq, %dk, %dv = step.attention_gradient %x [0, q, 1, d], %x [0, k, 1, d], %x [0, k, 1, v] of %m, %m, %g [0, q, 1, v]
    -> [0, q, 1, d], [0, k, 1, d], [0, k, 1, v] {scale = 1.0 : f32}
    : (tensor<2x8x1x8xf32>, tensor<2x8x1x8xf32>, tensor<2x8x1x8xf32>, tensor<2x1x8xf32>, tensor<2x1x8xf32>, tensor<2x8x1x8xf32>)
      -> (tensor<2x8x1x8xf32>, tensor<2x8x1x8xf32>, tensor<2x8x1x8xf32>)
  %nq = stablehlo.convert %dq : (tensor<2x8x1x8xf32>) -> tensor<2x8x1x8xbf16>
  %nk = stablehlo.convert %dk : (tensor<2x8x1x8xf32>) -> tensor<2x8x1x8xbf16>
  %nv = stablehlo.convert %dv : (tensor<2x8x1x8xf32>) -> tensor<2x8x1x8xbf16>
  %rq = stablehlo.reshape %nq : (tensor<2x8x1x8xbf16>) -> tensor<2x8x8xbf16>
  %rk = stablehlo.reshape %nk : (tensor<2x8x1x8xbf16>) -> tensor<2x8x8xbf16>
  %rv = stablehlo.reshape %nv : (tensor<2x8x1x8xbf16>) -> tensor<2x8x8xbf16>
  %all = stablehlo.concatenate %rq, %rk, %rv, dim = 2 : (tensor<2x8x8xbf16>, tensor<2x8x8xbf16>, tensor<2x8x8xbf16>) -> tensor<2x8x24xbf16>
  return %all : tensor<2x8x24xbf16>
}

// One that is read elsewhere, too, or does not begin at a whole access, stays apart.
// CHECK-LABEL: func.func @apart
// CHECK: step.group generic({{.*}}) : ({{.*}}) -> (tensor<2x8x1x8xf32>, tensor<2x8x1x8xf32>, tensor<2x8x1x8xf32>)
// CHECK: stablehlo.concatenate
// CHECK: step.group generic({{.*}}) : ({{.*}}) -> (tensor<2x8x1x4xf32>, tensor<2x8x1x4xf32>, tensor<2x8x1x4xf32>)
// CHECK: stablehlo.concatenate
func.func @apart(%x: tensor<2x8x1x8xf32>, %m: tensor<2x1x8xf32>, %g: tensor<2x8x1x8xf32>, %y: tensor<2x8x1x4xf32>)
    -> (tensor<2x8x1x24xf32>, tensor<2x8x1x8xf32>, tensor<2x8x1x12xf32>) {
  %dq, %dk, %dv = step.attention_gradient %x [0, q, 1, d], %x [0, k, 1, d], %x [0, k, 1, v] of %m, %m, %g [0, q, 1, v]
    -> [0, q, 1, d], [0, k, 1, d], [0, k, 1, v] {scale = 1.0 : f32}
    : (tensor<2x8x1x8xf32>, tensor<2x8x1x8xf32>, tensor<2x8x1x8xf32>, tensor<2x1x8xf32>, tensor<2x1x8xf32>, tensor<2x8x1x8xf32>)
      -> (tensor<2x8x1x8xf32>, tensor<2x8x1x8xf32>, tensor<2x8x1x8xf32>)
  %all = stablehlo.concatenate %dq, %dk, %dv, dim = 3 : (tensor<2x8x1x8xf32>, tensor<2x8x1x8xf32>, tensor<2x8x1x8xf32>) -> tensor<2x8x1x24xf32>
  %eq, %ek, %ev = step.attention_gradient %y [0, q, 1, d], %y [0, k, 1, d], %y [0, k, 1, v] of %m, %m, %y [0, q, 1, v]
    -> [0, q, 1, d], [0, k, 1, d], [0, k, 1, v] {scale = 1.0 : f32}
    : (tensor<2x8x1x4xf32>, tensor<2x8x1x4xf32>, tensor<2x8x1x4xf32>, tensor<2x1x8xf32>, tensor<2x1x8xf32>, tensor<2x8x1x4xf32>)
      -> (tensor<2x8x1x4xf32>, tensor<2x8x1x4xf32>, tensor<2x8x1x4xf32>)
  %few = stablehlo.concatenate %eq, %ek, %ev, dim = 3 : (tensor<2x8x1x4xf32>, tensor<2x8x1x4xf32>, tensor<2x8x1x4xf32>) -> tensor<2x8x1x12xf32>
  return %all, %dk, %few : tensor<2x8x1x24xf32>, tensor<2x8x1x8xf32>, tensor<2x8x1x12xf32>
}
