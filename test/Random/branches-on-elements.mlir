// Branches in the regions of maps, windows, sorts and scatters, and complex
// elements that are clamped and sorted: interpreted and compiled results are
// equal, or within the bounds.

// RUN: TenonRandom check %s | FileCheck %s
// RUN: TenonRandom check %s --fuse=false | FileCheck %s
// CHECK: 0 differences

func.func @main() -> (tensor<4x5xf32>, tensor<3x4xf32>, tensor<3x4xi32>, tensor<4x6xf32>, tensor<6xf32>, tensor<5xf32>, tensor<6xcomplex<f32>>, tensor<6xcomplex<f32>>, tensor<6xi32>, tensor<2x2xcomplex<f64>>, tensor<3xcomplex<f32>>) {
  %map_a = stablehlo.iota dim = 1 : tensor<4x5xf32>
  %map_b = stablehlo.constant dense<2.0> : tensor<4x5xf32>
  %map_x:2 = stablehlo.optimization_barrier %map_a, %map_b : tensor<4x5xf32>, tensor<4x5xf32>
  %map_0 = "stablehlo.map"(%map_x#0, %map_x#1) <{dimensions = array<i64: 0, 1>}> ({
  ^bb0(%map_l: tensor<f32>, %map_r: tensor<f32>):
    %map_p = stablehlo.compare GT, %map_l, %map_r : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %map_c = "stablehlo.if"(%map_p) ({
      %map_m = stablehlo.multiply %map_l, %map_r : tensor<f32>
      stablehlo.return %map_m : tensor<f32>
    }, {
      %map_m = stablehlo.add %map_l, %map_r : tensor<f32>
      stablehlo.return %map_m : tensor<f32>
    }) : (tensor<i1>) -> tensor<f32>
    stablehlo.return %map_c : tensor<f32>
  }) : (tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<4x5xf32>
  %window_a = stablehlo.iota dim = 1 : tensor<4x5xf32>
  %window_i = stablehlo.iota dim = 0 : tensor<4x5xi32>
  %window_z = stablehlo.constant dense<0.0> : tensor<f32>
  %window_k = stablehlo.constant dense<0> : tensor<i32>
  %window_x:2 = stablehlo.optimization_barrier %window_a, %window_i : tensor<4x5xf32>, tensor<4x5xi32>
  %window_0:2 = "stablehlo.reduce_window"(%window_x#0, %window_x#1, %window_z, %window_k) <{window_dimensions = array<i64: 2, 2>}> ({
  ^bb0(%window_l: tensor<f32>, %window_li: tensor<i32>, %window_r: tensor<f32>, %window_ri: tensor<i32>):
    %window_p = stablehlo.compare LT, %window_l, %window_r : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %window_c:2 = "stablehlo.if"(%window_p) ({
      %window_m = stablehlo.multiply %window_l, %window_r : tensor<f32>
      stablehlo.return %window_m, %window_li : tensor<f32>, tensor<i32>
    }, {
      %window_m = stablehlo.subtract %window_l, %window_r : tensor<f32>
      %window_e = stablehlo.cosine %window_m : tensor<f32>
      stablehlo.return %window_e, %window_ri : tensor<f32>, tensor<i32>
    }) : (tensor<i1>) -> (tensor<f32>, tensor<i32>)
    stablehlo.return %window_c#0, %window_c#1 : tensor<f32>, tensor<i32>
  }) : (tensor<4x5xf32>, tensor<4x5xi32>, tensor<f32>, tensor<i32>) -> (tensor<3x4xf32>, tensor<3x4xi32>)
  %pooled_a = stablehlo.iota dim = 1 : tensor<4x6xf32>
  %pooled_s = stablehlo.iota dim = 1 : tensor<2x3xf32>
  %pooled_z = stablehlo.constant dense<1.0> : tensor<f32>
  %pooled_x:3 = stablehlo.optimization_barrier %pooled_a, %pooled_s, %pooled_z : tensor<4x6xf32>, tensor<2x3xf32>, tensor<f32>
  %pooled_0 = "stablehlo.select_and_scatter"(%pooled_x#0, %pooled_x#1, %pooled_x#2) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>}> ({
  ^bb0(%pooled_l: tensor<f32>, %pooled_r: tensor<f32>):
    %pooled_c = stablehlo.sine %pooled_l : tensor<f32>
    %pooled_p = stablehlo.compare LE, %pooled_c, %pooled_r : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %pooled_q = "stablehlo.if"(%pooled_p) ({
      %pooled_t = stablehlo.compare NE, %pooled_l, %pooled_r : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %pooled_t : tensor<i1>
    }, {
      stablehlo.return %pooled_p : tensor<i1>
    }) : (tensor<i1>) -> tensor<i1>
    stablehlo.return %pooled_q : tensor<i1>
  }, {
  ^bb0(%pooled_l: tensor<f32>, %pooled_r: tensor<f32>):
    %pooled_m = stablehlo.maximum %pooled_l, %pooled_r : tensor<f32>
    %pooled_n = stablehlo.multiply %pooled_m, %pooled_r : tensor<f32>
    stablehlo.return %pooled_n : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<2x3xf32>, tensor<f32>) -> tensor<4x6xf32>
  %sorted_a = stablehlo.constant dense<[1.0, 5.0, -2.0, 8.0, 3.0, 3.5]> : tensor<6xf32>
  %sorted_x = stablehlo.optimization_barrier %sorted_a : tensor<6xf32>
  %sorted_1 = "stablehlo.sort"(%sorted_x) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%sorted_l: tensor<f32>, %sorted_r: tensor<f32>):
    %sorted_z = stablehlo.constant dense<2.0> : tensor<f32>
    %sorted_q = stablehlo.compare LT, %sorted_l, %sorted_z : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %sorted_k = "stablehlo.if"(%sorted_q) ({
      %sorted_t = stablehlo.negate %sorted_l : tensor<f32>
      stablehlo.return %sorted_t : tensor<f32>
    }, {
      stablehlo.return %sorted_l : tensor<f32>
    }) : (tensor<i1>) -> tensor<f32>
    %sorted_w = stablehlo.compare LT, %sorted_r, %sorted_z : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %sorted_j = "stablehlo.if"(%sorted_w) ({
      %sorted_t = stablehlo.negate %sorted_r : tensor<f32>
      stablehlo.return %sorted_t : tensor<f32>
    }, {
      stablehlo.return %sorted_r : tensor<f32>
    }) : (tensor<i1>) -> tensor<f32>
    %sorted_p = stablehlo.compare LT, %sorted_k, %sorted_j : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %sorted_p : tensor<i1>
  }) : (tensor<6xf32>) -> tensor<6xf32>
  %scattered_a = stablehlo.iota dim = 0 : tensor<5xf32>
  %scattered_i = stablehlo.constant dense<[[1], [3], [1]]> : tensor<3x1xi32>
  %scattered_u = stablehlo.constant dense<[2.0, 5.0, 7.0]> : tensor<3xf32>
  %scattered_x:3 = stablehlo.optimization_barrier %scattered_a, %scattered_i, %scattered_u : tensor<5xf32>, tensor<3x1xi32>, tensor<3xf32>
  %scattered_0 = "stablehlo.scatter"(%scattered_x#0, %scattered_x#1, %scattered_x#2) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%scattered_l: tensor<f32>, %scattered_r: tensor<f32>):
    %scattered_q = stablehlo.compare LT, %scattered_l, %scattered_r : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %scattered_i1 = stablehlo.convert %scattered_q : (tensor<i1>) -> tensor<i32>
    %scattered_p = "stablehlo.case"(%scattered_i1) ({
      %scattered_t = stablehlo.subtract %scattered_l, %scattered_r : tensor<f32>
      stablehlo.return %scattered_t : tensor<f32>
    }, {
      stablehlo.return %scattered_r : tensor<f32>
    }) : (tensor<i32>) -> tensor<f32>
    stablehlo.return %scattered_p : tensor<f32>
  }) : (tensor<5xf32>, tensor<3x1xi32>, tensor<3xf32>) -> tensor<5xf32>
  %complex_a = stablehlo.constant dense<[(1.0, 2.0), (0.5, 3.0), (1.0, -2.0), (-1.0, 0.0), (7.0, 1.0), (0.5, -3.0)]> : tensor<6xcomplex<f32>>
  %complex_i = stablehlo.iota dim = 0 : tensor<6xi32>
  %complex_lo = stablehlo.constant dense<(0.0, 0.0)> : tensor<complex<f32>>
  %complex_hi = stablehlo.constant dense<(2.0, 0.0)> : tensor<complex<f32>>
  %complex_m = stablehlo.constant dense<[[(1.0, 2.0), (0.5, 3.0)], [(1.0, -2.0), (-1.0, 0.0)]]> : tensor<2x2xcomplex<f64>>
  %complex_x:3 = stablehlo.optimization_barrier %complex_a, %complex_i, %complex_m : tensor<6xcomplex<f32>>, tensor<6xi32>, tensor<2x2xcomplex<f64>>
  %complex_0 = stablehlo.clamp %complex_lo, %complex_x#0, %complex_hi : (tensor<complex<f32>>, tensor<6xcomplex<f32>>, tensor<complex<f32>>) -> tensor<6xcomplex<f32>>
  %complex_1:2 = "stablehlo.sort"(%complex_x#0, %complex_x#1) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%complex_l: tensor<complex<f32>>, %complex_r: tensor<complex<f32>>, %complex_li: tensor<i32>, %complex_ri: tensor<i32>):
    %complex_lr = stablehlo.real %complex_l : (tensor<complex<f32>>) -> tensor<f32>
    %complex_rr = stablehlo.real %complex_r : (tensor<complex<f32>>) -> tensor<f32>
    %complex_p = stablehlo.compare LT, %complex_lr, %complex_rr : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %complex_p : tensor<i1>
  }) : (tensor<6xcomplex<f32>>, tensor<6xi32>) -> (tensor<6xcomplex<f32>>, tensor<6xi32>)
  %complex_2 = "stablehlo.sort"(%complex_x#2) <{dimension = 1 : i64}> ({
  ^bb0(%complex_l: tensor<complex<f64>>, %complex_r: tensor<complex<f64>>):
    %complex_lr = stablehlo.imag %complex_l : (tensor<complex<f64>>) -> tensor<f64>
    %complex_rr = stablehlo.imag %complex_r : (tensor<complex<f64>>) -> tensor<f64>
    %complex_p = stablehlo.compare GT, %complex_lr, %complex_rr : (tensor<f64>, tensor<f64>) -> tensor<i1>
    stablehlo.return %complex_p : tensor<i1>
  }) : (tensor<2x2xcomplex<f64>>) -> tensor<2x2xcomplex<f64>>
  %complex_3 = stablehlo.reverse %complex_x#0, dims = [0] : tensor<6xcomplex<f32>>
  %complex_4 = stablehlo.slice %complex_3 [0:3] : (tensor<6xcomplex<f32>>) -> tensor<3xcomplex<f32>>
  return %map_0, %window_0#0, %window_0#1, %pooled_0, %sorted_1, %scattered_0, %complex_0, %complex_1#0, %complex_1#1, %complex_2, %complex_4 : tensor<4x5xf32>, tensor<3x4xf32>, tensor<3x4xi32>, tensor<4x6xf32>, tensor<6xf32>, tensor<5xf32>, tensor<6xcomplex<f32>>, tensor<6xcomplex<f32>>, tensor<6xi32>, tensor<2x2xcomplex<f64>>, tensor<3xcomplex<f32>>
}
