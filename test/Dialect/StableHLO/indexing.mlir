// RUN: tenon-opt %s | tenon-opt | FileCheck %s
// RUN: tenon-opt %s --mlir-print-op-generic | tenon-opt | FileCheck %s

// CHECK-LABEL: func.func @dynamic_slices
func.func @dynamic_slices(%a: tensor<4x6xf32>, %i: tensor<i32>, %u: tensor<1x2xf32>, %s: tensor<f32>) {
  // CHECK: stablehlo.dynamic_slice %arg0, %arg1, %arg1, sizes = [1, 2] : (tensor<4x6xf32>, tensor<i32>, tensor<i32>) -> tensor<1x2xf32>
  %0 = stablehlo.dynamic_slice %a, %i, %i, sizes = [1, 2] : (tensor<4x6xf32>, tensor<i32>, tensor<i32>) -> tensor<1x2xf32>
  // CHECK: stablehlo.dynamic_slice %arg3, sizes = [] : (tensor<f32>) -> tensor<f32>
  %1 = stablehlo.dynamic_slice %s, sizes = [] : (tensor<f32>) -> tensor<f32>
  // CHECK: stablehlo.dynamic_update_slice %arg0, %arg2, %arg1, %arg1 : (tensor<4x6xf32>, tensor<1x2xf32>, tensor<i32>, tensor<i32>) -> tensor<4x6xf32>
  %2 = stablehlo.dynamic_update_slice %a, %u, %i, %i : (tensor<4x6xf32>, tensor<1x2xf32>, tensor<i32>, tensor<i32>) -> tensor<4x6xf32>
  return
}

// CHECK-LABEL: func.func @gathers
func.func @gathers(%table: tensor<10x6xf32>, %ids: tensor<3x5x1xi32>, %rows: tensor<4x10xf32>,
                   %picks: tensor<4x2x1xi64>, %sizes: tensor<2xi32>, %x: tensor<4xi32>) {
  // CHECK: "stablehlo.gather"(%arg0, %arg1) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, slice_sizes = array<i64: 1, 6>}> : (tensor<10x6xf32>, tensor<3x5x1xi32>) -> tensor<3x5x6xf32>
  %0 = "stablehlo.gather"(%table, %ids) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, slice_sizes = array<i64: 1, 6>}> : (tensor<10x6xf32>, tensor<3x5x1xi32>) -> tensor<3x5x6xf32>
  // CHECK: "stablehlo.gather"(%arg2, %arg3) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, indices_are_sorted = true, slice_sizes = array<i64: 1, 1>}> : (tensor<4x10xf32>, tensor<4x2x1xi64>) -> tensor<4x2xf32>
  %1 = "stablehlo.gather"(%rows, %picks) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, indices_are_sorted = true, slice_sizes = array<i64: 1, 1>}> : (tensor<4x10xf32>, tensor<4x2x1xi64>) -> tensor<4x2xf32>
  // CHECK: "stablehlo.dynamic_gather"(%arg0, %arg1, %arg4) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>}> : (tensor<10x6xf32>, tensor<3x5x1xi32>, tensor<2xi32>) -> tensor<3x5x?xf32>
  %2 = "stablehlo.dynamic_gather"(%table, %ids, %sizes) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>}> : (tensor<10x6xf32>, tensor<3x5x1xi32>, tensor<2xi32>) -> tensor<3x5x?xf32>
  // CHECK: "stablehlo.torch_index_select"(%arg0, %arg5) <{batch_dims = 0 : i64, dim = 0 : i64}> : (tensor<10x6xf32>, tensor<4xi32>) -> tensor<4x6xf32>
  %3 = "stablehlo.torch_index_select"(%table, %x) <{batch_dims = 0 : i64, dim = 0 : i64}> : (tensor<10x6xf32>, tensor<4xi32>) -> tensor<4x6xf32>
  return
}

// CHECK-LABEL: func.func @scatters
func.func @scatters(%table: tensor<10x6xf32>, %ids: tensor<3x1xi32>, %updates: tensor<3x6xf32>) {
  // CHECK: "stablehlo.scatter"(%arg0, %arg1, %arg2) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = true}> ({
  // CHECK-NEXT: ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
  %0 = "stablehlo.scatter"(%table, %ids, %updates) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = true}> ({
  ^bb0(%old: tensor<f32>, %new: tensor<f32>):
    %2 = stablehlo.add %old, %new : tensor<f32>
    // CHECK: stablehlo.return %{{.*}} : tensor<f32>
    stablehlo.return %2 : tensor<f32>
  // CHECK-NEXT: }) : (tensor<10x6xf32>, tensor<3x1xi32>, tensor<3x6xf32>) -> tensor<10x6xf32>
  }) : (tensor<10x6xf32>, tensor<3x1xi32>, tensor<3x6xf32>) -> tensor<10x6xf32>
  // CHECK: %{{.*}}:2 = "stablehlo.scatter"(%arg0, %arg0, %arg1, %arg2, %arg2) <{scatter_dimension_numbers =
  // CHECK-NEXT: ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>, %arg5: tensor<f32>, %arg6: tensor<f32>):
  %1:2 = "stablehlo.scatter"(%table, %table, %ids, %updates, %updates) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<f32>, %d: tensor<f32>):
    stablehlo.return %c, %b : tensor<f32>, tensor<f32>
  }) : (tensor<10x6xf32>, tensor<10x6xf32>, tensor<3x1xi32>, tensor<3x6xf32>, tensor<3x6xf32>) -> (tensor<10x6xf32>, tensor<10x6xf32>)
  return
}
