module @jit_call_torch attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<f32> {tf.aliasing_output = 0 : i32}, %arg1: tensor<4xf32> {tf.aliasing_output = 1 : i32}, %arg2: tensor<4x24xf32> {tf.aliasing_output = 2 : i32}, %arg3: tensor<24xf32> {tf.aliasing_output = 3 : i32}, %arg4: tensor<24x16xf32> {tf.aliasing_output = 4 : i32}, %arg5: tensor<100x16xf32> {tf.aliasing_output = 5 : i32}, %arg6: tensor<4xf32> {tf.aliasing_output = 6 : i32}, %arg7: tensor<4x24xf32> {tf.aliasing_output = 7 : i32}, %arg8: tensor<24xf32> {tf.aliasing_output = 8 : i32}, %arg9: tensor<24x16xf32> {tf.aliasing_output = 9 : i32}, %arg10: tensor<100x16xf32> {tf.aliasing_output = 10 : i32}, %arg11: tensor<4xf32> {tf.aliasing_output = 11 : i32}, %arg12: tensor<4x24xf32> {tf.aliasing_output = 12 : i32}, %arg13: tensor<24xf32> {tf.aliasing_output = 13 : i32}, %arg14: tensor<24x16xf32> {tf.aliasing_output = 14 : i32}, %arg15: tensor<100x16xf32> {tf.aliasing_output = 15 : i32}, %arg16: tensor<8x12xi32>, %arg17: tensor<8xi32>) -> (tensor<f32> {jax.result_info = "result[0]['optimizer']['count']"}, tensor<4xf32> {jax.result_info = "result[0]['optimizer']['first.classify.bias']"}, tensor<4x24xf32> {jax.result_info = "result[0]['optimizer']['first.classify.weight']"}, tensor<24xf32> {jax.result_info = "result[0]['optimizer']['first.hidden.bias']"}, tensor<24x16xf32> {jax.result_info = "result[0]['optimizer']['first.hidden.weight']"}, tensor<100x16xf32> {jax.result_info = "result[0]['optimizer']['first.words.weight']"}, tensor<4xf32> {jax.result_info = "result[0]['optimizer']['second.classify.bias']"}, tensor<4x24xf32> {jax.result_info = "result[0]['optimizer']['second.classify.weight']"}, tensor<24xf32> {jax.result_info = "result[0]['optimizer']['second.hidden.bias']"}, tensor<24x16xf32> {jax.result_info = "result[0]['optimizer']['second.hidden.weight']"}, tensor<100x16xf32> {jax.result_info = "result[0]['optimizer']['second.words.weight']"}, tensor<4xf32> {jax.result_info = "result[0]['parameters']['classify.bias']"}, tensor<4x24xf32> {jax.result_info = "result[0]['parameters']['classify.weight']"}, tensor<24xf32> {jax.result_info = "result[0]['parameters']['hidden.bias']"}, tensor<24x16xf32> {jax.result_info = "result[0]['parameters']['hidden.weight']"}, tensor<100x16xf32> {jax.result_info = "result[0]['parameters']['words.weight']"}, tensor<f32> {jax.result_info = "result[1]"}) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<8x12xi32>
    %1 = stablehlo.compare NE, %arg16, %0, SIGNED : (tensor<8x12xi32>, tensor<8x12xi32>) -> tensor<8x12xi1>
    %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<8x12xi1>) -> tensor<8x12x1xi1>
    %3 = stablehlo.convert %2 : (tensor<8x12x1xi1>) -> tensor<8x12x1xf32>
    %4 = call @_take(%arg15, %arg16) : (tensor<100x16xf32>, tensor<8x12xi32>) -> tensor<8x12x16xf32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %5 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %6 = call @_take_0(%arg16) : (tensor<8x12xi32>) -> tensor<8x12x1xi32>
    %7 = stablehlo.broadcast_in_dim %3, dims = [0, 1, 2] : (tensor<8x12x1xf32>) -> tensor<8x12x16xf32>
    %8 = stablehlo.multiply %4, %7 : tensor<8x12x16xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %9 = stablehlo.reduce(%8 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<8x12x16xf32>, tensor<f32>) -> tensor<8x16xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %10 = stablehlo.reduce(%3 init: %cst_1) applies stablehlo.add across dimensions = [1] : (tensor<8x12x1xf32>, tensor<f32>) -> tensor<8x1xf32>
    %11 = stablehlo.broadcast_in_dim %10, dims = [0, 1] : (tensor<8x1xf32>) -> tensor<8x16xf32>
    %12 = stablehlo.divide %9, %11 : tensor<8x16xf32>
    %13 = stablehlo.dot_general %12, %arg14, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<8x16xf32>, tensor<24x16xf32>) -> tensor<8x24xf32>
    %14 = stablehlo.broadcast_in_dim %arg13, dims = [1] : (tensor<24xf32>) -> tensor<1x24xf32>
    %15 = stablehlo.broadcast_in_dim %14, dims = [0, 1] : (tensor<1x24xf32>) -> tensor<8x24xf32>
    %16 = stablehlo.add %13, %15 : tensor<8x24xf32>
    %cst_2 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %17 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<8x24xf32>
    %18 = stablehlo.multiply %17, %16 : tensor<8x24xf32>
    %19 = stablehlo.negate %16 : tensor<8x24xf32>
    %cst_3 = stablehlo.constant dense<0.707106769> : tensor<f32>
    %20 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<8x24xf32>
    %21 = stablehlo.multiply %19, %20 : tensor<8x24xf32>
    %22 = chlo.erfc %21 : tensor<8x24xf32> -> tensor<8x24xf32>
    %23 = chlo.square %21 : tensor<8x24xf32> -> tensor<8x24xf32>
    %24 = stablehlo.negate %23 : tensor<8x24xf32>
    %25 = stablehlo.exponential %24 : tensor<8x24xf32>
    %26 = stablehlo.multiply %18, %22 : tensor<8x24xf32>
    %27 = stablehlo.dot_general %26, %arg12, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<8x24xf32>, tensor<4x24xf32>) -> tensor<8x4xf32>
    %28 = stablehlo.broadcast_in_dim %arg11, dims = [1] : (tensor<4xf32>) -> tensor<1x4xf32>
    %29 = stablehlo.broadcast_in_dim %28, dims = [0, 1] : (tensor<1x4xf32>) -> tensor<8x4xf32>
    %30 = stablehlo.add %27, %29 : tensor<8x4xf32>
    %31:3 = call @log_softmax(%30) : (tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x1xf32>)
    %c_4 = stablehlo.constant dense<-100> : tensor<i32>
    %32 = stablehlo.broadcast_in_dim %c_4, dims = [] : (tensor<i32>) -> tensor<8xi32>
    %33 = stablehlo.compare NE, %arg17, %32, SIGNED : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi1>
    %c_5 = stablehlo.constant dense<0> : tensor<i32>
    %34 = call @_where_2(%33, %arg17, %c_5) : (tensor<8xi1>, tensor<8xi32>, tensor<i32>) -> tensor<8xi32>
    %35 = stablehlo.broadcast_in_dim %34, dims = [0] : (tensor<8xi32>) -> tensor<8x1xi32>
    %36 = stablehlo.iota dim = 0 : tensor<8xi32>
    %37 = stablehlo.reshape %36 : (tensor<8xi32>) -> tensor<8x1xi32>
    %c_6 = stablehlo.constant dense<0> : tensor<i32>
    %38 = stablehlo.broadcast_in_dim %c_6, dims = [] : (tensor<i32>) -> tensor<8x1xi32>
    %39 = stablehlo.compare LT, %37, %38, SIGNED : (tensor<8x1xi32>, tensor<8x1xi32>) -> tensor<8x1xi1>
    %c_7 = stablehlo.constant dense<8> : tensor<i32>
    %40 = stablehlo.broadcast_in_dim %c_7, dims = [] : (tensor<i32>) -> tensor<8x1xi32>
    %41 = stablehlo.add %37, %40 : tensor<8x1xi32>
    %42 = stablehlo.select %39, %41, %37 : tensor<8x1xi1>, tensor<8x1xi32>
    %c_8 = stablehlo.constant dense<0> : tensor<i32>
    %43 = stablehlo.broadcast_in_dim %c_8, dims = [] : (tensor<i32>) -> tensor<8x1xi32>
    %44 = stablehlo.compare LT, %35, %43, SIGNED : (tensor<8x1xi32>, tensor<8x1xi32>) -> tensor<8x1xi1>
    %c_9 = stablehlo.constant dense<4> : tensor<i32>
    %45 = stablehlo.broadcast_in_dim %c_9, dims = [] : (tensor<i32>) -> tensor<8x1xi32>
    %46 = stablehlo.add %35, %45 : tensor<8x1xi32>
    %47 = stablehlo.select %44, %46, %35 : tensor<8x1xi1>, tensor<8x1xi32>
    %48 = stablehlo.broadcast_in_dim %42, dims = [0, 1] : (tensor<8x1xi32>) -> tensor<8x1x1xi32>
    %49 = stablehlo.broadcast_in_dim %47, dims = [0, 1] : (tensor<8x1xi32>) -> tensor<8x1x1xi32>
    %50 = stablehlo.concatenate %48, %49, dim = 2 : (tensor<8x1x1xi32>, tensor<8x1x1xi32>) -> tensor<8x1x2xi32>
    %51 = "stablehlo.gather"(%31#0, %50) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1>}> : (tensor<8x4xf32>, tensor<8x1x2xi32>) -> tensor<8x1xf32>
    %52 = stablehlo.reshape %51 : (tensor<8x1xf32>) -> tensor<8xf32>
    %cst_10 = stablehlo.constant dense<-1.000000e+00> : tensor<f32>
    %53 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %54 = stablehlo.multiply %53, %52 : tensor<8xf32>
    %c_11 = stablehlo.constant dense<-100> : tensor<i32>
    %55 = stablehlo.broadcast_in_dim %c_11, dims = [] : (tensor<i32>) -> tensor<8xi32>
    %56 = stablehlo.compare NE, %arg17, %55, SIGNED : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi1>
    %c_12 = stablehlo.constant dense<0> : tensor<i32>
    %57 = call @_where_3(%56, %54, %c_12) : (tensor<8xi1>, tensor<8xf32>, tensor<i32>) -> tensor<8xf32>
    %c_13 = stablehlo.constant dense<-100> : tensor<i32>
    %58 = stablehlo.broadcast_in_dim %c_13, dims = [] : (tensor<i32>) -> tensor<8xi32>
    %59 = stablehlo.compare NE, %arg17, %58, SIGNED : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi1>
    %60 = stablehlo.convert %59 : (tensor<8xi1>) -> tensor<8xi32>
    %c_14 = stablehlo.constant dense<0> : tensor<i32>
    %61 = stablehlo.reduce(%60 init: %c_14) applies stablehlo.add across dimensions = [0] : (tensor<8xi32>, tensor<i32>) -> tensor<i32>
    %cst_15 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %62 = stablehlo.reduce(%57 init: %cst_15) applies stablehlo.add across dimensions = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
    %63 = stablehlo.convert %61 : (tensor<i32>) -> tensor<f32>
    %64 = stablehlo.divide %62, %63 : tensor<f32>
    %cst_16 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %65 = stablehlo.divide %cst_16, %63 : tensor<f32>
    %66 = stablehlo.broadcast_in_dim %65, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %67 = call @_where_4(%56, %66) : (tensor<8xi1>, tensor<8xf32>) -> tensor<8xf32>
    %cst_17 = stablehlo.constant dense<-1.000000e+00> : tensor<f32>
    %68 = stablehlo.broadcast_in_dim %cst_17, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %69 = stablehlo.multiply %68, %67 : tensor<8xf32>
    %70 = stablehlo.broadcast_in_dim %69, dims = [0] : (tensor<8xf32>) -> tensor<8x1xf32>
    %cst_18 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %71 = stablehlo.broadcast_in_dim %cst_18, dims = [] : (tensor<f32>) -> tensor<8x4xf32>
    %72 = "stablehlo.scatter"(%71, %50, %70) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 2>, unique_indices = false}> ({
    ^bb0(%arg18: tensor<f32>, %arg19: tensor<f32>):
      %289 = stablehlo.add %arg18, %arg19 : tensor<f32>
      stablehlo.return %289 : tensor<f32>
    }) : (tensor<8x4xf32>, tensor<8x1x2xi32>, tensor<8x1xf32>) -> tensor<8x4xf32>
    %73 = call @log_softmax_5(%31#1, %31#2, %72) : (tensor<8x4xf32>, tensor<8x1xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
    %cst_19 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %74 = stablehlo.reduce(%73 init: %cst_19) applies stablehlo.add across dimensions = [0] : (tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32>
    %75 = stablehlo.reshape %74 : (tensor<4xf32>) -> tensor<1x4xf32>
    %cst_20 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %76 = stablehlo.reduce(%75 init: %cst_20) applies stablehlo.add across dimensions = [0] : (tensor<1x4xf32>, tensor<f32>) -> tensor<4xf32>
    %77 = stablehlo.dot_general %73, %26, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x4xf32>, tensor<8x24xf32>) -> tensor<4x24xf32>
    %78 = stablehlo.dot_general %73, %arg12, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x4xf32>, tensor<4x24xf32>) -> tensor<8x24xf32>
    %79 = stablehlo.multiply %18, %78 : tensor<8x24xf32>
    %80 = stablehlo.multiply %78, %22 : tensor<8x24xf32>
    %cst_21 = stablehlo.constant dense<-1.12837923> : tensor<f32>
    %81 = stablehlo.broadcast_in_dim %cst_21, dims = [] : (tensor<f32>) -> tensor<8x24xf32>
    %82 = stablehlo.multiply %81, %79 : tensor<8x24xf32>
    %83 = stablehlo.multiply %82, %25 : tensor<8x24xf32>
    %cst_22 = stablehlo.constant dense<0.707106769> : tensor<f32>
    %84 = stablehlo.broadcast_in_dim %cst_22, dims = [] : (tensor<f32>) -> tensor<8x24xf32>
    %85 = stablehlo.multiply %83, %84 : tensor<8x24xf32>
    %86 = stablehlo.negate %85 : tensor<8x24xf32>
    %cst_23 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %87 = stablehlo.broadcast_in_dim %cst_23, dims = [] : (tensor<f32>) -> tensor<8x24xf32>
    %88 = stablehlo.multiply %87, %80 : tensor<8x24xf32>
    %89 = stablehlo.add %86, %88 : tensor<8x24xf32>
    %cst_24 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %90 = stablehlo.reduce(%89 init: %cst_24) applies stablehlo.add across dimensions = [0] : (tensor<8x24xf32>, tensor<f32>) -> tensor<24xf32>
    %91 = stablehlo.reshape %90 : (tensor<24xf32>) -> tensor<1x24xf32>
    %cst_25 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %92 = stablehlo.reduce(%91 init: %cst_25) applies stablehlo.add across dimensions = [0] : (tensor<1x24xf32>, tensor<f32>) -> tensor<24xf32>
    %93 = stablehlo.dot_general %89, %12, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x24xf32>, tensor<8x16xf32>) -> tensor<24x16xf32>
    %94 = stablehlo.dot_general %89, %arg14, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x24xf32>, tensor<24x16xf32>) -> tensor<8x16xf32>
    %95 = stablehlo.broadcast_in_dim %10, dims = [0, 1] : (tensor<8x1xf32>) -> tensor<8x16xf32>
    %96 = stablehlo.divide %94, %95 : tensor<8x16xf32>
    %97 = stablehlo.broadcast_in_dim %96, dims = [0, 2] : (tensor<8x16xf32>) -> tensor<8x12x16xf32>
    %98 = stablehlo.broadcast_in_dim %3, dims = [0, 1, 2] : (tensor<8x12x1xf32>) -> tensor<8x12x16xf32>
    %99 = stablehlo.multiply %97, %98 : tensor<8x12x16xf32>
    %100 = call @_take_6(%6, %99) : (tensor<8x12x1xi32>, tensor<8x12x16xf32>) -> tensor<100x16xf32>
    %cst_26 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %101 = stablehlo.broadcast_in_dim %cst_26, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %102 = "stablehlo.scatter"(%100, %5, %101) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0]>, unique_indices = true}> ({
    ^bb0(%arg18: tensor<f32>, %arg19: tensor<f32>):
      stablehlo.return %arg19 : tensor<f32>
    }) : (tensor<100x16xf32>, tensor<1xi32>, tensor<16xf32>) -> tensor<100x16xf32>
    %cst_27 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %103 = stablehlo.add %arg0, %cst_27 : tensor<f32>
    %cst_28 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %104 = stablehlo.broadcast_in_dim %cst_28, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %105 = stablehlo.multiply %arg1, %104 : tensor<4xf32>
    %cst_29 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %106 = stablehlo.broadcast_in_dim %cst_29, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %107 = stablehlo.multiply %76, %106 : tensor<4xf32>
    %cst_30 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %108 = stablehlo.broadcast_in_dim %cst_30, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %109 = stablehlo.multiply %107, %108 : tensor<4xf32>
    %110 = stablehlo.add %105, %109 : tensor<4xf32>
    %cst_31 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %111 = stablehlo.broadcast_in_dim %cst_31, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %112 = stablehlo.multiply %arg6, %111 : tensor<4xf32>
    %cst_32 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %113 = stablehlo.broadcast_in_dim %cst_32, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %114 = stablehlo.multiply %76, %113 : tensor<4xf32>
    %115 = stablehlo.multiply %114, %76 : tensor<4xf32>
    %cst_33 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %116 = stablehlo.broadcast_in_dim %cst_33, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %117 = stablehlo.multiply %115, %116 : tensor<4xf32>
    %118 = stablehlo.add %112, %117 : tensor<4xf32>
    %119 = stablehlo.sqrt %118 : tensor<4xf32>
    %cst_34 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %120 = stablehlo.power %cst_34, %103 : tensor<f32>
    %cst_35 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %121 = stablehlo.multiply %120, %cst_35 : tensor<f32>
    %cst_36 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %122 = stablehlo.subtract %cst_36, %121 : tensor<f32>
    %123 = stablehlo.sqrt %122 : tensor<f32>
    %124 = stablehlo.broadcast_in_dim %123, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %125 = stablehlo.divide %119, %124 : tensor<4xf32>
    %cst_37 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %126 = stablehlo.broadcast_in_dim %cst_37, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %127 = stablehlo.add %125, %126 : tensor<4xf32>
    %cst_38 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %128 = stablehlo.broadcast_in_dim %cst_38, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %129 = stablehlo.multiply %arg11, %128 : tensor<4xf32>
    %cst_39 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %130 = stablehlo.power %cst_39, %103 : tensor<f32>
    %cst_40 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %131 = stablehlo.multiply %130, %cst_40 : tensor<f32>
    %cst_41 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %132 = stablehlo.subtract %cst_41, %131 : tensor<f32>
    %cst_42 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %133 = stablehlo.divide %cst_42, %132 : tensor<f32>
    %cst_43 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %134 = stablehlo.multiply %133, %cst_43 : tensor<f32>
    %135 = stablehlo.broadcast_in_dim %134, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %136 = stablehlo.multiply %135, %110 : tensor<4xf32>
    %137 = stablehlo.divide %136, %127 : tensor<4xf32>
    %cst_44 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %138 = stablehlo.broadcast_in_dim %cst_44, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %139 = stablehlo.multiply %137, %138 : tensor<4xf32>
    %140 = stablehlo.subtract %129, %139 : tensor<4xf32>
    %cst_45 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %141 = stablehlo.broadcast_in_dim %cst_45, dims = [] : (tensor<f32>) -> tensor<4x24xf32>
    %142 = stablehlo.multiply %arg2, %141 : tensor<4x24xf32>
    %cst_46 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %143 = stablehlo.broadcast_in_dim %cst_46, dims = [] : (tensor<f32>) -> tensor<4x24xf32>
    %144 = stablehlo.multiply %77, %143 : tensor<4x24xf32>
    %cst_47 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %145 = stablehlo.broadcast_in_dim %cst_47, dims = [] : (tensor<f32>) -> tensor<4x24xf32>
    %146 = stablehlo.multiply %144, %145 : tensor<4x24xf32>
    %147 = stablehlo.add %142, %146 : tensor<4x24xf32>
    %cst_48 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %148 = stablehlo.broadcast_in_dim %cst_48, dims = [] : (tensor<f32>) -> tensor<4x24xf32>
    %149 = stablehlo.multiply %arg7, %148 : tensor<4x24xf32>
    %cst_49 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %150 = stablehlo.broadcast_in_dim %cst_49, dims = [] : (tensor<f32>) -> tensor<4x24xf32>
    %151 = stablehlo.multiply %77, %150 : tensor<4x24xf32>
    %152 = stablehlo.multiply %151, %77 : tensor<4x24xf32>
    %cst_50 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %153 = stablehlo.broadcast_in_dim %cst_50, dims = [] : (tensor<f32>) -> tensor<4x24xf32>
    %154 = stablehlo.multiply %152, %153 : tensor<4x24xf32>
    %155 = stablehlo.add %149, %154 : tensor<4x24xf32>
    %156 = stablehlo.sqrt %155 : tensor<4x24xf32>
    %cst_51 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %157 = stablehlo.power %cst_51, %103 : tensor<f32>
    %cst_52 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %158 = stablehlo.multiply %157, %cst_52 : tensor<f32>
    %cst_53 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %159 = stablehlo.subtract %cst_53, %158 : tensor<f32>
    %160 = stablehlo.sqrt %159 : tensor<f32>
    %161 = stablehlo.broadcast_in_dim %160, dims = [] : (tensor<f32>) -> tensor<4x24xf32>
    %162 = stablehlo.divide %156, %161 : tensor<4x24xf32>
    %cst_54 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %163 = stablehlo.broadcast_in_dim %cst_54, dims = [] : (tensor<f32>) -> tensor<4x24xf32>
    %164 = stablehlo.add %162, %163 : tensor<4x24xf32>
    %cst_55 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %165 = stablehlo.broadcast_in_dim %cst_55, dims = [] : (tensor<f32>) -> tensor<4x24xf32>
    %166 = stablehlo.multiply %arg12, %165 : tensor<4x24xf32>
    %cst_56 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %167 = stablehlo.power %cst_56, %103 : tensor<f32>
    %cst_57 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %168 = stablehlo.multiply %167, %cst_57 : tensor<f32>
    %cst_58 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %169 = stablehlo.subtract %cst_58, %168 : tensor<f32>
    %cst_59 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %170 = stablehlo.divide %cst_59, %169 : tensor<f32>
    %cst_60 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %171 = stablehlo.multiply %170, %cst_60 : tensor<f32>
    %172 = stablehlo.broadcast_in_dim %171, dims = [] : (tensor<f32>) -> tensor<4x24xf32>
    %173 = stablehlo.multiply %172, %147 : tensor<4x24xf32>
    %174 = stablehlo.divide %173, %164 : tensor<4x24xf32>
    %cst_61 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %175 = stablehlo.broadcast_in_dim %cst_61, dims = [] : (tensor<f32>) -> tensor<4x24xf32>
    %176 = stablehlo.multiply %174, %175 : tensor<4x24xf32>
    %177 = stablehlo.subtract %166, %176 : tensor<4x24xf32>
    %cst_62 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %178 = stablehlo.broadcast_in_dim %cst_62, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %179 = stablehlo.multiply %arg3, %178 : tensor<24xf32>
    %cst_63 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %180 = stablehlo.broadcast_in_dim %cst_63, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %181 = stablehlo.multiply %92, %180 : tensor<24xf32>
    %cst_64 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %182 = stablehlo.broadcast_in_dim %cst_64, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %183 = stablehlo.multiply %181, %182 : tensor<24xf32>
    %184 = stablehlo.add %179, %183 : tensor<24xf32>
    %cst_65 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %185 = stablehlo.broadcast_in_dim %cst_65, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %186 = stablehlo.multiply %arg8, %185 : tensor<24xf32>
    %cst_66 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %187 = stablehlo.broadcast_in_dim %cst_66, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %188 = stablehlo.multiply %92, %187 : tensor<24xf32>
    %189 = stablehlo.multiply %188, %92 : tensor<24xf32>
    %cst_67 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %190 = stablehlo.broadcast_in_dim %cst_67, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %191 = stablehlo.multiply %189, %190 : tensor<24xf32>
    %192 = stablehlo.add %186, %191 : tensor<24xf32>
    %193 = stablehlo.sqrt %192 : tensor<24xf32>
    %cst_68 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %194 = stablehlo.power %cst_68, %103 : tensor<f32>
    %cst_69 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %195 = stablehlo.multiply %194, %cst_69 : tensor<f32>
    %cst_70 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %196 = stablehlo.subtract %cst_70, %195 : tensor<f32>
    %197 = stablehlo.sqrt %196 : tensor<f32>
    %198 = stablehlo.broadcast_in_dim %197, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %199 = stablehlo.divide %193, %198 : tensor<24xf32>
    %cst_71 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %200 = stablehlo.broadcast_in_dim %cst_71, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %201 = stablehlo.add %199, %200 : tensor<24xf32>
    %cst_72 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %202 = stablehlo.broadcast_in_dim %cst_72, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %203 = stablehlo.multiply %arg13, %202 : tensor<24xf32>
    %cst_73 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %204 = stablehlo.power %cst_73, %103 : tensor<f32>
    %cst_74 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %205 = stablehlo.multiply %204, %cst_74 : tensor<f32>
    %cst_75 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %206 = stablehlo.subtract %cst_75, %205 : tensor<f32>
    %cst_76 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %207 = stablehlo.divide %cst_76, %206 : tensor<f32>
    %cst_77 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %208 = stablehlo.multiply %207, %cst_77 : tensor<f32>
    %209 = stablehlo.broadcast_in_dim %208, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %210 = stablehlo.multiply %209, %184 : tensor<24xf32>
    %211 = stablehlo.divide %210, %201 : tensor<24xf32>
    %cst_78 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %212 = stablehlo.broadcast_in_dim %cst_78, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %213 = stablehlo.multiply %211, %212 : tensor<24xf32>
    %214 = stablehlo.subtract %203, %213 : tensor<24xf32>
    %cst_79 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %215 = stablehlo.broadcast_in_dim %cst_79, dims = [] : (tensor<f32>) -> tensor<24x16xf32>
    %216 = stablehlo.multiply %arg4, %215 : tensor<24x16xf32>
    %cst_80 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %217 = stablehlo.broadcast_in_dim %cst_80, dims = [] : (tensor<f32>) -> tensor<24x16xf32>
    %218 = stablehlo.multiply %93, %217 : tensor<24x16xf32>
    %cst_81 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %219 = stablehlo.broadcast_in_dim %cst_81, dims = [] : (tensor<f32>) -> tensor<24x16xf32>
    %220 = stablehlo.multiply %218, %219 : tensor<24x16xf32>
    %221 = stablehlo.add %216, %220 : tensor<24x16xf32>
    %cst_82 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %222 = stablehlo.broadcast_in_dim %cst_82, dims = [] : (tensor<f32>) -> tensor<24x16xf32>
    %223 = stablehlo.multiply %arg9, %222 : tensor<24x16xf32>
    %cst_83 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %224 = stablehlo.broadcast_in_dim %cst_83, dims = [] : (tensor<f32>) -> tensor<24x16xf32>
    %225 = stablehlo.multiply %93, %224 : tensor<24x16xf32>
    %226 = stablehlo.multiply %225, %93 : tensor<24x16xf32>
    %cst_84 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %227 = stablehlo.broadcast_in_dim %cst_84, dims = [] : (tensor<f32>) -> tensor<24x16xf32>
    %228 = stablehlo.multiply %226, %227 : tensor<24x16xf32>
    %229 = stablehlo.add %223, %228 : tensor<24x16xf32>
    %230 = stablehlo.sqrt %229 : tensor<24x16xf32>
    %cst_85 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %231 = stablehlo.power %cst_85, %103 : tensor<f32>
    %cst_86 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %232 = stablehlo.multiply %231, %cst_86 : tensor<f32>
    %cst_87 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %233 = stablehlo.subtract %cst_87, %232 : tensor<f32>
    %234 = stablehlo.sqrt %233 : tensor<f32>
    %235 = stablehlo.broadcast_in_dim %234, dims = [] : (tensor<f32>) -> tensor<24x16xf32>
    %236 = stablehlo.divide %230, %235 : tensor<24x16xf32>
    %cst_88 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %237 = stablehlo.broadcast_in_dim %cst_88, dims = [] : (tensor<f32>) -> tensor<24x16xf32>
    %238 = stablehlo.add %236, %237 : tensor<24x16xf32>
    %cst_89 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %239 = stablehlo.broadcast_in_dim %cst_89, dims = [] : (tensor<f32>) -> tensor<24x16xf32>
    %240 = stablehlo.multiply %arg14, %239 : tensor<24x16xf32>
    %cst_90 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %241 = stablehlo.power %cst_90, %103 : tensor<f32>
    %cst_91 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %242 = stablehlo.multiply %241, %cst_91 : tensor<f32>
    %cst_92 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %243 = stablehlo.subtract %cst_92, %242 : tensor<f32>
    %cst_93 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %244 = stablehlo.divide %cst_93, %243 : tensor<f32>
    %cst_94 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %245 = stablehlo.multiply %244, %cst_94 : tensor<f32>
    %246 = stablehlo.broadcast_in_dim %245, dims = [] : (tensor<f32>) -> tensor<24x16xf32>
    %247 = stablehlo.multiply %246, %221 : tensor<24x16xf32>
    %248 = stablehlo.divide %247, %238 : tensor<24x16xf32>
    %cst_95 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %249 = stablehlo.broadcast_in_dim %cst_95, dims = [] : (tensor<f32>) -> tensor<24x16xf32>
    %250 = stablehlo.multiply %248, %249 : tensor<24x16xf32>
    %251 = stablehlo.subtract %240, %250 : tensor<24x16xf32>
    %cst_96 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %252 = stablehlo.broadcast_in_dim %cst_96, dims = [] : (tensor<f32>) -> tensor<100x16xf32>
    %253 = stablehlo.multiply %arg5, %252 : tensor<100x16xf32>
    %cst_97 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %254 = stablehlo.broadcast_in_dim %cst_97, dims = [] : (tensor<f32>) -> tensor<100x16xf32>
    %255 = stablehlo.multiply %102, %254 : tensor<100x16xf32>
    %cst_98 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %256 = stablehlo.broadcast_in_dim %cst_98, dims = [] : (tensor<f32>) -> tensor<100x16xf32>
    %257 = stablehlo.multiply %255, %256 : tensor<100x16xf32>
    %258 = stablehlo.add %253, %257 : tensor<100x16xf32>
    %cst_99 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %259 = stablehlo.broadcast_in_dim %cst_99, dims = [] : (tensor<f32>) -> tensor<100x16xf32>
    %260 = stablehlo.multiply %arg10, %259 : tensor<100x16xf32>
    %cst_100 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %261 = stablehlo.broadcast_in_dim %cst_100, dims = [] : (tensor<f32>) -> tensor<100x16xf32>
    %262 = stablehlo.multiply %102, %261 : tensor<100x16xf32>
    %263 = stablehlo.multiply %262, %102 : tensor<100x16xf32>
    %cst_101 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %264 = stablehlo.broadcast_in_dim %cst_101, dims = [] : (tensor<f32>) -> tensor<100x16xf32>
    %265 = stablehlo.multiply %263, %264 : tensor<100x16xf32>
    %266 = stablehlo.add %260, %265 : tensor<100x16xf32>
    %267 = stablehlo.sqrt %266 : tensor<100x16xf32>
    %cst_102 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %268 = stablehlo.power %cst_102, %103 : tensor<f32>
    %cst_103 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %269 = stablehlo.multiply %268, %cst_103 : tensor<f32>
    %cst_104 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %270 = stablehlo.subtract %cst_104, %269 : tensor<f32>
    %271 = stablehlo.sqrt %270 : tensor<f32>
    %272 = stablehlo.broadcast_in_dim %271, dims = [] : (tensor<f32>) -> tensor<100x16xf32>
    %273 = stablehlo.divide %267, %272 : tensor<100x16xf32>
    %cst_105 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %274 = stablehlo.broadcast_in_dim %cst_105, dims = [] : (tensor<f32>) -> tensor<100x16xf32>
    %275 = stablehlo.add %273, %274 : tensor<100x16xf32>
    %cst_106 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %276 = stablehlo.broadcast_in_dim %cst_106, dims = [] : (tensor<f32>) -> tensor<100x16xf32>
    %277 = stablehlo.multiply %arg15, %276 : tensor<100x16xf32>
    %cst_107 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %278 = stablehlo.power %cst_107, %103 : tensor<f32>
    %cst_108 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %279 = stablehlo.multiply %278, %cst_108 : tensor<f32>
    %cst_109 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %280 = stablehlo.subtract %cst_109, %279 : tensor<f32>
    %cst_110 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %281 = stablehlo.divide %cst_110, %280 : tensor<f32>
    %cst_111 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %282 = stablehlo.multiply %281, %cst_111 : tensor<f32>
    %283 = stablehlo.broadcast_in_dim %282, dims = [] : (tensor<f32>) -> tensor<100x16xf32>
    %284 = stablehlo.multiply %283, %258 : tensor<100x16xf32>
    %285 = stablehlo.divide %284, %275 : tensor<100x16xf32>
    %cst_112 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %286 = stablehlo.broadcast_in_dim %cst_112, dims = [] : (tensor<f32>) -> tensor<100x16xf32>
    %287 = stablehlo.multiply %285, %286 : tensor<100x16xf32>
    %288 = stablehlo.subtract %277, %287 : tensor<100x16xf32>
    return %103, %110, %147, %184, %221, %258, %118, %155, %192, %229, %266, %140, %177, %214, %251, %288, %64 : tensor<f32>, tensor<4xf32>, tensor<4x24xf32>, tensor<24xf32>, tensor<24x16xf32>, tensor<100x16xf32>, tensor<4xf32>, tensor<4x24xf32>, tensor<24xf32>, tensor<24x16xf32>, tensor<100x16xf32>, tensor<4xf32>, tensor<4x24xf32>, tensor<24xf32>, tensor<24x16xf32>, tensor<100x16xf32>, tensor<f32>
  }
  func.func private @_take(%arg0: tensor<100x16xf32>, %arg1: tensor<8x12xi32>) -> tensor<8x12x16xf32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<8x12xi32>
    %1 = stablehlo.compare LT, %arg1, %0, SIGNED : (tensor<8x12xi32>, tensor<8x12xi32>) -> tensor<8x12xi1>
    %c_0 = stablehlo.constant dense<100> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<8x12xi32>
    %3 = stablehlo.add %arg1, %2 : tensor<8x12xi32>
    %4 = call @_where(%1, %3, %arg1) : (tensor<8x12xi1>, tensor<8x12xi32>, tensor<8x12xi32>) -> tensor<8x12xi32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0, 1] : (tensor<8x12xi32>) -> tensor<8x12x1xi32>
    %c_1 = stablehlo.constant dense<99> : tensor<1xi32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %6 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<8x12x1xi32>
    %7 = stablehlo.compare GE, %5, %6, SIGNED : (tensor<8x12x1xi32>, tensor<8x12x1xi32>) -> tensor<8x12x1xi1>
    %8 = stablehlo.broadcast_in_dim %c_1, dims = [2] : (tensor<1xi32>) -> tensor<1x1x1xi32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1, 2] : (tensor<1x1x1xi32>) -> tensor<8x12x1xi32>
    %10 = stablehlo.compare LE, %5, %9, SIGNED : (tensor<8x12x1xi32>, tensor<8x12x1xi32>) -> tensor<8x12x1xi1>
    %11 = stablehlo.and %7, %10 : tensor<8x12x1xi1>
    %c_3 = stablehlo.constant dense<true> : tensor<i1>
    %12 = stablehlo.reduce(%11 init: %c_3) applies stablehlo.and across dimensions = [2] : (tensor<8x12x1xi1>, tensor<i1>) -> tensor<8x12xi1>
    %13 = "stablehlo.gather"(%arg0, %5) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 16>}> : (tensor<100x16xf32>, tensor<8x12x1xi32>) -> tensor<8x12x16xf32>
    %14 = stablehlo.broadcast_in_dim %12, dims = [0, 1] : (tensor<8x12xi1>) -> tensor<8x12x16xi1>
    %cst = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %15 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<8x12x16xf32>
    %16 = stablehlo.select %14, %13, %15 : tensor<8x12x16xi1>, tensor<8x12x16xf32>
    return %16 : tensor<8x12x16xf32>
  }
  func.func private @_where(%arg0: tensor<8x12xi1>, %arg1: tensor<8x12xi32>, %arg2: tensor<8x12xi32>) -> tensor<8x12xi32> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<8x12xi1>, tensor<8x12xi32>
    return %0 : tensor<8x12xi32>
  }
  func.func private @_take_0(%arg0: tensor<8x12xi32>) -> tensor<8x12x1xi32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<8x12xi32>
    %1 = stablehlo.compare LT, %arg0, %0, SIGNED : (tensor<8x12xi32>, tensor<8x12xi32>) -> tensor<8x12xi1>
    %c_0 = stablehlo.constant dense<100> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<8x12xi32>
    %3 = stablehlo.add %arg0, %2 : tensor<8x12xi32>
    %4 = call @_where_1(%1, %3, %arg0) : (tensor<8x12xi1>, tensor<8x12xi32>, tensor<8x12xi32>) -> tensor<8x12xi32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0, 1] : (tensor<8x12xi32>) -> tensor<8x12x1xi32>
    return %5 : tensor<8x12x1xi32>
  }
  func.func private @_where_1(%arg0: tensor<8x12xi1>, %arg1: tensor<8x12xi32>, %arg2: tensor<8x12xi32>) -> tensor<8x12xi32> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<8x12xi1>, tensor<8x12xi32>
    return %0 : tensor<8x12xi32>
  }
  func.func private @log_softmax(%arg0: tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x1xf32>) {
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.maximum across dimensions = [1] : (tensor<8x4xf32>, tensor<f32>) -> tensor<8xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %2 = stablehlo.maximum %1, %0 : tensor<8xf32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<8xf32>) -> tensor<8x1xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<8x1xf32>) -> tensor<8x4xf32>
    %5 = stablehlo.subtract %arg0, %4 : tensor<8x4xf32>
    %6 = stablehlo.exponential %5 : tensor<8x4xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %7 = stablehlo.reduce(%6 init: %cst_1) applies stablehlo.add across dimensions = [1] : (tensor<8x4xf32>, tensor<f32>) -> tensor<8xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0] : (tensor<8xf32>) -> tensor<8x1xf32>
    %9 = stablehlo.log %8 : tensor<8x1xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1] : (tensor<8x1xf32>) -> tensor<8x4xf32>
    %11 = stablehlo.subtract %5, %10 : tensor<8x4xf32>
    return %11, %6, %8 : tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x1xf32>
  }
  func.func private @_where_2(%arg0: tensor<8xi1>, %arg1: tensor<8xi32>, %arg2: tensor<i32>) -> tensor<8xi32> {
    %0 = stablehlo.convert %arg2 : tensor<i32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<i32>) -> tensor<8xi32>
    %2 = stablehlo.select %arg0, %arg1, %1 : tensor<8xi1>, tensor<8xi32>
    return %2 : tensor<8xi32>
  }
  func.func private @_where_3(%arg0: tensor<8xi1>, %arg1: tensor<8xf32>, %arg2: tensor<i32>) -> tensor<8xf32> {
    %0 = stablehlo.convert %arg2 : (tensor<i32>) -> tensor<f32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %2 = stablehlo.select %arg0, %arg1, %1 : tensor<8xi1>, tensor<8xf32>
    return %2 : tensor<8xf32>
  }
  func.func private @_where_4(%arg0: tensor<8xi1>, %arg1: tensor<8xf32>) -> tensor<8xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %1 = stablehlo.select %arg0, %arg1, %0 : tensor<8xi1>, tensor<8xf32>
    return %1 : tensor<8xf32>
  }
  func.func private @log_softmax_5(%arg0: tensor<8x4xf32>, %arg1: tensor<8x1xf32>, %arg2: tensor<8x4xf32>) -> tensor<8x4xf32> {
    %0 = stablehlo.negate %arg2 : tensor<8x4xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<8x4xf32>, tensor<f32>) -> tensor<8xf32>
    %2 = stablehlo.reshape %1 : (tensor<8xf32>) -> tensor<8x1xf32>
    %3 = stablehlo.divide %2, %arg1 : tensor<8x1xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %4 = stablehlo.reduce(%3 init: %cst_0) applies stablehlo.add across dimensions = [1] : (tensor<8x1xf32>, tensor<f32>) -> tensor<8xf32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<8xf32>) -> tensor<8x4xf32>
    %6 = stablehlo.multiply %5, %arg0 : tensor<8x4xf32>
    %7 = stablehlo.add %arg2, %6 : tensor<8x4xf32>
    return %7 : tensor<8x4xf32>
  }
  func.func private @_take_6(%arg0: tensor<8x12x1xi32>, %arg1: tensor<8x12x16xf32>) -> tensor<100x16xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<100x16xf32>
    %1 = "stablehlo.scatter"(%0, %arg0, %arg1) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 2>, unique_indices = false}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %2 = stablehlo.add %arg2, %arg3 : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }) : (tensor<100x16xf32>, tensor<8x12x1xi32>, tensor<8x12x16xf32>) -> tensor<100x16xf32>
    return %1 : tensor<100x16xf32>
  }
}
