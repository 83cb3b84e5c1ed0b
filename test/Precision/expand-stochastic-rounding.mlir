// RUN: tenon-opt %s --precision-expand-stochastic-rounding | FileCheck %s
// RUN: tenon-opt %s --precision-expand-stochastic-rounding=flush-subnormals=false | FileCheck %s --check-prefix=KEEP

// Nothing but operations on words is left; the test of the compiled operation compares their bits.

// CHECK-LABEL: func.func @main
// CHECK-NOT: step.
// CHECK: stablehlo.iota dim = 0 : tensor<24xui32>
// CHECK: stablehlo.bitcast_convert %{{.*}} : (tensor<4x6xf32>) -> tensor<4x6xui32>
// CHECK-COUNT-3: stablehlo.select
// CHECK: stablehlo.bitcast_convert %{{.*}} : (tensor<4x6xui16>) -> tensor<4x6xbf16>
// CHECK-NOT: step.

// KEEP-COUNT-2: stablehlo.select
// KEEP-NOT: stablehlo.select
func.func @main(%x: tensor<4x6xf32>, %step: tensor<ui32>, %key: tensor<2xui32>) -> tensor<4x6xbf16> {
  %0 = step.stochastic_round %x, %step, %key : (tensor<4x6xf32>, tensor<ui32>, tensor<2xui32>) -> tensor<4x6xbf16>
  return %0 : tensor<4x6xbf16>
}

// The indices of a part are not counted anew.
// KEEP-LABEL: func.func @part
// CHECK-LABEL: func.func @part
// CHECK-NOT: stablehlo.iota
// CHECK: stablehlo.xor %arg3, %{{.*}} : tensor<4x6xui32>
func.func @part(%x: tensor<4x6xf32>, %step: tensor<ui32>, %key: tensor<2xui32>, %indices: tensor<4x6xui32>) -> tensor<4x6xbf16> {
  %0 = step.stochastic_round %x, %step, %key, %indices : (tensor<4x6xf32>, tensor<ui32>, tensor<2xui32>, tensor<4x6xui32>) -> tensor<4x6xbf16>
  return %0 : tensor<4x6xbf16>
}
