// RUN: tenon-opt %s --import-unfold-manual-computations --split-input-file --verify-diagnostics

sdy.mesh @mesh = <["data"=2, "model"=2]>
func.func @groups(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"data"}]>] out_shardings=[<@mesh, [{"data"}]>] manual_axes={"data", "model"} (%local: tensor<2xf32>) {
    // expected-error@+1 {{'stablehlo.all_reduce' computes per device, and has no form for all devices at once: its groups do not follow axes of the mesh; export the step without shard_map}}
    %1 = "stablehlo.all_reduce"(%local) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 3], [1, 2]]> : tensor<2x2xi64>, use_global_device_ids}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<2xf32>) -> tensor<2xf32>
    sdy.return %1 : tensor<2xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

sdy.mesh @mesh = <["data"=2]>
func.func @product(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"data"}]>] out_shardings=[<@mesh, [{"data"}]>] manual_axes={"data"} (%local: tensor<2xf32>) {
    // expected-error@+1 {{'stablehlo.all_reduce' computes per device, and has no form for all devices at once: its region is no sum, maximum or minimum}}
    %1 = "stablehlo.all_reduce"(%local) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.multiply %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<2xf32>) -> tensor<2xf32>
    sdy.return %1 : tensor<2xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

sdy.mesh @mesh = <["data"=2]>
func.func @rounds(%x: tensor<2xi32>) -> tensor<2xi32> {
  %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"data"}]>] out_shardings=[<@mesh, [{"data"}]>] manual_axes={"data"} (%local: tensor<1xi32>) {
    %1 = stablehlo.reshape %local : (tensor<1xi32>) -> tensor<i32>
    %ten = stablehlo.constant dense<10> : tensor<i32>
    // expected-error@+1 {{'stablehlo.while' computes per device, and has no form for all devices at once: devices may leave the loop after different rounds}}
    %2 = stablehlo.while(%i = %1) : tensor<i32>
     cond {
      %3 = stablehlo.compare LT, %i, %ten : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %3 : tensor<i1>
    } do {
      %4 = stablehlo.add %i, %i : tensor<i32>
      stablehlo.return %4 : tensor<i32>
    }
    %5 = stablehlo.reshape %2 : (tensor<i32>) -> tensor<1xi32>
    sdy.return %5 : tensor<1xi32>
  } : (tensor<2xi32>) -> tensor<2xi32>
  return %0 : tensor<2xi32>
}

// -----

sdy.mesh @mesh = <["data"=2]>
func.func @branch(%x: tensor<2xi1>, %y: tensor<f32>) -> tensor<2xf32> {
  %0 = sdy.manual_computation(%x, %y) in_shardings=[<@mesh, [{"data"}]>, <@mesh, []>] out_shardings=[<@mesh, [{"data"}]>] manual_axes={"data"} (%local: tensor<1xi1>, %same: tensor<f32>) {
    %1 = stablehlo.reshape %local : (tensor<1xi1>) -> tensor<i1>
    // expected-error@+1 {{'stablehlo.if' computes per device, and has no form for all devices at once: devices may take different branches}}
    %2 = "stablehlo.if"(%1) ({
      %3 = stablehlo.negate %same : tensor<f32>
      stablehlo.return %3 : tensor<f32>
    }, {
      stablehlo.return %same : tensor<f32>
    }) : (tensor<i1>) -> tensor<f32>
    %4 = stablehlo.reshape %2 : (tensor<f32>) -> tensor<1xf32>
    sdy.return %4 : tensor<1xf32>
  } : (tensor<2xi1>, tensor<f32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

sdy.mesh @mesh = <["data"=2]>
func.func @no_rule(%x: tensor<4x2xf32>) -> tensor<4x2xf32> {
  %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"data"}, {}]>] out_shardings=[<@mesh, [{"data"}, {}]>] manual_axes={"data"} (%local: tensor<2x2xf32>) {
    // expected-error@+1 {{'stablehlo.cholesky' computes per device, and has no form for all devices at once: nobody has written it for tensors with a dimension per axis of the mesh}}
    %1 = stablehlo.cholesky %local, lower = true : tensor<2x2xf32>
    sdy.return %1 : tensor<2x2xf32>
  } : (tensor<4x2xf32>) -> tensor<4x2xf32>
  return %0 : tensor<4x2xf32>
}

// -----

sdy.mesh @mesh = <["data"=2, "model"=2]>
func.func @other_axis(%x: tensor<4xui32>) -> tensor<4xui32> {
  %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"data"}]>] out_shardings=[<@mesh, [{"data"}]>] manual_axes={"data"} (%local: tensor<2xui32>) {
    // expected-error@+1 {{'stablehlo.partition_id' computes per device, and has no form for all devices at once: the device's number is asked along axes that the compiler decides about}}
    %1 = stablehlo.partition_id : tensor<ui32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<ui32>) -> tensor<2xui32>
    %3 = stablehlo.add %2, %local : tensor<2xui32>
    sdy.return %3 : tensor<2xui32>
  } : (tensor<4xui32>) -> tensor<4xui32>
  return %0 : tensor<4xui32>
}
