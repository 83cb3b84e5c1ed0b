// RUN: tenon run %s --reference

// Computations per device on simulated devices. The module says nothing of how
// many there are; its mesh does.

sdy.mesh @mesh = <["data"=2, "model"=2]>

func.func @main() {
  %x = stablehlo.constant dense<[1, 2, 3, 4]> : tensor<4xi64>

  // Parts along one axis; along the other, devices agree.
  %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"data"}]>] out_shardings=[<@mesh, [{"data"}]>] manual_axes={"data", "model"} (%local: tensor<2xi64>) {
    %1 = "stablehlo.all_reduce"(%local) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> ({
    ^bb0(%a: tensor<i64>, %b: tensor<i64>):
      %s = stablehlo.add %a, %b : tensor<i64>
      stablehlo.return %s : tensor<i64>
    }) : (tensor<2xi64>) -> tensor<2xi64>
    sdy.return %1 : tensor<2xi64>
  } : (tensor<4xi64>) -> tensor<4xi64>
  check.expect_eq_const %0, dense<[2, 4, 6, 8]> : tensor<4xi64>

  // One within another: the devices are the same, so that the inner one meets
  // those along the outer axis, too.
  %2 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"data"}]>] out_shardings=[<@mesh, [{"data"}]>] manual_axes={"data"} (%outer: tensor<2xi64>) {
    %3 = sdy.manual_computation(%outer) in_shardings=[<@mesh, [{"model"}]>] out_shardings=[<@mesh, [{"model"}]>] manual_axes={"model"} (%inner: tensor<1xi64>) {
      %4 = "stablehlo.all_reduce"(%inner) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>, use_global_device_ids}> ({
      ^bb0(%a: tensor<i64>, %b: tensor<i64>):
        %s = stablehlo.add %a, %b : tensor<i64>
        stablehlo.return %s : tensor<i64>
      }) : (tensor<1xi64>) -> tensor<1xi64>
      %5 = stablehlo.add %4, %inner : tensor<1xi64>
      sdy.return %5 : tensor<1xi64>
    } : (tensor<2xi64>) -> tensor<2xi64>
    sdy.return %3 : tensor<2xi64>
  } : (tensor<4xi64>) -> tensor<4xi64>
  check.expect_eq_const %2, dense<[5, 8, 7, 10]> : tensor<4xi64>
  return
}
