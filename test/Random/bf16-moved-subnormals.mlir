// Moving a subnormal bf16 keeps its bits, also where the instruction that rounds
// to bf16 would make zero of it: in the largest elements, in a reduction that
// picks one, and in a branch.

// RUN: TenonRandom check %s | FileCheck %s
// RUN: TenonRandom check %s --fuse=false | FileCheck %s
// CHECK: 0 differences

func.func @main() -> (tensor<5xbf16>, tensor<2xbf16>, tensor<bf16>) {
  %a = stablehlo.constant dense<[0x807F, 0x0001, 0.0, 0x8001, -1.0]> : tensor<5xbf16>
  %b = stablehlo.constant dense<[[1.0, 0x8001], [0x007F, 0x0040]]> : tensor<2x2xbf16>
  %c = stablehlo.constant dense<0x0003> : tensor<bf16>
  %n = stablehlo.constant dense<1> : tensor<i32>
  %x, %y, %z, %i = stablehlo.optimization_barrier %a, %b, %c, %n : tensor<5xbf16>, tensor<2x2xbf16>, tensor<bf16>, tensor<i32>
  %v, %j = chlo.top_k(%x, k = 5) : tensor<5xbf16> -> (tensor<5xbf16>, tensor<5xi32>)
  %0 = stablehlo.reduce(%y init: %z) across dimensions = [1] : (tensor<2x2xbf16>, tensor<bf16>) -> tensor<2xbf16>
    reducer(%l: tensor<bf16>, %r: tensor<bf16>) {
    stablehlo.return %r : tensor<bf16>
  }
  %w = stablehlo.constant dense<1.0> : tensor<bf16>
  %1 = "stablehlo.case"(%i) ({
    stablehlo.return %w : tensor<bf16>
  }, {
    stablehlo.return %z : tensor<bf16>
  }) : (tensor<i32>) -> tensor<bf16>
  return %v, %0, %1 : tensor<5xbf16>, tensor<2xbf16>, tensor<bf16>
}
