// A product whose result is one number writes that number and nothing beside it,
// whichever of its operands lies along the sum.

// RUN: tenon compile %s --no-libraries -o %t.tenon
// RUN: tenon run %t.tenon --check-memory
// RUN: tenon compile %s --no-libraries --cpu=x86-64-v3 -o %t.v3.tenon
// RUN: tenon run %t.v3.tenon --check-memory
// RUN: TenonRandom check %s --no-libraries | FileCheck %s
// CHECK: 0 differences

func.func @main() -> (tensor<1xf64>, tensor<f64>, tensor<f32>, tensor<1xf32>, tensor<i32>) {
  %a = stablehlo.constant dense<[[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]]> : tensor<2x3xf64>
  %b = stablehlo.constant dense<[[0.5, 1.5], [2.5, -3.5], [4.5, 5.5]]> : tensor<3x2xf64>
  %c = stablehlo.constant dense<[[[0.5]], [[1.5]], [[2.5]]]> : tensor<3x1x1xf64>
  %d = stablehlo.constant dense<[[7.0], [8.0], [9.0]]> : tensor<3x1xf64>
  %0:4 = stablehlo.optimization_barrier %a, %b, %c, %d : tensor<2x3xf64>, tensor<3x2xf64>, tensor<3x1x1xf64>, tensor<3x1xf64>
  %1 = stablehlo.dot_general %0#2, %0#3, contracting_dims = [0, 2] x [0, 1] : (tensor<3x1x1xf64>, tensor<3x1xf64>) -> tensor<1xf64>
  %2 = stablehlo.dot_general %0#0, %0#1, contracting_dims = [0, 1] x [1, 0] : (tensor<2x3xf64>, tensor<3x2xf64>) -> tensor<f64>
  %3 = stablehlo.convert %0#0 : (tensor<2x3xf64>) -> tensor<2x3xf32>
  %4 = stablehlo.convert %0#1 : (tensor<3x2xf64>) -> tensor<3x2xf32>
  %5 = stablehlo.dot_general %3, %4, contracting_dims = [0, 1] x [1, 0] : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<f32>
  %6 = stablehlo.convert %0#2 : (tensor<3x1x1xf64>) -> tensor<3x1x1xf32>
  %7 = stablehlo.convert %0#3 : (tensor<3x1xf64>) -> tensor<3x1xf32>
  %8 = stablehlo.dot_general %6, %7, contracting_dims = [0, 2] x [0, 1] : (tensor<3x1x1xf32>, tensor<3x1xf32>) -> tensor<1xf32>
  %9 = stablehlo.convert %0#0 : (tensor<2x3xf64>) -> tensor<2x3xi32>
  %10 = stablehlo.convert %0#1 : (tensor<3x2xf64>) -> tensor<3x2xi32>
  %11 = stablehlo.dot_general %9, %10, contracting_dims = [0, 1] x [1, 0] : (tensor<2x3xi32>, tensor<3x2xi32>) -> tensor<i32>
  return %1, %2, %5, %8, %11 : tensor<1xf64>, tensor<f64>, tensor<f32>, tensor<1xf32>, tensor<i32>
}
