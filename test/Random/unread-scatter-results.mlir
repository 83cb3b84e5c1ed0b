// A scatter of several tensors of which nobody reads one, as the imaginary part
// of complex numbers that are converted to real ones. It is computed all the
// same where the other depends on it.

// RUN: TenonRandom check %s | FileCheck %s
// RUN: TenonRandom check %s --cpu=x86-64-v3 --fuse=false | FileCheck %s
// CHECK: 0 differences

func.func @main() -> (tensor<1xf64>, tensor<40x3xf32>) {
  %a = stablehlo.constant dense<(2.0, 3.0)> : tensor<1xcomplex<f64>>
  %i = stablehlo.constant dense<0> : tensor<4x1xui32>
  %u = stablehlo.constant dense<[(1.0, 2.0), (-3.0, 0.5), (0.25, 1.0), (5.0, -1.0)]> : tensor<4xcomplex<f64>>
  %b = stablehlo.constant dense<(1.0, 1.0)> : tensor<40x3xcomplex<f32>>
  %j = stablehlo.constant dense<[[3], [39], [3]]> : tensor<3x1xi32>
  %v = stablehlo.constant dense<[[(1.0, 2.0), (3.0, 4.0), (5.0, 6.0)], [(2.0, 1.0), (4.0, 3.0), (6.0, 5.0)], [(-1.0, 2.0), (0.0, 0.5), (7.0, 8.0)]]> : tensor<3x3xcomplex<f32>>
  %x:6 = stablehlo.optimization_barrier %a, %i, %u, %b, %j, %v : tensor<1xcomplex<f64>>, tensor<4x1xui32>, tensor<4xcomplex<f64>>, tensor<40x3xcomplex<f32>>, tensor<3x1xi32>, tensor<3x3xcomplex<f32>>
  %0 = "stablehlo.scatter"(%x#0, %x#1, %x#2) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%l: tensor<complex<f64>>, %r: tensor<complex<f64>>):
    %p = stablehlo.multiply %l, %r : tensor<complex<f64>>
    stablehlo.return %p : tensor<complex<f64>>
  }) : (tensor<1xcomplex<f64>>, tensor<4x1xui32>, tensor<4xcomplex<f64>>) -> tensor<1xcomplex<f64>>
  %1 = "stablehlo.scatter"(%x#3, %x#4, %x#5) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%l: tensor<complex<f32>>, %r: tensor<complex<f32>>):
    %p = stablehlo.multiply %l, %r : tensor<complex<f32>>
    stablehlo.return %p : tensor<complex<f32>>
  }) : (tensor<40x3xcomplex<f32>>, tensor<3x1xi32>, tensor<3x3xcomplex<f32>>) -> tensor<40x3xcomplex<f32>>
  %2 = stablehlo.real %0 : (tensor<1xcomplex<f64>>) -> tensor<1xf64>
  %3 = stablehlo.real %1 : (tensor<40x3xcomplex<f32>>) -> tensor<40x3xf32>
  return %2, %3 : tensor<1xf64>, tensor<40x3xf32>
}
