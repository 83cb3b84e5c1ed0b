// Loops in the regions of maps, reductions, sorts and scatters on elements of
// all kinds, and where there is nothing to combine.

// RUN: tenon run %s
// RUN: tenon run --reference %s

func.func @main() {
  %c_a = stablehlo.constant dense<[(1.0, 2.0), (0.5, 3.0), (1.0, -2.0)]> : tensor<3xcomplex<f32>>
  %b_a = stablehlo.constant dense<[1.0, 300.0, 0.01]> : tensor<3xbf16>
  %i_a = stablehlo.constant dense<[1, -3, 5, 7]> : tensor<4xi4>
  %p_a = stablehlo.constant dense<[true, false, true]> : tensor<3xi1>
  %e_a = stablehlo.constant dense<> : tensor<0xf32>
  %f_a = stablehlo.constant dense<[1.0, 2.0, 0.5]> : tensor<3xf8E4M3FN>
  %z = stablehlo.constant dense<0.0> : tensor<bf16>
  %zd = stablehlo.constant dense<0.5> : tensor<f64>
  %x:6 = stablehlo.optimization_barrier %c_a, %b_a, %i_a, %p_a, %f_a, %zd: tensor<3xcomplex<f32>>, tensor<3xbf16>, tensor<4xi4>, tensor<3xi1>, tensor<3xf8E4M3FN>, tensor<f64>
  %c_0 = "stablehlo.map"(%x#0) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<complex<f32>>):
    %n = stablehlo.constant dense<3> : tensor<i32>
    %o = stablehlo.constant dense<1> : tensor<i32>
    %w:2 = stablehlo.while(%k = %n, %v = %a) : tensor<i32>, tensor<complex<f32>>
    cond {
      %q = stablehlo.compare GT, %k, %o, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %q : tensor<i1>
    } do {
      %m = stablehlo.multiply %v, %a : tensor<complex<f32>>
      %s = stablehlo.subtract %k, %o : tensor<i32>
      stablehlo.return %s, %m : tensor<i32>, tensor<complex<f32>>
    }
    stablehlo.return %w#1 : tensor<complex<f32>>
  }) : (tensor<3xcomplex<f32>>) -> tensor<3xcomplex<f32>>
  %b_0 = "stablehlo.reduce"(%x#1, %z) <{dimensions = array<i64: 0>}> ({
  ^bb0(%l: tensor<bf16>, %r: tensor<bf16>):
    %w = stablehlo.while(%k = %l) : tensor<bf16>
    cond {
      %q = stablehlo.compare GT, %k, %r, FLOAT : (tensor<bf16>, tensor<bf16>) -> tensor<i1>
      stablehlo.return %q : tensor<i1>
    } do {
      %h = stablehlo.constant dense<0.5> : tensor<bf16>
      %m = stablehlo.multiply %k, %h : tensor<bf16>
      stablehlo.return %m : tensor<bf16>
    }
    %s = stablehlo.add %w, %r : tensor<bf16>
    stablehlo.return %s : tensor<bf16>
  }) : (tensor<3xbf16>, tensor<bf16>) -> tensor<bf16>
  %i_0 = "stablehlo.sort"(%x#2) <{dimension = 0 : i64}> ({
  ^bb0(%l: tensor<i4>, %r: tensor<i4>):
    %w = stablehlo.while(%k = %l) : tensor<i4>
    cond {
      %q = stablehlo.compare GT, %k, %r, SIGNED : (tensor<i4>, tensor<i4>) -> tensor<i1>
      stablehlo.return %q : tensor<i1>
    } do {
      %h = stablehlo.constant dense<2> : tensor<i4>
      %m = stablehlo.subtract %k, %h : tensor<i4>
      stablehlo.return %m : tensor<i4>
    }
    %s = stablehlo.compare EQ, %w, %r, SIGNED : (tensor<i4>, tensor<i4>) -> tensor<i1>
    stablehlo.return %s : tensor<i1>
  }) : (tensor<4xi4>) -> tensor<4xi4>
  %p_0 = "stablehlo.map"(%x#3) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<i1>):
    %w = stablehlo.while(%k = %a) : tensor<i1>
    cond {
      stablehlo.return %k : tensor<i1>
    } do {
      %n = stablehlo.not %k : tensor<i1>
      stablehlo.return %n : tensor<i1>
    }
    %s = stablehlo.xor %w, %a : tensor<i1>
    stablehlo.return %s : tensor<i1>
  }) : (tensor<3xi1>) -> tensor<3xi1>
  %e_0 = "stablehlo.map"(%e_a) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<f32>):
    %w = stablehlo.while(%k = %a) : tensor<f32>
    cond {
      %q = stablehlo.compare GT, %k, %a, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %q : tensor<i1>
    } do {
      stablehlo.return %k : tensor<f32>
    }
    stablehlo.return %w : tensor<f32>
  }) : (tensor<0xf32>) -> tensor<0xf32>
  %f_0 = "stablehlo.map"(%x#4) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<f8E4M3FN>):
    %b = stablehlo.broadcast_in_dim %a, dims = [] : (tensor<f8E4M3FN>) -> tensor<3xf8E4M3FN>
    %c = stablehlo.add %b, %b : tensor<3xf8E4M3FN>
    %d = stablehlo.slice %c [1:2] : (tensor<3xf8E4M3FN>) -> tensor<1xf8E4M3FN>
    %e = stablehlo.reshape %d : (tensor<1xf8E4M3FN>) -> tensor<f8E4M3FN>
    stablehlo.return %e : tensor<f8E4M3FN>
  }) : (tensor<3xf8E4M3FN>) -> tensor<3xf8E4M3FN>
  %zi = stablehlo.constant dense<0.5> : tensor<f32>
  %ff = stablehlo.constant dense<[1.0, 2.0, 0.5]> : tensor<3xf32>
  %g = "stablehlo.reduce"(%ff, %zi) <{dimensions = array<i64: 0>}> ({
  ^bb0(%l: tensor<f64>, %r: tensor<f64>):
    %w = stablehlo.while(%k = %l) : tensor<f64>
    cond {
      %q = stablehlo.compare GT, %k, %r, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      stablehlo.return %q : tensor<i1>
    } do {
      %m = stablehlo.multiply %k, %x#5 : tensor<f64>
      stablehlo.return %m : tensor<f64>
    }
    %s = stablehlo.add %w, %r : tensor<f64>
    stablehlo.return %s : tensor<f64>
  }) : (tensor<3xf32>, tensor<f32>) -> tensor<f64>
  %ei = stablehlo.constant dense<> : tensor<0x1xi32>
  %eu = stablehlo.constant dense<> : tensor<0xf32>
  %one = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %h = "stablehlo.scatter"(%one, %ei, %eu) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %b = stablehlo.broadcast_in_dim %l, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %d = stablehlo.slice %b [1:2] : (tensor<3xf32>) -> tensor<1xf32>
    %e = stablehlo.reshape %d : (tensor<1xf32>) -> tensor<f32>
    stablehlo.return %e : tensor<f32>
  }) : (tensor<2xf32>, tensor<0x1xi32>, tensor<0xf32>) -> tensor<2xf32>
  %em = stablehlo.constant dense<> : tensor<0x3xf32>
  %es = "stablehlo.sort"(%em) <{dimension = 0 : i64}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %b = stablehlo.broadcast_in_dim %l, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %d = stablehlo.slice %b [1:2] : (tensor<3xf32>) -> tensor<1xf32>
    %e = stablehlo.reshape %d : (tensor<1xf32>) -> tensor<f32>
    %s = stablehlo.compare LT, %e, %r, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %s : tensor<i1>
  }) : (tensor<0x3xf32>) -> tensor<0x3xf32>
  %er = "stablehlo.reduce"(%em, %zi) <{dimensions = array<i64: 0, 1>}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %b = stablehlo.broadcast_in_dim %l, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %d = stablehlo.slice %b [1:2] : (tensor<3xf32>) -> tensor<1xf32>
    %e = stablehlo.reshape %d : (tensor<1xf32>) -> tensor<f32>
    stablehlo.return %e : tensor<f32>
  }) : (tensor<0x3xf32>, tensor<f32>) -> tensor<f32>
  check.expect_eq_const %c_0, dense<[(-11.0, -2.0), (-13.375, -24.75), (-11.0, 2.0)]> : tensor<3xcomplex<f32>>
  check.expect_eq_const %b_0, dense<0.0191650390625> : tensor<bf16>
  check.expect_eq_const %i_0, dense<[7, 5, 1, -3]> : tensor<4xi4>
  check.expect_eq_const %p_0, dense<[true, false, true]> : tensor<3xi1>
  check.expect_eq_const %e_0, dense<> : tensor<0xf32>
  check.expect_eq_const %f_0, dense<[2.0, 4.0, 1.0]> : tensor<3xf8E4M3FN>
  check.expect_eq_const %g, dense<0.9375> : tensor<f64>
  check.expect_eq_const %h, dense<[1.0, 2.0]> : tensor<2xf32>
  check.expect_eq_const %es, dense<> : tensor<0x3xf32>
  check.expect_eq_const %er, dense<0.5> : tensor<f32>
  return
}
