// RUN: tenon-opt %s --split-input-file --import-join-manual-regions --verify-diagnostics
// RUN: not tenon-opt %s --split-input-file --import-join-manual-regions=mesh=data=3 2>&1 | FileCheck %s

// CHECK: the step has bodies per device for 4 devices, and the mesh data=3 has 3

module attributes {mhlo.num_partitions = 4 : i32} {
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@below {{nothing says how its operand is cut}}
  %0 = stablehlo.custom_call @SPMDFullToShardShape(%x) {mhlo.sharding = "{manual}"} : (tensor<4xf32>) -> tensor<1xf32>
  %1 = stablehlo.custom_call @SPMDShardToFullShape(%0) {mhlo.sharding = "{devices=[4]<=[4]}"} : (tensor<1xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
}

// -----

module attributes {mhlo.num_partitions = 4 : i32} {
func.func @main(%x: tensor<4xf32>) -> tensor<1xf32> {
  %0 = stablehlo.custom_call @Sharding(%x) {mhlo.sharding = "{devices=[4]<=[4]}"} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = stablehlo.custom_call @SPMDFullToShardShape(%0) {mhlo.sharding = "{manual}"} : (tensor<4xf32>) -> tensor<1xf32>
  // expected-error@below {{returns what one device has of a tensor, in a block of whole tensors}}
  return %1 : tensor<1xf32>
}
}

// -----

module attributes {mhlo.num_partitions = 4 : i32} {
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.custom_call @Sharding(%x) {mhlo.sharding = "{devices=[4]0,2,3,1}"} : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error@below {{'mhlo.sharding' is "{devices=[4]0,2,3,1}", which cuts along no axes of the mesh}}
  %1 = stablehlo.custom_call @SPMDFullToShardShape(%0) {mhlo.sharding = "{manual}"} : (tensor<4xf32>) -> tensor<1xf32>
  %2 = stablehlo.custom_call @SPMDShardToFullShape(%1) {mhlo.sharding = "{devices=[4]<=[4]}"} : (tensor<1xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}
}

// -----

module attributes {mhlo.num_partitions = 4 : i32} {
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@below {{takes from a body per device what none has made}}
  %0 = stablehlo.custom_call @SPMDShardToFullShape(%x) {mhlo.sharding = "{replicated}"} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
}

// -----

// Rows of two and rows of three do not nest.

// expected-error@below {{its 6 devices are in no rows that follow from its shardings}}
module attributes {mhlo.num_partitions = 6 : i32} {
func.func @main(%x: tensor<6xf32>) -> tensor<6xf32> {
  %0 = stablehlo.custom_call @Sharding(%x) {mhlo.sharding = "{devices=[6]<=[2,3]T(1,0)}"} : (tensor<6xf32>) -> tensor<6xf32>
  %1 = stablehlo.custom_call @SPMDFullToShardShape(%0) {mhlo.sharding = "{manual}"} : (tensor<6xf32>) -> tensor<1xf32>
  %2 = stablehlo.custom_call @SPMDShardToFullShape(%1) {mhlo.sharding = "{devices=[6]<=[3,2]T(1,0)}"} : (tensor<1xf32>) -> tensor<6xf32>
  return %2 : tensor<6xf32>
}
}
