// RUN: tenon-opt %s --split-input-file --fusion-form-library-groups=cpu=x86-64-v3 --fusion-form-groups --fusion-fuse-epilogues=cpu=x86-64-v3 --verify-grouped-form | FileCheck %s
// RUN: tenon-opt %s --split-input-file --fusion-form-library-groups=cpu=x86-64-v3 --fusion-form-groups --fusion-fuse-epilogues=cpu=x86-64-v3 --remarks-filter="fusion-fuse.*" --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// Nothing but a bias: the library adds it, also behind a reshape.

// REMARK: the library adds the bias: predicted to take {{.*}} us in one call, {{.*}} us in a call and a kernel
// CHECK-LABEL: func.func @bias
// CHECK: step.group library(%arg0, %arg1, %arg2) attributes {{.*}}epilogue = "bias"{{.*}} : (tensor<64x32xf32>, tensor<32x24xf32>, tensor<4x6xf32>) -> tensor<8x8x4x6xf32>
// CHECK: stablehlo.dot_general
// CHECK: stablehlo.add
// CHECK-NOT: step.group
func.func @bias(%x: tensor<64x32xf32>, %w: tensor<32x24xf32>, %b: tensor<4x6xf32>) -> tensor<8x8x4x6xf32> {
  %d = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<64x32xf32>, tensor<32x24xf32>) -> tensor<64x24xf32>
  %r = stablehlo.reshape %d : (tensor<64x24xf32>) -> tensor<8x8x4x6xf32>
  %c = stablehlo.broadcast_in_dim %b, dims = [2, 3] : (tensor<4x6xf32>) -> tensor<8x8x4x6xf32>
  %s = stablehlo.add %r, %c : tensor<8x8x4x6xf32>
  return %s : tensor<8x8x4x6xf32>
}

// -----

// A kernel that does more reads the product anyway.

// CHECK-LABEL: func.func @more
// CHECK: step.group library(%arg0, %arg1) attributes {{.*}}epilogue = "none"
// CHECK: step.group elementwise
// CHECK: stablehlo.add
// CHECK: stablehlo.tanh
func.func @more(%x: tensor<64x32xf32>, %w: tensor<32x24xf32>, %b: tensor<24xf32>) -> tensor<64x24xf32> {
  %d = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<64x32xf32>, tensor<32x24xf32>) -> tensor<64x24xf32>
  %c = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<24xf32>) -> tensor<64x24xf32>
  %s = stablehlo.add %d, %c : tensor<64x24xf32>
  %t = stablehlo.tanh %s : tensor<64x24xf32>
  return %t : tensor<64x24xf32>
}

// -----

// A value per row is no bias of columns.

// REMARK: the bias is not one value per column of the product as it lies in memory
// CHECK-LABEL: func.func @rows
// CHECK: epilogue = "none"
// CHECK: step.group elementwise
func.func @rows(%x: tensor<64x32xf32>, %w: tensor<32x24xf32>, %b: tensor<8x24xf32>) -> tensor<8x8x24xf32> {
  %d = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<64x32xf32>, tensor<32x24xf32>) -> tensor<64x24xf32>
  %r = stablehlo.reshape %d : (tensor<64x24xf32>) -> tensor<8x8x24xf32>
  %c = stablehlo.broadcast_in_dim %b, dims = [1, 2] : (tensor<8x24xf32>) -> tensor<8x8x24xf32>
  %s = stablehlo.add %r, %c : tensor<8x8x24xf32>
  return %s : tensor<8x8x24xf32>
}

// -----

// Somebody reads the product without the bias.

// CHECK-LABEL: func.func @both
// CHECK: epilogue = "none"
// CHECK: step.group elementwise
func.func @both(%x: tensor<64x32xf32>, %w: tensor<32x24xf32>, %b: tensor<24xf32>) -> (tensor<64x24xf32>, tensor<64x24xf32>) {
  %d = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<64x32xf32>, tensor<32x24xf32>) -> tensor<64x24xf32>
  %c = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<24xf32>) -> tensor<64x24xf32>
  %s = stablehlo.add %d, %c : tensor<64x24xf32>
  return %s, %d : tensor<64x24xf32>, tensor<64x24xf32>
}

// -----

// A sum that is rounded afterwards: the library adds in f32, too, and rounds.

// REMARK: the library adds the bias: predicted to take
// CHECK-LABEL: func.func @rounded
// CHECK: step.group library(%arg0, %arg1, %arg2) attributes {{.*}}epilogue = "bias"{{.*}}result = "bf16"{{.*}} : (tensor<64x32xbf16>, tensor<32x24xbf16>, tensor<24xf32>) -> tensor<64x24xbf16>
// CHECK: stablehlo.dot_general {{.*}} -> tensor<64x24xf32>
// CHECK: stablehlo.add {{.*}} : tensor<64x24xf32>
// CHECK: stablehlo.convert
// CHECK-NOT: step.group
func.func @rounded(%x: tensor<64x32xbf16>, %w: tensor<32x24xbf16>, %b: tensor<24xf32>) -> tensor<64x24xbf16> {
  %d = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<64x32xbf16>, tensor<32x24xbf16>) -> tensor<64x24xf32>
  %c = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<24xf32>) -> tensor<64x24xf32>
  %s = stablehlo.add %d, %c : tensor<64x24xf32>
  %r = stablehlo.convert %s {step.cast} : (tensor<64x24xf32>) -> tensor<64x24xbf16>
  return %r : tensor<64x24xbf16>
}

// -----

// A product that is rounded before the sum stays a call of its own.

// REMARK: the product is rounded before the bias is added
// CHECK-LABEL: func.func @rounded_before
// CHECK: epilogue = "none"
// CHECK: step.group elementwise
func.func @rounded_before(%x: tensor<64x32xbf16>, %w: tensor<32x24xbf16>, %b: tensor<24xbf16>) -> tensor<64x24xbf16> {
  %d = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<64x32xbf16>, tensor<32x24xbf16>) -> tensor<64x24xbf16>
  %c = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<24xbf16>) -> tensor<64x24xbf16>
  %s = stablehlo.add %d, %c : tensor<64x24xbf16>
  return %s : tensor<64x24xbf16>
}
