// RUN: tenon-opt %s --import-keep-shardings --split-input-file | FileCheck %s
// RUN: tenon-opt %s --import-keep-shardings --import-ignore-shardings=kept=true --split-input-file | FileCheck %s --check-prefix=NONE
// NONE-NOT: {{sdy[.](sharding_constraint|reshard|sharding_group)|@Sharding|dropped}}

// Each spelling of a constraint, and the dimensions that it leaves open.

// CHECK: func.func @main(%[[X:.*]]: tensor<8x4xf32> {sdy.sharding
// CHECK: %[[A:.*]] = step.sharding_constraint %[[X]] {sharding = #sdy.sharding<@mesh, [{"data"}, {?}]>}
// CHECK: %[[B:.*]] = step.sharding_constraint %[[A]] {sharding = #sdy.sharding<@mesh, [{}, {"model":(2)2}]>}
// CHECK: %[[C:.*]] = step.sharding_constraint %[[B]] {open_dims = array<i64: 0, 1>, sharding = "{devices=[4,2]<=[8]}"}
// CHECK: %[[D:.*]] = stablehlo.tanh %[[C]]
// CHECK: %[[E:.*]] = step.sharding_constraint %[[D]] {sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}
// CHECK: %[[F:.*]] = stablehlo.negate %[[E]]
// CHECK: %[[G:.*]] = step.sharding_constraint %[[F]] {sharding = "{replicated}"}
// CHECK: return %[[G]]
sdy.mesh @mesh = <["data"=2, "model"=4]>
func.func @main(%x: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) -> tensor<8x4xf32> {
  %0 = sdy.sharding_constraint %x <@mesh, [{"data"}, {?}]> : tensor<8x4xf32>
  %1 = sdy.reshard %0 <@mesh, [{}, {"model":(2)2}]> : tensor<8x4xf32>
  %2 = stablehlo.custom_call @Sharding(%1) {backend_config = "unspecified_dims=[0,1]", mhlo.sharding = "{devices=[4,2]<=[8]}"} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %3 = stablehlo.tanh %2 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data"}, {}]>]>} : tensor<8x4xf32>
  %4 = stablehlo.negate %3 {mhlo.sharding = "{replicated}"} : tensor<8x4xf32>
  return %4 : tensor<8x4xf32>
}

// -----

// A constraint that nobody reads is one on its operand, and groups are of their
// members; what is open and not cut says nothing.

// CHECK: func.func @main(%[[X:.*]]: tensor<8xf32>, %[[Y:.*]]: tensor<8xf32>, %[[Z:.*]]: tensor<8xf32>)
// CHECK-DAG: %[[A:.*]] = step.sharding_constraint %[[X]] {sharding = #sdy.sharding<@mesh, [{"data"}]>}
// CHECK-DAG: %[[B:.*]] = step.sharding_constraint %[[Y]] {group = 3 : i64}
// CHECK-DAG: %[[C:.*]] = step.sharding_constraint %[[Z]] {group = 3 : i64}
// CHECK: return %[[A]], %[[B]], %[[C]]
sdy.mesh @mesh = <["data"=2]>
func.func @main(%x: tensor<8xf32>, %y: tensor<8xf32>, %z: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %0 = sdy.sharding_constraint %x <@mesh, [{"data"}]> : tensor<8xf32>
  sdy.sharding_group %y group_id=3 : tensor<8xf32>
  %1 = stablehlo.custom_call @Sharding(%z) {has_side_effect = true, mhlo.sharding = "{unknown shard_as 3}"} : (tensor<8xf32>) -> tensor<8xf32>
  %2 = sdy.sharding_constraint %y <@mesh, [{?}]> : tensor<8xf32>
  return %x, %2, %1 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// -----

// Barriers.

// CHECK: %[[A:.*]] = step.sharding_constraint %{{.*}} {passes = "forward"}
// CHECK: %[[B:.*]] = step.sharding_constraint %[[A]] {passes = "none"}
// CHECK: return %[[B]]
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = sdy.propagation_barrier %x allowed_direction=FORWARD : tensor<8xf32>
  %1 = sdy.propagation_barrier %0 allowed_direction=NONE : tensor<8xf32>
  return %1 : tensor<8xf32>
}

// -----

// What is said of a function that will be inlined is said of the values there.

// CHECK: func.func private @layer(%[[X:.*]]: tensor<8xf32>
// CHECK: %[[A:.*]] = step.sharding_constraint %[[X]] {sharding = "{devices=[2]<=[2]}"}
// CHECK: %[[R:.*]]:2 = stablehlo.optimization_barrier {{.*}} %[[A]], %[[A]]
// CHECK: %[[B:.*]] = step.sharding_constraint %[[R]]#0 {sharding = "{devices=[2]<=[2]}"}
// CHECK: %[[C:.*]] = step.sharding_constraint %[[B]] {sharding = "{replicated}"}
// CHECK: return %[[C]], %[[R]]#1
func.func @main(%x: tensor<8xf32> {mhlo.sharding = "{devices=[2]<=[2]}"}) -> (tensor<8xf32>, tensor<8xf32>) {
  %0:2 = call @layer(%x) : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  return %0#0, %0#1 : tensor<8xf32>, tensor<8xf32>
}
func.func private @layer(%x: tensor<8xf32> {mhlo.sharding = "{devices=[2]<=[2]}"}) -> (tensor<8xf32> {mhlo.sharding = "{replicated}"}, tensor<8xf32>) {
  %0:2 = "stablehlo.optimization_barrier"(%x, %x) {mhlo.sharding = "{{devices=[2]<=[2]}, {unknown}}"} : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  return %0#0, %0#1 : tensor<8xf32>, tensor<8xf32>
}

// -----

// Parts of a program with a name, whose operands and results have layouts.

// CHECK: %[[A:.*]] = step.sharding_constraint %{{.*}} {sharding = #sdy.sharding<@mesh, [{"data"}]>}
// CHECK: sdy.named_computation<"layer">(%[[A]])
// CHECK: step.sharding_constraint %{{.*}} {sharding = #sdy.sharding<@mesh, [{}]>}
// NONE: stablehlo.add
sdy.mesh @mesh = <["data"=2]>
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = sdy.named_computation<"layer">(%x) in_shardings=[<@mesh, [{"data"}]>] out_shardings=[<@mesh, [{}]>] (%local: tensor<8xf32>) {
    %1 = stablehlo.add %local, %local : tensor<8xf32>
    sdy.return %1 : tensor<8xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
