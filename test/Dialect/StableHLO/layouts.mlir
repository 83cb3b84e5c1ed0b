// Dimensions of a convolution that the bracketed form cannot say: they are no
// permutation. Only as an attribute; on an operation they are an error.

// RUN: tenon-opt %s --allow-unregistered-dialect | tenon-opt --allow-unregistered-dialect | FileCheck %s

// CHECK-LABEL: func.func @layouts
// CHECK-SAME: conv.raw = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 4, input_spatial_dimensions = [1, 2], kernel_input_feature_dimension = 0, kernel_output_feature_dimension = 1, kernel_spatial_dimensions = [2, 3], output_batch_dimension = 0, output_feature_dimension = 1, output_spatial_dimensions = [2, 3]>
func.func @layouts() attributes {conv.raw = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 4, input_spatial_dimensions = [1, 2], kernel_input_feature_dimension = 0, kernel_output_feature_dimension = 1, kernel_spatial_dimensions = [2, 3], output_batch_dimension = 0, output_feature_dimension = 1, output_spatial_dimensions = [2, 3]>} {
  return
}
