// Shifts by more than the width, also by multiples of 2^32.

// RUN: TenonRandom check %s --target=sm_90 --no-libraries | FileCheck %s
// CHECK: 3 equal, 0 bounded, 0 unjudged results, 0 differences

func.func @main() -> (tensor<5xi64>, tensor<5xui64>, tensor<5xi64>) {
  %c = stablehlo.constant dense<[1, -1, 63, -9223372036854775808, 4294967297]> : tensor<5xi64>
  %d = stablehlo.constant dense<[1, 64, 63, 9223372036854775808, 4294967297]> : tensor<5xui64>
  %x, %y = stablehlo.optimization_barrier %c, %d : tensor<5xi64>, tensor<5xui64>
  %0 = stablehlo.shift_left %x, %x : tensor<5xi64>
  %1 = stablehlo.shift_right_logical %y, %y : tensor<5xui64>
  %2 = stablehlo.shift_right_arithmetic %x, %x : tensor<5xi64>
  return %0, %1, %2 : tensor<5xi64>, tensor<5xui64>, tensor<5xi64>
}
