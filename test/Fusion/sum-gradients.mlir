// RUN: tenon-opt %s --split-input-file --fusion-sum-gradients --verify-grouped-form | FileCheck %s

// A sum in two groups, the second of which does something with it, of gradients
// that are joined.

// CHECK-LABEL: func.func @joined
// CHECK: %[[G:.*]]:2 = step.group generic(%arg0, %arg1) : ({{.*}}) -> (tensor<8x256x192xbf16>, tensor<32x192xf32>)
// CHECK: %[[ALL:.*]] = stablehlo.concatenate
// CHECK: %[[WIDE:.*]] = stablehlo.convert %[[ALL]]
// CHECK: %[[CUT:.*]] = stablehlo.reshape %[[WIDE]] : (tensor<8x256x192xf32>) -> tensor<32x64x192xf32>
// CHECK: %[[SUMS:.*]] = stablehlo.reduce(%[[CUT]] {{.*}} across dimensions = [1]
// CHECK: step.yield %[[ALL]], %[[SUMS]]
// CHECK: step.group column(%[[G]]#1, %arg2)
// CHECK: stablehlo.reduce({{.*}} across dimensions = [0] : (tensor<32x192xf32>, tensor<f32>) -> tensor<192xf32>
// CHECK-NOT: step.group
func.func @joined(%x: tensor<8x256x64xbf16>, %m: tensor<8x256xf32>, %b: tensor<192xf32>) -> (tensor<8x256x192xbf16>, tensor<192xf32>) {
  %0 = step.group generic(%x, %m) : (tensor<8x256x64xbf16>, tensor<8x256xf32>) -> tensor<8x256x192xbf16> {
  ^bb0(%a: tensor<8x256x64xbf16>, %n: tensor<8x256xf32>):
    %q, %k, %v = step.attention_gradient %a [0, q, d], %a [0, k, d], %a [0, k, v] of %n, %n, %a [0, q, v]
      -> [0, q, d], [0, k, d], [0, k, v] {scale = 1.0 : f32}
      : (tensor<8x256x64xbf16>, tensor<8x256x64xbf16>, tensor<8x256x64xbf16>, tensor<8x256xf32>, tensor<8x256xf32>, tensor<8x256x64xbf16>)
        -> (tensor<8x256x64xbf16>, tensor<8x256x64xbf16>, tensor<8x256x64xbf16>)
    %all = stablehlo.concatenate %q, %k, %v, dim = 2 : (tensor<8x256x64xbf16>, tensor<8x256x64xbf16>, tensor<8x256x64xbf16>) -> tensor<8x256x192xbf16>
    step.yield %all : tensor<8x256x192xbf16>
  }
  %1 = step.group column(%0) : (tensor<8x256x192xbf16>) -> tensor<256x192xf32> {
  ^bb0(%a: tensor<8x256x192xbf16>):
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %w = stablehlo.convert %a : (tensor<8x256x192xbf16>) -> tensor<8x256x192xf32>
    %s = stablehlo.reduce(%w init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8x256x192xf32>, tensor<f32>) -> tensor<256x192xf32>
    step.yield %s : tensor<256x192xf32>
  }
  %2 = step.group column(%1, %b) : (tensor<256x192xf32>, tensor<192xf32>) -> tensor<192xf32> {
  ^bb0(%a: tensor<256x192xf32>, %c: tensor<192xf32>):
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %s = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<256x192xf32>, tensor<f32>) -> tensor<192xf32>
    %t = stablehlo.subtract %c, %s : tensor<192xf32>
    step.yield %t : tensor<192xf32>
  }
  return %0, %2 : tensor<8x256x192xbf16>, tensor<192xf32>
}

// -----

// Half of the sum is needed by itself; and rows that are no multiple of 64.

// CHECK-LABEL: func.func @others
// CHECK: step.group generic({{.*}}) : ({{.*}}) -> tensor<8x256x64xbf16>
// CHECK: step.group generic({{.*}}) : ({{.*}}) -> tensor<3x33x64xbf16>
func.func @others(%x: tensor<8x256x64xbf16>, %m: tensor<8x256xf32>, %y: tensor<3x33x64xbf16>, %n: tensor<3x33xf32>)
    -> (tensor<256x64xf32>, tensor<64xf32>, tensor<64xf32>) {
  %0 = step.group generic(%x, %m) : (tensor<8x256x64xbf16>, tensor<8x256xf32>) -> tensor<8x256x64xbf16> {
  ^bb0(%a: tensor<8x256x64xbf16>, %o: tensor<8x256xf32>):
    %q, %k, %v = step.attention_gradient %a [0, q, d], %a [0, k, d], %a [0, k, v] of %o, %o, %a [0, q, v]
      -> [0, q, d], [0, k, d], [0, k, v] {scale = 1.0 : f32}
      : (tensor<8x256x64xbf16>, tensor<8x256x64xbf16>, tensor<8x256x64xbf16>, tensor<8x256xf32>, tensor<8x256xf32>, tensor<8x256x64xbf16>)
        -> (tensor<8x256x64xbf16>, tensor<8x256x64xbf16>, tensor<8x256x64xbf16>)
    step.yield %q : tensor<8x256x64xbf16>
  }
  %1 = step.group column(%0) : (tensor<8x256x64xbf16>) -> tensor<256x64xf32> {
  ^bb0(%a: tensor<8x256x64xbf16>):
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %w = stablehlo.convert %a : (tensor<8x256x64xbf16>) -> tensor<8x256x64xf32>
    %s = stablehlo.reduce(%w init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8x256x64xf32>, tensor<f32>) -> tensor<256x64xf32>
    step.yield %s : tensor<256x64xf32>
  }
  %2 = step.group column(%1) : (tensor<256x64xf32>) -> tensor<64xf32> {
  ^bb0(%a: tensor<256x64xf32>):
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %s = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<256x64xf32>, tensor<f32>) -> tensor<64xf32>
    step.yield %s : tensor<64xf32>
  }
  %3 = step.group generic(%y, %n) : (tensor<3x33x64xbf16>, tensor<3x33xf32>) -> tensor<3x33x64xbf16> {
  ^bb0(%a: tensor<3x33x64xbf16>, %o: tensor<3x33xf32>):
    %q, %k, %v = step.attention_gradient %a [0, q, d], %a [0, k, d], %a [0, k, v] of %o, %o, %a [0, q, v]
      -> [0, q, d], [0, k, d], [0, k, v] {scale = 1.0 : f32}
      : (tensor<3x33x64xbf16>, tensor<3x33x64xbf16>, tensor<3x33x64xbf16>, tensor<3x33xf32>, tensor<3x33xf32>, tensor<3x33x64xbf16>)
        -> (tensor<3x33x64xbf16>, tensor<3x33x64xbf16>, tensor<3x33x64xbf16>)
    step.yield %q : tensor<3x33x64xbf16>
  }
  %4 = step.group column(%3) : (tensor<3x33x64xbf16>) -> tensor<64xf32> {
  ^bb0(%a: tensor<3x33x64xbf16>):
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %w = stablehlo.convert %a : (tensor<3x33x64xbf16>) -> tensor<3x33x64xf32>
    %s = stablehlo.reduce(%w init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<3x33x64xf32>, tensor<f32>) -> tensor<64xf32>
    step.yield %s : tensor<64xf32>
  }
  return %1, %2, %4 : tensor<256x64xf32>, tensor<64xf32>, tensor<64xf32>
}
