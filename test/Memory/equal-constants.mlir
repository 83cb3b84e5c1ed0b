// RUN: tenon-opt %s --memory-separate-results --memory-plan-offsets --memory-lower-to-exec --verify-exec-form | FileCheck %s

// Equal constants have one place, wherever they stand, and one entry among the
// values of the plan; other types and other values have their own.

// CHECK: exec.segment @constants constants in @host of @cpu bytes 192
// CHECK-COUNT-3: exec.constant
// CHECK-NOT: exec.constant
// CHECK: initial = array<i64: 0, 1, 2, 3>
func.func @main(%x: tensor<4xf32> {step.role = #step.role<batch>}) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %again = stablehlo.constant dense<0> : tensor<i32>
  %other = stablehlo.constant dense<1> : tensor<i32>
  %wide = stablehlo.constant dense<0> : tensor<i64>
  %a = step.group elementwise(%x, %zero, %again, %other, %wide) : (tensor<4xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i64>) -> tensor<4xf32> {
  ^bb0(%0: tensor<4xf32>, %1: tensor<i32>, %2: tensor<i32>, %3: tensor<i32>, %4: tensor<i64>):
    %5 = stablehlo.add %1, %2 : tensor<i32>
    %6 = stablehlo.add %5, %3 : tensor<i32>
    %7 = stablehlo.convert %4 : (tensor<i64>) -> tensor<i32>
    %8 = stablehlo.add %6, %7 : tensor<i32>
    %9 = stablehlo.convert %8 : (tensor<i32>) -> tensor<f32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %11 = stablehlo.add %0, %10 : tensor<4xf32>
    step.yield %11 : tensor<4xf32>
  }
  return %a : tensor<4xf32>
}
