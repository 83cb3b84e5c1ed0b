// RUN: tenon-opt %s --split-input-file --fusion-form-library-groups=cpu=x86-64-v4 | FileCheck %s

// The code for large products of f32 copies its operands: it widens what it copies, through a transpose as well, and
// rounds what is finished.

// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[X:.*]]: tensor<512x256xbf16>, %[[W:.*]]: tensor<512x384xf32>)
// CHECK-NEXT: %[[Y:.*]] = step.group library(%[[W]], %[[X]])
// CHECK-SAME: compute = "f32"
// CHECK-SAME: lhs = "f32"
// CHECK-SAME: result = "bf16"
// CHECK-SAME: rhs = "bf16"
// CHECK: stablehlo.convert
// CHECK-NEXT: stablehlo.transpose
// CHECK-NEXT: stablehlo.dot_general
// CHECK-NEXT: stablehlo.convert
// CHECK-NEXT: stablehlo.transpose
// CHECK-NEXT: step.yield
// CHECK: return %[[Y]]
func.func @main(%x: tensor<512x256xbf16>, %w: tensor<512x384xf32>) -> tensor<384x256xbf16> {
  %wide = stablehlo.convert %x {step.cast} : (tensor<512x256xbf16>) -> tensor<512x256xf32>
  %turned = stablehlo.transpose %wide, dims = [1, 0] : (tensor<512x256xf32>) -> tensor<256x512xf32>
  %y = stablehlo.dot_general %turned, %w, contracting_dims = [1] x [0] : (tensor<256x512xf32>, tensor<512x384xf32>) -> tensor<256x384xf32>
  %rounded = stablehlo.convert %y {step.cast} : (tensor<256x384xf32>) -> tensor<256x384xbf16>
  %stored = stablehlo.transpose %rounded, dims = [1, 0] : (tensor<256x384xbf16>) -> tensor<384x256xbf16>
  return %stored : tensor<384x256xbf16>
}

// -----

// What is widened for others stays, and so does an f32 that others read.

// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[X:.*]]: tensor<256x512xbf16>, %[[W:.*]]: tensor<512x384xf32>)
// CHECK-NEXT: %[[WIDE:.*]] = stablehlo.convert %[[X]]
// CHECK-NEXT: %[[Y:.*]] = step.group library(%[[X]], %[[W]])
// CHECK-SAME: -> tensor<256x384xf32>
// CHECK: %[[ROUNDED:.*]] = stablehlo.convert %[[Y]]
// CHECK: return %[[WIDE]], %[[Y]], %[[ROUNDED]]
func.func @main(%x: tensor<256x512xbf16>, %w: tensor<512x384xf32>) -> (tensor<256x512xf32>, tensor<256x384xf32>, tensor<256x384xbf16>) {
  %wide = stablehlo.convert %x : (tensor<256x512xbf16>) -> tensor<256x512xf32>
  %y = stablehlo.dot_general %wide, %w, contracting_dims = [1] x [0] : (tensor<256x512xf32>, tensor<512x384xf32>) -> tensor<256x384xf32>
  %rounded = stablehlo.convert %y : (tensor<256x384xf32>) -> tensor<256x384xbf16>
  return %wide, %y, %rounded : tensor<256x512xf32>, tensor<256x384xf32>, tensor<256x384xbf16>
}

// -----

// The library reads the operands of a small product where they lie, as f32.

// CHECK-LABEL: func.func @main
// CHECK: %[[WIDE:.*]] = stablehlo.convert
// CHECK: step.group library
// CHECK-SAME: %[[WIDE]]
func.func @main(%x: tensor<32x64xbf16>, %w: tensor<64x128xf32>) -> tensor<32x128xf32> {
  %wide = stablehlo.convert %x {step.cast} : (tensor<32x64xbf16>) -> tensor<32x64xf32>
  %y = stablehlo.dot_general %wide, %w, contracting_dims = [1] x [0] : (tensor<32x64xf32>, tensor<64x128xf32>) -> tensor<32x128xf32>
  return %y : tensor<32x128xf32>
}
