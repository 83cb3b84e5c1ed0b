// RUN: tenon-opt %s --split-input-file --fusion-split-reductions | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK: stablehlo.reduce({{.*}}) applies stablehlo.add across dimensions = [1] : (tensor<768x3072xf32>, tensor<f32>) -> tensor<768xf32>
// CHECK: stablehlo.reduce({{.*}}) applies stablehlo.add across dimensions = [0] : (tensor<768xf32>, tensor<f32>) -> tensor<f32>
func.func @main(%x: tensor<768x3072xf32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<768x3072xf32>, tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

// CHECK-LABEL: func.func @main
// CHECK: stablehlo.reshape {{.*}} -> tensor<64x16384xf32>
// CHECK: stablehlo.reduce({{.*}}) applies stablehlo.add across dimensions = [1]
// CHECK: stablehlo.reduce({{.*}}) applies stablehlo.add across dimensions = [0]
func.func @main(%x: tensor<1048576xf32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<1048576xf32>, tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

// A short one stays.

// CHECK-LABEL: func.func @main
// CHECK-COUNT-1: stablehlo.reduce
// CHECK-NOT: stablehlo.reduce
func.func @main(%x: tensor<128xf32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<128xf32>, tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

// Rows of a batch normalisation: one leading dimension after the other.

// CHECK-LABEL: func.func @main
// CHECK: stablehlo.reduce({{.*}}) applies stablehlo.add across dimensions = [0] : (tensor<32x16x16x64xf32>, tensor<f32>) -> tensor<16x16x64xf32>
// CHECK: stablehlo.reduce({{.*}}) applies stablehlo.add across dimensions = [0] : (tensor<16x16x64xf32>, tensor<f32>) -> tensor<16x64xf32>
// CHECK: stablehlo.reduce({{.*}}) applies stablehlo.add across dimensions = [0] : (tensor<16x64xf32>, tensor<f32>) -> tensor<64xf32>
func.func @main(%x: tensor<32x16x16x64xf32>) -> tensor<64xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<32x16x16x64xf32>, tensor<f32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

// -----

// A sum that starts at one must not start there twice.

// CHECK-LABEL: func.func @main
// CHECK-COUNT-1: stablehlo.reduce
// CHECK-NOT: stablehlo.reduce
func.func @main(%x: tensor<768x3072xf32>) -> tensor<f32> {
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %one) applies stablehlo.add across dimensions = [0, 1] : (tensor<768x3072xf32>, tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

// Statistics of groups of four channels: the positions first, then the four.

// CHECK-LABEL: func.func @groups
// CHECK: stablehlo.reduce(%arg0 init: %{{.*}}) applies stablehlo.add across dimensions = [1, 2] : (tensor<2x8x8x8x4xf32>, tensor<f32>) -> tensor<2x8x4xf32>
// CHECK: stablehlo.reduce({{.*}}) applies stablehlo.add across dimensions = [2] : (tensor<2x8x4xf32>, tensor<f32>) -> tensor<2x8xf32>
func.func @groups(%x: tensor<2x8x8x8x4xf32>) -> tensor<2x8xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [1, 2, 4] : (tensor<2x8x8x8x4xf32>, tensor<f32>) -> tensor<2x8xf32>
  return %0 : tensor<2x8xf32>
}
