// Loops in the regions of scatters: interpreted and compiled results are equal.

// RUN: tenon run %s
// RUN: tenon run --reference %s

func.func @main() {
  // Slices of a window; the second and the third lie outside in part, the
  // fourth far outside: on its elements the loop would not end.
  %a_a = stablehlo.constant dense<[[8.0, 3.0, 1.5], [9.0, 0.5, 4.0], [7.0, 0.25, 2.5], [6.0, 5.0, 3.25]]> : tensor<4x3xf32>
  %a_i = stablehlo.constant dense<[[2, 0], [-1, 3], [1, 2], [9223372036854775807, 0], [1, 2]]> : tensor<5x2xi64>
  %a_u = stablehlo.constant dense<[[[2.0, 1.0], [30.0, 0.25]], [[5.0, 7.0], [1.0, 0.75]], [[3.0, 4.0], [0.5, 9.0]], [[-1.0, -1.0], [-1.0, -1.0]], [[0.125, 1.0], [2.0, 3.0]]]> : tensor<5x2x2xf32>
  %a_x:3 = stablehlo.optimization_barrier %a_a, %a_i, %a_u : tensor<4x3xf32>, tensor<5x2xi64>, tensor<5x2x2xf32>
  %a_0 = "stablehlo.scatter"(%a_x#0, %a_x#1, %a_x#2) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1, 2], scatter_dims_to_operand_dims = [1, 0], index_vector_dim = 1>}> ({
  ^bb0(%a_l: tensor<f32>, %a_r: tensor<f32>):
    %a_h = stablehlo.constant dense<0.5> : tensor<f32>
    %a_w = stablehlo.while(%a_k = %a_l) : tensor<f32>
    cond {
      %a_p = stablehlo.compare GT, %a_k, %a_r, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %a_p : tensor<i1>
    } do {
      %a_m = stablehlo.multiply %a_k, %a_h : tensor<f32>
      stablehlo.return %a_m : tensor<f32>
    }
    %a_e = stablehlo.add %a_w, %a_r : tensor<f32>
    stablehlo.return %a_e : tensor<f32>
  }) : (tensor<4x3xf32>, tensor<5x2xi64>, tensor<5x2x2xf32>) -> tensor<4x3xf32>
  // Batches, two results, and unsigned indices beyond all signed ones.
  %b_i = stablehlo.constant dense<[[0, 18446744073709551615, 2, 2], [1, 1, 0, 4]]> : tensor<2x4xui64>
  %b_a = stablehlo.constant dense<[[8.0, 3.0], [1.5, 9.0], [0.5, 4.0]]> : tensor<3x2xf32>
  %b_c = stablehlo.constant dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xi32>
  %b_u = stablehlo.constant dense<[[2.0, 1.0], [30.0, 0.25], [5.0, 7.0], [1.0, 0.75]]> : tensor<4x2xf32>
  %b_v = stablehlo.constant dense<[[10, 20], [30, 40], [50, 60], [70, 80]]> : tensor<4x2xi32>
  %b_x:5 = stablehlo.optimization_barrier %b_i, %b_a, %b_c, %b_u, %b_v : tensor<2x4xui64>, tensor<3x2xf32>, tensor<3x2xi32>, tensor<4x2xf32>, tensor<4x2xi32>
  %b_t = stablehlo.transpose %b_x#0, dims = [1, 0] : (tensor<2x4xui64>) -> tensor<4x2xui64>
  %b_0:2 = "stablehlo.scatter"(%b_x#1, %b_x#2, %b_t, %b_x#3, %b_x#4) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], input_batching_dims = [1], scatter_indices_batching_dims = [1], scatter_dims_to_operand_dims = [0], index_vector_dim = 2>}> ({
  ^bb0(%b_l: tensor<f32>, %b_li: tensor<i32>, %b_r: tensor<f32>, %b_ri: tensor<i32>):
    %b_h = stablehlo.constant dense<0.5> : tensor<f32>
    %b_w = stablehlo.while(%b_k = %b_l) : tensor<f32>
    cond {
      %b_p = stablehlo.compare GT, %b_k, %b_r, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %b_p : tensor<i1>
    } do {
      %b_m = stablehlo.multiply %b_k, %b_h : tensor<f32>
      stablehlo.return %b_m : tensor<f32>
    }
    %b_e = stablehlo.add %b_w, %b_r : tensor<f32>
    %b_f = stablehlo.subtract %b_ri, %b_li : tensor<i32>
    stablehlo.return %b_e, %b_f : tensor<f32>, tensor<i32>
  }) : (tensor<3x2xf32>, tensor<3x2xi32>, tensor<4x2xui64>, tensor<4x2xf32>, tensor<4x2xi32>) -> (tensor<3x2xf32>, tensor<3x2xi32>)
  check.expect_eq_const %a_0, dense<[[8.0, 3.0, 3.5], [9.0, 0.5, 34.0], [7.0, 0.2265625, 1.8125], [13.0, 2.8125, 4.53125]]> : tensor<4x3xf32>
  check.expect_eq_const %b_0#0, dense<[[4.0, 10.0], [1.5, 0.4453125], [1.6875, 4.0]]> : tensor<3x2xf32>
  check.expect_eq_const %b_0#1, dense<[[9, 58], [3, 24], [25, 6]]> : tensor<3x2xi32>
  return
}
