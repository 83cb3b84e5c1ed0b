// RUN: tenon-opt %s --simplify-trim-loops --split-input-file | FileCheck %s

// The weights never change; `twin` equals `sum` in every round; nobody reads
// `spare`, which computes itself.

// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[W:.*]]: tensor<4xf32>, %[[A:.*]]: tensor<4xf32>, %[[N:.*]]: tensor<i32>)
// CHECK: %[[L:.*]]:2 = stablehlo.while(%[[I:.*]] = %{{.*}}, %[[SUM:.*]] = %[[A]]) : tensor<i32>, tensor<4xf32>
// CHECK: compare LT, %[[I]], %[[N]]
// CHECK: do {
// CHECK-NOT: stablehlo.tanh
// CHECK: %[[P:.*]] = stablehlo.multiply %[[SUM]], %[[W]]
// CHECK: %[[Q:.*]] = stablehlo.add %[[SUM]], %[[P]]
// CHECK: return %[[W]], %[[L]]#1, %[[L]]#1
func.func @main(%weights: tensor<4xf32>, %a: tensor<4xf32>, %n: tensor<i32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %0:6 = stablehlo.while(%i = %zero, %limit = %n, %w = %weights, %sum = %a, %twin = %a, %spare = %a) : tensor<i32>, tensor<i32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  cond {
    %c = stablehlo.compare LT, %i, %limit, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %p = stablehlo.multiply %twin, %w : tensor<4xf32>
    %q = stablehlo.add %sum, %p : tensor<4xf32>
    %t = stablehlo.tanh %spare : tensor<4xf32>
    %next = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %next, %limit, %w, %q, %q, %t : tensor<i32>, tensor<i32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
  return %0#2, %0#3, %0#4 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// Values that are only read by the next round of one that is read stay; a loop in
// a loop is trimmed first.

// CHECK-LABEL: func.func @nested
// CHECK: stablehlo.while(%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}) : tensor<i32>, tensor<4xf32>, tensor<4xf32>
// CHECK: stablehlo.while(%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}) : tensor<i32>, tensor<4xf32>
func.func @nested(%a: tensor<4xf32>, %n: tensor<i32>) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %0:4 = stablehlo.while(%i = %zero, %x = %a, %y = %a, %unread = %a) : tensor<i32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  cond {
    %c = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %in:3 = stablehlo.while(%j = %zero, %u = %y, %v = %unread) : tensor<i32>, tensor<4xf32>, tensor<4xf32>
    cond {
      %c = stablehlo.compare LT, %j, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %t = stablehlo.tanh %u : tensor<4xf32>
      %s = stablehlo.sine %v : tensor<4xf32>
      %nj = stablehlo.add %j, %one : tensor<i32>
      stablehlo.return %nj, %t, %s : tensor<i32>, tensor<4xf32>, tensor<4xf32>
    }
    %next = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %next, %y, %in#1, %in#2 : tensor<i32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
  return %0#1 : tensor<4xf32>
}
