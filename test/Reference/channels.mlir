// RUN: tenon run %s --reference

// Messages between devices, feeds of the host, and operations that are started
// and waited for.

// after_all_e1 infeed_e1 infeed_e2 send_e1 recv_e1 outfeed_e1 async_start_e1
// async_done_e1
func.func private @ring(%x: tensor<2xi64>) -> (tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) {
  %token = stablehlo.after_all : !stablehlo.token
  %fed:2 = "stablehlo.infeed"(%token) <{infeed_config = ""}> : (!stablehlo.token) -> (tensor<2xi64>, !stablehlo.token)
  %sent = "stablehlo.send"(%x, %fed#1) <{channel_handle = #stablehlo.channel_handle<handle = 0, type = 1>, is_host_transfer = false, source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<2xi64>, !stablehlo.token) -> !stablehlo.token
  %got:2 = "stablehlo.recv"(%sent) <{channel_handle = #stablehlo.channel_handle<handle = 0, type = 1>, is_host_transfer = false, source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (!stablehlo.token) -> (tensor<2xi64>, !stablehlo.token)
  %out = "stablehlo.outfeed"(%x, %got#1) <{outfeed_config = ""}> : (tensor<2xi64>, !stablehlo.token) -> !stablehlo.token
  %future = "stablehlo.async_start"(%x) ({
  ^bb0(%a: tensor<2xi64>):
    %0 = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2xi64>) -> tensor<4xi64>
    %1 = stablehlo.slice %0 [1:3] : (tensor<4xi64>) -> tensor<2xi64>
    stablehlo.return %1 : tensor<2xi64>
  }) : (tensor<2xi64>) -> !stablehlo.future<tensor<2xi64>>
  %middle = "stablehlo.async_done"(%future) : (!stablehlo.future<tensor<2xi64>>) -> tensor<2xi64>
  return %fed#0, %got#0, %middle : tensor<2xi64>, tensor<2xi64>, tensor<2xi64>
}

// The first device of a group has the sum, the others zeros: collective_reduce_e1.
func.func private @to_one(%x: tensor<2xi64>) -> tensor<2xi64> {
  %0 = "stablehlo.collective_reduce"(%x) <{replica_groups = dense<[[1, 0]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<i64>, %b: tensor<i64>):
    %1 = stablehlo.add %a, %b : tensor<i64>
    stablehlo.return %1 : tensor<i64>
  }) : (tensor<2xi64>) -> tensor<2xi64>
  return %0 : tensor<2xi64>
}

// As above, on a device that is chosen: collective_reduce_e2.
func.func private @to_chosen(%x: tensor<2xi64>) -> tensor<2xi64> {
  %root = stablehlo.constant dense<[1]> : tensor<1xi32>
  %0 = "stablehlo.collective_reduce"(%x, %root) <{replica_groups = dense<[[1, 0]]> : tensor<1x2xi64>, has_dynamic_root = true}> ({
  ^bb0(%a: tensor<i64>, %b: tensor<i64>):
    %1 = stablehlo.maximum %a, %b : tensor<i64>
    stablehlo.return %1 : tensor<i64>
  }) : (tensor<2xi64>, tensor<1xi32>) -> tensor<2xi64>
  return %0 : tensor<2xi64>
}

func.func private @first() -> tensor<2xi64> {
  %0 = stablehlo.constant dense<[7, 8]> : tensor<2xi64>
  return %0 : tensor<2xi64>
}
func.func private @second() -> tensor<2xi64> {
  %0 = stablehlo.constant dense<[9, 10]> : tensor<2xi64>
  return %0 : tensor<2xi64>
}

func.func @main() {
  %x = stablehlo.constant dense<[1, 2]> : tensor<2xi64>
  %y = stablehlo.constant dense<[3, 4]> : tensor<2xi64>
  %r:6 = "interpreter.run_parallel"(%x, %y) {programs = [[@ring], [@ring]], infeed = [@first, @second]} : (tensor<2xi64>, tensor<2xi64>) -> (tensor<2xi64>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>)
  check.expect_eq_const %r#0, dense<[7, 8]> : tensor<2xi64>
  check.expect_eq_const %r#3, dense<[9, 10]> : tensor<2xi64>
  check.expect_eq %r#1, %y : tensor<2xi64>
  check.expect_eq %r#4, %x : tensor<2xi64>
  check.expect_eq_const %r#2, dense<[2, 3]> : tensor<2xi64>
  check.expect_eq_const %r#5, dense<[2, 3]> : tensor<2xi64>
  %s:2 = "interpreter.run_parallel"(%x, %y) {programs = [[@to_one], [@to_one]]} : (tensor<2xi64>, tensor<2xi64>) -> (tensor<2xi64>, tensor<2xi64>)
  check.expect_eq_const %s#0, dense<0> : tensor<2xi64>
  check.expect_eq_const %s#1, dense<[4, 6]> : tensor<2xi64>
  %t:2 = "interpreter.run_parallel"(%x, %y) {programs = [[@to_chosen], [@to_chosen]]} : (tensor<2xi64>, tensor<2xi64>) -> (tensor<2xi64>, tensor<2xi64>)
  check.expect_eq %t#0, %y : tensor<2xi64>
  check.expect_eq_const %t#1, dense<0> : tensor<2xi64>
  return
}
