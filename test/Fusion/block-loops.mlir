// RUN: tenon-opt %s --split-input-file --fusion-block-loops | FileCheck %s

// Two blocks of four rounds: the inner loop keeps the factors, one product of
// four rounds follows, and the counter of the rounds goes on through all blocks.

// CHECK-LABEL: func.func @main
// CHECK: %[[OUTER:.*]]:4 = stablehlo.while(%[[J:.*]] = %{{.*}}, %[[SUM:.*]] = %{{.*}}, %[[XS:.*]] = %{{.*}}, %[[DS:.*]] = %{{.*}}) : tensor<i32>, tensor<16x16xf32>, tensor<4x4x16xf32>, tensor<4x4x16xf32>
// CHECK: %[[FIRST:.*]] = stablehlo.multiply %[[J]], %{{.*}} : tensor<i32>
// CHECK: %[[INNER:.*]]:3 = stablehlo.while(%[[I:.*]] = %{{.*}}, %{{.*}} = %[[XS]], %{{.*}} = %[[DS]])
// CHECK: %[[ROUND:.*]] = stablehlo.add %[[FIRST]], %[[I]]
// CHECK: stablehlo.dynamic_slice %arg0, %[[ROUND]]
// CHECK-NOT: dot_general
// CHECK: stablehlo.dynamic_update_slice %{{.*}}, %{{.*}}, %[[I]]
// CHECK: %[[P:.*]] = stablehlo.dot_general %[[INNER]]#1, %[[INNER]]#2, contracting_dims = [0, 1] x [0, 1]
// CHECK-NOT: step.block_rounds
// CHECK: %[[NEXT:.*]] = stablehlo.add %[[SUM]], %[[P]]
// CHECK: stablehlo.return %{{.*}}, %[[NEXT]], %[[INNER]]#1, %[[INNER]]#2
// CHECK: return %[[OUTER]]#1
func.func @main(%x: tensor<8x4x16xf32>, %d: tensor<8x4x16xf32>) -> tensor<16x16xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %eight = stablehlo.constant dense<8> : tensor<i32>
  %start = stablehlo.constant dense<0.0> : tensor<16x16xf32>
  %0:2 = stablehlo.while(%i = %zero, %sum = %start) : tensor<i32>, tensor<16x16xf32>
  cond {
    %more = stablehlo.compare LT, %i, %eight, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %xi = stablehlo.dynamic_slice %x, %i, %zero, %zero, sizes = [1, 4, 16] : (tensor<8x4x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x4x16xf32>
    %di = stablehlo.dynamic_slice %d, %i, %zero, %zero, sizes = [1, 4, 16] : (tensor<8x4x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x4x16xf32>
    %xr = stablehlo.reshape %xi : (tensor<1x4x16xf32>) -> tensor<4x16xf32>
    %dr = stablehlo.reshape %di : (tensor<1x4x16xf32>) -> tensor<4x16xf32>
    %p = stablehlo.dot_general %xr, %dr, contracting_dims = [0] x [0] {step.block_rounds = 4 : i64} : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<16x16xf32>
    %s = stablehlo.add %sum, %p : tensor<16x16xf32>
    %n = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %n, %s : tensor<i32>, tensor<16x16xf32>
  }
  return %0#1 : tensor<16x16xf32>
}
