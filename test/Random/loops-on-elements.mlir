// Loops and operations on many elements in the regions of maps, reductions and
// sorts: interpreted and compiled results are equal.

// RUN: tenon run %s
// RUN: tenon run --reference %s

func.func @main() {
  %map_a = stablehlo.constant dense<[[1, 27, 3], [6, 7, 19]]> : tensor<2x3xi32>
  %map_x = stablehlo.optimization_barrier %map_a : tensor<2x3xi32>
  // The steps until a number is 1.
  %map_0 = "stablehlo.map"(%map_x) <{dimensions = array<i64: 0, 1>}> ({
  ^bb0(%map_n: tensor<i32>):
    %map_z = stablehlo.constant dense<0> : tensor<i32>
    %map_1 = stablehlo.constant dense<1> : tensor<i32>
    %map_2 = stablehlo.constant dense<2> : tensor<i32>
    %map_3 = stablehlo.constant dense<3> : tensor<i32>
    %map_w:2 = stablehlo.while(%map_k = %map_n, %map_s = %map_z) : tensor<i32>, tensor<i32>
    cond {
      %map_p = stablehlo.compare NE, %map_k, %map_1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %map_p : tensor<i1>
    } do {
      %map_r = stablehlo.remainder %map_k, %map_2 : tensor<i32>
      %map_odd = stablehlo.compare EQ, %map_r, %map_1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %map_next = "stablehlo.if"(%map_odd) ({
        %map_m = stablehlo.multiply %map_k, %map_3 : tensor<i32>
        %map_o = stablehlo.add %map_m, %map_1 : tensor<i32>
        stablehlo.return %map_o : tensor<i32>
      }, {
        %map_h = stablehlo.divide %map_k, %map_2 : tensor<i32>
        stablehlo.return %map_h : tensor<i32>
      }) : (tensor<i1>) -> tensor<i32>
      %map_t = stablehlo.add %map_s, %map_1 : tensor<i32>
      stablehlo.return %map_next, %map_t : tensor<i32>, tensor<i32>
    }
    stablehlo.return %map_w#1 : tensor<i32>
  }) : (tensor<2x3xi32>) -> tensor<2x3xi32>
  // The running value is halved until it is no more than the element.
  %sum_a = stablehlo.constant dense<[[[8.0, 3.0], [1.5, 9.0], [0.5, 4.0]], [[7.0, 0.1], [2.5, 6.0], [5.0, 3.3]]]> : tensor<2x3x2xf32>
  %sum_i = stablehlo.constant dense<100.0> : tensor<f32>
  %sum_x:2 = stablehlo.optimization_barrier %sum_a, %sum_i : tensor<2x3x2xf32>, tensor<f32>
  %sum_0 = "stablehlo.reduce"(%sum_x#0, %sum_x#1) <{dimensions = array<i64: 1>}> ({
  ^bb0(%sum_l: tensor<f32>, %sum_r: tensor<f32>):
    %sum_h = stablehlo.constant dense<0.5> : tensor<f32>
    %sum_w = stablehlo.while(%sum_k = %sum_l) : tensor<f32>
    cond {
      %sum_p = stablehlo.compare GT, %sum_k, %sum_r, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %sum_p : tensor<i1>
    } do {
      %sum_m = stablehlo.multiply %sum_k, %sum_h : tensor<f32>
      stablehlo.return %sum_m : tensor<f32>
    }
    %sum_e = stablehlo.add %sum_w, %sum_r : tensor<f32>
    stablehlo.return %sum_e : tensor<f32>
  }) : (tensor<2x3x2xf32>, tensor<f32>) -> tensor<2x2xf32>
  // Two results, the greatest common divisor and what came last.
  %two_a = stablehlo.constant dense<[[12, 15, 8, 14], [18, 27, 20, 21]]> : tensor<2x4xi32>
  %two_i = stablehlo.constant dense<0> : tensor<i32>
  %two_x:2 = stablehlo.optimization_barrier %two_a, %two_i : tensor<2x4xi32>, tensor<i32>
  %two_0:2 = "stablehlo.reduce"(%two_x#0, %two_x#0, %two_x#1, %two_x#1) <{dimensions = array<i64: 0>}> ({
  ^bb0(%two_l: tensor<i32>, %two_m: tensor<i32>, %two_r: tensor<i32>, %two_s: tensor<i32>):
    %two_z = stablehlo.constant dense<0> : tensor<i32>
    %two_w:2 = stablehlo.while(%two_k = %two_l, %two_n = %two_r) : tensor<i32>, tensor<i32>
    cond {
      %two_p = stablehlo.compare NE, %two_n, %two_z, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %two_p : tensor<i1>
    } do {
      %two_q = stablehlo.remainder %two_k, %two_n : tensor<i32>
      stablehlo.return %two_n, %two_q : tensor<i32>, tensor<i32>
    }
    stablehlo.return %two_w#0, %two_s : tensor<i32>, tensor<i32>
  }) : (tensor<2x4xi32>, tensor<2x4xi32>, tensor<i32>, tensor<i32>) -> (tensor<4xi32>, tensor<4xi32>)
  // By their largest odd divisor; equal ones stay in order.
  %sort_i = stablehlo.iota dim = 1 : tensor<2x4xi32>
  %sort_0:2 = "stablehlo.sort"(%two_x#0, %sort_i) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%sort_l: tensor<i32>, %sort_r: tensor<i32>, %sort_li: tensor<i32>, %sort_ri: tensor<i32>):
    %sort_2 = stablehlo.constant dense<2> : tensor<i32>
    %sort_z = stablehlo.constant dense<0> : tensor<i32>
    %sort_k = stablehlo.while(%sort_a = %sort_l) : tensor<i32>
    cond {
      %sort_m = stablehlo.remainder %sort_a, %sort_2 : tensor<i32>
      %sort_p = stablehlo.compare EQ, %sort_m, %sort_z, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %sort_p : tensor<i1>
    } do {
      %sort_h = stablehlo.divide %sort_a, %sort_2 : tensor<i32>
      stablehlo.return %sort_h : tensor<i32>
    }
    %sort_j = stablehlo.while(%sort_a = %sort_r) : tensor<i32>
    cond {
      %sort_m = stablehlo.remainder %sort_a, %sort_2 : tensor<i32>
      %sort_p = stablehlo.compare EQ, %sort_m, %sort_z, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %sort_p : tensor<i1>
    } do {
      %sort_h = stablehlo.divide %sort_a, %sort_2 : tensor<i32>
      stablehlo.return %sort_h : tensor<i32>
    }
    %sort_p = stablehlo.compare LT, %sort_k, %sort_j, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %sort_p : tensor<i1>
  }) : (tensor<2x4xi32>, tensor<2x4xi32>) -> (tensor<2x4xi32>, tensor<2x4xi32>)
  // Operations on many elements in a map: a map in a reduction.
  %inner_a = stablehlo.constant dense<[0, 3, 6]> : tensor<3xi32>
  %inner_x = stablehlo.optimization_barrier %inner_a : tensor<3xi32>
  %inner_0 = "stablehlo.map"(%inner_x) <{dimensions = array<i64: 0>}> ({
  ^bb0(%inner_n: tensor<i32>):
    %inner_z = stablehlo.constant dense<0> : tensor<i32>
    %inner_i = stablehlo.iota dim = 0 : tensor<5xi32>
    %inner_b = stablehlo.broadcast_in_dim %inner_n, dims = [] : (tensor<i32>) -> tensor<5xi32>
    %inner_m = stablehlo.minimum %inner_i, %inner_b : tensor<5xi32>
    %inner_s = "stablehlo.reduce"(%inner_m, %inner_z) <{dimensions = array<i64: 0>}> ({
    ^bb0(%inner_l: tensor<i32>, %inner_r: tensor<i32>):
      %inner_q = "stablehlo.map"(%inner_r) <{dimensions = array<i64>}> ({
      ^bb0(%inner_e: tensor<i32>):
        %inner_f = stablehlo.multiply %inner_e, %inner_n : tensor<i32>
        stablehlo.return %inner_f : tensor<i32>
      }) : (tensor<i32>) -> tensor<i32>
      %inner_t = stablehlo.add %inner_l, %inner_q : tensor<i32>
      stablehlo.return %inner_t : tensor<i32>
    }) : (tensor<5xi32>, tensor<i32>) -> tensor<i32>
    stablehlo.return %inner_s : tensor<i32>
  }) : (tensor<3xi32>) -> tensor<3xi32>
  check.expect_eq_const %map_0, dense<[[0, 111, 7], [8, 16, 20]]> : tensor<2x3xi32>
  check.expect_eq_const %sum_0, dense<[[0.798828125, 7.390625], [9.15625, 6.398828029632568]]> : tensor<2x2xf32>
  check.expect_eq_const %sort_0#0, dense<[[8, 12, 14, 15], [20, 18, 21, 27]]> : tensor<2x4xi32>
  check.expect_eq_const %sort_0#1, dense<[[2, 0, 3, 1], [2, 0, 3, 1]]> : tensor<2x4xi32>
  check.expect_eq_const %two_0#0, dense<[6, 3, 4, 7]> : tensor<4xi32>
  check.expect_eq_const %two_0#1, dense<[18, 27, 20, 21]> : tensor<4xi32>
  check.expect_eq_const %inner_0, dense<[0, 27, 60]> : tensor<3xi32>
  return
}
