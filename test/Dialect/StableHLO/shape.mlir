// RUN: tenon-opt %s | tenon-opt | FileCheck %s
// RUN: tenon-opt %s --mlir-print-op-generic | tenon-opt | FileCheck %s

// CHECK-LABEL: func.func @constants
func.func @constants() {
  // CHECK: %cst = stablehlo.constant dense<1.000000e+00> : tensor<2xf32>
  %0 = stablehlo.constant dense<1.0> : tensor<2xf32>
  // CHECK: %c = stablehlo.constant dense<[1, 2]> : tensor<2xui32>
  %1 = stablehlo.constant dense<[1, 2]> : tensor<2xui32>
  // CHECK: %c_0 = stablehlo.constant dense<[true, false, true]> : tensor<3xi1>
  %2 = stablehlo.constant dense<[true, false, true]> : tensor<3xi1>
  // CHECK: stablehlo.constant dense<(1.000000e+00,2.000000e+00)> : tensor<complex<f32>>
  %3 = stablehlo.constant dense<(1.0, 2.0)> : tensor<complex<f32>>
  // CHECK: stablehlo.constant dense<0x7FC00000> : tensor<f32>
  %4 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
  // CHECK: stablehlo.constant dense<> : tensor<0x3xf32>
  %5 = stablehlo.constant dense<> : tensor<0x3xf32>
  // CHECK: stablehlo.constant {mhlo.frontend_attributes = {a = "b"}} dense<0> : tensor<i64>
  %6 = stablehlo.constant {mhlo.frontend_attributes = {a = "b"}} dense<0> : tensor<i64>
  // CHECK: stablehlo.iota dim = 1 : tensor<3x4xi32>
  %8 = stablehlo.iota dim = 1 : tensor<3x4xi32>
  return
}

// CHECK-LABEL: func.func @broadcasts
func.func @broadcasts(%a: tensor<1x3xf32>, %shape: tensor<3xi64>, %s: tensor<f32>) {
  // CHECK: stablehlo.broadcast_in_dim %arg0, dims = [0, 2] : (tensor<1x3xf32>) -> tensor<2x4x3xf32>
  %0 = stablehlo.broadcast_in_dim %a, dims = [0, 2] : (tensor<1x3xf32>) -> tensor<2x4x3xf32>
  // CHECK: stablehlo.broadcast_in_dim %arg2, dims = [] : (tensor<f32>) -> tensor<2xf32>
  %1 = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<2xf32>
  // CHECK: stablehlo.broadcast %arg0, sizes = [5] : (tensor<1x3xf32>) -> tensor<5x1x3xf32>
  %2 = stablehlo.broadcast %a, sizes = [5] : (tensor<1x3xf32>) -> tensor<5x1x3xf32>
  // CHECK: stablehlo.dynamic_broadcast_in_dim %arg0, %arg1, dims = [0, 2] : (tensor<1x3xf32>, tensor<3xi64>) -> tensor<?x?x3xf32>
  %3 = stablehlo.dynamic_broadcast_in_dim %a, %shape, dims = [0, 2] : (tensor<1x3xf32>, tensor<3xi64>) -> tensor<?x?x3xf32>
  // CHECK: stablehlo.dynamic_broadcast_in_dim %arg0, %arg1, dims = [0, 2] {known_expanding_dimensions = array<i64: 0>, known_nonexpanding_dimensions = array<i64: 1>} : (tensor<1x3xf32>, tensor<3xi64>) -> tensor<?x?x3xf32>
  %4 = stablehlo.dynamic_broadcast_in_dim %a, %shape, dims = [0, 2] {known_expanding_dimensions = array<i64: 0>, known_nonexpanding_dimensions = array<i64: 1>} : (tensor<1x3xf32>, tensor<3xi64>) -> tensor<?x?x3xf32>
  return
}

// CHECK-LABEL: func.func @moves
func.func @moves(%a: tensor<4x6xf32>, %s: tensor<f32>, %two: tensor<2xi32>) {
  // CHECK: stablehlo.reshape %arg0 : (tensor<4x6xf32>) -> tensor<24xf32>
  %0 = stablehlo.reshape %a : (tensor<4x6xf32>) -> tensor<24xf32>
  // CHECK: stablehlo.dynamic_reshape %arg0, %arg2 : (tensor<4x6xf32>, tensor<2xi32>) -> tensor<?x?xf32>
  %1 = stablehlo.dynamic_reshape %a, %two : (tensor<4x6xf32>, tensor<2xi32>) -> tensor<?x?xf32>
  // CHECK: stablehlo.bitcast_convert %arg0 : (tensor<4x6xf32>) -> tensor<4x6xi32>
  %2 = stablehlo.bitcast_convert %a : (tensor<4x6xf32>) -> tensor<4x6xi32>
  // CHECK: stablehlo.transpose %arg0, dims = [1, 0] : (tensor<4x6xf32>) -> tensor<6x4xf32>
  %3 = stablehlo.transpose %a, dims = [1, 0] : (tensor<4x6xf32>) -> tensor<6x4xf32>
  // CHECK: stablehlo.reverse %arg0, dims = [0, 1] : tensor<4x6xf32>
  %4 = stablehlo.reverse %a, dims = [0, 1] : tensor<4x6xf32>
  // CHECK: stablehlo.slice %arg0 [0:4, 1:6:2] : (tensor<4x6xf32>) -> tensor<4x3xf32>
  %5 = stablehlo.slice %a [0:4:1, 1:6:2] : (tensor<4x6xf32>) -> tensor<4x3xf32>
  // CHECK: stablehlo.slice %arg1 [] : (tensor<f32>) -> tensor<f32>
  %6 = stablehlo.slice %s [] : (tensor<f32>) -> tensor<f32>
  // CHECK: stablehlo.real_dynamic_slice %arg0, %arg2, %arg2, %arg2 : (tensor<4x6xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?x?xf32>
  %7 = stablehlo.real_dynamic_slice %a, %two, %two, %two : (tensor<4x6xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?x?xf32>
  // CHECK: stablehlo.pad %arg0, %arg1, low = [1, -1], high = [0, 2], interior = [0, 1] : (tensor<4x6xf32>, tensor<f32>) -> tensor<5x12xf32>
  %8 = stablehlo.pad %a, %s, low = [1, -1], high = [0, 2], interior = [0, 1] : (tensor<4x6xf32>, tensor<f32>) -> tensor<5x12xf32>
  // CHECK: stablehlo.dynamic_pad %arg0, %arg1, %arg2, %arg2, %arg2 : (tensor<4x6xf32>, tensor<f32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?x?xf32>
  %9 = stablehlo.dynamic_pad %a, %s, %two, %two, %two : (tensor<4x6xf32>, tensor<f32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?x?xf32>
  // CHECK: stablehlo.concatenate %arg0, %arg0, dim = 0 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
  %10 = stablehlo.concatenate %a, %a, dim = 0 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
  // CHECK: stablehlo.concatenate %arg0, dim = 1 : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %11 = stablehlo.concatenate %a, dim = 1 : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// CHECK-LABEL: func.func @extents
func.func @extents(%a: tensor<?x4xf32>, %n: tensor<i32>, %shape: tensor<2xi64>) {
  // CHECK: stablehlo.get_dimension_size %arg0, dim = 0 : (tensor<?x4xf32>) -> tensor<i32>
  %0 = stablehlo.get_dimension_size %a, dim = 0 : (tensor<?x4xf32>) -> tensor<i32>
  // CHECK: stablehlo.set_dimension_size %arg0, %arg1, dim = 0 : (tensor<?x4xf32>, tensor<i32>) -> tensor<?x4xf32>
  %1 = stablehlo.set_dimension_size %a, %n, dim = 0 : (tensor<?x4xf32>, tensor<i32>) -> tensor<?x4xf32>
  // CHECK: stablehlo.dynamic_iota %arg2, dim = 1 : (tensor<2xi64>) -> tensor<?x?xi32>
  %2 = stablehlo.dynamic_iota %shape, dim = 1 : (tensor<2xi64>) -> tensor<?x?xi32>
  return
}
