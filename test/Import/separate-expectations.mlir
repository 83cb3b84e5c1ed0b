// RUN: tenon-opt %s --import-separate-expectations --split-input-file --verify-diagnostics | FileCheck %s

// What is compared is returned.

// CHECK: step.expectations = [{closeness = 0 : i64, expected = 1 : i64, found = 0 : i64
// CHECK-SAME: {closeness = 2 : i64, expected = 3 : i64, found = 2 : i64
// CHECK-SAME: max_units = 3 : i64
// CHECK: func.func @main() -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
// CHECK: %[[X:.*]] = stablehlo.constant dense<1.000000e+00>
// CHECK: %[[Y:.*]] = stablehlo.negate %[[X]]
// CHECK: %[[E:.*]] = stablehlo.constant dense<-1.000000e+00>
// CHECK-NOT: check.
// CHECK: return %[[Y]], %[[E]], %[[Y]], %[[X]]
func.func @main() {
  %0 = stablehlo.constant dense<1.0> : tensor<4xf32>
  %1 = stablehlo.negate %0 : tensor<4xf32>
  check.expect_eq_const %1, dense<-1.0> : tensor<4xf32>
  "check.expect_close"(%1, %0) {max_ulp_difference = 3 : ui64} : (tensor<4xf32>, tensor<4xf32>) -> ()
  return
}

// -----

func.func @main() {
  %0 = stablehlo.constant dense<true> : tensor<i1>
  "stablehlo.if"(%0) ({
    // expected-error@+1 {{expectations in regions are understood by the reference interpreter only}}
    check.expect_eq %0, %0 : tensor<i1>
    stablehlo.return
  }, {
    stablehlo.return
  }) : (tensor<i1>) -> ()
  return
}
