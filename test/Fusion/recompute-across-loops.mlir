// RUN: tenon-opt %s --split-input-file --fusion-recompute-across-loops | FileCheck %s
// RUN: tenon-opt %s --split-input-file --fusion-recompute-across-loops=levels=1 | FileCheck %s --check-prefix=LEVEL1

// Both values that are read again follow from the product, which no stack holds
// yet: it is stacked instead of them, and read at the index of the round that
// computed it.

// CHECK-LABEL: func.func @main
// CHECK: %[[FORWARD:.*]]:3 = stablehlo.while
// CHECK-SAME: tensor<i32>, tensor<8x8xf32>, tensor<3x8x8xf32>
// CHECK: %[[DOT:.*]] = stablehlo.dot_general
// CHECK: stablehlo.tanh %[[DOT]]
// CHECK: %[[SLICE:.*]] = stablehlo.reshape %[[DOT]] : (tensor<8x8xf32>) -> tensor<1x8x8xf32>
// CHECK: stablehlo.dynamic_update_slice %{{.*}}, %[[SLICE]], %iterArg
// CHECK: stablehlo.while
// CHECK: %[[AT:.*]] = stablehlo.subtract
// CHECK: %[[READ:.*]] = stablehlo.dynamic_slice %[[FORWARD]]#2, %[[AT]]
// CHECK: %[[AGAIN:.*]] = stablehlo.reshape %[[READ]]
// CHECK: %[[TANH:.*]] = stablehlo.tanh %[[AGAIN]]
// CHECK: stablehlo.multiply %[[TANH]], %[[TANH]]
func.func @main(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %start = stablehlo.constant dense<0.0> : tensor<3x8x8xf32>
  %0:4 = stablehlo.while(%i = %zero, %v = %x, %a = %start, %b = %start) : tensor<i32>, tensor<8x8xf32>, tensor<3x8x8xf32>, tensor<3x8x8xf32>
  cond {
    %more = stablehlo.compare LT, %i, %three, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %p = stablehlo.dot_general %v, %w, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %t = stablehlo.tanh %p : tensor<8x8xf32>
    %q = stablehlo.multiply %t, %t : tensor<8x8xf32>
    %c = stablehlo.cosine %p : tensor<8x8xf32>
    %q1 = stablehlo.reshape %q : (tensor<8x8xf32>) -> tensor<1x8x8xf32>
    %c1 = stablehlo.reshape %c : (tensor<8x8xf32>) -> tensor<1x8x8xf32>
    %as = stablehlo.dynamic_update_slice %a, %q1, %i, %zero, %zero : (tensor<3x8x8xf32>, tensor<1x8x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<3x8x8xf32>
    %bs = stablehlo.dynamic_update_slice %b, %c1, %i, %zero, %zero : (tensor<3x8x8xf32>, tensor<1x8x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<3x8x8xf32>
    %n = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %n, %t, %as, %bs : tensor<i32>, tensor<8x8xf32>, tensor<3x8x8xf32>, tensor<3x8x8xf32>
  }
  %1:2 = stablehlo.while(%i = %zero, %g = %0#1) : tensor<i32>, tensor<8x8xf32>
  cond {
    %more = stablehlo.compare LT, %i, %three, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %at = stablehlo.subtract %two, %i : tensor<i32>
    %r = stablehlo.dynamic_slice %0#2, %at, %zero, %zero, sizes = [1, 8, 8] : (tensor<3x8x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x8x8xf32>
    %s = stablehlo.dynamic_slice %0#3, %at, %zero, %zero, sizes = [1, 8, 8] : (tensor<3x8x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x8x8xf32>
    %u = stablehlo.add %r, %s : tensor<1x8x8xf32>
    %u1 = stablehlo.reshape %u : (tensor<1x8x8xf32>) -> tensor<8x8xf32>
    %h = stablehlo.multiply %g, %u1 : tensor<8x8xf32>
    %n = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %n, %h : tensor<i32>, tensor<8x8xf32>
  }
  return %1#1 : tensor<8x8xf32>
}

// -----

// What a round drops the dimension of rounds from was given it only to be
// stacked: where it is computed again, neither stands between the operations.

// CHECK-LABEL: func.func @dropped
// CHECK: stablehlo.while
// CHECK: stablehlo.while
// CHECK: %[[TANH:.*]] = stablehlo.tanh
// CHECK-NEXT: %[[SQUARE:.*]] = stablehlo.multiply %[[TANH]], %[[TANH]] : tensor<8x8xf32>
// CHECK: stablehlo.multiply %{{.*}}, %[[SQUARE]] : tensor<8x8xf32>
func.func @dropped(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %start = stablehlo.constant dense<0.0> : tensor<3x8x8xf32>
  %0:4 = stablehlo.while(%i = %zero, %v = %x, %a = %start, %b = %start) : tensor<i32>, tensor<8x8xf32>, tensor<3x8x8xf32>, tensor<3x8x8xf32>
  cond {
    %more = stablehlo.compare LT, %i, %three, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %p = stablehlo.dot_general %v, %w, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %t = stablehlo.tanh %p : tensor<8x8xf32>
    %q = stablehlo.multiply %t, %t : tensor<8x8xf32>
    %p1 = stablehlo.reshape %p : (tensor<8x8xf32>) -> tensor<1x8x8xf32>
    %q1 = stablehlo.reshape %q : (tensor<8x8xf32>) -> tensor<1x8x8xf32>
    %as = stablehlo.dynamic_update_slice %a, %p1, %i, %zero, %zero : (tensor<3x8x8xf32>, tensor<1x8x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<3x8x8xf32>
    %bs = stablehlo.dynamic_update_slice %b, %q1, %i, %zero, %zero : (tensor<3x8x8xf32>, tensor<1x8x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<3x8x8xf32>
    %n = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %n, %t, %as, %bs : tensor<i32>, tensor<8x8xf32>, tensor<3x8x8xf32>, tensor<3x8x8xf32>
  }
  %1:2 = stablehlo.while(%i = %zero, %g = %0#1) : tensor<i32>, tensor<8x8xf32>
  cond {
    %more = stablehlo.compare LT, %i, %three, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %at = stablehlo.subtract %two, %i : tensor<i32>
    %r = stablehlo.dynamic_slice %0#2, %at, %zero, %zero, sizes = [1, 8, 8] : (tensor<3x8x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x8x8xf32>
    %s = stablehlo.dynamic_slice %0#3, %at, %zero, %zero, sizes = [1, 8, 8] : (tensor<3x8x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x8x8xf32>
    %r1 = stablehlo.reshape %r : (tensor<1x8x8xf32>) -> tensor<8x8xf32>
    %s1 = stablehlo.reshape %s : (tensor<1x8x8xf32>) -> tensor<8x8xf32>
    %h = stablehlo.multiply %g, %s1 : tensor<8x8xf32>
    %k = stablehlo.add %h, %r1 : tensor<8x8xf32>
    %n = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %n, %k : tensor<i32>, tensor<8x8xf32>
  }
  return %1#1 : tensor<8x8xf32>
}

// -----

// The second loop reads two rounds later, so what it reads is not what its round
// would compute; the loops stay as they are.

// CHECK-LABEL: func.func @main
// CHECK: stablehlo.while
// CHECK-SAME: tensor<i32>, tensor<8xf32>, tensor<3x8xf32>, tensor<3x8xf32>
// CHECK: stablehlo.while
// CHECK-NOT: stablehlo.sine
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %start = stablehlo.constant dense<0.0> : tensor<3x8xf32>
  %0:4 = stablehlo.while(%i = %zero, %v = %x, %a = %start, %b = %start) : tensor<i32>, tensor<8xf32>, tensor<3x8xf32>, tensor<3x8xf32>
  cond {
    %more = stablehlo.compare LT, %i, %three, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %s = stablehlo.sine %v : tensor<8xf32>
    %d = stablehlo.multiply %s, %s : tensor<8xf32>
    %s1 = stablehlo.reshape %s : (tensor<8xf32>) -> tensor<1x8xf32>
    %d1 = stablehlo.reshape %d : (tensor<8xf32>) -> tensor<1x8xf32>
    %as = stablehlo.dynamic_update_slice %a, %s1, %i, %zero : (tensor<3x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<3x8xf32>
    %bs = stablehlo.dynamic_update_slice %b, %d1, %i, %zero : (tensor<3x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<3x8xf32>
    %n = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %n, %s, %as, %bs : tensor<i32>, tensor<8xf32>, tensor<3x8xf32>, tensor<3x8xf32>
  }
  %1:2 = stablehlo.while(%i = %zero, %g = %0#1) : tensor<i32>, tensor<8xf32>
  cond {
    %more = stablehlo.compare LT, %i, %three, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %at = stablehlo.add %two, %i : tensor<i32>
    %r = stablehlo.dynamic_slice %0#2, %at, %zero, sizes = [1, 8] : (tensor<3x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
    %t = stablehlo.dynamic_slice %0#3, %at, %zero, sizes = [1, 8] : (tensor<3x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
    %u = stablehlo.add %r, %t : tensor<1x8xf32>
    %w = stablehlo.reshape %u : (tensor<1x8xf32>) -> tensor<8xf32>
    %h = stablehlo.multiply %g, %w : tensor<8xf32>
    %n = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %n, %h : tensor<i32>, tensor<8xf32>
  }
  return %1#1 : tensor<8xf32>
}

// -----

// A forward loop that never runs leaves its stacks as they start.

// CHECK-LABEL: func.func @main
// CHECK: stablehlo.while
// CHECK-SAME: tensor<i32>, tensor<8xf32>, tensor<3x8xf32>, tensor<3x8xf32>
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %start = stablehlo.constant dense<0.0> : tensor<3x8xf32>
  %0:4 = stablehlo.while(%i = %zero, %v = %x, %a = %start, %b = %start) : tensor<i32>, tensor<8xf32>, tensor<3x8xf32>, tensor<3x8xf32>
  cond {
    %more = stablehlo.compare LT, %i, %zero, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %s = stablehlo.cosine %v : tensor<8xf32>
    %d = stablehlo.multiply %s, %s : tensor<8xf32>
    %s1 = stablehlo.reshape %s : (tensor<8xf32>) -> tensor<1x8xf32>
    %d1 = stablehlo.reshape %d : (tensor<8xf32>) -> tensor<1x8xf32>
    %as = stablehlo.dynamic_update_slice %a, %s1, %i, %zero : (tensor<3x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<3x8xf32>
    %bs = stablehlo.dynamic_update_slice %b, %d1, %i, %zero : (tensor<3x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<3x8xf32>
    %n = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %n, %s, %as, %bs : tensor<i32>, tensor<8xf32>, tensor<3x8xf32>, tensor<3x8xf32>
  }
  %1:2 = stablehlo.while(%i = %zero, %g = %0#1) : tensor<i32>, tensor<8xf32>
  cond {
    %more = stablehlo.compare LT, %i, %three, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %r = stablehlo.dynamic_slice %0#2, %i, %zero, sizes = [1, 8] : (tensor<3x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
    %t = stablehlo.dynamic_slice %0#3, %i, %zero, sizes = [1, 8] : (tensor<3x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
    %u = stablehlo.add %r, %t : tensor<1x8xf32>
    %w = stablehlo.reshape %u : (tensor<1x8xf32>) -> tensor<8xf32>
    %h = stablehlo.multiply %g, %w : tensor<8xf32>
    %n = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %n, %h : tensor<i32>, tensor<8xf32>
  }
  return %1#1 : tensor<8xf32>
}

// -----

// Two loops read what the first one stacks; the partner is the one that reads
// most. For next to nothing, no product is computed again; a level higher it is,
// from the slice of the weights and the value that is stacked anyway.

// CHECK-LABEL: func.func @layers
// CHECK-SAME: step.loop_savings = array<i64: 0>
// CHECK: stablehlo.while
// CHECK-SAME: tensor<i32>, tensor<8x8xf32>, tensor<3x8x8xf32>, tensor<3x8x8xf32>
// CHECK-COUNT-1: stablehlo.dot_general
// CHECK-NOT: stablehlo.dot_general

// LEVEL1-LABEL: func.func @layers
// LEVEL1-SAME: step.loop_savings = array<i64: 768>
// LEVEL1: %[[FORWARD:.*]]:3 = stablehlo.while
// LEVEL1-SAME: tensor<i32>, tensor<8x8xf32>, tensor<3x8x8xf32>
// LEVEL1: stablehlo.dot_general
// LEVEL1: stablehlo.while
// LEVEL1-NOT: stablehlo.dot_general
// LEVEL1: stablehlo.while
// LEVEL1: %[[AT:.*]] = stablehlo.subtract
// LEVEL1: %[[READ:.*]] = stablehlo.dynamic_slice %[[FORWARD]]#2, %[[AT]]
// LEVEL1: %[[X:.*]] = stablehlo.reshape %[[READ]]
// LEVEL1: %[[PART:.*]] = stablehlo.dynamic_slice %arg1, %[[AT]]
// LEVEL1: %[[W:.*]] = stablehlo.reshape %[[PART]]
// LEVEL1: %[[DOT:.*]] = stablehlo.dot_general %[[X]], %[[W]]
// LEVEL1: stablehlo.tanh %[[DOT]]
func.func @layers(%x: tensor<8x8xf32>, %w: tensor<3x8x8xf32>) -> tensor<8x8xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %start = stablehlo.constant dense<0.0> : tensor<3x8x8xf32>
  %0:4 = stablehlo.while(%i = %zero, %v = %x, %a = %start, %b = %start) : tensor<i32>, tensor<8x8xf32>, tensor<3x8x8xf32>, tensor<3x8x8xf32>
  cond {
    %more = stablehlo.compare LT, %i, %three, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %ws = stablehlo.dynamic_slice %w, %i, %zero, %zero, sizes = [1, 8, 8] : (tensor<3x8x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x8x8xf32>
    %wi = stablehlo.reshape %ws : (tensor<1x8x8xf32>) -> tensor<8x8xf32>
    %p = stablehlo.dot_general %v, %wi, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %s = stablehlo.tanh %p : tensor<8x8xf32>
    %v1 = stablehlo.reshape %v : (tensor<8x8xf32>) -> tensor<1x8x8xf32>
    %s1 = stablehlo.reshape %s : (tensor<8x8xf32>) -> tensor<1x8x8xf32>
    %as = stablehlo.dynamic_update_slice %a, %v1, %i, %zero, %zero : (tensor<3x8x8xf32>, tensor<1x8x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<3x8x8xf32>
    %bs = stablehlo.dynamic_update_slice %b, %s1, %i, %zero, %zero : (tensor<3x8x8xf32>, tensor<1x8x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<3x8x8xf32>
    %y = stablehlo.add %v, %s : tensor<8x8xf32>
    %n = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %n, %y, %as, %bs : tensor<i32>, tensor<8x8xf32>, tensor<3x8x8xf32>, tensor<3x8x8xf32>
  }
  // Another forward loop, which is no partner.
  %1:2 = stablehlo.while(%i = %zero, %v = %0#1) : tensor<i32>, tensor<8x8xf32>
  cond {
    %more = stablehlo.compare LT, %i, %three, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %r = stablehlo.dynamic_slice %0#2, %i, %zero, %zero, sizes = [1, 8, 8] : (tensor<3x8x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x8x8xf32>
    %r1 = stablehlo.reshape %r : (tensor<1x8x8xf32>) -> tensor<8x8xf32>
    %y = stablehlo.add %v, %r1 : tensor<8x8xf32>
    %n = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %n, %y : tensor<i32>, tensor<8x8xf32>
  }
  %2:2 = stablehlo.while(%i = %zero, %g = %1#1) : tensor<i32>, tensor<8x8xf32>
  cond {
    %more = stablehlo.compare LT, %i, %three, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %two = stablehlo.constant dense<2> : tensor<i32>
    %k = stablehlo.subtract %two, %i : tensor<i32>
    %r = stablehlo.dynamic_slice %0#2, %k, %zero, %zero, sizes = [1, 8, 8] : (tensor<3x8x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x8x8xf32>
    %t = stablehlo.dynamic_slice %0#3, %k, %zero, %zero, sizes = [1, 8, 8] : (tensor<3x8x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x8x8xf32>
    %u = stablehlo.add %r, %t : tensor<1x8x8xf32>
    %u1 = stablehlo.reshape %u : (tensor<1x8x8xf32>) -> tensor<8x8xf32>
    %h = stablehlo.multiply %g, %u1 : tensor<8x8xf32>
    %n = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %n, %h : tensor<i32>, tensor<8x8xf32>
  }
  return %2#1 : tensor<8x8xf32>
}
