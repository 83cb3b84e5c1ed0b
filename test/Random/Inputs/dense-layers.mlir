// Layers with a dropout between them, their derivatives and updates, as random_steps.py writes them.

module @jit_step {
  func.func public @main(%arg0: tensor<17x14xf32> loc("x0"), %arg1: tensor<14x14xf32> {tf.aliasing_output = 1 : i32} loc("state['s1']"), %arg2: tensor<14xf32> {tf.aliasing_output = 2 : i32} loc("state['s2']"), %arg3: tensor<2xui64> {tf.aliasing_output = 7 : i32} loc("state['s7']"), %arg4: tensor<14x14xf32> {tf.aliasing_output = 4 : i32} loc("state['s4']"), %arg5: tensor<14xf32> {tf.aliasing_output = 6 : i32} loc("state['s6']"), %arg6: tensor<14x14xf32> {tf.aliasing_output = 0 : i32} loc("state['s0']"), %arg7: tensor<14x14xf32> {tf.aliasing_output = 3 : i32} loc("state['s3']"), %arg8: tensor<14xf32> {tf.aliasing_output = 5 : i32} loc("state['s5']")) -> (tensor<14x14xf32> {jax.result_info = "result[0]['s0']"}, tensor<14x14xf32> {jax.result_info = "result[0]['s1']"}, tensor<14xf32> {jax.result_info = "result[0]['s2']"}, tensor<14x14xf32> {jax.result_info = "result[0]['s3']"}, tensor<14x14xf32> {jax.result_info = "result[0]['s4']"}, tensor<14xf32> {jax.result_info = "result[0]['s5']"}, tensor<14xf32> {jax.result_info = "result[0]['s6']"}, tensor<2xui64> {jax.result_info = "result[0]['s7']"}, tensor<f32> {jax.result_info = "result[1]"}, tensor<17x14xf32> {jax.result_info = "result[2]"}) {
    %v1 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : (tensor<17x14xf32>, tensor<14x14xf32>) -> tensor<17x14xf32>
    %v2 = stablehlo.broadcast_in_dim %arg2, dims = [1] : (tensor<14xf32>) -> tensor<17x14xf32>
    %v3 = stablehlo.add %v1, %v2 : tensor<17x14xf32>
    %v4 = stablehlo.tanh %v3 : tensor<17x14xf32>
    %v5 = stablehlo.constant dense<-1.000000e+30> : tensor<f32>
    %v6 = stablehlo.reduce(%v4 init: %v5) applies stablehlo.maximum across dimensions = [1] : (tensor<17x14xf32>, tensor<f32>) -> tensor<17xf32>
    %v7 = stablehlo.broadcast_in_dim %v6, dims = [0] : (tensor<17xf32>) -> tensor<17x14xf32>
    %v8 = stablehlo.subtract %v4, %v7 : tensor<17x14xf32>
    %v9 = stablehlo.exponential %v8 : tensor<17x14xf32>
    %v10 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %v11 = stablehlo.reduce(%v9 init: %v10) applies stablehlo.add across dimensions = [1] : (tensor<17x14xf32>, tensor<f32>) -> tensor<17xf32>
    %v12 = stablehlo.broadcast_in_dim %v11, dims = [0] : (tensor<17xf32>) -> tensor<17x14xf32>
    %v13 = stablehlo.divide %v9, %v12 : tensor<17x14xf32>
    %v14:2 = stablehlo.rng_bit_generator %arg3, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<17x14xui32>)
    %v15 = stablehlo.constant dense<3000000000> : tensor<17x14xui32>
    %v16 = stablehlo.compare LT, %v14#1, %v15 : (tensor<17x14xui32>, tensor<17x14xui32>) -> tensor<17x14xi1>
    %v17 = stablehlo.constant dense<0.000000e+00> : tensor<17x14xf32>
    %v18 = stablehlo.select %v16, %v13, %v17 : tensor<17x14xi1>, tensor<17x14xf32>
    %v19 = stablehlo.dot_general %v18, %arg4, contracting_dims = [1] x [0] : (tensor<17x14xf32>, tensor<14x14xf32>) -> tensor<17x14xf32>
    %v20 = stablehlo.broadcast_in_dim %arg5, dims = [1] : (tensor<14xf32>) -> tensor<17x14xf32>
    %v21 = stablehlo.add %v19, %v20 : tensor<17x14xf32>
    %v22 = stablehlo.tanh %v21 : tensor<17x14xf32>
    %v23 = stablehlo.multiply %v22, %v22 : tensor<17x14xf32>
    %v24 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %v25 = stablehlo.reduce(%v23 init: %v24) applies stablehlo.add across dimensions = [0, 1] : (tensor<17x14xf32>, tensor<f32>) -> tensor<f32>
    %v26 = stablehlo.constant dense<2.000000e+00> : tensor<17x14xf32>
    %v27 = stablehlo.multiply %v22, %v26 : tensor<17x14xf32>
    %v28 = stablehlo.constant dense<1.000000e+00> : tensor<17x14xf32>
    %v29 = stablehlo.multiply %v22, %v22 : tensor<17x14xf32>
    %v30 = stablehlo.subtract %v28, %v29 : tensor<17x14xf32>
    %v31 = stablehlo.multiply %v27, %v30 : tensor<17x14xf32>
    %v32 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %v33 = stablehlo.reduce(%v31 init: %v32) applies stablehlo.add across dimensions = [0] : (tensor<17x14xf32>, tensor<f32>) -> tensor<14xf32>
    %v34 = stablehlo.dot_general %v18, %v31, contracting_dims = [0] x [0] : (tensor<17x14xf32>, tensor<17x14xf32>) -> tensor<14x14xf32>
    %v35 = stablehlo.dot_general %v31, %arg4, contracting_dims = [1] x [1] : (tensor<17x14xf32>, tensor<14x14xf32>) -> tensor<17x14xf32>
    %v36 = stablehlo.constant dense<0.000000e+00> : tensor<17x14xf32>
    %v37 = stablehlo.select %v16, %v35, %v36 : tensor<17x14xi1>, tensor<17x14xf32>
    %v38 = stablehlo.multiply %v37, %v13 : tensor<17x14xf32>
    %v39 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %v40 = stablehlo.reduce(%v38 init: %v39) applies stablehlo.add across dimensions = [1] : (tensor<17x14xf32>, tensor<f32>) -> tensor<17xf32>
    %v41 = stablehlo.broadcast_in_dim %v40, dims = [0] : (tensor<17xf32>) -> tensor<17x14xf32>
    %v42 = stablehlo.subtract %v37, %v41 : tensor<17x14xf32>
    %v43 = stablehlo.multiply %v13, %v42 : tensor<17x14xf32>
    %v44 = stablehlo.constant dense<1.000000e+00> : tensor<17x14xf32>
    %v45 = stablehlo.multiply %v4, %v4 : tensor<17x14xf32>
    %v46 = stablehlo.subtract %v44, %v45 : tensor<17x14xf32>
    %v47 = stablehlo.multiply %v43, %v46 : tensor<17x14xf32>
    %v48 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %v49 = stablehlo.reduce(%v47 init: %v48) applies stablehlo.add across dimensions = [0] : (tensor<17x14xf32>, tensor<f32>) -> tensor<14xf32>
    %v50 = stablehlo.dot_general %arg0, %v47, contracting_dims = [0] x [0] : (tensor<17x14xf32>, tensor<17x14xf32>) -> tensor<14x14xf32>
    %v51 = stablehlo.dot_general %v47, %arg1, contracting_dims = [1] x [1] : (tensor<17x14xf32>, tensor<14x14xf32>) -> tensor<17x14xf32>
    %v52 = stablehlo.constant dense<1.000000e-03> : tensor<14x14xf32>
    %v53 = stablehlo.multiply %v50, %v52 : tensor<14x14xf32>
    %v54 = stablehlo.constant dense<9.000000e-01> : tensor<14x14xf32>
    %v55 = stablehlo.multiply %arg6, %v54 : tensor<14x14xf32>
    %v56 = stablehlo.add %v55, %v53 : tensor<14x14xf32>
    %v57 = stablehlo.subtract %arg1, %v56 : tensor<14x14xf32>
    %v58 = stablehlo.constant dense<1.000000e-03> : tensor<14xf32>
    %v59 = stablehlo.multiply %v49, %v58 : tensor<14xf32>
    %v60 = stablehlo.subtract %arg2, %v59 : tensor<14xf32>
    %v61 = stablehlo.constant dense<1.000000e-03> : tensor<14x14xf32>
    %v62 = stablehlo.multiply %v34, %v61 : tensor<14x14xf32>
    %v63 = stablehlo.constant dense<9.000000e-01> : tensor<14x14xf32>
    %v64 = stablehlo.multiply %arg7, %v63 : tensor<14x14xf32>
    %v65 = stablehlo.add %v64, %v62 : tensor<14x14xf32>
    %v66 = stablehlo.subtract %arg4, %v65 : tensor<14x14xf32>
    %v67 = stablehlo.constant dense<1.000000e-03> : tensor<14xf32>
    %v68 = stablehlo.multiply %v33, %v67 : tensor<14xf32>
    %v69 = stablehlo.constant dense<9.000000e-01> : tensor<14xf32>
    %v70 = stablehlo.multiply %arg8, %v69 : tensor<14xf32>
    %v71 = stablehlo.add %v70, %v68 : tensor<14xf32>
    %v72 = stablehlo.subtract %arg5, %v71 : tensor<14xf32>
    return %v56, %v57, %v60, %v65, %v66, %v71, %v72, %v14#0, %v25, %v51 : tensor<14x14xf32>, tensor<14x14xf32>, tensor<14xf32>, tensor<14x14xf32>, tensor<14x14xf32>, tensor<14xf32>, tensor<14xf32>, tensor<2xui64>, tensor<f32>, tensor<17x14xf32>
  }
}
