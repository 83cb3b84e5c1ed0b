// RUN: tenon-opt %s --split-input-file --memory-order-operations | FileCheck %s

// The update of the first parameter runs before the second gradient is made.

// CHECK-LABEL: func.func @main
// CHECK: stablehlo.tanh
// CHECK: stablehlo.subtract
// CHECK: stablehlo.sine
// CHECK: stablehlo.subtract
func.func @main(%p: tensor<512xf32> {step.role = #step.role<parameter>, step.successor = 0 : i64},
                %q: tensor<512xf32> {step.role = #step.role<parameter>, step.successor = 1 : i64},
                %x: tensor<512xf32> {step.role = #step.role<batch>}) -> (tensor<512xf32>, tensor<512xf32>) {
  %0 = step.group elementwise(%x) : (tensor<512xf32>) -> tensor<512xf32> {
  ^bb0(%a: tensor<512xf32>):
    %t = stablehlo.tanh %a : tensor<512xf32>
    step.yield %t : tensor<512xf32>
  }
  %1 = step.group elementwise(%x) : (tensor<512xf32>) -> tensor<512xf32> {
  ^bb0(%a: tensor<512xf32>):
    %t = stablehlo.sine %a : tensor<512xf32>
    step.yield %t : tensor<512xf32>
  }
  %2 = step.group elementwise(%p, %0) : (tensor<512xf32>, tensor<512xf32>) -> tensor<512xf32> {
  ^bb0(%a: tensor<512xf32>, %b: tensor<512xf32>):
    %t = stablehlo.subtract %a, %b : tensor<512xf32>
    step.yield %t : tensor<512xf32>
  }
  %3 = step.group elementwise(%q, %1) : (tensor<512xf32>, tensor<512xf32>) -> tensor<512xf32> {
  ^bb0(%a: tensor<512xf32>, %b: tensor<512xf32>):
    %t = stablehlo.subtract %a, %b : tensor<512xf32>
    step.yield %t : tensor<512xf32>
  }
  return %2, %3 : tensor<512xf32>, tensor<512xf32>
}

// -----

// Also for readers through other names of the old value.

// CHECK-LABEL: func.func @main
// CHECK: stablehlo.sine
// CHECK: stablehlo.subtract
func.func @main(%p: tensor<512xf32> {step.role = #step.role<parameter>, step.successor = 0 : i64},
                %x: tensor<512xf32> {step.role = #step.role<batch>}) -> (tensor<512xf32>, tensor<512xf32>) {
  %name = stablehlo.reshape %p : (tensor<512xf32>) -> tensor<2x256xf32>
  %behind:2 = stablehlo.optimization_barrier %x, %name : tensor<512xf32>, tensor<2x256xf32>
  %0 = step.group elementwise(%x) : (tensor<512xf32>) -> tensor<512xf32> {
  ^bb0(%a: tensor<512xf32>):
    %t = stablehlo.tanh %a : tensor<512xf32>
    step.yield %t : tensor<512xf32>
  }
  %1 = step.group elementwise(%p, %0) : (tensor<512xf32>, tensor<512xf32>) -> tensor<512xf32> {
  ^bb0(%a: tensor<512xf32>, %b: tensor<512xf32>):
    %t = stablehlo.subtract %a, %b : tensor<512xf32>
    step.yield %t : tensor<512xf32>
  }
  %2 = step.group generic(%behind#1) : (tensor<2x256xf32>) -> tensor<512xf32> {
  ^bb0(%a: tensor<2x256xf32>):
    %s = stablehlo.sine %a : tensor<2x256xf32>
    %t = stablehlo.reshape %s : (tensor<2x256xf32>) -> tensor<512xf32>
    step.yield %t : tensor<512xf32>
  }
  return %1, %2 : tensor<512xf32>, tensor<512xf32>
}

// -----

// An update waits for the last reader of the old value: the second gradient is
// made from the first parameter.

// CHECK-LABEL: func.func @main
// CHECK: stablehlo.tanh
// CHECK: stablehlo.sine
// CHECK: stablehlo.subtract
func.func @main(%p: tensor<512xf32> {step.role = #step.role<parameter>, step.successor = 0 : i64},
                %x: tensor<512xf32> {step.role = #step.role<batch>}) -> (tensor<512xf32>, tensor<512xf32>) {
  %0 = step.group elementwise(%x) : (tensor<512xf32>) -> tensor<512xf32> {
  ^bb0(%a: tensor<512xf32>):
    %t = stablehlo.tanh %a : tensor<512xf32>
    step.yield %t : tensor<512xf32>
  }
  %1 = step.group elementwise(%p, %0) : (tensor<512xf32>, tensor<512xf32>) -> tensor<512xf32> {
  ^bb0(%a: tensor<512xf32>, %b: tensor<512xf32>):
    %t = stablehlo.subtract %a, %b : tensor<512xf32>
    step.yield %t : tensor<512xf32>
  }
  %2 = step.group elementwise(%p) : (tensor<512xf32>) -> tensor<512xf32> {
  ^bb0(%a: tensor<512xf32>):
    %t = stablehlo.sine %a : tensor<512xf32>
    step.yield %t : tensor<512xf32>
  }
  return %1, %2 : tensor<512xf32>, tensor<512xf32>
}
