// RUN: tenon run %s --reference
// RUN: tenon run %s

// Operations that make, move and pick elements.

func.func private @constant_e1() {
  %0 = stablehlo.constant dense<[[0.0, 1.0], [2.5, -3.0]]> : tensor<2x2xf32>
  %1 = stablehlo.add %0, %0 : tensor<2x2xf32>
  check.expect_eq_const %1, dense<[[0.0, 2.0], [5.0, -6.0]]> : tensor<2x2xf32>
  return
}
func.func private @iota_e1() {
  %0 = stablehlo.iota dim = 0 : tensor<3x2xi32>
  check.expect_eq_const %0, dense<[[0, 0], [1, 1], [2, 2]]> : tensor<3x2xi32>
  return
}
func.func private @iota_e2() {
  %0 = stablehlo.iota dim = 1 : tensor<2x3xf32>
  check.expect_eq_const %0, dense<[[0.0, 1.0, 2.0], [0.0, 1.0, 2.0]]> : tensor<2x3xf32>
  return
}
func.func private @broadcast_in_dim_e1() {
  %x = stablehlo.constant dense<[[1], [2]]> : tensor<2x1xi32>
  %0 = stablehlo.broadcast_in_dim %x, dims = [2, 1] : (tensor<2x1xi32>) -> tensor<2x3x2xi32>
  check.expect_eq_const %0, dense<[[[1, 2], [1, 2], [1, 2]], [[1, 2], [1, 2], [1, 2]]]> : tensor<2x3x2xi32>
  return
}
func.func private @concatenate_e1() {
  %x = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %y = stablehlo.constant dense<[[7, 8, 9]]> : tensor<1x3xi32>
  %0 = stablehlo.concatenate %x, %y, dim = 0 : (tensor<2x3xi32>, tensor<1x3xi32>) -> tensor<3x3xi32>
  check.expect_eq_const %0, dense<[[1, 2, 3], [4, 5, 6], [7, 8, 9]]> : tensor<3x3xi32>
  return
}
func.func private @pad_e1() {
  %x = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.pad %x, %z, low = [0, -1], high = [1, 1], interior = [1, 0] : (tensor<2x3xi32>, tensor<i32>) -> tensor<4x3xi32>
  check.expect_eq_const %0, dense<[[2, 3, 0], [0, 0, 0], [5, 6, 0], [0, 0, 0]]> : tensor<4x3xi32>
  return
}
func.func private @reshape_e1() {
  %x = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %0 = stablehlo.reshape %x : (tensor<2x3xi32>) -> tensor<3x2xi32>
  check.expect_eq_const %0, dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xi32>
  return
}
func.func private @reverse_e1() {
  %x = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %0 = stablehlo.reverse %x, dims = [1] : tensor<2x3xi32>
  check.expect_eq_const %0, dense<[[3, 2, 1], [6, 5, 4]]> : tensor<2x3xi32>
  return
}
func.func private @slice_e1() {
  %x = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %0 = stablehlo.slice %x [1:2, 0:3:2] : (tensor<2x3xi32>) -> tensor<1x2xi32>
  check.expect_eq_const %0, dense<[[4, 6]]> : tensor<1x2xi32>
  return
}
func.func private @transpose_e1() {
  %x = stablehlo.constant dense<[[[1, 2], [3, 4], [5, 6]]]> : tensor<1x3x2xi32>
  %0 = stablehlo.transpose %x, dims = [2, 1, 0] : (tensor<1x3x2xi32>) -> tensor<2x3x1xi32>
  check.expect_eq_const %0, dense<[[[1], [3], [5]], [[2], [4], [6]]]> : tensor<2x3x1xi32>
  return
}
func.func private @dynamic_slice_e1() {
  %x = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %i = stablehlo.constant dense<-1> : tensor<i64>
  %j = stablehlo.constant dense<9> : tensor<i64>
  %0 = stablehlo.dynamic_slice %x, %i, %j, sizes = [1, 2] : (tensor<2x3xi32>, tensor<i64>, tensor<i64>) -> tensor<1x2xi32>
  check.expect_eq_const %0, dense<[[2, 3]]> : tensor<1x2xi32>
  return
}
func.func private @dynamic_update_slice_e1() {
  %x = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %u = stablehlo.constant dense<[[7, 8]]> : tensor<1x2xi32>
  %i = stablehlo.constant dense<1> : tensor<i64>
  %j = stablehlo.constant dense<2> : tensor<i64>
  %0 = stablehlo.dynamic_update_slice %x, %u, %i, %j : (tensor<2x3xi32>, tensor<1x2xi32>, tensor<i64>, tensor<i64>) -> tensor<2x3xi32>
  check.expect_eq_const %0, dense<[[1, 2, 3], [4, 7, 8]]> : tensor<2x3xi32>
  return
}
func.func private @gather_e1() {
  %x = stablehlo.constant dense<[[[1, 2], [3, 4], [5, 6]], [[7, 8], [9, 10], [11, 12]]]> : tensor<2x3x2xi32>
  %i = stablehlo.constant dense<[[0, 1], [1, 2], [5, 0]]> : tensor<3x2xi64>
  // Rows of pairs; an index that is too large is brought inside.
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1, 2>}> : (tensor<2x3x2xi32>, tensor<3x2xi64>) -> tensor<3x2xi32>
  check.expect_eq_const %0, dense<[[3, 4], [11, 12], [7, 8]]> : tensor<3x2xi32>
  return
}
func.func private @scatter_e1() {
  %x = stablehlo.constant dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xi32>
  %i = stablehlo.constant dense<[[0], [2], [0], [7]]> : tensor<4x1xi64>
  %u = stablehlo.constant dense<[[10, 20], [30, 40], [50, 60], [70, 80]]> : tensor<4x2xi32>
  // What lies outside is left out; two updates of one row are both added.
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %1 = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %1 : tensor<i32>
  }) : (tensor<3x2xi32>, tensor<4x1xi64>, tensor<4x2xi32>) -> tensor<3x2xi32>
  check.expect_eq_const %0, dense<[[61, 82], [3, 4], [35, 46]]> : tensor<3x2xi32>
  return
}
func.func private @sort_e1() {
  %k = stablehlo.constant dense<[[3, 1, 2], [1, 3, 1]]> : tensor<2x3xi32>
  %v = stablehlo.constant dense<[[10, 20, 30], [40, 50, 60]]> : tensor<2x3xi32>
  %0:2 = "stablehlo.sort"(%k, %v) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<i32>, %d: tensor<i32>):
    %1 = stablehlo.compare GT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) : (tensor<2x3xi32>, tensor<2x3xi32>) -> (tensor<2x3xi32>, tensor<2x3xi32>)
  check.expect_eq_const %0#0, dense<[[3, 2, 1], [3, 1, 1]]> : tensor<2x3xi32>
  check.expect_eq_const %0#1, dense<[[10, 30, 20], [50, 40, 60]]> : tensor<2x3xi32>
  return
}

// Operations of the dynamic family are static where every extent is known.
func.func private @dynamic_broadcast_in_dim_e1() {
  %x = stablehlo.constant dense<[[1], [2]]> : tensor<2x1xi32>
  %shape = stablehlo.constant dense<[2, 3, 2]> : tensor<3xi64>
  %0 = stablehlo.dynamic_broadcast_in_dim %x, %shape, dims = [2, 1] : (tensor<2x1xi32>, tensor<3xi64>) -> tensor<2x3x2xi32>
  check.expect_eq_const %0, dense<[[[1, 2], [1, 2], [1, 2]], [[1, 2], [1, 2], [1, 2]]]> : tensor<2x3x2xi32>
  return
}
func.func private @dynamic_gather_e1() {
  %x = stablehlo.constant dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xi32>
  %i = stablehlo.constant dense<[[2], [0]]> : tensor<2x1xi64>
  %sizes = stablehlo.constant dense<[1, 2]> : tensor<2xi64>
  %0 = "stablehlo.dynamic_gather"(%x, %i, %sizes) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>}> : (tensor<3x2xi32>, tensor<2x1xi64>, tensor<2xi64>) -> tensor<2x2xi32>
  check.expect_eq_const %0, dense<[[5, 6], [1, 2]]> : tensor<2x2xi32>
  return
}
func.func private @dynamic_iota_e1() {
  %shape = stablehlo.constant dense<[3, 2]> : tensor<2xi64>
  %0 = stablehlo.dynamic_iota %shape, dim = 0 : (tensor<2xi64>) -> tensor<3x2xi64>
  check.expect_eq_const %0, dense<[[0, 0], [1, 1], [2, 2]]> : tensor<3x2xi64>
  return
}
func.func private @dynamic_pad_e1() {
  %x = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %z = stablehlo.constant dense<9> : tensor<i32>
  %low = stablehlo.constant dense<[1]> : tensor<1xi64>
  %high = stablehlo.constant dense<[2]> : tensor<1xi64>
  %between = stablehlo.constant dense<[1]> : tensor<1xi64>
  %0 = stablehlo.dynamic_pad %x, %z, %low, %high, %between : (tensor<2xi32>, tensor<i32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<6xi32>
  check.expect_eq_const %0, dense<[9, 1, 9, 2, 9, 9]> : tensor<6xi32>
  return
}
func.func private @dynamic_reshape_e1() {
  %x = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi64>
  %shape = stablehlo.constant dense<[3, 2]> : tensor<2xi64>
  %0 = stablehlo.dynamic_reshape %x, %shape : (tensor<2x3xi64>, tensor<2xi64>) -> tensor<3x2xi64>
  check.expect_eq_const %0, dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xi64>
  return
}
func.func private @get_dimension_size_e1() {
  %x = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi64>
  %0 = stablehlo.get_dimension_size %x, dim = 1 : (tensor<2x3xi64>) -> tensor<i32>
  check.expect_eq_const %0, dense<3> : tensor<i32>
  return
}

func.func @main() {
  func.call @constant_e1() : () -> ()
  func.call @iota_e1() : () -> ()
  func.call @iota_e2() : () -> ()
  func.call @broadcast_in_dim_e1() : () -> ()
  func.call @concatenate_e1() : () -> ()
  func.call @pad_e1() : () -> ()
  func.call @reshape_e1() : () -> ()
  func.call @reverse_e1() : () -> ()
  func.call @slice_e1() : () -> ()
  func.call @transpose_e1() : () -> ()
  func.call @dynamic_slice_e1() : () -> ()
  func.call @dynamic_update_slice_e1() : () -> ()
  func.call @gather_e1() : () -> ()
  func.call @scatter_e1() : () -> ()
  func.call @sort_e1() : () -> ()
  func.call @dynamic_broadcast_in_dim_e1() : () -> ()
  func.call @dynamic_gather_e1() : () -> ()
  func.call @dynamic_iota_e1() : () -> ()
  func.call @dynamic_pad_e1() : () -> ()
  func.call @dynamic_reshape_e1() : () -> ()
  func.call @get_dimension_size_e1() : () -> ()
  return
}
