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

// -----

// Stacks that start from the same zeros are filled where they lie; what else
// reads the zeros keeps them.

// CHECK-LABEL: func.func @main
// CHECK: [[Z:%.*]] = step.group elementwise() : () -> tensor<4x8xf32>
// CHECK: [[Y:%.*]] = step.group elementwise([[Z]])
// CHECK: [[A:%.*]] = step.group elementwise() : () -> tensor<4x8xf32>
// CHECK: [[B:%.*]] = step.group elementwise() : () -> tensor<4x8xf32>
// CHECK: stablehlo.while(%{{.*}} = %{{.*}}, %{{.*}} = [[A]], %{{.*}} = [[B]])
func.func @main(%n: tensor<i32> {step.role = #step.role<batch>}) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  %z = step.group elementwise() : () -> tensor<4x8xf32> {
    %c = stablehlo.constant dense<0.0> : tensor<4x8xf32>
    step.yield %c : tensor<4x8xf32>
  }
  %y = step.group elementwise(%z) : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %t = stablehlo.cosine %a : tensor<4x8xf32>
    step.yield %t : tensor<4x8xf32>
  }
  %r:3 = stablehlo.while(%i = %n, %s = %z, %u = %z) : tensor<i32>, tensor<4x8xf32>, tensor<4x8xf32>
  cond {
    %p = step.group elementwise(%i) : (tensor<i32>) -> tensor<i1> {
    ^bb0(%j: tensor<i32>):
      %c = stablehlo.constant dense<0> : tensor<i32>
      %more = stablehlo.compare GT, %j, %c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      step.yield %more : tensor<i1>
    }
    stablehlo.return %p : tensor<i1>
  } do {
    %next:3 = step.group elementwise(%i, %s, %u) : (tensor<i32>, tensor<4x8xf32>, tensor<4x8xf32>) -> (tensor<i32>, tensor<4x8xf32>, tensor<4x8xf32>) {
    ^bb0(%j: tensor<i32>, %a: tensor<4x8xf32>, %b: tensor<4x8xf32>):
      %c = stablehlo.constant dense<1> : tensor<i32>
      %less = stablehlo.subtract %j, %c : tensor<i32>
      %t = stablehlo.cosine %a : tensor<4x8xf32>
      %v = stablehlo.sine %b : tensor<4x8xf32>
      step.yield %less, %t, %v : tensor<i32>, tensor<4x8xf32>, tensor<4x8xf32>
    }
    stablehlo.return %next#0, %next#1, %next#2 : tensor<i32>, tensor<4x8xf32>, tensor<4x8xf32>
  }
  return %y, %r#1, %r#2 : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}
