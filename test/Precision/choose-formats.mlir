// RUN: tenon-opt %s --precision-choose-formats="cpu=x86-64-v4+amxbf16" --split-input-file | FileCheck %s

// A value that crosses kernels is rounded where it is made, a parameter is cast
// for its product, and a result keeps its type: the product adds up in f32 and
// is not rounded.

// CHECK-LABEL: func.func @main
// CHECK-DAG: %[[W:.*]] = stablehlo.convert %arg1 {step.cast} : (tensor<512x512xf32>) -> tensor<512x512xbf16>
// CHECK-DAG: %[[T:.*]] = stablehlo.tanh
// CHECK: %[[N:.*]] = stablehlo.convert %[[T]] {step.cast}
// CHECK: stablehlo.dot_general %[[N]], %[[W]], {{.*}} -> tensor<512x512xf32>
func.func @main(%x: tensor<512x512xf32>, %w: tensor<512x512xf32>) -> tensor<512x512xf32> {
  %0 = stablehlo.tanh %x : tensor<512x512xf32>
  %1 = stablehlo.dot_general %0, %w, contracting_dims = [1] x [0] : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  return %1 : tensor<512x512xf32>
}

// -----

// What is moved keeps its format; a product that is stored narrow rounds once,
// and whoever computes with it widens it.

// CHECK-LABEL: func.func @main
// CHECK: %[[D:.*]] = stablehlo.dot_general {{.*}} -> tensor<512x512xbf16>
// CHECK: %[[M:.*]] = stablehlo.transpose %[[D]], {{.*}} -> tensor<512x512xbf16>
// CHECK: %[[WIDE:.*]] = stablehlo.convert %[[M]] {step.cast} : (tensor<512x512xbf16>) -> tensor<512x512xf32>
// CHECK: stablehlo.reduce(%[[WIDE]]
func.func @main(%x: tensor<512x512xf32>, %w: tensor<512x512xf32>) -> tensor<512xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<512x512xf32>) -> tensor<512x512xf32>
  %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<512x512xf32>, tensor<f32>) -> tensor<512xf32>
  return %2 : tensor<512xf32>
}

// -----

// A value that is narrow anyway is not rounded once more where the program
// rounds it to the same format.

// CHECK-LABEL: func.func @main
// CHECK: %[[T:.*]] = stablehlo.tanh
// CHECK: %[[N:.*]] = stablehlo.convert %[[T]] {step.cast}
// CHECK-NOT: stablehlo.convert %
// CHECK: return %{{.*}}, %[[N]]
func.func @main(%x: tensor<512x512xf32>, %w: tensor<512x512xf32>) -> (tensor<512x512xf32>, tensor<512x512xbf16>) {
  %0 = stablehlo.tanh %x : tensor<512x512xf32>
  %1 = stablehlo.dot_general %0, %w, contracting_dims = [1] x [0] : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  %2 = stablehlo.convert %0 : (tensor<512x512xf32>) -> tensor<512x512xbf16>
  return %1, %2 : tensor<512x512xf32>, tensor<512x512xbf16>
}

// -----

// Sums of tensors, what is compared with another number than zero, and small
// values stay f32.

// CHECK-LABEL: func.func @main
// CHECK-NOT: bf16
// CHECK: return
func.func @main(%x: tensor<512x512xf32>, %y: tensor<512x512xf32>, %s: tensor<8xf32>) -> (tensor<512x512xi1>, tensor<8xf32>) {
  %one = stablehlo.constant dense<1.0> : tensor<512x512xf32>
  %0 = stablehlo.add %x, %y : tensor<512x512xf32>
  %1 = stablehlo.tanh %0 : tensor<512x512xf32>
  %2 = stablehlo.compare GT, %1, %one : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xi1>
  %3 = stablehlo.tanh %s : tensor<8xf32>
  %4 = stablehlo.exponential %3 : tensor<8xf32>
  return %2, %4 : tensor<512x512xi1>, tensor<8xf32>
}

// -----

// What the program computes a second time behind a barrier has the format of
// the first, though only the first is read by a product.

// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = stablehlo.tanh
// CHECK: stablehlo.convert %[[A]] {step.cast} : (tensor<512x512xf32>) -> tensor<512x512xbf16>
// CHECK: %[[B:.*]] = stablehlo.tanh
// CHECK: stablehlo.convert %[[B]] {step.cast} : (tensor<512x512xf32>) -> tensor<512x512xbf16>
func.func @main(%x: tensor<512x512xf32>, %w: tensor<512x512xf32>) -> (tensor<512x512xf32>, tensor<f32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.tanh %x : tensor<512x512xf32>
  %1 = stablehlo.dot_general %0, %w, contracting_dims = [1] x [0] : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  %2 = stablehlo.optimization_barrier %x : tensor<512x512xf32>
  %3 = stablehlo.tanh %2 : tensor<512x512xf32>
  %4 = stablehlo.reduce(%3 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<512x512xf32>, tensor<f32>) -> tensor<f32>
  return %1, %4 : tensor<512x512xf32>, tensor<f32>
}

// -----

// What a loop carries is narrow in all its places.

// CHECK-LABEL: func.func @main
// CHECK: stablehlo.while{{.*}}
// CHECK: stablehlo.dynamic_update_slice {{.*}}tensor<8x256x256xbf16>
func.func @main(%x: tensor<256x256xf32>, %w: tensor<256x256xf32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %stack = stablehlo.constant dense<0.0> : tensor<8x256x256xf32>
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %c1 = stablehlo.constant dense<1> : tensor<i32>
  %c8 = stablehlo.constant dense<8> : tensor<i32>
  %0:2 = stablehlo.while(%i = %c0, %s = %stack) : tensor<i32>, tensor<8x256x256xf32>
  cond {
    %1 = stablehlo.compare LT, %i, %c8 : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %1 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
    %2 = stablehlo.reshape %1 : (tensor<256x256xf32>) -> tensor<1x256x256xf32>
    %3 = stablehlo.dynamic_update_slice %s, %2, %i, %c0, %c0 : (tensor<8x256x256xf32>, tensor<1x256x256xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<8x256x256xf32>
    %4 = stablehlo.add %i, %c1 : tensor<i32>
    stablehlo.return %4, %3 : tensor<i32>, tensor<8x256x256xf32>
  }
  %5 = stablehlo.reduce(%0#1 init: %zero) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<8x256x256xf32>, tensor<f32>) -> tensor<f32>
  return %5 : tensor<f32>
}

// -----

// Attention reads 16 bits and computes in f32; its statistics stay f32.

// CHECK-LABEL: func.func @main
// CHECK: stablehlo.convert %{{.*}} {step.cast} : (tensor<16x128x64xbf16>) -> tensor<16x128x64xf32>
// CHECK: %output, %[[MAXIMUM:.*]], %[[SUM:.*]] = step.attention
// CHECK: %[[G:.*]] = stablehlo.convert %{{.*}} {step.cast} : (tensor<16x64x128xbf16>) -> tensor<16x64x128xf32>
// CHECK: step.attention_gradient {{.*}} of %[[MAXIMUM]], %[[SUM]], %[[G]]
func.func @main(%x: tensor<16x128x64xf32>, %y: tensor<16x128x64xf32>, %z: tensor<16x128x64xf32>, %w: tensor<16x64x128xf32>)
    -> (tensor<16x128x64xf32>, tensor<16x128x64xf32>, tensor<16x128x64xf32>, tensor<16x128x64xf32>) {
  %q = stablehlo.tanh %x : tensor<16x128x64xf32>
  %k = stablehlo.tanh %y : tensor<16x128x64xf32>
  %v = stablehlo.tanh %z : tensor<16x128x64xf32>
  %g = stablehlo.tanh %w : tensor<16x64x128xf32>
  %o, %max, %sum = step.attention %q [0, q, d], %k [0, k, d], %v [0, k, v] -> [0, q, v] {scale = 1.250000e-01 : f32}
    : (tensor<16x128x64xf32>, tensor<16x128x64xf32>, tensor<16x128x64xf32>) -> (tensor<16x128x64xf32>, tensor<16x128xf32>, tensor<16x128xf32>)
  %dq, %dk, %dv = step.attention_gradient %q [0, q, d], %k [0, k, d], %v [0, k, v] of %max, %sum, %g [0, v, q]
    -> [0, q, d], [0, k, d], [0, k, v] {scale = 1.250000e-01 : f32}
    : (tensor<16x128x64xf32>, tensor<16x128x64xf32>, tensor<16x128x64xf32>, tensor<16x128xf32>, tensor<16x128xf32>, tensor<16x64x128xf32>)
      -> (tensor<16x128x64xf32>, tensor<16x128x64xf32>, tensor<16x128x64xf32>)
  return %o, %dq, %dk, %dv : tensor<16x128x64xf32>, tensor<16x128x64xf32>, tensor<16x128x64xf32>, tensor<16x128x64xf32>
}

// -----

// The largest of a window, and what is put where it was, only move elements:
// all of it is stored narrow, and what is compared was rounded once.

// CHECK-LABEL: func.func @main
// CHECK: %[[X:.*]] = stablehlo.convert %{{.*}} {step.cast} : (tensor<2x64x64x32xf32>) -> tensor<2x64x64x32xbf16>
// CHECK: "stablehlo.reduce_window"(%[[X]], %{{.*}})
// CHECK: stablehlo.maximum {{.*}} : tensor<bf16>
// CHECK: (tensor<2x64x64x32xbf16>, tensor<bf16>) -> tensor<2x32x32x32xbf16>
// CHECK: %[[D:.*]] = stablehlo.convert %{{.*}} {step.cast} : (tensor<2x32x32x32xf32>) -> tensor<2x32x32x32xbf16>
// CHECK: "stablehlo.select_and_scatter"(%[[X]], %[[D]], %{{.*}})
// CHECK: stablehlo.compare GE, {{.*}} : (tensor<bf16>, tensor<bf16>) -> tensor<i1>
// CHECK: (tensor<2x64x64x32xbf16>, tensor<2x32x32x32xbf16>, tensor<bf16>) -> tensor<2x64x64x32xbf16>
func.func @main(%x: tensor<2x64x64x32xf32>) -> (tensor<f32>, tensor<f32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = stablehlo.tanh %x : tensor<2x64x64x32xf32>
  %1 = "stablehlo.reduce_window"(%0, %least) <{window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<2x64x64x32xf32>, tensor<f32>) -> tensor<2x32x32x32xf32>
  %2 = stablehlo.exponential %1 : tensor<2x32x32x32xf32>
  %3 = "stablehlo.select_and_scatter"(%0, %2, %zero) <{window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.compare GE, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<2x64x64x32xf32>, tensor<2x32x32x32xf32>, tensor<f32>) -> tensor<2x64x64x32xf32>
  %4 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [0, 1, 2, 3] : (tensor<2x32x32x32xf32>, tensor<f32>) -> tensor<f32>
  %5 = stablehlo.reduce(%3 init: %zero) applies stablehlo.add across dimensions = [0, 1, 2, 3] : (tensor<2x64x64x32xf32>, tensor<f32>) -> tensor<f32>
  return %4, %5 : tensor<f32>, tensor<f32>
}

// -----

// Where windows share elements their sources are added up: in f32, of narrow
// values that are widened.

// CHECK-LABEL: func.func @main
// CHECK: "stablehlo.select_and_scatter"
// CHECK: (tensor<2x64x64x32xf32>, tensor<2x63x63x32xf32>, tensor<f32>) -> tensor<2x64x64x32xf32>
func.func @main(%x: tensor<2x64x64x32xf32>, %y: tensor<2x63x63x32xf32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.tanh %x : tensor<2x64x64x32xf32>
  %1 = stablehlo.exponential %y : tensor<2x63x63x32xf32>
  %2 = "stablehlo.select_and_scatter"(%0, %1, %zero) <{window_dimensions = array<i64: 1, 2, 2, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.compare GE, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<2x64x64x32xf32>, tensor<2x63x63x32xf32>, tensor<f32>) -> tensor<2x64x64x32xf32>
  %3 = stablehlo.reduce(%2 init: %zero) applies stablehlo.add across dimensions = [0, 1, 2, 3] : (tensor<2x64x64x32xf32>, tensor<f32>) -> tensor<f32>
  return %3 : tensor<f32>
}

// -----

// The terms of an activation's derivative share the gradient as a factor, so
// that their sum is one contribution. Sums of two products are wide, whatever
// else is a factor of both.

// CHECK-LABEL: func.func @main
// CHECK: %[[DERIVATIVE:.*]] = stablehlo.add
// CHECK: %[[NARROW:.*]] = stablehlo.convert %[[DERIVATIVE]] {step.cast} : (tensor<512x512xf32>) -> tensor<512x512xbf16>
// CHECK: stablehlo.dot_general %[[NARROW]]
// CHECK: %[[WIDE:.*]] = stablehlo.convert %[[NARROW]] {step.cast} : (tensor<512x512xbf16>) -> tensor<512x512xf32>
// CHECK: stablehlo.reduce(%[[WIDE]]
// CHECK: %[[SUM:.*]] = stablehlo.add
// CHECK-NEXT: %[[COPY:.*]] = stablehlo.convert %[[SUM]] {step.cast} : (tensor<512x512xf32>) -> tensor<512x512xbf16>
// CHECK: stablehlo.reduce(%[[SUM]]
func.func @main(%d: tensor<512x512xf32>, %e: tensor<512x512xf32>, %w: tensor<512x512xf32>, %h: tensor<512x512xf32>)
    -> (tensor<512xf32>, tensor<512x512xf32>, tensor<512xf32>, tensor<512x512xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %g = stablehlo.dot_general %d, %w, contracting_dims = [1] x [0] : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  %t = stablehlo.tanh %h : tensor<512x512xf32>
  %s = stablehlo.logistic %h : tensor<512x512xf32>
  %a = stablehlo.multiply %g, %t : tensor<512x512xf32>
  %n = stablehlo.negate %g : tensor<512x512xf32>
  %b = stablehlo.multiply %n, %s : tensor<512x512xf32>
  %one = stablehlo.add %a, %b : tensor<512x512xf32>
  %p = stablehlo.dot_general %one, %w, contracting_dims = [1] x [0] : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  %r = stablehlo.reduce(%one init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<512x512xf32>, tensor<f32>) -> tensor<512xf32>
  %f = stablehlo.dot_general %e, %w, contracting_dims = [1] x [0] : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  %c = stablehlo.multiply %f, %t : tensor<512x512xf32>
  %two = stablehlo.add %a, %c : tensor<512x512xf32>
  %q = stablehlo.dot_general %two, %w, contracting_dims = [1] x [0] : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  %m = stablehlo.reduce(%two init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<512x512xf32>, tensor<f32>) -> tensor<512xf32>
  return %r, %p, %m, %q : tensor<512xf32>, tensor<512x512xf32>, tensor<512xf32>, tensor<512x512xf32>
}
