// RUN: tenon-opt %s --import-canonicalize-spelling --split-input-file | FileCheck %s

// Where there is no element, nothing is computed.

// CHECK-LABEL: func.func @empty_results
// CHECK-NEXT: %[[C:.*]] = stablehlo.constant dense<> : tensor<2x0xf32>
// CHECK-NEXT: return %[[C]]
func.func @empty_results(%x: tensor<5x3xf32>) -> tensor<2x0xf32> {
  %0 = stablehlo.slice %x [1:3, 1:1] : (tensor<5x3xf32>) -> tensor<2x0xf32>
  return %0 : tensor<2x0xf32>
}

// -----

// One element repeated no times is no element.

// CHECK-LABEL: func.func @repeated
// CHECK-NEXT: %[[C:.*]] = stablehlo.constant dense<> : tensor<2x0xf32>
// CHECK-NEXT: return %[[C]]
func.func @repeated() -> tensor<2x0xf32> {
  %0 = stablehlo.constant dense<1.0> : tensor<2x0xf32>
  return %0 : tensor<2x0xf32>
}

// -----

// CHECK-LABEL: func.func @reduced
// CHECK: %[[R:.*]] = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f32>) -> tensor<3xf32>
// CHECK: return %[[R]]
func.func @reduced(%x: tensor<0x3xf32>, %s: tensor<f32>) -> tensor<3xf32> {
  %0 = stablehlo.reduce(%x init: %s) applies stablehlo.add across dimensions = [0] : (tensor<0x3xf32>, tensor<f32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// -----

// CHECK-LABEL: func.func @product
// CHECK: stablehlo.constant dense<0.000000e+00> : tensor<2x3xf32>
func.func @product(%x: tensor<2x0xf32>, %y: tensor<0x3xf32>) -> tensor<2x3xf32> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<2x0xf32>, tensor<0x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----

// CHECK-LABEL: func.func @joined
// CHECK-NOT: tensor<0xf32>, tensor<2xf32>
// CHECK: return %arg1
func.func @joined(%x: tensor<0xf32>, %y: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.concatenate %x, %y, dim = 0 : (tensor<0xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
