// The total order of 16-bit floats on a GPU, where widening NaN loses its sign.

// RUN: TenonRandom check %s --target=sm_80 | FileCheck %s
// RUN: TenonRandom check %s --target=sm_90 | FileCheck %s
// RUN: TenonRandom check %s | FileCheck %s
// CHECK: 7 equal, 0 bounded, 0 unjudged results, 0 differences

func.func @main() -> (tensor<6xf16>, tensor<6xi1>, tensor<6xi1>) {
  %c = stablehlo.constant dense<[0x7E00, 1.0, 0xFE00, -0.0, 0xFC00, 0.0]> : tensor<6xf16>
  %d = stablehlo.constant dense<[0x7FC0, 1.0, 0xFFC0, -0.0, 0xFF80, 0.0]> : tensor<6xbf16>
  %x, %y = stablehlo.optimization_barrier %c, %d : tensor<6xf16>, tensor<6xbf16>
  %0 = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f16>, %b: tensor<f16>):
    %1 = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f16>, tensor<f16>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) : (tensor<6xf16>) -> tensor<6xf16>
  %r = stablehlo.reverse %x, dims = [0] : tensor<6xf16>
  %s = stablehlo.reverse %y, dims = [0] : tensor<6xbf16>
  %2 = stablehlo.compare LT, %x, %r, TOTALORDER : (tensor<6xf16>, tensor<6xf16>) -> tensor<6xi1>
  %3 = stablehlo.compare GE, %y, %s, TOTALORDER : (tensor<6xbf16>, tensor<6xbf16>) -> tensor<6xi1>
  return %0, %2, %3 : tensor<6xf16>, tensor<6xi1>, tensor<6xi1>
}
