// RUN: tenon-opt %s --split-input-file --fusion-choose-blocks --remarks-filter="fusion-.*" --remark-format=emitRemark 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// 64 rounds of 32 terms, as of a recurrent layer: eight rounds have 256 terms,
// and what they keep, 8 x 32 rows, takes less than twice the sum.

// CHECK-LABEL: func.func @layer
// CHECK: stablehlo.dot_general {{.*}} {step.block_rounds = 8 : i64}
// CHECK: stablehlo.reduce{{.*}} {step.block_rounds = 8 : i64}
// REMARK: [Passed] Blocks{{.*}} Rounds=8, Stacked=0, Sums=2
func.func @layer(%x: tensor<64x32x128xf32>) -> (tensor<128x128xf32>, tensor<128xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %trips = stablehlo.constant dense<64> : tensor<i32>
  %f0 = stablehlo.constant dense<0.0> : tensor<f32>
  %w = stablehlo.constant dense<0.0> : tensor<128x128xf32>
  %b = stablehlo.constant dense<0.0> : tensor<128xf32>
  %0:3 = stablehlo.while(%i = %zero, %ws = %w, %bs = %b) : tensor<i32>, tensor<128x128xf32>, tensor<128xf32>
  cond {
    %more = stablehlo.compare LT, %i, %trips, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %slice = stablehlo.dynamic_slice %x, %i, %zero, %zero, sizes = [1, 32, 128] : (tensor<64x32x128xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x32x128xf32>
    %xi = stablehlo.reshape %slice : (tensor<1x32x128xf32>) -> tensor<32x128xf32>
    %p = stablehlo.dot_general %xi, %xi, contracting_dims = [0] x [0] : (tensor<32x128xf32>, tensor<32x128xf32>) -> tensor<128x128xf32>
    %wn = stablehlo.add %ws, %p : tensor<128x128xf32>
    %r = stablehlo.reduce(%xi init: %f0) applies stablehlo.add across dimensions = [0] : (tensor<32x128xf32>, tensor<f32>) -> tensor<128xf32>
    %bn = stablehlo.add %bs, %r : tensor<128xf32>
    %n = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %n, %wn, %bn : tensor<i32>, tensor<128x128xf32>, tensor<128xf32>
  }
  return %0#1, %0#2 : tensor<128x128xf32>, tensor<128xf32>
}

// -----

// Rows enough for a product of their own, as of microbatches.

// CHECK-LABEL: func.func @microbatches
// CHECK-NOT: step.block_rounds
// CHECK: return %0#1, %0#2
// REMARK: [Missed] NoBlocks{{.*}}a product of several rounds would keep more than twice its sums
func.func @microbatches(%x: tensor<64x256x128xf32>) -> (tensor<128x128xf32>, tensor<128xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %trips = stablehlo.constant dense<64> : tensor<i32>
  %f0 = stablehlo.constant dense<0.0> : tensor<f32>
  %w = stablehlo.constant dense<0.0> : tensor<128x128xf32>
  %b = stablehlo.constant dense<0.0> : tensor<128xf32>
  %0:3 = stablehlo.while(%i = %zero, %ws = %w, %bs = %b) : tensor<i32>, tensor<128x128xf32>, tensor<128xf32>
  cond {
    %more = stablehlo.compare LT, %i, %trips, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %slice = stablehlo.dynamic_slice %x, %i, %zero, %zero, sizes = [1, 256, 128] : (tensor<64x256x128xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x256x128xf32>
    %xi = stablehlo.reshape %slice : (tensor<1x256x128xf32>) -> tensor<256x128xf32>
    %p = stablehlo.dot_general %xi, %xi, contracting_dims = [0] x [0] : (tensor<256x128xf32>, tensor<256x128xf32>) -> tensor<128x128xf32>
    %wn = stablehlo.add %ws, %p : tensor<128x128xf32>
    %r = stablehlo.reduce(%xi init: %f0) applies stablehlo.add across dimensions = [0] : (tensor<256x128xf32>, tensor<f32>) -> tensor<128xf32>
    %bn = stablehlo.add %bs, %r : tensor<128xf32>
    %n = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %n, %wn, %bn : tensor<i32>, tensor<128x128xf32>, tensor<128xf32>
  }
  return %0#1, %0#2 : tensor<128x128xf32>, tensor<128xf32>
}

// -----

// Sums smaller than what would be kept.

// CHECK-LABEL: func.func @narrow
// CHECK-NOT: step.block_rounds
// CHECK: return %0#1, %0#2
func.func @narrow(%x: tensor<64x32x8xf32>) -> (tensor<8x8xf32>, tensor<8xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %trips = stablehlo.constant dense<64> : tensor<i32>
  %f0 = stablehlo.constant dense<0.0> : tensor<f32>
  %w = stablehlo.constant dense<0.0> : tensor<8x8xf32>
  %b = stablehlo.constant dense<0.0> : tensor<8xf32>
  %0:3 = stablehlo.while(%i = %zero, %ws = %w, %bs = %b) : tensor<i32>, tensor<8x8xf32>, tensor<8xf32>
  cond {
    %more = stablehlo.compare LT, %i, %trips, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %slice = stablehlo.dynamic_slice %x, %i, %zero, %zero, sizes = [1, 32, 8] : (tensor<64x32x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x32x8xf32>
    %xi = stablehlo.reshape %slice : (tensor<1x32x8xf32>) -> tensor<32x8xf32>
    %p = stablehlo.dot_general %xi, %xi, contracting_dims = [0] x [0] : (tensor<32x8xf32>, tensor<32x8xf32>) -> tensor<8x8xf32>
    %wn = stablehlo.add %ws, %p : tensor<8x8xf32>
    %r = stablehlo.reduce(%xi init: %f0) applies stablehlo.add across dimensions = [0] : (tensor<32x8xf32>, tensor<f32>) -> tensor<8xf32>
    %bn = stablehlo.add %bs, %r : tensor<8xf32>
    %n = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %n, %wn, %bn : tensor<i32>, tensor<8x8xf32>, tensor<8xf32>
  }
  return %0#1, %0#2 : tensor<8x8xf32>, tensor<8xf32>
}

// -----

// A sum that a round reads is needed as it is after each.

// CHECK-LABEL: func.func @read
// CHECK-NOT: step.block_rounds
// CHECK: return %0#1, %0#2
func.func @read(%x: tensor<64x32x128xf32>) -> (tensor<128x128xf32>, tensor<128xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %trips = stablehlo.constant dense<64> : tensor<i32>
  %f0 = stablehlo.constant dense<0.0> : tensor<f32>
  %w = stablehlo.constant dense<0.0> : tensor<128x128xf32>
  %b = stablehlo.constant dense<0.0> : tensor<128xf32>
  %0:3 = stablehlo.while(%i = %zero, %ws = %w, %bs = %b) : tensor<i32>, tensor<128x128xf32>, tensor<128xf32>
  cond {
    %more = stablehlo.compare LT, %i, %trips, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %slice = stablehlo.dynamic_slice %x, %i, %zero, %zero, sizes = [1, 32, 128] : (tensor<64x32x128xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x32x128xf32>
    %xi = stablehlo.reshape %slice : (tensor<1x32x128xf32>) -> tensor<32x128xf32>
    %p = stablehlo.dot_general %xi, %xi, contracting_dims = [0] x [0] : (tensor<32x128xf32>, tensor<32x128xf32>) -> tensor<128x128xf32>
    %ps = stablehlo.multiply %p, %ws : tensor<128x128xf32>
    %wn = stablehlo.add %ws, %ps : tensor<128x128xf32>
    %r = stablehlo.reduce(%xi init: %f0) applies stablehlo.add across dimensions = [0] : (tensor<32x128xf32>, tensor<f32>) -> tensor<128xf32>
    %bn = stablehlo.add %bs, %r : tensor<128xf32>
    %n = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %n, %wn, %bn : tensor<i32>, tensor<128x128xf32>, tensor<128xf32>
  }
  return %0#1, %0#2 : tensor<128x128xf32>, tensor<128xf32>
}

// -----

// Sums in bf16 round after every addition, as the program says.

// CHECK-LABEL: func.func @rounded
// CHECK-NOT: step.block_rounds
// CHECK: return %0#1, %0#2
func.func @rounded(%x: tensor<64x32x128xbf16>) -> (tensor<128x128xbf16>, tensor<128xbf16>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %trips = stablehlo.constant dense<64> : tensor<i32>
  %f0 = stablehlo.constant dense<0.0> : tensor<bf16>
  %w = stablehlo.constant dense<0.0> : tensor<128x128xbf16>
  %b = stablehlo.constant dense<0.0> : tensor<128xbf16>
  %0:3 = stablehlo.while(%i = %zero, %ws = %w, %bs = %b) : tensor<i32>, tensor<128x128xbf16>, tensor<128xbf16>
  cond {
    %more = stablehlo.compare LT, %i, %trips, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %slice = stablehlo.dynamic_slice %x, %i, %zero, %zero, sizes = [1, 32, 128] : (tensor<64x32x128xbf16>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x32x128xbf16>
    %xi = stablehlo.reshape %slice : (tensor<1x32x128xbf16>) -> tensor<32x128xbf16>
    %p = stablehlo.dot_general %xi, %xi, contracting_dims = [0] x [0] : (tensor<32x128xbf16>, tensor<32x128xbf16>) -> tensor<128x128xbf16>
    %wn = stablehlo.add %ws, %p : tensor<128x128xbf16>
    %r = stablehlo.reduce(%xi init: %f0) applies stablehlo.add across dimensions = [0] : (tensor<32x128xbf16>, tensor<bf16>) -> tensor<128xbf16>
    %bn = stablehlo.add %bs, %r : tensor<128xbf16>
    %n = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %n, %wn, %bn : tensor<i32>, tensor<128x128xbf16>, tensor<128xbf16>
  }
  return %0#1, %0#2 : tensor<128x128xbf16>, tensor<128xbf16>
}

// -----

// No number of rounds divides all.

// CHECK-LABEL: func.func @prime
// CHECK-NOT: step.block_rounds
// CHECK: return %0#1, %0#2
func.func @prime(%x: tensor<61x32x128xf32>) -> (tensor<128x128xf32>, tensor<128xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %trips = stablehlo.constant dense<61> : tensor<i32>
  %f0 = stablehlo.constant dense<0.0> : tensor<f32>
  %w = stablehlo.constant dense<0.0> : tensor<128x128xf32>
  %b = stablehlo.constant dense<0.0> : tensor<128xf32>
  %0:3 = stablehlo.while(%i = %zero, %ws = %w, %bs = %b) : tensor<i32>, tensor<128x128xf32>, tensor<128xf32>
  cond {
    %more = stablehlo.compare LT, %i, %trips, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %slice = stablehlo.dynamic_slice %x, %i, %zero, %zero, sizes = [1, 32, 128] : (tensor<61x32x128xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x32x128xf32>
    %xi = stablehlo.reshape %slice : (tensor<1x32x128xf32>) -> tensor<32x128xf32>
    %p = stablehlo.dot_general %xi, %xi, contracting_dims = [0] x [0] : (tensor<32x128xf32>, tensor<32x128xf32>) -> tensor<128x128xf32>
    %wn = stablehlo.add %ws, %p : tensor<128x128xf32>
    %r = stablehlo.reduce(%xi init: %f0) applies stablehlo.add across dimensions = [0] : (tensor<32x128xf32>, tensor<f32>) -> tensor<128xf32>
    %bn = stablehlo.add %bs, %r : tensor<128xf32>
    %n = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %n, %wn, %bn : tensor<i32>, tensor<128x128xf32>, tensor<128xf32>
  }
  return %0#1, %0#2 : tensor<128x128xf32>, tensor<128xf32>
}

// -----

// A product of what is kept with weights from outside, which the round only
// stacks, is marked, too. One that the next round reads is not.

// CHECK-LABEL: func.func @stacked
// CHECK: stablehlo.dot_general {{.*}}contracting_dims = [0] x [0] {step.block_rounds = 4 : i64}
// CHECK: stablehlo.dot_general {{.*}}contracting_dims = [1] x [1] {step.block_rounds = 4 : i64} : (tensor<32x128xf32>, tensor<16x128xf32>)
// CHECK: stablehlo.dot_general {{.*}}contracting_dims = [1] x [0] : (tensor<32x128xf32>, tensor<128x128xf32>)
// REMARK: [Passed] Blocks{{.*}} Rounds=4, Stacked=1, Sums=1
func.func @stacked(%x: tensor<64x32x128xf32>, %v: tensor<16x128xf32>, %u: tensor<128x128xf32>, %h: tensor<32x128xf32>) -> (tensor<128x128xf32>, tensor<64x32x16xf32>, tensor<32x128xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %trips = stablehlo.constant dense<64> : tensor<i32>
  %last = stablehlo.constant dense<63> : tensor<i32>
  %w = stablehlo.constant dense<0.0> : tensor<128x128xf32>
  %s = stablehlo.constant dense<0.0> : tensor<64x32x16xf32>
  %0:4 = stablehlo.while(%i = %zero, %ws = %w, %ss = %s, %hs = %h) : tensor<i32>, tensor<128x128xf32>, tensor<64x32x16xf32>, tensor<32x128xf32>
  cond {
    %more = stablehlo.compare LT, %i, %trips, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %at = stablehlo.subtract %last, %i : tensor<i32>
    %slice = stablehlo.dynamic_slice %x, %at, %zero, %zero, sizes = [1, 32, 128] : (tensor<64x32x128xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x32x128xf32>
    %xi = stablehlo.reshape %slice : (tensor<1x32x128xf32>) -> tensor<32x128xf32>
    %d = stablehlo.add %xi, %hs : tensor<32x128xf32>
    %p = stablehlo.dot_general %d, %xi, contracting_dims = [0] x [0] : (tensor<32x128xf32>, tensor<32x128xf32>) -> tensor<128x128xf32>
    %wn = stablehlo.add %ws, %p : tensor<128x128xf32>
    %q = stablehlo.dot_general %d, %v, contracting_dims = [1] x [1] : (tensor<32x128xf32>, tensor<16x128xf32>) -> tensor<32x16xf32>
    %qs = stablehlo.reshape %q : (tensor<32x16xf32>) -> tensor<1x32x16xf32>
    %sn = stablehlo.dynamic_update_slice %ss, %qs, %at, %zero, %zero : (tensor<64x32x16xf32>, tensor<1x32x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<64x32x16xf32>
    %hn = stablehlo.dot_general %d, %u, contracting_dims = [1] x [0] : (tensor<32x128xf32>, tensor<128x128xf32>) -> tensor<32x128xf32>
    %n = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %n, %wn, %sn, %hn : tensor<i32>, tensor<128x128xf32>, tensor<64x32x16xf32>, tensor<32x128xf32>
  }
  return %0#1, %0#2, %0#3 : tensor<128x128xf32>, tensor<64x32x16xf32>, tensor<32x128xf32>
}

// -----

// The compiler rounds the product, which it does less often if it is made of
// more rounds. The reduction stays: nothing else keeps what it adds up.

// CHECK-LABEL: func.func @rounded
// CHECK: stablehlo.dot_general {{.*}} {step.block_rounds = 8 : i64}
// CHECK: stablehlo.reduce
// CHECK-NOT: step.block_rounds
// CHECK: return %0#1, %0#2
// REMARK: [Passed] Blocks{{.*}} Rounds=8, Stacked=0, Sums=1
func.func @rounded(%x: tensor<64x32x128xbf16>) -> (tensor<128x128xf32>, tensor<128xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %trips = stablehlo.constant dense<64> : tensor<i32>
  %f0 = stablehlo.constant dense<0.0> : tensor<f32>
  %w = stablehlo.constant dense<0.0> : tensor<128x128xf32>
  %b = stablehlo.constant dense<0.0> : tensor<128xf32>
  %0:3 = stablehlo.while(%i = %zero, %ws = %w, %bs = %b) : tensor<i32>, tensor<128x128xf32>, tensor<128xf32>
  cond {
    %more = stablehlo.compare LT, %i, %trips, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %slice = stablehlo.dynamic_slice %x, %i, %zero, %zero, sizes = [1, 32, 128] : (tensor<64x32x128xbf16>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x32x128xbf16>
    %xi = stablehlo.reshape %slice : (tensor<1x32x128xbf16>) -> tensor<32x128xbf16>
    %p = stablehlo.dot_general %xi, %xi, contracting_dims = [0] x [0] : (tensor<32x128xbf16>, tensor<32x128xbf16>) -> tensor<128x128xbf16>
    %wide = stablehlo.convert %p {step.cast} : (tensor<128x128xbf16>) -> tensor<128x128xf32>
    %wn = stablehlo.add %ws, %wide : tensor<128x128xf32>
    %xf = stablehlo.convert %xi {step.cast} : (tensor<32x128xbf16>) -> tensor<32x128xf32>
    %r = stablehlo.reduce(%xf init: %f0) applies stablehlo.add across dimensions = [0] : (tensor<32x128xf32>, tensor<f32>) -> tensor<128xf32>
    %bn = stablehlo.add %bs, %r : tensor<128xf32>
    %n = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %n, %wn, %bn : tensor<i32>, tensor<128x128xf32>, tensor<128xf32>
  }
  return %0#1, %0#2 : tensor<128x128xf32>, tensor<128xf32>
}

// -----

// How often the user rounds has a meaning.

// CHECK-LABEL: func.func @rounded_by_the_user
// CHECK-NOT: step.block_rounds
// CHECK: return %0#1, %0#2
func.func @rounded_by_the_user(%x: tensor<64x32x128xbf16>) -> (tensor<128x128xf32>, tensor<128xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %trips = stablehlo.constant dense<64> : tensor<i32>
  %f0 = stablehlo.constant dense<0.0> : tensor<f32>
  %w = stablehlo.constant dense<0.0> : tensor<128x128xf32>
  %b = stablehlo.constant dense<0.0> : tensor<128xf32>
  %0:3 = stablehlo.while(%i = %zero, %ws = %w, %bs = %b) : tensor<i32>, tensor<128x128xf32>, tensor<128xf32>
  cond {
    %more = stablehlo.compare LT, %i, %trips, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %slice = stablehlo.dynamic_slice %x, %i, %zero, %zero, sizes = [1, 32, 128] : (tensor<64x32x128xbf16>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x32x128xbf16>
    %xi = stablehlo.reshape %slice : (tensor<1x32x128xbf16>) -> tensor<32x128xbf16>
    %p = stablehlo.dot_general %xi, %xi, contracting_dims = [0] x [0] : (tensor<32x128xbf16>, tensor<32x128xbf16>) -> tensor<128x128xbf16>
    %wide = stablehlo.convert %p : (tensor<128x128xbf16>) -> tensor<128x128xf32>
    %wn = stablehlo.add %ws, %wide : tensor<128x128xf32>
    %xf = stablehlo.convert %xi : (tensor<32x128xbf16>) -> tensor<32x128xf32>
    %r = stablehlo.reduce(%xf init: %f0) applies stablehlo.add across dimensions = [0] : (tensor<32x128xf32>, tensor<f32>) -> tensor<128xf32>
    %bn = stablehlo.add %bs, %r : tensor<128xf32>
    %n = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %n, %wn, %bn : tensor<i32>, tensor<128x128xf32>, tensor<128xf32>
  }
  return %0#1, %0#2 : tensor<128x128xf32>, tensor<128xf32>
}
