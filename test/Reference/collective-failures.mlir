// RUN: split-file %s %t
// RUN: not tenon run %t/reduce.mlir --reference 2>&1 | FileCheck %t/reduce.mlir
// RUN: not tenon run %t/scatter.mlir --reference 2>&1 | FileCheck %t/scatter.mlir
// RUN: not tenon run %t/gather.mlir --reference 2>&1 | FileCheck %t/gather.mlir

//--- reduce.mlir
// Replica 2 is in no group, so that nothing says what it computes.
func.func private @sum(%x: tensor<2xi64>) -> tensor<2xi64> {
  // CHECK: reduce.mlir:[[@LINE+1]]:{{.*}} error: 'stablehlo.all_reduce' op runs on replica 2, partition 0, which is in none of its groups; name every device in 'replica_groups'
  %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<i64>, %b: tensor<i64>):
    %1 = stablehlo.add %a, %b : tensor<i64>
    stablehlo.return %1 : tensor<i64>
  }) : (tensor<2xi64>) -> tensor<2xi64>
  return %0 : tensor<2xi64>
}
func.func @main() {
  %x = stablehlo.constant dense<[1, 2]> : tensor<2xi64>
  %0:3 = "interpreter.run_parallel"(%x, %x, %x) {programs = [[@sum], [@sum], [@sum]]} : (tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> (tensor<2xi64>, tensor<2xi64>, tensor<2xi64>)
  return
}

//--- scatter.mlir
func.func private @part(%x: tensor<2xi64>) -> tensor<1xi64> {
  // CHECK: error: 'stablehlo.reduce_scatter' op runs on replica 2, partition 0, which is in none of its groups
  %0 = "stablehlo.reduce_scatter"(%x) <{scatter_dimension = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<i64>, %b: tensor<i64>):
    %1 = stablehlo.add %a, %b : tensor<i64>
    stablehlo.return %1 : tensor<i64>
  }) : (tensor<2xi64>) -> tensor<1xi64>
  return %0 : tensor<1xi64>
}
func.func @main() {
  %x = stablehlo.constant dense<[1, 2]> : tensor<2xi64>
  %0:3 = "interpreter.run_parallel"(%x, %x, %x) {programs = [[@part], [@part], [@part]]} : (tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>)
  return
}

//--- gather.mlir
// The second group is padded, so that it gathers less than the type says.
func.func private @all(%x: tensor<1xi64>) -> tensor<2xi64> {
  // CHECK: error: 'stablehlo.all_gather' op makes a tensor of shape [1] in a group of 1, expected [2]
  %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1], [2, -1]]> : tensor<2x2xi64>}> : (tensor<1xi64>) -> tensor<2xi64>
  return %0 : tensor<2xi64>
}
func.func @main() {
  %x = stablehlo.constant dense<1> : tensor<1xi64>
  %0:3 = "interpreter.run_parallel"(%x, %x, %x) {programs = [[@all], [@all], [@all]]} : (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> (tensor<2xi64>, tensor<2xi64>, tensor<2xi64>)
  return
}
