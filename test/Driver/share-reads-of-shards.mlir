// RUN: tenon compile %s --cpu=x86-64-v3 --logical-shards=8 --remarks=fusion-share-reads --compile-to=group -o %t 2>&1 | FileCheck %s

// Two kernels read a product, and become one: in the step without shards, which
// is predicted beside the other, and for six of eight shards, in whose program
// eight times as many groups may stand between them. Six groups would be too
// near for all of them.

// CHECK-COUNT-7: two kernels read the same
func.func @main(%x: tensor<2048x64xf32>, %w: tensor<64x640xf32>, %v: tensor<64x640xf32>, %u: tensor<64x64xf32>, %dy: tensor<2048x64xf32>) -> (tensor<640x64xf32>, tensor<64x640xf32>) {
  %h = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<2048x64xf32>, tensor<64x640xf32>) -> tensor<2048x640xf32>
  %g = stablehlo.abs %h : tensor<2048x640xf32>
  %p = stablehlo.dot_general %dy, %u, contracting_dims = [1] x [0] : (tensor<2048x64xf32>, tensor<64x64xf32>) -> tensor<2048x64xf32>
  %dg = stablehlo.dot_general %p, %v, contracting_dims = [1] x [0] : (tensor<2048x64xf32>, tensor<64x640xf32>) -> tensor<2048x640xf32>
  %s = stablehlo.sign %h : tensor<2048x640xf32>
  %d = stablehlo.multiply %dg, %s : tensor<2048x640xf32>
  %dv = stablehlo.dot_general %g, %dy, contracting_dims = [0] x [0] : (tensor<2048x640xf32>, tensor<2048x64xf32>) -> tensor<640x64xf32>
  %dw = stablehlo.dot_general %x, %d, contracting_dims = [0] x [0] : (tensor<2048x64xf32>, tensor<2048x640xf32>) -> tensor<64x640xf32>
  return %dv, %dw : tensor<640x64xf32>, tensor<64x640xf32>
}
