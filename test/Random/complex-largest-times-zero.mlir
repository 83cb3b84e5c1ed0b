// The largest numbers as both parts of a factor of 0: the product is 0.

// RUN: TenonRandom check %s | FileCheck %s
// CHECK: 0 differences

func.func @main() -> tensor<3xcomplex<f64>> {
  %a = stablehlo.constant dense<[(1.7976931348623157E+308, -1.7976931348623157E+308), (1.7976931348623157E+308, 1.7976931348623157E+308), (1.0, 2.0)]> : tensor<3xcomplex<f64>>
  %b = stablehlo.constant dense<[(0.0, 0.0), (-0.0, 0.0), (3.0, 4.0)]> : tensor<3xcomplex<f64>>
  %x:2 = stablehlo.optimization_barrier %a, %b : tensor<3xcomplex<f64>>, tensor<3xcomplex<f64>>
  %0 = stablehlo.multiply %x#0, %x#1 : tensor<3xcomplex<f64>>
  return %0 : tensor<3xcomplex<f64>>
}
