// RUN: tenon-opt %s --split-input-file --fusion-form-groups --verify-grouped-form | FileCheck %s
// RUN: tenon-opt %s --split-input-file --fusion-form-groups --remarks-filter="fusion-.*" --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// A column kernel of 64 columns runs on one core. What takes a polynomial per
// element is better computed by both, although its result then goes through
// memory.

// REMARK: [Passed] Grouped {{.*}}stablehlo.tanh joins stablehlo.tanh: predicted to take 5.78 us in one kernel, 6.10 us in two
// REMARK: [Missed] NotGrouped {{.*}}stablehlo.reduce reads the result of stablehlo.tanh from memory (65536 bytes): predicted to take 11.28 us in one kernel, 6.90 us in two
// CHECK-LABEL: func.func @expensive
// CHECK: step.group elementwise
// CHECK: step.group column
func.func @expensive(%x: tensor<256x64xf32>) -> tensor<64xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %a = stablehlo.tanh %x : tensor<256x64xf32>
  %b = stablehlo.tanh %a : tensor<256x64xf32>
  %sum = stablehlo.reduce(%b init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<256x64xf32>, tensor<f32>) -> tensor<64xf32>
  return %sum : tensor<64xf32>
}

// -----

// A sum costs less than its way through memory.

// REMARK: stablehlo.reduce joins stablehlo.add: predicted to take {{.*}} us in one kernel
// CHECK-LABEL: func.func @cheap
// CHECK: step.group column
// CHECK-NOT: step.group
func.func @cheap(%x: tensor<256x64xf32>, %y: tensor<256x64xf32>) -> tensor<64xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %a = stablehlo.add %x, %y : tensor<256x64xf32>
  %sum = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<256x64xf32>, tensor<f32>) -> tensor<64xf32>
  return %sum : tensor<64xf32>
}

// -----

// With blocks of columns for both cores nothing is lost.

// REMARK: stablehlo.reduce joins stablehlo.tanh: predicted to take {{.*}} us in one kernel
// CHECK-LABEL: func.func @wide
// CHECK: step.group column
// CHECK-NOT: step.group
func.func @wide(%x: tensor<64x256xf32>) -> tensor<256xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %a = stablehlo.tanh %x : tensor<64x256xf32>
  %sum = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<64x256xf32>, tensor<f32>) -> tensor<256xf32>
  return %sum : tensor<256xf32>
}

// -----

// Two sums over the same columns share the pass over what both read if that
// saves more than a launch; the value of @few is small.

// REMARK-NOT: reduce joins
// CHECK-LABEL: func.func @few
// CHECK-COUNT-2: step.group column
func.func @few(%x: tensor<8x64xf32>, %y: tensor<8x64xf32>, %z: tensor<8x64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %a = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8x64xf32>, tensor<f32>) -> tensor<64xf32>
  %b = stablehlo.reduce(%x init: %zero) applies stablehlo.maximum across dimensions = [0] : (tensor<8x64xf32>, tensor<f32>) -> tensor<64xf32>
  return %a, %b : tensor<64xf32>, tensor<64xf32>
}

// -----

// In a cache, computing tanh again takes longer than reading what was kept.

// REMARK: [Missed] Recompute {{.*}}5 values stay rather than be computed again over the peak, 32768 bytes less: the kernels are predicted to take {{.*}} us with that, {{.*}} us without
// CHECK-LABEL: func.func @kept
// CHECK: step.group elementwise(%arg0) : (tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>)
func.func @kept(%p: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %one = stablehlo.constant dense<1.0> : tensor<64x64xf32>
  %t = stablehlo.tanh %p : tensor<64x64xf32>
  %square = stablehlo.multiply %t, %t : tensor<64x64xf32>
  %derivative = stablehlo.subtract %one, %square : tensor<64x64xf32>
  %three = stablehlo.add %t, %p : tensor<64x64xf32>
  %sorted = "stablehlo.sort"(%three) <{dimension = 0 : i64, is_stable = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %less = stablehlo.compare LT, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  }) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %gradient = stablehlo.multiply %sorted, %derivative : tensor<64x64xf32>
  return %gradient : tensor<64x64xf32>
}
