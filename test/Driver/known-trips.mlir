// RUN: tenon compile %s --compile-to=lower -o - | FileCheck %s
// RUN: tenon compile %s --target=sm_90 -o %t.tenon --remarks=codegen-cut-graphs 2>&1 | FileCheck %s --check-prefix=CUTS

// How often a loop runs stands beside it in exec form where it evidently counts
// between constants, and decides where a step for GPUs is cut.

// CHECK: exec.while
// CHECK-SAME: trips = 12 : i64
// CHECK: exec.while
// CHECK-NOT: trips =

// CUTS: known-trips.mlir:[[# @LINE + 8]]:{{[0-9]+}}: remark: the loop's 12 rounds of {{[1-9]}} nodes are part of a graph [codegen-cut-graphs]
// CUTS: known-trips.mlir:[[# @LINE + 16]]:{{[0-9]+}}: remark: the host reads the loop's predicate in every round: how often it runs is not known when it is compiled [codegen-cut-graphs]
// CUTS-NOT: remark

func.func @main(%x: tensor<8xf32>, %n: tensor<i32>) -> tensor<8xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %twelve = stablehlo.constant dense<12> : tensor<i32>
  %counted:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, tensor<8xf32>
  cond {
    %c = stablehlo.compare LT, %i, %twelve : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %j = stablehlo.add %i, %one : tensor<i32>
    %z = stablehlo.tanh %y : tensor<8xf32>
    stablehlo.return %j, %z : tensor<i32>, tensor<8xf32>
  }
  %asked:2 = stablehlo.while(%i = %zero, %y = %counted#1) : tensor<i32>, tensor<8xf32>
  cond {
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %j = stablehlo.add %i, %one : tensor<i32>
    %z = stablehlo.tanh %y : tensor<8xf32>
    stablehlo.return %j, %z : tensor<i32>, tensor<8xf32>
  }
  return %asked#1 : tensor<8xf32>
}
