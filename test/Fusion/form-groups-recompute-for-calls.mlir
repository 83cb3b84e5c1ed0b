// RUN: tenon-opt %s --split-input-file --fusion-form-library-groups=cpu=x86-64-v3 --fusion-form-groups --verify-grouped-form | FileCheck %s

// A value is read by a product before the peak, which is a sort, and by one
// behind it. A product computes nothing again itself, so another kernel would
// have to do it. Here that takes about as long as the products, so the value is
// kept.

// CHECK-LABEL: func.func @small_products
// CHECK: stablehlo.multiply
// CHECK-NOT: stablehlo.multiply
func.func @small_products(%a: tensor<4096x4096xf32>, %b: tensor<4096x4096xf32>, %w: tensor<4096x16xf32>) -> (tensor<4096x16xf32>, tensor<4096x16xf32>) {
  %t = stablehlo.multiply %a, %b : tensor<4096x4096xf32>
  %first = stablehlo.dot_general %t, %w, contracting_dims = [1] x [0] : (tensor<4096x4096xf32>, tensor<4096x16xf32>) -> tensor<4096x16xf32>
  %sorted = "stablehlo.sort"(%first) <{dimension = 0 : i64, is_stable = false}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %less = stablehlo.compare LT, %x, %y, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  }) : (tensor<4096x16xf32>) -> tensor<4096x16xf32>
  %second = stablehlo.dot_general %t, %sorted, contracting_dims = [1] x [0] : (tensor<4096x4096xf32>, tensor<4096x16xf32>) -> tensor<4096x16xf32>
  return %first, %second : tensor<4096x16xf32>, tensor<4096x16xf32>
}

// -----

// Beside products as large as these it is next to nothing.

// CHECK-LABEL: func.func @large_products
// CHECK-COUNT-2: stablehlo.multiply
func.func @large_products(%a: tensor<4096x4096xf32>, %b: tensor<4096x4096xf32>, %w: tensor<4096x4096xf32>) -> (tensor<4096x4096xf32>, tensor<4096x4096xf32>) {
  %t = stablehlo.multiply %a, %b : tensor<4096x4096xf32>
  %first = stablehlo.dot_general %t, %w, contracting_dims = [1] x [0] : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %sorted = "stablehlo.sort"(%first) <{dimension = 0 : i64, is_stable = false}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %less = stablehlo.compare LT, %x, %y, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  }) : (tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %second = stablehlo.dot_general %t, %sorted, contracting_dims = [1] x [0] : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  return %first, %second : tensor<4096x4096xf32>, tensor<4096x4096xf32>
}

// -----

// In a loop every round would do it, to save 64 KiB beside the 24 MiB that the
// loop reads: not worth a kernel, whatever the products take.

// CHECK-LABEL: func.func @recurrent
// CHECK: do {
// CHECK: stablehlo.multiply
// CHECK-NOT: stablehlo.multiply
func.func @recurrent(%x: tensor<16x1024xf32>, %w: tensor<1024x1024xf32>, %v: tensor<1024x2048xf32>, %u: tensor<2048x1024xf32>, %s: tensor<1024x1024xf32>) -> tensor<16x1024xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %ten = stablehlo.constant dense<10> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %h = %x) : tensor<i32>, tensor<16x1024xf32>
    cond {
      %c = stablehlo.compare LT, %i, %ten : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %d = stablehlo.multiply %h, %x : tensor<16x1024xf32>
      %p = stablehlo.dot_general %d, %w, contracting_dims = [1] x [0] : (tensor<16x1024xf32>, tensor<1024x1024xf32>) -> tensor<16x1024xf32>
      %q = stablehlo.dot_general %p, %v, contracting_dims = [1] x [0] : (tensor<16x1024xf32>, tensor<1024x2048xf32>) -> tensor<16x2048xf32>
      %o = stablehlo.dot_general %q, %u, contracting_dims = [1] x [0] : (tensor<16x2048xf32>, tensor<2048x1024xf32>) -> tensor<16x1024xf32>
      %e = stablehlo.dot_general %d, %s, contracting_dims = [1] x [0] : (tensor<16x1024xf32>, tensor<1024x1024xf32>) -> tensor<16x1024xf32>
      %sum = stablehlo.add %o, %e : tensor<16x1024xf32>
      %next = stablehlo.add %sum, %h : tensor<16x1024xf32>
      %n = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %n, %next : tensor<i32>, tensor<16x1024xf32>
    }
  return %r#1 : tensor<16x1024xf32>
}

// -----

// The product's operand is kept here as well; what a kernel behind the peak
// reads it computes itself, whatever the products take.

// CHECK-LABEL: func.func @kernels_beside_products
// CHECK: stablehlo.subtract
// CHECK: stablehlo.multiply
// CHECK-NOT: stablehlo.multiply
// CHECK: stablehlo.subtract
func.func @kernels_beside_products(%a: tensor<4096x4096xf32>, %b: tensor<4096x4096xf32>, %w: tensor<4096x16xf32>) -> (tensor<4096x16xf32>, tensor<4096x16xf32>, tensor<4096xf32>, tensor<4096x4096xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %t = stablehlo.multiply %a, %b : tensor<4096x4096xf32>
  %e = stablehlo.subtract %a, %b : tensor<4096x4096xf32>
  %s = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4096x4096xf32>, tensor<f32>) -> tensor<4096xf32>
  %sums = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<4096xf32>) -> tensor<4096x16xf32>
  %v = stablehlo.maximum %w, %sums : tensor<4096x16xf32>
  %first = stablehlo.dot_general %t, %v, contracting_dims = [1] x [0] : (tensor<4096x4096xf32>, tensor<4096x16xf32>) -> tensor<4096x16xf32>
  %sorted = "stablehlo.sort"(%first) <{dimension = 0 : i64, is_stable = false}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %less = stablehlo.compare LT, %x, %y, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  }) : (tensor<4096x16xf32>) -> tensor<4096x16xf32>
  %second = stablehlo.dot_general %t, %sorted, contracting_dims = [1] x [0] : (tensor<4096x4096xf32>, tensor<4096x16xf32>) -> tensor<4096x16xf32>
  %column = stablehlo.slice %sorted [0:4096, 0:1] : (tensor<4096x16xf32>) -> tensor<4096x1xf32>
  %flat = stablehlo.reshape %column : (tensor<4096x1xf32>) -> tensor<4096xf32>
  %spread = stablehlo.broadcast_in_dim %flat, dims = [0] : (tensor<4096xf32>) -> tensor<4096x4096xf32>
  %last = stablehlo.add %e, %spread : tensor<4096x4096xf32>
  return %first, %second, %s, %last : tensor<4096x16xf32>, tensor<4096x16xf32>, tensor<4096xf32>, tensor<4096x4096xf32>
}
