// RUN: tenon-opt %s --simplify-recognize-idioms | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK: stablehlo.gather{{.*}}step.idiom = "embedding_lookup"
// CHECK: }) {step.idiom = "embedding_gradient"}
// CHECK: stablehlo.gather{{.*}}step.idiom = "index_pick"
// CHECK: }) {step.idiom = "index_pick_gradient"}
// A window of four rows has no name, nor has a scatter that overwrites.
// CHECK: stablehlo.gather
// CHECK-NOT: step.idiom
func.func @main(%table: tensor<65x16xf32>, %ids: tensor<8x4x1xi32>, %rows: tensor<8x4x16xf32>,
                %logits: tensor<8x10xf32>, %label: tensor<8x1x1xi32>, %g: tensor<8x1xf32>, %row: tensor<8xi32>)
    -> (tensor<8x4x16xf32>, tensor<65x16xf32>, tensor<8x1xf32>, tensor<8x10xf32>, tensor<8x4x16xf32>, tensor<65x16xf32>) {
  %0 = "stablehlo.gather"(%table, %ids) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, slice_sizes = array<i64: 1, 16>}> : (tensor<65x16xf32>, tensor<8x4x1xi32>) -> tensor<8x4x16xf32>
  %1 = "stablehlo.scatter"(%table, %ids, %rows) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<65x16xf32>, tensor<8x4x1xi32>, tensor<8x4x16xf32>) -> tensor<65x16xf32>
  %2 = "stablehlo.gather"(%logits, %label) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1>}> : (tensor<8x10xf32>, tensor<8x1x1xi32>) -> tensor<8x1xf32>
  %3 = "stablehlo.scatter"(%logits, %label, %g) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<8x10xf32>, tensor<8x1x1xi32>, tensor<8x1xf32>) -> tensor<8x10xf32>
  %4 = "stablehlo.gather"(%table, %row) <{dimension_numbers = #stablehlo.gather<offset_dims = [1, 2], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 4, 16>}> : (tensor<65x16xf32>, tensor<8xi32>) -> tensor<8x4x16xf32>
  %5 = "stablehlo.scatter"(%table, %ids, %rows) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %b : tensor<f32>
  }) : (tensor<65x16xf32>, tensor<8x4x1xi32>, tensor<8x4x16xf32>) -> tensor<65x16xf32>
  return %0, %1, %2, %3, %4, %5 : tensor<8x4x16xf32>, tensor<65x16xf32>, tensor<8x1xf32>, tensor<8x10xf32>, tensor<8x4x16xf32>, tensor<65x16xf32>
}
