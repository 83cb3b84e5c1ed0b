// RUN: tenon-opt %s --split-input-file --fusion-form-library-groups=gpu=true --fusion-add-residuals --fusion-form-groups --verify-grouped-form | FileCheck %s
// RUN: tenon-opt %s --split-input-file --fusion-form-library-groups=gpu=true --fusion-add-residuals --remarks-filter="fusion-add.*" --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// The product, the old value and the bias are added up in f32, in this order,
// whichever side of the additions they are on.
// CHECK-LABEL: func.func @block
// CHECK: %[[N:.*]] = step.group
// CHECK: %[[S:.*]] = step.group library(%[[N]], %arg1, %arg0, %arg2)
// CHECK-SAME: addend = "operand"
// CHECK-SAME: epilogue = "bias"
// CHECK-SAME: result = "f32"
// CHECK: %[[P:.*]] = stablehlo.dot_general {{.*}} -> tensor<4096x1024xf32>
// CHECK: %[[A:.*]] = stablehlo.add %[[P]], %{{.*}}
// CHECK: %[[C:.*]] = stablehlo.broadcast_in_dim
// CHECK: stablehlo.add %[[A]], %[[C]]
// CHECK: step.group elementwise(%[[S]])
// CHECK: return %[[S]]
// REMARK: the library adds the residual: predicted to take
func.func @block(%x: tensor<4096x1024xf32>, %w: tensor<1024x1024xbf16>, %b: tensor<1024xf32>) -> (tensor<4096x1024xf32>, tensor<4096x1024xf32>) {
  %n = stablehlo.convert %x {step.cast} : (tensor<4096x1024xf32>) -> tensor<4096x1024xbf16>
  %p = stablehlo.dot_general %n, %w, contracting_dims = [1] x [0] : (tensor<4096x1024xbf16>, tensor<1024x1024xbf16>) -> tensor<4096x1024xbf16>
  %q = stablehlo.convert %p {step.cast} : (tensor<4096x1024xbf16>) -> tensor<4096x1024xf32>
  %c = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<1024xf32>) -> tensor<4096x1024xf32>
  %d = stablehlo.add %q, %c : tensor<4096x1024xf32>
  %s = stablehlo.add %x, %d : tensor<4096x1024xf32>
  %t = stablehlo.tanh %s : tensor<4096x1024xf32>
  return %s, %t : tensor<4096x1024xf32>, tensor<4096x1024xf32>
}

// -----

// Without a bias, and behind a reshape.
// CHECK-LABEL: func.func @reshaped
// CHECK: step.group library(%{{.*}}, %arg1, %arg0)
// CHECK-SAME: addend = "operand"
// CHECK-SAME: epilogue = "none"
// CHECK: %[[P:.*]] = stablehlo.dot_general {{.*}} -> tensor<4096x1024xf32>
// CHECK: %[[R:.*]] = stablehlo.reshape %[[P]]
// CHECK: stablehlo.add %[[R]]
// REMARK: the library adds the residual: predicted to take
func.func @reshaped(%x: tensor<8x512x1024xf32>, %w: tensor<1024x1024xbf16>) -> (tensor<8x512x1024xf32>, tensor<8x512x1024xf32>) {
  %n = stablehlo.convert %x {step.cast} : (tensor<8x512x1024xf32>) -> tensor<8x512x1024xbf16>
  %m = stablehlo.reshape %n : (tensor<8x512x1024xbf16>) -> tensor<4096x1024xbf16>
  %p = stablehlo.dot_general %m, %w, contracting_dims = [1] x [0] : (tensor<4096x1024xbf16>, tensor<1024x1024xbf16>) -> tensor<4096x1024xbf16>
  %o = stablehlo.reshape %p : (tensor<4096x1024xbf16>) -> tensor<8x512x1024xbf16>
  %q = stablehlo.convert %o {step.cast} : (tensor<8x512x1024xbf16>) -> tensor<8x512x1024xf32>
  %s = stablehlo.add %q, %x : tensor<8x512x1024xf32>
  %t = stablehlo.tanh %s : tensor<8x512x1024xf32>
  return %s, %t : tensor<8x512x1024xf32>, tensor<8x512x1024xf32>
}

// -----

// What the program rounds stays rounded.
// CHECK-LABEL: func.func @rounded
// CHECK-NOT: addend = "operand"
func.func @rounded(%x: tensor<4096x1024xf32>, %w: tensor<1024x1024xbf16>) -> (tensor<4096x1024xf32>, tensor<4096x1024xf32>) {
  %n = stablehlo.convert %x {step.cast} : (tensor<4096x1024xf32>) -> tensor<4096x1024xbf16>
  %p = stablehlo.dot_general %n, %w, contracting_dims = [1] x [0] : (tensor<4096x1024xbf16>, tensor<1024x1024xbf16>) -> tensor<4096x1024xbf16>
  %q = stablehlo.convert %p : (tensor<4096x1024xbf16>) -> tensor<4096x1024xf32>
  %s = stablehlo.add %x, %q : tensor<4096x1024xf32>
  %t = stablehlo.tanh %s : tensor<4096x1024xf32>
  return %s, %t : tensor<4096x1024xf32>, tensor<4096x1024xf32>
}

// -----

// A sum that one kernel reads need not be in memory, one that is stored in 16
// bits would be wider, and what the product does not come from would be kept
// for it.
// CHECK-LABEL: func.func @others
// CHECK-NOT: addend = "operand"
func.func @others(%x: tensor<4096x1024xf32>, %y: tensor<4096x1024xf32>, %z: tensor<4096x1024xbf16>, %w: tensor<1024x1024xbf16>) -> (tensor<4096x1024xf32>, tensor<4096x1024xf32>, tensor<4096x1024xf32>, tensor<4096x1024xf32>, tensor<4096x1024xf32>) {
  %n = stablehlo.convert %x {step.cast} : (tensor<4096x1024xf32>) -> tensor<4096x1024xbf16>
  %p = stablehlo.dot_general %n, %w, contracting_dims = [1] x [0] : (tensor<4096x1024xbf16>, tensor<1024x1024xbf16>) -> tensor<4096x1024xbf16>
  %q = stablehlo.convert %p {step.cast} : (tensor<4096x1024xbf16>) -> tensor<4096x1024xf32>
  %s = stablehlo.add %x, %q : tensor<4096x1024xf32>
  %t = stablehlo.tanh %s : tensor<4096x1024xf32>

  %p1 = stablehlo.dot_general %z, %w, contracting_dims = [1] x [0] : (tensor<4096x1024xbf16>, tensor<1024x1024xbf16>) -> tensor<4096x1024xbf16>
  %q1 = stablehlo.convert %p1 {step.cast} : (tensor<4096x1024xbf16>) -> tensor<4096x1024xf32>
  %z1 = stablehlo.convert %z {step.cast} : (tensor<4096x1024xbf16>) -> tensor<4096x1024xf32>
  %s1 = stablehlo.add %z1, %q1 : tensor<4096x1024xf32>
  %t1 = stablehlo.tanh %s1 : tensor<4096x1024xf32>

  %p2 = stablehlo.dot_general %z, %w, contracting_dims = [1] x [0] : (tensor<4096x1024xbf16>, tensor<1024x1024xbf16>) -> tensor<4096x1024xbf16>
  %q2 = stablehlo.convert %p2 {step.cast} : (tensor<4096x1024xbf16>) -> tensor<4096x1024xf32>
  %s2 = stablehlo.add %y, %q2 : tensor<4096x1024xf32>
  %t2 = stablehlo.tanh %s2 : tensor<4096x1024xf32>
  return %t, %s1, %t1, %s2, %t2 : tensor<4096x1024xf32>, tensor<4096x1024xf32>, tensor<4096x1024xf32>, tensor<4096x1024xf32>, tensor<4096x1024xf32>
}
