// RUN: tenon-opt %s --split-input-file --partition='mesh=x=2' --remarks-filter=partition --remark-format=emitRemark -o %t 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: FileCheck %s < %t

// The gradient of a pool whose windows overlap: each device has the two rows of
// the operand and the row of the source that lie next to its shard, runs five
// windows on ten rows, and keeps eight of them.

// REMARK-NOT: is not cut
// CHECK-LABEL: func.func @main
// CHECK-DAG: %[[BLOCK:.*]] = stablehlo.constant dense<8> : tensor<i32>
// CHECK-DAG: %[[LEAD:.*]] = stablehlo.constant dense<2> : tensor<i32>
// CHECK-DAG: %[[MOST:.*]] = stablehlo.constant dense<3> : tensor<i32>
// CHECK: stablehlo.multiply %{{.*}}, %[[BLOCK]]
// CHECK: stablehlo.slice %arg0 [6:8]
// CHECK-NEXT: stablehlo.collective_permute
// CHECK-NEXT: stablehlo.slice %arg0 [0:2]
// CHECK-NEXT: stablehlo.collective_permute
// CHECK-NEXT: stablehlo.concatenate
// CHECK: stablehlo.maximum %{{.*}}, %[[LEAD]]
// CHECK: stablehlo.minimum %{{.*}}, %[[MOST]]
// CHECK: %[[ROWS:.*]] = stablehlo.dynamic_slice {{.*}} -> tensor<10xf32>
// CHECK: stablehlo.slice %arg1 [3:4]
// CHECK-NEXT: stablehlo.collective_permute
// CHECK-NEXT: stablehlo.slice %arg1 [0:1]
// CHECK-NEXT: stablehlo.collective_permute
// CHECK: %[[ADDED:.*]] = stablehlo.dynamic_slice {{.*}} -> tensor<5xf32>
// CHECK: %[[SUMS:.*]] = "stablehlo.select_and_scatter"(%[[ROWS]], %[[ADDED]], %{{.*}}) <{padding = dense<{{\[\[}}1, 0]]>
// CHECK: stablehlo.dynamic_slice %[[SUMS]], %{{.*}}, sizes = [8]
func.func @main(%x: tensor<16xf32> {sdy.sharding = #sdy.sharding<mesh<["x"=2]>, [{"x"}]>}, %s: tensor<8xf32> {sdy.sharding = #sdy.sharding<mesh<["x"=2]>, [{"x"}]>}) -> tensor<16xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.select_and_scatter"(%x, %s, %zero) <{window_dimensions = array<i64: 3>, window_strides = array<i64: 2>, padding = dense<[[1, 0]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.compare GE, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<16xf32>, tensor<8xf32>, tensor<f32>) -> tensor<16xf32>
  return %0 : tensor<16xf32>
}

// -----

// REMARK: dimension 0 of 'stablehlo.select_and_scatter' is not cut into 2: windows would read the shards of all devices
// CHECK-LABEL: func.func @main
// CHECK: %[[X:.*]] = "stablehlo.all_gather"(%arg0)
// CHECK: "stablehlo.select_and_scatter"(%[[X]],
func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<mesh<["x"=2]>, [{"x"}]>}, %s: tensor<8xf32>) -> tensor<8xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.select_and_scatter"(%x, %s, %zero) <{window_dimensions = array<i64: 7>, padding = dense<[[3, 3]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.compare GE, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<8xf32>, tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
