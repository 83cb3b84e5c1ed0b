// What came after format version 1.17: roots as operands, collective_reduce,
// tilings; and buffers, which only custom calls handle.

// RUN: tenon-opt %s | tenon-opt | FileCheck %s
// RUN: tenon-opt %s --mlir-print-op-generic | tenon-opt | FileCheck %s

// CHECK-LABEL: func.func @roots
func.func @roots(%a: tensor<1x2xf32>, %b: tensor<3xf32>, %root: tensor<2xi32>) {
  // CHECK: %{{.*}}:2 = "stablehlo.collective_broadcast"(%arg0, %arg1, %arg2) <{has_dynamic_root = true, replica_groups = dense<{{\[\[}}0, 1]]> : tensor<1x2xi64>}> : (tensor<1x2xf32>, tensor<3xf32>, tensor<2xi32>) -> (tensor<1x2xf32>, tensor<3xf32>)
  %0:2 = "stablehlo.collective_broadcast"(%a, %b, %root) <{has_dynamic_root = true, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<1x2xf32>, tensor<3xf32>, tensor<2xi32>) -> (tensor<1x2xf32>, tensor<3xf32>)
  // CHECK: "stablehlo.collective_reduce"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 0, type = 0>, replica_groups = dense<{{\[\[}}0, 1]]> : tensor<1x2xi64>}> ({
  %1 = "stablehlo.collective_reduce"(%a) <{channel_handle = #stablehlo.channel_handle<handle = 0, type = 0>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %2 = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %2 : tensor<f32>
  // CHECK: }) : (tensor<1x2xf32>) -> tensor<1x2xf32>
  }) : (tensor<1x2xf32>) -> tensor<1x2xf32>
  // CHECK: stablehlo.custom_call @tiled(%arg1) {result_tilings = {{\[\[}}8]]} : (tensor<3xf32>) -> tensor<3xf32>
  %2 = stablehlo.custom_call @tiled(%b) {result_tilings = [[8]]} : (tensor<3xf32>) -> tensor<3xf32>
  // CHECK: stablehlo.custom_call @Pin(%arg1) : (tensor<3xf32>) -> memref<3xf32>
  %3 = stablehlo.custom_call @Pin(%b) : (tensor<3xf32>) -> memref<3xf32>
  return
}
