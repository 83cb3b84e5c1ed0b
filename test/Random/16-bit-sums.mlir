// How sums of 16-bit elements are rounded, interpreted and compiled
// (docs/Forms.md, "Precision of sums"): reductions and windows add in f32 and
// round once, scatters round after every update.

// RUN: tenon run %s --reference
// RUN: tenon run %s

func.func @main() {
  // 256 is the first bf16 that 1 does not change.
  %a = stablehlo.constant dense<256.0> : tensor<1xbf16>
  %ones = stablehlo.constant dense<1.0> : tensor<16xbf16>
  %places = stablehlo.constant dense<0> : tensor<16x1xi32>
  %zero = stablehlo.constant dense<0.0> : tensor<bf16>
  %0:4 = stablehlo.optimization_barrier %a, %ones, %places, %zero : tensor<1xbf16>, tensor<16xbf16>, tensor<16x1xi32>, tensor<bf16>

  %all = stablehlo.concatenate %0#0, %0#1, dim = 0 : (tensor<1xbf16>, tensor<16xbf16>) -> tensor<17xbf16>
  %sum = stablehlo.reduce(%all init: %0#3) applies stablehlo.add across dimensions = [0] : (tensor<17xbf16>, tensor<bf16>) -> tensor<bf16>
  check.expect_eq_const %sum, dense<272.0> : tensor<bf16>

  %window = "stablehlo.reduce_window"(%all, %0#3) <{window_dimensions = array<i64: 17>}> ({
  ^bb0(%l: tensor<bf16>, %r: tensor<bf16>):
    %s = stablehlo.add %l, %r : tensor<bf16>
    stablehlo.return %s : tensor<bf16>
  }) : (tensor<17xbf16>, tensor<bf16>) -> tensor<1xbf16>
  check.expect_eq_const %window, dense<272.0> : tensor<1xbf16>

  %scattered = "stablehlo.scatter"(%0#0, %0#2, %0#1) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%l: tensor<bf16>, %r: tensor<bf16>):
    %s = stablehlo.add %l, %r : tensor<bf16>
    stablehlo.return %s : tensor<bf16>
  }) : (tensor<1xbf16>, tensor<16x1xi32>, tensor<16xbf16>) -> tensor<1xbf16>
  check.expect_eq_const %scattered, dense<256.0> : tensor<1xbf16>

  // The largest element is in all 17 windows of 17 of 33 elements.
  %operand = stablehlo.iota dim = 0 : tensor<33xbf16>
  %middle = stablehlo.constant dense<16.0> : tensor<33xbf16>
  %distance = stablehlo.subtract %operand, %middle : tensor<33xbf16>
  %away = stablehlo.abs %distance : tensor<33xbf16>
  %peak = stablehlo.negate %away : tensor<33xbf16>
  %1 = stablehlo.optimization_barrier %peak : tensor<33xbf16>
  %selected = "stablehlo.select_and_scatter"(%1, %all, %0#3) <{window_dimensions = array<i64: 17>}> ({
  ^bb0(%l: tensor<bf16>, %r: tensor<bf16>):
    %s = stablehlo.compare GE, %l, %r : (tensor<bf16>, tensor<bf16>) -> tensor<i1>
    stablehlo.return %s : tensor<i1>
  }, {
  ^bb0(%l: tensor<bf16>, %r: tensor<bf16>):
    %s = stablehlo.add %l, %r : tensor<bf16>
    stablehlo.return %s : tensor<bf16>
  }) : (tensor<33xbf16>, tensor<17xbf16>, tensor<bf16>) -> tensor<33xbf16>
  %picked = stablehlo.slice %selected [16:17] : (tensor<33xbf16>) -> tensor<1xbf16>
  check.expect_eq_const %picked, dense<256.0> : tensor<1xbf16>
  return
}
