// RUN: tenon-opt %s --simplify-apply-rules | FileCheck %s
// RUN: tenon run %s --reference
// RUN: tenon run %s
// RUN: tenon-opt %s --simplify-apply-rules -o %t.mlir && tenon run %t.mlir --reference

// Gradients of three slices of one tensor are added up between zeros. They are
// one concatenation; + 0 stays, by which -0 becomes +0.

// CHECK-LABEL: func.func private @slices
// CHECK-DAG: %[[ZEROS:.*]] = stablehlo.constant dense<0.000000e+00> : tensor<2x2xf32>
// CHECK-DAG: %[[ZERO:.*]] = stablehlo.constant dense<0.000000e+00> : tensor<2x1xf32>
// CHECK-DAG: %[[A:.*]] = stablehlo.add %arg0, %[[ZEROS]]
// CHECK-DAG: %[[B:.*]] = stablehlo.add %arg1, %[[ZERO]]
// CHECK-DAG: %[[C:.*]] = stablehlo.add %arg2, %[[ZEROS]]
// CHECK: %[[JOINED:.*]] = stablehlo.concatenate %[[C]], %[[B]], %[[A]], dim = 1
// CHECK-SAME: -> tensor<2x5xf32>
// CHECK-NEXT: return %[[JOINED]]
func.func private @slices(%a: tensor<2x2xf32>, %b: tensor<2x1xf32>, %c: tensor<2x2xf32>) -> tensor<2x5xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.pad %a, %zero, low = [0, 3], high = [0, 0], interior = [0, 0] : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x5xf32>
  %1 = stablehlo.pad %b, %zero, low = [0, 2], high = [0, 2], interior = [0, 0] : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x5xf32>
  %2 = stablehlo.add %0, %1 : tensor<2x5xf32>
  %3 = stablehlo.pad %c, %zero, low = [0, 0], high = [0, 3], interior = [0, 0] : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x5xf32>
  %4 = stablehlo.add %2, %3 : tensor<2x5xf32>
  return %4 : tensor<2x5xf32>
}

// Zeros that stand around one of them, and around both. What is never -0 is
// not added to anything.
// CHECK-LABEL: func.func private @around
// CHECK: %[[POWER:.*]] = stablehlo.exponential %arg0
// CHECK: %[[FIRST:.*]] = stablehlo.pad %[[POWER]], %{{.*}}, low = [0, 0], high = [1, 0], interior = [0, 0]
// CHECK-LABEL: func.func @main
func.func private @around(%a: tensor<1x2xf32>, %b: tensor<2x1xf32>) -> tensor<3x3xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.exponential %a : tensor<1x2xf32>
  %1 = stablehlo.pad %0, %zero, low = [0, 0], high = [2, 1], interior = [0, 0] : (tensor<1x2xf32>, tensor<f32>) -> tensor<3x3xf32>
  %2 = stablehlo.pad %b, %zero, low = [0, 2], high = [1, 0], interior = [0, 0] : (tensor<2x1xf32>, tensor<f32>) -> tensor<3x3xf32>
  %3 = stablehlo.add %1, %2 : tensor<3x3xf32>
  return %3 : tensor<3x3xf32>
}

func.func @main() {
  %a = stablehlo.constant dense<[[1.0, -0.0], [-0.0, 2.0]]> : tensor<2x2xf32>
  %b = stablehlo.constant dense<[[-3.0], [-0.0]]> : tensor<2x1xf32>
  %c = stablehlo.constant dense<[[-0.0, 4.0], [0.0, 0xFF800000]]> : tensor<2x2xf32>
  %0 = call @slices(%a, %b, %c) : (tensor<2x2xf32>, tensor<2x1xf32>, tensor<2x2xf32>) -> tensor<2x5xf32>
  check.expect_eq_const %0, dense<[[0.0, 4.0, -3.0, 1.0, 0.0], [0.0, 0xFF800000, 0.0, 0.0, 2.0]]> : tensor<2x5xf32>
  // The reciprocal tells +0 from -0.
  %one = stablehlo.constant dense<1.0> : tensor<2x5xf32>
  %1 = stablehlo.divide %one, %0 : tensor<2x5xf32>
  %least = stablehlo.constant dense<-1.0> : tensor<2x5xf32>
  %2 = stablehlo.maximum %1, %least : tensor<2x5xf32>
  check.expect_almost_eq_const %2, dense<[[0x7F800000, 0.25, -0.333333343, 1.0, 0x7F800000], [0x7F800000, 0.0, 0x7F800000, 0x7F800000, 0.5]]> : tensor<2x5xf32>

  %x = stablehlo.constant dense<0.0> : tensor<1x2xf32>
  %y = stablehlo.constant dense<[[5.0], [-0.0]]> : tensor<2x1xf32>
  %3 = call @around(%x, %y) : (tensor<1x2xf32>, tensor<2x1xf32>) -> tensor<3x3xf32>
  check.expect_eq_const %3, dense<[[1.0, 1.0, 5.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]> : tensor<3x3xf32>
  return
}
