// RUN: tenon-opt %s --import-join-manual-regions -o %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: tenon run %t.mlir --reference
// RUN: tenon run %s

// Older texts list the devices; axes follow from what lies between them.

module attributes {mhlo.num_partitions = 6 : i32} {
// CHECK: sdy.mesh @mesh = <["axis0"=2, "axis1"=3]>
func.func @main() {
  %x = stablehlo.constant dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xi64>
  // CHECK: in_shardings=[<@mesh, [{"axis1"}, {"axis0"}]>] out_shardings=[<@mesh, [{"axis1"}, {"axis0"}]>]
  %0 = stablehlo.custom_call @Sharding(%x) {mhlo.sharding = "{devices=[3,2]0,3,1,4,2,5}"} : (tensor<3x2xi64>) -> tensor<3x2xi64>
  %1 = stablehlo.custom_call @SPMDFullToShardShape(%0) {mhlo.sharding = "{manual}"} : (tensor<3x2xi64>) -> tensor<1x1xi64>
  %id = stablehlo.partition_id : tensor<ui32>
  %wide = stablehlo.convert %id : (tensor<ui32>) -> tensor<i64>
  %spread = stablehlo.broadcast_in_dim %wide, dims = [] : (tensor<i64>) -> tensor<1x1xi64>
  %2 = stablehlo.multiply %1, %spread : tensor<1x1xi64>
  %3 = stablehlo.custom_call @SPMDShardToFullShape(%2) {mhlo.sharding = "{devices=[3,2]0,3,1,4,2,5}"} : (tensor<1x1xi64>) -> tensor<3x2xi64>
  check.expect_eq_const %3, dense<[[0, 6], [3, 16], [10, 30]]> : tensor<3x2xi64>
  return
}
}
