// RUN: tenon-opt %s --split-input-file --partition='mesh=data=2,model=2' --verify-diagnostics | FileCheck %s

// The batch is cut along one axis, the features of the first product along the
// other, so that the second one leaves a sum pending.

// CHECK: module attributes {mhlo.num_partitions = 4 : i32, step.mesh = "data=2,model=2"}
// CHECK: func.func @main(%[[X:.*]]: tensor<4x6xf32> {step.layout = "[data, -]", step.whole = tensor<8x6xf32>}
// CHECK-SAME: %[[V:.*]]: tensor<6x2xf32> {step.layout = "[-, model]"
// CHECK-SAME: %[[W:.*]]: tensor<2x6xf32> {step.layout = "[model, -]"
// CHECK-SAME: -> (tensor<4x6xf32> {step.layout = "[data, -]"
// CHECK: %[[H:.*]] = stablehlo.dot_general %[[X]], %[[V]]
// CHECK: %[[T:.*]] = stablehlo.tanh %[[H]] : tensor<4x2xf32>
// CHECK: %[[Y:.*]] = stablehlo.dot_general %[[T]], %[[W]]
// CHECK: %[[R:.*]] = "stablehlo.all_reduce"(%[[Y]])
// CHECK-SAME: dense<{{\[\[}}0, 1], [2, 3]]>
// CHECK: return %[[R]]
module {
  sdy.mesh @mesh = <["data"=2, "model"=2]>
  func.func @main(%x: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
                  %v: tensor<6x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>},
                  %w: tensor<4x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}]>}) -> tensor<8x6xf32> {
    %0 = stablehlo.dot_general %x, %v, contracting_dims = [1] x [0] : (tensor<8x6xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
    %1 = stablehlo.tanh %0 : tensor<8x4xf32>
    %2 = stablehlo.dot_general %1, %w, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
    return %2 : tensor<8x6xf32>
  }
}

// -----

// expected-error@below {{the step is partitioned already, for the mesh "data=2"}}
module attributes {step.mesh = "data=2"} {
  func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
    return %x : tensor<8xf32>
  }
}

// -----

// expected-error@below {{argument 0 is cut along axis 'model' of size 4, and the mesh is data=2,model=2}}
func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<mesh<["model"=4]>, [{"model"}]>}) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}

// -----

func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@below {{cannot be partitioned: step form does not hold it}}
  %0 = "stablehlo.cross-replica-sum"(%x) <{replica_groups = dense<0> : tensor<1x1xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
