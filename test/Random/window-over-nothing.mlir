// Windows over an operand without elements, dilated and padded, hold the start
// value alone.

// RUN: TenonRandom check %s | FileCheck %s
// CHECK: 0 differences

func.func @main() -> tensor<7x1x3xi8> {
  %c = stablehlo.constant dense<> : tensor<5x1x0xi8>
  %s = stablehlo.constant dense<5> : tensor<i8>
  %i = stablehlo.optimization_barrier %s : tensor<i8>
  %0 = "stablehlo.reduce_window"(%c, %i) <{base_dilations = array<i64: 1, 2, 2>, padding = dense<[[1, 1], [0, 0], [2, 1]]> : tensor<3x2xi64>, window_dimensions = array<i64: 1, 1, 1>}> ({
  ^bb0(%a: tensor<i8>, %b: tensor<i8>):
    %1 = stablehlo.add %a, %b : tensor<i8>
    stablehlo.return %1 : tensor<i8>
  }) : (tensor<5x1x0xi8>, tensor<i8>) -> tensor<7x1x3xi8>
  return %0 : tensor<7x1x3xi8>
}
