// RUN: tenon-opt %s | tenon-opt | FileCheck %s
// RUN: tenon-opt %s --mlir-print-op-generic | tenon-opt | FileCheck %s

// CHECK-LABEL: func.func @quantized
func.func @quantized(%a: tensor<3xf32>, %q: tensor<3x!quant.uniform<i8:f32, 0.5:3>>,
                     %p: tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) {
  // CHECK: stablehlo.uniform_quantize %arg0 : (tensor<3xf32>) -> tensor<3x!quant.uniform<i8:f32, 5.000000e-01:3>>
  %0 = stablehlo.uniform_quantize %a : (tensor<3xf32>) -> tensor<3x!quant.uniform<i8:f32, 0.5:3>>
  // CHECK: stablehlo.uniform_dequantize %arg1 : (tensor<3x!quant.uniform<i8:f32, 5.000000e-01:3>>) -> tensor<3xf32>
  %1 = stablehlo.uniform_dequantize %q : (tensor<3x!quant.uniform<i8:f32, 0.5:3>>) -> tensor<3xf32>
  // CHECK: stablehlo.constant() {value = dense<3> : tensor<2xi8>} : () -> tensor<2x!quant.uniform<i8:f32, 5.000000e-01>>
  %2 = stablehlo.constant() {value = dense<3> : tensor<2xi8>} : () -> tensor<2x!quant.uniform<i8:f32, 0.5>>
  // CHECK: stablehlo.add %arg2, %arg2 : tensor<2x!quant.uniform<i8:f32:0, {5.000000e-01,2.500000e-01}>>
  %3 = stablehlo.add %p, %p : tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
  // Scales may change on the way.
  // CHECK: stablehlo.tanh %arg1 : (tensor<3x!quant.uniform<i8:f32, 5.000000e-01:3>>) -> tensor<3x!quant.uniform<i8:f32, 1.250000e-01>>
  %4 = stablehlo.tanh %q : (tensor<3x!quant.uniform<i8:f32, 0.5:3>>) -> tensor<3x!quant.uniform<i8:f32, 0.125>>
  return
}
