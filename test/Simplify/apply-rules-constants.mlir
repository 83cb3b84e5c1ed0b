// RUN: tenon-opt %s --simplify-apply-rules --split-input-file | FileCheck %s

// Arithmetic on constants has the bits of the compiled operation: one rounding
// to nearest even per operation, also in 16 bits.

// CHECK-LABEL: func.func @floats
// CHECK-DAG: %[[THIRD:.*]] = stablehlo.constant dense<0.333333343> : tensor<4xf32>
// CHECK-DAG: %[[BF:.*]] = stablehlo.constant dense<3.339840e-01> : tensor<bf16>
// CHECK-DAG: %[[ROOT:.*]] = stablehlo.constant dense<[1.000000e+00, 1.41421354, 1.73205078]> : tensor<3xf32>
// CHECK: return %[[THIRD]], %[[BF]], %[[ROOT]]
func.func @floats() -> (tensor<4xf32>, tensor<bf16>, tensor<3xf32>) {
  %one = stablehlo.constant dense<1.0> : tensor<4xf32>
  %three = stablehlo.constant dense<3.0> : tensor<4xf32>
  %0 = stablehlo.divide %one, %three : tensor<4xf32>
  %onebf = stablehlo.constant dense<1.0> : tensor<bf16>
  %threebf = stablehlo.constant dense<3.0> : tensor<bf16>
  %1 = stablehlo.divide %onebf, %threebf : tensor<bf16>
  %v = stablehlo.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %2 = stablehlo.sqrt %v : tensor<3xf32>
  return %0, %1, %2 : tensor<4xf32>, tensor<bf16>, tensor<3xf32>
}

// -----

// Elementary functions belong to the compiled code; NaN, integer division by zero,
// conversions out of range and long shifts depend on it too.

// CHECK-LABEL: func.func @declined
// CHECK: stablehlo.exponential
// CHECK: stablehlo.power
// CHECK: stablehlo.divide
// CHECK: stablehlo.divide
// CHECK: stablehlo.convert
// CHECK: stablehlo.shift_left
func.func @declined() -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<i32>, tensor<i32>, tensor<i32>) {
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %big = stablehlo.constant dense<1.0e20> : tensor<f32>
  %i = stablehlo.constant dense<7> : tensor<i32>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %w = stablehlo.constant dense<32> : tensor<i32>
  %0 = stablehlo.exponential %one : tensor<f32>
  %1 = stablehlo.power %one, %one : tensor<f32>
  %2 = stablehlo.divide %zero, %zero : tensor<f32>
  %3 = stablehlo.divide %i, %z : tensor<i32>
  %4 = stablehlo.convert %big : (tensor<f32>) -> tensor<i32>
  %5 = stablehlo.shift_left %i, %w : tensor<i32>
  return %0, %1, %2, %3, %4, %5 : tensor<f32>, tensor<f32>, tensor<f32>, tensor<i32>, tensor<i32>, tensor<i32>
}

// -----

// CHECK-LABEL: func.func @integers
// CHECK-DAG: %[[WRAP:.*]] = stablehlo.constant dense<-2147483648> : tensor<i32>
// CHECK-DAG: %[[UNSIGNED:.*]] = stablehlo.constant dense<2147483647> : tensor<ui32>
// CHECK-DAG: %[[SIGNED:.*]] = stablehlo.constant dense<-3> : tensor<i32>
// CHECK-DAG: %[[LESS:.*]] = stablehlo.constant dense<false> : tensor<i1>
// CHECK: return %[[WRAP]], %[[UNSIGNED]], %[[SIGNED]], %[[LESS]]
func.func @integers() -> (tensor<i32>, tensor<ui32>, tensor<i32>, tensor<i1>) {
  %max = stablehlo.constant dense<2147483647> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %0 = stablehlo.add %max, %one : tensor<i32>
  %u = stablehlo.constant dense<4294967295> : tensor<ui32>
  %two = stablehlo.constant dense<2> : tensor<ui32>
  %1 = stablehlo.divide %u, %two : tensor<ui32>
  %n = stablehlo.constant dense<-7> : tensor<i32>
  %twos = stablehlo.constant dense<2> : tensor<i32>
  %2 = stablehlo.divide %n, %twos : tensor<i32>
  %3 = stablehlo.compare LT, %u, %two, UNSIGNED : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
  return %0, %1, %2, %3 : tensor<i32>, tensor<ui32>, tensor<i32>, tensor<i1>
}

// -----

// CHECK-LABEL: func.func @movements
// CHECK-DAG: %[[T:.*]] = stablehlo.constant dense<{{\[\[}}1, 4], [2, 5], [3, 6]]> : tensor<3x2xi32>
// CHECK-DAG: %[[S:.*]] = stablehlo.constant dense<{{\[\[}}1, 3]]> : tensor<1x2xi32>
// CHECK-DAG: %[[C:.*]] = stablehlo.constant dense<{{\[\[}}1, 2, 3, 1, 3], [4, 5, 6, 9, 9]]> : tensor<2x5xi32>
// CHECK: return %[[T]], %[[S]], %[[C]]
func.func @movements() -> (tensor<3x2xi32>, tensor<1x2xi32>, tensor<2x5xi32>) {
  %m = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %0 = stablehlo.transpose %m, dims = [1, 0] : (tensor<2x3xi32>) -> tensor<3x2xi32>
  %1 = stablehlo.slice %m [0:1, 0:3:2] : (tensor<2x3xi32>) -> tensor<1x2xi32>
  %nine = stablehlo.constant dense<9> : tensor<1x2xi32>
  %right = stablehlo.concatenate %1, %nine, dim = 0 : (tensor<1x2xi32>, tensor<1x2xi32>) -> tensor<2x2xi32>
  %2 = stablehlo.concatenate %m, %right, dim = 1 : (tensor<2x3xi32>, tensor<2x2xi32>) -> tensor<2x5xi32>
  return %0, %1, %2 : tensor<3x2xi32>, tensor<1x2xi32>, tensor<2x5xi32>
}

// -----

// More than 65536 elements that are not all the same stay an operation.

// CHECK-LABEL: func.func @large
// CHECK: stablehlo.iota
// CHECK: stablehlo.add
func.func @large() -> tensor<65537xi32> {
  %0 = stablehlo.iota dim = 0 : tensor<65537xi32>
  %1 = stablehlo.constant dense<1> : tensor<65537xi32>
  %2 = stablehlo.add %0, %1 : tensor<65537xi32>
  return %2 : tensor<65537xi32>
}
