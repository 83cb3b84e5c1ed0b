// RUN: tenon-opt %s --split-input-file --fusion-form-groups --verify-grouped-form | FileCheck %s

// The sum of the weights is a kernel of its own, although the mean reads it with
// the sum of the terms: the gradient needs it alone, and is computed with them.

// CHECK-LABEL: func.func @main
// CHECK: step.group row(%arg1) : (tensor<512xf32>) -> (tensor<f32>, tensor<512xf32>)
// CHECK: step.group row(%{{.*}}, %{{.*}}, %{{.*}}) : (tensor<512x2048xf32>, tensor<512xf32>, tensor<512xf32>) -> (tensor<512xf32>, tensor<512x2048xf32>)
// CHECK: step.group row(%{{.*}}, %{{.*}}) : (tensor<512xf32>, tensor<f32>) -> tensor<f32>
// CHECK-NOT: step.group
func.func @main(%x: tensor<512x2048xf32>, %weights: tensor<512xf32>) -> (tensor<f32>, tensor<512x2048xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.exponential %x : tensor<512x2048xf32>
  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<512x2048xf32>, tensor<f32>) -> tensor<512xf32>
  %2 = stablehlo.multiply %1, %weights : tensor<512xf32>
  %3 = stablehlo.reduce(%2 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<512xf32>, tensor<f32>) -> tensor<f32>
  %4 = stablehlo.reduce(%weights init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<512xf32>, tensor<f32>) -> tensor<f32>
  %mean = stablehlo.divide %3, %4 : tensor<f32>
  %5 = stablehlo.broadcast_in_dim %4, dims = [] : (tensor<f32>) -> tensor<512xf32>
  %6 = stablehlo.divide %weights, %5 : tensor<512xf32>
  %7 = stablehlo.broadcast_in_dim %6, dims = [0] : (tensor<512xf32>) -> tensor<512x2048xf32>
  %gradient = stablehlo.multiply %0, %7 : tensor<512x2048xf32>
  return %mean, %gradient : tensor<f32>, tensor<512x2048xf32>
}

// -----

// What is picked from rows does not wait for their maximum: the kernel of the
// rows can be the last to read them.

// CHECK-LABEL: func.func @main
// CHECK: %[[ROWS:.*]]:2 = step.group row(%[[X:.*]]) : (tensor<512x2048xf32>) -> (tensor<512xf32>, tensor<512x2048xf32>)
// CHECK: %[[PICKED:.*]] = step.group elementwise(%[[X]], %arg2) : (tensor<512x2048xf32>, tensor<512x1x1xi32>) -> tensor<512x1xf32>
// CHECK: step.group elementwise(%[[ROWS]]#0, %[[PICKED]]) : (tensor<512xf32>, tensor<512x1xf32>) -> tensor<512x1xf32>
func.func @main(%a: tensor<512x64xf32>, %b: tensor<64x2048xf32>, %labels: tensor<512x1x1xi32>) -> (tensor<512x1xf32>, tensor<512x2048xf32>) {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %x = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<512x64xf32>, tensor<64x2048xf32>) -> tensor<512x2048xf32>
  %0 = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<512x2048xf32>, tensor<f32>) -> tensor<512xf32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<512xf32>) -> tensor<512x2048xf32>
  %2 = stablehlo.subtract %x, %1 : tensor<512x2048xf32>
  %3 = "stablehlo.gather"(%x, %labels) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1>}> : (tensor<512x2048xf32>, tensor<512x1x1xi32>) -> tensor<512x1xf32>
  %4 = stablehlo.reshape %0 : (tensor<512xf32>) -> tensor<512x1xf32>
  %5 = stablehlo.subtract %3, %4 : tensor<512x1xf32>
  return %5, %2 : tensor<512x1xf32>, tensor<512x2048xf32>
}
