// RUN: tenon-opt %s --simplify-drop-barriers | FileCheck %s --check-prefix=DROPPED
// RUN: tenon-opt %s --simplify | FileCheck %s --check-prefix=KEPT
// RUN: tenon-opt %s --simplify=drop-barriers=true | FileCheck %s --check-prefix=MERGED

// A checkpoint: the second sine stands behind a barrier, in the step and in a
// loop. Without the barriers the copies are duplicates.

// DROPPED-LABEL: func.func @main
// DROPPED-NOT: optimization_barrier
// DROPPED: %[[A:.*]] = stablehlo.sine %arg0
// DROPPED: %[[B:.*]] = stablehlo.sine %arg0
// DROPPED: stablehlo.multiply %[[A]], %[[B]]

// KEPT-LABEL: func.func @main
// KEPT: stablehlo.sine %arg0
// KEPT: %[[BEHIND:.*]]:2 = stablehlo.optimization_barrier %arg0, %arg1
// KEPT: stablehlo.sine %[[BEHIND]]#0
// KEPT: stablehlo.while
// KEPT: stablehlo.cosine
// KEPT: optimization_barrier
// KEPT: stablehlo.cosine

// MERGED-LABEL: func.func @main
// MERGED: %[[A:.*]] = stablehlo.sine %arg0
// MERGED-NOT: stablehlo.sine
// MERGED: stablehlo.multiply %[[A]], %[[A]]
// MERGED: stablehlo.while
// MERGED: stablehlo.cosine
// MERGED-NOT: stablehlo.cosine
func.func @main(%x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %a = stablehlo.sine %x : tensor<8xf32>
  %behind:2 = stablehlo.optimization_barrier %x, %y : tensor<8xf32>, tensor<8xf32>
  %b = stablehlo.sine %behind#0 : tensor<8xf32>
  %c = stablehlo.multiply %a, %b : tensor<8xf32>
  %d = stablehlo.add %c, %behind#1 : tensor<8xf32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %loop:2 = stablehlo.while(%i = %zero, %v = %d) : tensor<i32>, tensor<8xf32>
  cond {
    %more = stablehlo.compare LT, %i, %three, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %next = stablehlo.add %i, %one : tensor<i32>
    %e = stablehlo.cosine %v : tensor<8xf32>
    %again = stablehlo.optimization_barrier %v : tensor<8xf32>
    %f = stablehlo.cosine %again : tensor<8xf32>
    %g = stablehlo.subtract %e, %f : tensor<8xf32>
    stablehlo.return %next, %g : tensor<i32>, tensor<8xf32>
  }
  return %c, %loop#1 : tensor<8xf32>, tensor<8xf32>
}
