// RUN: tenon-opt %s --import-expand-dot-algorithms --split-input-file --verify-diagnostics

func.func @four(%x: tensor<2x8xf32>, %w: tensor<8x4xf32>) -> tensor<2x4xf32> {
  // expected-error@+2 {{asks for an algorithm that is not supported: 4 products of 3 and 3 components}}
  // expected-note@+1 {{docs/Forms.md lists the supported ones}}
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0], algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 3, rhs_component_count = 3, num_primitive_operations = 4, allow_imprecise_accumulation = false> : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// -----

func.func @too_narrow(%x: tensor<2x8xf64>, %w: tensor<8x4xf64>) -> tensor<2x4xf64> {
  // expected-error@+2 {{asks for an algorithm that is not supported: products of f64 summed in f32}}
  // expected-note@+1 {{docs/Forms.md lists the supported ones}}
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0], algorithm = <lhs_precision_type = f64, rhs_precision_type = f64, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<2x8xf64>, tensor<8x4xf64>) -> tensor<2x4xf64>
  return %0 : tensor<2x4xf64>
}

// -----

func.func @eight_bits(%x: tensor<2x8xf32>, %w: tensor<8x4xf32>) -> tensor<2x4xf32> {
  // expected-error@+2 {{asks for an algorithm that is not supported: a precision type of f8E5M2}}
  // expected-note@+1 {{docs/Forms.md lists the supported ones}}
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0], algorithm = <lhs_precision_type = f8E5M2, rhs_precision_type = f8E5M2, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}
