#loc1 = loc("state['w']")
module @step attributes {mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<4x8xf32> {tf.aliasing_output = 0 : i32} loc(#loc1), %arg1: tensor<4xi32>) -> (tensor<4x8xf32> {jax.result_info = "result[0]['w']"}, tensor<i1>) {
    %cst = stablehlo.constant dense<[0x7FC00000, 1.0]> : tensor<2xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %m = stablehlo.constant dense<"0x0001"> : tensor<2xi1>
    %0:2 = stablehlo.while(%i = %c, %x = %arg0) : tensor<i32>, tensor<4x8xf32>
    cond {
      %n = stablehlo.constant dense<3> : tensor<i32>
      %4 = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %4 : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %4 = stablehlo.add %i, %one : tensor<i32>
      %5 = func.call @helper(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
      stablehlo.return %4, %5 : tensor<i32>, tensor<4x8xf32>
    }
    %1 = stablehlo.reduce(%m init: %m_0) applies stablehlo.and across dimensions = [0] : (tensor<2xi1>, tensor<i1>) -> tensor<i1>
    %m_0 = stablehlo.constant dense<true> : tensor<i1>
    return %0#1, %1 : tensor<4x8xf32>, tensor<i1>
  }
  func.func private @helper(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = stablehlo.dot_general %arg0, %arg0, contracting_dims = [1] x [1], precision = [DEFAULT, HIGHEST] : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
    %1 = stablehlo.dot_general %0, %arg0, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    return %1 : tensor<4x8xf32>
  }
}
