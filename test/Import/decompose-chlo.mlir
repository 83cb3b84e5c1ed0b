// RUN: tenon-opt %s --import-decompose-chlo --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @kept
// CHECK: chlo.top_k
// CHECK: chlo.erf %
// CHECK: chlo.erfc %
// CHECK: chlo.erf_inv %
func.func @kept(%x: tensor<8xf32>) -> (tensor<2xf32>, tensor<2xi32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %0:2 = chlo.top_k(%x, k = 2) : tensor<8xf32> -> (tensor<2xf32>, tensor<2xi32>)
  %1 = chlo.erf %x : tensor<8xf32> -> tensor<8xf32>
  %2 = chlo.erfc %x : tensor<8xf32> -> tensor<8xf32>
  %3 = chlo.erf_inv %x : tensor<8xf32> -> tensor<8xf32>
  return %0#0, %0#1, %1, %2, %3 : tensor<2xf32>, tensor<2xi32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// -----

// CHECK-LABEL: func.func @square
// CHECK-SAME: (%[[X:.*]]: tensor<8xf32>, %[[Z:.*]]: tensor<8xcomplex<f32>>)
// CHECK: stablehlo.multiply %[[X]], %[[X]] : tensor<8xf32>
// CHECK: %[[RE:.*]] = stablehlo.real %[[Z]]
// CHECK: %[[IM:.*]] = stablehlo.imag %[[Z]]
// CHECK: stablehlo.complex
func.func @square(%x: tensor<8xf32>, %z: tensor<8xcomplex<f32>>) -> (tensor<8xf32>, tensor<8xcomplex<f32>>) {
  %0 = chlo.square %x : tensor<8xf32> -> tensor<8xf32>
  %1 = chlo.square %z : tensor<8xcomplex<f32>> -> tensor<8xcomplex<f32>>
  return %0, %1 : tensor<8xf32>, tensor<8xcomplex<f32>>
}

// -----

// 16-bit floats are computed in f32 and rounded once.

// CHECK-LABEL: func.func @widened
// CHECK-SAME: (%[[X:.*]]: tensor<8xbf16>)
// CHECK: %[[W:.*]] = stablehlo.convert %[[X]] : (tensor<8xbf16>) -> tensor<8xf32>
// CHECK: stablehlo.atan2 %[[W]]
// CHECK: stablehlo.convert %{{.*}} : (tensor<8xf32>) -> tensor<8xbf16>
// CHECK-NOT: chlo.
func.func @widened(%x: tensor<8xbf16>) -> tensor<8xbf16> {
  %0 = chlo.asin %x : tensor<8xbf16> -> tensor<8xbf16>
  return %0 : tensor<8xbf16>
}

// -----

// An expansion that holds operations of the dialect is expanded further.

// CHECK-LABEL: func.func @broadcast
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32>, %[[Y:.*]]: tensor<8xf32>, %[[P:.*]]: tensor<4xi1>)
// CHECK: %[[B:.*]] = stablehlo.broadcast_in_dim %[[Y]], dims = [1] : (tensor<8xf32>) -> tensor<4x8xf32>
// CHECK: stablehlo.add %[[X]], %[[B]]
// CHECK: %[[C:.*]] = stablehlo.broadcast_in_dim %[[Y]], dims = [1]
// CHECK: stablehlo.compare LT, %[[X]], %[[C]]
// CHECK-NOT: chlo.
func.func @broadcast(%x: tensor<4x8xf32>, %y: tensor<8xf32>, %p: tensor<4xi1>) -> (tensor<4x8xf32>, tensor<4x8xi1>, tensor<4x8xf32>) {
  %0 = chlo.broadcast_add %x, %y : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %1 = "chlo.broadcast_compare"(%x, %y) <{comparison_direction = #chlo<comparison_direction LT>}> : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xi1>
  %2 = chlo.broadcast_next_after %x, %y : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  return %0, %1, %2 : tensor<4x8xf32>, tensor<4x8xi1>, tensor<4x8xf32>
}

// -----

// Every function of one operand has an expansion.

// CHECK-LABEL: func.func @functions
// CHECK-NOT: chlo.
func.func @functions(%x: tensor<8xf32>, %n: tensor<8xi64>, %m: tensor<8xui8>) -> (tensor<8xf32>, tensor<8xi1>, tensor<8xi64>, tensor<8xui8>) {
  %0 = chlo.acos %x : tensor<8xf32> -> tensor<8xf32>
  %1 = chlo.acosh %0 : tensor<8xf32> -> tensor<8xf32>
  %2 = chlo.asinh %1 : tensor<8xf32> -> tensor<8xf32>
  %3 = chlo.atan %2 : tensor<8xf32> -> tensor<8xf32>
  %4 = chlo.atanh %3 : tensor<8xf32> -> tensor<8xf32>
  %5 = chlo.cosh %4 : tensor<8xf32> -> tensor<8xf32>
  %6 = chlo.sinh %5 : tensor<8xf32> -> tensor<8xf32>
  %7 = chlo.tan %6 : tensor<8xf32> -> tensor<8xf32>
  %8 = chlo.lgamma %7 : tensor<8xf32> -> tensor<8xf32>
  %9 = chlo.digamma %8 : tensor<8xf32> -> tensor<8xf32>
  %10 = chlo.zeta %9, %8 : tensor<8xf32>, tensor<8xf32> -> tensor<8xf32>
  %11 = chlo.polygamma %10, %9 : tensor<8xf32>, tensor<8xf32> -> tensor<8xf32>
  %12 = chlo.bessel_i1e %11 : tensor<8xf32> -> tensor<8xf32>
  %13 = chlo.conj %12 : tensor<8xf32> -> tensor<8xf32>
  %14 = chlo.is_inf %13 : tensor<8xf32> -> tensor<8xi1>
  %15 = chlo.mulhi %n, %n : tensor<8xi64>, tensor<8xi64> -> tensor<8xi64>
  %16 = chlo.mulhi %m, %m : tensor<8xui8>, tensor<8xui8> -> tensor<8xui8>
  return %13, %14, %15, %16 : tensor<8xf32>, tensor<8xi1>, tensor<8xi64>, tensor<8xui8>
}
