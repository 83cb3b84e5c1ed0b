module @many attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["data"=2, "model"=2]>
  func.func @main(%x: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {?}]>}) -> tensor<4x16xf32> {
    %0 = sdy.sharding_constraint %x <@mesh, [{}, {"model"}]> : tensor<4x8xf32>
    %1 = "stablehlo.all_reduce"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %2 = "stablehlo.all_gather"(%1) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4x8xf32>) -> tensor<4x16xf32>
    %3 = stablehlo.custom_call @foo(%2) {backend_config = "", api_version = 2 : i32, called_computations = []} : (tensor<4x16xf32>) -> tuple<tensor<i1>, !stablehlo.token>
    return %2 : tensor<4x16xf32>
  }
}
{-# dialect_resources: { builtin: { c: "0x0400000007000000" } } #-}
