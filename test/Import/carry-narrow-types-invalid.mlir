// RUN: not tenon-opt %s --import-carry-narrow-types 2>&1 | FileCheck %s

// Everything without code is named.

// CHECK: error: 'chlo.next_after' has no code for elements of type 'f8E5M2'
// CHECK: error: 'chlo.mulhi' has no code for elements of type 'i4'
func.func @main(%x: tensor<4xf8E5M2>, %n: tensor<4xi4>) -> (tensor<4xf8E5M2>, tensor<4xi4>) {
  %0 = chlo.next_after %x, %x : tensor<4xf8E5M2>, tensor<4xf8E5M2> -> tensor<4xf8E5M2>
  %1 = chlo.mulhi %n, %n : tensor<4xi4>, tensor<4xi4> -> tensor<4xi4>
  return %0, %1 : tensor<4xf8E5M2>, tensor<4xi4>
}
