// What the command looks for stays, with what it needs; everything else goes.

// RUN: tenon-reduce %s --test="grep -q stablehlo.tanh {}" | FileCheck %s
// RUN: tenon-reduce %s --test="grep -q expect_eq" | FileCheck %s --check-prefix=EXPECT
// RUN: not tenon-reduce %s --test="grep -q stablehlo.sine" 2>&1 | FileCheck %s --check-prefix=FAILS

// CHECK: module {
// CHECK-NEXT: func.func @main() {
// CHECK-NEXT: constant dense<0.000000e+00> : tensor<4xf32>
// CHECK-NEXT: constant dense<0.000000e+00> : tensor<4xf32>
// CHECK-NEXT: stablehlo.tanh
// CHECK-NEXT: check.expect_eq
// CHECK-NEXT: return
// CHECK-NOT: func.func

// EXPECT: func.func @main() {
// EXPECT-NOT: stablehlo.tanh
// EXPECT: check.expect_eq

// FAILS: error: the command fails on '{{.*}}smallest.mlir' itself; it has to succeed while the fault is there

module attributes {mhlo.num_partitions = 1 : i32} {
  func.func @main(%x: tensor<4xf32> {jax.buffer_donor = true}, %n: tensor<i32>) -> (tensor<4xf32>, tensor<i32>) {
    %c = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %0 = call @scaled(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %1:2 = stablehlo.while(%i = %zero, %y = %0) : tensor<i32>, tensor<4xf32>
    cond {
      %more = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %next = stablehlo.add %i, %one : tensor<i32>
      %z = stablehlo.multiply %y, %c : tensor<4xf32>
      stablehlo.return %next, %z : tensor<i32>, tensor<4xf32>
    }
    %2 = stablehlo.tanh %1#1 : tensor<4xf32>
    %3 = stablehlo.exponential %2 : tensor<4xf32>
    check.expect_eq %3, %c : tensor<4xf32>
    return %3, %1#0 : tensor<4xf32>, tensor<i32>
  }
  func.func private @scaled(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.add %x, %x : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
