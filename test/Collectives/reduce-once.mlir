// RUN: tenon-opt %s --collectives-reduce-once --split-input-file | FileCheck %s

// What a loop adds up is summed over the ranks behind it, with the value that it
// starts with added then.

// CHECK-LABEL: func.func @main(%arg0: tensor<2x4xf32>, %arg1: tensor<4x2xf32>)
// CHECK: %[[ZERO:.*]] = stablehlo.constant dense<0.000000e+00> : tensor<4x2xf32>
// CHECK: stablehlo.while(%iterArg = %{{.*}}, %[[HERE:.*]] = %[[ZERO]])
// CHECK-NOT: all_reduce
// CHECK: stablehlo.transpose
// CHECK: %[[SUM:.*]] = stablehlo.add %[[HERE]], %{{.*}} : tensor<4x2xf32>
// CHECK: %[[ALL:.*]] = "stablehlo.all_reduce"(%{{.*}}#1)
// CHECK: : (tensor<4x2xf32>) -> tensor<4x2xf32>
// CHECK: %[[WHOLE:.*]] = stablehlo.add %arg1, %[[ALL]]
// CHECK: return %[[WHOLE]]
func.func @main(%x: tensor<2x4xf32>, %start: tensor<4x2xf32>) -> tensor<4x2xf32> {
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = stablehlo.while(%i = %c0, %sum = %start) : tensor<i32>, tensor<4x2xf32>
    cond {
      %c3 = stablehlo.constant dense<3> : tensor<i32>
      %more = stablehlo.compare LT, %i, %c3 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %c1 = stablehlo.constant dense<1> : tensor<i32>
      %next = stablehlo.add %i, %c1 : tensor<i32>
      %0 = "stablehlo.all_reduce"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
      ^bb0(%p: tensor<f32>, %q: tensor<f32>):
        %s = stablehlo.add %p, %q : tensor<f32>
        stablehlo.return %s : tensor<f32>
      }) : (tensor<2x4xf32>) -> tensor<2x4xf32>
      %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<2x4xf32>) -> tensor<4x2xf32>
      %2 = stablehlo.add %sum, %1 : tensor<4x2xf32>
      stablehlo.return %next, %2 : tensor<i32>, tensor<4x2xf32>
    }
  return %r#1 : tensor<4x2xf32>
}

// -----

// Who reads the sum in every round needs it over all ranks.

// CHECK-LABEL: func.func @main
// CHECK: stablehlo.while
// CHECK: "stablehlo.all_reduce"
// CHECK: return
// CHECK-NOT: all_reduce
func.func @main(%x: tensor<2x4xf32>, %start: tensor<4x2xf32>) -> tensor<4x2xf32> {
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = stablehlo.while(%i = %c0, %sum = %start) : tensor<i32>, tensor<4x2xf32>
    cond {
      %c3 = stablehlo.constant dense<3> : tensor<i32>
      %more = stablehlo.compare LT, %i, %c3 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %c1 = stablehlo.constant dense<1> : tensor<i32>
      %next = stablehlo.add %i, %c1 : tensor<i32>
      %0 = "stablehlo.all_reduce"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
      ^bb0(%p: tensor<f32>, %q: tensor<f32>):
        %s = stablehlo.add %p, %q : tensor<f32>
        stablehlo.return %s : tensor<f32>
      }) : (tensor<2x4xf32>) -> tensor<2x4xf32>
      %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<2x4xf32>) -> tensor<4x2xf32>
      %3 = stablehlo.tanh %sum : tensor<4x2xf32>
      %2 = stablehlo.add %3, %1 : tensor<4x2xf32>
      stablehlo.return %next, %2 : tensor<i32>, tensor<4x2xf32>
    }
  return %r#1 : tensor<4x2xf32>
}

// -----

// Sums over other ranks are not one.

// CHECK-LABEL: func.func @main
// CHECK: "stablehlo.all_reduce"(%arg0)
// CHECK: "stablehlo.all_reduce"(%arg1)
// CHECK: stablehlo.add
// CHECK-NOT: all_reduce
func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "stablehlo.all_reduce"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %s = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "stablehlo.all_reduce"(%y) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>, use_global_device_ids}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %s = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = stablehlo.add %0, %1 : tensor<4xf32>
  return %2 : tensor<4xf32>
}
