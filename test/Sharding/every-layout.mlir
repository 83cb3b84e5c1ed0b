// RUN: TenonShardingCheck every %s --mesh=x=2 --most=400 | FileCheck %s
// RUN: TenonShardingCheck every %s --mesh=x=2,y=2 --most=120
// RUN: TenonShardingCheck every %s --mesh=x=4 --most=80
// RUN: TenonShardingCheck every %s --mesh=x=3 --most=80

// Every structure of ShardingRules.td under splits of small shapes, even and
// uneven ones, against the operation on whole tensors.

// Moves from every layout to every other.
// CHECK: moved: 9 of 9 splits
func.func @moved(%x: tensor<4x5xf32>) -> tensor<4x5xf32> {
  return %x : tensor<4x5xf32>
}

// CHECK: moved_in_space: 16 of 16 splits
func.func @moved_in_space(%x: tensor<4x6x3xf32>) -> tensor<4x6x3xf32> {
  return %x : tensor<4x6x3xf32>
}

func.func @pointwise(%x: tensor<4x5xf32>, %y: tensor<4x5xf32>, %p: tensor<i1>) -> tensor<4x5xf32> {
  %0 = stablehlo.multiply %x, %y : tensor<4x5xf32>
  %1 = stablehlo.select %p, %0, %x : tensor<i1>, tensor<4x5xf32>
  return %1 : tensor<4x5xf32>
}

// CHECK: contracted: {{.*}} splits{{.*}}, all_reduce {{.*}}reduce_scatter
func.func @contracted(%x: tensor<4x6xf32>, %y: tensor<6x3xf32>) -> tensor<4x3xf32> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<4x6xf32>, tensor<6x3xf32>) -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}

func.func @contracted_unevenly(%x: tensor<2x3x5xf32>, %y: tensor<2x5x4xf32>) -> tensor<2x3x4xf32> {
  %0 = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x3x5xf32>, tensor<2x5x4xf32>) -> tensor<2x3x4xf32>
  return %0 : tensor<2x3x4xf32>
}

func.func @square(%x: tensor<4x5xf32>) -> tensor<4x4xf32> {
  %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [1] : (tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

func.func @convolved(%x: tensor<4x5x3xf32>, %k: tensor<2x3x4xf32>) -> tensor<4x4x4xf32> {
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<4x5x3xf32>, tensor<2x3x4xf32>) -> tensor<4x4x4xf32>
  return %0 : tensor<4x4x4xf32>
}

func.func @summed(%x: tensor<4x5xf32>) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x5xf32>, tensor<f32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

func.func @largest(%x: tensor<4x5xf32>) -> tensor<5xf32> {
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %least) applies stablehlo.maximum across dimensions = [0] : (tensor<4x5xf32>, tensor<f32>) -> tensor<5xf32>
  return %0 : tensor<5xf32>
}

func.func @all_of_them(%x: tensor<5x4xi1>) -> tensor<4xi1> {
  %true = stablehlo.constant dense<true> : tensor<i1>
  %0 = stablehlo.reduce(%x init: %true) applies stablehlo.and across dimensions = [0] : (tensor<5x4xi1>, tensor<i1>) -> tensor<4xi1>
  return %0 : tensor<4xi1>
}

func.func @least_integer(%x: tensor<5x4xi32>) -> tensor<4xi32> {
  %most = stablehlo.constant dense<2147483647> : tensor<i32>
  %0 = stablehlo.reduce(%x init: %most) applies stablehlo.minimum across dimensions = [0] : (tensor<5x4xi32>, tensor<i32>) -> tensor<4xi32>
  return %0 : tensor<4xi32>
}

// An initial value that is not neutral is added once.
func.func @summed_from_one(%x: tensor<4x5xf32>) -> tensor<4xf32> {
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %one) applies stablehlo.add across dimensions = [1] : (tensor<4x5xf32>, tensor<f32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

func.func @pooled(%x: tensor<4x6xf32>) -> tensor<4x3xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%x, %zero) <{window_dimensions = array<i64: 1, 2>, window_strides = array<i64: 1, 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<f32>) -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}

func.func @broadcast(%x: tensor<4x1xf32>) -> tensor<3x4x5xf32> {
  %0 = stablehlo.broadcast_in_dim %x, dims = [1, 2] : (tensor<4x1xf32>) -> tensor<3x4x5xf32>
  return %0 : tensor<3x4x5xf32>
}

func.func @repeated(%x: tensor<f32>) -> tensor<4x5xf32> {
  %0 = stablehlo.broadcast_in_dim %x, dims = [] : (tensor<f32>) -> tensor<4x5xf32>
  return %0 : tensor<4x5xf32>
}

// One element of several, for all of them.
func.func @one_repeated(%x: tensor<4xf32>, %y: tensor<5xf32>) -> tensor<5xf32> {
  %0 = stablehlo.slice %x [1:2] : (tensor<4xf32>) -> tensor<1xf32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<1xf32>) -> tensor<5xf32>
  %2 = stablehlo.add %1, %y : tensor<5xf32>
  return %2 : tensor<5xf32>
}

// A number for each group of neighbours, as in group normalization.
func.func @by_groups(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reshape %x : (tensor<2x8xf32>) -> tensor<2x4x2xf32>
  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<2x4x2xf32>, tensor<f32>) -> tensor<2x4xf32>
  %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<2x4xf32>) -> tensor<2x4x2xf32>
  %3 = stablehlo.reshape %2 : (tensor<2x4x2xf32>) -> tensor<2x8xf32>
  %4 = stablehlo.subtract %x, %3 : tensor<2x8xf32>
  return %4 : tensor<2x8xf32>
}

func.func @transposed(%x: tensor<4x5x2xf32>) -> tensor<2x4x5xf32> {
  %0 = stablehlo.transpose %x, dims = [2, 0, 1] : (tensor<4x5x2xf32>) -> tensor<2x4x5xf32>
  return %0 : tensor<2x4x5xf32>
}

func.func @heads(%x: tensor<5x8xf32>) -> tensor<5x4x2xf32> {
  %0 = stablehlo.reshape %x : (tensor<5x8xf32>) -> tensor<5x4x2xf32>
  return %0 : tensor<5x4x2xf32>
}

func.func @flattened(%x: tensor<4x2x3xf32>) -> tensor<8x3xf32> {
  %0 = stablehlo.reshape %x : (tensor<4x2x3xf32>) -> tensor<8x3xf32>
  return %0 : tensor<8x3xf32>
}

// On four devices two have three heads, each half of their elements.
func.func @merged_heads(%x: tensor<2x6x2xf32>, %w: tensor<12x3xf32>) -> tensor<2x3xf32> {
  %0 = stablehlo.tanh %x : tensor<2x6x2xf32>
  %1 = stablehlo.reshape %0 : (tensor<2x6x2xf32>) -> tensor<2x12xf32>
  %2 = stablehlo.dot_general %1, %w, contracting_dims = [1] x [0] : (tensor<2x12xf32>, tensor<12x3xf32>) -> tensor<2x3xf32>
  return %2 : tensor<2x3xf32>
}

func.func @split_heads(%x: tensor<2x3xf32>, %w: tensor<3x12xf32>) -> tensor<2x6x2xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3x12xf32>) -> tensor<2x12xf32>
  %1 = stablehlo.reshape %0 : (tensor<2x12xf32>) -> tensor<2x6x2xf32>
  %2 = stablehlo.tanh %1 : tensor<2x6x2xf32>
  return %2 : tensor<2x6x2xf32>
}

func.func @without_common_factors(%x: tensor<4x6xf32>) -> tensor<6x4xf32> {
  %0 = stablehlo.reshape %x : (tensor<4x6xf32>) -> tensor<6x4xf32>
  return %0 : tensor<6x4xf32>
}

func.func @sliced(%x: tensor<4x5xf32>) -> tensor<4x3xf32> {
  %0 = stablehlo.slice %x [0:4, 1:4] : (tensor<4x5xf32>) -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}

func.func @sliced_anywhere(%x: tensor<4x5xf32>, %i: tensor<i32>) -> tensor<4x3xf32> {
  %0 = stablehlo.dynamic_slice %x, %i, %i, sizes = [4, 3] : (tensor<4x5xf32>, tensor<i32>, tensor<i32>) -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}

func.func @updated(%x: tensor<4x5xf32>, %u: tensor<4x2xf32>, %i: tensor<i32>) -> tensor<4x5xf32> {
  %0 = stablehlo.dynamic_update_slice %x, %u, %i, %i : (tensor<4x5xf32>, tensor<4x2xf32>, tensor<i32>, tensor<i32>) -> tensor<4x5xf32>
  return %0 : tensor<4x5xf32>
}

func.func @padded(%x: tensor<4x5xf32>, %v: tensor<f32>) -> tensor<4x8xf32> {
  %0 = stablehlo.pad %x, %v, low = [0, 1], high = [0, 2], interior = [0, 0] : (tensor<4x5xf32>, tensor<f32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

func.func @concatenated(%x: tensor<4x2xf32>, %y: tensor<4x3xf32>) -> tensor<4x5xf32> {
  %0 = stablehlo.concatenate %x, %y, dim = 1 : (tensor<4x2xf32>, tensor<4x3xf32>) -> tensor<4x5xf32>
  return %0 : tensor<4x5xf32>
}

func.func @reversed(%x: tensor<4x5xf32>) -> tensor<4x5xf32> {
  %0 = stablehlo.reverse %x, dims = [0] : tensor<4x5xf32>
  return %0 : tensor<4x5xf32>
}

// Rows of a table, some of whose numbers are outside.
func.func @rows(%table: tensor<9x4xf32>, %i: tensor<3x2x1xi32>) -> tensor<3x2x4xf32> {
  %0 = "stablehlo.gather"(%table, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, slice_sizes = array<i64: 1, 4>}> : (tensor<9x4xf32>, tensor<3x2x1xi32>) -> tensor<3x2x4xf32>
  return %0 : tensor<3x2x4xf32>
}

func.func @elements(%table: tensor<5x9xf32>, %i: tensor<4x2xi32>) -> tensor<4xf32> {
  %0 = "stablehlo.gather"(%table, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<5x9xf32>, tensor<4x2xi32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

func.func @pick(%x: tensor<4x7xf32>, %i: tensor<4x1x1xui8>) -> tensor<4x1xf32> {
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1>}> : (tensor<4x7xf32>, tensor<4x1x1xui8>) -> tensor<4x1xf32>
  return %0 : tensor<4x1xf32>
}

func.func @added_rows(%table: tensor<9x4xf32>, %i: tensor<5x1xi32>, %u: tensor<5x4xf32>) -> tensor<9x4xf32> {
  %0 = "stablehlo.scatter"(%table, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<9x4xf32>, tensor<5x1xi32>, tensor<5x4xf32>) -> tensor<9x4xf32>
  return %0 : tensor<9x4xf32>
}

func.func @replaced_element(%x: tensor<4x7xf32>, %i: tensor<4x1xi32>, %u: tensor<4xf32>) -> tensor<4x7xf32> {
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %b : tensor<f32>
  }) : (tensor<4x7xf32>, tensor<4x1xi32>, tensor<4xf32>) -> tensor<4x7xf32>
  return %0 : tensor<4x7xf32>
}

func.func @sorted(%x: tensor<4x5xf32>) -> tensor<4x5xf32> {
  %0 = "stablehlo.sort"(%x) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.compare LT, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) : (tensor<4x5xf32>) -> tensor<4x5xf32>
  return %0 : tensor<4x5xf32>
}

func.func @solved(%a: tensor<4x2x2xf32>, %b: tensor<4x2x3xf32>) -> tensor<4x2x3xf32> {
  %0 = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, unit_diagonal = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}> : (tensor<4x2x2xf32>, tensor<4x2x3xf32>) -> tensor<4x2x3xf32>
  return %0 : tensor<4x2x3xf32>
}

// Neither shape is the other one with dimensions missing at its end.
// CHECK: shaped_twice: {{.*}} splits
func.func @shaped_twice(%x: tensor<4x1xf32>) -> (tensor<4xf32>, tensor<4x1x1xf32>) {
  %0 = stablehlo.reshape %x : (tensor<4x1xf32>) -> tensor<4xf32>
  %1 = stablehlo.reshape %x : (tensor<4x1xf32>) -> tensor<4x1x1xf32>
  return %0, %1 : tensor<4xf32>, tensor<4x1x1xf32>
}

// Matrices of a batch are decomposed where they lie. An uneven batch is gathered,
// since a library may refuse what lies in a tail.
// CHECK: decomposed: {{.*}} splits
// CHECK-NEXT: decomposed_complex: {{.*}} splits
func.func @decomposed(%a: tensor<4x3x2xf32>) -> (tensor<4x3x2xf32>, tensor<4x2xf32>) {
  %0:2 = stablehlo.custom_call @lapack_sgeqrf_ffi(%a) {api_version = 4 : i32, mhlo.backend_config = {}} : (tensor<4x3x2xf32>) -> (tensor<4x3x2xf32>, tensor<4x2xf32>)
  %1 = stablehlo.custom_call @lapack_sorgqr_ffi(%0#0, %0#1) {api_version = 4 : i32, mhlo.backend_config = {}} : (tensor<4x3x2xf32>, tensor<4x2xf32>) -> tensor<4x3x2xf32>
  return %1, %0#1 : tensor<4x3x2xf32>, tensor<4x2xf32>
}

func.func @decomposed_complex(%a: tensor<4x2x2x2xf32>) -> (tensor<4x2x2x2xf32>, tensor<4x2xf32>, tensor<4xi32>) {
  %0:3 = stablehlo.custom_call @lapack_cheevd_ffi(%a) {api_version = 4 : i32, mhlo.backend_config = {mode = 86 : ui8, uplo = 76 : ui8}} : (tensor<4x2x2x2xf32>) -> (tensor<4x2x2x2xf32>, tensor<4x2xf32>, tensor<4xi32>)
  return %0#0, %0#1, %0#2 : tensor<4x2x2x2xf32>, tensor<4x2xf32>, tensor<4xi32>
}

func.func @counted(%x: tensor<4x5xf32>) -> tensor<4x5xf32> {
  %0 = stablehlo.iota dim = 1 : tensor<4x5xf32>
  %1 = stablehlo.constant dense<[[1.0], [2.0], [3.0], [4.0]]> : tensor<4x1xf32>
  %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<4x1xf32>) -> tensor<4x5xf32>
  %3 = stablehlo.add %0, %2 : tensor<4x5xf32>
  %4 = stablehlo.add %x, %3 : tensor<4x5xf32>
  return %4 : tensor<4x5xf32>
}

func.func @random_bits(%state: tensor<2xui64>, %x: tensor<4x4xui32>) -> tensor<4x4xui32> {
  %s, %bits = stablehlo.rng_bit_generator %state, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4x4xui32>)
  %0 = stablehlo.xor %bits, %x : tensor<4x4xui32>
  return %0 : tensor<4x4xui32>
}

func.func @loop(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, tensor<4x4xf32>
  cond {
    %rounds = stablehlo.constant dense<3> : tensor<i32>
    %1 = stablehlo.compare LT, %i, %rounds, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %1 = stablehlo.add %i, %one : tensor<i32>
    %2 = stablehlo.dot_general %y, %w, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %3 = stablehlo.tanh %2 : tensor<4x4xf32>
    stablehlo.return %1, %3 : tensor<i32>, tensor<4x4xf32>
  }
  return %0#1 : tensor<4x4xf32>
}

// What decides is a sum over cut elements.
func.func @branch(%x: tensor<4x5xf32>) -> tensor<4x5xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x5xf32>, tensor<f32>) -> tensor<f32>
  %p = stablehlo.compare GT, %sum, %zero, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
  %i = stablehlo.convert %p : (tensor<i1>) -> tensor<i32>
  %0 = "stablehlo.case"(%i) ({
    %1 = stablehlo.negate %x : tensor<4x5xf32>
    stablehlo.return %1 : tensor<4x5xf32>
  }, {
    %1 = stablehlo.reverse %x, dims = [0] : tensor<4x5xf32>
    stablehlo.return %1 : tensor<4x5xf32>
  }) : (tensor<i32>) -> tensor<4x5xf32>
  return %0 : tensor<4x5xf32>
}

// Attention, and its gradient, whose sums for keys run over queries.
func.func @attention(%q: tensor<2x5x2x4xf32>, %k: tensor<2x3x2x4xf32>, %v: tensor<2x3x2x6xf32>) -> (tensor<2x5x2x6xf32>, tensor<2x2x5xf32>, tensor<2x2x5xf32>) {
  %o, %m, %s = step.attention %q[0, q, 1, d], %k[0, k, 1, d], %v[0, k, 1, v] -> [0, q, 1, v] {scale = 5.000000e-01 : f32} : (tensor<2x5x2x4xf32>, tensor<2x3x2x4xf32>, tensor<2x3x2x6xf32>) -> (tensor<2x5x2x6xf32>, tensor<2x2x5xf32>, tensor<2x2x5xf32>)
  return %o, %m, %s : tensor<2x5x2x6xf32>, tensor<2x2x5xf32>, tensor<2x2x5xf32>
}

func.func @attention_gradient(%q: tensor<2x4x2x4xf32>, %k: tensor<2x3x2x4xf32>, %v: tensor<2x3x2x4xf32>, %g: tensor<2x4x2x4xf32>) -> (tensor<2x4x2x4xf32>, tensor<2x3x2x4xf32>, tensor<2x3x2x4xf32>) {
  %o, %m, %s = step.attention %q[0, q, 1, d], %k[0, k, 1, d], %v[0, k, 1, v] -> [0, q, 1, v] {scale = 5.000000e-01 : f32} : (tensor<2x4x2x4xf32>, tensor<2x3x2x4xf32>, tensor<2x3x2x4xf32>) -> (tensor<2x4x2x4xf32>, tensor<2x2x4xf32>, tensor<2x2x4xf32>)
  %dq, %dk, %dv = step.attention_gradient %q[0, q, 1, d], %k[0, k, 1, d], %v[0, k, 1, v] of %m, %s, %g[0, q, 1, v] -> [0, q, 1, d], [0, k, 1, d], [0, k, 1, v] {scale = 5.000000e-01 : f32} : (tensor<2x4x2x4xf32>, tensor<2x3x2x4xf32>, tensor<2x3x2x4xf32>, tensor<2x2x4xf32>, tensor<2x2x4xf32>, tensor<2x4x2x4xf32>) -> (tensor<2x4x2x4xf32>, tensor<2x3x2x4xf32>, tensor<2x3x2x4xf32>)
  return %dq, %dk, %dv : tensor<2x4x2x4xf32>, tensor<2x3x2x4xf32>, tensor<2x3x2x4xf32>
}

// The index of an element in the whole tensor says which way it is rounded.
func.func @rounded_by_chance(%x: tensor<4x5xf32>) -> tensor<4x5xbf16> {
  %step = stablehlo.constant dense<7> : tensor<ui32>
  %key = stablehlo.constant dense<[11, 13]> : tensor<2xui32>
  %row = stablehlo.iota dim = 0 : tensor<4x5xui32>
  %column = stablehlo.iota dim = 1 : tensor<4x5xui32>
  %five = stablehlo.constant dense<5> : tensor<4x5xui32>
  %start = stablehlo.multiply %row, %five : tensor<4x5xui32>
  %indices = stablehlo.add %start, %column : tensor<4x5xui32>
  %0 = step.stochastic_round %x, %step, %key, %indices : (tensor<4x5xf32>, tensor<ui32>, tensor<2xui32>, tensor<4x5xui32>) -> tensor<4x5xbf16>
  return %0 : tensor<4x5xbf16>
}
