// RUN: tenon-opt %s --collectives-expand | FileCheck %s

// Each of two ranks adds up half of the elements, and a padded one.

// CHECK-LABEL: func.func @all_reduce
// CHECK: %[[X:.*]] = stablehlo.reshape %{{.*}} : (tensor<6xbf16>) -> tensor<2x3xbf16>
// CHECK: %[[E:.*]] = "stablehlo.all_to_all"(%[[X]]) <{{{.*}}concat_dimension = 0 : i64, {{.*}}split_count = 2 : i64, split_dimension = 0 : i64}>
// CHECK: %[[S:.*]] = stablehlo.reduce(%[[E]] init: %{{.*}}) applies stablehlo.add across dimensions = [0] : (tensor<2x3xbf16>, tensor<bf16>) -> tensor<3xbf16>
// CHECK: %[[R:.*]] = stablehlo.reshape %[[S]]
// CHECK: %[[G:.*]] = "stablehlo.all_gather"(%[[R]]) <{all_gather_dim = 0 : i64, {{.*}}use_global_device_ids}> : (tensor<1x3xbf16>) -> tensor<2x3xbf16>
// CHECK: stablehlo.slice %{{.*}} [0:5]
// CHECK-NOT: all_reduce
func.func @all_reduce(%x: tensor<5xbf16>) -> tensor<5xbf16> {
  %0 = "stablehlo.all_reduce"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
  ^bb0(%a: tensor<bf16>, %b: tensor<bf16>):
    %1 = stablehlo.add %a, %b : tensor<bf16>
    stablehlo.return %1 : tensor<bf16>
  }) : (tensor<5xbf16>) -> tensor<5xbf16>
  return %0 : tensor<5xbf16>
}

// Fewer elements than ranks are gathered.

// CHECK-LABEL: func.func @scalar
// CHECK: %[[G:.*]] = "stablehlo.all_gather"(%{{.*}}) <{{.*}}dense<{{.*}}0, 2], [1, 3]]>{{.*}}> : (tensor<1x1xi1>) -> tensor<2x1xi1>
// CHECK: %[[T:.*]] = stablehlo.constant dense<true> : tensor<i1>
// CHECK: stablehlo.reduce(%[[G]] init: %[[T]]) applies stablehlo.and across dimensions = [0]
// CHECK-NOT: all_to_all
func.func @scalar(%x: tensor<i1>) -> tensor<i1> {
  %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>}> ({
  ^bb0(%a: tensor<i1>, %b: tensor<i1>):
    %1 = stablehlo.and %a, %b : tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) : (tensor<i1>) -> tensor<i1>
  return %0 : tensor<i1>
}

// Parts that lie behind another dimension are turned to the front.

// CHECK-LABEL: func.func @reduce_scatter
// CHECK: %[[X:.*]] = stablehlo.reshape %{{.*}} : (tensor<3x4x2xf32>) -> tensor<3x2x4xf32>
// CHECK: %[[T:.*]] = stablehlo.transpose %[[X]], dims = [1, 0, 2]
// CHECK: %[[E:.*]] = "stablehlo.all_to_all"(%[[T]])
// CHECK: %[[S:.*]] = stablehlo.reduce(%[[E]] init: %{{.*}}) applies stablehlo.maximum across dimensions = [0] : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<3x4xf32>
// CHECK: stablehlo.reshape %[[S]] : (tensor<3x4xf32>) -> tensor<3x2x2xf32>
// CHECK-NOT: reduce_scatter
func.func @reduce_scatter(%x: tensor<3x4x2xf32>) -> tensor<3x2x2xf32> {
  %0 = "stablehlo.reduce_scatter"(%x) <{scatter_dimension = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<3x4x2xf32>) -> tensor<3x2x2xf32>
  return %0 : tensor<3x2x2xf32>
}

// CHECK-LABEL: func.func @all_gather
// CHECK: %[[G:.*]] = "stablehlo.all_gather"(%{{.*}}) <{all_gather_dim = 0 : i64, {{.*}}> : (tensor<1x3x8xf32>) -> tensor<2x3x8xf32>
// CHECK: %[[T:.*]] = stablehlo.transpose %[[G]], dims = [1, 0, 2] : (tensor<2x3x8xf32>) -> tensor<3x2x8xf32>
// CHECK: stablehlo.reshape %[[T]] : (tensor<3x2x8xf32>) -> tensor<3x8x2xf32>
func.func @all_gather(%x: tensor<3x4x2xf32>) -> tensor<3x8x2xf32> {
  %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<3x4x2xf32>) -> tensor<3x8x2xf32>
  return %0 : tensor<3x8x2xf32>
}

// CHECK-LABEL: func.func @all_to_all
// CHECK: stablehlo.transpose {{.*}} : (tensor<3x2x4xf32>) -> tensor<2x3x4xf32>
// CHECK: "stablehlo.all_to_all"({{.*}}) <{concat_dimension = 0 : i64, {{.*}}split_dimension = 0 : i64}> : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
// CHECK: stablehlo.transpose {{.*}} : (tensor<2x3x4xf32>) -> tensor<3x2x4xf32>
func.func @all_to_all(%x: tensor<3x4x2xf32>) -> tensor<3x4x2xf32> {
  %0 = "stablehlo.all_to_all"(%x) <{split_dimension = 1 : i64, concat_dimension = 1 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<3x4x2xf32>) -> tensor<3x4x2xf32>
  return %0 : tensor<3x4x2xf32>
}

// In one piece already.

// CHECK-LABEL: func.func @whole
// CHECK-NEXT: "stablehlo.all_gather"
// CHECK-NEXT: "stablehlo.collective_permute"
// CHECK-NEXT: return
func.func @whole(%x: tensor<3x4xf32>) -> (tensor<6x4xf32>, tensor<3x4xf32>) {
  %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<3x4xf32>) -> tensor<6x4xf32>
  %1 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<3x4xf32>) -> tensor<3x4xf32>
  return %0, %1 : tensor<6x4xf32>, tensor<3x4xf32>
}
