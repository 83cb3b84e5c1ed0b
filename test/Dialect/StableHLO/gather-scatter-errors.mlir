// Constraints of gather and scatter, one failing case or more per number.
// RUN: tenon-opt %s --split-input-file --verify-diagnostics

func.func @gather_c1(%a: tensor<8x4x6xf32>, %b: tensor<5x2xi32>) {
  // expected-error@+1 {{'stablehlo.gather' op 'operand' has rank 3, expected 2: 1 window dimension, 1 collapsed or inserted dimension and 0 batching dimensions}}
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1, 6>}> : (tensor<8x4x6xf32>, tensor<5x2xi32>) -> tensor<5x6xf32>
  return
}

// -----

func.func @gather_c2(%a: tensor<8x4x6xf32>, %b: tensor<5x2xi32>) {
  // expected-error@+1 {{'stablehlo.gather' op 'index_vector_dim' is 3, expected at least 0 and at most the rank 2 of 'start_indices'}}
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 3>, slice_sizes = array<i64: 1, 1, 6>}> : (tensor<8x4x6xf32>, tensor<5x2xi32>) -> tensor<5x6xf32>
  return
}

// -----

func.func @gather_c3(%a: tensor<8x4x6xf32>, %b: tensor<5x2xi32>) {
  // expected-error@+1 {{'stablehlo.gather' op 'start_index_map' has 1 entry, expected 2, one for each index component}}
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0, 1], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1, 6>}> : (tensor<8x4x6xf32>, tensor<5x2xi32>) -> tensor<5x6xf32>
  return
}

// -----

func.func @gather_c4(%a: tensor<8x4x6xf32>, %b: tensor<5x2xi32>) {
  // expected-error@+1 {{'stablehlo.gather' op 'offset_dims' holds 1 twice, at positions 0 and 1, expected distinct values}}
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [1, 1], collapsed_slice_dims = [0], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4, 6>}> : (tensor<8x4x6xf32>, tensor<5x2xi32>) -> tensor<5x4x6xf32>
  return
}

// -----

func.func @gather_c4_b(%a: tensor<8x4x6xf32>, %b: tensor<5x2xi32>) {
  // expected-error@+1 {{'stablehlo.gather' op 'offset_dims' = [2, 1] is not sorted: found 1 after 2 at position 1}}
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [2, 1], collapsed_slice_dims = [0], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4, 6>}> : (tensor<8x4x6xf32>, tensor<5x2xi32>) -> tensor<5x4x6xf32>
  return
}

// -----

func.func @gather_c5(%a: tensor<8x4x6xf32>, %b: tensor<5x2xi32>) {
  // expected-error@+1 {{'stablehlo.gather' op 'offset_dims' holds 2 at position 0, expected a dimension of 'result' of rank 2 (at least 0, less than 2)}}
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1, 6>}> : (tensor<8x4x6xf32>, tensor<5x2xi32>) -> tensor<5x6xf32>
  return
}

// -----

func.func @gather_c6(%a: tensor<8x4x6xf32>, %b: tensor<5x2xi32>) {
  // expected-error@+1 {{'stablehlo.gather' op 'collapsed_slice_dims' holds 0 twice, at positions 0 and 1, expected distinct values}}
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0, 0], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1, 6>}> : (tensor<8x4x6xf32>, tensor<5x2xi32>) -> tensor<5x6xf32>
  return
}

// -----

func.func @gather_c6_b(%a: tensor<8x4x6xf32>, %b: tensor<5x2xi32>) {
  // expected-error@+1 {{'stablehlo.gather' op 'collapsed_slice_dims' and 'operand_batching_dims' both hold dimension 0, expected distinct dimensions}}
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1, 6>}> : (tensor<8x4x6xf32>, tensor<5x2xi32>) -> tensor<5x6xf32>
  return
}

// -----

func.func @gather_c7(%a: tensor<8x4x6xf32>, %b: tensor<5x2xi32>) {
  // expected-error@+1 {{'stablehlo.gather' op 'collapsed_slice_dims' = [1, 0] is not sorted: found 0 after 1 at position 1}}
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [1, 0], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1, 6>}> : (tensor<8x4x6xf32>, tensor<5x2xi32>) -> tensor<5x6xf32>
  return
}

// -----

func.func @gather_c8(%a: tensor<8x4x6xf32>, %b: tensor<5x2xi32>) {
  // expected-error@+1 {{'stablehlo.gather' op 'collapsed_slice_dims' holds 3 at position 1, expected a dimension of 'operand' of rank 3 (at least 0, less than 3)}}
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0, 3], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1, 6>}> : (tensor<8x4x6xf32>, tensor<5x2xi32>) -> tensor<5x6xf32>
  return
}

// -----

func.func @gather_c9(%a: tensor<8x4x6xf32>, %b: tensor<5x2xi32>) {
  // expected-error@+1 {{'stablehlo.gather' op 'slice_sizes' is 2 in dimension 1, expected at most 1 because 'collapsed_slice_dims' holds that dimension}}
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 2, 6>}> : (tensor<8x4x6xf32>, tensor<5x2xi32>) -> tensor<5x6xf32>
  return
}

// -----

func.func @gather_c10(%a: tensor<8x4x6xf32>, %b: tensor<4x8x1xi32>) {
  // expected-error@+1 {{'stablehlo.gather' op 'operand_batching_dims' = [1, 0] is not sorted: found 0 after 1 at position 1}}
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [], operand_batching_dims = [1, 0], start_indices_batching_dims = [0, 1], start_index_map = [2], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 2>}> : (tensor<8x4x6xf32>, tensor<4x8x1xi32>) -> tensor<4x8x2xf32>
  return
}

// -----

func.func @gather_c11(%a: tensor<8x4x6xf32>, %b: tensor<5x2xi32>) {
  // expected-error@+1 {{'stablehlo.gather' op 'operand_batching_dims' holds 3 at position 0, expected a dimension of 'operand' of rank 3 (at least 0, less than 3)}}
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], operand_batching_dims = [3], start_indices_batching_dims = [0], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1, 6>}> : (tensor<8x4x6xf32>, tensor<5x2xi32>) -> tensor<5x6xf32>
  return
}

// -----

func.func @gather_c12(%a: tensor<8x4x6xf32>, %b: tensor<8x5x1xi32>) {
  // expected-error@+1 {{'stablehlo.gather' op 'slice_sizes' is 2 in dimension 0, expected at most 1 because 'operand_batching_dims' holds that dimension}}
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 2, 1, 6>}> : (tensor<8x4x6xf32>, tensor<8x5x1xi32>) -> tensor<8x5x6xf32>
  return
}

// -----

func.func @gather_c13(%a: tensor<8x8x6xf32>, %b: tensor<8x8x1xi32>) {
  // expected-error@+1 {{'stablehlo.gather' op 'start_indices_batching_dims' holds 0 twice, at positions 0 and 1, expected distinct values}}
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [], operand_batching_dims = [0, 1], start_indices_batching_dims = [0, 0], start_index_map = [2], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 2>}> : (tensor<8x8x6xf32>, tensor<8x8x1xi32>) -> tensor<8x8x2xf32>
  return
}

// -----

func.func @gather_c14(%a: tensor<8x4x6xf32>, %b: tensor<8x5x1xi32>) {
  // expected-error@+1 {{'stablehlo.gather' op 'start_indices_batching_dims' holds 3 at position 0, expected a dimension of 'start_indices' of rank 3 (at least 0, less than 3)}}
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [3], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 6>}> : (tensor<8x4x6xf32>, tensor<8x5x1xi32>) -> tensor<8x5x6xf32>
  return
}

// -----

func.func @gather_c15(%a: tensor<8x4x6xf32>, %b: tensor<8x5x1xi32>) {
  // expected-error@+1 {{'stablehlo.gather' op 'start_indices_batching_dims' holds 2, which is 'index_vector_dim'}}
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [2], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 6>}> : (tensor<8x4x6xf32>, tensor<8x5x1xi32>) -> tensor<8x5x6xf32>
  return
}

// -----

func.func @gather_c16(%a: tensor<8x4x6xf32>, %b: tensor<8x5x1xi32>) {
  // expected-error@+1 {{'stablehlo.gather' op 'start_indices_batching_dims' has 2 entries, expected 1, one for each of 'operand_batching_dims'}}
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0, 1], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 6>}> : (tensor<8x4x6xf32>, tensor<8x5x1xi32>) -> tensor<8x5x6xf32>
  return
}

// -----

func.func @gather_c17(%a: tensor<8x4x6xf32>, %b: tensor<7x5x1xi32>) {
  // expected-error@+1 {{'stablehlo.gather' op batching dimension 0 of 'operand' has size 8 but batching dimension 0 of 'start_indices' has size 7, expected equal sizes}}
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 6>}> : (tensor<8x4x6xf32>, tensor<7x5x1xi32>) -> tensor<7x5x6xf32>
  return
}

// -----

func.func @gather_c18(%a: tensor<8x4x6xf32>, %b: tensor<5x2xi32>) {
  // expected-error@+1 {{'stablehlo.gather' op 'start_index_map' holds 0 twice, at positions 0 and 1, expected distinct values}}
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0, 1], start_index_map = [0, 0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1, 6>}> : (tensor<8x4x6xf32>, tensor<5x2xi32>) -> tensor<5x6xf32>
  return
}

// -----

func.func @gather_c18_b(%a: tensor<8x4x6xf32>, %b: tensor<8x5x1xi32>) {
  // expected-error@+1 {{'stablehlo.gather' op 'start_index_map' and 'operand_batching_dims' both hold dimension 0, expected distinct dimensions}}
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [0], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 6>}> : (tensor<8x4x6xf32>, tensor<8x5x1xi32>) -> tensor<8x5x6xf32>
  return
}

// -----

func.func @gather_c19(%a: tensor<8x4x6xf32>, %b: tensor<5x2xi32>) {
  // expected-error@+1 {{'stablehlo.gather' op 'start_index_map' holds 3 at position 1, expected a dimension of 'operand' of rank 3 (at least 0, less than 3)}}
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0, 1], start_index_map = [0, 3], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1, 6>}> : (tensor<8x4x6xf32>, tensor<5x2xi32>) -> tensor<5x6xf32>
  return
}

// -----

func.func @gather_c20(%a: tensor<8x4x6xf32>, %b: tensor<5x2xi32>) {
  // expected-error@+1 {{'stablehlo.gather' op 'slice_sizes' has 2 entries, expected 3, one for each dimension of 'operand'}}
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<8x4x6xf32>, tensor<5x2xi32>) -> tensor<5x6xf32>
  return
}

// -----

func.func @gather_c21(%a: tensor<8x4x6xf32>, %b: tensor<5x2xi32>) {
  // expected-error@+1 {{'stablehlo.gather' op 'slice_sizes' is 7 in dimension 2, expected at least 0 and at most the size 6 of that dimension of 'operand'}}
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1, 7>}> : (tensor<8x4x6xf32>, tensor<5x2xi32>) -> tensor<5x7xf32>
  return
}

// -----

func.func @gather_c21_b(%a: tensor<8x4x6xf32>, %b: tensor<5x2xi32>) {
  // expected-error@+1 {{'stablehlo.gather' op 'slice_sizes' is -1 in dimension 2, expected at least 0 and at most the size 6 of that dimension of 'operand'}}
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1, -1>}> : (tensor<8x4x6xf32>, tensor<5x2xi32>) -> tensor<5x6xf32>
  return
}

// -----

func.func @gather_c22(%a: tensor<8x4x6xf32>, %b: tensor<5x2xi32>) {
  // expected-error@+1 {{'stablehlo.gather' op dimension 1 of 'result' has size 5, expected 6: found shape [5, 5], expected [5, 6], slice sizes at 'offset_dims' and the dimensions of 'start_indices' at the others}}
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1, 6>}> : (tensor<8x4x6xf32>, tensor<5x2xi32>) -> tensor<5x5xf32>
  return
}

// -----

func.func @gather_c22_b(%a: tensor<8x4x6xf32>, %b: tensor<5x2xi32>) {
  // expected-error@+1 {{'stablehlo.gather' op dimension 0 of 'result' has size 6, expected 5: found shape [6, 5], expected [5, 6], slice sizes at 'offset_dims' and the dimensions of 'start_indices' at the others}}
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1, 6>}> : (tensor<8x4x6xf32>, tensor<5x2xi32>) -> tensor<6x5xf32>
  return
}

// -----

func.func @gather_c23(%a: tensor<8x4x6xf32>, %b: tensor<5x2xi32>) {
  // expected-error@+1 {{'stablehlo.gather' op expected 'operand' and 'result' to have the same element type, found 'f32' and 'f64'}}
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1, 6>}> : (tensor<8x4x6xf32>, tensor<5x2xi32>) -> tensor<5x6xf64>
  return
}

// -----

func.func @scatter_c1(%a: tensor<8x4x6xf32>, %b: tensor<8x4x7xf32>, %c: tensor<5x2xi32>, %d: tensor<5x6xf32>, %e: tensor<5x6xf32>) {
  // expected-error@+1 {{'stablehlo.scatter' op expected 'inputs' #0 and 'inputs' #1 to have the same shape, found [8, 4, 6] and [8, 4, 7], which differ in dimension 2}}
  %r:2 = "stablehlo.scatter"(%a, %b, %c, %d, %e) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>, %u: tensor<f32>, %v: tensor<f32>):
    stablehlo.return %x, %y : tensor<f32>, tensor<f32>
  }) : (tensor<8x4x6xf32>, tensor<8x4x7xf32>, tensor<5x2xi32>, tensor<5x6xf32>, tensor<5x6xf32>) -> (tensor<8x4x6xf32>, tensor<8x4x7xf32>)
  return
}

// -----

func.func @scatter_c2(%a: tensor<8x4x6xf32>, %b: tensor<5x2xi32>, %c: tensor<5x6xf32>) {
  // expected-error@+1 {{'stablehlo.scatter' op 'inputs' #0 has rank 3, expected 2: 1 window dimension, 1 collapsed or inserted dimension and 0 batching dimensions}}
  %r = "stablehlo.scatter"(%a, %b, %c) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<8x4x6xf32>, tensor<5x2xi32>, tensor<5x6xf32>) -> tensor<8x4x6xf32>
  return
}

// -----

func.func @scatter_c3(%a: tensor<8x4x6xf32>, %b: tensor<8x4x6xf32>, %c: tensor<5x2xi32>, %d: tensor<5x6xf32>, %e: tensor<5x5xf32>) {
  // expected-error@+1 {{'stablehlo.scatter' op expected 'updates' #0 and 'updates' #1 to have the same shape, found [5, 6] and [5, 5], which differ in dimension 1}}
  %r:2 = "stablehlo.scatter"(%a, %b, %c, %d, %e) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>, %u: tensor<f32>, %v: tensor<f32>):
    stablehlo.return %x, %y : tensor<f32>, tensor<f32>
  }) : (tensor<8x4x6xf32>, tensor<8x4x6xf32>, tensor<5x2xi32>, tensor<5x6xf32>, tensor<5x5xf32>) -> (tensor<8x4x6xf32>, tensor<8x4x6xf32>)
  return
}

// -----

func.func @scatter_c4(%a: tensor<8x4x6xf32>, %b: tensor<5x2xi32>, %c: tensor<5x7xf32>) {
  // expected-error@+1 {{'stablehlo.scatter' op dimension 1 of 'updates' #0 has size 7, expected at most 6, the size of the window's dimension of 'inputs' #0}}
  %r = "stablehlo.scatter"(%a, %b, %c) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<8x4x6xf32>, tensor<5x2xi32>, tensor<5x7xf32>) -> tensor<8x4x6xf32>
  return
}

// -----

func.func @scatter_c4_b(%a: tensor<8x4x6xf32>, %b: tensor<5x2xi32>, %c: tensor<4x6xf32>) {
  // expected-error@+1 {{'stablehlo.scatter' op dimension 0 of 'updates' #0 has size 4, expected 5, the size of a dimension of 'scatter_indices'}}
  %r = "stablehlo.scatter"(%a, %b, %c) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<8x4x6xf32>, tensor<5x2xi32>, tensor<4x6xf32>) -> tensor<8x4x6xf32>
  return
}

// -----

func.func @scatter_c4_c(%a: tensor<8x4x6xf32>, %b: tensor<5x2xi32>, %c: tensor<5x6x1xf32>) {
  // expected-error@+1 {{'stablehlo.scatter' op 'updates' #0 has rank 3, expected 2: 1 dimension of 'scatter_indices' and 1 window dimension}}
  %r = "stablehlo.scatter"(%a, %b, %c) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<8x4x6xf32>, tensor<5x2xi32>, tensor<5x6x1xf32>) -> tensor<8x4x6xf32>
  return
}

// -----

func.func @scatter_c5(%a: tensor<5x2xi32>) {
  // expected-error@+1 {{'stablehlo.scatter' op has no inputs, expected at least one}}
  "stablehlo.scatter"(%a) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>}> ({
    stablehlo.return
  }) : (tensor<5x2xi32>) -> ()
  return
}

// -----

func.func @scatter_c5_b(%a: tensor<8x4x6xf32>, %b: tensor<8x4x6xf32>, %c: tensor<5x2xi32>, %d: tensor<5x6xf32>) {
  // expected-error@+1 {{'stablehlo.scatter' op operand #1 must be ranked tensor of integer values, but got 'tensor<8x4x6xf32>'}}
  %r = "stablehlo.scatter"(%a, %b, %c, %d) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<8x4x6xf32>, tensor<8x4x6xf32>, tensor<5x2xi32>, tensor<5x6xf32>) -> tensor<8x4x6xf32>
  return
}

// -----

func.func @scatter_c5_c(%a: tensor<8x4x6xf32>, %b: tensor<5x2xi32>, %c: tensor<5x6xf32>) {
  // expected-error@+1 {{'stablehlo.scatter' op 'results' has 2 entries, expected 1, one for each of 'inputs'}}
  %r:2 = "stablehlo.scatter"(%a, %b, %c) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<8x4x6xf32>, tensor<5x2xi32>, tensor<5x6xf32>) -> (tensor<8x4x6xf32>, tensor<8x4x6xf32>)
  return
}

// -----

func.func @scatter_c6(%a: tensor<8x4x6xf32>, %b: tensor<5x2xi32>, %c: tensor<5x6xf16>) {
  // expected-error@+1 {{'stablehlo.scatter' op expected 'inputs' #0 and 'updates' #0 to have the same element type, found 'f32' and 'f16'}}
  %r = "stablehlo.scatter"(%a, %b, %c) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<8x4x6xf32>, tensor<5x2xi32>, tensor<5x6xf16>) -> tensor<8x4x6xf32>
  return
}

// -----

func.func @scatter_c7(%a: tensor<8x4x6xf32>, %b: tensor<5x2xi32>, %c: tensor<5x4x6xf32>) {
  // expected-error@+1 {{'stablehlo.scatter' op 'update_window_dims' holds 1 twice, at positions 0 and 1, expected distinct values}}
  %r = "stablehlo.scatter"(%a, %b, %c) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1, 1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<8x4x6xf32>, tensor<5x2xi32>, tensor<5x4x6xf32>) -> tensor<8x4x6xf32>
  return
}

// -----

func.func @scatter_c7_b(%a: tensor<8x4x6xf32>, %b: tensor<5x2xi32>, %c: tensor<5x4x6xf32>) {
  // expected-error@+1 {{'stablehlo.scatter' op 'update_window_dims' = [2, 1] is not sorted: found 1 after 2 at position 1}}
  %r = "stablehlo.scatter"(%a, %b, %c) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2, 1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<8x4x6xf32>, tensor<5x2xi32>, tensor<5x4x6xf32>) -> tensor<8x4x6xf32>
  return
}

// -----

func.func @scatter_c8(%a: tensor<8x4x6xf32>, %b: tensor<5x2xi32>, %c: tensor<5x6xf32>) {
  // expected-error@+1 {{'stablehlo.scatter' op 'update_window_dims' holds 2 at position 0, expected a dimension of 'updates' #0 of rank 2 (at least 0, less than 2)}}
  %r = "stablehlo.scatter"(%a, %b, %c) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<8x4x6xf32>, tensor<5x2xi32>, tensor<5x6xf32>) -> tensor<8x4x6xf32>
  return
}

// -----

func.func @scatter_c9(%a: tensor<8x4x6xf32>, %b: tensor<5x2xi32>, %c: tensor<5x6xf32>) {
  // expected-error@+1 {{'stablehlo.scatter' op 'inserted_window_dims' holds 0 twice, at positions 0 and 1, expected distinct values}}
  %r = "stablehlo.scatter"(%a, %b, %c) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0, 0], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<8x4x6xf32>, tensor<5x2xi32>, tensor<5x6xf32>) -> tensor<8x4x6xf32>
  return
}

// -----

func.func @scatter_c9_b(%a: tensor<8x4x6xf32>, %b: tensor<5x2xi32>, %c: tensor<5x6xf32>) {
  // expected-error@+1 {{'stablehlo.scatter' op 'inserted_window_dims' and 'input_batching_dims' both hold dimension 0, expected distinct dimensions}}
  %r = "stablehlo.scatter"(%a, %b, %c) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<8x4x6xf32>, tensor<5x2xi32>, tensor<5x6xf32>) -> tensor<8x4x6xf32>
  return
}

// -----

func.func @scatter_c10(%a: tensor<8x4x6xf32>, %b: tensor<5x2xi32>, %c: tensor<5x6xf32>) {
  // expected-error@+1 {{'stablehlo.scatter' op 'inserted_window_dims' = [1, 0] is not sorted: found 0 after 1 at position 1}}
  %r = "stablehlo.scatter"(%a, %b, %c) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [1, 0], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<8x4x6xf32>, tensor<5x2xi32>, tensor<5x6xf32>) -> tensor<8x4x6xf32>
  return
}

// -----

func.func @scatter_c11(%a: tensor<8x4x6xf32>, %b: tensor<5x2xi32>, %c: tensor<5x6xf32>) {
  // expected-error@+1 {{'stablehlo.scatter' op 'inserted_window_dims' holds 3 at position 1, expected a dimension of 'inputs' #0 of rank 3 (at least 0, less than 3)}}
  %r = "stablehlo.scatter"(%a, %b, %c) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0, 3], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<8x4x6xf32>, tensor<5x2xi32>, tensor<5x6xf32>) -> tensor<8x4x6xf32>
  return
}

// -----

func.func @scatter_c12(%a: tensor<8x4x6xf32>, %b: tensor<4x8x1xi32>, %c: tensor<4x8x6xf32>) {
  // expected-error@+1 {{'stablehlo.scatter' op 'input_batching_dims' = [1, 0] is not sorted: found 0 after 1 at position 1}}
  %r = "stablehlo.scatter"(%a, %b, %c) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [], input_batching_dims = [1, 0], scatter_indices_batching_dims = [0, 1], scatter_dims_to_operand_dims = [2], index_vector_dim = 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<8x4x6xf32>, tensor<4x8x1xi32>, tensor<4x8x6xf32>) -> tensor<8x4x6xf32>
  return
}

// -----

func.func @scatter_c13(%a: tensor<8x4x6xf32>, %b: tensor<8x5x1xi32>, %c: tensor<8x5x6xf32>) {
  // expected-error@+1 {{'stablehlo.scatter' op 'input_batching_dims' holds 3 at position 0, expected a dimension of 'inputs' #0 of rank 3 (at least 0, less than 3)}}
  %r = "stablehlo.scatter"(%a, %b, %c) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [3], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<8x4x6xf32>, tensor<8x5x1xi32>, tensor<8x5x6xf32>) -> tensor<8x4x6xf32>
  return
}

// -----

func.func @scatter_c14(%a: tensor<8x8x6xf32>, %b: tensor<8x8x1xi32>, %c: tensor<8x8x6xf32>) {
  // expected-error@+1 {{'stablehlo.scatter' op 'scatter_indices_batching_dims' holds 0 twice, at positions 0 and 1, expected distinct values}}
  %r = "stablehlo.scatter"(%a, %b, %c) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [], input_batching_dims = [0, 1], scatter_indices_batching_dims = [0, 0], scatter_dims_to_operand_dims = [2], index_vector_dim = 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<8x8x6xf32>, tensor<8x8x1xi32>, tensor<8x8x6xf32>) -> tensor<8x8x6xf32>
  return
}

// -----

func.func @scatter_c15(%a: tensor<8x4x6xf32>, %b: tensor<8x5x1xi32>, %c: tensor<8x5x6xf32>) {
  // expected-error@+1 {{'stablehlo.scatter' op 'scatter_indices_batching_dims' holds 3 at position 0, expected a dimension of 'scatter_indices' of rank 3 (at least 0, less than 3)}}
  %r = "stablehlo.scatter"(%a, %b, %c) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [3], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<8x4x6xf32>, tensor<8x5x1xi32>, tensor<8x5x6xf32>) -> tensor<8x4x6xf32>
  return
}

// -----

func.func @scatter_c16(%a: tensor<8x4x6xf32>, %b: tensor<8x5x1xi32>, %c: tensor<8x5x6xf32>) {
  // expected-error@+1 {{'stablehlo.scatter' op 'scatter_indices_batching_dims' holds 2, which is 'index_vector_dim'}}
  %r = "stablehlo.scatter"(%a, %b, %c) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [2], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<8x4x6xf32>, tensor<8x5x1xi32>, tensor<8x5x6xf32>) -> tensor<8x4x6xf32>
  return
}

// -----

func.func @scatter_c17(%a: tensor<8x4x6xf32>, %b: tensor<8x5x1xi32>, %c: tensor<8x5x6xf32>) {
  // expected-error@+1 {{'stablehlo.scatter' op 'scatter_indices_batching_dims' has 2 entries, expected 1, one for each of 'input_batching_dims'}}
  %r = "stablehlo.scatter"(%a, %b, %c) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0, 1], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<8x4x6xf32>, tensor<8x5x1xi32>, tensor<8x5x6xf32>) -> tensor<8x4x6xf32>
  return
}

// -----

func.func @scatter_c18(%a: tensor<8x4x6xf32>, %b: tensor<7x5x1xi32>, %c: tensor<7x5x6xf32>) {
  // expected-error@+1 {{'stablehlo.scatter' op batching dimension 0 of 'inputs' #0 has size 8 but batching dimension 0 of 'scatter_indices' has size 7, expected equal sizes}}
  %r = "stablehlo.scatter"(%a, %b, %c) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<8x4x6xf32>, tensor<7x5x1xi32>, tensor<7x5x6xf32>) -> tensor<8x4x6xf32>
  return
}

// -----

func.func @scatter_c19(%a: tensor<8x4x6xf32>, %b: tensor<5x2xi32>, %c: tensor<5x6xf32>) {
  // expected-error@+1 {{'stablehlo.scatter' op 'scatter_dims_to_operand_dims' has 1 entry, expected 2, one for each index component}}
  %r = "stablehlo.scatter"(%a, %b, %c) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<8x4x6xf32>, tensor<5x2xi32>, tensor<5x6xf32>) -> tensor<8x4x6xf32>
  return
}

// -----

func.func @scatter_c20(%a: tensor<8x4x6xf32>, %b: tensor<5x2xi32>, %c: tensor<5x6xf32>) {
  // expected-error@+1 {{'stablehlo.scatter' op 'scatter_dims_to_operand_dims' holds 0 twice, at positions 0 and 1, expected distinct values}}
  %r = "stablehlo.scatter"(%a, %b, %c) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 0], index_vector_dim = 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<8x4x6xf32>, tensor<5x2xi32>, tensor<5x6xf32>) -> tensor<8x4x6xf32>
  return
}

// -----

func.func @scatter_c20_b(%a: tensor<8x4x6xf32>, %b: tensor<8x5x1xi32>, %c: tensor<8x5x6xf32>) {
  // expected-error@+1 {{'stablehlo.scatter' op 'scatter_dims_to_operand_dims' and 'input_batching_dims' both hold dimension 0, expected distinct dimensions}}
  %r = "stablehlo.scatter"(%a, %b, %c) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<8x4x6xf32>, tensor<8x5x1xi32>, tensor<8x5x6xf32>) -> tensor<8x4x6xf32>
  return
}

// -----

func.func @scatter_c21(%a: tensor<8x4x6xf32>, %b: tensor<5x2xi32>, %c: tensor<5x6xf32>) {
  // expected-error@+1 {{'stablehlo.scatter' op 'scatter_dims_to_operand_dims' holds 3 at position 1, expected a dimension of 'inputs' #0 of rank 3 (at least 0, less than 3)}}
  %r = "stablehlo.scatter"(%a, %b, %c) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 3], index_vector_dim = 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<8x4x6xf32>, tensor<5x2xi32>, tensor<5x6xf32>) -> tensor<8x4x6xf32>
  return
}

// -----

func.func @scatter_c22(%a: tensor<8x4x6xf32>, %b: tensor<5x2xi32>, %c: tensor<5x6xf32>) {
  // expected-error@+1 {{'stablehlo.scatter' op 'index_vector_dim' is 3, expected at least 0 and at most the rank 2 of 'scatter_indices'}}
  %r = "stablehlo.scatter"(%a, %b, %c) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 3>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<8x4x6xf32>, tensor<5x2xi32>, tensor<5x6xf32>) -> tensor<8x4x6xf32>
  return
}

// -----

func.func @scatter_c22_b(%a: tensor<8x4x6xf32>, %b: tensor<5x2xi32>, %c: tensor<5x6xf32>) {
  // expected-error@+1 {{'stablehlo.scatter' op 'index_vector_dim' is -1, expected at least 0 and at most the rank 2 of 'scatter_indices'}}
  %r = "stablehlo.scatter"(%a, %b, %c) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = -1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<8x4x6xf32>, tensor<5x2xi32>, tensor<5x6xf32>) -> tensor<8x4x6xf32>
  return
}

// -----

func.func @scatter_c23(%a: tensor<8x4x6xf32>, %b: tensor<5x2xi32>, %c: tensor<5x6xf32>) {
  // expected-error@+1 {{'stablehlo.scatter' op argument #0 of region 'update_computation' has element type 'i32', expected a type that 'f32' can be promoted to}}
  %r = "stablehlo.scatter"(%a, %b, %c) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>}> ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>):
    %s = stablehlo.add %x, %y : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<8x4x6xf32>, tensor<5x2xi32>, tensor<5x6xf32>) -> tensor<8x4x6xf32>
  return
}

// -----

func.func @scatter_c23_b(%a: tensor<8x4x6xf32>, %b: tensor<5x2xi32>, %c: tensor<5x6xf32>) {
  // expected-error@+1 {{'stablehlo.scatter' op region 'update_computation' has 3 arguments, expected 2, two for each of 1 value}}
  %r = "stablehlo.scatter"(%a, %b, %c) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>, %z: tensor<f32>):
    stablehlo.return %x : tensor<f32>
  }) : (tensor<8x4x6xf32>, tensor<5x2xi32>, tensor<5x6xf32>) -> tensor<8x4x6xf32>
  return
}

// -----

func.func @scatter_c24(%a: tensor<8x4x6xf32>, %b: tensor<5x2xi32>, %c: tensor<5x6xf32>) {
  // expected-error@+1 {{'stablehlo.scatter' op expected 'inputs' #0 and 'results' #0 to have the same shape, found [8, 4, 6] and [8, 4, 7], which differ in dimension 2}}
  %r = "stablehlo.scatter"(%a, %b, %c) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<8x4x6xf32>, tensor<5x2xi32>, tensor<5x6xf32>) -> tensor<8x4x7xf32>
  return
}

// -----

func.func @scatter_c25(%a: tensor<8x4x6xf32>, %b: tensor<5x2xi32>, %c: tensor<5x6xf32>) {
  // expected-error@+1 {{'stablehlo.scatter' op 'results' #0 has element type 'f64', expected 'f32', which 'update_computation' returns}}
  %r = "stablehlo.scatter"(%a, %b, %c) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<8x4x6xf32>, tensor<5x2xi32>, tensor<5x6xf32>) -> tensor<8x4x6xf64>
  return
}
