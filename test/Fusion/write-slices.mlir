// RUN: tenon-opt %s --fusion-write-slices --remarks-filter="fusion-.*" --remark-format=emitRemark 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

// The kernel stores what it computes, one value without a place of its own, and
// what the round begins with. Another one reads the slice that it writes. What
// a reduction computes stays an update of its own.

// CHECK-LABEL: func.func @main
// CHECK: stablehlo.while({{.*}}%[[V:[a-zA-Z0-9_]+]] = %arg0, %[[A:[a-zA-Z0-9_]+]] = %{{.*}}, %[[B:[a-zA-Z0-9_]+]] = %{{.*}}, %[[C:[a-zA-Z0-9_]+]] = %{{.*}}, %[[D:[a-zA-Z0-9_]+]] = %{{.*}})
// CHECK: } do {
// CHECK: %[[MADE:.*]]:3 = step.group  elementwise(%[[V]], %arg1, %[[A]], %{{.*}}, %[[B]]) : ({{.*}}) -> (tensor<8xf32>, tensor<3x8xf32>, tensor<3x8xf32>)
// CHECK: stablehlo.multiply
// CHECK: stablehlo.tanh
// CHECK-COUNT-2: stablehlo.dynamic_update_slice
// CHECK: %[[READ:.*]] = step.group  elementwise(%[[C]], %{{.*}}) : ({{.*}}) -> tensor<3x8xf32>
// CHECK: stablehlo.dynamic_slice
// CHECK: stablehlo.tanh
// CHECK: stablehlo.dynamic_update_slice
// CHECK: step.group  generic(%[[D]]
// CHECK: stablehlo.return %{{.*}}, %[[MADE]]#0, %[[MADE]]#1, %[[MADE]]#2, %[[READ]]
// REMARK: [Passed] Slice
// REMARK: [Passed] Slice
// REMARK: [Passed] Slice
// REMARK: [Missed] Slice{{.*}}no element-wise kernel computes it
func.func @main(%x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<3x8xf32>, tensor<3x8xf32>, tensor<3x8xf32>, tensor<3xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %start = step.group elementwise() : () -> tensor<3x8xf32> {
    %a = stablehlo.constant dense<0.0> : tensor<3x8xf32>
    step.yield %a : tensor<3x8xf32>
  }
  %sums = stablehlo.constant dense<0.0> : tensor<3xf32>
  %0:6 = stablehlo.while(%i = %zero, %v = %x, %one = %start, %two = %start, %three = %start, %four = %sums) : tensor<i32>, tensor<8xf32>, tensor<3x8xf32>, tensor<3x8xf32>, tensor<3x8xf32>, tensor<3xf32>
  cond {
    %more = step.group elementwise(%i) : (tensor<i32>) -> tensor<i1> {
    ^bb0(%a: tensor<i32>):
      %b = stablehlo.constant dense<3> : tensor<i32>
      %c = stablehlo.compare LT, %a, %b, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      step.yield %c : tensor<i1>
    }
    stablehlo.return %more : tensor<i1>
  } do {
    %n = step.group elementwise(%i) : (tensor<i32>) -> tensor<i32> {
    ^bb0(%a: tensor<i32>):
      %b = stablehlo.constant dense<1> : tensor<i32>
      %c = stablehlo.add %a, %b : tensor<i32>
      step.yield %c : tensor<i32>
    }
    %m:2 = step.group elementwise(%v, %y) : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    ^bb0(%a: tensor<8xf32>, %b: tensor<8xf32>):
      %c = stablehlo.multiply %a, %b : tensor<8xf32>
      %d = stablehlo.tanh %c : tensor<8xf32>
      step.yield %c, %d : tensor<8xf32>, tensor<8xf32>
    }
    %r = stablehlo.reshape %m#1 : (tensor<8xf32>) -> tensor<1x8xf32>
    %s = step.group generic(%one, %r, %i) : (tensor<3x8xf32>, tensor<1x8xf32>, tensor<i32>) -> tensor<3x8xf32> {
    ^bb0(%a: tensor<3x8xf32>, %b: tensor<1x8xf32>, %c: tensor<i32>):
      %d = stablehlo.constant dense<0> : tensor<i32>
      %e = stablehlo.dynamic_update_slice %a, %b, %c, %d : (tensor<3x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<3x8xf32>
      step.yield %e : tensor<3x8xf32>
    }
    %w = stablehlo.reshape %v : (tensor<8xf32>) -> tensor<1x8xf32>
    %t = step.group generic(%two, %w, %i) : (tensor<3x8xf32>, tensor<1x8xf32>, tensor<i32>) -> tensor<3x8xf32> {
    ^bb0(%a: tensor<3x8xf32>, %b: tensor<1x8xf32>, %c: tensor<i32>):
      %d = stablehlo.constant dense<0> : tensor<i32>
      %e = stablehlo.dynamic_update_slice %a, %b, %c, %d : (tensor<3x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<3x8xf32>
      step.yield %e : tensor<3x8xf32>
    }
    %o = step.group elementwise(%three, %i) : (tensor<3x8xf32>, tensor<i32>) -> tensor<1x8xf32> {
    ^bb0(%a: tensor<3x8xf32>, %b: tensor<i32>):
      %c = stablehlo.constant dense<0> : tensor<i32>
      %d = stablehlo.dynamic_slice %a, %b, %c, sizes = [1, 8] : (tensor<3x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
      %e = stablehlo.tanh %d : tensor<1x8xf32>
      step.yield %e : tensor<1x8xf32>
    }
    %u = step.group generic(%three, %o, %i) : (tensor<3x8xf32>, tensor<1x8xf32>, tensor<i32>) -> tensor<3x8xf32> {
    ^bb0(%a: tensor<3x8xf32>, %b: tensor<1x8xf32>, %c: tensor<i32>):
      %d = stablehlo.constant dense<0> : tensor<i32>
      %e = stablehlo.dynamic_update_slice %a, %b, %c, %d : (tensor<3x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<3x8xf32>
      step.yield %e : tensor<3x8xf32>
    }
    %p = step.group row(%m#0) : (tensor<8xf32>) -> tensor<f32> {
    ^bb0(%a: tensor<8xf32>):
      %b = stablehlo.constant dense<0.0> : tensor<f32>
      %c = stablehlo.reduce(%a init: %b) applies stablehlo.add across dimensions = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
      step.yield %c : tensor<f32>
    }
    %q = stablehlo.reshape %p : (tensor<f32>) -> tensor<1xf32>
    %z = step.group generic(%four, %q, %i) : (tensor<3xf32>, tensor<1xf32>, tensor<i32>) -> tensor<3xf32> {
    ^bb0(%a: tensor<3xf32>, %b: tensor<1xf32>, %c: tensor<i32>):
      %d = stablehlo.dynamic_update_slice %a, %b, %c : (tensor<3xf32>, tensor<1xf32>, tensor<i32>) -> tensor<3xf32>
      step.yield %d : tensor<3xf32>
    }
    stablehlo.return %n, %m#0, %s, %t, %u, %z : tensor<i32>, tensor<8xf32>, tensor<3x8xf32>, tensor<3x8xf32>, tensor<3x8xf32>, tensor<3xf32>
  }
  return %0#2, %0#3, %0#4, %0#5 : tensor<3x8xf32>, tensor<3x8xf32>, tensor<3x8xf32>, tensor<3xf32>
}

// A kernel that reads another slice than it writes stays apart from the update,
// and so does one behind which the stack is read.

// CHECK-LABEL: func.func @reads_elsewhere
// CHECK: step.group  elementwise(%[[A:[a-zA-Z0-9_]+]], %{{.*}}) : (tensor<3x8xf32>, tensor<i32>) -> tensor<1x8xf32>
// CHECK: step.group  generic(%[[A]]
// CHECK: step.group  elementwise(%[[B:[a-zA-Z0-9_]+]], %{{.*}}) : (tensor<3x8xf32>, tensor<i32>) -> tensor<1x8xf32>
// CHECK: step.group  row(%[[B]])
// CHECK: step.group  generic(%[[B]]
// REMARK: [Missed] Slice{{.*}}the two could not be one kernel
// REMARK: [Missed] Slice{{.*}}the stack is read behind what computes it
func.func @reads_elsewhere(%x: tensor<3x8xf32>, %y: tensor<3x8xf32>) -> (tensor<3x8xf32>, tensor<3x8xf32>, tensor<3xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %sums = stablehlo.constant dense<0.0> : tensor<3xf32>
  %0:4 = stablehlo.while(%i = %zero, %one = %x, %two = %y, %sum = %sums) : tensor<i32>, tensor<3x8xf32>, tensor<3x8xf32>, tensor<3xf32>
  cond {
    %more = step.group elementwise(%i) : (tensor<i32>) -> tensor<i1> {
    ^bb0(%a: tensor<i32>):
      %b = stablehlo.constant dense<3> : tensor<i32>
      %c = stablehlo.compare LT, %a, %b, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      step.yield %c : tensor<i1>
    }
    stablehlo.return %more : tensor<i1>
  } do {
    %n = step.group elementwise(%i) : (tensor<i32>) -> tensor<i32> {
    ^bb0(%a: tensor<i32>):
      %b = stablehlo.constant dense<1> : tensor<i32>
      %c = stablehlo.add %a, %b : tensor<i32>
      step.yield %c : tensor<i32>
    }
    %o = step.group elementwise(%one, %n) : (tensor<3x8xf32>, tensor<i32>) -> tensor<1x8xf32> {
    ^bb0(%a: tensor<3x8xf32>, %b: tensor<i32>):
      %c = stablehlo.constant dense<0> : tensor<i32>
      %d = stablehlo.dynamic_slice %a, %b, %c, sizes = [1, 8] : (tensor<3x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
      %e = stablehlo.tanh %d : tensor<1x8xf32>
      step.yield %e : tensor<1x8xf32>
    }
    %u = step.group generic(%one, %o, %i) : (tensor<3x8xf32>, tensor<1x8xf32>, tensor<i32>) -> tensor<3x8xf32> {
    ^bb0(%a: tensor<3x8xf32>, %b: tensor<1x8xf32>, %c: tensor<i32>):
      %d = stablehlo.constant dense<0> : tensor<i32>
      %e = stablehlo.dynamic_update_slice %a, %b, %c, %d : (tensor<3x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<3x8xf32>
      step.yield %e : tensor<3x8xf32>
    }
    %q = step.group elementwise(%two, %i) : (tensor<3x8xf32>, tensor<i32>) -> tensor<1x8xf32> {
    ^bb0(%a: tensor<3x8xf32>, %b: tensor<i32>):
      %c = stablehlo.constant dense<0> : tensor<i32>
      %d = stablehlo.dynamic_slice %a, %b, %c, sizes = [1, 8] : (tensor<3x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
      %e = stablehlo.tanh %d : tensor<1x8xf32>
      step.yield %e : tensor<1x8xf32>
    }
    %r = step.group row(%two) : (tensor<3x8xf32>) -> tensor<3xf32> {
    ^bb0(%a: tensor<3x8xf32>):
      %b = stablehlo.constant dense<0.0> : tensor<f32>
      %c = stablehlo.reduce(%a init: %b) applies stablehlo.add across dimensions = [1] : (tensor<3x8xf32>, tensor<f32>) -> tensor<3xf32>
      step.yield %c : tensor<3xf32>
    }
    %v = step.group generic(%two, %q, %i) : (tensor<3x8xf32>, tensor<1x8xf32>, tensor<i32>) -> tensor<3x8xf32> {
    ^bb0(%a: tensor<3x8xf32>, %b: tensor<1x8xf32>, %c: tensor<i32>):
      %d = stablehlo.constant dense<0> : tensor<i32>
      %e = stablehlo.dynamic_update_slice %a, %b, %c, %d : (tensor<3x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<3x8xf32>
      step.yield %e : tensor<3x8xf32>
    }
    stablehlo.return %n, %u, %v, %r : tensor<i32>, tensor<3x8xf32>, tensor<3x8xf32>, tensor<3xf32>
  }
  return %0#1, %0#2, %0#3 : tensor<3x8xf32>, tensor<3x8xf32>, tensor<3xf32>
}
