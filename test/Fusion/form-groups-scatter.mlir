// RUN: tenon compile %s --target=sm_90 --compile-to=group | FileCheck %s --check-prefix=GPU
// RUN: tenon compile %s --compile-to=group | FileCheck %s --check-prefix=CPU

// A scatter that begins with a number everywhere: a GPU's kernel needs no memory
// that is filled with it. A processor's writes into the memory of its operand.

// GPU: step.group generic({{.*}}) : (tensor<4096x1xi32>, tensor<4096x64xf32>) -> tensor<50000x64xf32>
// GPU: stablehlo.constant dense<0.000000e+00> : tensor<50000x64xf32>
// GPU: stablehlo.scatter
// GPU-NOT: step.group
// CPU: step.group elementwise() : () -> tensor<50000x64xf32>
// CPU: step.group generic({{.*}}) : (tensor<50000x64xf32>, tensor<4096x1xi32>, tensor<4096x64xf32>) -> tensor<50000x64xf32>
func.func @main(%indices: tensor<4096x1xi32>, %updates: tensor<4096x64xf32>) -> tensor<50000x64xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<50000x64xf32>
  %result = "stablehlo.scatter"(%zero, %indices, %updates) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %sum = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %sum : tensor<f32>
  }) : (tensor<50000x64xf32>, tensor<4096x1xi32>, tensor<4096x64xf32>) -> tensor<50000x64xf32>
  return %result : tensor<50000x64xf32>
}
