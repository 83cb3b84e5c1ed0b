// Loops in the regions of windows: interpreted and compiled results are equal.

// RUN: tenon run %s
// RUN: tenon run --reference %s

func.func @main() {
  // A window with padding, that of one side cut off, and both dilations.
  %w_a = stablehlo.constant dense<[[8.0, 3.0, 1.5], [9.0, 0.5, 4.0], [7.0, 0.25, 2.5], [6.0, 5.0, 3.25]]> : tensor<4x3xf32>
  %w_i = stablehlo.iota dim = 1 : tensor<4x3xi32>
  %w_z = stablehlo.constant dense<1.0> : tensor<f32>
  %w_y = stablehlo.constant dense<-1> : tensor<i32>
  %w_x:4 = stablehlo.optimization_barrier %w_a, %w_i, %w_z, %w_y : tensor<4x3xf32>, tensor<4x3xi32>, tensor<f32>, tensor<i32>
  %w_0:2 = "stablehlo.reduce_window"(%w_x#0, %w_x#1, %w_x#2, %w_x#3) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 1>, base_dilations = array<i64: 1, 2>, window_dilations = array<i64: 2, 1>, padding = dense<[[1, 1], [-1, 2]]> : tensor<2x2xi64>}> ({
  ^bb0(%w_l: tensor<f32>, %w_li: tensor<i32>, %w_r: tensor<f32>, %w_ri: tensor<i32>):
    %w_h = stablehlo.constant dense<0.5> : tensor<f32>
    %w_w = stablehlo.while(%w_k = %w_l) : tensor<f32>
    cond {
      %w_p = stablehlo.compare GT, %w_k, %w_r, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %w_p : tensor<i1>
    } do {
      %w_m = stablehlo.multiply %w_k, %w_h : tensor<f32>
      stablehlo.return %w_m : tensor<f32>
    }
    %w_e = stablehlo.add %w_w, %w_r : tensor<f32>
    %w_f = stablehlo.add %w_li, %w_ri : tensor<i32>
    stablehlo.return %w_e, %w_f : tensor<f32>, tensor<i32>
  }) : (tensor<4x3xf32>, tensor<4x3xi32>, tensor<f32>, tensor<i32>) -> (tensor<2x5xf32>, tensor<2x5xi32>)
  // Windows over nothing but padding.
  %e_a = stablehlo.constant dense<> : tensor<0xf32>
  %e_0 = "stablehlo.reduce_window"(%e_a, %w_x#2) <{window_dimensions = array<i64: 2>, padding = dense<[[2, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%e_l: tensor<f32>, %e_r: tensor<f32>):
    %e_h = stablehlo.constant dense<0.5> : tensor<f32>
    %e_w = stablehlo.while(%e_k = %e_l) : tensor<f32>
    cond {
      %e_p = stablehlo.compare GT, %e_k, %e_r, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %e_p : tensor<i1>
    } do {
      %e_m = stablehlo.multiply %e_k, %e_h : tensor<f32>
      stablehlo.return %e_m : tensor<f32>
    }
    %e_e = stablehlo.add %e_w, %e_r : tensor<f32>
    stablehlo.return %e_e : tensor<f32>
  }) : (tensor<0xf32>, tensor<f32>) -> tensor<2xf32>
  // The last window lies over padding alone and selects nothing.
  %s_s = stablehlo.constant dense<[[2.0, 40.0], [3.0, 50.0], [4.0, 60.0]]> : tensor<3x2xf32>
  %s_x = stablehlo.optimization_barrier %s_s : tensor<3x2xf32>
  %s_0 = "stablehlo.select_and_scatter"(%w_x#0, %s_x, %w_x#2) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 1>, padding = dense<[[0, 2], [-1, 1]]> : tensor<2x2xi64>}> ({
  ^bb0(%s_l: tensor<f32>, %s_r: tensor<f32>):
    %s_h = stablehlo.constant dense<0.5> : tensor<f32>
    %s_w = stablehlo.while(%s_k = %s_l) : tensor<f32>
    cond {
      %s_p = stablehlo.compare GT, %s_k, %s_r, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %s_p : tensor<i1>
    } do {
      %s_m = stablehlo.multiply %s_k, %s_h : tensor<f32>
      stablehlo.return %s_m : tensor<f32>
    }
    %s_t = stablehlo.compare GE, %s_w, %w_x#2, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %s_t : tensor<i1>
  }, {
  ^bb0(%t_l: tensor<f32>, %t_r: tensor<f32>):
    %t_h = stablehlo.constant dense<0.5> : tensor<f32>
    %t_w = stablehlo.while(%t_k = %t_l) : tensor<f32>
    cond {
      %t_p = stablehlo.compare GT, %t_k, %t_r, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %t_p : tensor<i1>
    } do {
      %t_m = stablehlo.multiply %t_k, %t_h : tensor<f32>
      stablehlo.return %t_m : tensor<f32>
    }
    %t_e = stablehlo.add %t_w, %t_r : tensor<f32>
    stablehlo.return %t_e : tensor<f32>
  }) : (tensor<4x3xf32>, tensor<3x2xf32>, tensor<f32>) -> tensor<4x3xf32>
  check.expect_eq_const %w_0#0, dense<[[1.0, 2.0, 6.0, 1.75, 2.0], [7.0, 1.875, 5.0, 1.609375, 2.0]]> : tensor<2x5xf32>
  check.expect_eq_const %w_0#1, dense<[[-3, -3, -2, -2, -5], [-1, -1, 1, 1, -5]]> : tensor<2x5xi32>
  check.expect_eq_const %e_0, dense<[2.0, 2.0]> : tensor<2xf32>
  check.expect_eq_const %s_0, dense<[[1.0, 1.0, 41.0], [1.0, 1.0, 3.0], [1.0, 1.0, 54.0], [1.0, 1.0, 1.0]]> : tensor<4x3xf32>
  return
}
