func.func @main(%x: tensor<8x4xf32>, %y: tensor<8xf32>) -> (tensor<8x4xf32>, tensor<8xf32>) {
  %0 = stablehlo.tanh %x : tensor<8x4xf32>
  %1 = step.sharding_constraint %0 {open_dims = array<i64: 1>, sharding = "{devices=[2,1,2]<=[4] last_tile_dim_replicate}"} : tensor<8x4xf32>
  %2 = stablehlo.negate %1 : tensor<8x4xf32>
  %3 = step.sharding_constraint %2 {group = 0 : i64} : tensor<8x4xf32>
  %4 = stablehlo.broadcast_in_dim %y, dims = [0] : (tensor<8xf32>) -> tensor<8x6xf32>
  %5 = stablehlo.exponential %4 : tensor<8x6xf32>
  %6 = step.sharding_constraint %5 {group = 0 : i64} : tensor<8x6xf32>
  %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %7 = stablehlo.reduce(%6 init: %cst) applies stablehlo.maximum across dimensions = [1] : (tensor<8x6xf32>, tensor<f32>) -> tensor<8xf32>
  return %3, %7 : tensor<8x4xf32>, tensor<8xf32>
}
