// RUN: tenon-opt %s --partition=mesh=data=4 -o %t.parts
// RUN: tenon-opt %t.parts --sharding-fold-devices='axis=data ranks=2' -o %t.two
// RUN: FileCheck %s --check-prefix=TWO < %t.two
// RUN: tenon-opt %t.two --check-folding=devices=%t.parts
// RUN: tenon-opt %t.parts --sharding-fold-devices='axis=data ranks=1' -o %t.one
// RUN: FileCheck %s --check-prefix=ONE < %t.one
// RUN: tenon-opt %t.one --check-folding=devices=%t.parts
// RUN: tenon-opt %t.two --collectives-expand=only-trees | FileCheck %s --check-prefix=EXPANDED

// Each rank computes two devices' rows alone, what is equal on all devices once,
// and its subtree of the sum.

// TWO: module attributes {mhlo.num_partitions = 2 : i32, step.logical_shards = "data=4", step.mesh = "data=2"}
// TWO: func.func @main(%arg0: tensor<4x4xf32> {step.layout = "[data, -]"{{.*}}}, %arg1: tensor<4xf32>
// TWO-DAG: %[[X0:.*]] = stablehlo.slice %arg0 [0:2, 0:4]
// TWO-DAG: %[[X1:.*]] = stablehlo.slice %arg0 [2:4, 0:4]
// TWO: stablehlo.tanh %arg1
// TWO-NOT: stablehlo.tanh
// TWO: %[[S0:.*]] = stablehlo.reduce
// TWO: %[[S1:.*]] = stablehlo.reduce
// TWO: %[[S:.*]] = stablehlo.add %[[S0]], %[[S1]] : tensor<4xf32>
// TWO: "stablehlo.all_reduce"(%[[S]])
// TWO-SAME: replica_groups = dense<{{\[\[}}0, 1]]>
// TWO: step.sums_by_tree
// TWO: stablehlo.concatenate

// One rank in all has no mesh, and nothing to exchange. Operations keep their
// order: each stands for all devices before the next one comes.

// ONE: module attributes {mhlo.num_partitions = 1 : i32, step.logical_shards = "data=4"}
// ONE-NOT: step.layout
// ONE-NOT: all_reduce
// ONE-COUNT-4: stablehlo.multiply
// ONE-COUNT-4: stablehlo.reduce
// ONE: return

// EXPANDED-NOT: all_reduce
// EXPANDED: stablehlo.all_to_all
// EXPANDED: stablehlo.add
// EXPANDED: stablehlo.all_gather
func.func @main(%x: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<mesh<["data"=4]>, [{"data"}, {}]>}, %w: tensor<4xf32>) -> (tensor<4xf32>, tensor<8x4xf32> {sdy.sharding = #sdy.sharding<mesh<["data"=4]>, [{"data"}, {}]>}) {
  %cst = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.tanh %w : tensor<4xf32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [1] : (tensor<4xf32>) -> tensor<8x4xf32>
  %2 = stablehlo.multiply %x, %1 : tensor<8x4xf32>
  %3 = stablehlo.reduce(%2 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32>
  return %3, %2 : tensor<4xf32>, tensor<8x4xf32>
}
