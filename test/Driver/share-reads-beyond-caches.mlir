// RUN: tenon compile %s --cpu=x86-64-v3 --no-libraries --compile-to=group -o - | FileCheck %s

// Each of two kernels that read %h moves less than half of the last cache, and
// the one that they become more. They run one behind the other, so they find no
// more of it there.

// CHECK: step.group elementwise({{.*}}) -> (tensor<2048x640xf32>, tensor<2048x640xf32>)
func.func @main(%x: tensor<2048x64xf32>, %w: tensor<64x640xf32>, %v: tensor<64x640xf32>, %dy: tensor<2048x64xf32>) -> (tensor<640x64xf32>, tensor<64x640xf32>) {
  %h = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<2048x64xf32>, tensor<64x640xf32>) -> tensor<2048x640xf32>
  %g = stablehlo.abs %h : tensor<2048x640xf32>
  %dg = stablehlo.dot_general %dy, %v, contracting_dims = [1] x [0] : (tensor<2048x64xf32>, tensor<64x640xf32>) -> tensor<2048x640xf32>
  %s = stablehlo.sign %h : tensor<2048x640xf32>
  %d = stablehlo.multiply %dg, %s : tensor<2048x640xf32>
  %dv = stablehlo.dot_general %g, %dy, contracting_dims = [0] x [0] : (tensor<2048x640xf32>, tensor<2048x64xf32>) -> tensor<640x64xf32>
  %dw = stablehlo.dot_general %x, %d, contracting_dims = [0] x [0] : (tensor<2048x64xf32>, tensor<2048x640xf32>) -> tensor<64x640xf32>
  return %dv, %dw : tensor<640x64xf32>, tensor<64x640xf32>
}
