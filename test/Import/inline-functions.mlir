// RUN: tenon-opt %s --import-inline-functions --split-input-file --mlir-print-debuginfo | FileCheck %s

// Calls of calls, in loops too, leave one function; an inlined operation is at a
// call site inside a call site.

// CHECK-LABEL: func.func @main
// CHECK-NOT: call
// CHECK: stablehlo.while
// CHECK: stablehlo.add %{{.*}} : tensor<4xf32> loc(#[[OUTER:.*]])
// CHECK-NOT: func.func
// CHECK-DAG: #[[ADD:.*]] = loc("add")
// CHECK-DAG: #[[TWICE:.*]] = loc("twice")
// CHECK-DAG: #[[STEP:.*]] = loc("step")
// CHECK-DAG: #[[INNER:.*]] = loc(callsite(#[[ADD]] at #[[TWICE]]))
// CHECK-DAG: #[[OUTER]] = loc(callsite(#[[INNER]] at #[[STEP]]))
func.func public @main(%x: tensor<4xf32>, %n: tensor<i32>) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<4xf32>
  cond {
    %c = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %i, %one : tensor<i32>
    %w = func.call @quadruple(%v) : (tensor<4xf32>) -> tensor<4xf32> loc("step")
    stablehlo.return %next, %w : tensor<i32>, tensor<4xf32>
  }
  return %0#1 : tensor<4xf32>
}
func.func private @quadruple(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @twice(%x) : (tensor<4xf32>) -> tensor<4xf32> loc("twice")
  return %0 : tensor<4xf32>
}
func.func private @twice(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.add %x, %x : tensor<4xf32> loc("add")
  return %0 : tensor<4xf32>
}

// -----

// A composite is its decomposition; a function nobody calls is gone.

// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>
// CHECK: %[[R:.*]] = stablehlo.multiply %[[X]], %[[X]]
// CHECK: return %[[R]]
// CHECK-NOT: func.func
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "stablehlo.composite"(%x) <{name = "my.square", decomposition = @square}> : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @square(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.multiply %x, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @unread(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
