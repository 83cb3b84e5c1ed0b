// RUN: TenonShardingCheck every %s --mesh=x=2 --most=150 | FileCheck %s
// RUN: TenonShardingCheck every %s --mesh=x=3 --most=100
// RUN: TenonShardingCheck every %s --mesh=x=4 --most=100
// RUN: TenonShardingCheck every %s --mesh=x=2,y=2 --most=40

// Operations whose windows run over a dimension that is cut: each device gets
// what its windows read from its neighbours.

// CHECK: same: 64 of 64 splits{{.*}}collective_permute
func.func @same(%x: tensor<2x5x2xf32>, %k: tensor<3x2x3xf32>) -> tensor<2x5x3xf32> {
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x5x2xf32>, tensor<3x2x3xf32>) -> tensor<2x5x3xf32>
  return %0 : tensor<2x5x3xf32>
}

func.func @same_evenly(%x: tensor<2x8x1xf32>, %k: tensor<3x1x2xf32>) -> tensor<2x8x2xf32> {
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x8x1xf32>, tensor<3x1x2xf32>) -> tensor<2x8x2xf32>
  return %0 : tensor<2x8x2xf32>
}

// CHECK: valid: {{.*}}collective_permute
func.func @valid(%x: tensor<2x7x1xf32>, %k: tensor<3x1x2xf32>) -> tensor<2x5x2xf32> {
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x7x1xf32>, tensor<3x1x2xf32>) -> tensor<2x5x2xf32>
  return %0 : tensor<2x5x2xf32>
}

// A window that is wider than the shards of four devices.
// CHECK: wide: {{.*}}collective_permute
func.func @wide(%x: tensor<1x8x1xf32>, %k: tensor<7x1x1xf32>) -> tensor<1x8x1xf32> {
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[3, 3]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x1xf32>, tensor<7x1x1xf32>) -> tensor<1x8x1xf32>
  return %0 : tensor<1x8x1xf32>
}

// CHECK: strided: {{.*}}collective_permute
func.func @strided(%x: tensor<2x8x1xf32>, %k: tensor<3x1x2xf32>) -> tensor<2x4x2xf32> {
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [2], pad = [[0, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x8x1xf32>, tensor<3x1x2xf32>) -> tensor<2x4x2xf32>
  return %0 : tensor<2x4x2xf32>
}

func.func @strided_unevenly(%x: tensor<2x9x1xf32>, %k: tensor<3x1x2xf32>) -> tensor<2x5x2xf32> {
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [2], pad = [[1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x9x1xf32>, tensor<3x1x2xf32>) -> tensor<2x5x2xf32>
  return %0 : tensor<2x5x2xf32>
}

// Every second element alone.
func.func @subsampled(%x: tensor<2x7x2xf32>, %k: tensor<1x2x2xf32>) -> tensor<2x4x2xf32> {
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x7x2xf32>, tensor<1x2x2xf32>) -> tensor<2x4x2xf32>
  return %0 : tensor<2x4x2xf32>
}

func.func @one_by_one(%x: tensor<2x5x2xf32>, %k: tensor<1x2x3xf32>) -> tensor<2x5x3xf32> {
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x5x2xf32>, tensor<1x2x3xf32>) -> tensor<2x5x3xf32>
  return %0 : tensor<2x5x3xf32>
}

func.func @dilated(%x: tensor<2x8x1xf32>, %k: tensor<3x1x2xf32>) -> tensor<2x8x2xf32> {
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[2, 2]], rhs_dilate = [2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x8x1xf32>, tensor<3x1x2xf32>) -> tensor<2x8x2xf32>
  return %0 : tensor<2x8x2xf32>
}

// Gradients of @same and @strided: of their operands, and of their kernels,
// where the window is cut and leaves a sum.
// CHECK: operand_gradient: {{.*}}collective_permute
func.func @operand_gradient(%g: tensor<2x5x3xf32>, %k: tensor<3x2x3xf32>) -> tensor<2x5x2xf32> {
  %0 = stablehlo.convolution(%g, %k) dim_numbers = [b, 0, f]x[0, o, i]->[b, 0, f], window = {pad = [[1, 1]], reverse = [true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x5x3xf32>, tensor<3x2x3xf32>) -> tensor<2x5x2xf32>
  return %0 : tensor<2x5x2xf32>
}

// CHECK: strided_operand_gradient: {{.*}}collective_permute
func.func @strided_operand_gradient(%g: tensor<2x4x2xf32>, %k: tensor<3x1x2xf32>) -> tensor<2x8x1xf32> {
  %0 = stablehlo.convolution(%g, %k) dim_numbers = [b, 0, f]x[0, o, i]->[b, 0, f], window = {pad = [[2, 1]], lhs_dilate = [2], reverse = [true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x4x2xf32>, tensor<3x1x2xf32>) -> tensor<2x8x1xf32>
  return %0 : tensor<2x8x1xf32>
}

// CHECK: kernel_gradient: {{.*}}all_reduce{{.*}}collective_permute
func.func @kernel_gradient(%x: tensor<2x5x2xf32>, %g: tensor<2x5x3xf32>) -> tensor<2x3x3xf32> {
  %0 = stablehlo.convolution(%x, %g) dim_numbers = [f, 0, b]x[i, 0, o]->[b, 0, f], window = {pad = [[1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x5x2xf32>, tensor<2x5x3xf32>) -> tensor<2x3x3xf32>
  return %0 : tensor<2x3x3xf32>
}

// CHECK: strided_kernel_gradient: {{.*}}all_reduce{{.*}}collective_permute
func.func @strided_kernel_gradient(%x: tensor<2x8x1xf32>, %g: tensor<2x4x2xf32>) -> tensor<1x3x2xf32> {
  %0 = stablehlo.convolution(%x, %g) dim_numbers = [f, 0, b]x[i, 0, o]->[b, 0, f], window = {pad = [[0, 1]], rhs_dilate = [2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x8x1xf32>, tensor<2x4x2xf32>) -> tensor<1x3x2xf32>
  return %0 : tensor<1x3x2xf32>
}

func.func @by_groups(%x: tensor<2x6x4xf32>, %k: tensor<3x2x4xf32>) -> tensor<2x6x4xf32> {
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<2x6x4xf32>, tensor<3x2x4xf32>) -> tensor<2x6x4xf32>
  return %0 : tensor<2x6x4xf32>
}

// Rows and columns, and all that makes up a layer.
func.func @in_the_plane(%x: tensor<1x4x6x2xf32>, %k: tensor<3x3x2x2xf32>) -> tensor<1x4x3x2xf32> {
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 2], pad = [[1, 1], [0, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4x6x2xf32>, tensor<3x3x2x2xf32>) -> tensor<1x4x3x2xf32>
  return %0 : tensor<1x4x3x2xf32>
}

func.func @layer(%x: tensor<1x8x1xf32>, %k: tensor<3x1x2xf32>, %b: tensor<2xf32>) -> tensor<1x4x2xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<1x8x2xf32>
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x1xf32>, tensor<3x1x2xf32>) -> tensor<1x8x2xf32>
  %1 = stablehlo.broadcast_in_dim %b, dims = [2] : (tensor<2xf32>) -> tensor<1x8x2xf32>
  %2 = stablehlo.add %0, %1 : tensor<1x8x2xf32>
  %3 = stablehlo.maximum %2, %zero : tensor<1x8x2xf32>
  %4 = "stablehlo.reduce_window"(%3, %least) <{window_dimensions = array<i64: 1, 3, 1>, window_strides = array<i64: 1, 2, 1>, padding = dense<[[0, 0], [0, 1], [0, 0]]> : tensor<3x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %c: tensor<f32>):
    %5 = stablehlo.maximum %a, %c : tensor<f32>
    stablehlo.return %5 : tensor<f32>
  }) : (tensor<1x8x2xf32>, tensor<f32>) -> tensor<1x4x2xf32>
  return %4 : tensor<1x4x2xf32>
}

// CHECK: largest: {{.*}}collective_permute
func.func @largest(%x: tensor<2x9xf32>) -> tensor<2x5xf32> {
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%x, %least) <{window_dimensions = array<i64: 1, 3>, window_strides = array<i64: 1, 2>, padding = dense<[[0, 0], [1, 1]]> : tensor<2x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<2x9xf32>, tensor<f32>) -> tensor<2x5xf32>
  return %0 : tensor<2x5xf32>
}

func.func @least(%x: tensor<7x2xi32>) -> tensor<7x2xi32> {
  %most = stablehlo.constant dense<2147483647> : tensor<i32>
  %0 = "stablehlo.reduce_window"(%x, %most) <{window_dimensions = array<i64: 3, 1>, window_dilations = array<i64: 2, 1>, padding = dense<[[2, 2], [0, 0]]> : tensor<2x2xi64>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %1 = stablehlo.minimum %a, %b : tensor<i32>
    stablehlo.return %1 : tensor<i32>
  }) : (tensor<7x2xi32>, tensor<i32>) -> tensor<7x2xi32>
  return %0 : tensor<7x2xi32>
}

// Pairs that stay together exchange nothing.
// CHECK: pairs: {{.*}} splits
func.func @pairs(%x: tensor<2x8xf32>) -> tensor<2x4xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%x, %zero) <{window_dimensions = array<i64: 1, 2>, window_strides = array<i64: 1, 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// How many elements there are in each window.
func.func @counted(%x: tensor<6x2xf32>) -> tensor<6x2xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %ones = stablehlo.constant dense<1.0> : tensor<6x2xf32>
  %0 = "stablehlo.reduce_window"(%ones, %zero) <{window_dimensions = array<i64: 3, 1>, padding = dense<[[1, 1], [0, 0]]> : tensor<2x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<6x2xf32>, tensor<f32>) -> tensor<6x2xf32>
  %2 = stablehlo.divide %x, %0 : tensor<6x2xf32>
  return %2 : tensor<6x2xf32>
}

// What is padded once per window is not neutral.
func.func @from_one(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%x, %one) <{window_dimensions = array<i64: 1, 3>, padding = dense<[[0, 0], [1, 1]]> : tensor<2x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<f32>) -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}

// CHECK: at_both_ends: {{.*}}collective_permute
func.func @at_both_ends(%x: tensor<2x6xf32>) -> tensor<2x9xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.pad %x, %zero, low = [0, 1], high = [0, 2], interior = [0, 0] : (tensor<2x6xf32>, tensor<f32>) -> tensor<2x9xf32>
  return %0 : tensor<2x9xf32>
}

func.func @between(%x: tensor<2x4xf32>) -> tensor<2x8xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.pad %x, %zero, low = [0, 0], high = [0, 1], interior = [0, 1] : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x8xf32>
  return %0 : tensor<2x8xf32>
}

func.func @cut_off(%x: tensor<2x8xf32>, %v: tensor<f32>) -> tensor<2x5xf32> {
  %0 = stablehlo.pad %x, %v, low = [0, -1], high = [0, -2], interior = [0, 0] : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x5xf32>
  return %0 : tensor<2x5xf32>
}

// What is largest in each window gets an element of the source.
func.func @largest_of_pairs(%x: tensor<2x8xf32>, %s: tensor<2x4xf32>) -> tensor<2x8xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.select_and_scatter"(%x, %s, %zero) <{window_dimensions = array<i64: 1, 2>, window_strides = array<i64: 1, 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.compare GE, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<2x8xf32>, tensor<2x4xf32>, tensor<f32>) -> tensor<2x8xf32>
  return %0 : tensor<2x8xf32>
}

// One that reaches further, with an element that belongs to no window.
func.func @largest_of_three(%x: tensor<10x2xf32>, %s: tensor<4x2xf32>) -> tensor<10x2xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.select_and_scatter"(%x, %s, %zero) <{window_dimensions = array<i64: 3, 1>, window_strides = array<i64: 2, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.compare GE, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<10x2xf32>, tensor<4x2xf32>, tensor<f32>) -> tensor<10x2xf32>
  return %0 : tensor<10x2xf32>
}

// Windows that overlap: of each of them an element of the source comes from, or
// goes to, another device.
// CHECK: overlapping: {{.*}}collective_permute
func.func @overlapping(%x: tensor<16x2xf32>, %s: tensor<8x2xf32>) -> tensor<16x2xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.select_and_scatter"(%x, %s, %zero) <{window_dimensions = array<i64: 3, 1>, window_strides = array<i64: 2, 1>, padding = dense<[[1, 0], [0, 0]]> : tensor<2x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.compare GE, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<16x2xf32>, tensor<8x2xf32>, tensor<f32>) -> tensor<16x2xf32>
  return %0 : tensor<16x2xf32>
}

// Shards of another number of elements than windows are apart, and a tail.
func.func @overlapping_unevenly(%x: tensor<1x19xf32>, %s: tensor<1x9xf32>) -> tensor<1x19xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.select_and_scatter"(%x, %s, %zero) <{window_dimensions = array<i64: 1, 4>, window_strides = array<i64: 1, 2>, padding = dense<[[0, 0], [1, 1]]> : tensor<2x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.compare GT, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<1x19xf32>, tensor<1x9xf32>, tensor<f32>) -> tensor<1x19xf32>
  return %0 : tensor<1x19xf32>
}

// Alike elements: the first of each window is chosen. What is added starts from
// a number, and what is smallest may be what is largest of its type.
func.func @ties(%x: tensor<17xi32>, %s: tensor<17xi32>) -> tensor<17xi32> {
  %seven = stablehlo.constant dense<7> : tensor<i32>
  %most = stablehlo.constant dense<2147483647> : tensor<17xi32>
  %none = stablehlo.constant dense<0> : tensor<17xi32>
  %is = stablehlo.compare GE, %x, %none, SIGNED : (tensor<17xi32>, tensor<17xi32>) -> tensor<17xi1>
  %two = stablehlo.select %is, %most, %none : tensor<17xi1>, tensor<17xi32>
  %0 = "stablehlo.select_and_scatter"(%two, %s, %seven) <{window_dimensions = array<i64: 3>, padding = dense<[[1, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %1 = stablehlo.compare LE, %a, %b, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }, {
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %1 = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %1 : tensor<i32>
  }) : (tensor<17xi32>, tensor<17xi32>, tensor<i32>) -> tensor<17xi32>
  return %0 : tensor<17xi32>
}

// Rows and columns; windows that keep apart, and reach into other shards only
// where these begin in the middle of one; the gradient of a sum, all ones.
func.func @overlapping_in_the_plane(%x: tensor<12x10xf32>, %s: tensor<6x5xf32>) -> tensor<12x10xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.select_and_scatter"(%x, %s, %zero) <{window_dimensions = array<i64: 3, 2>, window_strides = array<i64: 2, 2>, padding = dense<[[0, 1], [0, 0]]> : tensor<2x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.compare GE, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<12x10xf32>, tensor<6x5xf32>, tensor<f32>) -> tensor<12x10xf32>
  return %0 : tensor<12x10xf32>
}

// CHECK: of_ones: {{.*}}collective_permute
func.func @of_ones(%x: tensor<14xf32>) -> tensor<14xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %ones = stablehlo.constant dense<1.0> : tensor<6xf32>
  %0 = "stablehlo.select_and_scatter"(%x, %ones, %zero) <{window_dimensions = array<i64: 3>, window_strides = array<i64: 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.compare GE, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<14xf32>, tensor<6xf32>, tensor<f32>) -> tensor<14xf32>
  return %0 : tensor<14xf32>
}

// One window reads most of all shards: they are put together.
func.func @overlapping_widely(%x: tensor<8xf32>, %s: tensor<8xf32>) -> tensor<8xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.select_and_scatter"(%x, %s, %zero) <{window_dimensions = array<i64: 7>, padding = dense<[[3, 3]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.compare GE, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<8xf32>, tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
