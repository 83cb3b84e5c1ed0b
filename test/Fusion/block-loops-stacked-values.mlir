// Products that a loop only stacks are the same whether a block of rounds makes
// them at once or each round makes its own, upwards and downwards, interpreted
// and compiled: all numbers are small integers, so that sums are exact.

// RUN: tenon-opt %s --fusion-choose-blocks --fusion-block-loops -o %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: tenon run --reference %t.mlir
// RUN: tenon run %t.mlir

// CHECK: func.func @downwards
// CHECK: %[[ROWS:.*]] = stablehlo.dot_general {{.*}} contracting_dims = [2] x [1] : (tensor<4x2x8xf32>, tensor<6x8xf32>) -> tensor<4x2x6xf32>
// CHECK: %[[BACK:.*]] = stablehlo.reverse %[[ROWS]], dims = [0]
// CHECK: stablehlo.dynamic_update_slice %{{.*}}, %[[BACK]],
// CHECK: func.func @upwards
// CHECK: %[[UP:.*]] = stablehlo.dot_general {{.*}} contracting_dims = [2] x [1] : (tensor<4x2x8xf32>, tensor<6x8xf32>) -> tensor<4x2x6xf32>
// CHECK: stablehlo.dynamic_update_slice %{{.*}}, %[[UP]],
// CHECK-NOT: step.block_rounds

func.func @main() {
  %count = stablehlo.iota dim = 0 : tensor<256xi32>
  %seven = stablehlo.constant dense<7> : tensor<256xi32>
  %rest = stablehlo.remainder %count, %seven : tensor<256xi32>
  %numbers = stablehlo.convert %rest : (tensor<256xi32>) -> tensor<256xf32>
  %x = stablehlo.reshape %numbers : (tensor<256xf32>) -> tensor<16x2x8xf32>
  %few = stablehlo.slice %numbers [3:51] : (tensor<256xf32>) -> tensor<48xf32>
  %v = stablehlo.reshape %few : (tensor<48xf32>) -> tensor<6x8xf32>
  %round = stablehlo.iota dim = 0 : tensor<16x2x8xf32>
  %fifteen = stablehlo.constant dense<15.0> : tensor<16x2x8xf32>
  %other = stablehlo.subtract %fifteen, %round : tensor<16x2x8xf32>

  %0:2 = func.call @downwards(%x, %v) : (tensor<16x2x8xf32>, tensor<6x8xf32>) -> (tensor<16x2x6xf32>, tensor<8x8xf32>)
  %down = stablehlo.subtract %x, %other : tensor<16x2x8xf32>
  %down_all = stablehlo.dot_general %down, %v, contracting_dims = [2] x [1] : (tensor<16x2x8xf32>, tensor<6x8xf32>) -> tensor<16x2x6xf32>
  %down_sum = stablehlo.dot_general %down, %x, contracting_dims = [0, 1] x [0, 1] : (tensor<16x2x8xf32>, tensor<16x2x8xf32>) -> tensor<8x8xf32>
  check.expect_eq %0#0, %down_all : tensor<16x2x6xf32>
  check.expect_eq %0#1, %down_sum : tensor<8x8xf32>

  %1:2 = func.call @upwards(%x, %v) : (tensor<16x2x8xf32>, tensor<6x8xf32>) -> (tensor<16x2x6xf32>, tensor<8x8xf32>)
  %up = stablehlo.subtract %x, %round : tensor<16x2x8xf32>
  %up_all = stablehlo.dot_general %up, %v, contracting_dims = [2] x [1] : (tensor<16x2x8xf32>, tensor<6x8xf32>) -> tensor<16x2x6xf32>
  check.expect_eq %1#0, %up_all : tensor<16x2x6xf32>
  return
}

func.func @downwards(%x: tensor<16x2x8xf32>, %v: tensor<6x8xf32>) -> (tensor<16x2x6xf32>, tensor<8x8xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %fifteen = stablehlo.constant dense<15> : tensor<i64>
  %sixteen = stablehlo.constant dense<16> : tensor<i64>
  %start = stablehlo.constant dense<0.0> : tensor<16x2x6xf32>
  %none = stablehlo.constant dense<0.0> : tensor<8x8xf32>
  %0:3 = stablehlo.while(%i = %zero, %stack = %start, %sum = %none) : tensor<i64>, tensor<16x2x6xf32>, tensor<8x8xf32>
  cond {
    %more = stablehlo.compare LT, %i, %sixteen, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %at = stablehlo.subtract %fifteen, %i : tensor<i64>
    %slice = stablehlo.dynamic_slice %x, %at, %zero, %zero, sizes = [1, 2, 8] : (tensor<16x2x8xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<1x2x8xf32>
    %xi = stablehlo.reshape %slice : (tensor<1x2x8xf32>) -> tensor<2x8xf32>
    %f = stablehlo.convert %i : (tensor<i64>) -> tensor<f32>
    %wide = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> tensor<2x8xf32>
    %d = stablehlo.subtract %xi, %wide : tensor<2x8xf32>
    %p = stablehlo.dot_general %d, %xi, contracting_dims = [0] x [0] : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<8x8xf32>
    %s = stablehlo.add %sum, %p : tensor<8x8xf32>
    %q = stablehlo.dot_general %d, %v, contracting_dims = [1] x [1] : (tensor<2x8xf32>, tensor<6x8xf32>) -> tensor<2x6xf32>
    %qs = stablehlo.reshape %q : (tensor<2x6xf32>) -> tensor<1x2x6xf32>
    %next = stablehlo.dynamic_update_slice %stack, %qs, %at, %zero, %zero : (tensor<16x2x6xf32>, tensor<1x2x6xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<16x2x6xf32>
    %n = stablehlo.add %i, %one : tensor<i64>
    stablehlo.return %n, %next, %s : tensor<i64>, tensor<16x2x6xf32>, tensor<8x8xf32>
  }
  return %0#1, %0#2 : tensor<16x2x6xf32>, tensor<8x8xf32>
}

func.func @upwards(%x: tensor<16x2x8xf32>, %v: tensor<6x8xf32>) -> (tensor<16x2x6xf32>, tensor<8x8xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %sixteen = stablehlo.constant dense<16> : tensor<i64>
  %start = stablehlo.constant dense<0.0> : tensor<16x2x6xf32>
  %none = stablehlo.constant dense<0.0> : tensor<8x8xf32>
  %0:3 = stablehlo.while(%i = %zero, %stack = %start, %sum = %none) : tensor<i64>, tensor<16x2x6xf32>, tensor<8x8xf32>
  cond {
    %more = stablehlo.compare LT, %i, %sixteen, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %slice = stablehlo.dynamic_slice %x, %i, %zero, %zero, sizes = [1, 2, 8] : (tensor<16x2x8xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<1x2x8xf32>
    %xi = stablehlo.reshape %slice : (tensor<1x2x8xf32>) -> tensor<2x8xf32>
    %f = stablehlo.convert %i : (tensor<i64>) -> tensor<f32>
    %wide = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> tensor<2x8xf32>
    %d = stablehlo.subtract %xi, %wide : tensor<2x8xf32>
    %p = stablehlo.dot_general %d, %xi, contracting_dims = [0] x [0] : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<8x8xf32>
    %s = stablehlo.add %sum, %p : tensor<8x8xf32>
    %q = stablehlo.dot_general %d, %v, contracting_dims = [1] x [1] : (tensor<2x8xf32>, tensor<6x8xf32>) -> tensor<2x6xf32>
    %qs = stablehlo.reshape %q : (tensor<2x6xf32>) -> tensor<1x2x6xf32>
    %next = stablehlo.dynamic_update_slice %stack, %qs, %i, %zero, %zero : (tensor<16x2x6xf32>, tensor<1x2x6xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<16x2x6xf32>
    %n = stablehlo.add %i, %one : tensor<i64>
    stablehlo.return %n, %next, %s : tensor<i64>, tensor<16x2x6xf32>, tensor<8x8xf32>
  }
  return %0#1, %0#2 : tensor<16x2x6xf32>, tensor<8x8xf32>
}
