// RUN: tenon-opt %s --split-input-file --fusion-update-in-loops | FileCheck %s

// Each round reads its own layer, computes its gradient and updates the layer;
// the rate is computed before the loop. Downwards, as a backward loop runs.

// CHECK-LABEL: func.func @main
// CHECK: %[[RATE:.*]] = stablehlo.sine %arg2
// CHECK: stablehlo.while(%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}, %[[P:.*]] = %arg0)
// CHECK-SAME: tensor<i32>, tensor<8xf32>, tensor<3x8xf32>
// CHECK: %[[AT:.*]] = stablehlo.subtract
// CHECK: stablehlo.dynamic_slice %[[P]], %[[AT]]
// CHECK: %[[OWN:.*]] = stablehlo.dynamic_slice %[[P]], %[[AT]]
// CHECK: %[[DECAYED:.*]] = stablehlo.multiply %[[OWN]], %{{.*}} : tensor<1x8xf32>
// CHECK: %[[STEP:.*]] = stablehlo.multiply %{{.*}}, %{{.*}} : tensor<1x8xf32>
// CHECK: %[[NEW:.*]] = stablehlo.subtract %[[DECAYED]], %[[STEP]] : tensor<1x8xf32>
// CHECK: stablehlo.dynamic_update_slice %[[P]], %[[NEW]], %[[AT]]
// CHECK-NOT: tensor<3x8xf32>, tensor<3x8xf32>
// CHECK: return
func.func @main(%p: tensor<3x8xf32> {step.role = #step.role<parameter>, step.successor = 0 : i64},
                %x: tensor<8xf32> {step.role = #step.role<batch>},
                %rate: tensor<f32> {step.role = #step.role<hyper_parameter>}) -> tensor<3x8xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %start = stablehlo.constant dense<0.0> : tensor<3x8xf32>
  %0:3 = stablehlo.while(%i = %zero, %v = %x, %a = %start) : tensor<i32>, tensor<8xf32>, tensor<3x8xf32>
  cond {
    %more = stablehlo.compare LT, %i, %three, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %at = stablehlo.subtract %two, %i : tensor<i32>
    %w = stablehlo.dynamic_slice %p, %at, %zero, sizes = [1, 8] : (tensor<3x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
    %w1 = stablehlo.reshape %w : (tensor<1x8xf32>) -> tensor<8xf32>
    %g = stablehlo.multiply %v, %w1 : tensor<8xf32>
    %g1 = stablehlo.reshape %g : (tensor<8xf32>) -> tensor<1x8xf32>
    %as = stablehlo.dynamic_update_slice %a, %g1, %at, %zero : (tensor<3x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<3x8xf32>
    %n = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %n, %g, %as : tensor<i32>, tensor<8xf32>, tensor<3x8xf32>
  }
  %s = stablehlo.sine %rate : tensor<f32>
  %b = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<3x8xf32>
  %c = stablehlo.constant dense<2.0> : tensor<3x8xf32>
  %decayed = stablehlo.multiply %p, %c : tensor<3x8xf32>
  %d = stablehlo.multiply %0#2, %b : tensor<3x8xf32>
  %1 = stablehlo.subtract %decayed, %d : tensor<3x8xf32>
  return %1 : tensor<3x8xf32>
}

// -----

// The norm of all gradients is not there before the loop ends.

// CHECK-LABEL: func.func @main
// CHECK: stablehlo.while
// CHECK: stablehlo.reduce
// CHECK: stablehlo.subtract %arg0
func.func @main(%p: tensor<3x8xf32> {step.role = #step.role<parameter>, step.successor = 0 : i64},
                %x: tensor<8xf32> {step.role = #step.role<batch>}) -> tensor<3x8xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %start = stablehlo.constant dense<0.0> : tensor<3x8xf32>
  %nothing = stablehlo.constant dense<0.0> : tensor<f32>
  %0:3 = stablehlo.while(%i = %zero, %v = %x, %a = %start) : tensor<i32>, tensor<8xf32>, tensor<3x8xf32>
  cond {
    %more = stablehlo.compare LT, %i, %three, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %g = stablehlo.sine %v : tensor<8xf32>
    %g1 = stablehlo.reshape %g : (tensor<8xf32>) -> tensor<1x8xf32>
    %as = stablehlo.dynamic_update_slice %a, %g1, %i, %zero : (tensor<3x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<3x8xf32>
    %n = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %n, %g, %as : tensor<i32>, tensor<8xf32>, tensor<3x8xf32>
  }
  %sum = stablehlo.reduce(%0#2 init: %nothing) applies stablehlo.add across dimensions = [0, 1] : (tensor<3x8xf32>, tensor<f32>) -> tensor<f32>
  %b = stablehlo.broadcast_in_dim %sum, dims = [] : (tensor<f32>) -> tensor<3x8xf32>
  %d = stablehlo.multiply %0#2, %b : tensor<3x8xf32>
  %1 = stablehlo.subtract %p, %d : tensor<3x8xf32>
  return %1 : tensor<3x8xf32>
}

// -----

// A loop that never runs updates nothing, and one whose old state is read behind
// it cannot write over it.

// CHECK-LABEL: func.func @main
// CHECK: stablehlo.while
// CHECK: stablehlo.subtract %arg0
// CHECK: stablehlo.while
// CHECK: stablehlo.subtract %arg1
func.func @main(%p: tensor<3x8xf32> {step.role = #step.role<parameter>, step.successor = 0 : i64},
                %q: tensor<3x8xf32> {step.role = #step.role<parameter>, step.successor = 1 : i64},
                %x: tensor<8xf32> {step.role = #step.role<batch>}) -> (tensor<3x8xf32>, tensor<3x8xf32>, tensor<3x8xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %start = stablehlo.constant dense<0.0> : tensor<3x8xf32>
  %0:2 = stablehlo.while(%i = %zero, %a = %start) : tensor<i32>, tensor<3x8xf32>
  cond {
    %more = stablehlo.compare LT, %i, %zero, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %g1 = stablehlo.reshape %x : (tensor<8xf32>) -> tensor<1x8xf32>
    %as = stablehlo.dynamic_update_slice %a, %g1, %i, %zero : (tensor<3x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<3x8xf32>
    %n = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %n, %as : tensor<i32>, tensor<3x8xf32>
  }
  %1 = stablehlo.subtract %p, %0#1 : tensor<3x8xf32>
  %2:2 = stablehlo.while(%i = %zero, %a = %start) : tensor<i32>, tensor<3x8xf32>
  cond {
    %more = stablehlo.compare LT, %i, %three, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %g1 = stablehlo.reshape %x : (tensor<8xf32>) -> tensor<1x8xf32>
    %as = stablehlo.dynamic_update_slice %a, %g1, %i, %zero : (tensor<3x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<3x8xf32>
    %n = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %n, %as : tensor<i32>, tensor<3x8xf32>
  }
  %3 = stablehlo.subtract %q, %2#1 : tensor<3x8xf32>
  %4 = stablehlo.reverse %q, dims = [0] : tensor<3x8xf32>
  return %1, %3, %4 : tensor<3x8xf32>, tensor<3x8xf32>, tensor<3x8xf32>
}
