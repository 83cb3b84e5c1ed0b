// RUN: tenon-opt %s --fusion-form-library-groups=cpu=x86-64-v4 | FileCheck %s

// A convolution may be made of other products than those of its definition only
// where the precision of both operands is DEFAULT, which is also what none means.

// CHECK-LABEL: func.func @main
// CHECK: step.group library
// CHECK-SAME: may_transform = true
// CHECK: step.group library
// CHECK-SAME: may_transform = true
// CHECK: step.group library
// CHECK-SAME: may_transform = false
// CHECK: step.group library
// CHECK-SAME: may_transform = false
func.func @main(%x: tensor<2x8x8x32xf32>, %w: tensor<3x3x32x32xf32>) -> (tensor<2x8x8x32xf32>, tensor<2x8x8x32xf32>, tensor<2x8x8x32xf32>, tensor<2x8x8x32xf32>) {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x8x8x32xf32>, tensor<3x3x32x32xf32>) -> tensor<2x8x8x32xf32>
  %1 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<2x8x8x32xf32>, tensor<3x3x32x32xf32>) -> tensor<2x8x8x32xf32>
  %2 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]} : (tensor<2x8x8x32xf32>, tensor<3x3x32x32xf32>) -> tensor<2x8x8x32xf32>
  %3 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision HIGH>]} : (tensor<2x8x8x32xf32>, tensor<3x3x32x32xf32>) -> tensor<2x8x8x32xf32>
  return %0, %1, %2, %3 : tensor<2x8x8x32xf32>, tensor<2x8x8x32xf32>, tensor<2x8x8x32xf32>, tensor<2x8x8x32xf32>
}
