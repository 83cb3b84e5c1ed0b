// Inherent attributes in plain braces, as in texts that are older than
// properties, and attributes of other dialects beside them.

// RUN: tenon-opt %s --allow-unregistered-dialect | FileCheck %s

// CHECK-LABEL: func.func @plain_braces
func.func @plain_braces(%a: tensor<4x6xf32>, %b: tensor<6x5xf32>, %s: tensor<f32>, %ids: tensor<3x1xi32>) {
  // CHECK: stablehlo.transpose %arg0, dims = [1, 0] : (tensor<4x6xf32>) -> tensor<6x4xf32>
  %0 = "stablehlo.transpose"(%a) {permutation = array<i64: 1, 0>} : (tensor<4x6xf32>) -> tensor<6x4xf32>
  // CHECK: stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0], precision = [HIGH, DEFAULT] {mhlo.frontend_attributes = {a = "b"}}
  %1 = "stablehlo.dot_general"(%a, %b) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision HIGH>, #stablehlo<precision DEFAULT>], mhlo.frontend_attributes = {a = "b"}} : (tensor<4x6xf32>, tensor<6x5xf32>) -> tensor<4x5xf32>
  // CHECK: stablehlo.compare GT, %arg0, %arg0, FLOAT : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xi1>
  %2 = "stablehlo.compare"(%a, %a) {comparison_direction = #stablehlo<comparison_direction GT>, compare_type = #stablehlo<comparison_type FLOAT>} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xi1>
  // CHECK: stablehlo.constant dense<1.000000e+00> : tensor<2xf32>
  %3 = "stablehlo.constant"() {value = dense<1.0> : tensor<2xf32>} : () -> tensor<2xf32>
  // CHECK: stablehlo.reduce(%arg0 init: %arg2) applies stablehlo.add across dimensions = [1]
  %4 = "stablehlo.reduce"(%a, %s) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %5 = "stablehlo.add"(%x, %y) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%5) : (tensor<f32>) -> ()
  }) {dimensions = array<i64: 1>} : (tensor<4x6xf32>, tensor<f32>) -> tensor<4xf32>
  // CHECK: "stablehlo.gather"(%arg0, %arg3) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 6>}>
  %6 = "stablehlo.gather"(%a, %ids) {slice_sizes = array<i64: 1, 6>, dimension_numbers = #stablehlo.gather<index_vector_dim = 1, start_index_map = [0], offset_dims = [1], collapsed_slice_dims = [0]>} : (tensor<4x6xf32>, tensor<3x1xi32>) -> tensor<3x6xf32>
  // CHECK: stablehlo.custom_call @f(%arg0) {api_version = 2 : i32} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %7 = "stablehlo.custom_call"(%a) {call_target_name = "f", api_version = 2 : i32} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// CHECK-LABEL: func.func @type_extensions
// CHECK-SAME: tensor<?x?xf32, #stablehlo.bounds<4, ?>>
func.func @type_extensions(%a: tensor<?x?xf32, #stablehlo.type_extensions<bounds = [4, ?]>>) {
  return
}
