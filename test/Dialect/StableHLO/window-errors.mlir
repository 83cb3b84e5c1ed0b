// Constraints of reduce_window and select_and_scatter, one failing case or more per number.
// RUN: tenon-opt %s --split-input-file --verify-diagnostics

func.func @reduce_window_c1() {
  // expected-error@+1 {{'stablehlo.reduce_window' op has no inputs, expected at least one}}
  "stablehlo.reduce_window"() <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 1, 2>}> ({
    stablehlo.return
  }) : () -> ()
  return
}

// -----

func.func @reduce_window_c1_b(%a: tensor<4x6xf32>, %b: tensor<4x6xf32>, %c: tensor<f32>) {
  // expected-error@+1 {{'stablehlo.reduce_window' op 'operands' has 3 entries, expected 2, as many 'init_values' as 'inputs'}}
  %r = "stablehlo.reduce_window"(%a, %b, %c) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 1, 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<4x6xf32>, tensor<f32>) -> tensor<3x3xf32>
  return
}

// -----

func.func @reduce_window_c1_c(%a: tensor<4x6xf32>, %b: tensor<f32>) {
  // expected-error@+1 {{'stablehlo.reduce_window' op 'results' has 2 entries, expected 1, one for each of 'inputs'}}
  %r:2 = "stablehlo.reduce_window"(%a, %b) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 1, 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<f32>) -> (tensor<3x3xf32>, tensor<3x3xf32>)
  return
}

// -----

func.func @reduce_window_c2(%a: tensor<4x6xf32>, %b: tensor<4x7xf32>, %c: tensor<f32>, %d: tensor<f32>) {
  // expected-error@+1 {{'stablehlo.reduce_window' op expected 'inputs' #0 and 'inputs' #1 to have the same shape, found [4, 6] and [4, 7], which differ in dimension 1}}
  %r:2 = "stablehlo.reduce_window"(%a, %b, %c, %d) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 1, 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>, %u: tensor<f32>, %v: tensor<f32>):
    stablehlo.return %x, %y : tensor<f32>, tensor<f32>
  }) : (tensor<4x6xf32>, tensor<4x7xf32>, tensor<f32>, tensor<f32>) -> (tensor<3x3xf32>, tensor<3x3xf32>)
  return
}

// -----

func.func @reduce_window_c3(%a: tensor<4x6xf32>, %b: tensor<f16>) {
  // expected-error@+1 {{'stablehlo.reduce_window' op expected 'inputs' #0 and 'init_values' #0 to have the same element type, found 'f32' and 'f16'}}
  %r = "stablehlo.reduce_window"(%a, %b) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 1, 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<f16>) -> tensor<3x3xf32>
  return
}

// -----

func.func @reduce_window_c4(%a: tensor<4x6xf32>, %b: tensor<f32>) {
  // expected-error@+1 {{'stablehlo.reduce_window' op 'window_dimensions' has 1 entry, expected 2, one for each dimension of 'inputs'}}
  %r = "stablehlo.reduce_window"(%a, %b) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 1, 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<f32>) -> tensor<3x3xf32>
  return
}

// -----

func.func @reduce_window_c5(%a: tensor<4x6xf32>, %b: tensor<f32>) {
  // expected-error@+1 {{'stablehlo.reduce_window' op 'window_dimensions' holds 0 at position 1, expected at least 1}}
  %r = "stablehlo.reduce_window"(%a, %b) <{window_dimensions = array<i64: 2, 0>, window_strides = array<i64: 1, 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<f32>) -> tensor<3x3xf32>
  return
}

// -----

func.func @reduce_window_c6(%a: tensor<4x6xf32>, %b: tensor<f32>) {
  // expected-error@+1 {{'stablehlo.reduce_window' op 'window_strides' has 1 entry, expected 2, one for each dimension of 'inputs'}}
  %r = "stablehlo.reduce_window"(%a, %b) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<f32>) -> tensor<3x3xf32>
  return
}

// -----

func.func @reduce_window_c7(%a: tensor<4x6xf32>, %b: tensor<f32>) {
  // expected-error@+1 {{'stablehlo.reduce_window' op 'window_strides' holds -1 at position 1, expected at least 1}}
  %r = "stablehlo.reduce_window"(%a, %b) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 1, -1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<f32>) -> tensor<3x3xf32>
  return
}

// -----

func.func @reduce_window_c8(%a: tensor<4x6xf32>, %b: tensor<f32>) {
  // expected-error@+1 {{'stablehlo.reduce_window' op 'base_dilations' has 1 entry, expected 2, one for each dimension of 'inputs'}}
  %r = "stablehlo.reduce_window"(%a, %b) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 1, 2>, base_dilations = array<i64: 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<f32>) -> tensor<3x3xf32>
  return
}

// -----

func.func @reduce_window_c9(%a: tensor<4x6xf32>, %b: tensor<f32>) {
  // expected-error@+1 {{'stablehlo.reduce_window' op 'base_dilations' holds 0 at position 0, expected at least 1}}
  %r = "stablehlo.reduce_window"(%a, %b) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 1, 2>, base_dilations = array<i64: 0, 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<f32>) -> tensor<3x3xf32>
  return
}

// -----

func.func @reduce_window_c10(%a: tensor<4x6xf32>, %b: tensor<f32>) {
  // expected-error@+1 {{'stablehlo.reduce_window' op 'window_dilations' has 3 entries, expected 2, one for each dimension of 'inputs'}}
  %r = "stablehlo.reduce_window"(%a, %b) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 1, 2>, window_dilations = array<i64: 1, 1, 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<f32>) -> tensor<3x3xf32>
  return
}

// -----

func.func @reduce_window_c11(%a: tensor<4x6xf32>, %b: tensor<f32>) {
  // expected-error@+1 {{'stablehlo.reduce_window' op 'window_dilations' holds 0 at position 1, expected at least 1}}
  %r = "stablehlo.reduce_window"(%a, %b) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 1, 2>, window_dilations = array<i64: 1, 0>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<f32>) -> tensor<3x3xf32>
  return
}

// -----

func.func @reduce_window_c12(%a: tensor<4x6xf32>, %b: tensor<f32>) {
  // expected-error@+1 {{'stablehlo.reduce_window' op dimension 0 of 'padding' has size 3, expected 2: found shape [3, 2], expected [2, 2], low and high padding of each dimension}}
  %r = "stablehlo.reduce_window"(%a, %b) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 1, 2>, padding = dense<1> : tensor<3x2xi64>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<f32>) -> tensor<3x3xf32>
  return
}

// -----

func.func @reduce_window_c13(%a: tensor<4x6xf32>, %b: tensor<f32>) {
  // expected-error@+1 {{'stablehlo.reduce_window' op region 'body' has 1 argument, expected 2, two for each of 1 value}}
  %r = "stablehlo.reduce_window"(%a, %b) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 1, 2>}> ({
  ^bb0(%x: tensor<f32>):
    stablehlo.return %x : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<f32>) -> tensor<3x3xf32>
  return
}

// -----

func.func @reduce_window_c13_b(%a: tensor<4x6xf32>, %b: tensor<f32>) {
  // expected-error@+1 {{'stablehlo.reduce_window' op argument #0 of region 'body' has element type 'f16', expected a type that 'f32' can be promoted to}}
  %r = "stablehlo.reduce_window"(%a, %b) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 1, 2>}> ({
  ^bb0(%x: tensor<f16>, %y: tensor<f16>):
    stablehlo.return %x : tensor<f16>
  }) : (tensor<4x6xf32>, tensor<f32>) -> tensor<3x3xf32>
  return
}

// -----

func.func @reduce_window_c13_c(%a: tensor<4x6xf32>, %b: tensor<f32>) {
  // expected-error@+1 {{'stablehlo.reduce_window' op region 'body' returns 2 values, expected 1}}
  %r = "stablehlo.reduce_window"(%a, %b) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 1, 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %x, %y : tensor<f32>, tensor<f32>
  }) : (tensor<4x6xf32>, tensor<f32>) -> tensor<3x3xf32>
  return
}

// -----

func.func @reduce_window_c14(%a: tensor<4x6xf32>, %b: tensor<4x6xf32>, %c: tensor<f32>, %d: tensor<f32>) {
  // expected-error@+1 {{'stablehlo.reduce_window' op expected 'results' #0 and 'results' #1 to have the same shape, found [3, 3] and [3, 2], which differ in dimension 1}}
  %r:2 = "stablehlo.reduce_window"(%a, %b, %c, %d) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 1, 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>, %u: tensor<f32>, %v: tensor<f32>):
    stablehlo.return %x, %y : tensor<f32>, tensor<f32>
  }) : (tensor<4x6xf32>, tensor<4x6xf32>, tensor<f32>, tensor<f32>) -> (tensor<3x3xf32>, tensor<3x2xf32>)
  return
}

// -----

func.func @reduce_window_c15(%a: tensor<4x6xf32>, %b: tensor<f32>) {
  // expected-error@+1 {{'stablehlo.reduce_window' op dimension 1 of 'results' #0 has size 4, expected 3: found shape [3, 4], expected [3, 3], the number of windows in each dimension}}
  %r = "stablehlo.reduce_window"(%a, %b) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 1, 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<f32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @reduce_window_c16(%a: tensor<4x6xf32>, %b: tensor<f32>) {
  // expected-error@+1 {{'stablehlo.reduce_window' op 'results' #0 has element type 'f64', expected 'f32', which 'body' returns}}
  %r = "stablehlo.reduce_window"(%a, %b) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 1, 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<f32>) -> tensor<3x3xf64>
  return
}

// -----

func.func @reduce_window_i2(%a: tensor<4x6xf32>, %b: tensor<1xf32>) {
  // expected-error@+1 {{'stablehlo.reduce_window' op 'init_values' #0 has rank 1, expected a tensor without dimensions}}
  %r = "stablehlo.reduce_window"(%a, %b) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 1, 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<1xf32>) -> tensor<3x3xf32>
  return
}

// -----

func.func @window_overflow(%a: tensor<4x6xf32>, %b: tensor<f32>) {
  // expected-error@+1 {{'stablehlo.reduce_window' op window of dimension 0 overflows 64-bit arithmetic after padding and dilation}}
  %r = "stablehlo.reduce_window"(%a, %b) <{window_dimensions = array<i64: 2, 2>, padding = dense<9223372036854775807> : tensor<2x2xi64>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<f32>) -> tensor<3x3xf32>
  return
}

// -----

func.func @select_and_scatter_c1(%a: tensor<4x6xf32>, %b: tensor<2x3xf16>, %c: tensor<f32>) {
  // expected-error@+1 {{'stablehlo.select_and_scatter' op expected 'operand' and 'source' to have the same element type, found 'f32' and 'f16'}}
  %r = "stablehlo.select_and_scatter"(%a, %b, %c) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %s : tensor<i1>
  }, {
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<2x3xf16>, tensor<f32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @select_and_scatter_c2(%a: tensor<4x6xf32>, %b: tensor<2x2xf32>, %c: tensor<f32>) {
  // expected-error@+1 {{'stablehlo.select_and_scatter' op dimension 1 of 'source' has size 2, expected 3: found shape [2, 2], expected [2, 3], the number of windows in each dimension}}
  %r = "stablehlo.select_and_scatter"(%a, %b, %c) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %s : tensor<i1>
  }, {
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<2x2xf32>, tensor<f32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @select_and_scatter_c3(%a: tensor<4x6xf32>, %b: tensor<2x3xf32>, %c: tensor<f64>) {
  // expected-error@+1 {{'stablehlo.select_and_scatter' op expected 'operand' and 'init_value' to have the same element type, found 'f32' and 'f64'}}
  %r = "stablehlo.select_and_scatter"(%a, %b, %c) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %s : tensor<i1>
  }, {
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<2x3xf32>, tensor<f64>) -> tensor<4x6xf32>
  return
}

// -----

func.func @select_and_scatter_i3(%a: tensor<4x6xf32>, %b: tensor<2x3xf32>, %c: tensor<2xf32>) {
  // expected-error@+1 {{'stablehlo.select_and_scatter' op 'init_value' has rank 1, expected a tensor without dimensions}}
  %r = "stablehlo.select_and_scatter"(%a, %b, %c) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %s : tensor<i1>
  }, {
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<2x3xf32>, tensor<2xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @select_and_scatter_c4(%a: tensor<4x6xf32>, %b: tensor<2x3xf32>, %c: tensor<f32>) {
  // expected-error@+1 {{'stablehlo.select_and_scatter' op 'window_dimensions' has 1 entry, expected 2, one for each dimension of 'operand'}}
  %r = "stablehlo.select_and_scatter"(%a, %b, %c) <{window_dimensions = array<i64: 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %s : tensor<i1>
  }, {
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<2x3xf32>, tensor<f32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @select_and_scatter_c5(%a: tensor<4x6xf32>, %b: tensor<2x3xf32>, %c: tensor<f32>) {
  // expected-error@+1 {{'stablehlo.select_and_scatter' op 'window_dimensions' holds -2 at position 0, expected at least 1}}
  %r = "stablehlo.select_and_scatter"(%a, %b, %c) <{window_dimensions = array<i64: -2, 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %s : tensor<i1>
  }, {
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<2x3xf32>, tensor<f32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @select_and_scatter_c6(%a: tensor<4x6xf32>, %b: tensor<2x3xf32>, %c: tensor<f32>) {
  // expected-error@+1 {{'stablehlo.select_and_scatter' op 'window_strides' has 3 entries, expected 2, one for each dimension of 'operand'}}
  %r = "stablehlo.select_and_scatter"(%a, %b, %c) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2, 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %s : tensor<i1>
  }, {
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<2x3xf32>, tensor<f32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @select_and_scatter_c7(%a: tensor<4x6xf32>, %b: tensor<2x3xf32>, %c: tensor<f32>) {
  // expected-error@+1 {{'stablehlo.select_and_scatter' op 'window_strides' holds 0 at position 1, expected at least 1}}
  %r = "stablehlo.select_and_scatter"(%a, %b, %c) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 0>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %s : tensor<i1>
  }, {
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<2x3xf32>, tensor<f32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @select_and_scatter_c8(%a: tensor<4x6xf32>, %b: tensor<2x3xf32>, %c: tensor<f32>) {
  // expected-error@+1 {{'stablehlo.select_and_scatter' op 'padding' has rank 1 and shape [2], expected rank 2 and shape [2, 2], low and high padding of each dimension}}
  %r = "stablehlo.select_and_scatter"(%a, %b, %c) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>, padding = dense<0> : tensor<2xi64>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %s : tensor<i1>
  }, {
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<2x3xf32>, tensor<f32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @select_and_scatter_c9(%a: tensor<4x6xf32>, %b: tensor<2x3xf32>, %c: tensor<f32>) {
  // expected-error@+1 {{'stablehlo.select_and_scatter' op value #0 returned by region 'select' has type 'tensor<f32>', expected 'tensor<i1>'}}
  %r = "stablehlo.select_and_scatter"(%a, %b, %c) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }, {
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<2x3xf32>, tensor<f32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @select_and_scatter_c9_b(%a: tensor<4x6xf32>, %b: tensor<2x3xf32>, %c: tensor<f32>) {
  // expected-error@+1 {{'stablehlo.select_and_scatter' op argument #0 of region 'select' has type 'tensor<f16>', expected 'tensor<f32>'}}
  %r = "stablehlo.select_and_scatter"(%a, %b, %c) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>}> ({
  ^bb0(%x: tensor<f16>, %y: tensor<f16>):
    %s = stablehlo.compare GE, %x, %y : (tensor<f16>, tensor<f16>) -> tensor<i1>
    stablehlo.return %s : tensor<i1>
  }, {
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<2x3xf32>, tensor<f32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @select_and_scatter_c10(%a: tensor<4x6xf32>, %b: tensor<2x3xf32>, %c: tensor<f32>) {
  // expected-error@+1 {{'stablehlo.select_and_scatter' op value #0 returned by region 'scatter' has type 'tensor<i1>', expected 'tensor<f32>'}}
  %r = "stablehlo.select_and_scatter"(%a, %b, %c) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %s : tensor<i1>
  }, {
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %s : tensor<i1>
  }) : (tensor<4x6xf32>, tensor<2x3xf32>, tensor<f32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @select_and_scatter_c11(%a: tensor<4x6xf32>, %b: tensor<2x3xf32>, %c: tensor<f32>) {
  // expected-error@+1 {{'stablehlo.select_and_scatter' op expected 'operand' and 'result' to have the same shape, found [4, 6] and [4, 7], which differ in dimension 1}}
  %r = "stablehlo.select_and_scatter"(%a, %b, %c) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %s : tensor<i1>
  }, {
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<2x3xf32>, tensor<f32>) -> tensor<4x7xf32>
  return
}

// -----

func.func @select_and_scatter_c12(%a: tensor<4x6xf32>, %b: tensor<2x3xf32>, %c: tensor<f32>) {
  // expected-error@+1 {{'stablehlo.select_and_scatter' op 'result' has element type 'f64', expected 'f32', which 'scatter' returns}}
  %r = "stablehlo.select_and_scatter"(%a, %b, %c) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %s : tensor<i1>
  }, {
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<2x3xf32>, tensor<f32>) -> tensor<4x6xf64>
  return
}
