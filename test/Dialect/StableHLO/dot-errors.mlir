// Constraints of dot_general, one failing case or more per number.
// RUN: tenon-opt %s --split-input-file --verify-diagnostics

func.func @dot_general_c1(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>) {
  // expected-error@+1 {{'stablehlo.dot_general' op 'rhs_batching_dimensions' has 0 entries, expected 1, one for each of 'lhs_batching_dimensions'}}
  %r = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1]>}> : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @dot_general_c2(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>) {
  // expected-error@+1 {{'stablehlo.dot_general' op 'rhs_contracting_dimensions' has 1 entry, expected 2, one for each of 'lhs_contracting_dimensions'}}
  %r = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0, 1], rhs_contracting_dimensions = [1]>}> : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @dot_general_c3(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>) {
  // expected-error@+1 {{'stablehlo.dot_general' op 'lhs_batching_dimensions' and 'lhs_contracting_dimensions' both hold dimension 0, expected distinct dimensions}}
  %r = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [1]>}> : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @dot_general_c4(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>) {
  // expected-error@+1 {{'stablehlo.dot_general' op 'rhs_batching_dimensions' and 'rhs_contracting_dimensions' both hold dimension 1, expected distinct dimensions}}
  %r = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [1], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1]>}> : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @dot_general_c5(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>) {
  // expected-error@+1 {{'stablehlo.dot_general' op 'lhs_batching_dimensions' holds 2 at position 0, expected a dimension of 'lhs' of rank 2 (at least 0, less than 2)}}
  %r = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [2], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1]>}> : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @dot_general_c6(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>) {
  // expected-error@+1 {{'stablehlo.dot_general' op 'lhs_contracting_dimensions' holds -1 at position 0, expected a dimension of 'lhs' of rank 2 (at least 0, less than 2)}}
  %r = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [-1], rhs_contracting_dimensions = [1]>}> : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @dot_general_c7(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>) {
  // expected-error@+1 {{'stablehlo.dot_general' op 'rhs_batching_dimensions' holds 5 at position 0, expected a dimension of 'rhs' of rank 2 (at least 0, less than 2)}}
  %r = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [5], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1]>}> : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @dot_general_c8(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>) {
  // expected-error@+1 {{'stablehlo.dot_general' op 'rhs_contracting_dimensions' holds 2 at position 0, expected a dimension of 'rhs' of rank 2 (at least 0, less than 2)}}
  %r = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [2]>}> : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @dot_general_c9(%a: tensor<2x3xf32>, %b: tensor<4x3xf32>) {
  // expected-error@+1 {{'stablehlo.dot_general' op batching dimension 0 of 'lhs' has size 2 but batching dimension 0 of 'rhs' has size 4, expected equal sizes}}
  %r = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1]>}> : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @dot_general_c10(%a: tensor<2x3xf32>, %b: tensor<4x5xf32>) {
  // expected-error@+1 {{'stablehlo.dot_general' op contracting dimension 1 of 'lhs' has size 3 but contracting dimension 0 of 'rhs' has size 4, expected equal sizes}}
  %r = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<2x3xf32>, tensor<4x5xf32>) -> tensor<2x5xf32>
  return
}

// -----

func.func @dot_general_c11(%a: tensor<2x3xf32>, %b: tensor<3x5xf32>) {
  // expected-error@+1 {{'stablehlo.dot_general' op 'precision_config' has 1 entry, expected 2, one for each operand}}
  %r = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision HIGH>]}> : (tensor<2x3xf32>, tensor<3x5xf32>) -> tensor<2x5xf32>
  return
}

// -----

func.func @dot_general_c12(%a: tensor<7x2x3xf32>, %b: tensor<7x3x5xf32>) {
  // expected-error@+1 {{'stablehlo.dot_general' op dimension 2 of 'result' has size 6, expected 5: found shape [7, 2, 6], expected [7, 2, 5], the batching dimensions, then the remaining dimensions of 'lhs' and of 'rhs'}}
  %r = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>}> : (tensor<7x2x3xf32>, tensor<7x3x5xf32>) -> tensor<7x2x6xf32>
  return
}

// -----

func.func @dot_general_c12_b(%a: tensor<2x3xf32>, %b: tensor<3x5xf32>) {
  // expected-error@+1 {{'stablehlo.dot_general' op 'result' has rank 3 and shape [2, 5, 1], expected rank 2 and shape [2, 5], the batching dimensions, then the remaining dimensions of 'lhs' and of 'rhs'}}
  %r = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<2x3xf32>, tensor<3x5xf32>) -> tensor<2x5x1xf32>
  return
}

// -----

func.func @dot_general_c13(%a: tensor<2x3xf32>, %b: tensor<3x5xf16>) {
  // expected-error@+1 {{'stablehlo.dot_general' op expected 'lhs' and 'rhs' to have the same element type, found 'f32' and 'f16'}}
  %r = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<2x3xf32>, tensor<3x5xf16>) -> tensor<2x5xf32>
  return
}

// -----

func.func @dot_general_c14(%a: tensor<2x3x!quant.uniform<i8:f32, 0.5>>, %b: tensor<3x5xf32>) {
  // expected-error@+1 {{'stablehlo.dot_general' op element types are '!quant.uniform<i8:f32, 5.000000e-01>', 'f32' and '!quant.uniform<i8:f32, 5.000000e-01>', expected 'rhs' to be quantized, and 'lhs' if and only if 'result' is}}
  %r = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<2x3x!quant.uniform<i8:f32, 0.5>>, tensor<3x5xf32>) -> tensor<2x5x!quant.uniform<i8:f32, 0.5>>
  return
}

// -----

func.func @dot_general_c14_b(%a: tensor<2x3x!quant.uniform<i8:f32, 0.5>>, %b: tensor<3x5x!quant.uniform<i8:f32, 0.5>>) {
  // expected-error@+1 {{'stablehlo.dot_general' op element types are '!quant.uniform<i8:f32, 5.000000e-01>', '!quant.uniform<i8:f32, 5.000000e-01>' and 'f32', expected 'rhs' to be quantized, and 'lhs' if and only if 'result' is}}
  %r = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<2x3x!quant.uniform<i8:f32, 0.5>>, tensor<3x5x!quant.uniform<i8:f32, 0.5>>) -> tensor<2x5xf32>
  return
}

// -----

func.func @dot_general_c15(%a: tensor<2x3x!quant.uniform<i8:f32, 0.5>>, %b: tensor<3x5x!quant.uniform<i8:f32, 0.5:3>>) {
  // expected-error@+1 {{'stablehlo.dot_general' op 'rhs' has element type '!quant.uniform<i8:f32, 5.000000e-01:3>', expected zero points of 0}}
  %r = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<2x3x!quant.uniform<i8:f32, 0.5>>, tensor<3x5x!quant.uniform<i8:f32, 0.5:3>>) -> tensor<2x5x!quant.uniform<i8:f32, 0.5>>
  return
}

// -----

func.func @dot_general_c16(%a: tensor<2x3x!quant.uniform<i8:f32, 0.5>>, %b: tensor<3x5x!quant.uniform<i8:f32:0, {0.5,0.5,0.5}>>) {
  // expected-error@+1 {{'stablehlo.dot_general' op 'rhs' is quantized along dimension 0, expected one that is not contracted}}
  %r = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<2x3x!quant.uniform<i8:f32, 0.5>>, tensor<3x5x!quant.uniform<i8:f32:0, {0.5,0.5,0.5}>>) -> tensor<2x5x!quant.uniform<i8:f32, 0.5>>
  return
}

// -----

func.func @dot_general_c17(%a: tensor<2x3x!quant.uniform<i8:f32, 0.5>>, %b: tensor<3x5x!quant.uniform<i4:f32, 0.5>>) {
  // expected-error@+1 {{'stablehlo.dot_general' op 'lhs' and 'rhs' have element types '!quant.uniform<i8:f32, 5.000000e-01>' and '!quant.uniform<i4:f32, 5.000000e-01>', expected one storage type}}
  %r = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<2x3x!quant.uniform<i8:f32, 0.5>>, tensor<3x5x!quant.uniform<i4:f32, 0.5>>) -> tensor<2x5x!quant.uniform<i8:f32, 0.5>>
  return
}

// -----

func.func @dot_general_c18(%a: tensor<2x3x!quant.uniform<i8:f32, 0.5>>, %b: tensor<3x5x!quant.uniform<i8:f32, 0.5>>) {
  // expected-error@+1 {{'stablehlo.dot_general' op element types of 'lhs', 'rhs' and 'result' are '!quant.uniform<i8:f32, 5.000000e-01>', '!quant.uniform<i8:f32, 5.000000e-01>' and '!quant.uniform<i8:f16, 5.000000e-01>', expected all to stand for 'f32'}}
  %r = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<2x3x!quant.uniform<i8:f32, 0.5>>, tensor<3x5x!quant.uniform<i8:f32, 0.5>>) -> tensor<2x5x!quant.uniform<i8:f16, 0.5>>
  return
}

// -----

func.func @dot_general_c19(%a: tensor<2x3x!quant.uniform<i8:f32, 0.5>>, %b: tensor<3x5x!quant.uniform<i8:f32, 0.5>>) {
  // expected-error@+1 {{'stablehlo.dot_general' op 'rhs' is quantized per tensor but 'result' has element type '!quant.uniform<i8:f32:1, {5.000000e-01,5.000000e-01,5.000000e-01,5.000000e-01,5.000000e-01}>', expected it to be quantized per tensor}}
  %r = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<2x3x!quant.uniform<i8:f32, 0.5>>, tensor<3x5x!quant.uniform<i8:f32, 0.5>>) -> tensor<2x5x!quant.uniform<i8:f32:1, {0.5,0.5,0.5,0.5,0.5}>>
  return
}

// -----

func.func @dot_general_c20(%a: tensor<2x3xf16>, %b: tensor<3x5x!quant.uniform<i8:f32, 0.5>>) {
  // expected-error@+1 {{'stablehlo.dot_general' op element types of 'lhs', 'rhs' and 'result' are 'f16', '!quant.uniform<i8:f32, 5.000000e-01>' and 'f16', expected all to stand for 'f32'}}
  %r = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<2x3xf16>, tensor<3x5x!quant.uniform<i8:f32, 0.5>>) -> tensor<2x5xf16>
  return
}

// -----

func.func @dot_general_c21(%a: tensor<2x3xf32>, %b: tensor<3x5xf32>) {
  // expected-error@+1 {{'stablehlo.dot_general' op has precision HIGHEST and an algorithm, expected DEFAULT}}
  %r = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision HIGHEST>], algorithm = #stablehlo.dot_algorithm<lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false>}> : (tensor<2x3xf32>, tensor<3x5xf32>) -> tensor<2x5xf32>
  return
}

// -----

func.func @dot_general_c22(%a: tensor<2x3xf32>, %b: tensor<3x5xf32>) {
  // expected-error@+1 {{'stablehlo.dot_general' op 'lhs_component_count' is 0, expected at least 1}}
  %r = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, algorithm = #stablehlo.dot_algorithm<lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 0, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false>}> : (tensor<2x3xf32>, tensor<3x5xf32>) -> tensor<2x5xf32>
  return
}

// -----

func.func @dot_general_c23(%a: tensor<2x3xf32>, %b: tensor<3x5xf32>) {
  // expected-error@+1 {{'stablehlo.dot_general' op 'rhs_component_count' is -1, expected at least 1}}
  %r = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, algorithm = #stablehlo.dot_algorithm<lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = -1, num_primitive_operations = 1, allow_imprecise_accumulation = false>}> : (tensor<2x3xf32>, tensor<3x5xf32>) -> tensor<2x5xf32>
  return
}

// -----

func.func @dot_general_c24(%a: tensor<2x3xf32>, %b: tensor<3x5xf32>) {
  // expected-error@+1 {{'stablehlo.dot_general' op 'num_primitive_operations' is 0, expected at least 1}}
  %r = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, algorithm = #stablehlo.dot_algorithm<lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 0, allow_imprecise_accumulation = false>}> : (tensor<2x3xf32>, tensor<3x5xf32>) -> tensor<2x5xf32>
  return
}
