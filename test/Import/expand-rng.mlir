// RUN: tenon-opt %s --import-expand-rng 2>&1 | FileCheck %s

// Every operation has its own key: its number in the module.

// CHECK: warning: 'stablehlo.rng' draws the same numbers whenever it is executed; rng_bit_generator with a state that the step returns draws new ones
// CHECK-LABEL: func.func @main
// CHECK-NOT: stablehlo.rng %
// CHECK: %[[KEY0:.*]] = stablehlo.constant dense<0> : tensor<2xui64>
// CHECK: %{{.*}}, %[[BITS:.*]] = stablehlo.rng_bit_generator %[[KEY0]], algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>)
// CHECK: stablehlo.remainder %[[BITS]]
// CHECK: stablehlo.while
// CHECK: %[[KEY1:.*]] = stablehlo.constant dense<[1, 0]> : tensor<2xui64>
// CHECK: stablehlo.rng_bit_generator %[[KEY1]], algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<ui64>)
// CHECK: chlo.erf_inv
func.func @main(%a: tensor<i32>, %b: tensor<i32>, %m: tensor<f64>) -> (tensor<4xi32>, tensor<f64>) {
  %shape = stablehlo.constant dense<4> : tensor<1xi64>
  %none = stablehlo.constant dense<> : tensor<0xi64>
  %0 = stablehlo.rng %a, %b, %shape, distribution = UNIFORM : (tensor<i32>, tensor<i32>, tensor<1xi64>) -> tensor<4xi32>
  %1 = stablehlo.while(%k = %m) : tensor<f64>
    cond {
      %2 = stablehlo.compare LT, %k, %m : (tensor<f64>, tensor<f64>) -> tensor<i1>
      stablehlo.return %2 : tensor<i1>
    } do {
      %2 = stablehlo.rng %k, %m, %none, distribution = NORMAL : (tensor<f64>, tensor<f64>, tensor<0xi64>) -> tensor<f64>
      stablehlo.return %2 : tensor<f64>
    }
  return %0, %1 : tensor<4xi32>, tensor<f64>
}
