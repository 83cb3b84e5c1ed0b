// An odd number of bf16 channels, and an infinite first channel behind the last
// element that a window reads: code that takes two channels at a time and reads
// on, times 0, would make NaN of it. So does a gradient with respect to data.

// RUN: TenonRandom check %s | FileCheck %s
// RUN: TenonRandom check %s --fuse=false | FileCheck %s
// CHECK: 0 differences

func.func @main() -> (tensor<2x3x4x16xbf16>, tensor<2x3x8x16xf32>) {
  %a = stablehlo.constant dense<1.0> : tensor<2x3x8x3xbf16>
  %inf = stablehlo.constant dense<0x7F80> : tensor<2x3x1x1xbf16>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %w = stablehlo.constant dense<1.5> : tensor<1x2x3x16xbf16>
  %v = stablehlo.constant dense<1.5> : tensor<1x2x16x3xbf16>
  %x:4 = stablehlo.optimization_barrier %a, %inf, %w, %v : tensor<2x3x8x3xbf16>, tensor<2x3x1x1xbf16>, tensor<1x2x3x16xbf16>, tensor<1x2x16x3xbf16>
  %b = stablehlo.dynamic_update_slice %x#0, %x#1, %zero, %zero, %two, %zero : (tensor<2x3x8x3xbf16>, tensor<2x3x1x1xbf16>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<2x3x8x3xbf16>
  %0 = stablehlo.convolution(%b, %x#2) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x3x8x3xbf16>, tensor<1x2x3x16xbf16>) -> tensor<2x3x4x16xbf16>
  %1 = stablehlo.convolution(%b, %x#3) dim_numbers = [b, 0, 1, f]x[0, 1, o, i]->[b, 0, 1, f], window = {pad = [[0, 0], [1, 0]], reverse = [true, true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x3x8x3xbf16>, tensor<1x2x16x3xbf16>) -> tensor<2x3x8x16xf32>
  return %0, %1 : tensor<2x3x4x16xbf16>, tensor<2x3x8x16xf32>
}
