// RUN: tenon-opt %s --import-decompose-chlo --verify-diagnostics

// All kinds of operations without an expansion are named, not the first one.

func.func @main(%z: tensor<8xcomplex<f32>>) -> tensor<8xcomplex<f32>> {
  // expected-error@+1 {{'chlo.asin' on 'tensor<8xcomplex<f32>>' has no expansion in StableHLO; found 2}}
  %0 = chlo.asin %z : tensor<8xcomplex<f32>> -> tensor<8xcomplex<f32>>
  %1 = chlo.asin %0 : tensor<8xcomplex<f32>> -> tensor<8xcomplex<f32>>
  // expected-error@+1 {{'chlo.sinh' on 'tensor<8xcomplex<f32>>' has no expansion in StableHLO}}
  %2 = chlo.sinh %1 : tensor<8xcomplex<f32>> -> tensor<8xcomplex<f32>>
  return %2 : tensor<8xcomplex<f32>>
}
