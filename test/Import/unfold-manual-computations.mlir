// RUN: tenon-opt %s --import-unfold-manual-computations | FileCheck %s --implicit-check-not=manual_computation
// RUN: tenon-opt %s --import-unfold-manual-computations=constrain=true | FileCheck %s --check-prefix=LIES
// RUN: tenon run %s --reference
// RUN: tenon run %s

// What devices compute for themselves, unfolded and compiled for one device, is
// what the simulated devices compute.

sdy.mesh @mesh = <["data"=2, "model"=2]>

// A value has a dimension for each axis along which it differs, no more: the sum
// along an axis on which all devices have the same is twice that.

// CHECK: func.func @main
// CHECK: %[[X:.*]] = stablehlo.constant
// CHECK: %[[PARTS:.*]] = stablehlo.reshape %[[X]] : (tensor<4xi64>) -> tensor<2x2xi64>
// CHECK: %[[TWICE:.*]] = stablehlo.broadcast_in_dim %[[PARTS]], dims = [0, 2] : (tensor<2x2xi64>) -> tensor<2x2x2xi64>
// CHECK: stablehlo.reduce(%[[TWICE]] {{.*}}across dimensions = [1]
// LIES: %[[PARTS:.*]] = stablehlo.reshape %{{.*}} : (tensor<4xi64>) -> tensor<2x2xi64>
// LIES: step.sharding_constraint %[[PARTS]] {sharding = #sdy.sharding<@mesh, [{"data"}, {}], replicated={"model"}>}
func.func @main() {
  %x = stablehlo.constant dense<[1, 2, 3, 4]> : tensor<4xi64>
  %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"data"}]>] out_shardings=[<@mesh, [{"data"}]>] manual_axes={"data", "model"} (%local: tensor<2xi64>) {
    %1 = "stablehlo.all_reduce"(%local) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> ({
    ^bb0(%a: tensor<i64>, %b: tensor<i64>):
      %s = stablehlo.add %a, %b : tensor<i64>
      stablehlo.return %s : tensor<i64>
    }) : (tensor<2xi64>) -> tensor<2xi64>
    sdy.return %1 : tensor<2xi64>
  } : (tensor<4xi64>) -> tensor<4xi64>
  check.expect_eq_const %0, dense<[2, 4, 6, 8]> : tensor<4xi64>

  // Devices in the order of "model" and then "data".
  %2 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"model", "data"}]>] out_shardings=[<@mesh, [{}]>] manual_axes={"data", "model"} (%local: tensor<1xi64>) {
    %3 = "stablehlo.all_gather"(%local) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> : (tensor<1xi64>) -> tensor<4xi64>
    sdy.return %3 : tensor<4xi64>
  } : (tensor<4xi64>) -> tensor<4xi64>
  check.expect_eq_const %2, dense<[1, 3, 2, 4]> : tensor<4xi64>

  // A maximum, of which each device takes a part.
  %4 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{}]>] out_shardings=[<@mesh, [{"data"}]>] manual_axes={"data", "model"} (%local: tensor<4xi64>) {
    %5 = stablehlo.partition_id : tensor<ui32>
    %6 = stablehlo.convert %5 : (tensor<ui32>) -> tensor<i64>
    %7 = stablehlo.broadcast_in_dim %6, dims = [] : (tensor<i64>) -> tensor<4xi64>
    %8 = stablehlo.multiply %7, %local : tensor<4xi64>
    %9 = "stablehlo.all_reduce"(%8) <{channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> ({
    ^bb0(%a: tensor<i64>, %b: tensor<i64>):
      %m = stablehlo.maximum %a, %b : tensor<i64>
      stablehlo.return %m : tensor<i64>
    }) : (tensor<4xi64>) -> tensor<4xi64>
    %10 = "stablehlo.reduce_scatter"(%9) <{scatter_dimension = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 4, type = 1>, replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>, use_global_device_ids}> ({
    ^bb0(%a: tensor<i64>, %b: tensor<i64>):
      %s = stablehlo.add %a, %b : tensor<i64>
      stablehlo.return %s : tensor<i64>
    }) : (tensor<4xi64>) -> tensor<2xi64>
    sdy.return %10 : tensor<2xi64>
  } : (tensor<4xi64>) -> tensor<4xi64>
  // Device 1 has 1 and 2 and so on, device 3 three times that.
  check.expect_eq_const %4, dense<[4, 8, 12, 16]> : tensor<4xi64>

  // One within another.
  %11 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"data"}]>] out_shardings=[<@mesh, [{"data"}]>] manual_axes={"data"} (%outer: tensor<2xi64>) {
    %12 = sdy.manual_computation(%outer) in_shardings=[<@mesh, [{"model"}]>] out_shardings=[<@mesh, [{"model"}]>] manual_axes={"model"} (%inner: tensor<1xi64>) {
      %13 = "stablehlo.all_reduce"(%inner) <{channel_handle = #stablehlo.channel_handle<handle = 5, type = 1>, replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>, use_global_device_ids}> ({
      ^bb0(%a: tensor<i64>, %b: tensor<i64>):
        %s = stablehlo.add %a, %b : tensor<i64>
        stablehlo.return %s : tensor<i64>
      }) : (tensor<1xi64>) -> tensor<1xi64>
      %14 = stablehlo.add %13, %inner : tensor<1xi64>
      sdy.return %14 : tensor<1xi64>
    } : (tensor<2xi64>) -> tensor<2xi64>
    sdy.return %12 : tensor<2xi64>
  } : (tensor<4xi64>) -> tensor<4xi64>
  check.expect_eq_const %11, dense<[5, 8, 7, 10]> : tensor<4xi64>

  // Nobody sends to the devices whose first coordinate is 0; the others get what
  // these have.
  %15 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"data", "model"}]>] out_shardings=[<@mesh, [{"data", "model"}]>] manual_axes={"data", "model"} (%local: tensor<1xi64>) {
    %16 = "stablehlo.collective_permute"(%local) <{channel_handle = #stablehlo.channel_handle<handle = 6, type = 1>, source_target_pairs = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>}> : (tensor<1xi64>) -> tensor<1xi64>
    sdy.return %16 : tensor<1xi64>
  } : (tensor<4xi64>) -> tensor<4xi64>
  check.expect_eq_const %15, dense<[0, 0, 1, 2]> : tensor<4xi64>
  return
}
