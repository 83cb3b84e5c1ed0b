// Every operation of the dialect, written and read back in both forms.
// RUN: tenon-opt %s | FileCheck %s
// RUN: tenon-opt %s --mlir-print-op-generic | FileCheck %s --check-prefix=GENERIC
// RUN: tenon-opt %s --mlir-print-op-generic | tenon-opt | FileCheck %s

// CHECK-LABEL: func.func @functions
// GENERIC: func.func
func.func @functions(%x: tensor<4xf32>, %h: tensor<2x?xbf16>, %c: tensor<4xcomplex<f32>>) {
  // CHECK: chlo._asin_acos_kernel %{{.*}} : tensor<4xcomplex<f32>> -> tensor<4xcomplex<f32>>
  // GENERIC: "chlo._asin_acos_kernel"(%{{.*}}) : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  %0 = chlo._asin_acos_kernel %c : tensor<4xcomplex<f32>> -> tensor<4xcomplex<f32>>
  // CHECK: chlo.acos %{{.*}} : tensor<4xf32> -> tensor<4xf32>
  %1 = chlo.acos %x : tensor<4xf32> -> tensor<4xf32>
  // CHECK: chlo.acosh %{{.*}} : tensor<2x?xbf16> -> tensor<2x?xbf16>
  %2 = chlo.acosh %h : tensor<2x?xbf16> -> tensor<2x?xbf16>
  // CHECK: chlo.asin %{{.*}} : tensor<4xcomplex<f32>> -> tensor<4xcomplex<f32>>
  %3 = chlo.asin %c : tensor<4xcomplex<f32>> -> tensor<4xcomplex<f32>>
  // CHECK: chlo.asinh %
  %4 = chlo.asinh %x : tensor<4xf32> -> tensor<4xf32>
  // CHECK: chlo.atan %
  %5 = chlo.atan %x : tensor<4xf32> -> tensor<4xf32>
  // CHECK: chlo.atanh %
  %6 = chlo.atanh %x : tensor<4xf32> -> tensor<4xf32>
  // CHECK: chlo.bessel_i1e %
  %7 = chlo.bessel_i1e %x : tensor<4xf32> -> tensor<4xf32>
  // CHECK: chlo.conj %
  %8 = chlo.conj %c : tensor<4xcomplex<f32>> -> tensor<4xcomplex<f32>>
  // CHECK: chlo.cosh %
  %9 = chlo.cosh %x : tensor<4xf32> -> tensor<4xf32>
  // CHECK: chlo.digamma %
  %10 = chlo.digamma %x : tensor<4xf32> -> tensor<4xf32>
  // CHECK: chlo.erf %
  %11 = chlo.erf %x : tensor<4xf32> -> tensor<4xf32>
  // CHECK: chlo.erf_inv %
  %12 = chlo.erf_inv %x : tensor<4xf32> -> tensor<4xf32>
  // CHECK: chlo.erfc %
  %13 = chlo.erfc %x : tensor<4xf32> -> tensor<4xf32>
  // CHECK: chlo.is_inf %{{.*}} : tensor<4xf32> -> tensor<4xi1>
  %14 = chlo.is_inf %x : tensor<4xf32> -> tensor<4xi1>
  // CHECK: chlo.is_neg_inf %
  %15 = chlo.is_neg_inf %x : tensor<4xf32> -> tensor<4xi1>
  // CHECK: chlo.is_pos_inf %
  %16 = chlo.is_pos_inf %x : tensor<4xf32> -> tensor<4xi1>
  // CHECK: chlo.lgamma %
  %17 = chlo.lgamma %x : tensor<4xf32> -> tensor<4xf32>
  // CHECK: chlo.sinh %
  %18 = chlo.sinh %x : tensor<4xf32> -> tensor<4xf32>
  // CHECK: chlo.square %{{.*}} {mhlo.note = "kept"} : tensor<4xf32> -> tensor<4xf32>
  // GENERIC: "chlo.square"(%{{.*}}) {mhlo.note = "kept"} : (tensor<4xf32>) -> tensor<4xf32>
  %19 = chlo.square %x {mhlo.note = "kept"} : tensor<4xf32> -> tensor<4xf32>
  // CHECK: chlo.tan %
  %20 = chlo.tan %x : tensor<4xf32> -> tensor<4xf32>
  return
}

// CHECK-LABEL: func.func @pairs
func.func @pairs(%x: tensor<4xf32>, %i: tensor<4xui32>) {
  // CHECK: chlo.mulhi %{{.*}}, %{{.*}} : tensor<4xui32>, tensor<4xui32> -> tensor<4xui32>
  %0 = chlo.mulhi %i, %i : tensor<4xui32>, tensor<4xui32> -> tensor<4xui32>
  // CHECK: chlo.next_after %{{.*}}, %{{.*}} : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  %1 = chlo.next_after %x, %x : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  // CHECK: chlo.polygamma %
  %2 = chlo.polygamma %x, %x : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  // CHECK: chlo.zeta %
  %3 = chlo.zeta %x, %x : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  return
}

// CHECK-LABEL: func.func @broadcasts
func.func @broadcasts(%x: tensor<4xf32>, %y: tensor<3x1xf32>, %i: tensor<4xi32>, %j: tensor<4x3xi32>, %p: tensor<i1>) {
  // CHECK: chlo.broadcast_add %{{.*}}, %{{.*}} : (tensor<4xf32>, tensor<3x1xf32>) -> tensor<3x4xf32>
  // GENERIC: "chlo.broadcast_add"(%{{.*}}, %{{.*}}) : (tensor<4xf32>, tensor<3x1xf32>) -> tensor<3x4xf32>
  %0 = chlo.broadcast_add %x, %y : (tensor<4xf32>, tensor<3x1xf32>) -> tensor<3x4xf32>
  // CHECK: chlo.broadcast_and %{{.*}}, %{{.*}} {broadcast_dimensions = array<i64: 0>} : (tensor<4xi32>, tensor<4x3xi32>) -> tensor<4x3xi32>
  // GENERIC: "chlo.broadcast_and"(%{{.*}}, %{{.*}}) <{broadcast_dimensions = array<i64: 0>}>
  %1 = chlo.broadcast_and %i, %j {broadcast_dimensions = array<i64: 0>} : (tensor<4xi32>, tensor<4x3xi32>) -> tensor<4x3xi32>
  // CHECK: chlo.broadcast_atan2 %
  %2 = chlo.broadcast_atan2 %x, %y : (tensor<4xf32>, tensor<3x1xf32>) -> tensor<3x4xf32>
  // CHECK: chlo.broadcast_compare %{{.*}}, %{{.*}} {compare_type = #chlo<comparison_type FLOAT>, comparison_direction = #chlo<comparison_direction GE>} : (tensor<4xf32>, tensor<3x1xf32>) -> tensor<3x4xi1>
  %3 = chlo.broadcast_compare %x, %y {comparison_direction = #chlo<comparison_direction GE>, compare_type = #chlo<comparison_type FLOAT>} : (tensor<4xf32>, tensor<3x1xf32>) -> tensor<3x4xi1>
  // CHECK: chlo.broadcast_complex %{{.*}}, %{{.*}} : (tensor<4xf32>, tensor<3x1xf32>) -> tensor<3x4xcomplex<f32>>
  %4 = chlo.broadcast_complex %x, %y : (tensor<4xf32>, tensor<3x1xf32>) -> tensor<3x4xcomplex<f32>>
  // CHECK: chlo.broadcast_divide %
  %5 = chlo.broadcast_divide %x, %y : (tensor<4xf32>, tensor<3x1xf32>) -> tensor<3x4xf32>
  // CHECK: chlo.broadcast_maximum %
  %6 = chlo.broadcast_maximum %x, %y : (tensor<4xf32>, tensor<3x1xf32>) -> tensor<3x4xf32>
  // CHECK: chlo.broadcast_minimum %
  %7 = chlo.broadcast_minimum %x, %y : (tensor<4xf32>, tensor<3x1xf32>) -> tensor<3x4xf32>
  // CHECK: chlo.broadcast_multiply %
  %8 = chlo.broadcast_multiply %x, %y : (tensor<4xf32>, tensor<3x1xf32>) -> tensor<3x4xf32>
  // CHECK: chlo.broadcast_next_after %
  %9 = chlo.broadcast_next_after %x, %y : (tensor<4xf32>, tensor<3x1xf32>) -> tensor<3x4xf32>
  // CHECK: chlo.broadcast_or %
  %10 = chlo.broadcast_or %i, %i : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  // CHECK: chlo.broadcast_polygamma %
  %11 = chlo.broadcast_polygamma %x, %y : (tensor<4xf32>, tensor<3x1xf32>) -> tensor<3x4xf32>
  // CHECK: chlo.broadcast_power %
  %12 = chlo.broadcast_power %x, %y : (tensor<4xf32>, tensor<3x1xf32>) -> tensor<3x4xf32>
  // CHECK: chlo.broadcast_remainder %
  %13 = chlo.broadcast_remainder %x, %y : (tensor<4xf32>, tensor<3x1xf32>) -> tensor<3x4xf32>
  // CHECK: chlo.broadcast_select %{{.*}}, %{{.*}}, %{{.*}} : (tensor<i1>, tensor<4xf32>, tensor<3x1xf32>) -> tensor<3x4xf32>
  %14 = chlo.broadcast_select %p, %x, %y : (tensor<i1>, tensor<4xf32>, tensor<3x1xf32>) -> tensor<3x4xf32>
  // CHECK: chlo.broadcast_shift_left %
  %15 = chlo.broadcast_shift_left %i, %i : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  // CHECK: chlo.broadcast_shift_right_arithmetic %
  %16 = chlo.broadcast_shift_right_arithmetic %i, %i : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  // CHECK: chlo.broadcast_shift_right_logical %
  %17 = chlo.broadcast_shift_right_logical %i, %i : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  // CHECK: chlo.broadcast_subtract %
  %18 = chlo.broadcast_subtract %x, %y : (tensor<4xf32>, tensor<3x1xf32>) -> tensor<3x4xf32>
  // CHECK: chlo.broadcast_xor %
  %19 = chlo.broadcast_xor %i, %i : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  // CHECK: chlo.broadcast_zeta %
  %20 = chlo.broadcast_zeta %x, %y : (tensor<4xf32>, tensor<3x1xf32>) -> tensor<3x4xf32>
  return
}

// CHECK-LABEL: func.func @constants
func.func @constants(%x: tensor<?xf32>) -> tensor<?xf32> {
  // CHECK: chlo.constant dense<[1, 2]> : tensor<2xi32>
  // GENERIC: "chlo.constant"() <{value = dense<[1, 2]> : tensor<2xi32>}> : () -> tensor<2xi32>
  %0 = chlo.constant dense<[1, 2]> : tensor<2xi32>
  // CHECK: chlo.constant {note = 1 : i32} dense<true> : tensor<i1>
  %1 = chlo.constant {note = 1 : i32} dense<true> : tensor<i1>
  // CHECK: "chlo.constant_like"(%{{.*}}) <{value = 1.000000e+00 : f32}> : (tensor<?xf32>) -> tensor<?xf32>
  %2 = "chlo.constant_like"(%x) <{value = 1.0 : f32}> : (tensor<?xf32>) -> tensor<?xf32>
  // Inherent attributes are also read from the dictionary of older texts.
  // CHECK: "chlo.constant_like"(%{{.*}}) <{value = 2 : i8}> : (tensor<?xf32>) -> tensor<?xi8>
  %3 = "chlo.constant_like"(%x) {value = 2 : i8} : (tensor<?xf32>) -> tensor<?xi8>
  return %2 : tensor<?xf32>
}

// CHECK-LABEL: func.func @large
func.func @large(%x: tensor<2x9xf32>, %l: tensor<6x4xf32>, %r: tensor<2x4x5xf32>, %n: tensor<2xi32>, %c: tensor<2xf32>) {
  // CHECK: %{{.*}}, %{{.*}} = chlo.top_k(%{{.*}}, k = 3) : tensor<2x9xf32> -> (tensor<2x3xf32>, tensor<2x3xi32>)
  // GENERIC: "chlo.top_k"(%{{.*}}) <{k = 3 : i64}> : (tensor<2x9xf32>) -> (tensor<2x3xf32>, tensor<2x3xi32>)
  %values, %indices = chlo.top_k(%x, k = 3) : tensor<2x9xf32> -> (tensor<2x3xf32>, tensor<2x3xi32>)
  // CHECK: chlo.top_k(%{{.*}}, k = 9, is_stable = true) {note} : tensor<2x9xf32> -> (tensor<2x9xf32>, tensor<2x9xi32>)
  %0:2 = chlo.top_k(%x, k = 9, is_stable = true) {note} : tensor<2x9xf32> -> (tensor<2x9xf32>, tensor<2x9xi32>)
  // CHECK: "chlo.ragged_dot"(%{{.*}}, %{{.*}}, %{{.*}}) <{precision_config = [#chlo<precision DEFAULT>, #chlo<precision HIGHEST>], ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<6x4xf32>, tensor<2x4x5xf32>, tensor<2xi32>) -> tensor<6x5xf32>
  %1 = "chlo.ragged_dot"(%l, %r, %n) <{precision_config = [#chlo<precision DEFAULT>, #chlo<precision HIGHEST>], ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<6x4xf32>, tensor<2x4x5xf32>, tensor<2xi32>) -> tensor<6x5xf32>
  // CHECK: "chlo.scan"(%{{.*}}, %{{.*}}) <{dimension = 1 : i64, is_associative = true, is_reverse = true, operandSegmentSizes = array<i32: 1, 1>, resultSegmentSizes = array<i32: 1, 1>}> ({
  // CHECK: ^bb0(%{{.*}}: tensor<2xf32>, %{{.*}}: tensor<2xf32>):
  %2:2 = "chlo.scan"(%x, %c) <{dimension = 1 : i64, is_reverse = true, is_associative = true, operandSegmentSizes = array<i32: 1, 1>, resultSegmentSizes = array<i32: 1, 1>}> ({
  ^bb0(%slice: tensor<2xf32>, %carry: tensor<2xf32>):
    %s = stablehlo.add %slice, %carry : tensor<2xf32>
    stablehlo.return %s, %s : tensor<2xf32>, tensor<2xf32>
  }) : (tensor<2x9xf32>, tensor<2xf32>) -> (tensor<2x9xf32>, tensor<2xf32>)
  return
}

// The three kinds of ragged dimension, with batching: free, contracted, batching.
// CHECK-LABEL: func.func @ragged_modes
func.func @ragged_modes(%l: tensor<3x6x4xf32>, %g: tensor<2x3x4x5xf32>, %r: tensor<3x4x5xf32>, %bg: tensor<3x2xi32>, %n: tensor<2xi32>) {
  %0 = "chlo.ragged_dot"(%l, %g, %bg) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [1], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [2], lhs_ragged_dimensions = [1], rhs_group_dimensions = [0]>}> : (tensor<3x6x4xf32>, tensor<2x3x4x5xf32>, tensor<3x2xi32>) -> tensor<3x6x5xf32>
  %1 = "chlo.ragged_dot"(%l, %r, %bg) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [2]>}> : (tensor<3x6x4xf32>, tensor<3x4x5xf32>, tensor<3x2xi32>) -> tensor<2x3x6x5xf32>
  %2 = "chlo.ragged_dot"(%l, %r, %n) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0]>}> : (tensor<3x6x4xf32>, tensor<3x4x5xf32>, tensor<2xi32>) -> tensor<3x6x5xf32>
  // CHECK-COUNT-3: "chlo.ragged_dot"
  return
}
