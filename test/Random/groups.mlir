// Groups that templates have to emit: a transposed iota, which is copied to its
// reader, and a reduction of single elements beside what it reduces.

// RUN: TenonRandom check %s | FileCheck %s
// CHECK: 0 differences

func.func @main() -> (tensor<1x8x2x16xi32>, tensor<7x1xi1>, tensor<7xi1>) {
  %0 = stablehlo.iota dim = 0 : tensor<8x16x2x1xi32>
  %1 = stablehlo.transpose %0, dims = [3, 0, 2, 1] : (tensor<8x16x2x1xi32>) -> tensor<1x8x2x16xi32>
  %h = stablehlo.constant dense<[[0.0], [0x7C00], [1.0], [0x7E00], [2.0], [3.0], [0xFC00]]> : tensor<7x1xf16>
  %f = stablehlo.constant dense<false> : tensor<i1>
  %x, %i = stablehlo.optimization_barrier %h, %f : tensor<7x1xf16>, tensor<i1>
  %2 = stablehlo.is_finite %x : (tensor<7x1xf16>) -> tensor<7x1xi1>
  %3 = stablehlo.reduce(%2 init: %i) applies stablehlo.xor across dimensions = [1] : (tensor<7x1xi1>, tensor<i1>) -> tensor<7xi1>
  return %1, %2, %3 : tensor<1x8x2x16xi32>, tensor<7x1xi1>, tensor<7xi1>
}
