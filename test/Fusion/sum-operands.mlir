// RUN: tenon-opt %s --split-input-file --fusion-form-library-groups=gpu=true --fusion-form-groups --fusion-sum-operands --verify-grouped-form | FileCheck %s
// RUN: tenon-opt %s --split-input-file --fusion-form-library-groups=gpu=true --fusion-form-groups --fusion-sum-operands --remarks-filter="fusion-sum.*" --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: tenon-opt %s --split-input-file --fusion-form-library-groups=gpu=true --fusion-form-groups --fusion-sum-operands=may-round=false | FileCheck %s --check-prefix=OWN

// A sum that was cut in two, of the f32 values that the factor was rounded
// from; what is done with it then reads the library's sums, behind the call.

// OWN-LABEL: func.func @cut
// OWN: step.group column
// OWN-NOT: sums = "rhs"
// OWN: return

// CHECK-LABEL: func.func @cut
// CHECK: %[[D:.*]]:2 = step.group elementwise(%arg1)
// CHECK: %[[W:.*]]:2 = step.group library(%arg0, %[[D]]#{{[01]}})
// CHECK-SAME: sums = "rhs"
// CHECK-SAME: -> (tensor<256x512xbf16>, tensor<512xbf16>)
// CHECK: step.group elementwise(%[[W]]#1, %arg2)
// CHECK-NEXT: ^bb0(%[[S:.*]]: tensor<512xbf16>
// CHECK: stablehlo.convert %[[S]]
// CHECK-NOT: step.group column
// REMARK: the library adds up an operand: predicted to take
func.func @cut(%x: tensor<32x128x256xbf16>, %g: tensor<32x128x512xf32>, %b: tensor<512xf32>) -> (tensor<512xf32>, tensor<256x512xbf16>, tensor<32x128x512xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %d, %n = step.group elementwise(%g) : (tensor<32x128x512xf32>) -> (tensor<32x128x512xf32>, tensor<32x128x512xbf16>) {
  ^bb0(%in: tensor<32x128x512xf32>):
    %0 = stablehlo.tanh %in : tensor<32x128x512xf32>
    %1 = stablehlo.convert %0 : (tensor<32x128x512xf32>) -> tensor<32x128x512xbf16>
    step.yield %0, %1 : tensor<32x128x512xf32>, tensor<32x128x512xbf16>
  }
  %p = stablehlo.reduce(%d init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<32x128x512xf32>, tensor<f32>) -> tensor<128x512xf32>
  %s = stablehlo.reduce(%p init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<128x512xf32>, tensor<f32>) -> tensor<512xf32>
  %c = stablehlo.subtract %b, %s : tensor<512xf32>
  %w = stablehlo.dot_general %x, %n, contracting_dims = [0, 1] x [0, 1] : (tensor<32x128x256xbf16>, tensor<32x128x512xbf16>) -> tensor<256x512xbf16>
  return %c, %w, %d : tensor<512xf32>, tensor<256x512xbf16>, tensor<32x128x512xf32>
}

// -----

// The library transposes what it writes: the factor is its left operand.

// OWN-LABEL: func.func @left
// OWN-NOT: sums = "lhs"
// OWN: return

// CHECK-LABEL: func.func @left
// CHECK: step.group library(%arg1, %arg0)
// CHECK-SAME: sums = "lhs"
func.func @left(%x: tensor<4096x256xbf16>, %d: tensor<4096x512xbf16>) -> (tensor<512x256xbf16>, tensor<512xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %w = stablehlo.dot_general %d, %x, contracting_dims = [0] x [0] : (tensor<4096x512xbf16>, tensor<4096x256xbf16>) -> tensor<512x256xbf16>
  %f = stablehlo.convert %d : (tensor<4096x512xbf16>) -> tensor<4096x512xf32>
  %s = stablehlo.reduce(%f init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4096x512xf32>, tensor<f32>) -> tensor<512xf32>
  return %w, %s : tensor<512x256xbf16>, tensor<512xf32>
}

// -----

// Not of f32, not of a maximum, and not over other dimensions than the product's.

// CHECK-LABEL: func.func @others
// CHECK-NOT: sums = "lhs"
// CHECK-NOT: sums = "rhs"
// CHECK: return
func.func @others(%x: tensor<4096x256xbf16>, %d: tensor<4096x512xbf16>, %e: tensor<512x4096xbf16>, %u: tensor<4096x256xf32>, %v: tensor<4096x512xf32>)
    -> (tensor<256x512xbf16>, tensor<512xf32>, tensor<4096xf32>, tensor<256x512xf32>, tensor<512xf32>, tensor<512x256xbf16>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %w = stablehlo.dot_general %x, %d, contracting_dims = [0] x [0] : (tensor<4096x256xbf16>, tensor<4096x512xbf16>) -> tensor<256x512xbf16>
  %f = stablehlo.convert %d : (tensor<4096x512xbf16>) -> tensor<4096x512xf32>
  %m = stablehlo.reduce(%f init: %zero) applies stablehlo.maximum across dimensions = [0] : (tensor<4096x512xf32>, tensor<f32>) -> tensor<512xf32>
  %wide = stablehlo.dot_general %u, %v, contracting_dims = [0] x [0] : (tensor<4096x256xf32>, tensor<4096x512xf32>) -> tensor<256x512xf32>
  %ws = stablehlo.reduce(%v init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4096x512xf32>, tensor<f32>) -> tensor<512xf32>
  %t = stablehlo.dot_general %e, %x, contracting_dims = [1] x [0] : (tensor<512x4096xbf16>, tensor<4096x256xbf16>) -> tensor<512x256xbf16>
  %h = stablehlo.convert %e : (tensor<512x4096xbf16>) -> tensor<512x4096xf32>
  %ts = stablehlo.reduce(%h init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<512x4096xf32>, tensor<f32>) -> tensor<4096xf32>
  return %w, %m, %ts, %wide, %ws, %t : tensor<256x512xbf16>, tensor<512xf32>, tensor<4096xf32>, tensor<256x512xf32>, tensor<512xf32>, tensor<512x256xbf16>
}

// -----

// The program rounds the sum itself, to the type of the product.

// OWN-LABEL: func.func @rounded
// OWN: step.group library
// OWN-SAME: sums = "rhs"
// CHECK-LABEL: func.func @rounded
// CHECK: sums = "rhs"
func.func @rounded(%x: tensor<4096x256xbf16>, %d: tensor<4096x512xbf16>, %b: tensor<512xbf16>) -> (tensor<256x512xbf16>, tensor<512xbf16>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %w = stablehlo.dot_general %x, %d, contracting_dims = [0] x [0] : (tensor<4096x256xbf16>, tensor<4096x512xbf16>) -> tensor<256x512xbf16>
  %f = stablehlo.convert %d : (tensor<4096x512xbf16>) -> tensor<4096x512xf32>
  %s = stablehlo.reduce(%f init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4096x512xf32>, tensor<f32>) -> tensor<512xf32>
  %n = stablehlo.convert %s : (tensor<512xf32>) -> tensor<512xbf16>
  %u = stablehlo.subtract %b, %n : tensor<512xbf16>
  return %w, %u : tensor<256x512xbf16>, tensor<512xbf16>
}

// -----

// A product with long sums takes longer with them than a kernel does.

// OWN-LABEL: func.func @dear
// CHECK-LABEL: func.func @dear
// CHECK-NOT: sums = "rhs"
// CHECK: return
// REMARK: us in one call,
func.func @dear(%x: tensor<32768x768xbf16>, %d: tensor<32768x3072xbf16>, %b: tensor<3072xbf16>) -> (tensor<768x3072xbf16>, tensor<3072xbf16>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %w = stablehlo.dot_general %x, %d, contracting_dims = [0] x [0] : (tensor<32768x768xbf16>, tensor<32768x3072xbf16>) -> tensor<768x3072xbf16>
  %f = stablehlo.convert %d : (tensor<32768x3072xbf16>) -> tensor<32768x3072xf32>
  %s = stablehlo.reduce(%f init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<32768x3072xf32>, tensor<f32>) -> tensor<3072xf32>
  %n = stablehlo.convert %s : (tensor<3072xf32>) -> tensor<3072xbf16>
  %u = stablehlo.subtract %b, %n : tensor<3072xbf16>
  return %w, %u : tensor<768x3072xbf16>, tensor<3072xbf16>
}
