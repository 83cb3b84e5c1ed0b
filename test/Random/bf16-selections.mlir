// Scalars of bf16 that are chosen between, on processors without a conversion
// to bf16: interpreted and compiled results are equal.

// RUN: TenonRandom check %s --cpu=x86-64-v3 | FileCheck %s
// RUN: TenonRandom check %s --cpu=x86-64-v3 --fuse=false | FileCheck %s
// CHECK: 0 differences

func.func @main() -> (tensor<3xbf16>, tensor<4xbf16>, tensor<9xbf16>, tensor<bf16>) {
  %a = stablehlo.constant dense<[1.0, -2.0, 0x7F80, 0.5]> : tensor<4xbf16>
  %u = stablehlo.constant dense<[7.0, 8.0]> : tensor<2xbf16>
  %n = stablehlo.constant dense<1> : tensor<i32>
  %s = stablehlo.constant dense<0.0> : tensor<bf16>
  %t = stablehlo.constant dense<0xFF81> : tensor<bf16>
  %x, %y, %i, %z = stablehlo.optimization_barrier %a, %u, %n, %t : tensor<4xbf16>, tensor<2xbf16>, tensor<i32>, tensor<bf16>
  %v, %j = chlo.top_k(%x, k = 3) : tensor<4xbf16> -> (tensor<3xbf16>, tensor<3xi32>)
  %0 = stablehlo.dynamic_update_slice %x, %y, %i : (tensor<4xbf16>, tensor<2xbf16>, tensor<i32>) -> tensor<4xbf16>
  %1 = "stablehlo.reduce_window"(%x, %s) <{base_dilations = array<i64: 2>, padding = dense<[[0, 2]]> : tensor<1x2xi64>, window_dimensions = array<i64: 1>}> ({
  ^bb0(%l: tensor<bf16>, %r: tensor<bf16>):
    %c = stablehlo.add %l, %r : tensor<bf16>
    stablehlo.return %c : tensor<bf16>
  }) : (tensor<4xbf16>, tensor<bf16>) -> tensor<9xbf16>
  // A subnormal divisor is no zero.
  %d = stablehlo.constant dense<0x8001> : tensor<bf16>
  %e = stablehlo.optimization_barrier %d : tensor<bf16>
  %2 = stablehlo.remainder %s, %e : tensor<bf16>
  return %v, %0, %1, %2 : tensor<3xbf16>, tensor<4xbf16>, tensor<9xbf16>, tensor<bf16>
}
