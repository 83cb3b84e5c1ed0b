// RUN: tenon-opt %s --precision-choose-formats="narrow-kernels format=bf16" --split-input-file | FileCheck %s --check-prefixes=CHECK,BF16
// RUN: tenon-opt %s --precision-choose-formats="narrow-kernels format=f16" --split-input-file | FileCheck %s --check-prefixes=CHECK,F16
// RUN: tenon-opt %s --precision-choose-formats="format=bf16" --split-input-file | FileCheck %s --check-prefix=WIDE

// Kernels for GPUs read narrow operands of a product, whatever the instructions
// of the processor; other kernels do not.

// CHECK-LABEL: func.func @main
// BF16: stablehlo.dot_general {{.*}} : (tensor<2048x2048xbf16>, tensor<2048x2048xbf16>) -> tensor<2048x2048xf32>
// F16: stablehlo.dot_general {{.*}} : (tensor<2048x2048xf16>, tensor<2048x2048xf16>) -> tensor<2048x2048xf32>
// WIDE: stablehlo.dot_general {{.*}} : (tensor<2048x2048xf32>, tensor<2048x2048xf32>) -> tensor<2048x2048xf32>
func.func @main(%x: tensor<2048x2048xf32>, %w: tensor<2048x2048xf32>) -> tensor<2048x2048xf32> {
  %0 = stablehlo.tanh %x : tensor<2048x2048xf32>
  %1 = stablehlo.tanh %w : tensor<2048x2048xf32>
  %2 = stablehlo.dot_general %0, %1, contracting_dims = [1] x [0] : (tensor<2048x2048xf32>, tensor<2048x2048xf32>) -> tensor<2048x2048xf32>
  return %2 : tensor<2048x2048xf32>
}

// -----

// A constant that is infinite in f16 is multiplied in f32; that of bf16 fits.

// CHECK-LABEL: func.func @main
// BF16: stablehlo.dot_general {{.*}} : (tensor<2048x2048xbf16>, tensor<2048x2048xbf16>) -> tensor<2048x2048xf32>
// F16: stablehlo.dot_general {{.*}} : (tensor<2048x2048xf32>, tensor<2048x2048xf32>) -> tensor<2048x2048xf32>
// WIDE: stablehlo.dot_general
func.func @main(%x: tensor<2048x2048xf32>) -> tensor<2048x2048xf32> {
  %large = stablehlo.constant dense<1.000000e+05> : tensor<2048x2048xf32>
  %0 = stablehlo.tanh %x : tensor<2048x2048xf32>
  %1 = stablehlo.dot_general %0, %large, contracting_dims = [1] x [0] : (tensor<2048x2048xf32>, tensor<2048x2048xf32>) -> tensor<2048x2048xf32>
  return %1 : tensor<2048x2048xf32>
}
