// RUN: tenon-opt %s --precision-widen-to-double --split-input-file --verify-diagnostics | FileCheck %s

// Arguments, constants, regions and results are f64; what is 16 bits stays.

// CHECK-LABEL: func.func @main
// CHECK-SAME: (%{{.*}}: tensor<8x4xf64>, %{{.*}}: tensor<4xbf16>) -> (tensor<8xf64>, tensor<4xbf16>)
// CHECK: stablehlo.constant dense<0.10000000149011612> : tensor<f64>
// CHECK-NOT: f32
// CHECK: stablehlo.reduce({{.*}}) applies stablehlo.add across dimensions = [1] : (tensor<8x4xf64>, tensor<f64>) -> tensor<8xf64>
// CHECK: stablehlo.add {{.*}} : tensor<4xbf16>
func.func @main(%x: tensor<8x4xf32>, %h: tensor<4xbf16>) -> (tensor<8xf32>, tensor<4xbf16>) {
  %zero = stablehlo.constant dense<0.1> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<8x4xf32>, tensor<f32>) -> tensor<8xf32>
  %1 = stablehlo.add %h, %h : tensor<4xbf16>
  return %0, %1 : tensor<8xf32>, tensor<4xbf16>
}

// -----

// A loop carries f64, also a number that nobody sees outside.

// CHECK-LABEL: func.func @main
// CHECK: stablehlo.while(%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}) : tensor<i32>, tensor<4xf64>
// CHECK: stablehlo.multiply {{.*}} : tensor<4xf64>
func.func @main(%x: tensor<4xf32>, %n: tensor<i32>) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %half = stablehlo.constant dense<0.5> : tensor<4xf32>
  %0:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, tensor<4xf32>
   cond {
    %1 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %1 = stablehlo.add %i, %one : tensor<i32>
    %2 = stablehlo.multiply %y, %half : tensor<4xf32>
    stablehlo.return %1, %2 : tensor<i32>, tensor<4xf32>
  }
  return %0#1 : tensor<4xf32>
}

// -----

// Bits of an f32 are still those of an f32; a conversion to f64 is gone.

// CHECK-LABEL: func.func @main
// CHECK: %[[NARROW:.*]] = stablehlo.convert %{{.*}} : (tensor<4xf64>) -> tensor<4xf32>
// CHECK: stablehlo.bitcast_convert %[[NARROW]] : (tensor<4xf32>) -> tensor<4xui32>
// CHECK: %[[BITS:.*]] = stablehlo.bitcast_convert %{{.*}} : (tensor<4xui32>) -> tensor<4xf32>
// CHECK: %[[WIDE:.*]] = stablehlo.convert %[[BITS]] : (tensor<4xf32>) -> tensor<4xf64>
// CHECK: return %[[WIDE]], %{{.*}} : tensor<4xf64>, tensor<4xf64>
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf64>) {
  %0 = stablehlo.bitcast_convert %x : (tensor<4xf32>) -> tensor<4xui32>
  %1 = stablehlo.not %0 : tensor<4xui32>
  %2 = stablehlo.bitcast_convert %1 : (tensor<4xui32>) -> tensor<4xf32>
  %3 = stablehlo.convert %x : (tensor<4xf32>) -> tensor<4xf64>
  return %2, %3 : tensor<4xf32>, tensor<4xf64>
}

// -----

func.func @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // expected-error@below {{a call of a library for f32 has no form in f64}}
  %0 = stablehlo.custom_call @lapack_spotrf_ffi(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}
