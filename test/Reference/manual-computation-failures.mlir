// RUN: split-file %s %t
// RUN: not tenon run %t/replicated.mlir --reference 2>&1 | FileCheck %t/replicated.mlir
// RUN: not tenon run %t/partial.mlir --reference 2>&1 | FileCheck %t/partial.mlir
// RUN: not tenon run %t/outside.mlir --reference 2>&1 | FileCheck %t/outside.mlir

//--- replicated.mlir
// Devices that hold the same part of a result have to agree on it.
module attributes {mhlo.num_partitions = 2 : i32} {
sdy.mesh @mesh = <["data"=2]>
func.func @main() {
  %x = stablehlo.constant dense<[[1, 2], [1, 5]]> : tensor<2x2xi64>
  // CHECK: replicated.mlir:[[@LINE+1]]:{{.*}} error: 'sdy.manual_computation' op has different values in a part of result 0 that devices 0 and 1 both hold: element [0, 1]: found 5, expected 2
  %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"data"}, {}]>] out_shardings=[<@mesh, [{}, {}]>] manual_axes={"data"} (%local: tensor<1x2xi64>) {
    sdy.return %local : tensor<1x2xi64>
  } : (tensor<2x2xi64>) -> tensor<1x2xi64>
  return
}
}

//--- partial.mlir
// Parts of a sum are not the sum.
module attributes {mhlo.num_partitions = 2 : i32} {
sdy.mesh @mesh = <["data"=2]>
func.func @main() {
  %x = stablehlo.constant dense<[1, 1]> : tensor<2xi64>
  // CHECK: error: 'sdy.manual_computation' op has parts of a reduction along axis 'data', which the reference interpreter does not put together
  %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"data"}]>] out_shardings=[<@mesh, [{}], unreduced={"data"}>] manual_axes={"data"} (%local: tensor<1xi64>) {
    sdy.return %local : tensor<1xi64>
  } : (tensor<2xi64>) -> tensor<1xi64>
  return
}
}

//--- outside.mlir
// Outside of the computation there is one device, which is not the program's.
module attributes {mhlo.num_partitions = 2 : i32} {
sdy.mesh @mesh = <["data"=2]>
func.func @main() {
  %x = stablehlo.constant dense<[1, 1]> : tensor<2xi64>
  %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"data"}]>] out_shardings=[<@mesh, [{"data"}]>] manual_axes={"data"} (%local: tensor<1xi64>) {
    sdy.return %local : tensor<1xi64>
  } : (tensor<2xi64>) -> tensor<2xi64>
  // CHECK: error: 'stablehlo.all_reduce' op runs on one device of a program for 2: 'mhlo.num_partitions' is 2
  %1 = "stablehlo.all_reduce"(%0) <{replica_groups = dense<> : tensor<0x0xi64>}> ({
  ^bb0(%a: tensor<i64>, %b: tensor<i64>):
    %s = stablehlo.add %a, %b : tensor<i64>
    stablehlo.return %s : tensor<i64>
  }) : (tensor<2xi64>) -> tensor<2xi64>
  return
}
}
