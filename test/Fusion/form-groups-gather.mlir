// RUN: tenon compile %s --target=sm_90 --compile-to=group | FileCheck %s

// A kernel with sums along rows holds no gather. If the rows were gathered again
// behind the sort, where most is in memory, a kernel of its own would write what
// the sums read, so they are kept.

// CHECK-LABEL: func.func @main
// CHECK: %[[X:.*]]:2 = step.group elementwise(
// CHECK: stablehlo.gather
// CHECK: stablehlo.sort
// CHECK-NOT: stablehlo.gather
// CHECK: step.group row({{.*}}%[[X]]#{{[01]}}
// CHECK-NOT: stablehlo.gather
func.func @main(%table: tensor<32768x512xf32>, %indices: tensor<65536x1xi32>) -> tensor<65536x512xf32> {
  %x = "stablehlo.gather"(%table, %indices) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 512>}> : (tensor<32768x512xf32>, tensor<65536x1xi32>) -> tensor<65536x512xf32>
  %t = stablehlo.tanh %x : tensor<65536x512xf32>
  %sorted = "stablehlo.sort"(%t) <{dimension = 0 : i64, is_stable = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %less = stablehlo.compare LT, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  }) : (tensor<65536x512xf32>) -> tensor<65536x512xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %m = stablehlo.multiply %sorted, %x : tensor<65536x512xf32>
  %sum = stablehlo.reduce(%m init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<65536x512xf32>, tensor<f32>) -> tensor<65536xf32>
  %spread = stablehlo.broadcast_in_dim %sum, dims = [0] : (tensor<65536xf32>) -> tensor<65536x512xf32>
  %result = stablehlo.subtract %m, %spread : tensor<65536x512xf32>
  return %result : tensor<65536x512xf32>
}
