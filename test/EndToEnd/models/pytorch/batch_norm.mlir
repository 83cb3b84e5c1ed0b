module @jit_call_torch attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<10xf32> {tf.aliasing_output = 0 : i32}, %arg1: tensor<10x12xf32> {tf.aliasing_output = 1 : i32}, %arg2: tensor<8x3x3x3xf32> {tf.aliasing_output = 2 : i32}, %arg3: tensor<8xf32> {tf.aliasing_output = 3 : i32}, %arg4: tensor<8xf32> {tf.aliasing_output = 4 : i32}, %arg5: tensor<12xf32> {tf.aliasing_output = 5 : i32}, %arg6: tensor<12xf32> {tf.aliasing_output = 6 : i32}, %arg7: tensor<12x8x3x3xf32> {tf.aliasing_output = 7 : i32}, %arg8: tensor<10xf32> {tf.aliasing_output = 8 : i32}, %arg9: tensor<10x12xf32> {tf.aliasing_output = 9 : i32}, %arg10: tensor<8x3x3x3xf32> {tf.aliasing_output = 10 : i32}, %arg11: tensor<8xf32> {tf.aliasing_output = 11 : i32}, %arg12: tensor<8xf32> {tf.aliasing_output = 12 : i32}, %arg13: tensor<12xf32> {tf.aliasing_output = 13 : i32}, %arg14: tensor<12xf32> {tf.aliasing_output = 14 : i32}, %arg15: tensor<12x8x3x3xf32> {tf.aliasing_output = 15 : i32}, %arg16: tensor<8x3x8x8xf32>, %arg17: tensor<8xi32>) -> (tensor<10xf32> {jax.result_info = "result[0]['optimizer']['classify.bias']"}, tensor<10x12xf32> {jax.result_info = "result[0]['optimizer']['classify.weight']"}, tensor<8x3x3x3xf32> {jax.result_info = "result[0]['optimizer']['first.weight']"}, tensor<8xf32> {jax.result_info = "result[0]['optimizer']['norm1.bias']"}, tensor<8xf32> {jax.result_info = "result[0]['optimizer']['norm1.weight']"}, tensor<12xf32> {jax.result_info = "result[0]['optimizer']['norm2.bias']"}, tensor<12xf32> {jax.result_info = "result[0]['optimizer']['norm2.weight']"}, tensor<12x8x3x3xf32> {jax.result_info = "result[0]['optimizer']['second.weight']"}, tensor<10xf32> {jax.result_info = "result[0]['parameters']['classify.bias']"}, tensor<10x12xf32> {jax.result_info = "result[0]['parameters']['classify.weight']"}, tensor<8x3x3x3xf32> {jax.result_info = "result[0]['parameters']['first.weight']"}, tensor<8xf32> {jax.result_info = "result[0]['parameters']['norm1.bias']"}, tensor<8xf32> {jax.result_info = "result[0]['parameters']['norm1.weight']"}, tensor<12xf32> {jax.result_info = "result[0]['parameters']['norm2.bias']"}, tensor<12xf32> {jax.result_info = "result[0]['parameters']['norm2.weight']"}, tensor<12x8x3x3xf32> {jax.result_info = "result[0]['parameters']['second.weight']"}, tensor<f32> {jax.result_info = "result[1]"}) {
    %0 = stablehlo.convolution(%arg16, %arg10) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<8x3x8x8xf32>, tensor<8x3x3x3xf32>) -> tensor<8x8x8x8xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [0, 2, 3] : (tensor<8x8x8x8xf32>, tensor<f32>) -> tensor<8xf32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [1] : (tensor<8xf32>) -> tensor<1x8x1x1xf32>
    %cst_0 = stablehlo.constant dense<5.120000e+02> : tensor<f32>
    %3 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<1x8x1x1xf32>
    %4 = stablehlo.divide %2, %3 : tensor<1x8x1x1xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %5:4 = call @_var(%0, %c) : (tensor<8x8x8x8xf32>, tensor<i32>) -> (tensor<8xf32>, tensor<8x8x8x8xf32>, tensor<f32>, tensor<i1>)
    %6 = stablehlo.reshape %5#0 : (tensor<8xf32>) -> tensor<1x8x1x1xf32>
    %cst_1 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %7 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<1x8x1x1xf32>
    %8 = stablehlo.add %6, %7 : tensor<1x8x1x1xf32>
    %9 = stablehlo.rsqrt %8 : tensor<1x8x1x1xf32>
    %10 = stablehlo.divide %9, %8 : tensor<1x8x1x1xf32>
    %cst_2 = stablehlo.constant dense<-5.000000e-01> : tensor<f32>
    %11 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<1x8x1x1xf32>
    %12 = stablehlo.multiply %11, %10 : tensor<1x8x1x1xf32>
    %13 = stablehlo.broadcast_in_dim %4, dims = [0, 1, 2, 3] : (tensor<1x8x1x1xf32>) -> tensor<8x8x8x8xf32>
    %14 = stablehlo.subtract %0, %13 : tensor<8x8x8x8xf32>
    %15 = stablehlo.broadcast_in_dim %9, dims = [0, 1, 2, 3] : (tensor<1x8x1x1xf32>) -> tensor<8x8x8x8xf32>
    %16 = stablehlo.multiply %14, %15 : tensor<8x8x8x8xf32>
    %17 = stablehlo.reshape %arg12 : (tensor<8xf32>) -> tensor<1x8x1x1xf32>
    %18 = stablehlo.broadcast_in_dim %17, dims = [0, 1, 2, 3] : (tensor<1x8x1x1xf32>) -> tensor<8x8x8x8xf32>
    %19 = stablehlo.multiply %16, %18 : tensor<8x8x8x8xf32>
    %20 = stablehlo.reshape %arg11 : (tensor<8xf32>) -> tensor<1x8x1x1xf32>
    %21 = stablehlo.broadcast_in_dim %20, dims = [0, 1, 2, 3] : (tensor<1x8x1x1xf32>) -> tensor<8x8x8x8xf32>
    %22 = stablehlo.add %19, %21 : tensor<8x8x8x8xf32>
    %23 = call @relu(%22) : (tensor<8x8x8x8xf32>) -> tensor<8x8x8x8xf32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %24 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<8x8x8x8xf32>
    %25 = stablehlo.compare GT, %22, %24, FLOAT : (tensor<8x8x8x8xf32>, tensor<8x8x8x8xf32>) -> tensor<8x8x8x8xi1>
    %26 = stablehlo.convolution(%23, %arg15) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [2, 2], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<8x8x8x8xf32>, tensor<12x8x3x3xf32>) -> tensor<8x12x4x4xf32>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %27 = stablehlo.reduce(%26 init: %cst_4) applies stablehlo.add across dimensions = [0, 2, 3] : (tensor<8x12x4x4xf32>, tensor<f32>) -> tensor<12xf32>
    %28 = stablehlo.broadcast_in_dim %27, dims = [1] : (tensor<12xf32>) -> tensor<1x12x1x1xf32>
    %cst_5 = stablehlo.constant dense<1.280000e+02> : tensor<f32>
    %29 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<1x12x1x1xf32>
    %30 = stablehlo.divide %28, %29 : tensor<1x12x1x1xf32>
    %c_6 = stablehlo.constant dense<0> : tensor<i32>
    %31:4 = call @_var_0(%26, %c_6) : (tensor<8x12x4x4xf32>, tensor<i32>) -> (tensor<12xf32>, tensor<8x12x4x4xf32>, tensor<f32>, tensor<i1>)
    %32 = stablehlo.reshape %31#0 : (tensor<12xf32>) -> tensor<1x12x1x1xf32>
    %cst_7 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %33 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<1x12x1x1xf32>
    %34 = stablehlo.add %32, %33 : tensor<1x12x1x1xf32>
    %35 = stablehlo.rsqrt %34 : tensor<1x12x1x1xf32>
    %36 = stablehlo.divide %35, %34 : tensor<1x12x1x1xf32>
    %cst_8 = stablehlo.constant dense<-5.000000e-01> : tensor<f32>
    %37 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<1x12x1x1xf32>
    %38 = stablehlo.multiply %37, %36 : tensor<1x12x1x1xf32>
    %39 = stablehlo.broadcast_in_dim %30, dims = [0, 1, 2, 3] : (tensor<1x12x1x1xf32>) -> tensor<8x12x4x4xf32>
    %40 = stablehlo.subtract %26, %39 : tensor<8x12x4x4xf32>
    %41 = stablehlo.broadcast_in_dim %35, dims = [0, 1, 2, 3] : (tensor<1x12x1x1xf32>) -> tensor<8x12x4x4xf32>
    %42 = stablehlo.multiply %40, %41 : tensor<8x12x4x4xf32>
    %43 = stablehlo.reshape %arg14 : (tensor<12xf32>) -> tensor<1x12x1x1xf32>
    %44 = stablehlo.broadcast_in_dim %43, dims = [0, 1, 2, 3] : (tensor<1x12x1x1xf32>) -> tensor<8x12x4x4xf32>
    %45 = stablehlo.multiply %42, %44 : tensor<8x12x4x4xf32>
    %46 = stablehlo.reshape %arg13 : (tensor<12xf32>) -> tensor<1x12x1x1xf32>
    %47 = stablehlo.broadcast_in_dim %46, dims = [0, 1, 2, 3] : (tensor<1x12x1x1xf32>) -> tensor<8x12x4x4xf32>
    %48 = stablehlo.add %45, %47 : tensor<8x12x4x4xf32>
    %49 = call @relu_2(%48) : (tensor<8x12x4x4xf32>) -> tensor<8x12x4x4xf32>
    %cst_9 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %50 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<8x12x4x4xf32>
    %51 = stablehlo.compare GT, %48, %50, FLOAT : (tensor<8x12x4x4xf32>, tensor<8x12x4x4xf32>) -> tensor<8x12x4x4xi1>
    %cst_10 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %52 = stablehlo.reduce(%49 init: %cst_10) applies stablehlo.add across dimensions = [2, 3] : (tensor<8x12x4x4xf32>, tensor<f32>) -> tensor<8x12xf32>
    %cst_11 = stablehlo.constant dense<1.600000e+01> : tensor<f32>
    %53 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<8x12xf32>
    %54 = stablehlo.divide %52, %53 : tensor<8x12xf32>
    %55 = stablehlo.dot_general %54, %arg9, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<8x12xf32>, tensor<10x12xf32>) -> tensor<8x10xf32>
    %56 = stablehlo.broadcast_in_dim %arg8, dims = [1] : (tensor<10xf32>) -> tensor<1x10xf32>
    %57 = stablehlo.broadcast_in_dim %56, dims = [0, 1] : (tensor<1x10xf32>) -> tensor<8x10xf32>
    %58 = stablehlo.add %55, %57 : tensor<8x10xf32>
    %59:3 = call @log_softmax(%58) : (tensor<8x10xf32>) -> (tensor<8x10xf32>, tensor<8x10xf32>, tensor<8x1xf32>)
    %c_12 = stablehlo.constant dense<-100> : tensor<i32>
    %60 = stablehlo.broadcast_in_dim %c_12, dims = [] : (tensor<i32>) -> tensor<8xi32>
    %61 = stablehlo.compare NE, %arg17, %60, SIGNED : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi1>
    %c_13 = stablehlo.constant dense<0> : tensor<i32>
    %62 = call @_where_3(%61, %arg17, %c_13) : (tensor<8xi1>, tensor<8xi32>, tensor<i32>) -> tensor<8xi32>
    %63 = stablehlo.broadcast_in_dim %62, dims = [0] : (tensor<8xi32>) -> tensor<8x1xi32>
    %64 = stablehlo.iota dim = 0 : tensor<8xi32>
    %65 = stablehlo.reshape %64 : (tensor<8xi32>) -> tensor<8x1xi32>
    %c_14 = stablehlo.constant dense<0> : tensor<i32>
    %66 = stablehlo.broadcast_in_dim %c_14, dims = [] : (tensor<i32>) -> tensor<8x1xi32>
    %67 = stablehlo.compare LT, %65, %66, SIGNED : (tensor<8x1xi32>, tensor<8x1xi32>) -> tensor<8x1xi1>
    %c_15 = stablehlo.constant dense<8> : tensor<i32>
    %68 = stablehlo.broadcast_in_dim %c_15, dims = [] : (tensor<i32>) -> tensor<8x1xi32>
    %69 = stablehlo.add %65, %68 : tensor<8x1xi32>
    %70 = stablehlo.select %67, %69, %65 : tensor<8x1xi1>, tensor<8x1xi32>
    %c_16 = stablehlo.constant dense<0> : tensor<i32>
    %71 = stablehlo.broadcast_in_dim %c_16, dims = [] : (tensor<i32>) -> tensor<8x1xi32>
    %72 = stablehlo.compare LT, %63, %71, SIGNED : (tensor<8x1xi32>, tensor<8x1xi32>) -> tensor<8x1xi1>
    %c_17 = stablehlo.constant dense<10> : tensor<i32>
    %73 = stablehlo.broadcast_in_dim %c_17, dims = [] : (tensor<i32>) -> tensor<8x1xi32>
    %74 = stablehlo.add %63, %73 : tensor<8x1xi32>
    %75 = stablehlo.select %72, %74, %63 : tensor<8x1xi1>, tensor<8x1xi32>
    %76 = stablehlo.broadcast_in_dim %70, dims = [0, 1] : (tensor<8x1xi32>) -> tensor<8x1x1xi32>
    %77 = stablehlo.broadcast_in_dim %75, dims = [0, 1] : (tensor<8x1xi32>) -> tensor<8x1x1xi32>
    %78 = stablehlo.concatenate %76, %77, dim = 2 : (tensor<8x1x1xi32>, tensor<8x1x1xi32>) -> tensor<8x1x2xi32>
    %79 = "stablehlo.gather"(%59#0, %78) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1>}> : (tensor<8x10xf32>, tensor<8x1x2xi32>) -> tensor<8x1xf32>
    %80 = stablehlo.reshape %79 : (tensor<8x1xf32>) -> tensor<8xf32>
    %cst_18 = stablehlo.constant dense<-1.000000e+00> : tensor<f32>
    %81 = stablehlo.broadcast_in_dim %cst_18, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %82 = stablehlo.multiply %81, %80 : tensor<8xf32>
    %c_19 = stablehlo.constant dense<-100> : tensor<i32>
    %83 = stablehlo.broadcast_in_dim %c_19, dims = [] : (tensor<i32>) -> tensor<8xi32>
    %84 = stablehlo.compare NE, %arg17, %83, SIGNED : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi1>
    %c_20 = stablehlo.constant dense<0> : tensor<i32>
    %85 = call @_where_4(%84, %82, %c_20) : (tensor<8xi1>, tensor<8xf32>, tensor<i32>) -> tensor<8xf32>
    %c_21 = stablehlo.constant dense<-100> : tensor<i32>
    %86 = stablehlo.broadcast_in_dim %c_21, dims = [] : (tensor<i32>) -> tensor<8xi32>
    %87 = stablehlo.compare NE, %arg17, %86, SIGNED : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi1>
    %88 = stablehlo.convert %87 : (tensor<8xi1>) -> tensor<8xi32>
    %c_22 = stablehlo.constant dense<0> : tensor<i32>
    %89 = stablehlo.reduce(%88 init: %c_22) applies stablehlo.add across dimensions = [0] : (tensor<8xi32>, tensor<i32>) -> tensor<i32>
    %cst_23 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %90 = stablehlo.reduce(%85 init: %cst_23) applies stablehlo.add across dimensions = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
    %91 = stablehlo.convert %89 : (tensor<i32>) -> tensor<f32>
    %92 = stablehlo.divide %90, %91 : tensor<f32>
    %cst_24 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %93 = stablehlo.divide %cst_24, %91 : tensor<f32>
    %94 = stablehlo.broadcast_in_dim %93, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %95 = call @_where_5(%84, %94) : (tensor<8xi1>, tensor<8xf32>) -> tensor<8xf32>
    %cst_25 = stablehlo.constant dense<-1.000000e+00> : tensor<f32>
    %96 = stablehlo.broadcast_in_dim %cst_25, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %97 = stablehlo.multiply %96, %95 : tensor<8xf32>
    %98 = stablehlo.broadcast_in_dim %97, dims = [0] : (tensor<8xf32>) -> tensor<8x1xf32>
    %cst_26 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %99 = stablehlo.broadcast_in_dim %cst_26, dims = [] : (tensor<f32>) -> tensor<8x10xf32>
    %100 = "stablehlo.scatter"(%99, %78, %98) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 2>, unique_indices = false}> ({
    ^bb0(%arg18: tensor<f32>, %arg19: tensor<f32>):
      %250 = stablehlo.add %arg18, %arg19 : tensor<f32>
      stablehlo.return %250 : tensor<f32>
    }) : (tensor<8x10xf32>, tensor<8x1x2xi32>, tensor<8x1xf32>) -> tensor<8x10xf32>
    %101 = call @log_softmax_6(%59#1, %59#2, %100) : (tensor<8x10xf32>, tensor<8x1xf32>, tensor<8x10xf32>) -> tensor<8x10xf32>
    %cst_27 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %102 = stablehlo.reduce(%101 init: %cst_27) applies stablehlo.add across dimensions = [0] : (tensor<8x10xf32>, tensor<f32>) -> tensor<10xf32>
    %103 = stablehlo.reshape %102 : (tensor<10xf32>) -> tensor<1x10xf32>
    %cst_28 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %104 = stablehlo.reduce(%103 init: %cst_28) applies stablehlo.add across dimensions = [0] : (tensor<1x10xf32>, tensor<f32>) -> tensor<10xf32>
    %105 = stablehlo.dot_general %101, %54, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x10xf32>, tensor<8x12xf32>) -> tensor<10x12xf32>
    %106 = stablehlo.dot_general %101, %arg9, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x10xf32>, tensor<10x12xf32>) -> tensor<8x12xf32>
    %cst_29 = stablehlo.constant dense<1.600000e+01> : tensor<f32>
    %107 = stablehlo.broadcast_in_dim %cst_29, dims = [] : (tensor<f32>) -> tensor<8x12xf32>
    %108 = stablehlo.divide %106, %107 : tensor<8x12xf32>
    %109 = stablehlo.broadcast_in_dim %108, dims = [0, 1] : (tensor<8x12xf32>) -> tensor<8x12x4x4xf32>
    %cst_30 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %110 = stablehlo.broadcast_in_dim %cst_30, dims = [] : (tensor<f32>) -> tensor<8x12x4x4xf32>
    %111 = stablehlo.select %51, %109, %110 : tensor<8x12x4x4xi1>, tensor<8x12x4x4xf32>
    %cst_31 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %112 = stablehlo.reduce(%111 init: %cst_31) applies stablehlo.add across dimensions = [0, 2, 3] : (tensor<8x12x4x4xf32>, tensor<f32>) -> tensor<12xf32>
    %113 = stablehlo.reshape %112 : (tensor<12xf32>) -> tensor<1x12x1x1xf32>
    %114 = stablehlo.reshape %113 : (tensor<1x12x1x1xf32>) -> tensor<12xf32>
    %115 = stablehlo.multiply %42, %111 : tensor<8x12x4x4xf32>
    %cst_32 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %116 = stablehlo.reduce(%115 init: %cst_32) applies stablehlo.add across dimensions = [0, 2, 3] : (tensor<8x12x4x4xf32>, tensor<f32>) -> tensor<12xf32>
    %117 = stablehlo.reshape %116 : (tensor<12xf32>) -> tensor<1x12x1x1xf32>
    %118 = stablehlo.broadcast_in_dim %43, dims = [0, 1, 2, 3] : (tensor<1x12x1x1xf32>) -> tensor<8x12x4x4xf32>
    %119 = stablehlo.multiply %111, %118 : tensor<8x12x4x4xf32>
    %120 = stablehlo.reshape %117 : (tensor<1x12x1x1xf32>) -> tensor<12xf32>
    %121 = stablehlo.multiply %40, %119 : tensor<8x12x4x4xf32>
    %cst_33 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %122 = stablehlo.reduce(%121 init: %cst_33) applies stablehlo.add across dimensions = [0, 2, 3] : (tensor<8x12x4x4xf32>, tensor<f32>) -> tensor<12xf32>
    %123 = stablehlo.reshape %122 : (tensor<12xf32>) -> tensor<1x12x1x1xf32>
    %124 = stablehlo.broadcast_in_dim %35, dims = [0, 1, 2, 3] : (tensor<1x12x1x1xf32>) -> tensor<8x12x4x4xf32>
    %125 = stablehlo.multiply %119, %124 : tensor<8x12x4x4xf32>
    %126 = stablehlo.negate %125 : tensor<8x12x4x4xf32>
    %cst_34 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %127 = stablehlo.reduce(%126 init: %cst_34) applies stablehlo.add across dimensions = [0, 2, 3] : (tensor<8x12x4x4xf32>, tensor<f32>) -> tensor<12xf32>
    %128 = stablehlo.reshape %127 : (tensor<12xf32>) -> tensor<1x12x1x1xf32>
    %129 = stablehlo.multiply %123, %38 : tensor<1x12x1x1xf32>
    %130 = stablehlo.reshape %129 : (tensor<1x12x1x1xf32>) -> tensor<12xf32>
    %131 = call @_var_7(%31#1, %31#2, %31#3, %130) : (tensor<8x12x4x4xf32>, tensor<f32>, tensor<i1>, tensor<12xf32>) -> tensor<8x12x4x4xf32>
    %132 = stablehlo.add %125, %131 : tensor<8x12x4x4xf32>
    %cst_35 = stablehlo.constant dense<1.280000e+02> : tensor<f32>
    %133 = stablehlo.broadcast_in_dim %cst_35, dims = [] : (tensor<f32>) -> tensor<1x12x1x1xf32>
    %134 = stablehlo.divide %128, %133 : tensor<1x12x1x1xf32>
    %cst_36 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %135 = stablehlo.reduce(%134 init: %cst_36) applies stablehlo.add across dimensions = [0, 2, 3] : (tensor<1x12x1x1xf32>, tensor<f32>) -> tensor<12xf32>
    %136 = stablehlo.broadcast_in_dim %135, dims = [1] : (tensor<12xf32>) -> tensor<8x12x4x4xf32>
    %137 = stablehlo.add %132, %136 : tensor<8x12x4x4xf32>
    %138 = stablehlo.convolution(%23, %137) dim_numbers = [f, b, 0, 1]x[i, o, 0, 1]->[f, b, 0, 1], window = {stride = [1, 1], pad = [[1, 0], [1, 0]], lhs_dilate = [1, 1], rhs_dilate = [2, 2], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<8x8x8x8xf32>, tensor<8x12x4x4xf32>) -> tensor<12x8x3x3xf32>
    %139 = stablehlo.reverse %arg15, dims = [2, 3] : tensor<12x8x3x3xf32>
    %140 = stablehlo.convolution(%137, %139) dim_numbers = [b, f, 0, 1]x[i, o, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[1, 2], [1, 2]], lhs_dilate = [2, 2], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<8x12x4x4xf32>, tensor<12x8x3x3xf32>) -> tensor<8x8x8x8xf32>
    %cst_37 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %141 = stablehlo.broadcast_in_dim %cst_37, dims = [] : (tensor<f32>) -> tensor<8x8x8x8xf32>
    %142 = stablehlo.select %25, %140, %141 : tensor<8x8x8x8xi1>, tensor<8x8x8x8xf32>
    %cst_38 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %143 = stablehlo.reduce(%142 init: %cst_38) applies stablehlo.add across dimensions = [0, 2, 3] : (tensor<8x8x8x8xf32>, tensor<f32>) -> tensor<8xf32>
    %144 = stablehlo.reshape %143 : (tensor<8xf32>) -> tensor<1x8x1x1xf32>
    %145 = stablehlo.reshape %144 : (tensor<1x8x1x1xf32>) -> tensor<8xf32>
    %146 = stablehlo.multiply %16, %142 : tensor<8x8x8x8xf32>
    %cst_39 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %147 = stablehlo.reduce(%146 init: %cst_39) applies stablehlo.add across dimensions = [0, 2, 3] : (tensor<8x8x8x8xf32>, tensor<f32>) -> tensor<8xf32>
    %148 = stablehlo.reshape %147 : (tensor<8xf32>) -> tensor<1x8x1x1xf32>
    %149 = stablehlo.broadcast_in_dim %17, dims = [0, 1, 2, 3] : (tensor<1x8x1x1xf32>) -> tensor<8x8x8x8xf32>
    %150 = stablehlo.multiply %142, %149 : tensor<8x8x8x8xf32>
    %151 = stablehlo.reshape %148 : (tensor<1x8x1x1xf32>) -> tensor<8xf32>
    %152 = stablehlo.multiply %14, %150 : tensor<8x8x8x8xf32>
    %cst_40 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %153 = stablehlo.reduce(%152 init: %cst_40) applies stablehlo.add across dimensions = [0, 2, 3] : (tensor<8x8x8x8xf32>, tensor<f32>) -> tensor<8xf32>
    %154 = stablehlo.reshape %153 : (tensor<8xf32>) -> tensor<1x8x1x1xf32>
    %155 = stablehlo.broadcast_in_dim %9, dims = [0, 1, 2, 3] : (tensor<1x8x1x1xf32>) -> tensor<8x8x8x8xf32>
    %156 = stablehlo.multiply %150, %155 : tensor<8x8x8x8xf32>
    %157 = stablehlo.negate %156 : tensor<8x8x8x8xf32>
    %cst_41 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %158 = stablehlo.reduce(%157 init: %cst_41) applies stablehlo.add across dimensions = [0, 2, 3] : (tensor<8x8x8x8xf32>, tensor<f32>) -> tensor<8xf32>
    %159 = stablehlo.reshape %158 : (tensor<8xf32>) -> tensor<1x8x1x1xf32>
    %160 = stablehlo.multiply %154, %12 : tensor<1x8x1x1xf32>
    %161 = stablehlo.reshape %160 : (tensor<1x8x1x1xf32>) -> tensor<8xf32>
    %162 = call @_var_9(%5#1, %5#2, %5#3, %161) : (tensor<8x8x8x8xf32>, tensor<f32>, tensor<i1>, tensor<8xf32>) -> tensor<8x8x8x8xf32>
    %163 = stablehlo.add %156, %162 : tensor<8x8x8x8xf32>
    %cst_42 = stablehlo.constant dense<5.120000e+02> : tensor<f32>
    %164 = stablehlo.broadcast_in_dim %cst_42, dims = [] : (tensor<f32>) -> tensor<1x8x1x1xf32>
    %165 = stablehlo.divide %159, %164 : tensor<1x8x1x1xf32>
    %cst_43 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %166 = stablehlo.reduce(%165 init: %cst_43) applies stablehlo.add across dimensions = [0, 2, 3] : (tensor<1x8x1x1xf32>, tensor<f32>) -> tensor<8xf32>
    %167 = stablehlo.broadcast_in_dim %166, dims = [1] : (tensor<8xf32>) -> tensor<8x8x8x8xf32>
    %168 = stablehlo.add %163, %167 : tensor<8x8x8x8xf32>
    %169 = stablehlo.convolution(%arg16, %168) dim_numbers = [f, b, 0, 1]x[i, o, 0, 1]->[f, b, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<8x3x8x8xf32>, tensor<8x8x8x8xf32>) -> tensor<8x3x3x3xf32>
    %cst_44 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %170 = stablehlo.broadcast_in_dim %cst_44, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %171 = stablehlo.multiply %arg0, %170 : tensor<10xf32>
    %cst_45 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %172 = stablehlo.broadcast_in_dim %cst_45, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %173 = stablehlo.multiply %104, %172 : tensor<10xf32>
    %174 = stablehlo.add %171, %173 : tensor<10xf32>
    %cst_46 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %175 = stablehlo.broadcast_in_dim %cst_46, dims = [] : (tensor<f32>) -> tensor<10x12xf32>
    %176 = stablehlo.multiply %arg1, %175 : tensor<10x12xf32>
    %cst_47 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %177 = stablehlo.broadcast_in_dim %cst_47, dims = [] : (tensor<f32>) -> tensor<10x12xf32>
    %178 = stablehlo.multiply %105, %177 : tensor<10x12xf32>
    %179 = stablehlo.add %176, %178 : tensor<10x12xf32>
    %cst_48 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %180 = stablehlo.broadcast_in_dim %cst_48, dims = [] : (tensor<f32>) -> tensor<8x3x3x3xf32>
    %181 = stablehlo.multiply %arg2, %180 : tensor<8x3x3x3xf32>
    %cst_49 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %182 = stablehlo.broadcast_in_dim %cst_49, dims = [] : (tensor<f32>) -> tensor<8x3x3x3xf32>
    %183 = stablehlo.multiply %169, %182 : tensor<8x3x3x3xf32>
    %184 = stablehlo.add %181, %183 : tensor<8x3x3x3xf32>
    %cst_50 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %185 = stablehlo.broadcast_in_dim %cst_50, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %186 = stablehlo.multiply %arg3, %185 : tensor<8xf32>
    %cst_51 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %187 = stablehlo.broadcast_in_dim %cst_51, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %188 = stablehlo.multiply %145, %187 : tensor<8xf32>
    %189 = stablehlo.add %186, %188 : tensor<8xf32>
    %cst_52 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %190 = stablehlo.broadcast_in_dim %cst_52, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %191 = stablehlo.multiply %arg4, %190 : tensor<8xf32>
    %cst_53 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %192 = stablehlo.broadcast_in_dim %cst_53, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %193 = stablehlo.multiply %151, %192 : tensor<8xf32>
    %194 = stablehlo.add %191, %193 : tensor<8xf32>
    %cst_54 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %195 = stablehlo.broadcast_in_dim %cst_54, dims = [] : (tensor<f32>) -> tensor<12xf32>
    %196 = stablehlo.multiply %arg5, %195 : tensor<12xf32>
    %cst_55 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %197 = stablehlo.broadcast_in_dim %cst_55, dims = [] : (tensor<f32>) -> tensor<12xf32>
    %198 = stablehlo.multiply %114, %197 : tensor<12xf32>
    %199 = stablehlo.add %196, %198 : tensor<12xf32>
    %cst_56 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %200 = stablehlo.broadcast_in_dim %cst_56, dims = [] : (tensor<f32>) -> tensor<12xf32>
    %201 = stablehlo.multiply %arg6, %200 : tensor<12xf32>
    %cst_57 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %202 = stablehlo.broadcast_in_dim %cst_57, dims = [] : (tensor<f32>) -> tensor<12xf32>
    %203 = stablehlo.multiply %120, %202 : tensor<12xf32>
    %204 = stablehlo.add %201, %203 : tensor<12xf32>
    %cst_58 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %205 = stablehlo.broadcast_in_dim %cst_58, dims = [] : (tensor<f32>) -> tensor<12x8x3x3xf32>
    %206 = stablehlo.multiply %arg7, %205 : tensor<12x8x3x3xf32>
    %cst_59 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %207 = stablehlo.broadcast_in_dim %cst_59, dims = [] : (tensor<f32>) -> tensor<12x8x3x3xf32>
    %208 = stablehlo.multiply %138, %207 : tensor<12x8x3x3xf32>
    %209 = stablehlo.add %206, %208 : tensor<12x8x3x3xf32>
    %cst_60 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %210 = stablehlo.broadcast_in_dim %cst_60, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %211 = stablehlo.multiply %174, %210 : tensor<10xf32>
    %cst_61 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %212 = stablehlo.broadcast_in_dim %cst_61, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %213 = stablehlo.multiply %211, %212 : tensor<10xf32>
    %214 = stablehlo.subtract %arg8, %213 : tensor<10xf32>
    %cst_62 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %215 = stablehlo.broadcast_in_dim %cst_62, dims = [] : (tensor<f32>) -> tensor<10x12xf32>
    %216 = stablehlo.multiply %179, %215 : tensor<10x12xf32>
    %cst_63 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %217 = stablehlo.broadcast_in_dim %cst_63, dims = [] : (tensor<f32>) -> tensor<10x12xf32>
    %218 = stablehlo.multiply %216, %217 : tensor<10x12xf32>
    %219 = stablehlo.subtract %arg9, %218 : tensor<10x12xf32>
    %cst_64 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %220 = stablehlo.broadcast_in_dim %cst_64, dims = [] : (tensor<f32>) -> tensor<8x3x3x3xf32>
    %221 = stablehlo.multiply %184, %220 : tensor<8x3x3x3xf32>
    %cst_65 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %222 = stablehlo.broadcast_in_dim %cst_65, dims = [] : (tensor<f32>) -> tensor<8x3x3x3xf32>
    %223 = stablehlo.multiply %221, %222 : tensor<8x3x3x3xf32>
    %224 = stablehlo.subtract %arg10, %223 : tensor<8x3x3x3xf32>
    %cst_66 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %225 = stablehlo.broadcast_in_dim %cst_66, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %226 = stablehlo.multiply %189, %225 : tensor<8xf32>
    %cst_67 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %227 = stablehlo.broadcast_in_dim %cst_67, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %228 = stablehlo.multiply %226, %227 : tensor<8xf32>
    %229 = stablehlo.subtract %arg11, %228 : tensor<8xf32>
    %cst_68 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %230 = stablehlo.broadcast_in_dim %cst_68, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %231 = stablehlo.multiply %194, %230 : tensor<8xf32>
    %cst_69 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %232 = stablehlo.broadcast_in_dim %cst_69, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %233 = stablehlo.multiply %231, %232 : tensor<8xf32>
    %234 = stablehlo.subtract %arg12, %233 : tensor<8xf32>
    %cst_70 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %235 = stablehlo.broadcast_in_dim %cst_70, dims = [] : (tensor<f32>) -> tensor<12xf32>
    %236 = stablehlo.multiply %199, %235 : tensor<12xf32>
    %cst_71 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %237 = stablehlo.broadcast_in_dim %cst_71, dims = [] : (tensor<f32>) -> tensor<12xf32>
    %238 = stablehlo.multiply %236, %237 : tensor<12xf32>
    %239 = stablehlo.subtract %arg13, %238 : tensor<12xf32>
    %cst_72 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %240 = stablehlo.broadcast_in_dim %cst_72, dims = [] : (tensor<f32>) -> tensor<12xf32>
    %241 = stablehlo.multiply %204, %240 : tensor<12xf32>
    %cst_73 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %242 = stablehlo.broadcast_in_dim %cst_73, dims = [] : (tensor<f32>) -> tensor<12xf32>
    %243 = stablehlo.multiply %241, %242 : tensor<12xf32>
    %244 = stablehlo.subtract %arg14, %243 : tensor<12xf32>
    %cst_74 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %245 = stablehlo.broadcast_in_dim %cst_74, dims = [] : (tensor<f32>) -> tensor<12x8x3x3xf32>
    %246 = stablehlo.multiply %209, %245 : tensor<12x8x3x3xf32>
    %cst_75 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %247 = stablehlo.broadcast_in_dim %cst_75, dims = [] : (tensor<f32>) -> tensor<12x8x3x3xf32>
    %248 = stablehlo.multiply %246, %247 : tensor<12x8x3x3xf32>
    %249 = stablehlo.subtract %arg15, %248 : tensor<12x8x3x3xf32>
    return %174, %179, %184, %189, %194, %199, %204, %209, %214, %219, %224, %229, %234, %239, %244, %249, %92 : tensor<10xf32>, tensor<10x12xf32>, tensor<8x3x3x3xf32>, tensor<8xf32>, tensor<8xf32>, tensor<12xf32>, tensor<12xf32>, tensor<12x8x3x3xf32>, tensor<10xf32>, tensor<10x12xf32>, tensor<8x3x3x3xf32>, tensor<8xf32>, tensor<8xf32>, tensor<12xf32>, tensor<12xf32>, tensor<12x8x3x3xf32>, tensor<f32>
  }
  func.func private @_var(%arg0: tensor<8x8x8x8xf32>, %arg1: tensor<i32>) -> (tensor<8xf32>, tensor<8x8x8x8xf32>, tensor<f32>, tensor<i1>) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.add across dimensions = [0, 2, 3] : (tensor<8x8x8x8xf32>, tensor<f32>) -> tensor<8xf32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [1] : (tensor<8xf32>) -> tensor<1x8x1x1xf32>
    %cst_0 = stablehlo.constant dense<5.120000e+02> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<1x8x1x1xf32>
    %3 = stablehlo.divide %1, %2 : tensor<1x8x1x1xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1, 2, 3] : (tensor<1x8x1x1xf32>) -> tensor<8x8x8x8xf32>
    %5 = stablehlo.subtract %arg0, %4 : tensor<8x8x8x8xf32>
    %6 = chlo.square %5 : tensor<8x8x8x8xf32> -> tensor<8x8x8x8xf32>
    %cst_1 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %7 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<8x8x8x8xf32>
    %8 = stablehlo.multiply %7, %5 : tensor<8x8x8x8xf32>
    %9 = stablehlo.convert %arg1 : (tensor<i32>) -> tensor<f32>
    %cst_2 = stablehlo.constant dense<5.120000e+02> : tensor<f32>
    %10 = stablehlo.subtract %cst_2, %9 : tensor<f32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %11 = stablehlo.reduce(%6 init: %cst_3) applies stablehlo.add across dimensions = [0, 2, 3] : (tensor<8x8x8x8xf32>, tensor<f32>) -> tensor<8xf32>
    %12 = stablehlo.broadcast_in_dim %10, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %13 = stablehlo.divide %11, %12 : tensor<8xf32>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %14 = stablehlo.compare GT, %10, %cst_4, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %cst_5 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %15 = call @_where(%14, %13, %cst_5) : (tensor<i1>, tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
    return %15, %8, %10, %14 : tensor<8xf32>, tensor<8x8x8x8xf32>, tensor<f32>, tensor<i1>
  }
  func.func private @_where(%arg0: tensor<i1>, %arg1: tensor<8xf32>, %arg2: tensor<f32>) -> tensor<8xf32> {
    %0 = stablehlo.convert %arg2 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %2 = stablehlo.select %arg0, %arg1, %1 : tensor<i1>, tensor<8xf32>
    return %2 : tensor<8xf32>
  }
  func.func private @relu(%arg0: tensor<8x8x8x8xf32>) -> tensor<8x8x8x8xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<8x8x8x8xf32>
    %1 = stablehlo.maximum %arg0, %0 : tensor<8x8x8x8xf32>
    return %1 : tensor<8x8x8x8xf32>
  }
  func.func private @_var_0(%arg0: tensor<8x12x4x4xf32>, %arg1: tensor<i32>) -> (tensor<12xf32>, tensor<8x12x4x4xf32>, tensor<f32>, tensor<i1>) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.add across dimensions = [0, 2, 3] : (tensor<8x12x4x4xf32>, tensor<f32>) -> tensor<12xf32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [1] : (tensor<12xf32>) -> tensor<1x12x1x1xf32>
    %cst_0 = stablehlo.constant dense<1.280000e+02> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<1x12x1x1xf32>
    %3 = stablehlo.divide %1, %2 : tensor<1x12x1x1xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1, 2, 3] : (tensor<1x12x1x1xf32>) -> tensor<8x12x4x4xf32>
    %5 = stablehlo.subtract %arg0, %4 : tensor<8x12x4x4xf32>
    %6 = chlo.square %5 : tensor<8x12x4x4xf32> -> tensor<8x12x4x4xf32>
    %cst_1 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %7 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<8x12x4x4xf32>
    %8 = stablehlo.multiply %7, %5 : tensor<8x12x4x4xf32>
    %9 = stablehlo.convert %arg1 : (tensor<i32>) -> tensor<f32>
    %cst_2 = stablehlo.constant dense<1.280000e+02> : tensor<f32>
    %10 = stablehlo.subtract %cst_2, %9 : tensor<f32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %11 = stablehlo.reduce(%6 init: %cst_3) applies stablehlo.add across dimensions = [0, 2, 3] : (tensor<8x12x4x4xf32>, tensor<f32>) -> tensor<12xf32>
    %12 = stablehlo.broadcast_in_dim %10, dims = [] : (tensor<f32>) -> tensor<12xf32>
    %13 = stablehlo.divide %11, %12 : tensor<12xf32>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %14 = stablehlo.compare GT, %10, %cst_4, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %cst_5 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %15 = call @_where_1(%14, %13, %cst_5) : (tensor<i1>, tensor<12xf32>, tensor<f32>) -> tensor<12xf32>
    return %15, %8, %10, %14 : tensor<12xf32>, tensor<8x12x4x4xf32>, tensor<f32>, tensor<i1>
  }
  func.func private @_where_1(%arg0: tensor<i1>, %arg1: tensor<12xf32>, %arg2: tensor<f32>) -> tensor<12xf32> {
    %0 = stablehlo.convert %arg2 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<12xf32>
    %2 = stablehlo.select %arg0, %arg1, %1 : tensor<i1>, tensor<12xf32>
    return %2 : tensor<12xf32>
  }
  func.func private @relu_2(%arg0: tensor<8x12x4x4xf32>) -> tensor<8x12x4x4xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<8x12x4x4xf32>
    %1 = stablehlo.maximum %arg0, %0 : tensor<8x12x4x4xf32>
    return %1 : tensor<8x12x4x4xf32>
  }
  func.func private @log_softmax(%arg0: tensor<8x10xf32>) -> (tensor<8x10xf32>, tensor<8x10xf32>, tensor<8x1xf32>) {
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.maximum across dimensions = [1] : (tensor<8x10xf32>, tensor<f32>) -> tensor<8xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %2 = stablehlo.maximum %1, %0 : tensor<8xf32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<8xf32>) -> tensor<8x1xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<8x1xf32>) -> tensor<8x10xf32>
    %5 = stablehlo.subtract %arg0, %4 : tensor<8x10xf32>
    %6 = stablehlo.exponential %5 : tensor<8x10xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %7 = stablehlo.reduce(%6 init: %cst_1) applies stablehlo.add across dimensions = [1] : (tensor<8x10xf32>, tensor<f32>) -> tensor<8xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0] : (tensor<8xf32>) -> tensor<8x1xf32>
    %9 = stablehlo.log %8 : tensor<8x1xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1] : (tensor<8x1xf32>) -> tensor<8x10xf32>
    %11 = stablehlo.subtract %5, %10 : tensor<8x10xf32>
    return %11, %6, %8 : tensor<8x10xf32>, tensor<8x10xf32>, tensor<8x1xf32>
  }
  func.func private @_where_3(%arg0: tensor<8xi1>, %arg1: tensor<8xi32>, %arg2: tensor<i32>) -> tensor<8xi32> {
    %0 = stablehlo.convert %arg2 : tensor<i32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<i32>) -> tensor<8xi32>
    %2 = stablehlo.select %arg0, %arg1, %1 : tensor<8xi1>, tensor<8xi32>
    return %2 : tensor<8xi32>
  }
  func.func private @_where_4(%arg0: tensor<8xi1>, %arg1: tensor<8xf32>, %arg2: tensor<i32>) -> tensor<8xf32> {
    %0 = stablehlo.convert %arg2 : (tensor<i32>) -> tensor<f32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %2 = stablehlo.select %arg0, %arg1, %1 : tensor<8xi1>, tensor<8xf32>
    return %2 : tensor<8xf32>
  }
  func.func private @_where_5(%arg0: tensor<8xi1>, %arg1: tensor<8xf32>) -> tensor<8xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %1 = stablehlo.select %arg0, %arg1, %0 : tensor<8xi1>, tensor<8xf32>
    return %1 : tensor<8xf32>
  }
  func.func private @log_softmax_6(%arg0: tensor<8x10xf32>, %arg1: tensor<8x1xf32>, %arg2: tensor<8x10xf32>) -> tensor<8x10xf32> {
    %0 = stablehlo.negate %arg2 : tensor<8x10xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<8x10xf32>, tensor<f32>) -> tensor<8xf32>
    %2 = stablehlo.reshape %1 : (tensor<8xf32>) -> tensor<8x1xf32>
    %3 = stablehlo.divide %2, %arg1 : tensor<8x1xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %4 = stablehlo.reduce(%3 init: %cst_0) applies stablehlo.add across dimensions = [1] : (tensor<8x1xf32>, tensor<f32>) -> tensor<8xf32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<8xf32>) -> tensor<8x10xf32>
    %6 = stablehlo.multiply %5, %arg0 : tensor<8x10xf32>
    %7 = stablehlo.add %arg2, %6 : tensor<8x10xf32>
    return %7 : tensor<8x10xf32>
  }
  func.func private @_var_7(%arg0: tensor<8x12x4x4xf32>, %arg1: tensor<f32>, %arg2: tensor<i1>, %arg3: tensor<12xf32>) -> tensor<8x12x4x4xf32> {
    %0 = call @_where_8(%arg2, %arg3) : (tensor<i1>, tensor<12xf32>) -> tensor<12xf32>
    %1 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f32>) -> tensor<12xf32>
    %2 = stablehlo.divide %0, %1 : tensor<12xf32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [1] : (tensor<12xf32>) -> tensor<8x12x4x4xf32>
    %4 = stablehlo.multiply %3, %arg0 : tensor<8x12x4x4xf32>
    %5 = stablehlo.negate %4 : tensor<8x12x4x4xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %6 = stablehlo.reduce(%5 init: %cst) applies stablehlo.add across dimensions = [0, 2, 3] : (tensor<8x12x4x4xf32>, tensor<f32>) -> tensor<12xf32>
    %7 = stablehlo.reshape %6 : (tensor<12xf32>) -> tensor<1x12x1x1xf32>
    %cst_0 = stablehlo.constant dense<1.280000e+02> : tensor<f32>
    %8 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<1x12x1x1xf32>
    %9 = stablehlo.divide %7, %8 : tensor<1x12x1x1xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %10 = stablehlo.reduce(%9 init: %cst_1) applies stablehlo.add across dimensions = [0, 2, 3] : (tensor<1x12x1x1xf32>, tensor<f32>) -> tensor<12xf32>
    %11 = stablehlo.broadcast_in_dim %10, dims = [1] : (tensor<12xf32>) -> tensor<8x12x4x4xf32>
    %12 = stablehlo.add %4, %11 : tensor<8x12x4x4xf32>
    return %12 : tensor<8x12x4x4xf32>
  }
  func.func private @_where_8(%arg0: tensor<i1>, %arg1: tensor<12xf32>) -> tensor<12xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<12xf32>
    %1 = stablehlo.select %arg0, %arg1, %0 : tensor<i1>, tensor<12xf32>
    return %1 : tensor<12xf32>
  }
  func.func private @_var_9(%arg0: tensor<8x8x8x8xf32>, %arg1: tensor<f32>, %arg2: tensor<i1>, %arg3: tensor<8xf32>) -> tensor<8x8x8x8xf32> {
    %0 = call @_where_10(%arg2, %arg3) : (tensor<i1>, tensor<8xf32>) -> tensor<8xf32>
    %1 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %2 = stablehlo.divide %0, %1 : tensor<8xf32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [1] : (tensor<8xf32>) -> tensor<8x8x8x8xf32>
    %4 = stablehlo.multiply %3, %arg0 : tensor<8x8x8x8xf32>
    %5 = stablehlo.negate %4 : tensor<8x8x8x8xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %6 = stablehlo.reduce(%5 init: %cst) applies stablehlo.add across dimensions = [0, 2, 3] : (tensor<8x8x8x8xf32>, tensor<f32>) -> tensor<8xf32>
    %7 = stablehlo.reshape %6 : (tensor<8xf32>) -> tensor<1x8x1x1xf32>
    %cst_0 = stablehlo.constant dense<5.120000e+02> : tensor<f32>
    %8 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<1x8x1x1xf32>
    %9 = stablehlo.divide %7, %8 : tensor<1x8x1x1xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %10 = stablehlo.reduce(%9 init: %cst_1) applies stablehlo.add across dimensions = [0, 2, 3] : (tensor<1x8x1x1xf32>, tensor<f32>) -> tensor<8xf32>
    %11 = stablehlo.broadcast_in_dim %10, dims = [1] : (tensor<8xf32>) -> tensor<8x8x8x8xf32>
    %12 = stablehlo.add %4, %11 : tensor<8x8x8x8xf32>
    return %12 : tensor<8x8x8x8xf32>
  }
  func.func private @_where_10(%arg0: tensor<i1>, %arg1: tensor<8xf32>) -> tensor<8xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %1 = stablehlo.select %arg0, %arg1, %0 : tensor<i1>, tensor<8xf32>
    return %1 : tensor<8xf32>
  }
}
