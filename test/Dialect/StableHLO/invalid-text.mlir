// Texts that are no operation: each is refused where it goes wrong, with what
// was expected.

// RUN: tenon-opt --bound-text=false %s --split-input-file --verify-diagnostics

func.func @too_few_types(%a: tensor<4xf32>) {
  // expected-error @+1 {{expected 2 operand types and 1 result type, found 1 and 1}}
  %0 = stablehlo.add %a, %a : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @select_types(%p: tensor<i1>, %a: tensor<4xf32>) {
  // expected-error @+1 {{expected the predicate's type and the values' type}}
  %0 = stablehlo.select %p, %a, %a : tensor<4xf32>
  return
}

// -----

func.func @complex_type(%a: tensor<4xf32>) {
  // expected-error @+1 {{expected a tensor of complex elements, found 'tensor<4xf32>'}}
  %0 = stablehlo.complex %a, %a : tensor<4xf32>
  return
}

// -----

func.func @tuple_type(%a: tensor<4xf32>) {
  // expected-error @+1 {{expected a tuple type, found 'tensor<4xf32>'}}
  %0 = stablehlo.tuple %a : tensor<4xf32>
  return
}

// -----

func.func @format(%a: tensor<4xf32>) {
  // expected-error @+1 {{expected a format like e5m10, found 'm10e5'}}
  %0 = stablehlo.reduce_precision %a, format = m10e5 : tensor<4xf32>
  return
}

// -----

func.func @relation(%a: tensor<4xf32>) {
  // expected-error @+1 {{expected}}
  %0 = stablehlo.compare LESS, %a, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  return
}

// -----

func.func @precision(%a: tensor<4x4xf32>) {
  // expected-error @+1 {{expected DEFAULT, HIGH or HIGHEST, found 'EXACT'}}
  %0 = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0], precision = [EXACT, DEFAULT] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @no_contracting(%a: tensor<4x4xf32>) {
  // expected-error @+1 {{expected ','}}
  %0 = stablehlo.dot_general %a, %a, batching_dims = [0] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @window_member(%a: tensor<1x4x4x1xf32>) {
  // expected-error @+1 {{expected stride, pad, lhs_dilate, rhs_dilate or reverse, found 'strides'}}
  %0 = stablehlo.convolution(%a, %a) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {strides = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4x4x1xf32>, tensor<1x4x4x1xf32>) -> tensor<1x4x4x1xf32>
  return
}

// -----

func.func @window_twice(%a: tensor<1x4x4x1xf32>) {
  // expected-error @+1 {{'stride' is given twice}}
  %0 = stablehlo.convolution(%a, %a) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], stride = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4x4x1xf32>, tensor<1x4x4x1xf32>) -> tensor<1x4x4x1xf32>
  return
}

// -----

func.func @padding_row(%a: tensor<1x4x4x1xf32>) {
  // expected-error @+1 {{expected two paddings for each of 2 dimensions, found 3}}
  %0 = stablehlo.convolution(%a, %a) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4x4x1xf32>, tensor<1x4x4x1xf32>) -> tensor<1x4x4x1xf32>
  return
}

// -----

func.func @layout_letter(%a: tensor<1x4x4x1xf32>) {
  // expected-error @+1 {{expected 'b' and 'f' once each and numbers, found 'c'}}
  %0 = stablehlo.convolution(%a, %a) dim_numbers = [b, 0, 1, c]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4x4x1xf32>, tensor<1x4x4x1xf32>) -> tensor<1x4x4x1xf32>
  return
}

// -----

func.func @layout_number(%a: tensor<1x4x4x1xf32>) {
  // expected-error @+1 {{expected each spatial dimension from 0 to 1 once}}
  %0 = stablehlo.convolution(%a, %a) dim_numbers = [b, 0, 2, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4x4x1xf32>, tensor<1x4x4x1xf32>) -> tensor<1x4x4x1xf32>
  return
}

// -----

// expected-error @+1 {{unknown member 'offset', expected one of offset_dims, collapsed_slice_dims}}
func.func private @member(tensor<f32> {x.y = #stablehlo.gather<offset = [1]>})

// -----

// expected-error @+1 {{member 'index_vector_dim' is given twice}}
func.func private @member_twice(tensor<f32> {x.y = #stablehlo.scatter<index_vector_dim = 1, index_vector_dim = 1>})

// -----

// expected-error @+1 {{unknown stablehlo attribute 'nothing'}}
func.func private @unknown_attribute(tensor<f32> {x.y = #stablehlo.nothing<1>})

// -----

// expected-error @+1 {{unknown stablehlo type 'nothing'}}
func.func private @unknown_type(!stablehlo.nothing)

// -----

// expected-error @+1 {{expected a bound for each of 2 dimensions, found 1}}
func.func private @bounds(tensor<?x?xf32, #stablehlo.bounds<4>>)

// -----

// expected-error @+1 {{dimension 0 has the extent 3 and needs no bound, found 4}}
func.func private @bound_of_static(tensor<3x?xf32, #stablehlo.bounds<4, ?>>)

// -----

func.func @reduce_by_subtract(%a: tensor<4xf32>, %zero: tensor<f32>) {
  // expected-error @+1 {{expected a commutative operation of stablehlo, found 'stablehlo.subtract'}}
  %0 = stablehlo.reduce(%a init: %zero) applies stablehlo.subtract across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @reduce_two_by_name(%a: tensor<4xf32>, %zero: tensor<f32>) {
  // expected-error @+1 {{a reduction by name takes one input, found 2}}
  %0:2 = stablehlo.reduce(%a init: %zero), (%a init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
  return
}

// -----

func.func @while_types(%n: tensor<i32>) {
  // expected-error @+1 {{expected 1 types, found 2}}
  %0 = stablehlo.while(%k = %n) : tensor<i32>, tensor<i32>
    cond {
    } do {
    }
  return
}

// -----

func.func @no_elements() {
  // expected-error @+1 {{expected the elements of a tensor, found}}
  %0 = stablehlo.constant 1 : i32
  return
}

// -----

// The packing of booleans in hexadecimal changed; import recodes them.
func.func @hexadecimal_booleans() {
  // expected-error @+1 {{hex data size is invalid}}
  %0 = stablehlo.constant dense<"0x0101010101010101010101010101010101"> : tensor<17xi1>
  return
}

// -----

func.func @element_kind(%a: tensor<4xf32>) {
  // expected-error @+1 {{operand #0 must be ranked tensor of integer values, but got 'tensor<4xf32>'}}
  %0 = stablehlo.popcnt %a : tensor<4xf32>
  return
}

// -----

func.func @unranked(%a: tensor<*xf32>) {
  // expected-error @+1 {{operand #0 must be ranked tensor}}
  %0 = stablehlo.tanh %a : tensor<*xf32>
  return
}

// -----

func.func @element_width(%a: tensor<4xi7>) {
  // expected-error @+1 {{operand #0 must be ranked tensor}}
  %0 = stablehlo.add %a, %a : tensor<4xi7>
  return
}

// -----

func.func @one_type(%a: tensor<4xf32>, %b: tensor<5xf32>) {
  // expected-error @+1 {{operands 0 and 1 must have the same type, found 'tensor<4xf32>' and 'tensor<5xf32>'}}
  %0 = stablehlo.add %a, %b : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @result_type(%a: tensor<4xf32>) {
  // expected-error @+1 {{operand 0 and result 0 must have the same type, found 'tensor<4xf32>' and 'tensor<4xf64>'}}
  %0 = stablehlo.exponential %a : (tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

func.func @one_shape(%a: tensor<4xcomplex<f32>>) {
  // expected-error @+1 {{operand 0 and result 0 must have the same shape}}
  %0 = stablehlo.real %a : (tensor<4xcomplex<f32>>) -> tensor<5xf32>
  return
}

// -----

func.func @no_decomposition(%a: tensor<4xf32>) {
  // expected-error @+1 {{names the decomposition @nothing, which is no function of this module (C2)}}
  %0 = stablehlo.composite "vendor.thing" %a {decomposition = @nothing} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @other_decomposition(%a: tensor<4xf32>) {
  // expected-error @+1 {{passes ('tensor<4xf32>') to a decomposition that takes ('tensor<5xf32>') (C3)}}
  %0 = stablehlo.composite "vendor.thing" %a {decomposition = @five} : (tensor<4xf32>) -> tensor<5xf32>
  return
}
func.func private @five(tensor<5xf32>) -> tensor<5xf32>

// -----

func.func @replica_groups(%a: tensor<4xf32>) {
  // expected-error @+1 {{2-dimensional table of 64-bit device ids or mesh axes}}
  %0 = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<0> : tensor<2xi64>}> : (tensor<4xf32>) -> tensor<8xf32>
  return
}
