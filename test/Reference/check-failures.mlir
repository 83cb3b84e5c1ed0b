// RUN: split-file %s %t
// RUN: not tenon run %t/equal.mlir --reference 2>&1 | FileCheck %t/equal.mlir
// RUN: not tenon run %t/equal.mlir 2>&1 | FileCheck %t/equal.mlir
// RUN: not tenon run %t/close.mlir --reference 2>&1 | FileCheck %t/close.mlir
// RUN: not tenon run %t/close.mlir 2>&1 | FileCheck %t/close.mlir
// RUN: not tenon run %t/call.mlir --reference 2>&1 | FileCheck %t/call.mlir
// RUN: not tenon run %t/call.mlir 2>&1 | FileCheck %t/call.mlir
// RUN: not tenon run %t/integer.mlir --reference 2>&1 | FileCheck %t/integer.mlir
// RUN: not tenon run %t/integer.mlir 2>&1 | FileCheck %t/integer.mlir

// A failed expectation names the first element that differs, at its place.

//--- equal.mlir
func.func @main() {
  %x = stablehlo.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %y = stablehlo.constant dense<[[1.0, 2.0], [2.9999998, 5.0]]> : tensor<2x2xf32>
  %z = stablehlo.add %x, %x : tensor<2x2xf32>
  %w = stablehlo.add %y, %y : tensor<2x2xf32>
  // CHECK: equal.mlir:7:3: error: element [1, 0]: found 6, expected 5.99999952, 1 units in the last place apart
  check.expect_eq %z, %w : tensor<2x2xf32>
  return
}

//--- close.mlir
func.func @main() {
  %x = stablehlo.constant dense<[1.0, 0x7FC00000, 2.0]> : tensor<3xf32>
  %y = stablehlo.negate %x : tensor<3xf32>
  %z = stablehlo.negate %y : tensor<3xf32>
  check.expect_close_const %z, dense<[1.0000001, 0x7FC00000, 2.0]> : tensor<3xf32>
  // CHECK: error: element [2]: found 2, expected 2.00000048, 2 units in the last place apart
  check.expect_close_const %z, dense<[1.0000001, 0x7FC00000, 2.0000005]> : tensor<3xf32>
  return
}

//--- call.mlir
func.func @main() {
  %x = call @value() : () -> tensor<2xbf16>
  %y = stablehlo.constant dense<[1.0, 3.5]> : tensor<2xbf16>
  // CHECK: error: element [0]: found 2, expected 1, 128 units in the last place apart
  stablehlo.custom_call @check.expect_close(%x, %y) {has_side_effect = true} : (tensor<2xbf16>, tensor<2xbf16>) -> ()
  return
}
func.func private @value() -> tensor<2xbf16> {
  %x = stablehlo.constant dense<[1.0, 1.5]> : tensor<2xbf16>
  %y = stablehlo.add %x, %x : tensor<2xbf16>
  return %y : tensor<2xbf16>
}

//--- integer.mlir
func.func @main() {
  %x = stablehlo.constant dense<[1, 200]> : tensor<2xui8>
  %y = stablehlo.multiply %x, %x : tensor<2xui8>
  // CHECK: error: element [1]: found 64, expected 63
  check.expect_almost_eq_const %y, dense<[1, 63]> : tensor<2xui8>
  return
}
