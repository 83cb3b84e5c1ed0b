// RUN: tenon-opt %s --split-input-file --partition='mesh=data=2,model=2' | FileCheck %s

// The operand lies elsewhere, so it is moved to where the constraint says, and
// what follows lies there, too.

// CHECK: func.func @main(%[[X:.*]]: tensor<4x4xf32> {step.layout = "[data, -]"
// CHECK: "stablehlo.all_to_all"
// CHECK: %[[T:.*]] = stablehlo.tanh %{{.*}} : tensor<8x2xf32>
// CHECK: %[[R:.*]] = stablehlo.negate %[[T]] : tensor<8x2xf32>
// CHECK-NOT: step.sharding_constraint
// CHECK: return %[[R]]
module {
  sdy.mesh @mesh = <["data"=2, "model"=2]>
  func.func @main(%x: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) -> tensor<8x4xf32> {
    %0 = stablehlo.tanh %x : tensor<8x4xf32>
    %1 = step.sharding_constraint %0 {sharding = #sdy.sharding<@mesh, [{}, {"data"}]>} : tensor<8x4xf32>
    %2 = stablehlo.negate %1 : tensor<8x4xf32>
    return %2 : tensor<8x4xf32>
  }
}

// -----

// A closed dimension stays whole; an open one takes what its neighbours have.
// CHECK: step.layout = "[data, model]"
// CHECK: "stablehlo.all_gather"
// CHECK-SAME: (tensor<4x2xf32>) -> tensor<4x4xf32>
// CHECK: return %{{.*}}, %{{.*}} : tensor<4x4xf32>, tensor<4x2xf32>
module {
  func.func @main(%x: tensor<8x4xf32> {mhlo.sharding = "{devices=[2,2]<=[4]}"}) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
    %0 = stablehlo.tanh %x : tensor<8x4xf32>
    %1 = step.sharding_constraint %0 {sharding = "{devices=[2,1,2]<=[4] last_tile_dim_replicate}"} : tensor<8x4xf32>
    %2 = step.sharding_constraint %0 {open_dims = array<i64: 1>, sharding = "{devices=[2,1,2]<=[4] last_tile_dim_replicate}"} : tensor<8x4xf32>
    return %1, %2 : tensor<8x4xf32>, tensor<8x4xf32>
  }
}

// -----

// An open dimension takes no axis that is said to replicate.
// CHECK: return %{{.*}} : tensor<4x4xf32>
module {
  sdy.mesh @mesh = <["data"=2, "model"=2]>
  func.func @main(%x: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {"model"}]>}) -> tensor<8x4xf32> {
    %0 = step.sharding_constraint %x {sharding = #sdy.sharding<@mesh, [{?}, {?}], replicated={"model"}>} : tensor<8x4xf32>
    return %0 : tensor<8x4xf32>
  }
}

// -----

// What one member of a group has, the other one gets.
// CHECK: func.func @main(%{{.*}}: tensor<4xf32> {step.layout = "[data]"{{.*}}, %{{.*}}: tensor<4xf32> {step.layout = "[data]"
module {
  func.func @main(%x: tensor<8xf32> {mhlo.sharding = "{devices=[2,2]<=[4] last_tile_dim_replicate}"}, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %0 = step.sharding_constraint %x {group = 0 : i64} : tensor<8xf32>
    %1 = step.sharding_constraint %y {group = 0 : i64} : tensor<8xf32>
    return %0, %1 : tensor<8xf32>, tensor<8xf32>
  }
}

// -----

// Part of an axis.
// CHECK: func.func @main(%{{.*}}: tensor<4xf32> {step.layout = "[data]"
// CHECK-SAME: -> (tensor<4xf32> {step.layout = "[data]"
module {
  sdy.mesh @mesh = <["data"=2, "model"=2]>
  func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
    %0 = stablehlo.tanh %x : tensor<8xf32>
    %1 = step.sharding_constraint %0 {sharding = #sdy.sharding<@mesh, [{"data":(1)2}]>} : tensor<8xf32>
    return %1 : tensor<8xf32>
  }
}

// -----

// The dimension of the first priority is read before that of the second, which
// wants the same axis for a product.
// CHECK: func.func @main(%{{.*}}: tensor<4x8xf32> {step.layout = "[data, -]"
// CHECK-SAME: %{{.*}}: tensor<8x4xf32> {step.layout = "[-, data]"
// CHECK-SAME: -> (tensor<4x8xf32> {step.layout = "[data, -]"
module {
  sdy.mesh @mesh = <["data"=2, "model"=2]>
  func.func @main(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}p0, {}]>},
                  %w: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"data"}p1]>}) -> tensor<8x8xf32> {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    return %0 : tensor<8x8xf32>
  }
}

// -----

// The other way round, the columns are cut.
// CHECK: func.func @main(%{{.*}}: tensor<4x8xf32> {step.layout = "[data, -]"
// CHECK-SAME: %{{.*}}: tensor<8x4xf32> {step.layout = "[-, data]"
// CHECK-SAME: -> (tensor<8x4xf32> {step.layout = "[-, data]"
module {
  sdy.mesh @mesh = <["data"=2, "model"=2]>
  func.func @main(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}p1, {}]>},
                  %w: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"data"}p0]>}) -> tensor<8x8xf32> {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    return %0 : tensor<8x8xf32>
  }
}

// -----

// Layouts pass a barrier in the direction that it allows: what is behind the
// first one is cut, what is behind the others is not.
// CHECK: return %{{.*}}, %{{.*}}, %{{.*}} : tensor<4xf32>, tensor<8xf32>, tensor<8xf32>
module {
  sdy.mesh @mesh = <["data"=2, "model"=2]>
  func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}]>}) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
    %0 = step.sharding_constraint %x {passes = "forward"} : tensor<8xf32>
    %1 = stablehlo.tanh %0 : tensor<8xf32>
    %2 = step.sharding_constraint %x {passes = "backward"} : tensor<8xf32>
    %3 = stablehlo.sine %2 : tensor<8xf32>
    %4 = step.sharding_constraint %x {passes = "none"} : tensor<8xf32>
    %5 = stablehlo.cosine %4 : tensor<8xf32>
    return %1, %3, %5 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
  }
}

// -----

// Backwards alone, from what is asked for behind it.
// CHECK: func.func @main(%{{.*}}: tensor<4xf32> {step.layout = "[data]"{{.*}}, %{{.*}}: tensor<8xf32> {step.layout = "[-]"
module {
  sdy.mesh @mesh = <["data"=2, "model"=2]>
  func.func @main(%x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}]>}, tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}]>}) {
    %0 = step.sharding_constraint %x {passes = "backward"} : tensor<8xf32>
    %1 = stablehlo.tanh %0 : tensor<8xf32>
    %2 = step.sharding_constraint %y {passes = "forward"} : tensor<8xf32>
    %3 = stablehlo.sine %2 : tensor<8xf32>
    return %1, %3 : tensor<8xf32>, tensor<8xf32>
  }
}
