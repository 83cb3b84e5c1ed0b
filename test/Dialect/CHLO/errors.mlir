// What the verifiers of the dialect refuse.
// RUN: tenon-opt %s --split-input-file --verify-diagnostics

func.func @element_types(%x: tensor<4xi32>) {
  // expected-error@+1 {{operand #0 must be ranked tensor of floating-point or complex values, but got 'tensor<4xi32>'}}
  %0 = chlo.tan %x : tensor<4xi32> -> tensor<4xi32>
  return
}

// -----

func.func @one_type(%x: tensor<4xf32>) {
  // expected-error@+1 {{operand 0 and result 0 must have the same type, found 'tensor<4xf32>' and 'tensor<4xf16>'}}
  %0 = chlo.square %x : tensor<4xf32> -> tensor<4xf16>
  return
}

// -----

func.func @predicate_shape(%x: tensor<4xf32>) {
  // expected-error@+1 {{operand 0 and result 0 must have the same shape}}
  %0 = chlo.is_inf %x : tensor<4xf32> -> tensor<5xi1>
  return
}

// -----

func.func @broadcast_sizes(%x: tensor<4xf32>, %y: tensor<3x5xf32>) {
  // expected-error@+1 {{dimension 1 after broadcasting has size 5 in 'rhs' and 4 in an operand before it, expected equal sizes or 1}}
  %0 = chlo.broadcast_add %x, %y : (tensor<4xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
  return
}

// -----

func.func @broadcast_result(%x: tensor<4xf32>, %y: tensor<3x4xf32>) {
  // expected-error@+1 {{dimension 0 of 'result' has size 1, expected 3: found shape [1, 4], expected [3, 4], that of the operands after broadcasting}}
  %0 = chlo.broadcast_subtract %x, %y : (tensor<4xf32>, tensor<3x4xf32>) -> tensor<1x4xf32>
  return
}

// -----

func.func @broadcast_elements(%x: tensor<4xf32>, %y: tensor<4xf16>) {
  // expected-error@+1 {{expected 'lhs' and 'rhs' to have the same element type, found 'f32' and 'f16'}}
  %0 = chlo.broadcast_multiply %x, %y : (tensor<4xf32>, tensor<4xf16>) -> tensor<4xf32>
  return
}

// -----

func.func @broadcast_dimensions_count(%x: tensor<4xf32>, %y: tensor<3x4xf32>) {
  // expected-error@+1 {{'broadcast_dimensions' has 2 entries, expected 1, one for each dimension of the operand of lower rank}}
  %0 = chlo.broadcast_add %x, %y {broadcast_dimensions = array<i64: 0, 1>} : (tensor<4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @broadcast_dimensions_range(%x: tensor<4xf32>, %y: tensor<3x4xf32>) {
  // expected-error@+1 {{'broadcast_dimensions' holds 2 at position 0, expected a dimension of 'rhs' of rank 2}}
  %0 = chlo.broadcast_add %x, %y {broadcast_dimensions = array<i64: 2>} : (tensor<4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @broadcast_dimensions_unique(%x: tensor<3x3xf32>, %y: tensor<3x3x4xf32>) {
  // expected-error@+1 {{'broadcast_dimensions' holds 0 twice, at positions 0 and 1}}
  %0 = chlo.broadcast_add %x, %y {broadcast_dimensions = array<i64: 0, 0>} : (tensor<3x3xf32>, tensor<3x3x4xf32>) -> tensor<3x3x4xf32>
  return
}

// -----

func.func @broadcast_complex(%x: tensor<4xf32>) {
  // expected-error@+1 {{'result' has element type 'complex<f64>', expected 'complex<f32>'}}
  %0 = chlo.broadcast_complex %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xcomplex<f64>>
  return
}

// -----

func.func @broadcast_select(%p: tensor<2xi1>, %x: tensor<4xf32>) {
  // expected-error@+1 {{dimension 0 after broadcasting has size 4 in 'on_true' and 2 in an operand before it}}
  %0 = chlo.broadcast_select %p, %x, %x : (tensor<2xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @constant_like(%x: tensor<4xf32>) {
  // expected-error@+1 {{'value' has type 'i32', expected 'f32', the element type of 'result'}}
  %0 = "chlo.constant_like"(%x) <{value = 1 : i32}> : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @top_k_scalar(%x: tensor<f32>) {
  // expected-error@+1 {{'operand' has rank 0, expected at least 1}}
  %0:2 = chlo.top_k(%x, k = 1) : tensor<f32> -> (tensor<1xf32>, tensor<1xi32>)
  return
}

// -----

func.func @top_k_count(%x: tensor<4xf32>) {
  // expected-error@+1 {{'k' is 5, expected at least 0 and at most the size 4 of the last dimension of 'operand'}}
  %0:2 = chlo.top_k(%x, k = 5) : tensor<4xf32> -> (tensor<5xf32>, tensor<5xi32>)
  return
}

// -----

func.func @top_k_negative(%x: tensor<?xf32>) {
  // expected-error@+1 {{'k' is -1, expected at least 0}}
  %0:2 = chlo.top_k(%x, k = -1) : tensor<?xf32> -> (tensor<1xf32>, tensor<1xi32>)
  return
}

// -----

func.func @top_k_shape(%x: tensor<2x4xf32>) {
  // expected-error@+1 {{dimension 1 of 'indices' has size 4, expected 3}}
  %0:2 = chlo.top_k(%x, k = 3) : tensor<2x4xf32> -> (tensor<2x3xf32>, tensor<2x4xi32>)
  return
}

// -----

func.func @top_k_index(%x: tensor<4xf32>) {
  // expected-error@+1 {{'indices' has element type 'i64', expected i32}}
  %0:2 = chlo.top_k(%x, k = 3) : tensor<4xf32> -> (tensor<3xf32>, tensor<3xi64>)
  return
}

// -----

func.func @ragged_member(%l: tensor<6x4xf32>, %r: tensor<2x4x5xf32>, %n: tensor<2xi32>) {
  // expected-error@+1 {{unknown member 'lhs_dimensions', expected one of 'lhs_batching_dimensions', 'rhs_batching_dimensions'}}
  %0 = "chlo.ragged_dot"(%l, %r, %n) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_dimensions = [1]>}> : (tensor<6x4xf32>, tensor<2x4x5xf32>, tensor<2xi32>) -> tensor<6x5xf32>
  return
}

// -----

func.func @ragged_one(%l: tensor<6x4xf32>, %r: tensor<2x4x5xf32>, %n: tensor<2xi32>) {
  // expected-error@+1 {{'lhs_ragged_dimensions' has 0 entries, expected 1}}
  %0 = "chlo.ragged_dot"(%l, %r, %n) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], rhs_group_dimensions = [0]>}> : (tensor<6x4xf32>, tensor<2x4x5xf32>, tensor<2xi32>) -> tensor<6x5xf32>
  return
}

// -----

func.func @ragged_groups(%l: tensor<6x4xf32>, %r: tensor<3x4x5xf32>, %n: tensor<2xi32>) {
  // expected-error@+1 {{group dimension 0 of 'rhs' has size 3, expected 2, the number of groups in 'group_sizes'}}
  %0 = "chlo.ragged_dot"(%l, %r, %n) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<6x4xf32>, tensor<3x4x5xf32>, tensor<2xi32>) -> tensor<6x5xf32>
  return
}

// -----

func.func @ragged_group_missing(%l: tensor<6x4xf32>, %r: tensor<4x5xf32>, %n: tensor<2xi32>) {
  // expected-error@+1 {{'rhs_group_dimensions' has 0 entries, expected 1, the ragged dimension is free}}
  %0 = "chlo.ragged_dot"(%l, %r, %n) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], lhs_ragged_dimensions = [0]>}> : (tensor<6x4xf32>, tensor<4x5xf32>, tensor<2xi32>) -> tensor<6x5xf32>
  return
}

// -----

func.func @ragged_contracting(%l: tensor<6x4xf32>, %r: tensor<2x3x5xf32>, %n: tensor<2xi32>) {
  // expected-error@+1 {{contracting dimension 1 of 'lhs' has size 4 but contracting dimension 1 of 'rhs' has size 3, expected equal sizes}}
  %0 = "chlo.ragged_dot"(%l, %r, %n) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<6x4xf32>, tensor<2x3x5xf32>, tensor<2xi32>) -> tensor<6x5xf32>
  return
}

// -----

func.func @ragged_result(%l: tensor<6x4xf32>, %r: tensor<2x4x5xf32>, %n: tensor<2xi32>) {
  // expected-error@+1 {{'result' has rank 3 and shape [2, 6, 5], expected rank 2 and shape [6, 5]}}
  %0 = "chlo.ragged_dot"(%l, %r, %n) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<6x4xf32>, tensor<2x4x5xf32>, tensor<2xi32>) -> tensor<2x6x5xf32>
  return
}

// -----

func.func @scan_dimension(%x: tensor<2x9xf32>, %c: tensor<2xf32>) {
  // expected-error@+1 {{'dimension' is 2, expected a dimension of 'inputs' #0 of rank 2}}
  %0:2 = "chlo.scan"(%x, %c) <{dimension = 2 : i64, operandSegmentSizes = array<i32: 1, 1>, resultSegmentSizes = array<i32: 1, 1>}> ({
  ^bb0(%slice: tensor<2xf32>, %carry: tensor<2xf32>):
    stablehlo.return %slice, %carry : tensor<2xf32>, tensor<2xf32>
  }) : (tensor<2x9xf32>, tensor<2xf32>) -> (tensor<2x9xf32>, tensor<2xf32>)
  return
}

// -----

func.func @scan_length(%x: tensor<2x9xf32>, %c: tensor<2xf32>) {
  // expected-error@+1 {{dimension 1 of 'outputs' #0 has size 8, expected 9, the length of the scan}}
  %0:2 = "chlo.scan"(%x, %c) <{dimension = 1 : i64, operandSegmentSizes = array<i32: 1, 1>, resultSegmentSizes = array<i32: 1, 1>}> ({
  ^bb0(%slice: tensor<2xf32>, %carry: tensor<2xf32>):
    stablehlo.return %slice, %carry : tensor<2xf32>, tensor<2xf32>
  }) : (tensor<2x9xf32>, tensor<2xf32>) -> (tensor<2x8xf32>, tensor<2xf32>)
  return
}

// -----

func.func @scan_body(%x: tensor<2x9xf32>, %c: tensor<2xf32>) {
  // expected-error@+1 {{argument #0 of region 'body' has type 'tensor<f32>', expected 'tensor<2xf32>'}}
  %0:2 = "chlo.scan"(%x, %c) <{dimension = 1 : i64, operandSegmentSizes = array<i32: 1, 1>, resultSegmentSizes = array<i32: 1, 1>}> ({
  ^bb0(%slice: tensor<f32>, %carry: tensor<2xf32>):
    stablehlo.return %carry, %carry : tensor<2xf32>, tensor<2xf32>
  }) : (tensor<2x9xf32>, tensor<2xf32>) -> (tensor<2x9xf32>, tensor<2xf32>)
  return
}

// -----

func.func @scan_carries(%x: tensor<2x9xf32>, %c: tensor<2xf32>) {
  // expected-error@+1 {{expected 'inits' #0 and 'carries' #0 to have the same type, found 'tensor<2xf32>' and 'tensor<2xf64>'}}
  %0:2 = "chlo.scan"(%x, %c) <{dimension = 1 : i64, operandSegmentSizes = array<i32: 1, 1>, resultSegmentSizes = array<i32: 1, 1>}> ({
  ^bb0(%slice: tensor<2xf32>, %carry: tensor<2xf32>):
    stablehlo.return %slice, %carry : tensor<2xf32>, tensor<2xf32>
  }) : (tensor<2x9xf32>, tensor<2xf32>) -> (tensor<2x9xf32>, tensor<2xf64>)
  return
}
