// RUN: not tenon run %s --reference 2>&1 | FileCheck %s

// A device that never comes to a collective ends the run.

func.func private @waits(%x: tensor<i64>) -> tensor<i64> {
  // CHECK: error: 'stablehlo.collective_broadcast' op waits for devices that do not come: 2 have to meet
  %0 = "stablehlo.collective_broadcast"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<i64>) -> tensor<i64>
  return %0 : tensor<i64>
}
func.func private @leaves(%x: tensor<i64>) -> tensor<i64> {
  return %x : tensor<i64>
}
func.func @main() {
  %x = stablehlo.constant dense<1> : tensor<i64>
  %0:2 = "interpreter.run_parallel"(%x, %x) {programs = [[@waits], [@leaves]]} : (tensor<i64>, tensor<i64>) -> (tensor<i64>, tensor<i64>)
  return
}
