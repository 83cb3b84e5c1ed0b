// Rows that are kept a cache line longer hold the same numbers, interpreted and
// compiled: all are small integers, so that sums are exact in any order.

// RUN: tenon-opt %s --fusion-choose-blocks --fusion-block-loops --fusion-lay-out-invariants -o %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: tenon run --reference %t.mlir
// RUN: tenon run %t.mlir
// RUN: tenon-opt %s --fusion-choose-blocks --fusion-block-loops=stagger=false | FileCheck %s --check-prefix=OFF

// The round puts together longer rows, whose beginning it multiplies; they are
// stacked as they are, and products behind the block read the beginning, too.
// A value that is only read in the round is shorter than the rows of its stack.

// CHECK: func.func @rounds
// CHECK: stablehlo.concatenate {{.*}}, dim = 1 : (tensor<16x1024xf32>, tensor<16x16xf32>) -> tensor<16x1040xf32>
// CHECK: %[[D:.*]] = stablehlo.concatenate {{.*}}, dim = 1 : (tensor<4x512xf32>, tensor<4x512xf32>, tensor<4x16xf32>) -> tensor<4x1040xf32>
// CHECK: %[[SHORT:.*]] = stablehlo.slice %[[D]] [0:4, 0:1024]
// CHECK: stablehlo.dot_general %[[SHORT]],
// CHECK: stablehlo.dot_general {{.*}} : (tensor<4x16xf32>, tensor<16x1024xf32>) -> tensor<4x1024xf32>
// CHECK: stablehlo.dynamic_update_slice {{.*}} : (tensor<4x4x1040xf32>, tensor<1x4x1040xf32>,
// CHECK: stablehlo.dynamic_update_slice {{.*}} : (tensor<4x4x1040xf32>, tensor<1x4x1024xf32>,
// CHECK: stablehlo.slice {{.*}} : (tensor<4x4x1040xf32>) -> tensor<4x4x1024xf32>
// OFF: func.func @rounds
// OFF-NOT: 1040
// OFF: func.func @whole

func.func @main() {
  %count = stablehlo.iota dim = 0 : tensor<16384xi32>
  %three = stablehlo.constant dense<3> : tensor<16384xi32>
  %rest = stablehlo.remainder %count, %three : tensor<16384xi32>
  %numbers = stablehlo.convert %rest : (tensor<16384xi32>) -> tensor<16384xf32>
  %x = stablehlo.reshape %numbers : (tensor<16384xf32>) -> tensor<8x4x512xf32>
  %some = stablehlo.slice %numbers [1:513] : (tensor<16384xf32>) -> tensor<512xf32>
  %y = stablehlo.reshape %some : (tensor<512xf32>) -> tensor<8x4x16xf32>
  %w = stablehlo.reshape %numbers : (tensor<16384xf32>) -> tensor<16x1024xf32>
  %0:4 = func.call @rounds(%x, %y, %w) : (tensor<8x4x512xf32>, tensor<8x4x16xf32>, tensor<16x1024xf32>) -> (tensor<16x1024xf32>, tensor<4x16xf32>, tensor<1024xf32>, tensor<16x1024xf32>)
  %1:4 = func.call @whole(%x, %y, %w) : (tensor<8x4x512xf32>, tensor<8x4x16xf32>, tensor<16x1024xf32>) -> (tensor<16x1024xf32>, tensor<4x16xf32>, tensor<1024xf32>, tensor<16x1024xf32>)
  check.expect_eq %0#0, %1#0 : tensor<16x1024xf32>
  check.expect_eq %0#1, %1#1 : tensor<4x16xf32>
  check.expect_eq %0#2, %1#2 : tensor<1024xf32>
  check.expect_eq %0#3, %1#3 : tensor<16x1024xf32>
  return
}

func.func @rounds(%x: tensor<8x4x512xf32>, %y: tensor<8x4x16xf32>, %w: tensor<16x1024xf32>) -> (tensor<16x1024xf32>, tensor<4x16xf32>, tensor<1024xf32>, tensor<16x1024xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %eight = stablehlo.constant dense<8> : tensor<i32>
  %f0 = stablehlo.constant dense<0.0> : tensor<f32>
  %a = stablehlo.constant dense<0.0> : tensor<16x1024xf32>
  %b = stablehlo.constant dense<0.0> : tensor<4x16xf32>
  %c = stablehlo.constant dense<0.0> : tensor<1024xf32>
  %0:5 = stablehlo.while(%i = %zero, %ps = %a, %hs = %b, %rs = %c, %qs = %a) : tensor<i32>, tensor<16x1024xf32>, tensor<4x16xf32>, tensor<1024xf32>, tensor<16x1024xf32>
  cond {
    %more = stablehlo.compare LT, %i, %eight, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %xs = stablehlo.dynamic_slice %x, %i, %zero, %zero, sizes = [1, 4, 512] : (tensor<8x4x512xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x4x512xf32>
    %xi = stablehlo.reshape %xs : (tensor<1x4x512xf32>) -> tensor<4x512xf32>
    %ys = stablehlo.dynamic_slice %y, %i, %zero, %zero, sizes = [1, 4, 16] : (tensor<8x4x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x4x16xf32>
    %yi = stablehlo.reshape %ys : (tensor<1x4x16xf32>) -> tensor<4x16xf32>
    %twice = stablehlo.add %xi, %xi : tensor<4x512xf32>
    %d = stablehlo.concatenate %xi, %twice, dim = 1 : (tensor<4x512xf32>, tensor<4x512xf32>) -> tensor<4x1024xf32>
    %p = stablehlo.dot_general %yi, %d, contracting_dims = [0] x [0] : (tensor<4x16xf32>, tensor<4x1024xf32>) -> tensor<16x1024xf32>
    %pn = stablehlo.add %ps, %p : tensor<16x1024xf32>
    %h = stablehlo.dot_general %d, %w, contracting_dims = [1] x [1] : (tensor<4x1024xf32>, tensor<16x1024xf32>) -> tensor<4x16xf32>
    %hn = stablehlo.add %hs, %h : tensor<4x16xf32>
    %r = stablehlo.reduce(%d init: %f0) applies stablehlo.add across dimensions = [0] : (tensor<4x1024xf32>, tensor<f32>) -> tensor<1024xf32>
    %rn = stablehlo.add %rs, %r : tensor<1024xf32>
    %g = stablehlo.dot_general %yi, %w, contracting_dims = [1] x [0] : (tensor<4x16xf32>, tensor<16x1024xf32>) -> tensor<4x1024xf32>
    %q = stablehlo.dot_general %yi, %g, contracting_dims = [0] x [0] : (tensor<4x16xf32>, tensor<4x1024xf32>) -> tensor<16x1024xf32>
    %qn = stablehlo.add %qs, %q : tensor<16x1024xf32>
    %n = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %n, %pn, %hn, %rn, %qn : tensor<i32>, tensor<16x1024xf32>, tensor<4x16xf32>, tensor<1024xf32>, tensor<16x1024xf32>
  }
  return %0#1, %0#2, %0#3, %0#4 : tensor<16x1024xf32>, tensor<4x16xf32>, tensor<1024xf32>, tensor<16x1024xf32>
}

func.func @whole(%x: tensor<8x4x512xf32>, %y: tensor<8x4x16xf32>, %w: tensor<16x1024xf32>) -> (tensor<16x1024xf32>, tensor<4x16xf32>, tensor<1024xf32>, tensor<16x1024xf32>) {
  %f0 = stablehlo.constant dense<0.0> : tensor<f32>
  %twice = stablehlo.add %x, %x : tensor<8x4x512xf32>
  %d = stablehlo.concatenate %x, %twice, dim = 2 : (tensor<8x4x512xf32>, tensor<8x4x512xf32>) -> tensor<8x4x1024xf32>
  %p = stablehlo.dot_general %y, %d, contracting_dims = [0, 1] x [0, 1] : (tensor<8x4x16xf32>, tensor<8x4x1024xf32>) -> tensor<16x1024xf32>
  %each = stablehlo.dot_general %d, %w, contracting_dims = [2] x [1] : (tensor<8x4x1024xf32>, tensor<16x1024xf32>) -> tensor<8x4x16xf32>
  %h = stablehlo.reduce(%each init: %f0) applies stablehlo.add across dimensions = [0] : (tensor<8x4x16xf32>, tensor<f32>) -> tensor<4x16xf32>
  %r = stablehlo.reduce(%d init: %f0) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x4x1024xf32>, tensor<f32>) -> tensor<1024xf32>
  %g = stablehlo.dot_general %y, %w, contracting_dims = [2] x [0] : (tensor<8x4x16xf32>, tensor<16x1024xf32>) -> tensor<8x4x1024xf32>
  %q = stablehlo.dot_general %y, %g, contracting_dims = [0, 1] x [0, 1] : (tensor<8x4x16xf32>, tensor<8x4x1024xf32>) -> tensor<16x1024xf32>
  return %p, %h, %r, %q : tensor<16x1024xf32>, tensor<4x16xf32>, tensor<1024xf32>, tensor<16x1024xf32>
}
