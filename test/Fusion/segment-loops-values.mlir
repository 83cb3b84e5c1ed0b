// Pairs of loops cut into segments compute what the same pairs do whose stacks
// are results, too, and therefore stay: bit for bit, interpreted and compiled.

// RUN: tenon-opt %s --fusion-segment-loops -o %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: tenon run --reference %t.mlir
// RUN: tenon run %t.mlir

// Thirteen rounds have a shorter last segment.
// RUN: sed 's/12x8/13x8/g; s/dense<12>/dense<13>/; s/dense<11>/dense<12>/' %s > %t.13.mlir
// RUN: tenon-opt %t.13.mlir --fusion-segment-loops -o %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: tenon run --reference %t.mlir
// RUN: tenon run %t.mlir

// CHECK: func.func @upwards({{.*}}step.segment_savings
// CHECK: func.func @upwards_kept
// CHECK-NOT: step.segment_savings
// CHECK: func.func @downwards({{.*}}step.segment_savings
// CHECK: func.func @downwards_kept
// CHECK-NOT: step.segment_savings
// CHECK: func.func @shifted({{.*}}step.segment_savings
// CHECK: func.func @shifted_kept
// CHECK-NOT: step.segment_savings

// Many rounds are worth cutting again, and once more; of twelve they are not.
// RUN: sed 's/12x8/500x8/g; s/dense<12>/dense<500>/; s/dense<11>/dense<499>/' %s > %t.500.mlir
// RUN: tenon-opt %t.500.mlir --fusion-segment-loops=depths=3 -o %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: FileCheck %s --check-prefix=DEEP < %t.mlir
// RUN: tenon run --reference %t.mlir
// RUN: tenon run %t.mlir
// DEEP-COUNT-3: array<i64: 15{{[0-9]*}}>}
// RUN: tenon-opt %t.500.mlir --fusion-segment-loops | FileCheck %s --check-prefix=ONCE
// ONCE-COUNT-3: step.segments_can_nest

func.func @main() {
  %x = stablehlo.constant dense<[0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]> : tensor<8xf32>
  %0:2 = func.call @upwards(%x) : (tensor<8xf32>) -> (tensor<8xf32>, tensor<12x8xf32>)
  %1:3 = func.call @upwards_kept(%x) : (tensor<8xf32>) -> (tensor<8xf32>, tensor<12x8xf32>, tensor<12x8xf32>)
  %2:2 = func.call @downwards(%x) : (tensor<8xf32>) -> (tensor<8xf32>, tensor<12x8xf32>)
  %3:3 = func.call @downwards_kept(%x) : (tensor<8xf32>) -> (tensor<8xf32>, tensor<12x8xf32>, tensor<12x8xf32>)
  %4:2 = func.call @shifted(%x) : (tensor<8xf32>) -> (tensor<8xf32>, tensor<12x8xf32>)
  %5:3 = func.call @shifted_kept(%x) : (tensor<8xf32>) -> (tensor<8xf32>, tensor<12x8xf32>, tensor<12x8xf32>)
  check.expect_eq %0#0, %1#0 : tensor<8xf32>
  check.expect_eq %0#1, %1#1 : tensor<12x8xf32>
  check.expect_eq %2#0, %3#0 : tensor<8xf32>
  check.expect_eq %2#1, %3#1 : tensor<12x8xf32>
  check.expect_eq %4#0, %5#0 : tensor<8xf32>
  check.expect_eq %4#1, %5#1 : tensor<12x8xf32>
  return
}

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
    %d = stablehlo.multiply %g, %w : tensor<8xf32>
    %h = stablehlo.add %d, %w : tensor<8xf32>
    %n = stablehlo.add %i, %one : tensor<i64>
    stablehlo.return %h, %n : tensor<8xf32>, tensor<i64>
  }
  return %1#0, %0#2 : tensor<8xf32>, tensor<12x8xf32>
}

func.func @upwards_kept(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<12x8xf32>, tensor<12x8xf32>) {
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
    %d = stablehlo.multiply %g, %w : tensor<8xf32>
    %h = stablehlo.add %d, %w : tensor<8xf32>
    %n = stablehlo.add %i, %one : tensor<i64>
    stablehlo.return %h, %n : tensor<8xf32>, tensor<i64>
  }
  return %1#0, %0#2, %0#1 : tensor<8xf32>, tensor<12x8xf32>, tensor<12x8xf32>
}

func.func @downwards(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<12x8xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %eleven = stablehlo.constant dense<11> : tensor<i64>
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
    %at = stablehlo.subtract %eleven, %i : tensor<i64>
    %r = stablehlo.dynamic_slice %0#1, %at, %zero, sizes = [1, 8] : (tensor<12x8xf32>, tensor<i64>, tensor<i64>) -> tensor<1x8xf32>
    %t = stablehlo.dynamic_slice %0#2, %at, %zero, sizes = [1, 8] : (tensor<12x8xf32>, tensor<i64>, tensor<i64>) -> tensor<1x8xf32>
    %u = stablehlo.add %r, %t : tensor<1x8xf32>
    %w = stablehlo.reshape %u : (tensor<1x8xf32>) -> tensor<8xf32>
    %d = stablehlo.multiply %g, %w : tensor<8xf32>
    %h = stablehlo.add %d, %w : tensor<8xf32>
    %n = stablehlo.add %i, %one : tensor<i64>
    stablehlo.return %h, %n : tensor<8xf32>, tensor<i64>
  }
  return %1#0, %0#2 : tensor<8xf32>, tensor<12x8xf32>
}

func.func @downwards_kept(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<12x8xf32>, tensor<12x8xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %eleven = stablehlo.constant dense<11> : tensor<i64>
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
    %at = stablehlo.subtract %eleven, %i : tensor<i64>
    %r = stablehlo.dynamic_slice %0#1, %at, %zero, sizes = [1, 8] : (tensor<12x8xf32>, tensor<i64>, tensor<i64>) -> tensor<1x8xf32>
    %t = stablehlo.dynamic_slice %0#2, %at, %zero, sizes = [1, 8] : (tensor<12x8xf32>, tensor<i64>, tensor<i64>) -> tensor<1x8xf32>
    %u = stablehlo.add %r, %t : tensor<1x8xf32>
    %w = stablehlo.reshape %u : (tensor<1x8xf32>) -> tensor<8xf32>
    %d = stablehlo.multiply %g, %w : tensor<8xf32>
    %h = stablehlo.add %d, %w : tensor<8xf32>
    %n = stablehlo.add %i, %one : tensor<i64>
    stablehlo.return %h, %n : tensor<8xf32>, tensor<i64>
  }
  return %1#0, %0#2, %0#1 : tensor<8xf32>, tensor<12x8xf32>, tensor<12x8xf32>
}

func.func @shifted(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<12x8xf32>) {
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
    %next = stablehlo.add %i, %one : tensor<i64>
    %at = stablehlo.subtract %next, %one : tensor<i64>
    %r = stablehlo.dynamic_slice %0#1, %at, %zero, sizes = [1, 8] : (tensor<12x8xf32>, tensor<i64>, tensor<i64>) -> tensor<1x8xf32>
    %t = stablehlo.dynamic_slice %0#2, %at, %zero, sizes = [1, 8] : (tensor<12x8xf32>, tensor<i64>, tensor<i64>) -> tensor<1x8xf32>
    %u = stablehlo.add %r, %t : tensor<1x8xf32>
    %w = stablehlo.reshape %u : (tensor<1x8xf32>) -> tensor<8xf32>
    %d = stablehlo.multiply %g, %w : tensor<8xf32>
    %h = stablehlo.add %d, %w : tensor<8xf32>
    %n = stablehlo.add %i, %one : tensor<i64>
    stablehlo.return %h, %n : tensor<8xf32>, tensor<i64>
  }
  return %1#0, %0#2 : tensor<8xf32>, tensor<12x8xf32>
}

func.func @shifted_kept(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<12x8xf32>, tensor<12x8xf32>) {
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
    %next = stablehlo.add %i, %one : tensor<i64>
    %at = stablehlo.subtract %next, %one : tensor<i64>
    %r = stablehlo.dynamic_slice %0#1, %at, %zero, sizes = [1, 8] : (tensor<12x8xf32>, tensor<i64>, tensor<i64>) -> tensor<1x8xf32>
    %t = stablehlo.dynamic_slice %0#2, %at, %zero, sizes = [1, 8] : (tensor<12x8xf32>, tensor<i64>, tensor<i64>) -> tensor<1x8xf32>
    %u = stablehlo.add %r, %t : tensor<1x8xf32>
    %w = stablehlo.reshape %u : (tensor<1x8xf32>) -> tensor<8xf32>
    %d = stablehlo.multiply %g, %w : tensor<8xf32>
    %h = stablehlo.add %d, %w : tensor<8xf32>
    %n = stablehlo.add %i, %one : tensor<i64>
    stablehlo.return %h, %n : tensor<8xf32>, tensor<i64>
  }
  return %1#0, %0#2, %0#1 : tensor<8xf32>, tensor<12x8xf32>, tensor<12x8xf32>
}
