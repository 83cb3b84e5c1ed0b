// RUN: tenon-opt %s --fusion-form-groups --verify-grouped-form | FileCheck %s
// RUN: tenon-opt %s --fusion-form-groups=recompute=false --verify-grouped-form | FileCheck %s --check-prefix=KEEP

// A forward and a backward part with a sort between them, which stands for what
// is not grouped. The derivative of tanh needs tanh(p), and the product needs
// its square. Keeping %p is enough: it is read after the peak in any case.

// CHECK-LABEL: func.func @main
// The forward group keeps nothing but what the sort reads ...
// CHECK: %[[FORWARD:.*]] = step.group elementwise(%arg0) : (tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
// CHECK: stablehlo.tanh
// CHECK: step.group generic(%[[FORWARD]])
// CHECK: stablehlo.sort
// ... and the backward group computes the tanh again.
// CHECK: step.group elementwise(%arg0, %{{.*}}) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
// CHECK: stablehlo.tanh
// CHECK-NOT: step.group

// KEEP-LABEL: func.func @main
// KEEP: step.group elementwise(%arg0) : (tensor<4096x4096xf32>) -> (tensor<4096x4096xf32>, tensor<4096x4096xf32>)
// KEEP: step.group generic
// KEEP: step.group elementwise
// KEEP-NOT: stablehlo.tanh
func.func @main(%p: tensor<4096x4096xf32>) -> tensor<4096x4096xf32> {
  %one = stablehlo.constant dense<1.0> : tensor<4096x4096xf32>
  %t = stablehlo.tanh %p : tensor<4096x4096xf32>
  %square = stablehlo.multiply %t, %t : tensor<4096x4096xf32>
  %derivative = stablehlo.subtract %one, %square : tensor<4096x4096xf32>
  %three = stablehlo.add %t, %p : tensor<4096x4096xf32>
  %sorted = "stablehlo.sort"(%three) <{dimension = 0 : i64, is_stable = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %less = stablehlo.compare LT, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  }) : (tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %gradient = stablehlo.multiply %sorted, %derivative : tensor<4096x4096xf32>
  return %gradient : tensor<4096x4096xf32>
}
