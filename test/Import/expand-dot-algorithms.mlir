// RUN: tenon-opt %s --import-expand-dot-algorithms --split-input-file | FileCheck %s

// Operands of f32 are rounded, and the result is in f32.

// CHECK-LABEL: func.func @rounded
// CHECK: %[[X:.*]] = stablehlo.convert %arg0 : (tensor<2x8xf32>) -> tensor<2x8xbf16>
// CHECK: %[[W:.*]] = stablehlo.convert %arg1 : (tensor<8x4xf32>) -> tensor<8x4xbf16>
// CHECK: %[[R:.*]] = stablehlo.dot_general %[[X]], %[[W]], contracting_dims = [1] x [0] : (tensor<2x8xbf16>, tensor<8x4xbf16>) -> tensor<2x4xf32>
// CHECK: return %[[R]]
func.func @rounded(%x: tensor<2x8xf32>, %w: tensor<8x4xf32>) -> tensor<2x4xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0], algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// -----

// A narrow accumulation type is what the sum is rounded to, before it is f32.

// CHECK-LABEL: func.func @narrow_sum
// CHECK: %[[S:.*]] = stablehlo.dot_general %arg0, %arg1, {{.*}} -> tensor<2x4xf32>
// CHECK: %[[H:.*]] = stablehlo.convert %[[S]] : (tensor<2x4xf32>) -> tensor<2x4xf16>
// CHECK: %[[R:.*]] = stablehlo.convert %[[H]] : (tensor<2x4xf16>) -> tensor<2x4xf32>
// CHECK: return %[[R]]
func.func @narrow_sum(%x: tensor<2x8xf16>, %w: tensor<8x4xf16>) -> tensor<2x4xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0], algorithm = <lhs_precision_type = f16, rhs_precision_type = f16, accumulation_type = f16, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<2x8xf16>, tensor<8x4xf16>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// -----

// f32 multiplied and summed in f64.

// CHECK-LABEL: func.func @wide_sum
// CHECK-COUNT-2: stablehlo.convert {{.*}}xf64>
// CHECK: %[[S:.*]] = stablehlo.dot_general {{.*}} -> tensor<2x4xf64>
// CHECK: stablehlo.convert %[[S]] : (tensor<2x4xf64>) -> tensor<2x4xf32>
func.func @wide_sum(%x: tensor<2x8xf32>, %w: tensor<8x4xf32>) -> tensor<2x4xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0], algorithm = <lhs_precision_type = f64, rhs_precision_type = f64, accumulation_type = f64, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// -----

// Three products of two components; what is not a number among the small ones
// does not count.

// CHECK-LABEL: func.func @components
// CHECK: %[[X0:.*]] = stablehlo.convert %arg0 : (tensor<2x8xf32>) -> tensor<2x8xbf16>
// CHECK: stablehlo.subtract %arg0, %{{.*}} : tensor<2x8xf32>
// CHECK: stablehlo.is_finite
// CHECK: %[[XS:.*]] = stablehlo.select
// CHECK: %[[X1:.*]] = stablehlo.convert %[[XS]] : (tensor<2x8xf32>) -> tensor<2x8xbf16>
// CHECK: %[[W0:.*]] = stablehlo.convert %arg1 : (tensor<8x4xf32>) -> tensor<8x4xbf16>
// CHECK: %[[WS:.*]] = stablehlo.select
// CHECK: %[[W1:.*]] = stablehlo.convert %[[WS]] : (tensor<8x4xf32>) -> tensor<8x4xbf16>
// CHECK: %[[A:.*]] = stablehlo.dot_general %[[X1]], %[[W0]]
// CHECK: %[[B:.*]] = stablehlo.dot_general %[[X0]], %[[W1]]
// CHECK: %[[S:.*]] = stablehlo.add %[[A]], %[[B]]
// CHECK: %[[L:.*]] = stablehlo.dot_general %[[X0]], %[[W0]]
// CHECK: stablehlo.compare EQ, %[[S]], %[[S]]
// CHECK: %[[N:.*]] = stablehlo.select
// CHECK: stablehlo.add %[[N]], %[[L]]
func.func @components(%x: tensor<2x8xf32>, %w: tensor<8x4xf32>) -> tensor<2x4xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0], algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 3, allow_imprecise_accumulation = false> : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}
