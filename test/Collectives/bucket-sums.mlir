// RUN: tenon-opt %s --collectives-bucket-sums=bytes=64 --split-input-file | FileCheck %s

// Two sums of 16 bytes share a bucket, the update with the first waits for
// it; 64 bytes are enough for a collective of their own.

// CHECK-LABEL: func.func @main
// CHECK: %[[LARGE:.*]] = "stablehlo.all_reduce"(%arg2)
// CHECK: %[[Y:.*]] = stablehlo.tanh %arg1
// CHECK: %[[JOINED:.*]] = stablehlo.concatenate
// CHECK-SAME: -> tensor<8xf32>
// CHECK: %[[SUMS:.*]] = "stablehlo.all_reduce"(%[[JOINED]])
// CHECK: stablehlo.slice %[[SUMS]] [0:4]
// CHECK: stablehlo.slice %[[SUMS]] [4:8]
// CHECK: stablehlo.add %arg0
// CHECK-NOT: all_reduce
func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>, %l: tensor<16xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<16xf32>) {
  %0 = "stablehlo.all_reduce"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %s = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  %u = stablehlo.add %x, %0 : tensor<4xf32>
  %1 = "stablehlo.all_reduce"(%l) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %s = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<16xf32>) -> tensor<16xf32>
  %h = stablehlo.tanh %y : tensor<4xf32>
  %2 = "stablehlo.all_reduce"(%h) <{channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %s = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return %u, %2, %1 : tensor<4xf32>, tensor<4xf32>, tensor<16xf32>
}

// -----

// Each of two buckets would need the other: the second collective has the first
// bucket written.

// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = "stablehlo.all_reduce"(%arg0)
// CHECK: %[[N:.*]] = stablehlo.negate %[[A]]
// CHECK: "stablehlo.all_reduce"
// CHECK: stablehlo.maximum
// CHECK: "stablehlo.all_reduce"
// CHECK: stablehlo.add
// CHECK-NOT: all_reduce
func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = "stablehlo.all_reduce"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %s = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  %n = stablehlo.negate %0 : tensor<4xf32>
  %1 = "stablehlo.all_reduce"(%n) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %s = stablehlo.maximum %p, %q : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "stablehlo.all_reduce"(%y) <{channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %s = stablehlo.maximum %p, %q : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  %m = stablehlo.tanh %2 : tensor<4xf32>
  %3 = "stablehlo.all_reduce"(%m) <{channel_handle = #stablehlo.channel_handle<handle = 4, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %s = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return %1, %3 : tensor<4xf32>, tensor<4xf32>
}
