// RUN: tenon-opt %s --split-input-file --memory-separate-results | FileCheck %s

// The second use of a value and a batch argument are copied; a state argument
// that leaves as its own successor is not.

// CHECK-LABEL: func.func @main
// CHECK: [[Y:%.*]] = step.group elementwise(%arg1)
// CHECK: [[C:%.*]] = step.group elementwise([[Y]])
// CHECK: [[X:%.*]] = step.group elementwise(%arg1)
// CHECK: return %arg0, [[Y]], [[C]], [[X]]
func.func @main(%s: tensor<8xf32> {step.role = #step.role<state>, step.successor = 0 : i64},
                %x: tensor<8xf32> {step.role = #step.role<batch>})
    -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %0 = step.group elementwise(%x) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    %t = stablehlo.tanh %a : tensor<8xf32>
    step.yield %t : tensor<8xf32>
  }
  return %s, %0, %0, %x : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// -----

// Values that leave once and are computed by a group need no copies.

// CHECK-LABEL: func.func @main
// CHECK-COUNT-1: step.group
// CHECK-NOT: step.group
func.func @main(%s: tensor<8xf32> {step.role = #step.role<state>, step.successor = 0 : i64}) -> (tensor<8xf32>, tensor<8xf32>) {
  %0:2 = step.group elementwise(%s) : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  ^bb0(%a: tensor<8xf32>):
    %t = stablehlo.tanh %a : tensor<8xf32>
    %u = stablehlo.sine %a : tensor<8xf32>
    step.yield %t, %u : tensor<8xf32>, tensor<8xf32>
  }
  return %0#0, %0#1 : tensor<8xf32>, tensor<8xf32>
}
