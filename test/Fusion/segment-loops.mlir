// RUN: tenon-opt %s --split-input-file --fusion-segment-loops | FileCheck %s
// RUN: tenon-opt %s --split-input-file --fusion-segment-loops | FileCheck %s --check-prefix=UPWARDS

// Twelve rounds are four segments of three: the forward loop keeps what it
// carries, not the cosines; each backward round over a segment computes its
// cosines again and reads them last first.

// CHECK-LABEL: func.func @main
// CHECK-SAME: step.segment_savings = array<i64: 128>
// CHECK: %[[FORWARD:.*]]:3 = stablehlo.while(%[[I:.*]] = %{{.*}}, %[[V:.*]] = %arg0, %[[KEPT:.*]] = %{{.*}}) : tensor<i32>, tensor<8xf32>, tensor<5x8xf32>
// CHECK-NOT: stablehlo.cosine
// CHECK: %[[TWO:.*]] = stablehlo.constant dense<2>
// CHECK: %[[BEHIND:.*]] = stablehlo.add %[[I]], %[[TWO]]
// CHECK: %[[THREE:.*]] = stablehlo.constant dense<3>
// CHECK: %[[SEGMENT:.*]] = stablehlo.divide %[[BEHIND]], %[[THREE]]
// CHECK: %[[SLICE:.*]] = stablehlo.reshape %[[V]]
// CHECK: stablehlo.dynamic_update_slice %[[KEPT]], %[[SLICE]], %[[SEGMENT]]
// CHECK: stablehlo.while(%[[J:.*]] = %{{.*}}, %[[G:.*]] = %[[FORWARD]]#1) : tensor<i32>, tensor<8xf32>
// CHECK: stablehlo.constant dense<4>
// CHECK: %[[LAST:.*]] = stablehlo.constant dense<3>
// CHECK: %[[FROM:.*]] = stablehlo.subtract %[[LAST]], %[[J]]
// CHECK: %[[START:.*]] = stablehlo.dynamic_slice %[[FORWARD]]#2, %[[FROM]]
// CHECK: %[[CARRIED:.*]] = stablehlo.reshape %[[START]]
// CHECK: %[[AGAIN:.*]]:3 = stablehlo.while(%{{.*}} = %{{.*}}, %{{.*}} = %[[CARRIED]], %{{.*}} = %{{.*}}) : tensor<i32>, tensor<8xf32>, tensor<3x8xf32>
// CHECK: stablehlo.sine
// CHECK: stablehlo.cosine
// CHECK: stablehlo.while(%[[ROUND:.*]] = %{{.*}}, %{{.*}} = %[[G]]) : tensor<i32>, tensor<8xf32>
// CHECK: %[[AT:.*]] = stablehlo.subtract %{{.*}}, %[[ROUND]]
// CHECK: stablehlo.dynamic_slice %[[AGAIN]]#2, %[[AT]]
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %last = stablehlo.constant dense<11> : tensor<i32>
  %twelve = stablehlo.constant dense<12> : tensor<i32>
  %start = stablehlo.constant dense<0.0> : tensor<12x8xf32>
  %0:3 = stablehlo.while(%i = %zero, %v = %x, %a = %start) : tensor<i32>, tensor<8xf32>, tensor<12x8xf32>
  cond {
    %more = stablehlo.compare LT, %i, %twelve, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %s = stablehlo.sine %v : tensor<8xf32>
    %c = stablehlo.cosine %v : tensor<8xf32>
    %c1 = stablehlo.reshape %c : (tensor<8xf32>) -> tensor<1x8xf32>
    %as = stablehlo.dynamic_update_slice %a, %c1, %i, %zero : (tensor<12x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<12x8xf32>
    %n = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %n, %s, %as : tensor<i32>, tensor<8xf32>, tensor<12x8xf32>
  }
  %1:2 = stablehlo.while(%i = %zero, %g = %0#1) : tensor<i32>, tensor<8xf32>
  cond {
    %more = stablehlo.compare LT, %i, %twelve, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %at = stablehlo.subtract %last, %i : tensor<i32>
    %r = stablehlo.dynamic_slice %0#2, %at, %zero, sizes = [1, 8] : (tensor<12x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
    %w = stablehlo.reshape %r : (tensor<1x8xf32>) -> tensor<8xf32>
    %h = stablehlo.multiply %g, %w : tensor<8xf32>
    %n = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %n, %h : tensor<i32>, tensor<8xf32>
  }
  return %1#1 : tensor<8xf32>
}

// -----

// Read upwards, with counters of 64 bits that come last. What is read twice, by
// the second loop and behind it, stays stacked; the round number is the one of
// the whole loop.


// UPWARDS-LABEL: func.func @upwards
// UPWARDS-SAME: step.segment_savings
// UPWARDS: %[[FORWARD:.*]]:4 = stablehlo.while
// UPWARDS-SAME: tensor<8xf32>, tensor<12x8xf32>, tensor<i64>, tensor<5x8xf32>
// UPWARDS: stablehlo.while(%[[J:.*]] = %{{.*}}, %{{.*}} = %[[FORWARD]]#0) : tensor<i32>, tensor<8xf32>
// UPWARDS: stablehlo.dynamic_slice %[[FORWARD]]#3, %[[J]]
// UPWARDS: %[[FIRST:.*]] = stablehlo.multiply %[[J]]
// UPWARDS: stablehlo.while(%[[I:[^ ]*]] =
// UPWARDS: %[[NUMBER:.*]] = stablehlo.add %[[FIRST]], %[[I]]
// UPWARDS: %[[WIDE:.*]] = stablehlo.convert %[[NUMBER]] : (tensor<i32>) -> tensor<i64>
// UPWARDS: stablehlo.convert %[[WIDE]] : (tensor<i64>) -> tensor<f32>
func.func @upwards(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<12x8xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %twelve = stablehlo.constant dense<12> : tensor<i64>
  %start = stablehlo.constant dense<0.0> : tensor<12x8xf32>
  %0:4 = stablehlo.while(%v = %x, %a = %start, %b = %start, %i = %zero) : tensor<8xf32>, tensor<12x8xf32>, tensor<12x8xf32>, tensor<i64>
  cond {
    %more = stablehlo.compare LT, %i, %twelve, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %f = stablehlo.convert %i : (tensor<i64>) -> tensor<f32>
    %wide = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %moved = stablehlo.add %v, %wide : tensor<8xf32>
    %s = stablehlo.sine %moved : tensor<8xf32>
    %c = stablehlo.cosine %moved : tensor<8xf32>
    %c1 = stablehlo.reshape %c : (tensor<8xf32>) -> tensor<1x8xf32>
    %as = stablehlo.dynamic_update_slice %a, %c1, %i, %zero : (tensor<12x8xf32>, tensor<1x8xf32>, tensor<i64>, tensor<i64>) -> tensor<12x8xf32>
    %s1 = stablehlo.reshape %s : (tensor<8xf32>) -> tensor<1x8xf32>
    %bs = stablehlo.dynamic_update_slice %b, %s1, %i, %zero : (tensor<12x8xf32>, tensor<1x8xf32>, tensor<i64>, tensor<i64>) -> tensor<12x8xf32>
    %n = stablehlo.add %i, %one : tensor<i64>
    stablehlo.return %s, %as, %bs, %n : tensor<8xf32>, tensor<12x8xf32>, tensor<12x8xf32>, tensor<i64>
  }
  %1:2 = stablehlo.while(%g = %0#0, %i = %zero) : tensor<8xf32>, tensor<i64>
  cond {
    %more = stablehlo.compare LT, %i, %twelve, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %r = stablehlo.dynamic_slice %0#1, %i, %zero, sizes = [1, 8] : (tensor<12x8xf32>, tensor<i64>, tensor<i64>) -> tensor<1x8xf32>
    %t = stablehlo.dynamic_slice %0#2, %i, %zero, sizes = [1, 8] : (tensor<12x8xf32>, tensor<i64>, tensor<i64>) -> tensor<1x8xf32>
    %u = stablehlo.add %r, %t : tensor<1x8xf32>
    %w = stablehlo.reshape %u : (tensor<1x8xf32>) -> tensor<8xf32>
    %h = stablehlo.multiply %g, %w : tensor<8xf32>
    %n = stablehlo.add %i, %one : tensor<i64>
    stablehlo.return %h, %n : tensor<8xf32>, tensor<i64>
  }
  return %1#0, %0#2 : tensor<8xf32>, tensor<12x8xf32>
}

// -----

// A prime number of rounds has no segments, and of six with as much carried as
// stacked nothing would be saved.

// CHECK-LABEL: func.func @too_few
// CHECK-NOT: step.segment_savings
// CHECK: stablehlo.while
// CHECK-SAME: tensor<6x8xf32>
func.func @too_few(%x: tensor<8xf32>) -> tensor<8xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %six = stablehlo.constant dense<6> : tensor<i32>
  %start = stablehlo.constant dense<0.0> : tensor<6x8xf32>
  %0:3 = stablehlo.while(%i = %zero, %v = %x, %a = %start) : tensor<i32>, tensor<8xf32>, tensor<6x8xf32>
  cond {
    %more = stablehlo.compare LT, %i, %six, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %s = stablehlo.sine %v : tensor<8xf32>
    %s1 = stablehlo.reshape %s : (tensor<8xf32>) -> tensor<1x8xf32>
    %as = stablehlo.dynamic_update_slice %a, %s1, %i, %zero : (tensor<6x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<6x8xf32>
    %n = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %n, %s, %as : tensor<i32>, tensor<8xf32>, tensor<6x8xf32>
  }
  %1:2 = stablehlo.while(%i = %zero, %g = %0#1) : tensor<i32>, tensor<8xf32>
  cond {
    %more = stablehlo.compare LT, %i, %six, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %r = stablehlo.dynamic_slice %0#2, %i, %zero, sizes = [1, 8] : (tensor<6x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
    %w = stablehlo.reshape %r : (tensor<1x8xf32>) -> tensor<8xf32>
    %h = stablehlo.multiply %g, %w : tensor<8xf32>
    %n = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %n, %h : tensor<i32>, tensor<8xf32>
  }
  return %1#1 : tensor<8xf32>
}
