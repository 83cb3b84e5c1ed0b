// An odd number of bf16 terms, the last of them infinite: infinities, which
// code that takes two terms at a time and fills up with 0 would make NaN.

// RUN: TenonRandom check %s | FileCheck %s
// RUN: TenonRandom check %s --fuse=false | FileCheck %s
// CHECK: 0 differences

func.func @main() -> (tensor<2x3x5xf32>, tensor<2x3x5xf32>) {
  %a = stablehlo.constant dense<[[[1.0, 2.0, 0x7F80], [1.0, 0.5, 1.0], [1.0, 1.0, 2.0]], [[0x7F80, 1.0, 1.0], [1.0, 0x7F80, 1.0], [1.0, 1.0, 0xFF80]]]> : tensor<2x3x3xbf16>
  %b = stablehlo.constant dense<1.5> : tensor<5x2x3xbf16>
  %c = stablehlo.constant dense<0x7F80> : tensor<2x3x1xbf16>
  %d = stablehlo.constant dense<-1.5> : tensor<5x1x2xbf16>
  %x:4 = stablehlo.optimization_barrier %a, %b, %c, %d : tensor<2x3x3xbf16>, tensor<5x2x3xbf16>, tensor<2x3x1xbf16>, tensor<5x1x2xbf16>
  %0 = stablehlo.dot_general %x#0, %x#1, batching_dims = [0] x [1], contracting_dims = [2] x [2] : (tensor<2x3x3xbf16>, tensor<5x2x3xbf16>) -> tensor<2x3x5xf32>
  %1 = stablehlo.dot_general %x#2, %x#3, batching_dims = [0] x [2], contracting_dims = [2] x [1] : (tensor<2x3x1xbf16>, tensor<5x1x2xbf16>) -> tensor<2x3x5xf32>
  return %0, %1 : tensor<2x3x5xf32>, tensor<2x3x5xf32>
}
