// RUN: tenon-opt %s --fusion-mark-filled-stacks | FileCheck %s

// The first stack is only written, each slice once. The second one is read, the
// third one is longer than the loop, and of the fourth one only a part of each
// slice is written.

// CHECK-LABEL: func.func @main
// CHECK: stablehlo.while
// CHECK-SAME: attributes {step.filled = array<i64: 2>}
func.func @main(%x: tensor<8xf32>) -> (tensor<3x8xf32>, tensor<3x8xf32>, tensor<4x8xf32>, tensor<3x9xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %start = stablehlo.constant dense<0.0> : tensor<3x8xf32>
  %longer = stablehlo.constant dense<0.0> : tensor<4x8xf32>
  %wider = stablehlo.constant dense<0.0> : tensor<3x9xf32>
  %0:6 = stablehlo.while(%i = %zero, %v = %x, %a = %start, %b = %start, %c = %longer, %d = %wider) : tensor<i32>, tensor<8xf32>, tensor<3x8xf32>, tensor<3x8xf32>, tensor<4x8xf32>, tensor<3x9xf32>
  cond {
    %more = stablehlo.compare LT, %i, %three, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %t = stablehlo.tanh %v : tensor<8xf32>
    %r = stablehlo.reshape %t : (tensor<8xf32>) -> tensor<1x8xf32>
    %s = stablehlo.dynamic_slice %b, %i, %zero, sizes = [1, 8] : (tensor<3x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
    %u = stablehlo.add %r, %s : tensor<1x8xf32>
    %an = stablehlo.dynamic_update_slice %a, %r, %i, %zero : (tensor<3x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<3x8xf32>
    %bn = stablehlo.dynamic_update_slice %b, %u, %i, %zero : (tensor<3x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<3x8xf32>
    %cn = stablehlo.dynamic_update_slice %c, %r, %i, %zero : (tensor<4x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<4x8xf32>
    %dn = stablehlo.dynamic_update_slice %d, %r, %i, %zero : (tensor<3x9xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<3x9xf32>
    %n = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %n, %t, %an, %bn, %cn, %dn : tensor<i32>, tensor<8xf32>, tensor<3x8xf32>, tensor<3x8xf32>, tensor<4x8xf32>, tensor<3x9xf32>
  }
  return %0#2, %0#3, %0#4, %0#5 : tensor<3x8xf32>, tensor<3x8xf32>, tensor<4x8xf32>, tensor<3x9xf32>
}
