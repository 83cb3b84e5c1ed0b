// What generic clean-ups may do: merge and erase what only computes, never
// merge barriers, and leave alone what has effects.

// RUN: tenon-opt %s --cse --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @barriers
// CHECK-COUNT-2: stablehlo.optimization_barrier %arg0 : tensor<4xf32>
// CHECK-NOT: stablehlo.optimization_barrier
// CHECK: return
func.func @barriers(%a: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = stablehlo.optimization_barrier %a : tensor<4xf32>
  %1 = stablehlo.optimization_barrier %a : tensor<4xf32>
  // Nobody reads this one.
  %2 = stablehlo.optimization_barrier %a : tensor<4xf32>
  %3 = stablehlo.tanh %0 : tensor<4xf32>
  %4 = stablehlo.tanh %1 : tensor<4xf32>
  return %3, %4 : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @pure
// CHECK-NEXT: %[[TANH:.*]] = stablehlo.tanh %arg0
// CHECK-NEXT: return %[[TANH]], %[[TANH]]
func.func @pure(%a: tensor<4xf32>, %zero: tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = stablehlo.tanh %a : tensor<4xf32>
  %1 = stablehlo.tanh %a : tensor<4xf32>
  %2 = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  %3 = stablehlo.while(%k = %zero) : tensor<f32>
    cond {
      %4 = stablehlo.compare LT, %k, %zero : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %4 : tensor<i1>
    } do {
      stablehlo.return %k : tensor<f32>
    }
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// Random numbers are drawn anew each time, but only if somebody wants them.
// CHECK-LABEL: func.func @random
// CHECK-COUNT-2: stablehlo.rng %
// CHECK-NOT: stablehlo.rng %
// CHECK: return
func.func @random(%f: tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %shape = stablehlo.constant dense<4> : tensor<1xi64>
  %0 = stablehlo.rng %f, %f, %shape, distribution = NORMAL : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<4xf32>
  %1 = stablehlo.rng %f, %f, %shape, distribution = NORMAL : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<4xf32>
  %2 = stablehlo.rng %f, %f, %shape, distribution = NORMAL : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @calls
// CHECK-NEXT: stablehlo.custom_call @effect() {has_side_effect = true}
// CHECK-NEXT: stablehlo.custom_call @effect() {has_side_effect = true}
// CHECK-NEXT: %[[PURE:.*]] = stablehlo.custom_call @pure
// CHECK-NEXT: return %[[PURE]], %[[PURE]]
func.func @calls(%a: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  stablehlo.custom_call @effect() {has_side_effect = true} : () -> ()
  stablehlo.custom_call @effect() {has_side_effect = true} : () -> ()
  %0 = stablehlo.custom_call @pure(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = stablehlo.custom_call @pure(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = stablehlo.custom_call @unused(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @channels
// CHECK: "stablehlo.send"
// CHECK: "stablehlo.recv"
// CHECK: "stablehlo.outfeed"
// CHECK: "stablehlo.infeed"
func.func @channels(%a: tensor<4xf32>, %t: !stablehlo.token) {
  %0 = "stablehlo.send"(%a, %t) <{channel_handle = #stablehlo.channel_handle<handle = 5, type = 2>, is_host_transfer = true}> : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token
  %1:2 = "stablehlo.recv"(%t) <{channel_handle = #stablehlo.channel_handle<handle = 6, type = 3>, is_host_transfer = true}> : (!stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)
  %2 = "stablehlo.outfeed"(%a, %t) : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token
  %3:2 = "stablehlo.infeed"(%t) : (!stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)
  return
}

// Constants are one each, and no operation folds here.
// CHECK-LABEL: func.func @constants
// CHECK-NEXT: %[[ONE:.*]] = stablehlo.constant dense<1.0
// CHECK-NEXT: %[[SUM:.*]] = stablehlo.add %[[ONE]], %[[ONE]]
// CHECK-NEXT: return %[[SUM]], %[[ONE]]
func.func @constants() -> (tensor<f32>, tensor<f32>) {
  %0 = stablehlo.constant dense<1.0> : tensor<f32>
  %1 = stablehlo.constant dense<1.0> : tensor<f32>
  %2 = stablehlo.add %0, %1 : tensor<f32>
  return %2, %1 : tensor<f32>, tensor<f32>
}
