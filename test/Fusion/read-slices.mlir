// RUN: tenon-opt %s --fusion-read-slices --remarks-filter="fusion-.*" --remark-format=emitRemark 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// One slice has two readers, each of which reads the stack. The slice of what
// the loop carries stays, since the stack is written in the round, and
// so does the one that a reduction reads.

// CHECK-LABEL: func.func @main
// CHECK: stablehlo.while({{.*}}%[[OWN:[a-zA-Z0-9_]+]] = %arg1,
// CHECK: step.group  elementwise(%{{.*}}, %arg0, %{{.*}})
// CHECK: stablehlo.dynamic_slice
// CHECK: stablehlo.reshape
// CHECK: stablehlo.multiply
// CHECK: step.group  elementwise(%{{.*}}, %arg0, %{{.*}})
// CHECK: stablehlo.dynamic_slice
// CHECK: stablehlo.tanh
// CHECK: step.group  elementwise(%[[OWN]], %{{.*}}) : (tensor<3x8xf32>, tensor<i32>) -> tensor<1x8xf32>
// CHECK: step.group  elementwise(%{{.*}}, %{{.*}}) : (tensor<8xf32>, tensor<1x8xf32>) -> tensor<8xf32>
// CHECK: step.group  elementwise(%arg2, %{{.*}}) : (tensor<3x8xf32>, tensor<i32>) -> tensor<1x8xf32>
// CHECK: step.group  row
// REMARK: [Passed] Slice{{.*}}Readers=2
// REMARK: [Missed] Slice{{.*}}what reads it is no element-wise kernel
func.func @main(%stack: tensor<3x8xf32>, %state: tensor<3x8xf32>, %other: tensor<3x8xf32>) -> (tensor<8xf32>, tensor<3x8xf32>, tensor<1xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %x = stablehlo.constant dense<1.0> : tensor<8xf32>
  %sum = stablehlo.constant dense<1.0> : tensor<1xf32>
  %0:4 = stablehlo.while(%i = %zero, %v = %x, %own = %state, %last = %sum) : tensor<i32>, tensor<8xf32>, tensor<3x8xf32>, tensor<1xf32>
  cond {
    %more = step.group elementwise(%i) : (tensor<i32>) -> tensor<i1> {
    ^bb0(%a: tensor<i32>):
      %b = stablehlo.constant dense<3> : tensor<i32>
      %c = stablehlo.compare LT, %a, %b, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      step.yield %c : tensor<i1>
    }
    stablehlo.return %more : tensor<i1>
  } do {
    %s = step.group elementwise(%stack, %i) : (tensor<3x8xf32>, tensor<i32>) -> tensor<1x8xf32> {
    ^bb0(%a: tensor<3x8xf32>, %b: tensor<i32>):
      %c = stablehlo.constant dense<0> : tensor<i32>
      %d = stablehlo.dynamic_slice %a, %b, %c, sizes = [1, 8] : (tensor<3x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
      step.yield %d : tensor<1x8xf32>
    }
    %r = stablehlo.reshape %s : (tensor<1x8xf32>) -> tensor<8xf32>
    %m = step.group elementwise(%v, %r) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32> {
    ^bb0(%a: tensor<8xf32>, %b: tensor<8xf32>):
      %c = stablehlo.multiply %a, %b : tensor<8xf32>
      step.yield %c : tensor<8xf32>
    }
    %t = step.group elementwise(%m, %s) : (tensor<8xf32>, tensor<1x8xf32>) -> tensor<1x8xf32> {
    ^bb0(%a: tensor<8xf32>, %b: tensor<1x8xf32>):
      %c = stablehlo.tanh %b : tensor<1x8xf32>
      %d = stablehlo.reshape %a : (tensor<8xf32>) -> tensor<1x8xf32>
      %e = stablehlo.add %c, %d : tensor<1x8xf32>
      step.yield %e : tensor<1x8xf32>
    }
    %o = step.group elementwise(%own, %i) : (tensor<3x8xf32>, tensor<i32>) -> tensor<1x8xf32> {
    ^bb0(%a: tensor<3x8xf32>, %b: tensor<i32>):
      %c = stablehlo.constant dense<0> : tensor<i32>
      %d = stablehlo.dynamic_slice %a, %b, %c, sizes = [1, 8] : (tensor<3x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
      step.yield %d : tensor<1x8xf32>
    }
    %p = step.group elementwise(%m, %o) : (tensor<8xf32>, tensor<1x8xf32>) -> tensor<8xf32> {
    ^bb0(%a: tensor<8xf32>, %b: tensor<1x8xf32>):
      %c = stablehlo.reshape %b : (tensor<1x8xf32>) -> tensor<8xf32>
      %d = stablehlo.add %a, %c : tensor<8xf32>
      step.yield %d : tensor<8xf32>
    }
    %u = step.group generic(%own, %t, %i) : (tensor<3x8xf32>, tensor<1x8xf32>, tensor<i32>) -> tensor<3x8xf32> {
    ^bb0(%a: tensor<3x8xf32>, %b: tensor<1x8xf32>, %c: tensor<i32>):
      %d = stablehlo.constant dense<0> : tensor<i32>
      %e = stablehlo.dynamic_update_slice %a, %b, %c, %d : (tensor<3x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<3x8xf32>
      step.yield %e : tensor<3x8xf32>
    }
    %q = step.group elementwise(%other, %i) : (tensor<3x8xf32>, tensor<i32>) -> tensor<1x8xf32> {
    ^bb0(%a: tensor<3x8xf32>, %b: tensor<i32>):
      %c = stablehlo.constant dense<0> : tensor<i32>
      %d = stablehlo.dynamic_slice %a, %b, %c, sizes = [1, 8] : (tensor<3x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
      step.yield %d : tensor<1x8xf32>
    }
    %w = step.group row(%q) : (tensor<1x8xf32>) -> tensor<1xf32> {
    ^bb0(%a: tensor<1x8xf32>):
      %b = stablehlo.constant dense<0.0> : tensor<f32>
      %c = stablehlo.reduce(%a init: %b) applies stablehlo.add across dimensions = [1] : (tensor<1x8xf32>, tensor<f32>) -> tensor<1xf32>
      step.yield %c : tensor<1xf32>
    }
    %n = step.group elementwise(%i) : (tensor<i32>) -> tensor<i32> {
    ^bb0(%a: tensor<i32>):
      %b = stablehlo.constant dense<1> : tensor<i32>
      %c = stablehlo.add %a, %b : tensor<i32>
      step.yield %c : tensor<i32>
    }
    stablehlo.return %n, %p, %u, %w : tensor<i32>, tensor<8xf32>, tensor<3x8xf32>, tensor<1xf32>
  }
  return %0#1, %0#2, %0#3 : tensor<8xf32>, tensor<3x8xf32>, tensor<1xf32>
}
