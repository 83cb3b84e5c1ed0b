// RUN: tenon-opt %s --split-input-file --fusion-form-library-groups=gpu=true --fusion-form-groups --fusion-finish-products --verify-grouped-form | FileCheck %s
// RUN: tenon-opt %s --split-input-file --fusion-form-library-groups=gpu=true --fusion-form-groups --fusion-finish-products --remarks-filter="fusion-finish.*" --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// A bias of f32 is rounded to the type of the sums.
// CHECK-LABEL: func.func @bias
// CHECK: %[[B:.*]] = step.group elementwise(%arg2) : (tensor<64xf32>) -> tensor<64xbf16>
// CHECK: step.group library(%arg0, %arg1, %[[B]])
// CHECK-SAME: epilogue = "bias"
// CHECK-SAME: result = "bf16"
// CHECK: stablehlo.dot_general {{.*}} -> tensor<512x64xf32>
// CHECK-NOT: step.group
// REMARK: the library adds the bias: predicted to take
func.func @bias(%x: tensor<512x64xbf16>, %w: tensor<64x64xbf16>, %b: tensor<64xf32>) -> tensor<512x64xbf16> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<512x64xbf16>, tensor<64x64xbf16>) -> tensor<512x64xbf16>
  %1 = stablehlo.convert %0 : (tensor<512x64xbf16>) -> tensor<512x64xf32>
  %2 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<64xf32>) -> tensor<512x64xf32>
  %3 = stablehlo.add %1, %2 : tensor<512x64xf32>
  %4 = stablehlo.convert %3 : (tensor<512x64xf32>) -> tensor<512x64xbf16>
  return %4 : tensor<512x64xbf16>
}

// -----

// What is in memory in f32 stays so, and its bias, too.
// CHECK-LABEL: func.func @wide
// CHECK: step.group library(%arg0, %arg1, %arg2)
// CHECK-SAME: epilogue = "bias"
// CHECK-SAME: result = "f32"
func.func @wide(%x: tensor<512x64xbf16>, %w: tensor<64x64xbf16>, %b: tensor<64xf32>) -> tensor<512x64xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<512x64xbf16>, tensor<64x64xbf16>) -> tensor<512x64xbf16>
  %1 = stablehlo.convert %0 : (tensor<512x64xbf16>) -> tensor<512x64xf32>
  %2 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<64xf32>) -> tensor<512x64xf32>
  %3 = stablehlo.add %1, %2 : tensor<512x64xf32>
  return %3 : tensor<512x64xf32>
}

// -----

// The gradient reads the input of GELU alone, whatever derived code reads.
// CHECK-LABEL: func.func @gelu
// CHECK: %[[G:.*]]:2 = step.group library(%arg0, %arg1, %{{[0-9]+}})
// CHECK-SAME: activation = "gelu_keeping"
// CHECK-SAME: epilogue = "bias"
// CHECK: step.group library(%[[G]]#0, %arg1, %[[G]]#1)
// CHECK-SAME: activation = "gelu_gradient"
// CHECK-NOT: step.group
// REMARK: the library multiplies with the gradient of GELU
// REMARK: the library applies GELU
func.func @gelu(%x: tensor<512x64xbf16>, %w: tensor<64x64xbf16>, %b: tensor<64xf32>) -> (tensor<512x64xbf16>, tensor<512x64xbf16>, tensor<512x64xbf16>) {
  %one = stablehlo.constant dense<1.0> : tensor<512x64xf32>
  %half = stablehlo.constant dense<0.5> : tensor<512x64xf32>
  %c = stablehlo.constant dense<4.471500e-02> : tensor<512x64xf32>
  %c3 = stablehlo.constant dense<1.341450e-01> : tensor<512x64xf32>
  %s = stablehlo.constant dense<0.797884583> : tensor<512x64xf32>
  %p = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<512x64xbf16>, tensor<64x64xbf16>) -> tensor<512x64xbf16>
  %pw = stablehlo.convert %p : (tensor<512x64xbf16>) -> tensor<512x64xf32>
  %bw = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<64xf32>) -> tensor<512x64xf32>
  %pb = stablehlo.add %pw, %bw : tensor<512x64xf32>
  %hn = stablehlo.convert %pb : (tensor<512x64xf32>) -> tensor<512x64xbf16>
  %h = stablehlo.convert %hn : (tensor<512x64xbf16>) -> tensor<512x64xf32>
  %h2 = stablehlo.multiply %h, %h : tensor<512x64xf32>
  %h3 = stablehlo.multiply %h2, %h : tensor<512x64xf32>
  %ch3 = stablehlo.multiply %c, %h3 : tensor<512x64xf32>
  %sum = stablehlo.add %h, %ch3 : tensor<512x64xf32>
  %u = stablehlo.multiply %s, %sum : tensor<512x64xf32>
  %t = stablehlo.tanh %u : tensor<512x64xf32>
  %t1 = stablehlo.add %one, %t : tensor<512x64xf32>
  %cdf = stablehlo.multiply %half, %t1 : tensor<512x64xf32>
  %g = stablehlo.multiply %h, %cdf : tensor<512x64xf32>
  %gn = stablehlo.convert %g : (tensor<512x64xf32>) -> tensor<512x64xbf16>
  %q = stablehlo.dot_general %gn, %w, contracting_dims = [1] x [1] : (tensor<512x64xbf16>, tensor<64x64xbf16>) -> tensor<512x64xbf16>
  %d = stablehlo.convert %q : (tensor<512x64xbf16>) -> tensor<512x64xf32>
  %tt = stablehlo.multiply %t, %t : tensor<512x64xf32>
  %dt = stablehlo.subtract %one, %tt : tensor<512x64xf32>
  %i = stablehlo.multiply %c3, %h2 : tensor<512x64xf32>
  %i1 = stablehlo.add %one, %i : tensor<512x64xf32>
  %du = stablehlo.multiply %s, %i1 : tensor<512x64xf32>
  %a = stablehlo.multiply %half, %h : tensor<512x64xf32>
  %a1 = stablehlo.multiply %a, %dt : tensor<512x64xf32>
  %a2 = stablehlo.multiply %a1, %du : tensor<512x64xf32>
  %dg = stablehlo.add %cdf, %a2 : tensor<512x64xf32>
  %r = stablehlo.multiply %d, %dg : tensor<512x64xf32>
  %rn = stablehlo.convert %r : (tensor<512x64xf32>) -> tensor<512x64xbf16>
  return %gn, %hn, %rn : tensor<512x64xbf16>, tensor<512x64xbf16>, tensor<512x64xbf16>
}

// -----

// Nearly GELU is not GELU: another constant.
// CHECK-LABEL: func.func @other
// CHECK: activation = "none"
// CHECK: step.group elementwise
func.func @other(%x: tensor<512x64xbf16>, %w: tensor<64x64xbf16>) -> tensor<512x64xbf16> {
  %one = stablehlo.constant dense<1.0> : tensor<512x64xf32>
  %half = stablehlo.constant dense<0.5> : tensor<512x64xf32>
  %s = stablehlo.constant dense<0.8> : tensor<512x64xf32>
  %p = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<512x64xbf16>, tensor<64x64xbf16>) -> tensor<512x64xbf16>
  %h = stablehlo.convert %p : (tensor<512x64xbf16>) -> tensor<512x64xf32>
  %u = stablehlo.multiply %s, %h : tensor<512x64xf32>
  %t = stablehlo.tanh %u : tensor<512x64xf32>
  %t1 = stablehlo.add %one, %t : tensor<512x64xf32>
  %cdf = stablehlo.multiply %half, %t1 : tensor<512x64xf32>
  %g = stablehlo.multiply %h, %cdf : tensor<512x64xf32>
  %gn = stablehlo.convert %g : (tensor<512x64xf32>) -> tensor<512x64xbf16>
  return %gn : tensor<512x64xbf16>
}

// -----

// A bias of rows is none of columns.
// CHECK-LABEL: func.func @rows
// CHECK: epilogue = "none"
// CHECK: step.group elementwise
func.func @rows(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>, %b: tensor<64xf32>) -> tensor<64x64xbf16> {
  %0 = stablehlo.dot_general %w, %x, contracting_dims = [0] x [1] : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xbf16>
  %1 = stablehlo.convert %0 : (tensor<64x64xbf16>) -> tensor<64x64xf32>
  %2 = stablehlo.broadcast_in_dim %b, dims = [0] : (tensor<64xf32>) -> tensor<64x64xf32>
  %3 = stablehlo.add %1, %2 : tensor<64x64xf32>
  %4 = stablehlo.convert %3 : (tensor<64x64xf32>) -> tensor<64x64xbf16>
  return %4 : tensor<64x64xbf16>
}
