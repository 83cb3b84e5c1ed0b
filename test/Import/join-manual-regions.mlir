// RUN: tenon-opt %s --import-join-manual-regions -o %t.mlir
// RUN: FileCheck %s --implicit-check-not=SPMD --implicit-check-not=@Sharding < %t.mlir
// RUN: tenon-opt %s --import-join-manual-regions=mesh=data=2,model=2 | FileCheck %s --check-prefix=NAMED
// RUN: tenon run %t.mlir --reference
// RUN: tenon run %s

// What is between the calls becomes a region, whose devices are simulated, and
// is unfolded and compiled for one device.

module attributes {mhlo.num_partitions = 4 : i32} {

// The axes are those that texts and groups tell apart.

// CHECK: sdy.mesh @mesh = <["axis0"=2, "axis1"=2]>
// NAMED: sdy.mesh @mesh = <["data"=2, "model"=2]>
// CHECK: func.func @main
func.func @main() {
  %x = stablehlo.constant dense<[1, 2, 3, 4]> : tensor<4xi64>

  // Devices in the order of the minor and then of the major axis.
  // CHECK: sdy.manual_computation(%{{.*}}) in_shardings=[<@mesh, [{"axis1", "axis0"}]>] out_shardings=[<@mesh, [{}]>] manual_axes={"axis0", "axis1"} (%{{.*}}: tensor<1xi64>)
  // CHECK: func.call @gathered
  // NAMED: sdy.manual_computation(%{{.*}}) in_shardings=[<@mesh, [{"model", "data"}]>] out_shardings=[<@mesh, [{}]>] manual_axes={"data", "model"}
  %0 = stablehlo.custom_call @Sharding(%x) {mhlo.sharding = "{devices=[4]<=[2,2]T(1,0)}"} : (tensor<4xi64>) -> tensor<4xi64>
  %1 = stablehlo.custom_call @SPMDFullToShardShape(%0) {mhlo.sharding = "{manual}"} : (tensor<4xi64>) -> tensor<1xi64>
  %2 = func.call @gathered(%1) : (tensor<1xi64>) -> tensor<4xi64>
  %3 = stablehlo.custom_call @Sharding(%2) {mhlo.sharding = "{manual}"} : (tensor<4xi64>) -> tensor<4xi64>
  %4 = stablehlo.custom_call @SPMDShardToFullShape(%3) {mhlo.sharding = "{replicated}"} : (tensor<4xi64>) -> tensor<4xi64>
  check.expect_eq_const %4, dense<[1, 3, 2, 4]> : tensor<4xi64>

  // Two bodies whose calls stand between each other; one has the number of the
  // device, and both read a constant of the block.
  // CHECK: sdy.manual_computation(%{{.*}}) in_shardings=[<@mesh, [{"axis0"}]>] out_shardings=[<@mesh, [{"axis0"}]>] manual_axes={"axis0", "axis1"}
  // CHECK-NOT: stablehlo.partition_id
  // CHECK: stablehlo.multiply
  // CHECK: sdy.return
  // CHECK: sdy.manual_computation
  // CHECK: stablehlo.partition_id
  // CHECK: sdy.return
  %ten = stablehlo.constant dense<10> : tensor<2xi64>
  %5 = stablehlo.custom_call @Sharding(%x) {mhlo.sharding = "{devices=[2,2]<=[4] last_tile_dim_replicate}"} : (tensor<4xi64>) -> tensor<4xi64>
  %6 = stablehlo.custom_call @SPMDFullToShardShape(%5) {mhlo.sharding = "{manual}"} : (tensor<4xi64>) -> tensor<2xi64>
  %7 = stablehlo.custom_call @SPMDFullToShardShape(%5) {mhlo.sharding = "{manual}"} : (tensor<4xi64>) -> tensor<2xi64>
  %8 = stablehlo.multiply %6, %ten : tensor<2xi64>
  %id = stablehlo.partition_id : tensor<ui32>
  %two = stablehlo.constant dense<2> : tensor<ui32>
  %row = stablehlo.divide %id, %two : tensor<ui32>
  %wide = stablehlo.convert %row : (tensor<ui32>) -> tensor<i64>
  %spread = stablehlo.broadcast_in_dim %wide, dims = [] : (tensor<i64>) -> tensor<2xi64>
  %9 = stablehlo.custom_call @SPMDShardToFullShape(%8) {mhlo.sharding = "{devices=[2,2]<=[4] last_tile_dim_replicate}"} : (tensor<2xi64>) -> tensor<4xi64>
  %10 = stablehlo.multiply %7, %ten : tensor<2xi64>
  %11 = stablehlo.add %10, %spread : tensor<2xi64>
  %12 = stablehlo.custom_call @SPMDShardToFullShape(%11) {mhlo.sharding = "{devices=[2,2]0,1,2,3 last_tile_dim_replicate}"} : (tensor<2xi64>) -> tensor<4xi64>
  check.expect_eq_const %9, dense<[10, 20, 30, 40]> : tensor<4xi64>
  check.expect_eq_const %12, dense<[10, 20, 31, 41]> : tensor<4xi64>

  // Along one axis alone; what is said inside is of the other one, or nothing.
  // CHECK: sdy.manual_computation(%{{.*}}) in_shardings=[<@mesh, [{"axis0", ?}]>] out_shardings=[<@mesh, [{"axis0", ?}]>] manual_axes={"axis0"}
  // CHECK-NEXT: %[[KEPT:.*]] = sdy.sharding_constraint %{{.*}} <@mesh, [{"axis1"}]> : tensor<2xi64>
  // CHECK-NEXT: %[[SUM:.*]] = stablehlo.add %[[KEPT]], %[[KEPT]]
  // CHECK-NEXT: sdy.return %[[SUM]]
  %13 = stablehlo.custom_call @Sharding(%x) {backend_config = "unspecified_dims=[0]", mhlo.sharding = "{devices=[2,2]<=[4] last_tile_dim_replicate}"} : (tensor<4xi64>) -> tensor<4xi64>
  %14 = stablehlo.custom_call @SPMDFullToShardShape(%13) {backend_config = "unspecified_dims=[0]", mhlo.sharding = "{devices=[1,2,2]<=[4] last_tile_dims={manual, replicated}}"} : (tensor<4xi64>) -> tensor<2xi64>
  %15 = stablehlo.custom_call @Sharding(%14) {mhlo.sharding = "{devices=[2,2]<=[2,2]T(1,0) last_tile_dims={manual}}"} : (tensor<2xi64>) -> tensor<2xi64>
  %16 = stablehlo.add %15, %15 : tensor<2xi64>
  %17 = stablehlo.custom_call @Sharding(%16) {backend_config = "unspecified_dims=[0]", mhlo.sharding = "{devices=[1,2,2]<=[4] last_tile_dims={manual, replicated}}"} : (tensor<2xi64>) -> tensor<2xi64>
  %18 = stablehlo.custom_call @SPMDShardToFullShape(%17) {backend_config = "unspecified_dims=[0]", mhlo.sharding = "{devices=[2,2]<=[4] last_tile_dim_replicate}"} : (tensor<2xi64>) -> tensor<4xi64>
  check.expect_eq_const %18, dense<[2, 4, 6, 8]> : tensor<4xi64>
  return
}

func.func private @gathered(%part: tensor<1xi64> {mhlo.sharding = "{manual}"}) -> (tensor<4xi64> {mhlo.sharding = "{manual}"}) {
  %0 = "stablehlo.all_gather"(%part) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> : (tensor<1xi64>) -> tensor<4xi64>
  return %0 : tensor<4xi64>
}

}
