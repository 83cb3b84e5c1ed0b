// RUN: not tenon-opt %s --memory-choose-recomputation 2>&1 | FileCheck %s

// A text may hold a plan of a loop's body that is none.

// CHECK: error: the plan of recomputation runs operation 4, but its problem has 3
func.func @main(%x: tensor<16x16xf32>) -> (tensor<i32>, tensor<16x16xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %a:2 = stablehlo.while(%i = %zero, %c = %x) : tensor<i32>, tensor<16x16xf32> attributes {step.loop_rows = [{bytes = 64 : i64, nanoseconds = 30 : i64, order = array<i32: 0, 1, 2, 4>, rows = array<i32>}]}
  cond {
    %0 = step.group elementwise(%i) : (tensor<i32>) -> tensor<i1> {
    ^bb0(%p: tensor<i32>):
      %q = stablehlo.constant dense<5> : tensor<i32>
      %1 = stablehlo.compare LT, %p, %q : (tensor<i32>, tensor<i32>) -> tensor<i1>
      step.yield %1 : tensor<i1>
    }
    stablehlo.return %0 : tensor<i1>
  } do {
    %next = step.group elementwise(%i) attributes {step.nanoseconds = 1 : i64} : (tensor<i32>) -> tensor<i32> {
    ^bb0(%p: tensor<i32>):
      %one = stablehlo.constant dense<1> : tensor<i32>
      %1 = stablehlo.add %p, %one : tensor<i32>
      step.yield %1 : tensor<i32>
    }
    %t = step.group row(%c) attributes {step.nanoseconds = 2 : i64} : (tensor<16x16xf32>) -> tensor<16x16xf32> {
    ^bb0(%p: tensor<16x16xf32>):
      %1 = stablehlo.tanh %p : tensor<16x16xf32>
      step.yield %1 : tensor<16x16xf32>
    }
    stablehlo.return %next, %t : tensor<i32>, tensor<16x16xf32>
  }
  return %a#0, %a#1 : tensor<i32>, tensor<16x16xf32>
}
