// RUN: tenon run %s --reference

// Collectives on simulated devices, in every way of grouping them.

// Two replicas add: all_reduce_e1.
func.func private @sum_of_replicas(%x: tensor<2xi64>) -> tensor<2xi64> {
  %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<i64>, %b: tensor<i64>):
    %1 = stablehlo.add %a, %b : tensor<i64>
    stablehlo.return %1 : tensor<i64>
  }) : (tensor<2xi64>) -> tensor<2xi64>
  return %0 : tensor<2xi64>
}

// Groups of replicas with all of their partitions, and of device numbers.
func.func private @sums(%x: tensor<i64>) -> (tensor<i64>, tensor<i64>) {
  %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0], [1]]> : tensor<2x1xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>}> ({
  ^bb0(%a: tensor<i64>, %b: tensor<i64>):
    %1 = stablehlo.add %a, %b : tensor<i64>
    stablehlo.return %1 : tensor<i64>
  }) : (tensor<i64>) -> tensor<i64>
  %2 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 3], [2, 1]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 2, type = 0>, use_global_device_ids}> ({
  ^bb0(%a: tensor<i64>, %b: tensor<i64>):
    %1 = stablehlo.multiply %a, %b : tensor<i64>
    stablehlo.return %1 : tensor<i64>
  }) : (tensor<i64>) -> tensor<i64>
  return %0, %2 : tensor<i64>, tensor<i64>
}

// all_gather_e1 reduce_scatter_e1 all_to_all_e1 collective_permute_e1
// collective_broadcast_e1 replica_id_e1
func.func private @others(%x: tensor<1x2xi64>) -> (tensor<2x2xi64>, tensor<1x1xi64>, tensor<2x1xi64>, tensor<1x2xi64>, tensor<1x2xi64>, tensor<ui32>) {
  %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[1, 0]]> : tensor<1x2xi64>}> : (tensor<1x2xi64>) -> tensor<2x2xi64>
  %1 = "stablehlo.reduce_scatter"(%x) <{scatter_dimension = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<i64>, %b: tensor<i64>):
    %6 = stablehlo.add %a, %b : tensor<i64>
    stablehlo.return %6 : tensor<i64>
  }) : (tensor<1x2xi64>) -> tensor<1x1xi64>
  %2 = "stablehlo.all_to_all"(%x) <{split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<1x2xi64>) -> tensor<2x1xi64>
  %3 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<1x2xi64>) -> tensor<1x2xi64>
  %4 = "stablehlo.collective_broadcast"(%x) <{replica_groups = dense<[[1, 0]]> : tensor<1x2xi64>}> : (tensor<1x2xi64>) -> tensor<1x2xi64>
  %5 = stablehlo.replica_id : tensor<ui32>
  return %0, %1, %2, %3, %4, %5 : tensor<2x2xi64>, tensor<1x1xi64>, tensor<2x1xi64>, tensor<1x2xi64>, tensor<1x2xi64>, tensor<ui32>
}

// partition_id_e1
func.func private @place() -> tensor<ui32> {
  %0 = stablehlo.partition_id : tensor<ui32>
  return %0 : tensor<ui32>
}

func.func public @main() {
  %p:2 = "interpreter.run_parallel"() {programs = [[@place, @place]]} : () -> (tensor<ui32>, tensor<ui32>)
  check.expect_eq_const %p#0, dense<0> : tensor<ui32>
  check.expect_eq_const %p#1, dense<1> : tensor<ui32>

  %a = stablehlo.constant dense<[1, 2]> : tensor<2xi64>
  %b = stablehlo.constant dense<[5, 7]> : tensor<2xi64>
  %0:2 = "interpreter.run_parallel"(%a, %b) {programs = [[@sum_of_replicas], [@sum_of_replicas]]} : (tensor<2xi64>, tensor<2xi64>) -> (tensor<2xi64>, tensor<2xi64>)
  check.expect_eq_const %0#0, dense<[6, 9]> : tensor<2xi64>
  check.expect_eq_const %0#1, dense<[6, 9]> : tensor<2xi64>

  %c0 = stablehlo.constant dense<2> : tensor<i64>
  %c1 = stablehlo.constant dense<3> : tensor<i64>
  %c2 = stablehlo.constant dense<5> : tensor<i64>
  %c3 = stablehlo.constant dense<7> : tensor<i64>
  %1:8 = "interpreter.run_parallel"(%c0, %c1, %c2, %c3) {programs = [[@sums, @sums], [@sums, @sums]]} : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<i64>) -> (tensor<i64>, tensor<i64>, tensor<i64>, tensor<i64>, tensor<i64>, tensor<i64>, tensor<i64>, tensor<i64>)
  check.expect_eq_const %1#0, dense<5> : tensor<i64>
  check.expect_eq_const %1#1, dense<14> : tensor<i64>
  check.expect_eq_const %1#2, dense<5> : tensor<i64>
  check.expect_eq_const %1#3, dense<15> : tensor<i64>
  check.expect_eq_const %1#4, dense<12> : tensor<i64>
  check.expect_eq_const %1#5, dense<15> : tensor<i64>
  check.expect_eq_const %1#6, dense<12> : tensor<i64>
  check.expect_eq_const %1#7, dense<14> : tensor<i64>

  %d = stablehlo.constant dense<[[1, 2]]> : tensor<1x2xi64>
  %e = stablehlo.constant dense<[[3, 4]]> : tensor<1x2xi64>
  %2:12 = "interpreter.run_parallel"(%d, %e) {programs = [["others"], ["others"]]} : (tensor<1x2xi64>, tensor<1x2xi64>) -> (tensor<2x2xi64>, tensor<1x1xi64>, tensor<2x1xi64>, tensor<1x2xi64>, tensor<1x2xi64>, tensor<ui32>, tensor<2x2xi64>, tensor<1x1xi64>, tensor<2x1xi64>, tensor<1x2xi64>, tensor<1x2xi64>, tensor<ui32>)
  check.expect_eq_const %2#0, dense<[[3, 4], [1, 2]]> : tensor<2x2xi64>
  check.expect_eq_const %2#1, dense<4> : tensor<1x1xi64>
  check.expect_eq_const %2#2, dense<[[1], [3]]> : tensor<2x1xi64>
  check.expect_eq_const %2#3, dense<0> : tensor<1x2xi64>
  check.expect_eq_const %2#4, dense<[[3, 4]]> : tensor<1x2xi64>
  check.expect_eq_const %2#5, dense<0> : tensor<ui32>
  check.expect_eq_const %2#7, dense<6> : tensor<1x1xi64>
  check.expect_eq_const %2#8, dense<[[2], [4]]> : tensor<2x1xi64>
  check.expect_eq_const %2#9, dense<[[1, 2]]> : tensor<1x2xi64>
  check.expect_eq_const %2#10, dense<[[3, 4]]> : tensor<1x2xi64>
  check.expect_eq_const %2#11, dense<1> : tensor<ui32>
  return
}
