// RUN: tenon-opt %s --import-decompose-chlo --verify-diagnostics

// All kinds of operations without an expansion are named, not the first one.

func.func @main(%z: tensor<8xcomplex<f32>>, %w: tensor<4xcomplex<f64>>) -> (tensor<8xcomplex<f32>>, tensor<4xcomplex<f64>>) {
  // expected-error@+1 {{'chlo._asin_acos_kernel' on 'tensor<8xcomplex<f32>>' has no expansion in StableHLO; found 3}}
  %0 = chlo._asin_acos_kernel %z : tensor<8xcomplex<f32>> -> tensor<8xcomplex<f32>>
  %1 = chlo._asin_acos_kernel %0 : tensor<8xcomplex<f32>> -> tensor<8xcomplex<f32>>
  %2 = chlo._asin_acos_kernel %w : tensor<4xcomplex<f64>> -> tensor<4xcomplex<f64>>
  return %1, %2 : tensor<8xcomplex<f32>>, tensor<4xcomplex<f64>>
}
