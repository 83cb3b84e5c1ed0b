// RUN: tenon-opt %s --import | FileCheck %s

// A step as an exporter writes it: helper functions, guarded indices, broadcasts
// in steps, a client operation. Import ends in step form, which it checks.

// CHECK-LABEL: func.func @main
// CHECK-SAME: step.name = "params.w"
// CHECK-SAME: step.successor = 0
// CHECK-NOT: call
// CHECK-NOT: chlo.
// CHECK: stablehlo.broadcast_in_dim %{{.*}}, dims = [1] : (tensor<8xf32>) -> tensor<4x8xf32>
// CHECK: stablehlo.multiply
// CHECK: return
module @jit_step attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<8xf32> {tf.aliasing_output = 0 : i32}, %arg1: tensor<4x8xf32>)
      -> (tensor<8xf32> {jax.result_info = "result[0]['params']['w']"}, tensor<f32> {jax.result_info = "result[1]"}) {
    %0 = stablehlo.broadcast_in_dim %arg0, dims = [1] : (tensor<8xf32>) -> tensor<1x8xf32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [0, 1] : (tensor<1x8xf32>) -> tensor<4x8xf32>
    %2 = stablehlo.subtract %arg1, %1 : tensor<4x8xf32>
    %3 = call @loss(%2) : (tensor<4x8xf32>) -> tensor<f32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %4 = stablehlo.reduce(%2 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<4x8xf32>, tensor<f32>) -> tensor<8xf32>
    %5 = stablehlo.add %arg0, %4 : tensor<8xf32>
    return %5, %3 : tensor<8xf32>, tensor<f32>
  }
  func.func private @loss(%arg0: tensor<4x8xf32>) -> tensor<f32> {
    %0 = chlo.square %arg0 : tensor<4x8xf32> -> tensor<4x8xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
    return %1 : tensor<f32>
  }
}
