// RUN: tenon-opt %s --simplify-apply-rules --split-input-file | FileCheck %s

// Exporters guard an index that may be negative. Counting never is.

// CHECK-LABEL: func.func @counted
// CHECK: %[[I:.*]] = stablehlo.iota dim = 0 : tensor<16xi32>
// CHECK-NEXT: return %[[I]]
func.func @counted() -> tensor<16xi32> {
  %0 = stablehlo.iota dim = 0 : tensor<16xi32>
  %zero = stablehlo.constant dense<0> : tensor<16xi32>
  %n = stablehlo.constant dense<16> : tensor<16xi32>
  %1 = stablehlo.compare LT, %0, %zero, SIGNED : (tensor<16xi32>, tensor<16xi32>) -> tensor<16xi1>
  %2 = stablehlo.add %0, %n : tensor<16xi32>
  %3 = stablehlo.select %1, %2, %0 : tensor<16xi1>, tensor<16xi32>
  return %3 : tensor<16xi32>
}

// -----

// A loop's counter lies between its start and its bound, so the guards of both
// accesses go; forwards and backwards.

// CHECK-LABEL: func.func @loop
// CHECK: stablehlo.while
// CHECK: } do {
// CHECK-NOT: stablehlo.compare
// CHECK-NOT: stablehlo.select
// CHECK: stablehlo.dynamic_slice %{{.*}}, %iterArg, %
// CHECK: %[[BACK:.*]] = stablehlo.subtract %{{.*}}, %iterArg
// CHECK: stablehlo.dynamic_slice %{{.*}}, %[[BACK]], %
func.func @loop(%x: tensor<8x4xf32>, %a: tensor<4xf32>) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %seven = stablehlo.constant dense<7> : tensor<i32>
  %eight = stablehlo.constant dense<8> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %sum = %a) : tensor<i32>, tensor<4xf32>
  cond {
    %c = stablehlo.compare LT, %i, %eight, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %n = stablehlo.compare LT, %i, %zero, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %w = stablehlo.add %i, %eight : tensor<i32>
    %s = stablehlo.select %n, %w, %i : tensor<i1>, tensor<i32>
    %r = stablehlo.dynamic_slice %x, %s, %zero, sizes = [1, 4] : (tensor<8x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
    %b = stablehlo.subtract %seven, %i : tensor<i32>
    %bn = stablehlo.compare LT, %b, %zero, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %bw = stablehlo.add %b, %eight : tensor<i32>
    %bs = stablehlo.select %bn, %bw, %b : tensor<i1>, tensor<i32>
    %q = stablehlo.dynamic_slice %x, %bs, %zero, sizes = [1, 4] : (tensor<8x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
    %rv = stablehlo.reshape %r : (tensor<1x4xf32>) -> tensor<4xf32>
    %qv = stablehlo.reshape %q : (tensor<1x4xf32>) -> tensor<4xf32>
    %p = stablehlo.multiply %rv, %qv : tensor<4xf32>
    %t = stablehlo.add %sum, %p : tensor<4xf32>
    %next = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %next, %t : tensor<i32>, tensor<4xf32>
  }
  return %0#1 : tensor<4xf32>
}

// -----

// A loop whose bound its body changes says nothing about its counter.

// CHECK-LABEL: func.func @moving_bound
// CHECK: } do {
// CHECK: stablehlo.compare LT, %iterArg, %
func.func @moving_bound(%n: tensor<i32>) -> tensor<i32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %five = stablehlo.constant dense<5> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %limit = %five) : tensor<i32>, tensor<i32>
  cond {
    %c = stablehlo.compare LT, %i, %limit, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %small = stablehlo.compare LT, %i, %five, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %m = stablehlo.select %small, %n, %zero : tensor<i1>, tensor<i32>
    %next = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %next, %m : tensor<i32>, tensor<i32>
  }
  return %0#1 : tensor<i32>
}

// -----

// Slices, gathers and scatters at places that are known. Starts are moved inside.

// CHECK-LABEL: func.func @places
// CHECK-SAME: (%[[X:.*]]: tensor<8x4xf32>, %[[U:.*]]: tensor<4xf32>)
// CHECK: %[[S:.*]] = stablehlo.slice %[[X]] [6:8, 0:4]
// CHECK: %[[G:.*]] = stablehlo.slice %[[X]] [2:3, 0:4]
// CHECK: %[[GR:.*]] = stablehlo.reshape %[[G]] : (tensor<1x4xf32>) -> tensor<4xf32>
// CHECK: %[[A:.*]] = stablehlo.add %[[U]], %{{.*}} : tensor<4xf32>
// CHECK: %[[V:.*]] = stablehlo.reshape %[[A]] : (tensor<4xf32>) -> tensor<1x4xf32>
// CHECK: %[[P:.*]] = stablehlo.pad %[[V]], %{{.*}}, low = [2, 0], high = [5, 0], interior = [0, 0]
// CHECK: return %[[S]], %[[GR]], %[[P]]
func.func @places(%x: tensor<8x4xf32>, %u: tensor<4xf32>) -> (tensor<2x4xf32>, tensor<4xf32>, tensor<8x4xf32>) {
  %seven = stablehlo.constant dense<7> : tensor<i32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.dynamic_slice %x, %seven, %zero, sizes = [2, 4] : (tensor<8x4xf32>, tensor<i32>, tensor<i32>) -> tensor<2x4xf32>
  %two = stablehlo.constant dense<2> : tensor<1xi32>
  %1 = "stablehlo.gather"(%x, %two) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [0], start_index_map = [0]>, slice_sizes = array<i64: 1, 4>}> : (tensor<8x4xf32>, tensor<1xi32>) -> tensor<4xf32>
  %zeros = stablehlo.constant dense<0.0> : tensor<8x4xf32>
  %2 = "stablehlo.scatter"(%zeros, %two, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0]>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<8x4xf32>, tensor<1xi32>, tensor<4xf32>) -> tensor<8x4xf32>
  return %0, %1, %2 : tensor<2x4xf32>, tensor<4xf32>, tensor<8x4xf32>
}

// -----

// A scatter outside its input is dropped, which only the operation knows how.

// CHECK-LABEL: func.func @outside
// CHECK: stablehlo.scatter
func.func @outside(%x: tensor<8xf32>, %u: tensor<f32>) -> tensor<8xf32> {
  %nine = stablehlo.constant dense<9> : tensor<1xi32>
  %0 = "stablehlo.scatter"(%x, %nine, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0]>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %b : tensor<f32>
  }) : (tensor<8xf32>, tensor<1xi32>, tensor<f32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// The first rows of a table, by number.

// CHECK-LABEL: func.func @positions
// CHECK-SAME: (%[[X:.*]]: tensor<64x16xf32>)
// CHECK: %[[S:.*]] = stablehlo.slice %[[X]] [0:32, 0:16]
// CHECK: return %[[S]]
func.func @positions(%x: tensor<64x16xf32>) -> tensor<32x16xf32> {
  %0 = stablehlo.iota dim = 0 : tensor<32xi32>
  %1 = stablehlo.reshape %0 : (tensor<32xi32>) -> tensor<32x1xi32>
  %2 = "stablehlo.gather"(%x, %1) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 16>}> : (tensor<64x16xf32>, tensor<32x1xi32>) -> tensor<32x16xf32>
  return %2 : tensor<32x16xf32>
}

// -----

// The gradient of picking an element per row is a comparison of positions. The
// sum of 0 and -0 is 0, and an index outside of the row matches nothing.

// CHECK-LABEL: func.func @one_per_row
// CHECK-DAG: %[[ZEROS:.*]] = stablehlo.constant dense<0.000000e+00> : tensor<4x3x50xf32>
// CHECK-DAG: %[[ROW_ZEROS:.*]] = stablehlo.constant dense<0.000000e+00> : tensor<4x3xf32>
// CHECK: %[[U:.*]] = stablehlo.reshape %arg1 : (tensor<4x3x1xf32>) -> tensor<4x3xf32>
// CHECK: %[[SUM:.*]] = stablehlo.add %[[U]], %[[ROW_ZEROS]]
// CHECK: %[[AT:.*]] = stablehlo.iota dim = 2 : tensor<4x3x50xi32>
// CHECK: %[[I:.*]] = stablehlo.reshape %arg0 : (tensor<4x3x1x1xi32>) -> tensor<4x3xi32>
// CHECK: %[[PLACE:.*]] = stablehlo.broadcast_in_dim %[[I]], dims = [0, 1]
// CHECK: %[[IS:.*]] = stablehlo.compare EQ, %[[AT]], %[[PLACE]]
// CHECK: %[[SPREAD:.*]] = stablehlo.broadcast_in_dim %[[SUM]], dims = [0, 1]
// CHECK: stablehlo.select %[[IS]], %[[SPREAD]], %[[ZEROS]]
func.func @one_per_row(%i: tensor<4x3x1x1xi32>, %u: tensor<4x3x1xf32>) -> tensor<4x3x50xf32> {
  %zeros = stablehlo.constant dense<0.0> : tensor<4x3x50xf32>
  %0 = "stablehlo.scatter"(%zeros, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [2], input_batching_dims = [0, 1], scatter_indices_batching_dims = [0, 1], scatter_dims_to_operand_dims = [2], index_vector_dim = 3>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<4x3x50xf32>, tensor<4x3x1x1xi32>, tensor<4x3x1xf32>) -> tensor<4x3x50xf32>
  return %0 : tensor<4x3x50xf32>
}

// A dimension of extent 1 may be part of the window.

// CHECK-LABEL: func.func @single_sequence
// CHECK-NOT: stablehlo.scatter
// CHECK: stablehlo.select
func.func @single_sequence(%i: tensor<8x1x1xi32>, %u: tensor<1x8x1xf32>) -> tensor<1x8x50xf32> {
  %zeros = stablehlo.constant dense<0.0> : tensor<1x8x50xf32>
  %0 = "stablehlo.scatter"(%zeros, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [2], input_batching_dims = [1], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [2], index_vector_dim = 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<1x8x50xf32>, tensor<8x1x1xi32>, tensor<1x8x1xf32>) -> tensor<1x8x50xf32>
  return %0 : tensor<1x8x50xf32>
}

// Two elements per row may meet; another start than zero adds to each; eight
// bits do not count the row's positions.

// CHECK-LABEL: func.func @several_per_row
// CHECK-COUNT-3: stablehlo.scatter
func.func @several_per_row(%i: tensor<4x2x1xi32>, %u: tensor<4x2xf32>, %x: tensor<4x50xf32>, %j: tensor<4x1x1xi32>, %v: tensor<4x1xf32>, %k: tensor<4x1x1xi8>) -> (tensor<4x50xf32>, tensor<4x50xf32>, tensor<4x200xf32>) {
  %zeros = stablehlo.constant dense<0.0> : tensor<4x50xf32>
  %0 = "stablehlo.scatter"(%zeros, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<4x50xf32>, tensor<4x2x1xi32>, tensor<4x2xf32>) -> tensor<4x50xf32>
  %2 = "stablehlo.scatter"(%x, %j, %v) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %3 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %3 : tensor<f32>
  }) : (tensor<4x50xf32>, tensor<4x1x1xi32>, tensor<4x1xf32>) -> tensor<4x50xf32>
  %wide = stablehlo.constant dense<0.0> : tensor<4x200xf32>
  %4 = "stablehlo.scatter"(%wide, %k, %v) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %5 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %5 : tensor<f32>
  }) : (tensor<4x200xf32>, tensor<4x1x1xi8>, tensor<4x1xf32>) -> tensor<4x200xf32>
  return %0, %2, %4 : tensor<4x50xf32>, tensor<4x50xf32>, tensor<4x200xf32>
}

// -----

// Of a table of zeros few rows change: they lie in a table of their own, and
// one of zeros behind them. An index outside of the large table has no row
// there, either.

// CHECK-LABEL: func.func @few_rows
// CHECK-DAG: %[[NONE:.*]] = stablehlo.constant dense<8> : tensor<1000xi32>
// CHECK-DAG: %[[OUTSIDE:.*]] = stablehlo.constant dense<9> : tensor<8xi32>
// CHECK-DAG: %[[ZEROS:.*]] = stablehlo.constant dense<0.000000e+00> : tensor<9x32xf32>
// CHECK: %[[PLACES:.*]] = stablehlo.reshape %arg0 : (tensor<2x4x1xi32>) -> tensor<8xi32>
// CHECK: %[[NUMBERED:.*]] = stablehlo.iota dim = 0 : tensor<8xi32>
// CHECK: %[[LIST:.*]] = "stablehlo.scatter"(%[[NONE]], %[[PLACES]], %[[NUMBERED]])
// CHECK: %[[FOUND:.*]] = "stablehlo.gather"(%[[LIST]], %[[PLACES]])
// CHECK: %[[SELECTED:.*]] = stablehlo.select %{{.*}}, %[[FOUND]], %[[OUTSIDE]]
// CHECK: %[[AT:.*]] = stablehlo.reshape %[[SELECTED]] : (tensor<8xi32>) -> tensor<2x4x1xi32>
// CHECK: %[[FEW:.*]] = "stablehlo.scatter"(%[[ZEROS]], %[[AT]], %arg1)
// CHECK: %[[ALL:.*]] = "stablehlo.gather"(%[[FEW]], %[[LIST]])
// CHECK-SAME: slice_sizes = array<i64: 1, 32>
// CHECK-SAME: -> tensor<1000x32xf32>
// CHECK: stablehlo.add %[[ALL]], %arg2
func.func @few_rows(%i: tensor<2x4x1xi32>, %u: tensor<2x4x32xf32>, %x: tensor<1000x32xf32>) -> tensor<1000x32xf32> {
  %zeros = stablehlo.constant dense<0.0> : tensor<1000x32xf32>
  %0 = "stablehlo.scatter"(%zeros, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %2 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %2 : tensor<f32>
  }) : (tensor<1000x32xf32>, tensor<2x4x1xi32>, tensor<2x4x32xf32>) -> tensor<1000x32xf32>
  %1 = stablehlo.add %0, %x : tensor<1000x32xf32>
  return %1 : tensor<1000x32xf32>
}

// Columns, and indices without a dimension of their own.

// CHECK-LABEL: func.func @few_columns
// CHECK: stablehlo.scatter
// CHECK: %[[FEW:.*]] = "stablehlo.scatter"
// CHECK: -> tensor<32x9xf32>
// CHECK: "stablehlo.gather"(%[[FEW]]
// CHECK-SAME: -> tensor<32x1000xf32>
func.func @few_columns(%i: tensor<8xui32>, %u: tensor<8x32xf32>, %x: tensor<32x1000xf32>) -> tensor<32x1000xf32> {
  %zeros = stablehlo.constant dense<1.0> : tensor<32x1000xf32>
  %0 = "stablehlo.scatter"(%zeros, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [1], scatter_dims_to_operand_dims = [1], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %2 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %2 : tensor<f32>
  }) : (tensor<32x1000xf32>, tensor<8xui32>, tensor<8x32xf32>) -> tensor<32x1000xf32>
  %1 = stablehlo.multiply %0, %x : tensor<32x1000xf32>
  return %1 : tensor<32x1000xf32>
}

// Stays: more than half of the rows may change, a result that is returned, rows
// that start differently, indices that do not reach all rows.

// CHECK-LABEL: func.func @not_few
// CHECK-COUNT-4: stablehlo.scatter
// CHECK-NOT: stablehlo.gather
func.func @not_few(%i: tensor<512x1xi32>, %u: tensor<512x32xf32>, %j: tensor<8x1xi32>, %v: tensor<8x32xf32>, %k: tensor<8x1xi8>, %x: tensor<1000x32xf32>) -> (tensor<1000x32xf32>, tensor<1000x32xf32>, tensor<1000x32xf32>, tensor<1000x32xf32>) {
  %zeros = stablehlo.constant dense<0.0> : tensor<1000x32xf32>
  %0 = "stablehlo.scatter"(%zeros, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<1000x32xf32>, tensor<512x1xi32>, tensor<512x32xf32>) -> tensor<1000x32xf32>
  %1 = stablehlo.add %0, %x : tensor<1000x32xf32>
  %2 = "stablehlo.scatter"(%zeros, %j, %v) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<1000x32xf32>, tensor<8x1xi32>, tensor<8x32xf32>) -> tensor<1000x32xf32>
  %3 = "stablehlo.scatter"(%x, %j, %v) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<1000x32xf32>, tensor<8x1xi32>, tensor<8x32xf32>) -> tensor<1000x32xf32>
  %4 = stablehlo.negate %3 : tensor<1000x32xf32>
  %5 = "stablehlo.scatter"(%zeros, %k, %v) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<1000x32xf32>, tensor<8x1xi8>, tensor<8x32xf32>) -> tensor<1000x32xf32>
  %6 = stablehlo.negate %5 : tensor<1000x32xf32>
  return %1, %2, %4, %6 : tensor<1000x32xf32>, tensor<1000x32xf32>, tensor<1000x32xf32>, tensor<1000x32xf32>
}

// -----

// Of the logarithms of probabilities one per row is read: the logits are picked,
// and nothing else is computed of whole rows.

// CHECK-LABEL: func.func @picked
// CHECK-DAG: %[[MAXIMUM:.*]] = stablehlo.reshape %arg1 : (tensor<8xf32>) -> tensor<8x1xf32>
// CHECK-DAG: %[[LOGIT:.*]] = "stablehlo.gather"(%arg0, %arg3)
// CHECK: %[[SHIFTED:.*]] = stablehlo.subtract %[[LOGIT]], %[[MAXIMUM]] : tensor<8x1xf32>
// CHECK: stablehlo.subtract %[[SHIFTED]], %{{.*}} : tensor<8x1xf32>
func.func @picked(%logits: tensor<8x1000xf32>, %maximum: tensor<8xf32>, %log: tensor<8xf32>, %labels: tensor<8x1x1xi32>) -> tensor<8x1xf32> {
  %0 = stablehlo.broadcast_in_dim %maximum, dims = [0] : (tensor<8xf32>) -> tensor<8x1000xf32>
  %1 = stablehlo.subtract %logits, %0 : tensor<8x1000xf32>
  %2 = stablehlo.broadcast_in_dim %log, dims = [0] : (tensor<8xf32>) -> tensor<8x1000xf32>
  %3 = stablehlo.subtract %1, %2 : tensor<8x1000xf32>
  %4 = "stablehlo.gather"(%3, %labels) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1>}> : (tensor<8x1000xf32>, tensor<8x1x1xi32>) -> tensor<8x1xf32>
  return %4 : tensor<8x1xf32>
}

// -----

// A sum of two tensors stays: both would have to be picked from.

// CHECK-LABEL: func.func @picked_from_two
// CHECK: %[[SUM:.*]] = stablehlo.add %arg0, %arg1 : tensor<8x1000xf32>
// CHECK: "stablehlo.gather"(%[[SUM]], %arg2)
func.func @picked_from_two(%a: tensor<8x1000xf32>, %b: tensor<8x1000xf32>, %labels: tensor<8x1x1xi32>) -> tensor<8x1xf32> {
  %0 = stablehlo.add %a, %b : tensor<8x1000xf32>
  %1 = "stablehlo.gather"(%0, %labels) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1>}> : (tensor<8x1000xf32>, tensor<8x1x1xi32>) -> tensor<8x1xf32>
  return %1 : tensor<8x1xf32>
}
