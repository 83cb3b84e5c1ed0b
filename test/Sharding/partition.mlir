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

// A sum that nobody reads is not finished.

// CHECK: module attributes
// CHECK-NOT: all_reduce
// CHECK: return
module {
  sdy.mesh @mesh = <["data"=2, "model"=2]>
  func.func @main(%x: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>},
                  %w: tensor<4x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}]>}) -> tensor<8x4xf32> {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
    %1 = stablehlo.tanh %0 : tensor<8x6xf32>
    %2 = stablehlo.add %x, %x : tensor<8x4xf32>
    return %2 : tensor<8x4xf32>
  }
}

// -----

// The same layouts as steps without Shardy say them, by the numbers of devices.

// CHECK: module attributes {mhlo.num_partitions = 4 : i32, step.mesh = "data=2,model=2"}
// CHECK: func.func @main(%{{.*}}: tensor<4x6xf32> {step.layout = "[data, -]"
// CHECK-SAME: tensor<6x2xf32> {step.layout = "[-, model]"
// CHECK-SAME: tensor<2x6xf32> {step.layout = "[model, -]"
// CHECK-SAME: tensor<2x8xf32> {step.layout = "[model data, -]"
// CHECK-SAME: tensor<4x4xf32> {step.layout = "[data, model]"
// CHECK-SAME: tensor<8xf32> {step.layout = "[-]"
module {
  func.func @main(%x: tensor<8x6xf32> {mhlo.sharding = "{devices=[2,1,2]<=[4] last_tile_dim_replicate}"},
                  %v: tensor<6x4xf32> {mhlo.sharding = "{devices=[1,2,2]<=[2,2]T(1,0) last_tile_dim_replicate}"},
                  %w: tensor<4x6xf32> {mhlo.sharding = "{devices=[2,1,2]0,2,1,3 last_tile_dim_replicate}"},
                  %t: tensor<8x8xf32> {mhlo.sharding = "{devices=[4,1]<=[2,2]T(1,0)}"},
                  %q: tensor<8x8xf32> {mhlo.sharding = "{devices=[2,2]<=[4]}"},
                  %b: tensor<8xf32> {mhlo.sharding = "{replicated}"}) -> tensor<8x4xf32> {
    %0 = stablehlo.dot_general %x, %v, contracting_dims = [1] x [0] : (tensor<8x6xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
    return %0 : tensor<8x4xf32>
  }
}

// -----

module {
  // expected-error@below {{argument 0 cannot be cut so: 'mhlo.sharding' is "{devices=[8]<=[8]}", which is for 8 devices, and the mesh data=2,model=2 has 4}}
  func.func @main(%x: tensor<8xf32> {mhlo.sharding = "{devices=[8]<=[8]}"}) -> tensor<8xf32> {
    return %x : tensor<8xf32>
  }
}

// -----

module {
  // expected-error@below {{argument 0 cannot be cut so: 'mhlo.sharding' is "{devices=[4]1,0,3,2}", which cuts dimension 0 along no axes of the mesh data=2,model=2}}
  func.func @main(%x: tensor<8xf32> {mhlo.sharding = "{devices=[4]1,0,3,2}"}) -> tensor<8xf32> {
    return %x : tensor<8xf32>
  }
}

// -----

module {
  // expected-error@below {{argument 0 cannot be cut so: 'mhlo.sharding' is "{devices=[4]0,1,1,3}", expected each of 4 devices once}}
  func.func @main(%x: tensor<8xf32> {mhlo.sharding = "{devices=[4]0,1,1,3}"}) -> tensor<8xf32> {
    return %x : tensor<8xf32>
  }
}

// -----

module {
  // expected-error@below {{argument 0 cannot be cut so: 'mhlo.sharding' is "{maximal device=0}", expected {replicated} or {devices=[...]...}}}
  func.func @main(%x: tensor<8xf32> {mhlo.sharding = "{maximal device=0}"}) -> tensor<8xf32> {
    return %x : tensor<8xf32>
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
