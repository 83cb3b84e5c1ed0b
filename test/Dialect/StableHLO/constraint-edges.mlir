// What the verifiers accept at the edges of their constraints: dynamic and empty
// dimensions, wider accumulators, padded groups, dilated and negative windows.
// RUN: tenon-opt --bound-text=false %s | tenon-opt --bound-text=false | FileCheck %s

// CHECK-LABEL: func.func @dynamic
func.func @dynamic(%a: tensor<?x3xf32>, %b: tensor<3x?xf32>, %i: tensor<i32>, %u: tensor<?x?xf32>) {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  // CHECK: stablehlo.dot_general
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<?x3xf32>, tensor<3x?xf32>) -> tensor<5x?xf32>
  %1 = stablehlo.transpose %a, dims = [1, 0] : (tensor<?x3xf32>) -> tensor<3x?xf32>
  %2 = stablehlo.reshape %a : (tensor<?x3xf32>) -> tensor<?xf32>
  %3 = stablehlo.slice %a [0:9, 1:3] : (tensor<?x3xf32>) -> tensor<9x2xf32>
  %4 = "stablehlo.pad"(%a, %c) <{edge_padding_low = array<i64: 1, 0>, edge_padding_high = array<i64: 0, 2>, interior_padding = array<i64: 0, 0>}> : (tensor<?x3xf32>, tensor<f32>) -> tensor<?x5xf32>
  %5 = "stablehlo.concatenate"(%a, %a) <{dimension = 0 : i64}> : (tensor<?x3xf32>, tensor<?x3xf32>) -> tensor<7x3xf32>
  %6 = "stablehlo.dynamic_update_slice"(%a, %u, %i, %i) : (tensor<?x3xf32>, tensor<?x?xf32>, tensor<i32>, tensor<i32>) -> tensor<?x3xf32>
  %7 = "stablehlo.reduce_window"(%a, %c) <{window_dimensions = array<i64: 2, 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %x : tensor<f32>
  }) : (tensor<?x3xf32>, tensor<f32>) -> tensor<?x2xf32>
  %j = stablehlo.iota dim = 0 : tensor<?x1xi32>
  %8 = "stablehlo.gather"(%a, %j) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>}> : (tensor<?x3xf32>, tensor<?x1xi32>) -> tensor<?x3xf32>
  return
}

// CHECK-LABEL: func.func @empty
func.func @empty(%a: tensor<0x3xf32>, %b: tensor<3x9223372036854775807x0xf32>) {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reshape %a : (tensor<0x3xf32>) -> tensor<7x0x2xf32>
  // An empty tensor has no bytes, however large its other dimensions.
  %1 = stablehlo.reshape %b : (tensor<3x9223372036854775807x0xf32>) -> tensor<0xf32>
  %2 = "stablehlo.pad"(%a, %c) <{edge_padding_low = array<i64: 1, -1>, edge_padding_high = array<i64: 1, -2>, interior_padding = array<i64: 5, 0>}> : (tensor<0x3xf32>, tensor<f32>) -> tensor<2x0xf32>
  // A window larger than its padded operand has no position.
  // CHECK: "stablehlo.reduce_window"
  %3 = "stablehlo.reduce_window"(%a, %c) <{window_dimensions = array<i64: 2, 2>, padding = dense<[[0, 0], [-1, -1]]> : tensor<2x2xi64>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %x : tensor<f32>
  }) : (tensor<0x3xf32>, tensor<f32>) -> tensor<0x0xf32>
  %4 = stablehlo.slice %a [0:0, 3:3] : (tensor<0x3xf32>) -> tensor<0x0xf32>
  return
}

// CHECK-LABEL: func.func @promotion
func.func @promotion(%a: tensor<4x6xbf16>, %c: tensor<bf16>, %i: tensor<4xi8>, %z: tensor<i8>) {
  // Accumulators may be wider than the elements.
  // CHECK: stablehlo.reduce
  %0 = "stablehlo.reduce"(%a, %c) <{dimensions = array<i64: 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x6xbf16>, tensor<bf16>) -> tensor<4xf32>
  %1 = "stablehlo.reduce"(%i, %z) <{dimensions = array<i64: 0>}> ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>):
    %s = stablehlo.add %x, %y : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<4xi8>, tensor<i8>) -> tensor<i32>
  return
}

// CHECK-LABEL: func.func @wider_products
func.func @wider_products(%a: tensor<2x3xf32>, %b: tensor<3x5xbf16>, %x: tensor<1x8x8x4xbf16>, %k: tensor<3x3x4x6xbf16>) {
  // An algorithm converts its operands, which may differ in type.
  // CHECK: algorithm =
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT], algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<2x3xf32>, tensor<3x5xbf16>) -> tensor<2x5xf32>
  // CHECK: stablehlo.convolution
  %1 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 1], pad = [[1, 1], [-1, 3]], lhs_dilate = [1, 2], rhs_dilate = [2, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x4xbf16>, tensor<3x3x4x6xbf16>) -> tensor<1x3x15x6xf32>
  return
}

// CHECK-LABEL: func.func @groups
func.func @groups(%a: tensor<4xf32>, %b: tensor<2xf16>) {
  // Groups of different sizes are padded with -1; operands may differ in type
  // only as far as one region takes them all.
  // CHECK: stablehlo.all_reduce
  %0 = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 2], [1, -1]]> : tensor<2x2xi64>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  %1:2 = "stablehlo.all_reduce"(%a, %b) <{replica_groups = dense<0> : tensor<1x1xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4xf32>, tensor<2xf16>) -> (tensor<4xf32>, tensor<2xf32>)
  return
}

// CHECK-LABEL: func.func @lists
func.func @lists(%a: tensor<4x6xf32>, %i: tensor<4x6xi32>) {
  %j = stablehlo.constant dense<1> : tensor<1xi32>
  %u0 = stablehlo.constant dense<1.0> : tensor<2x5xf32>
  // A negative sort dimension counts from the end.
  // CHECK: "stablehlo.sort"
  %0:2 = "stablehlo.sort"(%a, %i) <{dimension = -1 : i64, is_stable = true}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>, %u: tensor<i32>, %v: tensor<i32>):
    %s = stablehlo.compare LT, %x, %y, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %s : tensor<i1>
  }) : (tensor<4x6xf32>, tensor<4x6xi32>) -> (tensor<4x6xf32>, tensor<4x6xi32>)
  // An update smaller than the window it goes to.
  // CHECK: "stablehlo.scatter"
  %1 = "stablehlo.scatter"(%a, %j, %u0) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0, 1], scatter_dims_to_operand_dims = [0], index_vector_dim = 0>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %y : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<1xi32>, tensor<2x5xf32>) -> tensor<4x6xf32>
  return
}
