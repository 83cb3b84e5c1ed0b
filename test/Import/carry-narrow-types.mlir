// RUN: tenon-opt %s --import-carry-narrow-types --split-input-file | FileCheck %s

// Floats are computed in f32 and rounded once; the signature says what the bytes
// are.

// CHECK-LABEL: func.func @main(%arg0: tensor<4xui8> {step.element_type = f8E5M2}) -> (tensor<4xui8> {step.element_type = f8E5M2})
// CHECK: %[[SUM:.*]] = stablehlo.add {{.*}} : tensor<4xf32>
// CHECK: stablehlo.bitcast_convert %[[SUM]] : (tensor<4xf32>) -> tensor<4xui32>
// CHECK: %[[BYTES:.*]] = stablehlo.convert {{.*}} : (tensor<4xui32>) -> tensor<4xui8>
// CHECK: return %[[BYTES]]
func.func @main(%x: tensor<4xf8E5M2>) -> tensor<4xf8E5M2> {
  %0 = stablehlo.add %x, %x : tensor<4xf8E5M2>
  return %0 : tensor<4xf8E5M2>
}

// -----

// What moves elements moves bytes.

// CHECK-LABEL: func.func @move
// CHECK-NEXT: stablehlo.transpose %arg0, dims = [1, 0] : (tensor<4x2xui8>) -> tensor<2x4xui8>
// CHECK-NEXT: return
func.func @move(%x: tensor<4x2xf8E4M3FN>) -> tensor<2x4xf8E4M3FN> {
  %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<4x2xf8E4M3FN>) -> tensor<2x4xf8E4M3FN>
  return %0 : tensor<2x4xf8E4M3FN>
}

// -----

// Running values of a reduction are kept in f32.

// CHECK-LABEL: func.func @sum
// CHECK: stablehlo.reduce({{.*}}) applies stablehlo.add across dimensions = [1] : (tensor<4x9xf32>, tensor<f32>) -> tensor<4xf32>
func.func @sum(%x: tensor<4x9xf8E4M3FN>) -> tensor<4xf8E4M3FN> {
  %zero = stablehlo.constant dense<0.0> : tensor<f8E4M3FN>
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x9xf8E4M3FN>, tensor<f8E4M3FN>) -> tensor<4xf8E4M3FN>
  return %0 : tensor<4xf8E4M3FN>
}

// -----

// Bits are counted in the narrow type; constants hold their values.

// CHECK-LABEL: func.func @bits
// CHECK: stablehlo.constant dense<[-8, 7]> : tensor<2xi8>
// CHECK: %[[COUNT:.*]] = stablehlo.count_leading_zeros {{.*}} : tensor<2xui8>
// CHECK: stablehlo.subtract %[[COUNT]], {{.*}} : tensor<2xui8>
func.func @bits() -> tensor<2xi4> {
  %x = stablehlo.constant dense<[-8, 7]> : tensor<2xi4>
  %0 = stablehlo.count_leading_zeros %x : tensor<2xi4>
  return %0 : tensor<2xi4>
}
