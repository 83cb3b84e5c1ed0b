// Loops over blocks compute what loops over rounds do, interpreted and compiled:
// all numbers are small integers, so that sums are exact in any order.

// RUN: tenon-opt %s --fusion-choose-blocks --fusion-block-loops -o %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: tenon run --reference %t.mlir
// RUN: tenon run %t.mlir

// CHECK: func.func @blocked
// CHECK: stablehlo.dot_general {{.*}} contracting_dims = [0, 1] x [0, 1] : (tensor<4x2x16xf32>, tensor<4x2x8xf32>) -> tensor<16x8xf32>
// CHECK: func.func @kept
// CHECK: stablehlo.dot_general {{.*}} contracting_dims = [0] x [0] : (tensor<2x16xf32>, tensor<2x8xf32>) -> tensor<16x8xf32>
// CHECK-NOT: step.block_rounds

func.func @main() {
  %count = stablehlo.iota dim = 0 : tensor<256xi32>
  %seven = stablehlo.constant dense<7> : tensor<256xi32>
  %rest = stablehlo.remainder %count, %seven : tensor<256xi32>
  %numbers = stablehlo.convert %rest : (tensor<256xi32>) -> tensor<256xf32>
  %x = stablehlo.reshape %numbers : (tensor<256xf32>) -> tensor<16x2x8xf32>
  %0:6 = func.call @blocked(%x) : (tensor<16x2x8xf32>) -> (tensor<8x8xf32>, tensor<i64>, tensor<8x8xf32>, tensor<16xf32>, tensor<2x8xf32>, tensor<16x2x16xf32>)
  %1:6 = func.call @kept(%x) : (tensor<16x2x8xf32>) -> (tensor<8x8xf32>, tensor<i64>, tensor<8x8xf32>, tensor<16xf32>, tensor<2x8xf32>, tensor<16x2x16xf32>)
  check.expect_eq %0#0, %1#0 : tensor<8x8xf32>
  check.expect_eq %0#1, %1#1 : tensor<i64>
  check.expect_eq %0#2, %1#2 : tensor<8x8xf32>
  check.expect_eq %0#3, %1#3 : tensor<16xf32>
  check.expect_eq %0#4, %1#4 : tensor<2x8xf32>
  check.expect_eq %0#5, %1#5 : tensor<16x2x16xf32>
  return
}

func.func @blocked(%x: tensor<16x2x8xf32>) -> (tensor<8x8xf32>, tensor<i64>, tensor<8x8xf32>, tensor<16xf32>, tensor<2x8xf32>, tensor<16x2x16xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %fifteen = stablehlo.constant dense<15> : tensor<i64>
  %sixteen = stablehlo.constant dense<16> : tensor<i64>
  %f0 = stablehlo.constant dense<0.0> : tensor<f32>
  %a = stablehlo.constant dense<1.0> : tensor<8x8xf32>
  %c = stablehlo.constant dense<2.0> : tensor<8x8xf32>
  %e = stablehlo.constant dense<3.0> : tensor<16xf32>
  %v = stablehlo.constant dense<4.0> : tensor<2x8xf32>
  %start = stablehlo.constant dense<0.0> : tensor<16x2x16xf32>
  %0:6 = stablehlo.while(%lo = %a, %i = %zero, %hi = %c, %bias = %e, %h = %v, %stack = %start) : tensor<8x8xf32>, tensor<i64>, tensor<8x8xf32>, tensor<16xf32>, tensor<2x8xf32>, tensor<16x2x16xf32>
  cond {
    %more = stablehlo.compare LT, %i, %sixteen, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %down = stablehlo.subtract %fifteen, %i : tensor<i64>
    %slice = stablehlo.dynamic_slice %x, %down, %zero, %zero, sizes = [1, 2, 8] : (tensor<16x2x8xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<1x2x8xf32>
    %xi = stablehlo.reshape %slice : (tensor<1x2x8xf32>) -> tensor<2x8xf32>
    %n = stablehlo.add %i, %one : tensor<i64>
    %f = stablehlo.convert %i : (tensor<i64>) -> tensor<f32>
    %wide = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> tensor<2x8xf32>
    %g = stablehlo.subtract %xi, %wide : tensor<2x8xf32>
    %d = stablehlo.concatenate %g, %h, dim = 1 : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x16xf32>
    %p = stablehlo.dot_general %d, %xi, contracting_dims = [0] x [0] : (tensor<2x16xf32>, tensor<2x8xf32>) -> tensor<16x8xf32>
    %t = stablehlo.transpose %p, dims = [1, 0] : (tensor<16x8xf32>) -> tensor<8x16xf32>
    %tl = stablehlo.slice %t [0:8, 0:8] : (tensor<8x16xf32>) -> tensor<8x8xf32>
    %th = stablehlo.slice %t [0:8, 8:16] : (tensor<8x16xf32>) -> tensor<8x8xf32>
    %lo1 = stablehlo.add %lo, %tl : tensor<8x8xf32>
    %hi1 = stablehlo.add %th, %hi : tensor<8x8xf32>
    %r = stablehlo.reduce(%d init: %f0) applies stablehlo.add across dimensions = [0] : (tensor<2x16xf32>, tensor<f32>) -> tensor<16xf32>
    %bias1 = stablehlo.add %bias, %r : tensor<16xf32>
    %d1 = stablehlo.reshape %d : (tensor<2x16xf32>) -> tensor<1x2x16xf32>
    %stack1 = stablehlo.dynamic_update_slice %stack, %d1, %down, %zero, %zero : (tensor<16x2x16xf32>, tensor<1x2x16xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<16x2x16xf32>
    stablehlo.return %lo1, %n, %hi1, %bias1, %g, %stack1 : tensor<8x8xf32>, tensor<i64>, tensor<8x8xf32>, tensor<16xf32>, tensor<2x8xf32>, tensor<16x2x16xf32>
  }
  return %0#0, %0#1, %0#2, %0#3, %0#4, %0#5 : tensor<8x8xf32>, tensor<i64>, tensor<8x8xf32>, tensor<16xf32>, tensor<2x8xf32>, tensor<16x2x16xf32>
}

func.func @kept(%x: tensor<16x2x8xf32>) -> (tensor<8x8xf32>, tensor<i64>, tensor<8x8xf32>, tensor<16xf32>, tensor<2x8xf32>, tensor<16x2x16xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %fifteen = stablehlo.constant dense<15> : tensor<i64>
  %sixteen = stablehlo.constant dense<16> : tensor<i64>
  %f0 = stablehlo.constant dense<0.0> : tensor<f32>
  %a = stablehlo.constant dense<1.0> : tensor<8x8xf32>
  %c = stablehlo.constant dense<2.0> : tensor<8x8xf32>
  %e = stablehlo.constant dense<3.0> : tensor<16xf32>
  %v = stablehlo.constant dense<4.0> : tensor<2x8xf32>
  %start = stablehlo.constant dense<0.0> : tensor<16x2x16xf32>
  %0:6 = stablehlo.while(%lo = %a, %i = %zero, %hi = %c, %bias = %e, %h = %v, %stack = %start) : tensor<8x8xf32>, tensor<i64>, tensor<8x8xf32>, tensor<16xf32>, tensor<2x8xf32>, tensor<16x2x16xf32>
  cond {
    // How often it runs is not evident.
    %more = stablehlo.compare NE, %i, %sixteen, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %down = stablehlo.subtract %fifteen, %i : tensor<i64>
    %slice = stablehlo.dynamic_slice %x, %down, %zero, %zero, sizes = [1, 2, 8] : (tensor<16x2x8xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<1x2x8xf32>
    %xi = stablehlo.reshape %slice : (tensor<1x2x8xf32>) -> tensor<2x8xf32>
    %n = stablehlo.add %i, %one : tensor<i64>
    %f = stablehlo.convert %i : (tensor<i64>) -> tensor<f32>
    %wide = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> tensor<2x8xf32>
    %g = stablehlo.subtract %xi, %wide : tensor<2x8xf32>
    %d = stablehlo.concatenate %g, %h, dim = 1 : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x16xf32>
    %p = stablehlo.dot_general %d, %xi, contracting_dims = [0] x [0] : (tensor<2x16xf32>, tensor<2x8xf32>) -> tensor<16x8xf32>
    %t = stablehlo.transpose %p, dims = [1, 0] : (tensor<16x8xf32>) -> tensor<8x16xf32>
    %tl = stablehlo.slice %t [0:8, 0:8] : (tensor<8x16xf32>) -> tensor<8x8xf32>
    %th = stablehlo.slice %t [0:8, 8:16] : (tensor<8x16xf32>) -> tensor<8x8xf32>
    %lo1 = stablehlo.add %lo, %tl : tensor<8x8xf32>
    %hi1 = stablehlo.add %th, %hi : tensor<8x8xf32>
    %r = stablehlo.reduce(%d init: %f0) applies stablehlo.add across dimensions = [0] : (tensor<2x16xf32>, tensor<f32>) -> tensor<16xf32>
    %bias1 = stablehlo.add %bias, %r : tensor<16xf32>
    %d1 = stablehlo.reshape %d : (tensor<2x16xf32>) -> tensor<1x2x16xf32>
    %stack1 = stablehlo.dynamic_update_slice %stack, %d1, %down, %zero, %zero : (tensor<16x2x16xf32>, tensor<1x2x16xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<16x2x16xf32>
    stablehlo.return %lo1, %n, %hi1, %bias1, %g, %stack1 : tensor<8x8xf32>, tensor<i64>, tensor<8x8xf32>, tensor<16xf32>, tensor<2x8xf32>, tensor<16x2x16xf32>
  }
  return %0#0, %0#1, %0#2, %0#3, %0#4, %0#5 : tensor<8x8xf32>, tensor<i64>, tensor<8x8xf32>, tensor<16xf32>, tensor<2x8xf32>, tensor<16x2x16xf32>
}
