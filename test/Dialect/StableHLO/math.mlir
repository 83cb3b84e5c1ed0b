// RUN: tenon-opt %s | tenon-opt | FileCheck %s
// RUN: tenon-opt %s --mlir-print-op-generic | tenon-opt | FileCheck %s

// CHECK-LABEL: func.func @functions
func.func @functions(%a: tensor<3xf32>, %z: tensor<3xcomplex<f32>>) {
  // CHECK: stablehlo.cbrt %arg0 : tensor<3xf32>
  %0 = stablehlo.cbrt %a : tensor<3xf32>
  // CHECK: stablehlo.cosine %arg0 : tensor<3xf32>
  %1 = stablehlo.cosine %a : tensor<3xf32>
  // CHECK: stablehlo.exponential %arg1 : tensor<3xcomplex<f32>>
  %2 = stablehlo.exponential %z : tensor<3xcomplex<f32>>
  // CHECK: stablehlo.exponential_minus_one %arg0 : tensor<3xf32>
  %3 = stablehlo.exponential_minus_one %a : tensor<3xf32>
  // CHECK: stablehlo.log %arg0 : tensor<3xf32>
  %4 = stablehlo.log %a : tensor<3xf32>
  // CHECK: stablehlo.log_plus_one %arg0 : tensor<3xf32>
  %5 = stablehlo.log_plus_one %a : tensor<3xf32>
  // CHECK: stablehlo.logistic %arg0 : tensor<3xf32>
  %6 = stablehlo.logistic %a : tensor<3xf32>
  // CHECK: stablehlo.rsqrt %arg0 : tensor<3xf32>
  %7 = stablehlo.rsqrt %a : tensor<3xf32>
  // CHECK: stablehlo.sine %arg0 : tensor<3xf32>
  %8 = stablehlo.sine %a : tensor<3xf32>
  // CHECK: stablehlo.sqrt %arg0 : tensor<3xf32>
  %9 = stablehlo.sqrt %a : tensor<3xf32>
  // CHECK: stablehlo.tan %arg0 : tensor<3xf32>
  %10 = stablehlo.tan %a : tensor<3xf32>
  // CHECK: stablehlo.tanh %arg0 : tensor<3xf32>
  %11 = stablehlo.tanh %a : tensor<3xf32>
  // CHECK: stablehlo.atan2 %arg0, %arg0 : tensor<3xf32>
  %12 = stablehlo.atan2 %a, %a : tensor<3xf32>
  // CHECK: stablehlo.power %arg0, %arg0 : tensor<3xf32>
  %13 = stablehlo.power %a, %a : tensor<3xf32>
  return
}

// CHECK-LABEL: func.func @accuracy
func.func @accuracy(%a: tensor<3xf32>) {
  // CHECK: stablehlo.exponential %arg0 {result_accuracy = #stablehlo.result_accuracy<ulps = 10, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<3xf32>
  %0 = stablehlo.exponential %a {result_accuracy = #stablehlo.result_accuracy<ulps = 10, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<3xf32>
  // CHECK: stablehlo.tanh %arg0 {result_accuracy = #stablehlo.result_accuracy<mode = #stablehlo.result_accuracy_mode<HIGHEST>>} : tensor<3xf32>
  %1 = stablehlo.tanh %a {result_accuracy = #stablehlo.result_accuracy<mode = #stablehlo.result_accuracy_mode<HIGHEST>>} : tensor<3xf32>
  // CHECK: stablehlo.log %arg0 {result_accuracy = #stablehlo.result_accuracy<atol = 1.000000e-05, rtol = 1.250000e-01, ulps = 2, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<3xf32>
  %2 = stablehlo.log %a {result_accuracy = #stablehlo.result_accuracy<atol = 1.0e-5, rtol = 1.25e-1, ulps = 2, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<3xf32>
  return
}
