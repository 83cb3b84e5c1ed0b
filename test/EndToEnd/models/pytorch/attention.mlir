module @jit_call_torch attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<f32> {tf.aliasing_output = 0 : i32}, %arg1: tensor<24xf32> {tf.aliasing_output = 1 : i32}, %arg2: tensor<24xf32> {tf.aliasing_output = 2 : i32}, %arg3: tensor<24xf32> {tf.aliasing_output = 3 : i32}, %arg4: tensor<24xf32> {tf.aliasing_output = 4 : i32}, %arg5: tensor<32x24xf32> {tf.aliasing_output = 5 : i32}, %arg6: tensor<24xf32> {tf.aliasing_output = 6 : i32}, %arg7: tensor<24x48xf32> {tf.aliasing_output = 7 : i32}, %arg8: tensor<72xf32> {tf.aliasing_output = 8 : i32}, %arg9: tensor<72x24xf32> {tf.aliasing_output = 9 : i32}, %arg10: tensor<24xf32> {tf.aliasing_output = 10 : i32}, %arg11: tensor<24x24xf32> {tf.aliasing_output = 11 : i32}, %arg12: tensor<12x24xf32> {tf.aliasing_output = 12 : i32}, %arg13: tensor<32xf32> {tf.aliasing_output = 13 : i32}, %arg14: tensor<32x24xf32> {tf.aliasing_output = 14 : i32}, %arg15: tensor<48xf32> {tf.aliasing_output = 15 : i32}, %arg16: tensor<48x24xf32> {tf.aliasing_output = 16 : i32}, %arg17: tensor<24xf32> {tf.aliasing_output = 17 : i32}, %arg18: tensor<24xf32> {tf.aliasing_output = 18 : i32}, %arg19: tensor<24xf32> {tf.aliasing_output = 19 : i32}, %arg20: tensor<24xf32> {tf.aliasing_output = 20 : i32}, %arg21: tensor<32x24xf32> {tf.aliasing_output = 21 : i32}, %arg22: tensor<24xf32> {tf.aliasing_output = 22 : i32}, %arg23: tensor<24x48xf32> {tf.aliasing_output = 23 : i32}, %arg24: tensor<72xf32> {tf.aliasing_output = 24 : i32}, %arg25: tensor<72x24xf32> {tf.aliasing_output = 25 : i32}, %arg26: tensor<24xf32> {tf.aliasing_output = 26 : i32}, %arg27: tensor<24x24xf32> {tf.aliasing_output = 27 : i32}, %arg28: tensor<12x24xf32> {tf.aliasing_output = 28 : i32}, %arg29: tensor<32xf32> {tf.aliasing_output = 29 : i32}, %arg30: tensor<32x24xf32> {tf.aliasing_output = 30 : i32}, %arg31: tensor<48xf32> {tf.aliasing_output = 31 : i32}, %arg32: tensor<48x24xf32> {tf.aliasing_output = 32 : i32}, %arg33: tensor<24xf32> {tf.aliasing_output = 33 : i32}, %arg34: tensor<24xf32> {tf.aliasing_output = 34 : i32}, %arg35: tensor<24xf32> {tf.aliasing_output = 35 : i32}, %arg36: tensor<24xf32> {tf.aliasing_output = 36 : i32}, %arg37: tensor<32x24xf32> {tf.aliasing_output = 37 : i32}, %arg38: tensor<24xf32> {tf.aliasing_output = 38 : i32}, %arg39: tensor<24x48xf32> {tf.aliasing_output = 39 : i32}, %arg40: tensor<72xf32> {tf.aliasing_output = 40 : i32}, %arg41: tensor<72x24xf32> {tf.aliasing_output = 41 : i32}, %arg42: tensor<24xf32> {tf.aliasing_output = 42 : i32}, %arg43: tensor<24x24xf32> {tf.aliasing_output = 43 : i32}, %arg44: tensor<12x24xf32> {tf.aliasing_output = 44 : i32}, %arg45: tensor<32xf32> {tf.aliasing_output = 45 : i32}, %arg46: tensor<32x24xf32> {tf.aliasing_output = 46 : i32}, %arg47: tensor<48xf32> {tf.aliasing_output = 47 : i32}, %arg48: tensor<48x24xf32> {tf.aliasing_output = 48 : i32}, %arg49: tensor<4x12xi32>, %arg50: tensor<4x12xi32>) -> (tensor<f32> {jax.result_info = "result[0]['optimizer']['count']"}, tensor<24xf32> {jax.result_info = "result[0]['optimizer']['first.after.bias']"}, tensor<24xf32> {jax.result_info = "result[0]['optimizer']['first.after.weight']"}, tensor<24xf32> {jax.result_info = "result[0]['optimizer']['first.before.bias']"}, tensor<24xf32> {jax.result_info = "result[0]['optimizer']['first.before.weight']"}, tensor<32x24xf32> {jax.result_info = "result[0]['optimizer']['first.characters.weight']"}, tensor<24xf32> {jax.result_info = "result[0]['optimizer']['first.down.bias']"}, tensor<24x48xf32> {jax.result_info = "result[0]['optimizer']['first.down.weight']"}, tensor<72xf32> {jax.result_info = "result[0]['optimizer']['first.inputs.bias']"}, tensor<72x24xf32> {jax.result_info = "result[0]['optimizer']['first.inputs.weight']"}, tensor<24xf32> {jax.result_info = "result[0]['optimizer']['first.outputs.bias']"}, tensor<24x24xf32> {jax.result_info = "result[0]['optimizer']['first.outputs.weight']"}, tensor<12x24xf32> {jax.result_info = "result[0]['optimizer']['first.places']"}, tensor<32xf32> {jax.result_info = "result[0]['optimizer']['first.predict.bias']"}, tensor<32x24xf32> {jax.result_info = "result[0]['optimizer']['first.predict.weight']"}, tensor<48xf32> {jax.result_info = "result[0]['optimizer']['first.up.bias']"}, tensor<48x24xf32> {jax.result_info = "result[0]['optimizer']['first.up.weight']"}, tensor<24xf32> {jax.result_info = "result[0]['optimizer']['second.after.bias']"}, tensor<24xf32> {jax.result_info = "result[0]['optimizer']['second.after.weight']"}, tensor<24xf32> {jax.result_info = "result[0]['optimizer']['second.before.bias']"}, tensor<24xf32> {jax.result_info = "result[0]['optimizer']['second.before.weight']"}, tensor<32x24xf32> {jax.result_info = "result[0]['optimizer']['second.characters.weight']"}, tensor<24xf32> {jax.result_info = "result[0]['optimizer']['second.down.bias']"}, tensor<24x48xf32> {jax.result_info = "result[0]['optimizer']['second.down.weight']"}, tensor<72xf32> {jax.result_info = "result[0]['optimizer']['second.inputs.bias']"}, tensor<72x24xf32> {jax.result_info = "result[0]['optimizer']['second.inputs.weight']"}, tensor<24xf32> {jax.result_info = "result[0]['optimizer']['second.outputs.bias']"}, tensor<24x24xf32> {jax.result_info = "result[0]['optimizer']['second.outputs.weight']"}, tensor<12x24xf32> {jax.result_info = "result[0]['optimizer']['second.places']"}, tensor<32xf32> {jax.result_info = "result[0]['optimizer']['second.predict.bias']"}, tensor<32x24xf32> {jax.result_info = "result[0]['optimizer']['second.predict.weight']"}, tensor<48xf32> {jax.result_info = "result[0]['optimizer']['second.up.bias']"}, tensor<48x24xf32> {jax.result_info = "result[0]['optimizer']['second.up.weight']"}, tensor<24xf32> {jax.result_info = "result[0]['parameters']['after.bias']"}, tensor<24xf32> {jax.result_info = "result[0]['parameters']['after.weight']"}, tensor<24xf32> {jax.result_info = "result[0]['parameters']['before.bias']"}, tensor<24xf32> {jax.result_info = "result[0]['parameters']['before.weight']"}, tensor<32x24xf32> {jax.result_info = "result[0]['parameters']['characters.weight']"}, tensor<24xf32> {jax.result_info = "result[0]['parameters']['down.bias']"}, tensor<24x48xf32> {jax.result_info = "result[0]['parameters']['down.weight']"}, tensor<72xf32> {jax.result_info = "result[0]['parameters']['inputs.bias']"}, tensor<72x24xf32> {jax.result_info = "result[0]['parameters']['inputs.weight']"}, tensor<24xf32> {jax.result_info = "result[0]['parameters']['outputs.bias']"}, tensor<24x24xf32> {jax.result_info = "result[0]['parameters']['outputs.weight']"}, tensor<12x24xf32> {jax.result_info = "result[0]['parameters']['places']"}, tensor<32xf32> {jax.result_info = "result[0]['parameters']['predict.bias']"}, tensor<32x24xf32> {jax.result_info = "result[0]['parameters']['predict.weight']"}, tensor<48xf32> {jax.result_info = "result[0]['parameters']['up.bias']"}, tensor<48x24xf32> {jax.result_info = "result[0]['parameters']['up.weight']"}, tensor<f32> {jax.result_info = "result[1]"}) {
    %0:2 = call @_take(%arg37, %arg49) : (tensor<32x24xf32>, tensor<4x12xi32>) -> (tensor<4x12x24xf32>, tensor<4x12x1xi32>)
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<12x24xf32>
    %2 = stablehlo.multiply %arg44, %1 : tensor<12x24xf32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [1, 2] : (tensor<12x24xf32>) -> tensor<1x12x24xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1, 2] : (tensor<1x12x24xf32>) -> tensor<4x12x24xf32>
    %5 = stablehlo.add %0#0, %4 : tensor<4x12x24xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %6 = stablehlo.reduce(%5 init: %cst_0) applies stablehlo.add across dimensions = [2] : (tensor<4x12x24xf32>, tensor<f32>) -> tensor<4x12xf32>
    %7 = stablehlo.broadcast_in_dim %6, dims = [0, 1] : (tensor<4x12xf32>) -> tensor<4x12x1xf32>
    %cst_1 = stablehlo.constant dense<2.400000e+01> : tensor<f32>
    %8 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<4x12x1xf32>
    %9 = stablehlo.divide %7, %8 : tensor<4x12x1xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %10:4 = call @_var(%5, %c) : (tensor<4x12x24xf32>, tensor<i32>) -> (tensor<4x12x1xf32>, tensor<4x12x24xf32>, tensor<f32>, tensor<i1>)
    %cst_2 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %11 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<4x12x1xf32>
    %12 = stablehlo.add %10#0, %11 : tensor<4x12x1xf32>
    %13 = stablehlo.rsqrt %12 : tensor<4x12x1xf32>
    %14 = stablehlo.divide %13, %12 : tensor<4x12x1xf32>
    %cst_3 = stablehlo.constant dense<-5.000000e-01> : tensor<f32>
    %15 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<4x12x1xf32>
    %16 = stablehlo.multiply %15, %14 : tensor<4x12x1xf32>
    %17 = stablehlo.broadcast_in_dim %9, dims = [0, 1, 2] : (tensor<4x12x1xf32>) -> tensor<4x12x24xf32>
    %18 = stablehlo.subtract %5, %17 : tensor<4x12x24xf32>
    %19 = stablehlo.broadcast_in_dim %13, dims = [0, 1, 2] : (tensor<4x12x1xf32>) -> tensor<4x12x24xf32>
    %20 = stablehlo.multiply %18, %19 : tensor<4x12x24xf32>
    %21 = stablehlo.broadcast_in_dim %arg36, dims = [2] : (tensor<24xf32>) -> tensor<1x1x24xf32>
    %22 = stablehlo.broadcast_in_dim %21, dims = [0, 1, 2] : (tensor<1x1x24xf32>) -> tensor<4x12x24xf32>
    %23 = stablehlo.multiply %20, %22 : tensor<4x12x24xf32>
    %24 = stablehlo.broadcast_in_dim %arg35, dims = [2] : (tensor<24xf32>) -> tensor<1x1x24xf32>
    %25 = stablehlo.broadcast_in_dim %24, dims = [0, 1, 2] : (tensor<1x1x24xf32>) -> tensor<4x12x24xf32>
    %26 = stablehlo.add %23, %25 : tensor<4x12x24xf32>
    %27 = stablehlo.dot_general %26, %arg41, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x12x24xf32>, tensor<72x24xf32>) -> tensor<4x12x72xf32>
    %28 = stablehlo.broadcast_in_dim %arg40, dims = [2] : (tensor<72xf32>) -> tensor<1x1x72xf32>
    %29 = stablehlo.broadcast_in_dim %28, dims = [0, 1, 2] : (tensor<1x1x72xf32>) -> tensor<4x12x72xf32>
    %30 = stablehlo.add %27, %29 : tensor<4x12x72xf32>
    %31 = stablehlo.reshape %30 : (tensor<4x12x72xf32>) -> tensor<4x12x3x4x6xf32>
    %32 = stablehlo.transpose %31, dims = [2, 0, 3, 1, 4] : (tensor<4x12x3x4x6xf32>) -> tensor<3x4x4x12x6xf32>
    %33 = stablehlo.slice %32 [0:1, 0:4, 0:4, 0:12, 0:6] : (tensor<3x4x4x12x6xf32>) -> tensor<1x4x4x12x6xf32>
    %34 = stablehlo.slice %32 [1:2, 0:4, 0:4, 0:12, 0:6] : (tensor<3x4x4x12x6xf32>) -> tensor<1x4x4x12x6xf32>
    %35 = stablehlo.slice %32 [2:3, 0:4, 0:4, 0:12, 0:6] : (tensor<3x4x4x12x6xf32>) -> tensor<1x4x4x12x6xf32>
    %36 = stablehlo.reshape %33 : (tensor<1x4x4x12x6xf32>) -> tensor<4x4x12x6xf32>
    %37 = stablehlo.reshape %34 : (tensor<1x4x4x12x6xf32>) -> tensor<4x4x12x6xf32>
    %38 = stablehlo.reshape %35 : (tensor<1x4x4x12x6xf32>) -> tensor<4x4x12x6xf32>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %39 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<12x12xf32>
    %c_5 = stablehlo.constant dense<true> : tensor<i1>
    %40 = stablehlo.broadcast_in_dim %c_5, dims = [] : (tensor<i1>) -> tensor<12x12xi1>
    %41 = stablehlo.iota dim = 0 : tensor<12xi32>
    %42 = stablehlo.broadcast_in_dim %41, dims = [1] : (tensor<12xi32>) -> tensor<1x12xi32>
    %43 = stablehlo.iota dim = 0 : tensor<12xi32>
    %44 = stablehlo.broadcast_in_dim %43, dims = [0] : (tensor<12xi32>) -> tensor<12x1xi32>
    %c_6 = stablehlo.constant dense<1> : tensor<i32>
    %45 = stablehlo.broadcast_in_dim %c_6, dims = [] : (tensor<i32>) -> tensor<12x1xi32>
    %46 = stablehlo.multiply %44, %45 : tensor<12x1xi32>
    %47 = stablehlo.broadcast_in_dim %42, dims = [0, 1] : (tensor<1x12xi32>) -> tensor<12x12xi32>
    %48 = stablehlo.broadcast_in_dim %46, dims = [0, 1] : (tensor<12x1xi32>) -> tensor<12x12xi32>
    %49 = stablehlo.subtract %47, %48 : tensor<12x12xi32>
    %c_7 = stablehlo.constant dense<0> : tensor<i32>
    %50 = stablehlo.broadcast_in_dim %c_7, dims = [] : (tensor<i32>) -> tensor<12x12xi32>
    %51 = stablehlo.compare LE, %49, %50, SIGNED : (tensor<12x12xi32>, tensor<12x12xi32>) -> tensor<12x12xi1>
    %52 = stablehlo.and %51, %40 : tensor<12x12xi1>
    %53 = stablehlo.not %52 : tensor<12x12xi1>
    %cst_8 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %54 = call @_where_1(%53, %cst_8, %39) : (tensor<12x12xi1>, tensor<f32>, tensor<12x12xf32>) -> tensor<12x12xf32>
    %55 = stablehlo.transpose %37, dims = [0, 1, 3, 2] : (tensor<4x4x12x6xf32>) -> tensor<4x4x6x12xf32>
    %56 = stablehlo.reshape %36 : (tensor<4x4x12x6xf32>) -> tensor<16x12x6xf32>
    %57 = stablehlo.reshape %55 : (tensor<4x4x6x12xf32>) -> tensor<16x6x12xf32>
    %58 = stablehlo.dot_general %56, %57, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x12x6xf32>, tensor<16x6x12xf32>) -> tensor<16x12x12xf32>
    %59 = stablehlo.reshape %58 : (tensor<16x12x12xf32>) -> tensor<4x4x12x12xf32>
    %cst_9 = stablehlo.constant dense<0.408248305> : tensor<f32>
    %60 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<4x4x12x12xf32>
    %61 = stablehlo.multiply %59, %60 : tensor<4x4x12x12xf32>
    %cst_10 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %62 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<12x12xf32>
    %63 = stablehlo.multiply %54, %62 : tensor<12x12xf32>
    %64 = stablehlo.broadcast_in_dim %63, dims = [2, 3] : (tensor<12x12xf32>) -> tensor<1x1x12x12xf32>
    %65 = stablehlo.broadcast_in_dim %64, dims = [0, 1, 2, 3] : (tensor<1x1x12x12xf32>) -> tensor<4x4x12x12xf32>
    %66 = stablehlo.add %61, %65 : tensor<4x4x12x12xf32>
    %cst_11 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %67 = stablehlo.reduce(%66 init: %cst_11) applies stablehlo.maximum across dimensions = [3] : (tensor<4x4x12x12xf32>, tensor<f32>) -> tensor<4x4x12xf32>
    %cst_12 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %68 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<f32>) -> tensor<4x4x12xf32>
    %69 = stablehlo.maximum %68, %67 : tensor<4x4x12xf32>
    %70 = stablehlo.broadcast_in_dim %69, dims = [0, 1, 2] : (tensor<4x4x12xf32>) -> tensor<4x4x12x1xf32>
    %71 = stablehlo.broadcast_in_dim %70, dims = [0, 1, 2, 3] : (tensor<4x4x12x1xf32>) -> tensor<4x4x12x12xf32>
    %72 = stablehlo.subtract %66, %71 : tensor<4x4x12x12xf32>
    %73 = stablehlo.exponential %72 : tensor<4x4x12x12xf32>
    %cst_13 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %74 = stablehlo.reduce(%73 init: %cst_13) applies stablehlo.add across dimensions = [3] : (tensor<4x4x12x12xf32>, tensor<f32>) -> tensor<4x4x12xf32>
    %75 = stablehlo.broadcast_in_dim %74, dims = [0, 1, 2] : (tensor<4x4x12xf32>) -> tensor<4x4x12x1xf32>
    %76 = stablehlo.broadcast_in_dim %75, dims = [0, 1, 2, 3] : (tensor<4x4x12x1xf32>) -> tensor<4x4x12x12xf32>
    %77 = stablehlo.divide %73, %76 : tensor<4x4x12x12xf32>
    %78 = stablehlo.multiply %75, %75 : tensor<4x4x12x1xf32>
    %cst_14 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %79 = stablehlo.broadcast_in_dim %cst_14, dims = [] : (tensor<f32>) -> tensor<4x4x12x1xf32>
    %80 = stablehlo.divide %79, %78 : tensor<4x4x12x1xf32>
    %81 = stablehlo.reshape %77 : (tensor<4x4x12x12xf32>) -> tensor<16x12x12xf32>
    %82 = stablehlo.reshape %38 : (tensor<4x4x12x6xf32>) -> tensor<16x12x6xf32>
    %83 = stablehlo.dot_general %81, %82, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x12x12xf32>, tensor<16x12x6xf32>) -> tensor<16x12x6xf32>
    %84 = stablehlo.reshape %83 : (tensor<16x12x6xf32>) -> tensor<4x4x12x6xf32>
    %85 = stablehlo.transpose %84, dims = [0, 2, 1, 3] : (tensor<4x4x12x6xf32>) -> tensor<4x12x4x6xf32>
    %86 = stablehlo.reshape %85 : (tensor<4x12x4x6xf32>) -> tensor<4x12x24xf32>
    %87 = stablehlo.dot_general %86, %arg43, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x12x24xf32>, tensor<24x24xf32>) -> tensor<4x12x24xf32>
    %88 = stablehlo.broadcast_in_dim %arg42, dims = [2] : (tensor<24xf32>) -> tensor<1x1x24xf32>
    %89 = stablehlo.broadcast_in_dim %88, dims = [0, 1, 2] : (tensor<1x1x24xf32>) -> tensor<4x12x24xf32>
    %90 = stablehlo.add %87, %89 : tensor<4x12x24xf32>
    %cst_15 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %91 = stablehlo.broadcast_in_dim %cst_15, dims = [] : (tensor<f32>) -> tensor<4x12x24xf32>
    %92 = stablehlo.multiply %90, %91 : tensor<4x12x24xf32>
    %93 = stablehlo.add %5, %92 : tensor<4x12x24xf32>
    %cst_16 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %94 = stablehlo.reduce(%93 init: %cst_16) applies stablehlo.add across dimensions = [2] : (tensor<4x12x24xf32>, tensor<f32>) -> tensor<4x12xf32>
    %95 = stablehlo.broadcast_in_dim %94, dims = [0, 1] : (tensor<4x12xf32>) -> tensor<4x12x1xf32>
    %cst_17 = stablehlo.constant dense<2.400000e+01> : tensor<f32>
    %96 = stablehlo.broadcast_in_dim %cst_17, dims = [] : (tensor<f32>) -> tensor<4x12x1xf32>
    %97 = stablehlo.divide %95, %96 : tensor<4x12x1xf32>
    %c_18 = stablehlo.constant dense<0> : tensor<i32>
    %98:4 = call @_var(%93, %c_18) : (tensor<4x12x24xf32>, tensor<i32>) -> (tensor<4x12x1xf32>, tensor<4x12x24xf32>, tensor<f32>, tensor<i1>)
    %cst_19 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %99 = stablehlo.broadcast_in_dim %cst_19, dims = [] : (tensor<f32>) -> tensor<4x12x1xf32>
    %100 = stablehlo.add %98#0, %99 : tensor<4x12x1xf32>
    %101 = stablehlo.rsqrt %100 : tensor<4x12x1xf32>
    %102 = stablehlo.divide %101, %100 : tensor<4x12x1xf32>
    %cst_20 = stablehlo.constant dense<-5.000000e-01> : tensor<f32>
    %103 = stablehlo.broadcast_in_dim %cst_20, dims = [] : (tensor<f32>) -> tensor<4x12x1xf32>
    %104 = stablehlo.multiply %103, %102 : tensor<4x12x1xf32>
    %105 = stablehlo.broadcast_in_dim %97, dims = [0, 1, 2] : (tensor<4x12x1xf32>) -> tensor<4x12x24xf32>
    %106 = stablehlo.subtract %93, %105 : tensor<4x12x24xf32>
    %107 = stablehlo.broadcast_in_dim %101, dims = [0, 1, 2] : (tensor<4x12x1xf32>) -> tensor<4x12x24xf32>
    %108 = stablehlo.multiply %106, %107 : tensor<4x12x24xf32>
    %109 = stablehlo.broadcast_in_dim %arg34, dims = [2] : (tensor<24xf32>) -> tensor<1x1x24xf32>
    %110 = stablehlo.broadcast_in_dim %109, dims = [0, 1, 2] : (tensor<1x1x24xf32>) -> tensor<4x12x24xf32>
    %111 = stablehlo.multiply %108, %110 : tensor<4x12x24xf32>
    %112 = stablehlo.broadcast_in_dim %arg33, dims = [2] : (tensor<24xf32>) -> tensor<1x1x24xf32>
    %113 = stablehlo.broadcast_in_dim %112, dims = [0, 1, 2] : (tensor<1x1x24xf32>) -> tensor<4x12x24xf32>
    %114 = stablehlo.add %111, %113 : tensor<4x12x24xf32>
    %115 = stablehlo.dot_general %114, %arg48, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x12x24xf32>, tensor<48x24xf32>) -> tensor<4x12x48xf32>
    %116 = stablehlo.broadcast_in_dim %arg47, dims = [2] : (tensor<48xf32>) -> tensor<1x1x48xf32>
    %117 = stablehlo.broadcast_in_dim %116, dims = [0, 1, 2] : (tensor<1x1x48xf32>) -> tensor<4x12x48xf32>
    %118 = stablehlo.add %115, %117 : tensor<4x12x48xf32>
    %119:3 = call @silu(%118) : (tensor<4x12x48xf32>) -> (tensor<4x12x48xf32>, tensor<4x12x48xf32>, tensor<4x12x48xf32>)
    %120 = stablehlo.dot_general %119#0, %arg39, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x12x48xf32>, tensor<24x48xf32>) -> tensor<4x12x24xf32>
    %121 = stablehlo.broadcast_in_dim %arg38, dims = [2] : (tensor<24xf32>) -> tensor<1x1x24xf32>
    %122 = stablehlo.broadcast_in_dim %121, dims = [0, 1, 2] : (tensor<1x1x24xf32>) -> tensor<4x12x24xf32>
    %123 = stablehlo.add %120, %122 : tensor<4x12x24xf32>
    %cst_21 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %124 = stablehlo.broadcast_in_dim %cst_21, dims = [] : (tensor<f32>) -> tensor<4x12x24xf32>
    %125 = stablehlo.multiply %123, %124 : tensor<4x12x24xf32>
    %126 = stablehlo.add %93, %125 : tensor<4x12x24xf32>
    %127 = stablehlo.dot_general %126, %arg46, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x12x24xf32>, tensor<32x24xf32>) -> tensor<4x12x32xf32>
    %128 = stablehlo.broadcast_in_dim %arg45, dims = [2] : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %129 = stablehlo.broadcast_in_dim %128, dims = [0, 1, 2] : (tensor<1x1x32xf32>) -> tensor<4x12x32xf32>
    %130 = stablehlo.add %127, %129 : tensor<4x12x32xf32>
    %131 = stablehlo.reshape %130 : (tensor<4x12x32xf32>) -> tensor<48x32xf32>
    %132 = stablehlo.reshape %arg50 : (tensor<4x12xi32>) -> tensor<48xi32>
    %133:3 = call @log_softmax(%131) : (tensor<48x32xf32>) -> (tensor<48x32xf32>, tensor<48x32xf32>, tensor<48x1xf32>)
    %c_22 = stablehlo.constant dense<-100> : tensor<i32>
    %134 = stablehlo.broadcast_in_dim %c_22, dims = [] : (tensor<i32>) -> tensor<48xi32>
    %135 = stablehlo.compare NE, %132, %134, SIGNED : (tensor<48xi32>, tensor<48xi32>) -> tensor<48xi1>
    %c_23 = stablehlo.constant dense<0> : tensor<i32>
    %136 = call @_where_2(%135, %132, %c_23) : (tensor<48xi1>, tensor<48xi32>, tensor<i32>) -> tensor<48xi32>
    %137 = stablehlo.broadcast_in_dim %136, dims = [0] : (tensor<48xi32>) -> tensor<48x1xi32>
    %138 = stablehlo.iota dim = 0 : tensor<48xi32>
    %139 = stablehlo.reshape %138 : (tensor<48xi32>) -> tensor<48x1xi32>
    %c_24 = stablehlo.constant dense<0> : tensor<i32>
    %140 = stablehlo.broadcast_in_dim %c_24, dims = [] : (tensor<i32>) -> tensor<48x1xi32>
    %141 = stablehlo.compare LT, %139, %140, SIGNED : (tensor<48x1xi32>, tensor<48x1xi32>) -> tensor<48x1xi1>
    %c_25 = stablehlo.constant dense<48> : tensor<i32>
    %142 = stablehlo.broadcast_in_dim %c_25, dims = [] : (tensor<i32>) -> tensor<48x1xi32>
    %143 = stablehlo.add %139, %142 : tensor<48x1xi32>
    %144 = stablehlo.select %141, %143, %139 : tensor<48x1xi1>, tensor<48x1xi32>
    %c_26 = stablehlo.constant dense<0> : tensor<i32>
    %145 = stablehlo.broadcast_in_dim %c_26, dims = [] : (tensor<i32>) -> tensor<48x1xi32>
    %146 = stablehlo.compare LT, %137, %145, SIGNED : (tensor<48x1xi32>, tensor<48x1xi32>) -> tensor<48x1xi1>
    %c_27 = stablehlo.constant dense<32> : tensor<i32>
    %147 = stablehlo.broadcast_in_dim %c_27, dims = [] : (tensor<i32>) -> tensor<48x1xi32>
    %148 = stablehlo.add %137, %147 : tensor<48x1xi32>
    %149 = stablehlo.select %146, %148, %137 : tensor<48x1xi1>, tensor<48x1xi32>
    %150 = stablehlo.broadcast_in_dim %144, dims = [0, 1] : (tensor<48x1xi32>) -> tensor<48x1x1xi32>
    %151 = stablehlo.broadcast_in_dim %149, dims = [0, 1] : (tensor<48x1xi32>) -> tensor<48x1x1xi32>
    %152 = stablehlo.concatenate %150, %151, dim = 2 : (tensor<48x1x1xi32>, tensor<48x1x1xi32>) -> tensor<48x1x2xi32>
    %153 = "stablehlo.gather"(%133#0, %152) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1>}> : (tensor<48x32xf32>, tensor<48x1x2xi32>) -> tensor<48x1xf32>
    %154 = stablehlo.reshape %153 : (tensor<48x1xf32>) -> tensor<48xf32>
    %cst_28 = stablehlo.constant dense<-1.000000e+00> : tensor<f32>
    %155 = stablehlo.broadcast_in_dim %cst_28, dims = [] : (tensor<f32>) -> tensor<48xf32>
    %156 = stablehlo.multiply %155, %154 : tensor<48xf32>
    %c_29 = stablehlo.constant dense<-100> : tensor<i32>
    %157 = stablehlo.broadcast_in_dim %c_29, dims = [] : (tensor<i32>) -> tensor<48xi32>
    %158 = stablehlo.compare NE, %132, %157, SIGNED : (tensor<48xi32>, tensor<48xi32>) -> tensor<48xi1>
    %c_30 = stablehlo.constant dense<0> : tensor<i32>
    %159 = call @_where_3(%158, %156, %c_30) : (tensor<48xi1>, tensor<48xf32>, tensor<i32>) -> tensor<48xf32>
    %c_31 = stablehlo.constant dense<-100> : tensor<i32>
    %160 = stablehlo.broadcast_in_dim %c_31, dims = [] : (tensor<i32>) -> tensor<48xi32>
    %161 = stablehlo.compare NE, %132, %160, SIGNED : (tensor<48xi32>, tensor<48xi32>) -> tensor<48xi1>
    %162 = stablehlo.convert %161 : (tensor<48xi1>) -> tensor<48xi32>
    %c_32 = stablehlo.constant dense<0> : tensor<i32>
    %163 = stablehlo.reduce(%162 init: %c_32) applies stablehlo.add across dimensions = [0] : (tensor<48xi32>, tensor<i32>) -> tensor<i32>
    %cst_33 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %164 = stablehlo.reduce(%159 init: %cst_33) applies stablehlo.add across dimensions = [0] : (tensor<48xf32>, tensor<f32>) -> tensor<f32>
    %165 = stablehlo.convert %163 : (tensor<i32>) -> tensor<f32>
    %166 = stablehlo.divide %164, %165 : tensor<f32>
    %cst_34 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %167 = stablehlo.divide %cst_34, %165 : tensor<f32>
    %168 = stablehlo.broadcast_in_dim %167, dims = [] : (tensor<f32>) -> tensor<48xf32>
    %169 = call @_where_4(%158, %168) : (tensor<48xi1>, tensor<48xf32>) -> tensor<48xf32>
    %cst_35 = stablehlo.constant dense<-1.000000e+00> : tensor<f32>
    %170 = stablehlo.broadcast_in_dim %cst_35, dims = [] : (tensor<f32>) -> tensor<48xf32>
    %171 = stablehlo.multiply %170, %169 : tensor<48xf32>
    %172 = stablehlo.broadcast_in_dim %171, dims = [0] : (tensor<48xf32>) -> tensor<48x1xf32>
    %cst_36 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %173 = stablehlo.broadcast_in_dim %cst_36, dims = [] : (tensor<f32>) -> tensor<48x32xf32>
    %174 = "stablehlo.scatter"(%173, %152, %172) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 2>, unique_indices = false}> ({
    ^bb0(%arg51: tensor<f32>, %arg52: tensor<f32>):
      %893 = stablehlo.add %arg51, %arg52 : tensor<f32>
      stablehlo.return %893 : tensor<f32>
    }) : (tensor<48x32xf32>, tensor<48x1x2xi32>, tensor<48x1xf32>) -> tensor<48x32xf32>
    %175 = call @log_softmax_5(%133#1, %133#2, %174) : (tensor<48x32xf32>, tensor<48x1xf32>, tensor<48x32xf32>) -> tensor<48x32xf32>
    %176 = stablehlo.reshape %175 : (tensor<48x32xf32>) -> tensor<4x12x32xf32>
    %cst_37 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %177 = stablehlo.reduce(%176 init: %cst_37) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x12x32xf32>, tensor<f32>) -> tensor<32xf32>
    %178 = stablehlo.reshape %177 : (tensor<32xf32>) -> tensor<1x1x32xf32>
    %cst_38 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %179 = stablehlo.reduce(%178 init: %cst_38) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x32xf32>, tensor<f32>) -> tensor<32xf32>
    %180 = stablehlo.dot_general %176, %126, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<4x12x32xf32>, tensor<4x12x24xf32>) -> tensor<32x24xf32>
    %181 = stablehlo.dot_general %176, %arg46, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x12x32xf32>, tensor<32x24xf32>) -> tensor<4x12x24xf32>
    %cst_39 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %182 = stablehlo.broadcast_in_dim %cst_39, dims = [] : (tensor<f32>) -> tensor<4x12x24xf32>
    %183 = stablehlo.multiply %181, %182 : tensor<4x12x24xf32>
    %cst_40 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %184 = stablehlo.reduce(%183 init: %cst_40) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x12x24xf32>, tensor<f32>) -> tensor<24xf32>
    %185 = stablehlo.reshape %184 : (tensor<24xf32>) -> tensor<1x1x24xf32>
    %cst_41 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %186 = stablehlo.reduce(%185 init: %cst_41) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x24xf32>, tensor<f32>) -> tensor<24xf32>
    %187 = stablehlo.dot_general %183, %119#0, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<4x12x24xf32>, tensor<4x12x48xf32>) -> tensor<24x48xf32>
    %188 = stablehlo.dot_general %183, %arg39, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x12x24xf32>, tensor<24x48xf32>) -> tensor<4x12x48xf32>
    %189 = call @silu_6(%119#1, %119#2, %118, %188) : (tensor<4x12x48xf32>, tensor<4x12x48xf32>, tensor<4x12x48xf32>, tensor<4x12x48xf32>) -> tensor<4x12x48xf32>
    %cst_42 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %190 = stablehlo.reduce(%189 init: %cst_42) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x12x48xf32>, tensor<f32>) -> tensor<48xf32>
    %191 = stablehlo.reshape %190 : (tensor<48xf32>) -> tensor<1x1x48xf32>
    %cst_43 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %192 = stablehlo.reduce(%191 init: %cst_43) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x48xf32>, tensor<f32>) -> tensor<48xf32>
    %193 = stablehlo.dot_general %189, %114, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<4x12x48xf32>, tensor<4x12x24xf32>) -> tensor<48x24xf32>
    %194 = stablehlo.dot_general %189, %arg48, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x12x48xf32>, tensor<48x24xf32>) -> tensor<4x12x24xf32>
    %cst_44 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %195 = stablehlo.reduce(%194 init: %cst_44) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x12x24xf32>, tensor<f32>) -> tensor<24xf32>
    %196 = stablehlo.reshape %195 : (tensor<24xf32>) -> tensor<1x1x24xf32>
    %cst_45 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %197 = stablehlo.reduce(%196 init: %cst_45) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x24xf32>, tensor<f32>) -> tensor<24xf32>
    %198 = stablehlo.multiply %108, %194 : tensor<4x12x24xf32>
    %cst_46 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %199 = stablehlo.reduce(%198 init: %cst_46) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x12x24xf32>, tensor<f32>) -> tensor<24xf32>
    %200 = stablehlo.reshape %199 : (tensor<24xf32>) -> tensor<1x1x24xf32>
    %201 = stablehlo.broadcast_in_dim %109, dims = [0, 1, 2] : (tensor<1x1x24xf32>) -> tensor<4x12x24xf32>
    %202 = stablehlo.multiply %194, %201 : tensor<4x12x24xf32>
    %cst_47 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %203 = stablehlo.reduce(%200 init: %cst_47) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x24xf32>, tensor<f32>) -> tensor<24xf32>
    %204 = stablehlo.multiply %106, %202 : tensor<4x12x24xf32>
    %cst_48 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %205 = stablehlo.reduce(%204 init: %cst_48) applies stablehlo.add across dimensions = [2] : (tensor<4x12x24xf32>, tensor<f32>) -> tensor<4x12xf32>
    %206 = stablehlo.reshape %205 : (tensor<4x12xf32>) -> tensor<4x12x1xf32>
    %207 = stablehlo.broadcast_in_dim %101, dims = [0, 1, 2] : (tensor<4x12x1xf32>) -> tensor<4x12x24xf32>
    %208 = stablehlo.multiply %202, %207 : tensor<4x12x24xf32>
    %209 = stablehlo.negate %208 : tensor<4x12x24xf32>
    %cst_49 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %210 = stablehlo.reduce(%209 init: %cst_49) applies stablehlo.add across dimensions = [2] : (tensor<4x12x24xf32>, tensor<f32>) -> tensor<4x12xf32>
    %211 = stablehlo.reshape %210 : (tensor<4x12xf32>) -> tensor<4x12x1xf32>
    %212 = stablehlo.add %181, %208 : tensor<4x12x24xf32>
    %213 = stablehlo.multiply %206, %104 : tensor<4x12x1xf32>
    %214 = call @_var_7(%98#1, %98#2, %98#3, %213) : (tensor<4x12x24xf32>, tensor<f32>, tensor<i1>, tensor<4x12x1xf32>) -> tensor<4x12x24xf32>
    %215 = stablehlo.add %212, %214 : tensor<4x12x24xf32>
    %cst_50 = stablehlo.constant dense<2.400000e+01> : tensor<f32>
    %216 = stablehlo.broadcast_in_dim %cst_50, dims = [] : (tensor<f32>) -> tensor<4x12x1xf32>
    %217 = stablehlo.divide %211, %216 : tensor<4x12x1xf32>
    %cst_51 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %218 = stablehlo.reduce(%217 init: %cst_51) applies stablehlo.add across dimensions = [2] : (tensor<4x12x1xf32>, tensor<f32>) -> tensor<4x12xf32>
    %219 = stablehlo.broadcast_in_dim %218, dims = [0, 1] : (tensor<4x12xf32>) -> tensor<4x12x24xf32>
    %220 = stablehlo.add %215, %219 : tensor<4x12x24xf32>
    %cst_52 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %221 = stablehlo.broadcast_in_dim %cst_52, dims = [] : (tensor<f32>) -> tensor<4x12x24xf32>
    %222 = stablehlo.multiply %220, %221 : tensor<4x12x24xf32>
    %cst_53 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %223 = stablehlo.reduce(%222 init: %cst_53) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x12x24xf32>, tensor<f32>) -> tensor<24xf32>
    %224 = stablehlo.reshape %223 : (tensor<24xf32>) -> tensor<1x1x24xf32>
    %cst_54 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %225 = stablehlo.reduce(%224 init: %cst_54) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x24xf32>, tensor<f32>) -> tensor<24xf32>
    %226 = stablehlo.dot_general %222, %86, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<4x12x24xf32>, tensor<4x12x24xf32>) -> tensor<24x24xf32>
    %227 = stablehlo.dot_general %222, %arg43, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x12x24xf32>, tensor<24x24xf32>) -> tensor<4x12x24xf32>
    %228 = stablehlo.reshape %227 : (tensor<4x12x24xf32>) -> tensor<4x12x4x6xf32>
    %229 = stablehlo.transpose %228, dims = [0, 2, 1, 3] : (tensor<4x12x4x6xf32>) -> tensor<4x4x12x6xf32>
    %230 = stablehlo.reshape %229 : (tensor<4x4x12x6xf32>) -> tensor<16x12x6xf32>
    %231 = stablehlo.dot_general %230, %81, batching_dims = [0] x [0], contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x12x6xf32>, tensor<16x12x12xf32>) -> tensor<16x6x12xf32>
    %232 = stablehlo.transpose %231, dims = [0, 2, 1] : (tensor<16x6x12xf32>) -> tensor<16x12x6xf32>
    %233 = stablehlo.dot_general %230, %82, batching_dims = [0] x [0], contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] : (tensor<16x12x6xf32>, tensor<16x12x6xf32>) -> tensor<16x12x12xf32>
    %234 = stablehlo.reshape %232 : (tensor<16x12x6xf32>) -> tensor<4x4x12x6xf32>
    %235 = stablehlo.reshape %233 : (tensor<16x12x12xf32>) -> tensor<4x4x12x12xf32>
    %236 = stablehlo.broadcast_in_dim %80, dims = [0, 1, 2, 3] : (tensor<4x4x12x1xf32>) -> tensor<4x4x12x12xf32>
    %237 = stablehlo.multiply %235, %236 : tensor<4x4x12x12xf32>
    %238 = stablehlo.multiply %237, %73 : tensor<4x4x12x12xf32>
    %cst_55 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %239 = stablehlo.reduce(%238 init: %cst_55) applies stablehlo.add across dimensions = [3] : (tensor<4x4x12x12xf32>, tensor<f32>) -> tensor<4x4x12xf32>
    %240 = stablehlo.reshape %239 : (tensor<4x4x12xf32>) -> tensor<4x4x12x1xf32>
    %241 = stablehlo.negate %240 : tensor<4x4x12x1xf32>
    %242 = stablehlo.broadcast_in_dim %75, dims = [0, 1, 2, 3] : (tensor<4x4x12x1xf32>) -> tensor<4x4x12x12xf32>
    %243 = stablehlo.divide %235, %242 : tensor<4x4x12x12xf32>
    %cst_56 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %244 = stablehlo.reduce(%241 init: %cst_56) applies stablehlo.add across dimensions = [3] : (tensor<4x4x12x1xf32>, tensor<f32>) -> tensor<4x4x12xf32>
    %245 = stablehlo.broadcast_in_dim %244, dims = [0, 1, 2] : (tensor<4x4x12xf32>) -> tensor<4x4x12x12xf32>
    %246 = stablehlo.add %243, %245 : tensor<4x4x12x12xf32>
    %247 = stablehlo.multiply %246, %73 : tensor<4x4x12x12xf32>
    %cst_57 = stablehlo.constant dense<0.408248305> : tensor<f32>
    %248 = stablehlo.broadcast_in_dim %cst_57, dims = [] : (tensor<f32>) -> tensor<4x4x12x12xf32>
    %249 = stablehlo.multiply %247, %248 : tensor<4x4x12x12xf32>
    %250 = stablehlo.reshape %249 : (tensor<4x4x12x12xf32>) -> tensor<16x12x12xf32>
    %251 = stablehlo.dot_general %250, %56, batching_dims = [0] x [0], contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x12x12xf32>, tensor<16x12x6xf32>) -> tensor<16x12x6xf32>
    %252 = stablehlo.transpose %251, dims = [0, 2, 1] : (tensor<16x12x6xf32>) -> tensor<16x6x12xf32>
    %253 = stablehlo.dot_general %250, %57, batching_dims = [0] x [0], contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] : (tensor<16x12x12xf32>, tensor<16x6x12xf32>) -> tensor<16x12x6xf32>
    %254 = stablehlo.reshape %252 : (tensor<16x6x12xf32>) -> tensor<4x4x6x12xf32>
    %255 = stablehlo.reshape %253 : (tensor<16x12x6xf32>) -> tensor<4x4x12x6xf32>
    %256 = stablehlo.transpose %254, dims = [0, 1, 3, 2] : (tensor<4x4x6x12xf32>) -> tensor<4x4x12x6xf32>
    %257 = stablehlo.broadcast_in_dim %234, dims = [1, 2, 3, 4] : (tensor<4x4x12x6xf32>) -> tensor<1x4x4x12x6xf32>
    %258 = stablehlo.broadcast_in_dim %256, dims = [1, 2, 3, 4] : (tensor<4x4x12x6xf32>) -> tensor<1x4x4x12x6xf32>
    %259 = stablehlo.broadcast_in_dim %255, dims = [1, 2, 3, 4] : (tensor<4x4x12x6xf32>) -> tensor<1x4x4x12x6xf32>
    %260 = stablehlo.concatenate %259, %258, %257, dim = 0 : (tensor<1x4x4x12x6xf32>, tensor<1x4x4x12x6xf32>, tensor<1x4x4x12x6xf32>) -> tensor<3x4x4x12x6xf32>
    %261 = stablehlo.transpose %260, dims = [1, 3, 0, 2, 4] : (tensor<3x4x4x12x6xf32>) -> tensor<4x12x3x4x6xf32>
    %262 = stablehlo.reshape %261 : (tensor<4x12x3x4x6xf32>) -> tensor<4x12x72xf32>
    %cst_58 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %263 = stablehlo.reduce(%262 init: %cst_58) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x12x72xf32>, tensor<f32>) -> tensor<72xf32>
    %264 = stablehlo.reshape %263 : (tensor<72xf32>) -> tensor<1x1x72xf32>
    %cst_59 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %265 = stablehlo.reduce(%264 init: %cst_59) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x72xf32>, tensor<f32>) -> tensor<72xf32>
    %266 = stablehlo.dot_general %262, %26, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<4x12x72xf32>, tensor<4x12x24xf32>) -> tensor<72x24xf32>
    %267 = stablehlo.dot_general %262, %arg41, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x12x72xf32>, tensor<72x24xf32>) -> tensor<4x12x24xf32>
    %cst_60 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %268 = stablehlo.reduce(%267 init: %cst_60) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x12x24xf32>, tensor<f32>) -> tensor<24xf32>
    %269 = stablehlo.reshape %268 : (tensor<24xf32>) -> tensor<1x1x24xf32>
    %cst_61 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %270 = stablehlo.reduce(%269 init: %cst_61) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x24xf32>, tensor<f32>) -> tensor<24xf32>
    %271 = stablehlo.multiply %20, %267 : tensor<4x12x24xf32>
    %cst_62 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %272 = stablehlo.reduce(%271 init: %cst_62) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x12x24xf32>, tensor<f32>) -> tensor<24xf32>
    %273 = stablehlo.reshape %272 : (tensor<24xf32>) -> tensor<1x1x24xf32>
    %274 = stablehlo.broadcast_in_dim %21, dims = [0, 1, 2] : (tensor<1x1x24xf32>) -> tensor<4x12x24xf32>
    %275 = stablehlo.multiply %267, %274 : tensor<4x12x24xf32>
    %cst_63 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %276 = stablehlo.reduce(%273 init: %cst_63) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x24xf32>, tensor<f32>) -> tensor<24xf32>
    %277 = stablehlo.multiply %18, %275 : tensor<4x12x24xf32>
    %cst_64 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %278 = stablehlo.reduce(%277 init: %cst_64) applies stablehlo.add across dimensions = [2] : (tensor<4x12x24xf32>, tensor<f32>) -> tensor<4x12xf32>
    %279 = stablehlo.reshape %278 : (tensor<4x12xf32>) -> tensor<4x12x1xf32>
    %280 = stablehlo.broadcast_in_dim %13, dims = [0, 1, 2] : (tensor<4x12x1xf32>) -> tensor<4x12x24xf32>
    %281 = stablehlo.multiply %275, %280 : tensor<4x12x24xf32>
    %282 = stablehlo.negate %281 : tensor<4x12x24xf32>
    %cst_65 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %283 = stablehlo.reduce(%282 init: %cst_65) applies stablehlo.add across dimensions = [2] : (tensor<4x12x24xf32>, tensor<f32>) -> tensor<4x12xf32>
    %284 = stablehlo.reshape %283 : (tensor<4x12xf32>) -> tensor<4x12x1xf32>
    %285 = stablehlo.add %220, %281 : tensor<4x12x24xf32>
    %286 = stablehlo.multiply %279, %16 : tensor<4x12x1xf32>
    %287 = call @_var_7(%10#1, %10#2, %10#3, %286) : (tensor<4x12x24xf32>, tensor<f32>, tensor<i1>, tensor<4x12x1xf32>) -> tensor<4x12x24xf32>
    %288 = stablehlo.add %285, %287 : tensor<4x12x24xf32>
    %cst_66 = stablehlo.constant dense<2.400000e+01> : tensor<f32>
    %289 = stablehlo.broadcast_in_dim %cst_66, dims = [] : (tensor<f32>) -> tensor<4x12x1xf32>
    %290 = stablehlo.divide %284, %289 : tensor<4x12x1xf32>
    %cst_67 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %291 = stablehlo.reduce(%290 init: %cst_67) applies stablehlo.add across dimensions = [2] : (tensor<4x12x1xf32>, tensor<f32>) -> tensor<4x12xf32>
    %292 = stablehlo.broadcast_in_dim %291, dims = [0, 1] : (tensor<4x12xf32>) -> tensor<4x12x24xf32>
    %293 = stablehlo.add %288, %292 : tensor<4x12x24xf32>
    %cst_68 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %294 = stablehlo.reduce(%293 init: %cst_68) applies stablehlo.add across dimensions = [0] : (tensor<4x12x24xf32>, tensor<f32>) -> tensor<12x24xf32>
    %295 = stablehlo.reshape %294 : (tensor<12x24xf32>) -> tensor<1x12x24xf32>
    %cst_69 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %296 = stablehlo.reduce(%295 init: %cst_69) applies stablehlo.add across dimensions = [0] : (tensor<1x12x24xf32>, tensor<f32>) -> tensor<12x24xf32>
    %cst_70 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %297 = stablehlo.broadcast_in_dim %cst_70, dims = [] : (tensor<f32>) -> tensor<12x24xf32>
    %298 = stablehlo.multiply %296, %297 : tensor<12x24xf32>
    %299 = call @_take_9(%0#1, %293) : (tensor<4x12x1xi32>, tensor<4x12x24xf32>) -> tensor<32x24xf32>
    %cst_71 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %300 = stablehlo.add %arg0, %cst_71 : tensor<f32>
    %cst_72 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %301 = stablehlo.broadcast_in_dim %cst_72, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %302 = stablehlo.multiply %arg1, %301 : tensor<24xf32>
    %cst_73 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %303 = stablehlo.broadcast_in_dim %cst_73, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %304 = stablehlo.multiply %197, %303 : tensor<24xf32>
    %cst_74 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %305 = stablehlo.broadcast_in_dim %cst_74, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %306 = stablehlo.multiply %304, %305 : tensor<24xf32>
    %307 = stablehlo.add %302, %306 : tensor<24xf32>
    %cst_75 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %308 = stablehlo.broadcast_in_dim %cst_75, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %309 = stablehlo.multiply %arg17, %308 : tensor<24xf32>
    %cst_76 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %310 = stablehlo.broadcast_in_dim %cst_76, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %311 = stablehlo.multiply %197, %310 : tensor<24xf32>
    %312 = stablehlo.multiply %311, %197 : tensor<24xf32>
    %cst_77 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %313 = stablehlo.broadcast_in_dim %cst_77, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %314 = stablehlo.multiply %312, %313 : tensor<24xf32>
    %315 = stablehlo.add %309, %314 : tensor<24xf32>
    %316 = stablehlo.sqrt %315 : tensor<24xf32>
    %cst_78 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %317 = stablehlo.power %cst_78, %300 : tensor<f32>
    %cst_79 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %318 = stablehlo.multiply %317, %cst_79 : tensor<f32>
    %cst_80 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %319 = stablehlo.subtract %cst_80, %318 : tensor<f32>
    %320 = stablehlo.sqrt %319 : tensor<f32>
    %321 = stablehlo.broadcast_in_dim %320, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %322 = stablehlo.divide %316, %321 : tensor<24xf32>
    %cst_81 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %323 = stablehlo.broadcast_in_dim %cst_81, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %324 = stablehlo.add %322, %323 : tensor<24xf32>
    %cst_82 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %325 = stablehlo.broadcast_in_dim %cst_82, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %326 = stablehlo.multiply %arg33, %325 : tensor<24xf32>
    %cst_83 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %327 = stablehlo.power %cst_83, %300 : tensor<f32>
    %cst_84 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %328 = stablehlo.multiply %327, %cst_84 : tensor<f32>
    %cst_85 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %329 = stablehlo.subtract %cst_85, %328 : tensor<f32>
    %cst_86 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %330 = stablehlo.divide %cst_86, %329 : tensor<f32>
    %cst_87 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %331 = stablehlo.multiply %330, %cst_87 : tensor<f32>
    %332 = stablehlo.broadcast_in_dim %331, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %333 = stablehlo.multiply %332, %307 : tensor<24xf32>
    %334 = stablehlo.divide %333, %324 : tensor<24xf32>
    %cst_88 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %335 = stablehlo.broadcast_in_dim %cst_88, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %336 = stablehlo.multiply %334, %335 : tensor<24xf32>
    %337 = stablehlo.subtract %326, %336 : tensor<24xf32>
    %cst_89 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %338 = stablehlo.broadcast_in_dim %cst_89, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %339 = stablehlo.multiply %arg2, %338 : tensor<24xf32>
    %cst_90 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %340 = stablehlo.broadcast_in_dim %cst_90, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %341 = stablehlo.multiply %203, %340 : tensor<24xf32>
    %cst_91 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %342 = stablehlo.broadcast_in_dim %cst_91, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %343 = stablehlo.multiply %341, %342 : tensor<24xf32>
    %344 = stablehlo.add %339, %343 : tensor<24xf32>
    %cst_92 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %345 = stablehlo.broadcast_in_dim %cst_92, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %346 = stablehlo.multiply %arg18, %345 : tensor<24xf32>
    %cst_93 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %347 = stablehlo.broadcast_in_dim %cst_93, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %348 = stablehlo.multiply %203, %347 : tensor<24xf32>
    %349 = stablehlo.multiply %348, %203 : tensor<24xf32>
    %cst_94 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %350 = stablehlo.broadcast_in_dim %cst_94, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %351 = stablehlo.multiply %349, %350 : tensor<24xf32>
    %352 = stablehlo.add %346, %351 : tensor<24xf32>
    %353 = stablehlo.sqrt %352 : tensor<24xf32>
    %cst_95 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %354 = stablehlo.power %cst_95, %300 : tensor<f32>
    %cst_96 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %355 = stablehlo.multiply %354, %cst_96 : tensor<f32>
    %cst_97 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %356 = stablehlo.subtract %cst_97, %355 : tensor<f32>
    %357 = stablehlo.sqrt %356 : tensor<f32>
    %358 = stablehlo.broadcast_in_dim %357, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %359 = stablehlo.divide %353, %358 : tensor<24xf32>
    %cst_98 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %360 = stablehlo.broadcast_in_dim %cst_98, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %361 = stablehlo.add %359, %360 : tensor<24xf32>
    %cst_99 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %362 = stablehlo.broadcast_in_dim %cst_99, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %363 = stablehlo.multiply %arg34, %362 : tensor<24xf32>
    %cst_100 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %364 = stablehlo.power %cst_100, %300 : tensor<f32>
    %cst_101 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %365 = stablehlo.multiply %364, %cst_101 : tensor<f32>
    %cst_102 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %366 = stablehlo.subtract %cst_102, %365 : tensor<f32>
    %cst_103 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %367 = stablehlo.divide %cst_103, %366 : tensor<f32>
    %cst_104 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %368 = stablehlo.multiply %367, %cst_104 : tensor<f32>
    %369 = stablehlo.broadcast_in_dim %368, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %370 = stablehlo.multiply %369, %344 : tensor<24xf32>
    %371 = stablehlo.divide %370, %361 : tensor<24xf32>
    %cst_105 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %372 = stablehlo.broadcast_in_dim %cst_105, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %373 = stablehlo.multiply %371, %372 : tensor<24xf32>
    %374 = stablehlo.subtract %363, %373 : tensor<24xf32>
    %cst_106 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %375 = stablehlo.broadcast_in_dim %cst_106, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %376 = stablehlo.multiply %arg3, %375 : tensor<24xf32>
    %cst_107 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %377 = stablehlo.broadcast_in_dim %cst_107, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %378 = stablehlo.multiply %270, %377 : tensor<24xf32>
    %cst_108 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %379 = stablehlo.broadcast_in_dim %cst_108, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %380 = stablehlo.multiply %378, %379 : tensor<24xf32>
    %381 = stablehlo.add %376, %380 : tensor<24xf32>
    %cst_109 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %382 = stablehlo.broadcast_in_dim %cst_109, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %383 = stablehlo.multiply %arg19, %382 : tensor<24xf32>
    %cst_110 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %384 = stablehlo.broadcast_in_dim %cst_110, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %385 = stablehlo.multiply %270, %384 : tensor<24xf32>
    %386 = stablehlo.multiply %385, %270 : tensor<24xf32>
    %cst_111 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %387 = stablehlo.broadcast_in_dim %cst_111, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %388 = stablehlo.multiply %386, %387 : tensor<24xf32>
    %389 = stablehlo.add %383, %388 : tensor<24xf32>
    %390 = stablehlo.sqrt %389 : tensor<24xf32>
    %cst_112 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %391 = stablehlo.power %cst_112, %300 : tensor<f32>
    %cst_113 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %392 = stablehlo.multiply %391, %cst_113 : tensor<f32>
    %cst_114 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %393 = stablehlo.subtract %cst_114, %392 : tensor<f32>
    %394 = stablehlo.sqrt %393 : tensor<f32>
    %395 = stablehlo.broadcast_in_dim %394, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %396 = stablehlo.divide %390, %395 : tensor<24xf32>
    %cst_115 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %397 = stablehlo.broadcast_in_dim %cst_115, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %398 = stablehlo.add %396, %397 : tensor<24xf32>
    %cst_116 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %399 = stablehlo.broadcast_in_dim %cst_116, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %400 = stablehlo.multiply %arg35, %399 : tensor<24xf32>
    %cst_117 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %401 = stablehlo.power %cst_117, %300 : tensor<f32>
    %cst_118 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %402 = stablehlo.multiply %401, %cst_118 : tensor<f32>
    %cst_119 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %403 = stablehlo.subtract %cst_119, %402 : tensor<f32>
    %cst_120 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %404 = stablehlo.divide %cst_120, %403 : tensor<f32>
    %cst_121 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %405 = stablehlo.multiply %404, %cst_121 : tensor<f32>
    %406 = stablehlo.broadcast_in_dim %405, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %407 = stablehlo.multiply %406, %381 : tensor<24xf32>
    %408 = stablehlo.divide %407, %398 : tensor<24xf32>
    %cst_122 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %409 = stablehlo.broadcast_in_dim %cst_122, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %410 = stablehlo.multiply %408, %409 : tensor<24xf32>
    %411 = stablehlo.subtract %400, %410 : tensor<24xf32>
    %cst_123 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %412 = stablehlo.broadcast_in_dim %cst_123, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %413 = stablehlo.multiply %arg4, %412 : tensor<24xf32>
    %cst_124 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %414 = stablehlo.broadcast_in_dim %cst_124, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %415 = stablehlo.multiply %276, %414 : tensor<24xf32>
    %cst_125 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %416 = stablehlo.broadcast_in_dim %cst_125, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %417 = stablehlo.multiply %415, %416 : tensor<24xf32>
    %418 = stablehlo.add %413, %417 : tensor<24xf32>
    %cst_126 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %419 = stablehlo.broadcast_in_dim %cst_126, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %420 = stablehlo.multiply %arg20, %419 : tensor<24xf32>
    %cst_127 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %421 = stablehlo.broadcast_in_dim %cst_127, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %422 = stablehlo.multiply %276, %421 : tensor<24xf32>
    %423 = stablehlo.multiply %422, %276 : tensor<24xf32>
    %cst_128 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %424 = stablehlo.broadcast_in_dim %cst_128, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %425 = stablehlo.multiply %423, %424 : tensor<24xf32>
    %426 = stablehlo.add %420, %425 : tensor<24xf32>
    %427 = stablehlo.sqrt %426 : tensor<24xf32>
    %cst_129 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %428 = stablehlo.power %cst_129, %300 : tensor<f32>
    %cst_130 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %429 = stablehlo.multiply %428, %cst_130 : tensor<f32>
    %cst_131 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %430 = stablehlo.subtract %cst_131, %429 : tensor<f32>
    %431 = stablehlo.sqrt %430 : tensor<f32>
    %432 = stablehlo.broadcast_in_dim %431, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %433 = stablehlo.divide %427, %432 : tensor<24xf32>
    %cst_132 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %434 = stablehlo.broadcast_in_dim %cst_132, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %435 = stablehlo.add %433, %434 : tensor<24xf32>
    %cst_133 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %436 = stablehlo.broadcast_in_dim %cst_133, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %437 = stablehlo.multiply %arg36, %436 : tensor<24xf32>
    %cst_134 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %438 = stablehlo.power %cst_134, %300 : tensor<f32>
    %cst_135 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %439 = stablehlo.multiply %438, %cst_135 : tensor<f32>
    %cst_136 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %440 = stablehlo.subtract %cst_136, %439 : tensor<f32>
    %cst_137 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %441 = stablehlo.divide %cst_137, %440 : tensor<f32>
    %cst_138 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %442 = stablehlo.multiply %441, %cst_138 : tensor<f32>
    %443 = stablehlo.broadcast_in_dim %442, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %444 = stablehlo.multiply %443, %418 : tensor<24xf32>
    %445 = stablehlo.divide %444, %435 : tensor<24xf32>
    %cst_139 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %446 = stablehlo.broadcast_in_dim %cst_139, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %447 = stablehlo.multiply %445, %446 : tensor<24xf32>
    %448 = stablehlo.subtract %437, %447 : tensor<24xf32>
    %cst_140 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %449 = stablehlo.broadcast_in_dim %cst_140, dims = [] : (tensor<f32>) -> tensor<32x24xf32>
    %450 = stablehlo.multiply %arg5, %449 : tensor<32x24xf32>
    %cst_141 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %451 = stablehlo.broadcast_in_dim %cst_141, dims = [] : (tensor<f32>) -> tensor<32x24xf32>
    %452 = stablehlo.multiply %299, %451 : tensor<32x24xf32>
    %cst_142 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %453 = stablehlo.broadcast_in_dim %cst_142, dims = [] : (tensor<f32>) -> tensor<32x24xf32>
    %454 = stablehlo.multiply %452, %453 : tensor<32x24xf32>
    %455 = stablehlo.add %450, %454 : tensor<32x24xf32>
    %cst_143 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %456 = stablehlo.broadcast_in_dim %cst_143, dims = [] : (tensor<f32>) -> tensor<32x24xf32>
    %457 = stablehlo.multiply %arg21, %456 : tensor<32x24xf32>
    %cst_144 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %458 = stablehlo.broadcast_in_dim %cst_144, dims = [] : (tensor<f32>) -> tensor<32x24xf32>
    %459 = stablehlo.multiply %299, %458 : tensor<32x24xf32>
    %460 = stablehlo.multiply %459, %299 : tensor<32x24xf32>
    %cst_145 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %461 = stablehlo.broadcast_in_dim %cst_145, dims = [] : (tensor<f32>) -> tensor<32x24xf32>
    %462 = stablehlo.multiply %460, %461 : tensor<32x24xf32>
    %463 = stablehlo.add %457, %462 : tensor<32x24xf32>
    %464 = stablehlo.sqrt %463 : tensor<32x24xf32>
    %cst_146 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %465 = stablehlo.power %cst_146, %300 : tensor<f32>
    %cst_147 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %466 = stablehlo.multiply %465, %cst_147 : tensor<f32>
    %cst_148 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %467 = stablehlo.subtract %cst_148, %466 : tensor<f32>
    %468 = stablehlo.sqrt %467 : tensor<f32>
    %469 = stablehlo.broadcast_in_dim %468, dims = [] : (tensor<f32>) -> tensor<32x24xf32>
    %470 = stablehlo.divide %464, %469 : tensor<32x24xf32>
    %cst_149 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %471 = stablehlo.broadcast_in_dim %cst_149, dims = [] : (tensor<f32>) -> tensor<32x24xf32>
    %472 = stablehlo.add %470, %471 : tensor<32x24xf32>
    %cst_150 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %473 = stablehlo.broadcast_in_dim %cst_150, dims = [] : (tensor<f32>) -> tensor<32x24xf32>
    %474 = stablehlo.multiply %arg37, %473 : tensor<32x24xf32>
    %cst_151 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %475 = stablehlo.power %cst_151, %300 : tensor<f32>
    %cst_152 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %476 = stablehlo.multiply %475, %cst_152 : tensor<f32>
    %cst_153 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %477 = stablehlo.subtract %cst_153, %476 : tensor<f32>
    %cst_154 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %478 = stablehlo.divide %cst_154, %477 : tensor<f32>
    %cst_155 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %479 = stablehlo.multiply %478, %cst_155 : tensor<f32>
    %480 = stablehlo.broadcast_in_dim %479, dims = [] : (tensor<f32>) -> tensor<32x24xf32>
    %481 = stablehlo.multiply %480, %455 : tensor<32x24xf32>
    %482 = stablehlo.divide %481, %472 : tensor<32x24xf32>
    %cst_156 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %483 = stablehlo.broadcast_in_dim %cst_156, dims = [] : (tensor<f32>) -> tensor<32x24xf32>
    %484 = stablehlo.multiply %482, %483 : tensor<32x24xf32>
    %485 = stablehlo.subtract %474, %484 : tensor<32x24xf32>
    %cst_157 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %486 = stablehlo.broadcast_in_dim %cst_157, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %487 = stablehlo.multiply %arg6, %486 : tensor<24xf32>
    %cst_158 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %488 = stablehlo.broadcast_in_dim %cst_158, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %489 = stablehlo.multiply %186, %488 : tensor<24xf32>
    %cst_159 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %490 = stablehlo.broadcast_in_dim %cst_159, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %491 = stablehlo.multiply %489, %490 : tensor<24xf32>
    %492 = stablehlo.add %487, %491 : tensor<24xf32>
    %cst_160 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %493 = stablehlo.broadcast_in_dim %cst_160, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %494 = stablehlo.multiply %arg22, %493 : tensor<24xf32>
    %cst_161 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %495 = stablehlo.broadcast_in_dim %cst_161, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %496 = stablehlo.multiply %186, %495 : tensor<24xf32>
    %497 = stablehlo.multiply %496, %186 : tensor<24xf32>
    %cst_162 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %498 = stablehlo.broadcast_in_dim %cst_162, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %499 = stablehlo.multiply %497, %498 : tensor<24xf32>
    %500 = stablehlo.add %494, %499 : tensor<24xf32>
    %501 = stablehlo.sqrt %500 : tensor<24xf32>
    %cst_163 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %502 = stablehlo.power %cst_163, %300 : tensor<f32>
    %cst_164 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %503 = stablehlo.multiply %502, %cst_164 : tensor<f32>
    %cst_165 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %504 = stablehlo.subtract %cst_165, %503 : tensor<f32>
    %505 = stablehlo.sqrt %504 : tensor<f32>
    %506 = stablehlo.broadcast_in_dim %505, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %507 = stablehlo.divide %501, %506 : tensor<24xf32>
    %cst_166 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %508 = stablehlo.broadcast_in_dim %cst_166, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %509 = stablehlo.add %507, %508 : tensor<24xf32>
    %cst_167 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %510 = stablehlo.broadcast_in_dim %cst_167, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %511 = stablehlo.multiply %arg38, %510 : tensor<24xf32>
    %cst_168 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %512 = stablehlo.power %cst_168, %300 : tensor<f32>
    %cst_169 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %513 = stablehlo.multiply %512, %cst_169 : tensor<f32>
    %cst_170 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %514 = stablehlo.subtract %cst_170, %513 : tensor<f32>
    %cst_171 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %515 = stablehlo.divide %cst_171, %514 : tensor<f32>
    %cst_172 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %516 = stablehlo.multiply %515, %cst_172 : tensor<f32>
    %517 = stablehlo.broadcast_in_dim %516, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %518 = stablehlo.multiply %517, %492 : tensor<24xf32>
    %519 = stablehlo.divide %518, %509 : tensor<24xf32>
    %cst_173 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %520 = stablehlo.broadcast_in_dim %cst_173, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %521 = stablehlo.multiply %519, %520 : tensor<24xf32>
    %522 = stablehlo.subtract %511, %521 : tensor<24xf32>
    %cst_174 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %523 = stablehlo.broadcast_in_dim %cst_174, dims = [] : (tensor<f32>) -> tensor<24x48xf32>
    %524 = stablehlo.multiply %arg7, %523 : tensor<24x48xf32>
    %cst_175 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %525 = stablehlo.broadcast_in_dim %cst_175, dims = [] : (tensor<f32>) -> tensor<24x48xf32>
    %526 = stablehlo.multiply %187, %525 : tensor<24x48xf32>
    %cst_176 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %527 = stablehlo.broadcast_in_dim %cst_176, dims = [] : (tensor<f32>) -> tensor<24x48xf32>
    %528 = stablehlo.multiply %526, %527 : tensor<24x48xf32>
    %529 = stablehlo.add %524, %528 : tensor<24x48xf32>
    %cst_177 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %530 = stablehlo.broadcast_in_dim %cst_177, dims = [] : (tensor<f32>) -> tensor<24x48xf32>
    %531 = stablehlo.multiply %arg23, %530 : tensor<24x48xf32>
    %cst_178 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %532 = stablehlo.broadcast_in_dim %cst_178, dims = [] : (tensor<f32>) -> tensor<24x48xf32>
    %533 = stablehlo.multiply %187, %532 : tensor<24x48xf32>
    %534 = stablehlo.multiply %533, %187 : tensor<24x48xf32>
    %cst_179 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %535 = stablehlo.broadcast_in_dim %cst_179, dims = [] : (tensor<f32>) -> tensor<24x48xf32>
    %536 = stablehlo.multiply %534, %535 : tensor<24x48xf32>
    %537 = stablehlo.add %531, %536 : tensor<24x48xf32>
    %538 = stablehlo.sqrt %537 : tensor<24x48xf32>
    %cst_180 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %539 = stablehlo.power %cst_180, %300 : tensor<f32>
    %cst_181 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %540 = stablehlo.multiply %539, %cst_181 : tensor<f32>
    %cst_182 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %541 = stablehlo.subtract %cst_182, %540 : tensor<f32>
    %542 = stablehlo.sqrt %541 : tensor<f32>
    %543 = stablehlo.broadcast_in_dim %542, dims = [] : (tensor<f32>) -> tensor<24x48xf32>
    %544 = stablehlo.divide %538, %543 : tensor<24x48xf32>
    %cst_183 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %545 = stablehlo.broadcast_in_dim %cst_183, dims = [] : (tensor<f32>) -> tensor<24x48xf32>
    %546 = stablehlo.add %544, %545 : tensor<24x48xf32>
    %cst_184 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %547 = stablehlo.broadcast_in_dim %cst_184, dims = [] : (tensor<f32>) -> tensor<24x48xf32>
    %548 = stablehlo.multiply %arg39, %547 : tensor<24x48xf32>
    %cst_185 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %549 = stablehlo.power %cst_185, %300 : tensor<f32>
    %cst_186 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %550 = stablehlo.multiply %549, %cst_186 : tensor<f32>
    %cst_187 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %551 = stablehlo.subtract %cst_187, %550 : tensor<f32>
    %cst_188 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %552 = stablehlo.divide %cst_188, %551 : tensor<f32>
    %cst_189 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %553 = stablehlo.multiply %552, %cst_189 : tensor<f32>
    %554 = stablehlo.broadcast_in_dim %553, dims = [] : (tensor<f32>) -> tensor<24x48xf32>
    %555 = stablehlo.multiply %554, %529 : tensor<24x48xf32>
    %556 = stablehlo.divide %555, %546 : tensor<24x48xf32>
    %cst_190 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %557 = stablehlo.broadcast_in_dim %cst_190, dims = [] : (tensor<f32>) -> tensor<24x48xf32>
    %558 = stablehlo.multiply %556, %557 : tensor<24x48xf32>
    %559 = stablehlo.subtract %548, %558 : tensor<24x48xf32>
    %cst_191 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %560 = stablehlo.broadcast_in_dim %cst_191, dims = [] : (tensor<f32>) -> tensor<72xf32>
    %561 = stablehlo.multiply %arg8, %560 : tensor<72xf32>
    %cst_192 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %562 = stablehlo.broadcast_in_dim %cst_192, dims = [] : (tensor<f32>) -> tensor<72xf32>
    %563 = stablehlo.multiply %265, %562 : tensor<72xf32>
    %cst_193 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %564 = stablehlo.broadcast_in_dim %cst_193, dims = [] : (tensor<f32>) -> tensor<72xf32>
    %565 = stablehlo.multiply %563, %564 : tensor<72xf32>
    %566 = stablehlo.add %561, %565 : tensor<72xf32>
    %cst_194 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %567 = stablehlo.broadcast_in_dim %cst_194, dims = [] : (tensor<f32>) -> tensor<72xf32>
    %568 = stablehlo.multiply %arg24, %567 : tensor<72xf32>
    %cst_195 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %569 = stablehlo.broadcast_in_dim %cst_195, dims = [] : (tensor<f32>) -> tensor<72xf32>
    %570 = stablehlo.multiply %265, %569 : tensor<72xf32>
    %571 = stablehlo.multiply %570, %265 : tensor<72xf32>
    %cst_196 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %572 = stablehlo.broadcast_in_dim %cst_196, dims = [] : (tensor<f32>) -> tensor<72xf32>
    %573 = stablehlo.multiply %571, %572 : tensor<72xf32>
    %574 = stablehlo.add %568, %573 : tensor<72xf32>
    %575 = stablehlo.sqrt %574 : tensor<72xf32>
    %cst_197 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %576 = stablehlo.power %cst_197, %300 : tensor<f32>
    %cst_198 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %577 = stablehlo.multiply %576, %cst_198 : tensor<f32>
    %cst_199 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %578 = stablehlo.subtract %cst_199, %577 : tensor<f32>
    %579 = stablehlo.sqrt %578 : tensor<f32>
    %580 = stablehlo.broadcast_in_dim %579, dims = [] : (tensor<f32>) -> tensor<72xf32>
    %581 = stablehlo.divide %575, %580 : tensor<72xf32>
    %cst_200 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %582 = stablehlo.broadcast_in_dim %cst_200, dims = [] : (tensor<f32>) -> tensor<72xf32>
    %583 = stablehlo.add %581, %582 : tensor<72xf32>
    %cst_201 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %584 = stablehlo.broadcast_in_dim %cst_201, dims = [] : (tensor<f32>) -> tensor<72xf32>
    %585 = stablehlo.multiply %arg40, %584 : tensor<72xf32>
    %cst_202 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %586 = stablehlo.power %cst_202, %300 : tensor<f32>
    %cst_203 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %587 = stablehlo.multiply %586, %cst_203 : tensor<f32>
    %cst_204 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %588 = stablehlo.subtract %cst_204, %587 : tensor<f32>
    %cst_205 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %589 = stablehlo.divide %cst_205, %588 : tensor<f32>
    %cst_206 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %590 = stablehlo.multiply %589, %cst_206 : tensor<f32>
    %591 = stablehlo.broadcast_in_dim %590, dims = [] : (tensor<f32>) -> tensor<72xf32>
    %592 = stablehlo.multiply %591, %566 : tensor<72xf32>
    %593 = stablehlo.divide %592, %583 : tensor<72xf32>
    %cst_207 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %594 = stablehlo.broadcast_in_dim %cst_207, dims = [] : (tensor<f32>) -> tensor<72xf32>
    %595 = stablehlo.multiply %593, %594 : tensor<72xf32>
    %596 = stablehlo.subtract %585, %595 : tensor<72xf32>
    %cst_208 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %597 = stablehlo.broadcast_in_dim %cst_208, dims = [] : (tensor<f32>) -> tensor<72x24xf32>
    %598 = stablehlo.multiply %arg9, %597 : tensor<72x24xf32>
    %cst_209 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %599 = stablehlo.broadcast_in_dim %cst_209, dims = [] : (tensor<f32>) -> tensor<72x24xf32>
    %600 = stablehlo.multiply %266, %599 : tensor<72x24xf32>
    %cst_210 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %601 = stablehlo.broadcast_in_dim %cst_210, dims = [] : (tensor<f32>) -> tensor<72x24xf32>
    %602 = stablehlo.multiply %600, %601 : tensor<72x24xf32>
    %603 = stablehlo.add %598, %602 : tensor<72x24xf32>
    %cst_211 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %604 = stablehlo.broadcast_in_dim %cst_211, dims = [] : (tensor<f32>) -> tensor<72x24xf32>
    %605 = stablehlo.multiply %arg25, %604 : tensor<72x24xf32>
    %cst_212 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %606 = stablehlo.broadcast_in_dim %cst_212, dims = [] : (tensor<f32>) -> tensor<72x24xf32>
    %607 = stablehlo.multiply %266, %606 : tensor<72x24xf32>
    %608 = stablehlo.multiply %607, %266 : tensor<72x24xf32>
    %cst_213 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %609 = stablehlo.broadcast_in_dim %cst_213, dims = [] : (tensor<f32>) -> tensor<72x24xf32>
    %610 = stablehlo.multiply %608, %609 : tensor<72x24xf32>
    %611 = stablehlo.add %605, %610 : tensor<72x24xf32>
    %612 = stablehlo.sqrt %611 : tensor<72x24xf32>
    %cst_214 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %613 = stablehlo.power %cst_214, %300 : tensor<f32>
    %cst_215 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %614 = stablehlo.multiply %613, %cst_215 : tensor<f32>
    %cst_216 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %615 = stablehlo.subtract %cst_216, %614 : tensor<f32>
    %616 = stablehlo.sqrt %615 : tensor<f32>
    %617 = stablehlo.broadcast_in_dim %616, dims = [] : (tensor<f32>) -> tensor<72x24xf32>
    %618 = stablehlo.divide %612, %617 : tensor<72x24xf32>
    %cst_217 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %619 = stablehlo.broadcast_in_dim %cst_217, dims = [] : (tensor<f32>) -> tensor<72x24xf32>
    %620 = stablehlo.add %618, %619 : tensor<72x24xf32>
    %cst_218 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %621 = stablehlo.broadcast_in_dim %cst_218, dims = [] : (tensor<f32>) -> tensor<72x24xf32>
    %622 = stablehlo.multiply %arg41, %621 : tensor<72x24xf32>
    %cst_219 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %623 = stablehlo.power %cst_219, %300 : tensor<f32>
    %cst_220 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %624 = stablehlo.multiply %623, %cst_220 : tensor<f32>
    %cst_221 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %625 = stablehlo.subtract %cst_221, %624 : tensor<f32>
    %cst_222 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %626 = stablehlo.divide %cst_222, %625 : tensor<f32>
    %cst_223 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %627 = stablehlo.multiply %626, %cst_223 : tensor<f32>
    %628 = stablehlo.broadcast_in_dim %627, dims = [] : (tensor<f32>) -> tensor<72x24xf32>
    %629 = stablehlo.multiply %628, %603 : tensor<72x24xf32>
    %630 = stablehlo.divide %629, %620 : tensor<72x24xf32>
    %cst_224 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %631 = stablehlo.broadcast_in_dim %cst_224, dims = [] : (tensor<f32>) -> tensor<72x24xf32>
    %632 = stablehlo.multiply %630, %631 : tensor<72x24xf32>
    %633 = stablehlo.subtract %622, %632 : tensor<72x24xf32>
    %cst_225 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %634 = stablehlo.broadcast_in_dim %cst_225, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %635 = stablehlo.multiply %arg10, %634 : tensor<24xf32>
    %cst_226 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %636 = stablehlo.broadcast_in_dim %cst_226, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %637 = stablehlo.multiply %225, %636 : tensor<24xf32>
    %cst_227 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %638 = stablehlo.broadcast_in_dim %cst_227, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %639 = stablehlo.multiply %637, %638 : tensor<24xf32>
    %640 = stablehlo.add %635, %639 : tensor<24xf32>
    %cst_228 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %641 = stablehlo.broadcast_in_dim %cst_228, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %642 = stablehlo.multiply %arg26, %641 : tensor<24xf32>
    %cst_229 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %643 = stablehlo.broadcast_in_dim %cst_229, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %644 = stablehlo.multiply %225, %643 : tensor<24xf32>
    %645 = stablehlo.multiply %644, %225 : tensor<24xf32>
    %cst_230 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %646 = stablehlo.broadcast_in_dim %cst_230, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %647 = stablehlo.multiply %645, %646 : tensor<24xf32>
    %648 = stablehlo.add %642, %647 : tensor<24xf32>
    %649 = stablehlo.sqrt %648 : tensor<24xf32>
    %cst_231 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %650 = stablehlo.power %cst_231, %300 : tensor<f32>
    %cst_232 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %651 = stablehlo.multiply %650, %cst_232 : tensor<f32>
    %cst_233 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %652 = stablehlo.subtract %cst_233, %651 : tensor<f32>
    %653 = stablehlo.sqrt %652 : tensor<f32>
    %654 = stablehlo.broadcast_in_dim %653, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %655 = stablehlo.divide %649, %654 : tensor<24xf32>
    %cst_234 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %656 = stablehlo.broadcast_in_dim %cst_234, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %657 = stablehlo.add %655, %656 : tensor<24xf32>
    %cst_235 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %658 = stablehlo.broadcast_in_dim %cst_235, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %659 = stablehlo.multiply %arg42, %658 : tensor<24xf32>
    %cst_236 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %660 = stablehlo.power %cst_236, %300 : tensor<f32>
    %cst_237 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %661 = stablehlo.multiply %660, %cst_237 : tensor<f32>
    %cst_238 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %662 = stablehlo.subtract %cst_238, %661 : tensor<f32>
    %cst_239 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %663 = stablehlo.divide %cst_239, %662 : tensor<f32>
    %cst_240 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %664 = stablehlo.multiply %663, %cst_240 : tensor<f32>
    %665 = stablehlo.broadcast_in_dim %664, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %666 = stablehlo.multiply %665, %640 : tensor<24xf32>
    %667 = stablehlo.divide %666, %657 : tensor<24xf32>
    %cst_241 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %668 = stablehlo.broadcast_in_dim %cst_241, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %669 = stablehlo.multiply %667, %668 : tensor<24xf32>
    %670 = stablehlo.subtract %659, %669 : tensor<24xf32>
    %cst_242 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %671 = stablehlo.broadcast_in_dim %cst_242, dims = [] : (tensor<f32>) -> tensor<24x24xf32>
    %672 = stablehlo.multiply %arg11, %671 : tensor<24x24xf32>
    %cst_243 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %673 = stablehlo.broadcast_in_dim %cst_243, dims = [] : (tensor<f32>) -> tensor<24x24xf32>
    %674 = stablehlo.multiply %226, %673 : tensor<24x24xf32>
    %cst_244 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %675 = stablehlo.broadcast_in_dim %cst_244, dims = [] : (tensor<f32>) -> tensor<24x24xf32>
    %676 = stablehlo.multiply %674, %675 : tensor<24x24xf32>
    %677 = stablehlo.add %672, %676 : tensor<24x24xf32>
    %cst_245 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %678 = stablehlo.broadcast_in_dim %cst_245, dims = [] : (tensor<f32>) -> tensor<24x24xf32>
    %679 = stablehlo.multiply %arg27, %678 : tensor<24x24xf32>
    %cst_246 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %680 = stablehlo.broadcast_in_dim %cst_246, dims = [] : (tensor<f32>) -> tensor<24x24xf32>
    %681 = stablehlo.multiply %226, %680 : tensor<24x24xf32>
    %682 = stablehlo.multiply %681, %226 : tensor<24x24xf32>
    %cst_247 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %683 = stablehlo.broadcast_in_dim %cst_247, dims = [] : (tensor<f32>) -> tensor<24x24xf32>
    %684 = stablehlo.multiply %682, %683 : tensor<24x24xf32>
    %685 = stablehlo.add %679, %684 : tensor<24x24xf32>
    %686 = stablehlo.sqrt %685 : tensor<24x24xf32>
    %cst_248 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %687 = stablehlo.power %cst_248, %300 : tensor<f32>
    %cst_249 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %688 = stablehlo.multiply %687, %cst_249 : tensor<f32>
    %cst_250 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %689 = stablehlo.subtract %cst_250, %688 : tensor<f32>
    %690 = stablehlo.sqrt %689 : tensor<f32>
    %691 = stablehlo.broadcast_in_dim %690, dims = [] : (tensor<f32>) -> tensor<24x24xf32>
    %692 = stablehlo.divide %686, %691 : tensor<24x24xf32>
    %cst_251 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %693 = stablehlo.broadcast_in_dim %cst_251, dims = [] : (tensor<f32>) -> tensor<24x24xf32>
    %694 = stablehlo.add %692, %693 : tensor<24x24xf32>
    %cst_252 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %695 = stablehlo.broadcast_in_dim %cst_252, dims = [] : (tensor<f32>) -> tensor<24x24xf32>
    %696 = stablehlo.multiply %arg43, %695 : tensor<24x24xf32>
    %cst_253 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %697 = stablehlo.power %cst_253, %300 : tensor<f32>
    %cst_254 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %698 = stablehlo.multiply %697, %cst_254 : tensor<f32>
    %cst_255 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %699 = stablehlo.subtract %cst_255, %698 : tensor<f32>
    %cst_256 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %700 = stablehlo.divide %cst_256, %699 : tensor<f32>
    %cst_257 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %701 = stablehlo.multiply %700, %cst_257 : tensor<f32>
    %702 = stablehlo.broadcast_in_dim %701, dims = [] : (tensor<f32>) -> tensor<24x24xf32>
    %703 = stablehlo.multiply %702, %677 : tensor<24x24xf32>
    %704 = stablehlo.divide %703, %694 : tensor<24x24xf32>
    %cst_258 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %705 = stablehlo.broadcast_in_dim %cst_258, dims = [] : (tensor<f32>) -> tensor<24x24xf32>
    %706 = stablehlo.multiply %704, %705 : tensor<24x24xf32>
    %707 = stablehlo.subtract %696, %706 : tensor<24x24xf32>
    %cst_259 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %708 = stablehlo.broadcast_in_dim %cst_259, dims = [] : (tensor<f32>) -> tensor<12x24xf32>
    %709 = stablehlo.multiply %arg12, %708 : tensor<12x24xf32>
    %cst_260 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %710 = stablehlo.broadcast_in_dim %cst_260, dims = [] : (tensor<f32>) -> tensor<12x24xf32>
    %711 = stablehlo.multiply %298, %710 : tensor<12x24xf32>
    %cst_261 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %712 = stablehlo.broadcast_in_dim %cst_261, dims = [] : (tensor<f32>) -> tensor<12x24xf32>
    %713 = stablehlo.multiply %711, %712 : tensor<12x24xf32>
    %714 = stablehlo.add %709, %713 : tensor<12x24xf32>
    %cst_262 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %715 = stablehlo.broadcast_in_dim %cst_262, dims = [] : (tensor<f32>) -> tensor<12x24xf32>
    %716 = stablehlo.multiply %arg28, %715 : tensor<12x24xf32>
    %cst_263 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %717 = stablehlo.broadcast_in_dim %cst_263, dims = [] : (tensor<f32>) -> tensor<12x24xf32>
    %718 = stablehlo.multiply %298, %717 : tensor<12x24xf32>
    %719 = stablehlo.multiply %718, %298 : tensor<12x24xf32>
    %cst_264 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %720 = stablehlo.broadcast_in_dim %cst_264, dims = [] : (tensor<f32>) -> tensor<12x24xf32>
    %721 = stablehlo.multiply %719, %720 : tensor<12x24xf32>
    %722 = stablehlo.add %716, %721 : tensor<12x24xf32>
    %723 = stablehlo.sqrt %722 : tensor<12x24xf32>
    %cst_265 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %724 = stablehlo.power %cst_265, %300 : tensor<f32>
    %cst_266 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %725 = stablehlo.multiply %724, %cst_266 : tensor<f32>
    %cst_267 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %726 = stablehlo.subtract %cst_267, %725 : tensor<f32>
    %727 = stablehlo.sqrt %726 : tensor<f32>
    %728 = stablehlo.broadcast_in_dim %727, dims = [] : (tensor<f32>) -> tensor<12x24xf32>
    %729 = stablehlo.divide %723, %728 : tensor<12x24xf32>
    %cst_268 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %730 = stablehlo.broadcast_in_dim %cst_268, dims = [] : (tensor<f32>) -> tensor<12x24xf32>
    %731 = stablehlo.add %729, %730 : tensor<12x24xf32>
    %cst_269 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %732 = stablehlo.broadcast_in_dim %cst_269, dims = [] : (tensor<f32>) -> tensor<12x24xf32>
    %733 = stablehlo.multiply %arg44, %732 : tensor<12x24xf32>
    %cst_270 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %734 = stablehlo.power %cst_270, %300 : tensor<f32>
    %cst_271 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %735 = stablehlo.multiply %734, %cst_271 : tensor<f32>
    %cst_272 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %736 = stablehlo.subtract %cst_272, %735 : tensor<f32>
    %cst_273 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %737 = stablehlo.divide %cst_273, %736 : tensor<f32>
    %cst_274 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %738 = stablehlo.multiply %737, %cst_274 : tensor<f32>
    %739 = stablehlo.broadcast_in_dim %738, dims = [] : (tensor<f32>) -> tensor<12x24xf32>
    %740 = stablehlo.multiply %739, %714 : tensor<12x24xf32>
    %741 = stablehlo.divide %740, %731 : tensor<12x24xf32>
    %cst_275 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %742 = stablehlo.broadcast_in_dim %cst_275, dims = [] : (tensor<f32>) -> tensor<12x24xf32>
    %743 = stablehlo.multiply %741, %742 : tensor<12x24xf32>
    %744 = stablehlo.subtract %733, %743 : tensor<12x24xf32>
    %cst_276 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %745 = stablehlo.broadcast_in_dim %cst_276, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %746 = stablehlo.multiply %arg13, %745 : tensor<32xf32>
    %cst_277 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %747 = stablehlo.broadcast_in_dim %cst_277, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %748 = stablehlo.multiply %179, %747 : tensor<32xf32>
    %cst_278 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %749 = stablehlo.broadcast_in_dim %cst_278, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %750 = stablehlo.multiply %748, %749 : tensor<32xf32>
    %751 = stablehlo.add %746, %750 : tensor<32xf32>
    %cst_279 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %752 = stablehlo.broadcast_in_dim %cst_279, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %753 = stablehlo.multiply %arg29, %752 : tensor<32xf32>
    %cst_280 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %754 = stablehlo.broadcast_in_dim %cst_280, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %755 = stablehlo.multiply %179, %754 : tensor<32xf32>
    %756 = stablehlo.multiply %755, %179 : tensor<32xf32>
    %cst_281 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %757 = stablehlo.broadcast_in_dim %cst_281, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %758 = stablehlo.multiply %756, %757 : tensor<32xf32>
    %759 = stablehlo.add %753, %758 : tensor<32xf32>
    %760 = stablehlo.sqrt %759 : tensor<32xf32>
    %cst_282 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %761 = stablehlo.power %cst_282, %300 : tensor<f32>
    %cst_283 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %762 = stablehlo.multiply %761, %cst_283 : tensor<f32>
    %cst_284 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %763 = stablehlo.subtract %cst_284, %762 : tensor<f32>
    %764 = stablehlo.sqrt %763 : tensor<f32>
    %765 = stablehlo.broadcast_in_dim %764, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %766 = stablehlo.divide %760, %765 : tensor<32xf32>
    %cst_285 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %767 = stablehlo.broadcast_in_dim %cst_285, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %768 = stablehlo.add %766, %767 : tensor<32xf32>
    %cst_286 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %769 = stablehlo.broadcast_in_dim %cst_286, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %770 = stablehlo.multiply %arg45, %769 : tensor<32xf32>
    %cst_287 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %771 = stablehlo.power %cst_287, %300 : tensor<f32>
    %cst_288 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %772 = stablehlo.multiply %771, %cst_288 : tensor<f32>
    %cst_289 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %773 = stablehlo.subtract %cst_289, %772 : tensor<f32>
    %cst_290 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %774 = stablehlo.divide %cst_290, %773 : tensor<f32>
    %cst_291 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %775 = stablehlo.multiply %774, %cst_291 : tensor<f32>
    %776 = stablehlo.broadcast_in_dim %775, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %777 = stablehlo.multiply %776, %751 : tensor<32xf32>
    %778 = stablehlo.divide %777, %768 : tensor<32xf32>
    %cst_292 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %779 = stablehlo.broadcast_in_dim %cst_292, dims = [] : (tensor<f32>) -> tensor<32xf32>
    %780 = stablehlo.multiply %778, %779 : tensor<32xf32>
    %781 = stablehlo.subtract %770, %780 : tensor<32xf32>
    %cst_293 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %782 = stablehlo.broadcast_in_dim %cst_293, dims = [] : (tensor<f32>) -> tensor<32x24xf32>
    %783 = stablehlo.multiply %arg14, %782 : tensor<32x24xf32>
    %cst_294 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %784 = stablehlo.broadcast_in_dim %cst_294, dims = [] : (tensor<f32>) -> tensor<32x24xf32>
    %785 = stablehlo.multiply %180, %784 : tensor<32x24xf32>
    %cst_295 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %786 = stablehlo.broadcast_in_dim %cst_295, dims = [] : (tensor<f32>) -> tensor<32x24xf32>
    %787 = stablehlo.multiply %785, %786 : tensor<32x24xf32>
    %788 = stablehlo.add %783, %787 : tensor<32x24xf32>
    %cst_296 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %789 = stablehlo.broadcast_in_dim %cst_296, dims = [] : (tensor<f32>) -> tensor<32x24xf32>
    %790 = stablehlo.multiply %arg30, %789 : tensor<32x24xf32>
    %cst_297 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %791 = stablehlo.broadcast_in_dim %cst_297, dims = [] : (tensor<f32>) -> tensor<32x24xf32>
    %792 = stablehlo.multiply %180, %791 : tensor<32x24xf32>
    %793 = stablehlo.multiply %792, %180 : tensor<32x24xf32>
    %cst_298 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %794 = stablehlo.broadcast_in_dim %cst_298, dims = [] : (tensor<f32>) -> tensor<32x24xf32>
    %795 = stablehlo.multiply %793, %794 : tensor<32x24xf32>
    %796 = stablehlo.add %790, %795 : tensor<32x24xf32>
    %797 = stablehlo.sqrt %796 : tensor<32x24xf32>
    %cst_299 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %798 = stablehlo.power %cst_299, %300 : tensor<f32>
    %cst_300 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %799 = stablehlo.multiply %798, %cst_300 : tensor<f32>
    %cst_301 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %800 = stablehlo.subtract %cst_301, %799 : tensor<f32>
    %801 = stablehlo.sqrt %800 : tensor<f32>
    %802 = stablehlo.broadcast_in_dim %801, dims = [] : (tensor<f32>) -> tensor<32x24xf32>
    %803 = stablehlo.divide %797, %802 : tensor<32x24xf32>
    %cst_302 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %804 = stablehlo.broadcast_in_dim %cst_302, dims = [] : (tensor<f32>) -> tensor<32x24xf32>
    %805 = stablehlo.add %803, %804 : tensor<32x24xf32>
    %cst_303 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %806 = stablehlo.broadcast_in_dim %cst_303, dims = [] : (tensor<f32>) -> tensor<32x24xf32>
    %807 = stablehlo.multiply %arg46, %806 : tensor<32x24xf32>
    %cst_304 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %808 = stablehlo.power %cst_304, %300 : tensor<f32>
    %cst_305 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %809 = stablehlo.multiply %808, %cst_305 : tensor<f32>
    %cst_306 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %810 = stablehlo.subtract %cst_306, %809 : tensor<f32>
    %cst_307 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %811 = stablehlo.divide %cst_307, %810 : tensor<f32>
    %cst_308 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %812 = stablehlo.multiply %811, %cst_308 : tensor<f32>
    %813 = stablehlo.broadcast_in_dim %812, dims = [] : (tensor<f32>) -> tensor<32x24xf32>
    %814 = stablehlo.multiply %813, %788 : tensor<32x24xf32>
    %815 = stablehlo.divide %814, %805 : tensor<32x24xf32>
    %cst_309 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %816 = stablehlo.broadcast_in_dim %cst_309, dims = [] : (tensor<f32>) -> tensor<32x24xf32>
    %817 = stablehlo.multiply %815, %816 : tensor<32x24xf32>
    %818 = stablehlo.subtract %807, %817 : tensor<32x24xf32>
    %cst_310 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %819 = stablehlo.broadcast_in_dim %cst_310, dims = [] : (tensor<f32>) -> tensor<48xf32>
    %820 = stablehlo.multiply %arg15, %819 : tensor<48xf32>
    %cst_311 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %821 = stablehlo.broadcast_in_dim %cst_311, dims = [] : (tensor<f32>) -> tensor<48xf32>
    %822 = stablehlo.multiply %192, %821 : tensor<48xf32>
    %cst_312 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %823 = stablehlo.broadcast_in_dim %cst_312, dims = [] : (tensor<f32>) -> tensor<48xf32>
    %824 = stablehlo.multiply %822, %823 : tensor<48xf32>
    %825 = stablehlo.add %820, %824 : tensor<48xf32>
    %cst_313 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %826 = stablehlo.broadcast_in_dim %cst_313, dims = [] : (tensor<f32>) -> tensor<48xf32>
    %827 = stablehlo.multiply %arg31, %826 : tensor<48xf32>
    %cst_314 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %828 = stablehlo.broadcast_in_dim %cst_314, dims = [] : (tensor<f32>) -> tensor<48xf32>
    %829 = stablehlo.multiply %192, %828 : tensor<48xf32>
    %830 = stablehlo.multiply %829, %192 : tensor<48xf32>
    %cst_315 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %831 = stablehlo.broadcast_in_dim %cst_315, dims = [] : (tensor<f32>) -> tensor<48xf32>
    %832 = stablehlo.multiply %830, %831 : tensor<48xf32>
    %833 = stablehlo.add %827, %832 : tensor<48xf32>
    %834 = stablehlo.sqrt %833 : tensor<48xf32>
    %cst_316 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %835 = stablehlo.power %cst_316, %300 : tensor<f32>
    %cst_317 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %836 = stablehlo.multiply %835, %cst_317 : tensor<f32>
    %cst_318 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %837 = stablehlo.subtract %cst_318, %836 : tensor<f32>
    %838 = stablehlo.sqrt %837 : tensor<f32>
    %839 = stablehlo.broadcast_in_dim %838, dims = [] : (tensor<f32>) -> tensor<48xf32>
    %840 = stablehlo.divide %834, %839 : tensor<48xf32>
    %cst_319 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %841 = stablehlo.broadcast_in_dim %cst_319, dims = [] : (tensor<f32>) -> tensor<48xf32>
    %842 = stablehlo.add %840, %841 : tensor<48xf32>
    %cst_320 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %843 = stablehlo.broadcast_in_dim %cst_320, dims = [] : (tensor<f32>) -> tensor<48xf32>
    %844 = stablehlo.multiply %arg47, %843 : tensor<48xf32>
    %cst_321 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %845 = stablehlo.power %cst_321, %300 : tensor<f32>
    %cst_322 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %846 = stablehlo.multiply %845, %cst_322 : tensor<f32>
    %cst_323 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %847 = stablehlo.subtract %cst_323, %846 : tensor<f32>
    %cst_324 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %848 = stablehlo.divide %cst_324, %847 : tensor<f32>
    %cst_325 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %849 = stablehlo.multiply %848, %cst_325 : tensor<f32>
    %850 = stablehlo.broadcast_in_dim %849, dims = [] : (tensor<f32>) -> tensor<48xf32>
    %851 = stablehlo.multiply %850, %825 : tensor<48xf32>
    %852 = stablehlo.divide %851, %842 : tensor<48xf32>
    %cst_326 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %853 = stablehlo.broadcast_in_dim %cst_326, dims = [] : (tensor<f32>) -> tensor<48xf32>
    %854 = stablehlo.multiply %852, %853 : tensor<48xf32>
    %855 = stablehlo.subtract %844, %854 : tensor<48xf32>
    %cst_327 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %856 = stablehlo.broadcast_in_dim %cst_327, dims = [] : (tensor<f32>) -> tensor<48x24xf32>
    %857 = stablehlo.multiply %arg16, %856 : tensor<48x24xf32>
    %cst_328 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %858 = stablehlo.broadcast_in_dim %cst_328, dims = [] : (tensor<f32>) -> tensor<48x24xf32>
    %859 = stablehlo.multiply %193, %858 : tensor<48x24xf32>
    %cst_329 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %860 = stablehlo.broadcast_in_dim %cst_329, dims = [] : (tensor<f32>) -> tensor<48x24xf32>
    %861 = stablehlo.multiply %859, %860 : tensor<48x24xf32>
    %862 = stablehlo.add %857, %861 : tensor<48x24xf32>
    %cst_330 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %863 = stablehlo.broadcast_in_dim %cst_330, dims = [] : (tensor<f32>) -> tensor<48x24xf32>
    %864 = stablehlo.multiply %arg32, %863 : tensor<48x24xf32>
    %cst_331 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %865 = stablehlo.broadcast_in_dim %cst_331, dims = [] : (tensor<f32>) -> tensor<48x24xf32>
    %866 = stablehlo.multiply %193, %865 : tensor<48x24xf32>
    %867 = stablehlo.multiply %866, %193 : tensor<48x24xf32>
    %cst_332 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %868 = stablehlo.broadcast_in_dim %cst_332, dims = [] : (tensor<f32>) -> tensor<48x24xf32>
    %869 = stablehlo.multiply %867, %868 : tensor<48x24xf32>
    %870 = stablehlo.add %864, %869 : tensor<48x24xf32>
    %871 = stablehlo.sqrt %870 : tensor<48x24xf32>
    %cst_333 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %872 = stablehlo.power %cst_333, %300 : tensor<f32>
    %cst_334 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %873 = stablehlo.multiply %872, %cst_334 : tensor<f32>
    %cst_335 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %874 = stablehlo.subtract %cst_335, %873 : tensor<f32>
    %875 = stablehlo.sqrt %874 : tensor<f32>
    %876 = stablehlo.broadcast_in_dim %875, dims = [] : (tensor<f32>) -> tensor<48x24xf32>
    %877 = stablehlo.divide %871, %876 : tensor<48x24xf32>
    %cst_336 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %878 = stablehlo.broadcast_in_dim %cst_336, dims = [] : (tensor<f32>) -> tensor<48x24xf32>
    %879 = stablehlo.add %877, %878 : tensor<48x24xf32>
    %cst_337 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %880 = stablehlo.broadcast_in_dim %cst_337, dims = [] : (tensor<f32>) -> tensor<48x24xf32>
    %881 = stablehlo.multiply %arg48, %880 : tensor<48x24xf32>
    %cst_338 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %882 = stablehlo.power %cst_338, %300 : tensor<f32>
    %cst_339 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %883 = stablehlo.multiply %882, %cst_339 : tensor<f32>
    %cst_340 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %884 = stablehlo.subtract %cst_340, %883 : tensor<f32>
    %cst_341 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %885 = stablehlo.divide %cst_341, %884 : tensor<f32>
    %cst_342 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %886 = stablehlo.multiply %885, %cst_342 : tensor<f32>
    %887 = stablehlo.broadcast_in_dim %886, dims = [] : (tensor<f32>) -> tensor<48x24xf32>
    %888 = stablehlo.multiply %887, %862 : tensor<48x24xf32>
    %889 = stablehlo.divide %888, %879 : tensor<48x24xf32>
    %cst_343 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %890 = stablehlo.broadcast_in_dim %cst_343, dims = [] : (tensor<f32>) -> tensor<48x24xf32>
    %891 = stablehlo.multiply %889, %890 : tensor<48x24xf32>
    %892 = stablehlo.subtract %881, %891 : tensor<48x24xf32>
    return %300, %307, %344, %381, %418, %455, %492, %529, %566, %603, %640, %677, %714, %751, %788, %825, %862, %315, %352, %389, %426, %463, %500, %537, %574, %611, %648, %685, %722, %759, %796, %833, %870, %337, %374, %411, %448, %485, %522, %559, %596, %633, %670, %707, %744, %781, %818, %855, %892, %166 : tensor<f32>, tensor<24xf32>, tensor<24xf32>, tensor<24xf32>, tensor<24xf32>, tensor<32x24xf32>, tensor<24xf32>, tensor<24x48xf32>, tensor<72xf32>, tensor<72x24xf32>, tensor<24xf32>, tensor<24x24xf32>, tensor<12x24xf32>, tensor<32xf32>, tensor<32x24xf32>, tensor<48xf32>, tensor<48x24xf32>, tensor<24xf32>, tensor<24xf32>, tensor<24xf32>, tensor<24xf32>, tensor<32x24xf32>, tensor<24xf32>, tensor<24x48xf32>, tensor<72xf32>, tensor<72x24xf32>, tensor<24xf32>, tensor<24x24xf32>, tensor<12x24xf32>, tensor<32xf32>, tensor<32x24xf32>, tensor<48xf32>, tensor<48x24xf32>, tensor<24xf32>, tensor<24xf32>, tensor<24xf32>, tensor<24xf32>, tensor<32x24xf32>, tensor<24xf32>, tensor<24x48xf32>, tensor<72xf32>, tensor<72x24xf32>, tensor<24xf32>, tensor<24x24xf32>, tensor<12x24xf32>, tensor<32xf32>, tensor<32x24xf32>, tensor<48xf32>, tensor<48x24xf32>, tensor<f32>
  }
  func.func private @_take(%arg0: tensor<32x24xf32>, %arg1: tensor<4x12xi32>) -> (tensor<4x12x24xf32>, tensor<4x12x1xi32>) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<4x12xi32>
    %1 = stablehlo.compare LT, %arg1, %0, SIGNED : (tensor<4x12xi32>, tensor<4x12xi32>) -> tensor<4x12xi1>
    %c_0 = stablehlo.constant dense<32> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<4x12xi32>
    %3 = stablehlo.add %arg1, %2 : tensor<4x12xi32>
    %4 = call @_where(%1, %3, %arg1) : (tensor<4x12xi1>, tensor<4x12xi32>, tensor<4x12xi32>) -> tensor<4x12xi32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0, 1] : (tensor<4x12xi32>) -> tensor<4x12x1xi32>
    %c_1 = stablehlo.constant dense<31> : tensor<1xi32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %6 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<4x12x1xi32>
    %7 = stablehlo.compare GE, %5, %6, SIGNED : (tensor<4x12x1xi32>, tensor<4x12x1xi32>) -> tensor<4x12x1xi1>
    %8 = stablehlo.broadcast_in_dim %c_1, dims = [2] : (tensor<1xi32>) -> tensor<1x1x1xi32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1, 2] : (tensor<1x1x1xi32>) -> tensor<4x12x1xi32>
    %10 = stablehlo.compare LE, %5, %9, SIGNED : (tensor<4x12x1xi32>, tensor<4x12x1xi32>) -> tensor<4x12x1xi1>
    %11 = stablehlo.and %7, %10 : tensor<4x12x1xi1>
    %c_3 = stablehlo.constant dense<true> : tensor<i1>
    %12 = stablehlo.reduce(%11 init: %c_3) applies stablehlo.and across dimensions = [2] : (tensor<4x12x1xi1>, tensor<i1>) -> tensor<4x12xi1>
    %13 = "stablehlo.gather"(%arg0, %5) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 24>}> : (tensor<32x24xf32>, tensor<4x12x1xi32>) -> tensor<4x12x24xf32>
    %14 = stablehlo.broadcast_in_dim %12, dims = [0, 1] : (tensor<4x12xi1>) -> tensor<4x12x24xi1>
    %cst = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %15 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x12x24xf32>
    %16 = stablehlo.select %14, %13, %15 : tensor<4x12x24xi1>, tensor<4x12x24xf32>
    return %16, %5 : tensor<4x12x24xf32>, tensor<4x12x1xi32>
  }
  func.func private @_where(%arg0: tensor<4x12xi1>, %arg1: tensor<4x12xi32>, %arg2: tensor<4x12xi32>) -> tensor<4x12xi32> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<4x12xi1>, tensor<4x12xi32>
    return %0 : tensor<4x12xi32>
  }
  func.func private @_var(%arg0: tensor<4x12x24xf32>, %arg1: tensor<i32>) -> (tensor<4x12x1xf32>, tensor<4x12x24xf32>, tensor<f32>, tensor<i1>) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<4x12x24xf32>, tensor<f32>) -> tensor<4x12xf32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [0, 1] : (tensor<4x12xf32>) -> tensor<4x12x1xf32>
    %cst_0 = stablehlo.constant dense<2.400000e+01> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<4x12x1xf32>
    %3 = stablehlo.divide %1, %2 : tensor<4x12x1xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1, 2] : (tensor<4x12x1xf32>) -> tensor<4x12x24xf32>
    %5 = stablehlo.subtract %arg0, %4 : tensor<4x12x24xf32>
    %6 = chlo.square %5 : tensor<4x12x24xf32> -> tensor<4x12x24xf32>
    %cst_1 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %7 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<4x12x24xf32>
    %8 = stablehlo.multiply %7, %5 : tensor<4x12x24xf32>
    %9 = stablehlo.convert %arg1 : (tensor<i32>) -> tensor<f32>
    %cst_2 = stablehlo.constant dense<2.400000e+01> : tensor<f32>
    %10 = stablehlo.subtract %cst_2, %9 : tensor<f32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %11 = stablehlo.reduce(%6 init: %cst_3) applies stablehlo.add across dimensions = [2] : (tensor<4x12x24xf32>, tensor<f32>) -> tensor<4x12xf32>
    %12 = stablehlo.broadcast_in_dim %11, dims = [0, 1] : (tensor<4x12xf32>) -> tensor<4x12x1xf32>
    %13 = stablehlo.broadcast_in_dim %10, dims = [] : (tensor<f32>) -> tensor<4x12x1xf32>
    %14 = stablehlo.divide %12, %13 : tensor<4x12x1xf32>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %15 = stablehlo.compare GT, %10, %cst_4, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %cst_5 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %16 = call @_where_0(%15, %14, %cst_5) : (tensor<i1>, tensor<4x12x1xf32>, tensor<f32>) -> tensor<4x12x1xf32>
    return %16, %8, %10, %15 : tensor<4x12x1xf32>, tensor<4x12x24xf32>, tensor<f32>, tensor<i1>
  }
  func.func private @_where_0(%arg0: tensor<i1>, %arg1: tensor<4x12x1xf32>, %arg2: tensor<f32>) -> tensor<4x12x1xf32> {
    %0 = stablehlo.convert %arg2 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<4x12x1xf32>
    %2 = stablehlo.select %arg0, %arg1, %1 : tensor<i1>, tensor<4x12x1xf32>
    return %2 : tensor<4x12x1xf32>
  }
  func.func private @_where_1(%arg0: tensor<12x12xi1>, %arg1: tensor<f32>, %arg2: tensor<12x12xf32>) -> tensor<12x12xf32> {
    %0 = stablehlo.convert %arg1 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<12x12xf32>
    %2 = stablehlo.select %arg0, %1, %arg2 : tensor<12x12xi1>, tensor<12x12xf32>
    return %2 : tensor<12x12xf32>
  }
  func.func private @silu(%arg0: tensor<4x12x48xf32>) -> (tensor<4x12x48xf32>, tensor<4x12x48xf32>, tensor<4x12x48xf32>) {
    %0 = stablehlo.negate %arg0 : tensor<4x12x48xf32>
    %1 = stablehlo.exponential %0 : tensor<4x12x48xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x12x48xf32>
    %3 = stablehlo.add %2, %1 : tensor<4x12x48xf32>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<4x12x48xf32>
    %5 = stablehlo.divide %4, %3 : tensor<4x12x48xf32>
    %cst_1 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %6 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<4x12x48xf32>
    %7 = stablehlo.subtract %6, %5 : tensor<4x12x48xf32>
    %8 = stablehlo.multiply %5, %7 : tensor<4x12x48xf32>
    %9 = stablehlo.multiply %arg0, %5 : tensor<4x12x48xf32>
    return %9, %8, %5 : tensor<4x12x48xf32>, tensor<4x12x48xf32>, tensor<4x12x48xf32>
  }
  func.func private @log_softmax(%arg0: tensor<48x32xf32>) -> (tensor<48x32xf32>, tensor<48x32xf32>, tensor<48x1xf32>) {
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.maximum across dimensions = [1] : (tensor<48x32xf32>, tensor<f32>) -> tensor<48xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<48xf32>
    %2 = stablehlo.maximum %1, %0 : tensor<48xf32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<48xf32>) -> tensor<48x1xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<48x1xf32>) -> tensor<48x32xf32>
    %5 = stablehlo.subtract %arg0, %4 : tensor<48x32xf32>
    %6 = stablehlo.exponential %5 : tensor<48x32xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %7 = stablehlo.reduce(%6 init: %cst_1) applies stablehlo.add across dimensions = [1] : (tensor<48x32xf32>, tensor<f32>) -> tensor<48xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0] : (tensor<48xf32>) -> tensor<48x1xf32>
    %9 = stablehlo.log %8 : tensor<48x1xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1] : (tensor<48x1xf32>) -> tensor<48x32xf32>
    %11 = stablehlo.subtract %5, %10 : tensor<48x32xf32>
    return %11, %6, %8 : tensor<48x32xf32>, tensor<48x32xf32>, tensor<48x1xf32>
  }
  func.func private @_where_2(%arg0: tensor<48xi1>, %arg1: tensor<48xi32>, %arg2: tensor<i32>) -> tensor<48xi32> {
    %0 = stablehlo.convert %arg2 : tensor<i32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<i32>) -> tensor<48xi32>
    %2 = stablehlo.select %arg0, %arg1, %1 : tensor<48xi1>, tensor<48xi32>
    return %2 : tensor<48xi32>
  }
  func.func private @_where_3(%arg0: tensor<48xi1>, %arg1: tensor<48xf32>, %arg2: tensor<i32>) -> tensor<48xf32> {
    %0 = stablehlo.convert %arg2 : (tensor<i32>) -> tensor<f32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<48xf32>
    %2 = stablehlo.select %arg0, %arg1, %1 : tensor<48xi1>, tensor<48xf32>
    return %2 : tensor<48xf32>
  }
  func.func private @_where_4(%arg0: tensor<48xi1>, %arg1: tensor<48xf32>) -> tensor<48xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<48xf32>
    %1 = stablehlo.select %arg0, %arg1, %0 : tensor<48xi1>, tensor<48xf32>
    return %1 : tensor<48xf32>
  }
  func.func private @log_softmax_5(%arg0: tensor<48x32xf32>, %arg1: tensor<48x1xf32>, %arg2: tensor<48x32xf32>) -> tensor<48x32xf32> {
    %0 = stablehlo.negate %arg2 : tensor<48x32xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<48x32xf32>, tensor<f32>) -> tensor<48xf32>
    %2 = stablehlo.reshape %1 : (tensor<48xf32>) -> tensor<48x1xf32>
    %3 = stablehlo.divide %2, %arg1 : tensor<48x1xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %4 = stablehlo.reduce(%3 init: %cst_0) applies stablehlo.add across dimensions = [1] : (tensor<48x1xf32>, tensor<f32>) -> tensor<48xf32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<48xf32>) -> tensor<48x32xf32>
    %6 = stablehlo.multiply %5, %arg0 : tensor<48x32xf32>
    %7 = stablehlo.add %arg2, %6 : tensor<48x32xf32>
    return %7 : tensor<48x32xf32>
  }
  func.func private @silu_6(%arg0: tensor<4x12x48xf32>, %arg1: tensor<4x12x48xf32>, %arg2: tensor<4x12x48xf32>, %arg3: tensor<4x12x48xf32>) -> tensor<4x12x48xf32> {
    %0 = stablehlo.multiply %arg2, %arg3 : tensor<4x12x48xf32>
    %1 = stablehlo.multiply %arg3, %arg1 : tensor<4x12x48xf32>
    %2 = stablehlo.multiply %0, %arg0 : tensor<4x12x48xf32>
    %3 = stablehlo.add %1, %2 : tensor<4x12x48xf32>
    return %3 : tensor<4x12x48xf32>
  }
  func.func private @_var_7(%arg0: tensor<4x12x24xf32>, %arg1: tensor<f32>, %arg2: tensor<i1>, %arg3: tensor<4x12x1xf32>) -> tensor<4x12x24xf32> {
    %0 = call @_where_8(%arg2, %arg3) : (tensor<i1>, tensor<4x12x1xf32>) -> tensor<4x12x1xf32>
    %1 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f32>) -> tensor<4x12x1xf32>
    %2 = stablehlo.divide %0, %1 : tensor<4x12x1xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %3 = stablehlo.reduce(%2 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<4x12x1xf32>, tensor<f32>) -> tensor<4x12xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<4x12xf32>) -> tensor<4x12x24xf32>
    %5 = stablehlo.multiply %4, %arg0 : tensor<4x12x24xf32>
    %6 = stablehlo.negate %5 : tensor<4x12x24xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %7 = stablehlo.reduce(%6 init: %cst_0) applies stablehlo.add across dimensions = [2] : (tensor<4x12x24xf32>, tensor<f32>) -> tensor<4x12xf32>
    %8 = stablehlo.reshape %7 : (tensor<4x12xf32>) -> tensor<4x12x1xf32>
    %cst_1 = stablehlo.constant dense<2.400000e+01> : tensor<f32>
    %9 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<4x12x1xf32>
    %10 = stablehlo.divide %8, %9 : tensor<4x12x1xf32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %11 = stablehlo.reduce(%10 init: %cst_2) applies stablehlo.add across dimensions = [2] : (tensor<4x12x1xf32>, tensor<f32>) -> tensor<4x12xf32>
    %12 = stablehlo.broadcast_in_dim %11, dims = [0, 1] : (tensor<4x12xf32>) -> tensor<4x12x24xf32>
    %13 = stablehlo.add %5, %12 : tensor<4x12x24xf32>
    return %13 : tensor<4x12x24xf32>
  }
  func.func private @_where_8(%arg0: tensor<i1>, %arg1: tensor<4x12x1xf32>) -> tensor<4x12x1xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x12x1xf32>
    %1 = stablehlo.select %arg0, %arg1, %0 : tensor<i1>, tensor<4x12x1xf32>
    return %1 : tensor<4x12x1xf32>
  }
  func.func private @_take_9(%arg0: tensor<4x12x1xi32>, %arg1: tensor<4x12x24xf32>) -> tensor<32x24xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<32x24xf32>
    %1 = "stablehlo.scatter"(%0, %arg0, %arg1) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 2>, unique_indices = false}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %2 = stablehlo.add %arg2, %arg3 : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }) : (tensor<32x24xf32>, tensor<4x12x1xi32>, tensor<4x12x24xf32>) -> tensor<32x24xf32>
    return %1 : tensor<32x24xf32>
  }
}
