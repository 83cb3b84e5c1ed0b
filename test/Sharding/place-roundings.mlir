// RUN: tenon-opt %s --sharding-place-roundings | FileCheck %s
// RUN: tenon-opt %s --sharding-place-roundings --sharding-place-roundings | FileCheck %s

// CHECK-LABEL: func.func @matrix
// CHECK-DAG: [[C:%.*]] = stablehlo.iota dim = 1 : tensor<4x6xui32>
// CHECK-DAG: [[R:%.*]] = stablehlo.iota dim = 0 : tensor<4x6xui32>
// CHECK-DAG: [[SIX:%.*]] = stablehlo.constant dense<6> : tensor<4x6xui32>
// CHECK: [[SCALED:%.*]] = stablehlo.multiply [[R]], [[SIX]]
// CHECK: [[AT:%.*]] = stablehlo.add [[SCALED]], [[C]]
// CHECK: step.stochastic_round %{{.*}}, %{{.*}}, %{{.*}}, [[AT]] :
// CHECK-NOT: stablehlo.iota
func.func @matrix(%x: tensor<4x6xf32>, %step: tensor<ui32>, %key: tensor<2xui32>) -> tensor<4x6xbf16> {
  %0 = step.stochastic_round %x, %step, %key : (tensor<4x6xf32>, tensor<ui32>, tensor<2xui32>) -> tensor<4x6xbf16>
  return %0 : tensor<4x6xbf16>
}

// Dimensions of extent 1 have nothing to count.
// CHECK-LABEL: func.func @row
// CHECK: [[AT:%.*]] = stablehlo.iota dim = 1 : tensor<1x6x1xui32>
// CHECK-NEXT: step.stochastic_round %{{.*}}, %{{.*}}, %{{.*}}, [[AT]] :
func.func @row(%x: tensor<1x6x1xf32>, %step: tensor<ui32>, %key: tensor<2xui32>) -> tensor<1x6x1xbf16> {
  %0 = step.stochastic_round %x, %step, %key : (tensor<1x6x1xf32>, tensor<ui32>, tensor<2xui32>) -> tensor<1x6x1xbf16>
  return %0 : tensor<1x6x1xbf16>
}

// CHECK-LABEL: func.func @scalar
// CHECK: [[AT:%.*]] = stablehlo.constant dense<0> : tensor<ui32>
// CHECK-NEXT: step.stochastic_round %{{.*}}, %{{.*}}, %{{.*}}, [[AT]] :
func.func @scalar(%x: tensor<f32>, %step: tensor<ui32>, %key: tensor<2xui32>) -> tensor<bf16> {
  %0 = step.stochastic_round %x, %step, %key : (tensor<f32>, tensor<ui32>, tensor<2xui32>) -> tensor<bf16>
  return %0 : tensor<bf16>
}
