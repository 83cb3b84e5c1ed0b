// RUN: tenon-opt %s | tenon-opt | FileCheck %s

// CHECK-LABEL: func.func @round
func.func @round(%x: tensor<4x6xf32>, %step: tensor<ui32>, %key: tensor<2xui32>) -> tensor<4x6xbf16> {
  // CHECK: step.stochastic_round %{{.*}}, %{{.*}}, %{{.*}} : (tensor<4x6xf32>, tensor<ui32>, tensor<2xui32>) -> tensor<4x6xbf16>
  %0 = step.stochastic_round %x, %step, %key : (tensor<4x6xf32>, tensor<ui32>, tensor<2xui32>) -> tensor<4x6xbf16>
  return %0 : tensor<4x6xbf16>
}

// CHECK-LABEL: func.func @part
func.func @part(%x: tensor<4x6xf32>, %step: tensor<ui32>, %key: tensor<2xui32>, %indices: tensor<4x6xui32>) -> tensor<4x6xbf16> {
  // CHECK: step.stochastic_round %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : (tensor<4x6xf32>, tensor<ui32>, tensor<2xui32>, tensor<4x6xui32>) -> tensor<4x6xbf16>
  %0 = step.stochastic_round %x, %step, %key, %indices : (tensor<4x6xf32>, tensor<ui32>, tensor<2xui32>, tensor<4x6xui32>) -> tensor<4x6xbf16>
  return %0 : tensor<4x6xbf16>
}
