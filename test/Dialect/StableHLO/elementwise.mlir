// RUN: tenon-opt %s | tenon-opt | FileCheck %s
// RUN: tenon-opt %s --mlir-print-op-generic | tenon-opt | FileCheck %s

// CHECK-LABEL: func.func @arithmetic
func.func @arithmetic(%a: tensor<4x?xf32>, %b: tensor<4x?xf32>, %c: tensor<2xui32>) {
  // CHECK: stablehlo.add %arg0, %arg1 : tensor<4x?xf32>
  %0 = stablehlo.add %a, %b : tensor<4x?xf32>
  // CHECK: stablehlo.subtract %arg0, %arg1 : tensor<4x?xf32>
  %1 = stablehlo.subtract %a, %b : tensor<4x?xf32>
  // CHECK: stablehlo.multiply %arg0, %arg1 : tensor<4x?xf32>
  %2 = stablehlo.multiply %a, %b : tensor<4x?xf32>
  // CHECK: stablehlo.divide %arg0, %arg1 : tensor<4x?xf32>
  %3 = stablehlo.divide %a, %b : tensor<4x?xf32>
  // CHECK: stablehlo.remainder %arg0, %arg1 : tensor<4x?xf32>
  %4 = stablehlo.remainder %a, %b : tensor<4x?xf32>
  // CHECK: stablehlo.maximum %arg0, %arg1 : tensor<4x?xf32>
  %5 = stablehlo.maximum %a, %b : tensor<4x?xf32>
  // CHECK: stablehlo.minimum %arg0, %arg1 : tensor<4x?xf32>
  %6 = stablehlo.minimum %a, %b : tensor<4x?xf32>
  // CHECK: stablehlo.abs %arg0 : tensor<4x?xf32>
  %7 = stablehlo.abs %a : tensor<4x?xf32>
  // CHECK: stablehlo.negate %arg2 : tensor<2xui32>
  %8 = stablehlo.negate %c : tensor<2xui32>
  // CHECK: stablehlo.sign %arg0 : tensor<4x?xf32>
  %9 = stablehlo.sign %a : tensor<4x?xf32>
  // CHECK: stablehlo.ceil %arg0 : tensor<4x?xf32>
  %10 = stablehlo.ceil %a : tensor<4x?xf32>
  // CHECK: stablehlo.floor %arg0 : tensor<4x?xf32>
  %11 = stablehlo.floor %a : tensor<4x?xf32>
  // CHECK: stablehlo.round_nearest_afz %arg0 : tensor<4x?xf32>
  %12 = stablehlo.round_nearest_afz %a : tensor<4x?xf32>
  // CHECK: stablehlo.round_nearest_even %arg0 : tensor<4x?xf32>
  %13 = stablehlo.round_nearest_even %a : tensor<4x?xf32>
  // CHECK: stablehlo.add %arg0, %arg1 {mhlo.frontend_attributes = {x = "y"}} : tensor<4x?xf32>
  %14 = stablehlo.add %a, %b {mhlo.frontend_attributes = {x = "y"}} : tensor<4x?xf32>
  return
}

// Types that differ in what is known of them are written out.
// CHECK-LABEL: func.func @relaxed_types
func.func @relaxed_types(%a: tensor<4x?xf32>, %b: tensor<?x5xf32>,
                         %c: tensor<?x5xf32, #stablehlo.bounds<8, ?>>) {
  // CHECK: stablehlo.add %arg0, %arg1 : (tensor<4x?xf32>, tensor<?x5xf32>) -> tensor<4x5xf32>
  %0 = stablehlo.add %a, %b : (tensor<4x?xf32>, tensor<?x5xf32>) -> tensor<4x5xf32>
  // CHECK: stablehlo.negate %arg2 : (tensor<?x5xf32, #stablehlo.bounds<8, ?>>) -> tensor<?x5xf32>
  %1 = stablehlo.negate %c : (tensor<?x5xf32, #stablehlo.bounds<8, ?>>) -> tensor<?x5xf32>
  return
}

// CHECK-LABEL: func.func @bits
func.func @bits(%a: tensor<3xi32>, %b: tensor<3xi32>, %p: tensor<3xi1>) {
  // CHECK: stablehlo.and %arg0, %arg1 : tensor<3xi32>
  %0 = stablehlo.and %a, %b : tensor<3xi32>
  // CHECK: stablehlo.or %arg2, %arg2 : tensor<3xi1>
  %1 = stablehlo.or %p, %p : tensor<3xi1>
  // CHECK: stablehlo.xor %arg0, %arg1 : tensor<3xi32>
  %2 = stablehlo.xor %a, %b : tensor<3xi32>
  // CHECK: stablehlo.not %arg2 : tensor<3xi1>
  %3 = stablehlo.not %p : tensor<3xi1>
  // CHECK: stablehlo.shift_left %arg0, %arg1 : tensor<3xi32>
  %4 = stablehlo.shift_left %a, %b : tensor<3xi32>
  // CHECK: stablehlo.shift_right_logical %arg0, %arg1 : tensor<3xi32>
  %5 = stablehlo.shift_right_logical %a, %b : tensor<3xi32>
  // CHECK: stablehlo.shift_right_arithmetic %arg0, %arg1 : tensor<3xi32>
  %6 = stablehlo.shift_right_arithmetic %a, %b : tensor<3xi32>
  // CHECK: stablehlo.count_leading_zeros %arg0 : tensor<3xi32>
  %7 = stablehlo.count_leading_zeros %a : tensor<3xi32>
  // CHECK: stablehlo.popcnt %arg0 : tensor<3xi32>
  %8 = stablehlo.popcnt %a : tensor<3xi32>
  return
}

// CHECK-LABEL: func.func @comparisons
func.func @comparisons(%a: tensor<3xf32>, %b: tensor<3xf32>, %i: tensor<3xui8>) {
  // CHECK: stablehlo.compare EQ, %arg0, %arg1 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  %0 = stablehlo.compare EQ, %a, %b : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  // CHECK: stablehlo.compare NE, %arg0, %arg1, FLOAT : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  %1 = stablehlo.compare NE, %a, %b, FLOAT : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  // CHECK: stablehlo.compare LT, %arg0, %arg1, TOTALORDER : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  %2 = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  // CHECK: stablehlo.compare GE, %arg2, %arg2, UNSIGNED : (tensor<3xui8>, tensor<3xui8>) -> tensor<3xi1>
  %3 = stablehlo.compare GE, %i, %i, UNSIGNED : (tensor<3xui8>, tensor<3xui8>) -> tensor<3xi1>
  // CHECK: stablehlo.is_finite %arg0 : (tensor<3xf32>) -> tensor<3xi1>
  %4 = stablehlo.is_finite %a : (tensor<3xf32>) -> tensor<3xi1>
  return
}

// CHECK-LABEL: func.func @choices
func.func @choices(%p: tensor<3xi1>, %q: tensor<i1>, %a: tensor<3xf32>, %s: tensor<f32>, %d: tensor<?xf32>) {
  // CHECK: stablehlo.select %arg0, %arg2, %arg2 : tensor<3xi1>, tensor<3xf32>
  %0 = stablehlo.select %p, %a, %a : tensor<3xi1>, tensor<3xf32>
  // CHECK: stablehlo.select %arg1, %arg2, %arg2 : tensor<i1>, tensor<3xf32>
  %1 = stablehlo.select %q, %a, %a : tensor<i1>, tensor<3xf32>
  // CHECK: stablehlo.select %arg1, %arg2, %arg4 : (tensor<i1>, tensor<3xf32>, tensor<?xf32>) -> tensor<3xf32>
  %2 = stablehlo.select %q, %a, %d : (tensor<i1>, tensor<3xf32>, tensor<?xf32>) -> tensor<3xf32>
  // CHECK: stablehlo.clamp %arg2, %arg2, %arg2 : tensor<3xf32>
  %3 = stablehlo.clamp %a, %a, %a : tensor<3xf32>
  // CHECK: stablehlo.clamp %arg3, %arg2, %arg3 : (tensor<f32>, tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  %4 = stablehlo.clamp %s, %a, %s : (tensor<f32>, tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  return
}

// CHECK-LABEL: func.func @conversions
func.func @conversions(%a: tensor<3xf32>, %z: tensor<3xcomplex<f64>>) {
  // CHECK: stablehlo.convert %arg0 : (tensor<3xf32>) -> tensor<3xbf16>
  %0 = stablehlo.convert %a : (tensor<3xf32>) -> tensor<3xbf16>
  // CHECK: stablehlo.convert %arg0 : tensor<3xf32>
  %1 = stablehlo.convert %a : tensor<3xf32>
  // CHECK: stablehlo.convert %{{.*}} : (tensor<3xbf16>) -> tensor<3xf8E4M3FN>
  %2 = stablehlo.convert %0 : (tensor<3xbf16>) -> tensor<3xf8E4M3FN>
  // CHECK: stablehlo.reduce_precision %arg0, format = e5m10 : tensor<3xf32>
  %3 = stablehlo.reduce_precision %a, format = e5m10 : tensor<3xf32>
  // CHECK: stablehlo.complex %arg0, %arg0 : tensor<3xcomplex<f32>>
  %4 = stablehlo.complex %a, %a : tensor<3xcomplex<f32>>
  // CHECK: stablehlo.real %arg1 : (tensor<3xcomplex<f64>>) -> tensor<3xf64>
  %5 = stablehlo.real %z : (tensor<3xcomplex<f64>>) -> tensor<3xf64>
  // CHECK: stablehlo.imag %arg1 : (tensor<3xcomplex<f64>>) -> tensor<3xf64>
  %6 = stablehlo.imag %z : (tensor<3xcomplex<f64>>) -> tensor<3xf64>
  // CHECK: stablehlo.abs %arg1 : (tensor<3xcomplex<f64>>) -> tensor<3xf64>
  %7 = stablehlo.abs %z : (tensor<3xcomplex<f64>>) -> tensor<3xf64>
  return
}

// CHECK-LABEL: func.func @map
func.func @map(%a: tensor<3xf32>) -> tensor<3xf32> {
  // CHECK: "stablehlo.map"(%arg0, %arg0) <{dimensions = array<i64: 0>}> ({
  // CHECK-NEXT: ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
  %0 = "stablehlo.map"(%a, %a) <{dimensions = array<i64: 0>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %1 = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  // CHECK: }) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  }) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}
