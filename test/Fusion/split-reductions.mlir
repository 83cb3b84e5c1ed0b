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

// -----

// Partial sums of 16-bit floats are f32 and rounded after the last stage.

// CHECK-LABEL: func.func @total
// CHECK-DAG: %[[ZERO:.*]] = stablehlo.constant dense<0.000000e+00> : tensor<f32>
// CHECK-DAG: %[[WIDE:.*]] = stablehlo.convert %arg0 : (tensor<64x4096xbf16>) -> tensor<64x4096xf32>
// CHECK: %[[ROWS:.*]] = stablehlo.reduce(%[[WIDE]] init: %{{.*}}) applies stablehlo.add across dimensions = [1] : (tensor<64x4096xf32>, tensor<f32>) -> tensor<64xf32>
// CHECK: %[[TOTAL:.*]] = stablehlo.reduce(%[[ROWS]] init: %{{.*}}) applies stablehlo.add across dimensions = [0] : (tensor<64xf32>, tensor<f32>) -> tensor<f32>
// CHECK: stablehlo.convert %[[TOTAL]] : (tensor<f32>) -> tensor<bf16>
func.func @total(%x: tensor<64x4096xbf16>) -> tensor<bf16> {
  %zero = stablehlo.constant dense<0.0> : tensor<bf16>
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<64x4096xbf16>, tensor<bf16>) -> tensor<bf16>
  return %0 : tensor<bf16>
}

// -----

// CHECK-LABEL: func.func @columns
// CHECK: stablehlo.convert %arg0 : (tensor<32x16x16x64xf16>) -> tensor<32x16x16x64xf32>
// CHECK-COUNT-3: stablehlo.reduce({{.*}}) applies stablehlo.add across dimensions = [0] : {{.*}}xf32>
// CHECK: stablehlo.convert {{.*}} : (tensor<64xf32>) -> tensor<64xf16>
func.func @columns(%x: tensor<32x16x16x64xf16>) -> tensor<64xf16> {
  %zero = stablehlo.constant dense<0.0> : tensor<f16>
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<32x16x16x64xf16>, tensor<f16>) -> tensor<64xf16>
  return %0 : tensor<64xf16>
}

// -----

// CHECK-LABEL: func.func @groups
// CHECK: stablehlo.convert %arg0 : (tensor<2x8x8x8x4xbf16>) -> tensor<2x8x8x8x4xf32>
// CHECK-COUNT-2: stablehlo.reduce({{.*}}) applies stablehlo.add {{.*}}xf32>
// CHECK: stablehlo.convert {{.*}} : (tensor<2x8xf32>) -> tensor<2x8xbf16>
func.func @groups(%x: tensor<2x8x8x8x4xbf16>) -> tensor<2x8xbf16> {
  %z = stablehlo.constant dense<0.0> : tensor<bf16>
  %0 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [1, 2, 4] : (tensor<2x8x8x8x4xbf16>, tensor<bf16>) -> tensor<2x8xbf16>
  return %0 : tensor<2x8xbf16>
}

// -----

// A maximum is exact in any type.

// CHECK-LABEL: func.func @maximum
// CHECK-NOT: stablehlo.convert
// CHECK-COUNT-2: stablehlo.reduce({{.*}}) applies stablehlo.maximum {{.*}}bf16
func.func @maximum(%x: tensor<64x4096xbf16>) -> tensor<bf16> {
  %z = stablehlo.constant dense<0xFF80> : tensor<bf16>
  %0 = stablehlo.reduce(%x init: %z) applies stablehlo.maximum across dimensions = [0, 1] : (tensor<64x4096xbf16>, tensor<bf16>) -> tensor<bf16>
  return %0 : tensor<bf16>
}
