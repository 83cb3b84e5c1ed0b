// Constraints of slices, one failing case or more per number.
// RUN: tenon-opt %s --split-input-file --verify-diagnostics

func.func @slice_c1(%a: tensor<4x6xf32>) {
  // expected-error@+1 {{'stablehlo.slice' op expected 'operand' and 'result' to have the same element type, found 'f32' and 'f64'}}
  %r = "stablehlo.slice"(%a) <{start_indices = array<i64: 0, 1>, limit_indices = array<i64: 2, 5>, strides = array<i64: 1, 2>}> : (tensor<4x6xf32>) -> tensor<2x2xf64>
  return
}

// -----

func.func @slice_c2(%a: tensor<4x6xf32>) {
  // expected-error@+1 {{'stablehlo.slice' op 'start_indices' has 1 entry, expected 2, one for each dimension of 'operand'}}
  %r = "stablehlo.slice"(%a) <{start_indices = array<i64: 0>, limit_indices = array<i64: 2, 5>, strides = array<i64: 1, 2>}> : (tensor<4x6xf32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @slice_c2_b(%a: tensor<4x6xf32>) {
  // expected-error@+1 {{'stablehlo.slice' op 'limit_indices' has 3 entries, expected 2, one for each dimension of 'operand'}}
  %r = "stablehlo.slice"(%a) <{start_indices = array<i64: 0, 1>, limit_indices = array<i64: 2, 5, 1>, strides = array<i64: 1, 2>}> : (tensor<4x6xf32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @slice_c2_c(%a: tensor<4x6xf32>) {
  // expected-error@+1 {{'stablehlo.slice' op 'strides' has 1 entry, expected 2, one for each dimension of 'operand'}}
  %r = "stablehlo.slice"(%a) <{start_indices = array<i64: 0, 1>, limit_indices = array<i64: 2, 5>, strides = array<i64: 1>}> : (tensor<4x6xf32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @slice_c3(%a: tensor<4x6xf32>) {
  // expected-error@+1 {{'stablehlo.slice' op slice of dimension 0 goes from -1 to 2, expected 0 <= start <= limit <= 4}}
  %r = "stablehlo.slice"(%a) <{start_indices = array<i64: -1, 1>, limit_indices = array<i64: 2, 5>, strides = array<i64: 1, 2>}> : (tensor<4x6xf32>) -> tensor<3x2xf32>
  return
}

// -----

func.func @slice_c3_b(%a: tensor<4x6xf32>) {
  // expected-error@+1 {{'stablehlo.slice' op slice of dimension 0 goes from 3 to 2, expected 0 <= start <= limit <= 4}}
  %r = "stablehlo.slice"(%a) <{start_indices = array<i64: 3, 1>, limit_indices = array<i64: 2, 5>, strides = array<i64: 1, 2>}> : (tensor<4x6xf32>) -> tensor<0x2xf32>
  return
}

// -----

func.func @slice_c3_c(%a: tensor<4x6xf32>) {
  // expected-error@+1 {{'stablehlo.slice' op slice of dimension 1 goes from 1 to 7, expected 0 <= start <= limit <= 6}}
  %r = "stablehlo.slice"(%a) <{start_indices = array<i64: 0, 1>, limit_indices = array<i64: 2, 7>, strides = array<i64: 1, 2>}> : (tensor<4x6xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @slice_c4(%a: tensor<4x6xf32>) {
  // expected-error@+1 {{'stablehlo.slice' op 'strides' holds 0 at position 1, expected at least 1}}
  %r = "stablehlo.slice"(%a) <{start_indices = array<i64: 0, 1>, limit_indices = array<i64: 2, 5>, strides = array<i64: 1, 0>}> : (tensor<4x6xf32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @slice_c5(%a: tensor<4x6xf32>) {
  // expected-error@+1 {{'stablehlo.slice' op dimension 1 of 'result' has size 2, expected 3: found shape [2, 2], expected [2, 3], ceil((limit - start) / stride) in each dimension}}
  %r = "stablehlo.slice"(%a) <{start_indices = array<i64: 0, 1>, limit_indices = array<i64: 2, 6>, strides = array<i64: 1, 2>}> : (tensor<4x6xf32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @dynamic_slice_c1(%a: tensor<4x6xf32>, %b: tensor<i32>, %c: tensor<i32>) {
  // expected-error@+1 {{'stablehlo.dynamic_slice' op expected 'operand' and 'result' to have the same element type, found 'f32' and 'i32'}}
  %r = "stablehlo.dynamic_slice"(%a, %b, %c) <{slice_sizes = array<i64: 2, 2>}> : (tensor<4x6xf32>, tensor<i32>, tensor<i32>) -> tensor<2x2xi32>
  return
}

// -----

func.func @dynamic_slice_c2(%a: tensor<4x6xf32>, %b: tensor<i32>) {
  // expected-error@+1 {{'stablehlo.dynamic_slice' op 'start_indices' has 1 entry, expected 2, one for each dimension of 'operand'}}
  %r = "stablehlo.dynamic_slice"(%a, %b) <{slice_sizes = array<i64: 2, 2>}> : (tensor<4x6xf32>, tensor<i32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @dynamic_slice_c2_b(%a: tensor<4x6xf32>, %b: tensor<i32>, %c: tensor<i32>) {
  // expected-error@+1 {{'stablehlo.dynamic_slice' op 'slice_sizes' has 1 entry, expected 2, one for each dimension of 'operand'}}
  %r = "stablehlo.dynamic_slice"(%a, %b, %c) <{slice_sizes = array<i64: 2>}> : (tensor<4x6xf32>, tensor<i32>, tensor<i32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @dynamic_slice_c3(%a: tensor<4x6xf32>, %b: tensor<i32>, %c: tensor<i64>) {
  // expected-error@+1 {{'stablehlo.dynamic_slice' op expected 'start_indices' #0 and 'start_indices' #1 to have the same type, found 'tensor<i32>' and 'tensor<i64>'}}
  %r = "stablehlo.dynamic_slice"(%a, %b, %c) <{slice_sizes = array<i64: 2, 2>}> : (tensor<4x6xf32>, tensor<i32>, tensor<i64>) -> tensor<2x2xf32>
  return
}

// -----

func.func @dynamic_slice_c4(%a: tensor<4x6xf32>, %b: tensor<i32>, %c: tensor<i32>) {
  // expected-error@+1 {{'stablehlo.dynamic_slice' op 'slice_sizes' has size 7 in dimension 1, expected at most the size 6 of that dimension of 'operand'}}
  %r = "stablehlo.dynamic_slice"(%a, %b, %c) <{slice_sizes = array<i64: 2, 7>}> : (tensor<4x6xf32>, tensor<i32>, tensor<i32>) -> tensor<2x7xf32>
  return
}

// -----

func.func @dynamic_slice_c4_b(%a: tensor<4x6xf32>, %b: tensor<i32>, %c: tensor<i32>) {
  // expected-error@+1 {{'stablehlo.dynamic_slice' op 'slice_sizes' holds -1 at position 0, expected at least 0}}
  %r = "stablehlo.dynamic_slice"(%a, %b, %c) <{slice_sizes = array<i64: -1, 2>}> : (tensor<4x6xf32>, tensor<i32>, tensor<i32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @dynamic_slice_c5(%a: tensor<4x6xf32>, %b: tensor<i32>, %c: tensor<i32>) {
  // expected-error@+1 {{'stablehlo.dynamic_slice' op dimension 1 of 'result' has size 3, expected 2: found shape [2, 3], expected [2, 2], which is 'slice_sizes'}}
  %r = "stablehlo.dynamic_slice"(%a, %b, %c) <{slice_sizes = array<i64: 2, 2>}> : (tensor<4x6xf32>, tensor<i32>, tensor<i32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @dynamic_update_slice_c1(%a: tensor<4x6xf32>, %b: tensor<2x2xf32>, %c: tensor<i32>, %d: tensor<i32>) {
  // expected-error@+1 {{'stablehlo.dynamic_update_slice' op expected 'operand' and 'result' to have the same type, found 'tensor<4x6xf32>' and 'tensor<4x5xf32>'}}
  %r = "stablehlo.dynamic_update_slice"(%a, %b, %c, %d) : (tensor<4x6xf32>, tensor<2x2xf32>, tensor<i32>, tensor<i32>) -> tensor<4x5xf32>
  return
}

// -----

func.func @dynamic_update_slice_c2(%a: tensor<4x6xf32>, %b: tensor<2x2xf16>, %c: tensor<i32>, %d: tensor<i32>) {
  // expected-error@+1 {{'stablehlo.dynamic_update_slice' op expected 'update' and 'operand' to have the same element type, found 'f16' and 'f32'}}
  %r = "stablehlo.dynamic_update_slice"(%a, %b, %c, %d) : (tensor<4x6xf32>, tensor<2x2xf16>, tensor<i32>, tensor<i32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @dynamic_update_slice_c3(%a: tensor<4x6xf32>, %b: tensor<2xf32>, %c: tensor<i32>, %d: tensor<i32>) {
  // expected-error@+1 {{'stablehlo.dynamic_update_slice' op 'update' has rank 1, expected the rank 2 of 'operand'}}
  %r = "stablehlo.dynamic_update_slice"(%a, %b, %c, %d) : (tensor<4x6xf32>, tensor<2xf32>, tensor<i32>, tensor<i32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @dynamic_update_slice_c4(%a: tensor<4x6xf32>, %b: tensor<2x2xf32>, %c: tensor<i32>) {
  // expected-error@+1 {{'stablehlo.dynamic_update_slice' op 'start_indices' has 1 entry, expected 2, one for each dimension of 'operand'}}
  %r = "stablehlo.dynamic_update_slice"(%a, %b, %c) : (tensor<4x6xf32>, tensor<2x2xf32>, tensor<i32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @dynamic_update_slice_c5(%a: tensor<4x6xf32>, %b: tensor<2x2xf32>, %c: tensor<i32>, %d: tensor<ui32>) {
  // expected-error@+1 {{'stablehlo.dynamic_update_slice' op expected 'start_indices' #0 and 'start_indices' #1 to have the same type, found 'tensor<i32>' and 'tensor<ui32>'}}
  %r = "stablehlo.dynamic_update_slice"(%a, %b, %c, %d) : (tensor<4x6xf32>, tensor<2x2xf32>, tensor<i32>, tensor<ui32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @dynamic_update_slice_c6(%a: tensor<4x6xf32>, %b: tensor<2x7xf32>, %c: tensor<i32>, %d: tensor<i32>) {
  // expected-error@+1 {{'stablehlo.dynamic_update_slice' op 'update' has size 7 in dimension 1, expected at most the size 6 of that dimension of 'operand'}}
  %r = "stablehlo.dynamic_update_slice"(%a, %b, %c, %d) : (tensor<4x6xf32>, tensor<2x7xf32>, tensor<i32>, tensor<i32>) -> tensor<4x6xf32>
  return
}
