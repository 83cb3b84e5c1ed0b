// RUN: tenon-opt %s --split-input-file --fusion-sum-beside --verify-grouped-form | FileCheck %s

// What is summed comes out of a kernel of rows and is not written any more; the
// other sum is of what that kernel reads.

// CHECK-LABEL: func.func @norm
// CHECK: %[[G:.*]]:3 = step.group generic(%arg0, %arg1) : (tensor<32x64x256xf32>, tensor<32x64x256xf32>) -> ({{.*}})
// CHECK-NOT: step.group
// CHECK: return
func.func @norm(%x: tensor<32x64x256xf32>, %d: tensor<32x64x256xf32>) -> (tensor<32x64x256xf32>, tensor<64x256xf32>, tensor<64x256xf32>) {
  %0:2 = step.group row(%x, %d) : (tensor<32x64x256xf32>, tensor<32x64x256xf32>) -> (tensor<32x64x256xf32>, tensor<32x64x256xf32>) {
  ^bb0(%a: tensor<32x64x256xf32>, %b: tensor<32x64x256xf32>):
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %r = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<32x64x256xf32>, tensor<f32>) -> tensor<32x64xf32>
    %s = stablehlo.broadcast_in_dim %r, dims = [0, 1] : (tensor<32x64xf32>) -> tensor<32x64x256xf32>
    %t = stablehlo.subtract %a, %s : tensor<32x64x256xf32>
    %u = stablehlo.multiply %t, %b : tensor<32x64x256xf32>
    step.yield %t, %u : tensor<32x64x256xf32>, tensor<32x64x256xf32>
  }
  %1 = step.group column(%0#1) : (tensor<32x64x256xf32>) -> tensor<64x256xf32> {
  ^bb0(%a: tensor<32x64x256xf32>):
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %s = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<32x64x256xf32>, tensor<f32>) -> tensor<64x256xf32>
    step.yield %s : tensor<64x256xf32>
  }
  %2 = step.group column(%d) : (tensor<32x64x256xf32>) -> tensor<64x256xf32> {
  ^bb0(%a: tensor<32x64x256xf32>):
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %s = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<32x64x256xf32>, tensor<f32>) -> tensor<64x256xf32>
    step.yield %s : tensor<64x256xf32>
  }
  return %0#0, %1, %2 : tensor<32x64x256xf32>, tensor<64x256xf32>, tensor<64x256xf32>
}

// -----

// The sum stands in front of the kernel that reads the same, and what reads the
// sum follows it.

// CHECK-LABEL: func.func @earlier
// CHECK: %[[G:.*]]:2 = step.group generic(%arg0) : (tensor<32x64x256xbf16>) -> (tensor<64x256xf32>, tensor<32x64x256xbf16>)
// CHECK: step.group column(%[[G]]#0)
// CHECK-NOT: step.group
func.func @earlier(%x: tensor<32x64x256xbf16>) -> (tensor<256xf32>, tensor<32x64x256xbf16>) {
  %0 = step.group column(%x) : (tensor<32x64x256xbf16>) -> tensor<64x256xf32> {
  ^bb0(%a: tensor<32x64x256xbf16>):
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %w = stablehlo.convert %a : (tensor<32x64x256xbf16>) -> tensor<32x64x256xf32>
    %s = stablehlo.reduce(%w init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<32x64x256xf32>, tensor<f32>) -> tensor<64x256xf32>
    step.yield %s : tensor<64x256xf32>
  }
  %1 = step.group column(%0) : (tensor<64x256xf32>) -> tensor<256xf32> {
  ^bb0(%a: tensor<64x256xf32>):
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %s = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<64x256xf32>, tensor<f32>) -> tensor<256xf32>
    step.yield %s : tensor<256xf32>
  }
  %2 = step.group elementwise(%x) : (tensor<32x64x256xbf16>) -> tensor<32x64x256xbf16> {
  ^bb0(%a: tensor<32x64x256xbf16>):
    %t = stablehlo.tanh %a : tensor<32x64x256xbf16>
    step.yield %t : tensor<32x64x256xbf16>
  }
  return %1, %2 : tensor<256xf32>, tensor<32x64x256xbf16>
}

// -----

// The kernel that reads the same needs the sum.

// CHECK-LABEL: func.func @needed
// CHECK: step.group column
// CHECK: step.group elementwise
func.func @needed(%x: tensor<32x64x256xf32>) -> tensor<32x64x256xf32> {
  %0 = step.group column(%x) : (tensor<32x64x256xf32>) -> tensor<64x256xf32> {
  ^bb0(%a: tensor<32x64x256xf32>):
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %s = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<32x64x256xf32>, tensor<f32>) -> tensor<64x256xf32>
    step.yield %s : tensor<64x256xf32>
  }
  %1 = step.group elementwise(%x, %0) : (tensor<32x64x256xf32>, tensor<64x256xf32>) -> tensor<32x64x256xf32> {
  ^bb0(%a: tensor<32x64x256xf32>, %b: tensor<64x256xf32>):
    %w = stablehlo.broadcast_in_dim %b, dims = [1, 2] : (tensor<64x256xf32>) -> tensor<32x64x256xf32>
    %t = stablehlo.subtract %a, %w : tensor<32x64x256xf32>
    step.yield %t : tensor<32x64x256xf32>
  }
  return %1 : tensor<32x64x256xf32>
}

// -----

// Both reduce the same dimension, so there is no row of which each element
// belongs to a sum.

// CHECK-LABEL: func.func @overlapping
// CHECK: step.group row
// CHECK: step.group column
func.func @overlapping(%x: tensor<32x64x256xf32>) -> (tensor<32xf32>, tensor<256xf32>) {
  %0 = step.group row(%x) : (tensor<32x64x256xf32>) -> tensor<32xf32> {
  ^bb0(%a: tensor<32x64x256xf32>):
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %s = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [1, 2] : (tensor<32x64x256xf32>, tensor<f32>) -> tensor<32xf32>
    step.yield %s : tensor<32xf32>
  }
  %1 = step.group column(%x) : (tensor<32x64x256xf32>) -> tensor<256xf32> {
  ^bb0(%a: tensor<32x64x256xf32>):
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %s = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<32x64x256xf32>, tensor<f32>) -> tensor<256xf32>
    step.yield %s : tensor<256xf32>
  }
  return %0, %1 : tensor<32xf32>, tensor<256xf32>
}

// -----

// What is done with the sum takes a kernel of its own, so that the sum may join
// the one that writes what is added up.

// CHECK-LABEL: func.func @updated
// CHECK: %[[G:.*]]:2 = step.group generic(%arg0) : (tensor<32x1024x256xf32>) -> (tensor<32x1024x256xf32>, tensor<1024x256xf32>)
// CHECK: step.group elementwise(%[[G]]#1, %arg1) : (tensor<1024x256xf32>, tensor<1024x256xf32>) -> tensor<1024x256xf32>
// CHECK-NOT: step.group
func.func @updated(%x: tensor<32x1024x256xf32>, %b: tensor<1024x256xf32>) -> (tensor<32x1024x256xf32>, tensor<1024x256xf32>) {
  %0 = step.group elementwise(%x) : (tensor<32x1024x256xf32>) -> tensor<32x1024x256xf32> {
  ^bb0(%a: tensor<32x1024x256xf32>):
    %t = stablehlo.tanh %a : tensor<32x1024x256xf32>
    step.yield %t : tensor<32x1024x256xf32>
  }
  %1 = step.group column(%0, %b) : (tensor<32x1024x256xf32>, tensor<1024x256xf32>) -> tensor<1024x256xf32> {
  ^bb0(%a: tensor<32x1024x256xf32>, %c: tensor<1024x256xf32>):
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %s = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<32x1024x256xf32>, tensor<f32>) -> tensor<1024x256xf32>
    %n = stablehlo.subtract %c, %s : tensor<1024x256xf32>
    step.yield %n : tensor<1024x256xf32>
  }
  return %0, %1 : tensor<32x1024x256xf32>, tensor<1024x256xf32>
}

// -----

// The same in front of a kernel that reads what is added up; what reads the
// result follows both. One with two sums stays as it is.

// CHECK-LABEL: func.func @waits
// CHECK: %[[G:.*]]:2 = step.group generic(%arg0) : (tensor<32x1024x256xf32>) -> (tensor<1024x256xf32>, tensor<32x1024x256xf32>)
// CHECK: %[[R:.*]] = step.group elementwise(%[[G]]#0, %arg1)
// CHECK: step.group elementwise(%[[R]])
// CHECK: step.group column(%arg0, %arg2, %arg1)
// CHECK-NOT: step.group
func.func @waits(%x: tensor<32x1024x256xf32>, %b: tensor<1024x256xf32>, %y: tensor<32x1024x256xf32>)
    -> (tensor<1024x256xf32>, tensor<32x1024x256xf32>, tensor<1024x256xf32>) {
  %0 = step.group column(%x, %b) : (tensor<32x1024x256xf32>, tensor<1024x256xf32>) -> tensor<1024x256xf32> {
  ^bb0(%a: tensor<32x1024x256xf32>, %c: tensor<1024x256xf32>):
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %s = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<32x1024x256xf32>, tensor<f32>) -> tensor<1024x256xf32>
    %n = stablehlo.subtract %c, %s : tensor<1024x256xf32>
    step.yield %n : tensor<1024x256xf32>
  }
  %1 = step.group elementwise(%0) : (tensor<1024x256xf32>) -> tensor<1024x256xf32> {
  ^bb0(%a: tensor<1024x256xf32>):
    %t = stablehlo.tanh %a : tensor<1024x256xf32>
    step.yield %t : tensor<1024x256xf32>
  }
  %2 = step.group elementwise(%x) : (tensor<32x1024x256xf32>) -> tensor<32x1024x256xf32> {
  ^bb0(%a: tensor<32x1024x256xf32>):
    %t = stablehlo.tanh %a : tensor<32x1024x256xf32>
    step.yield %t : tensor<32x1024x256xf32>
  }
  %3 = step.group column(%x, %y, %b) : (tensor<32x1024x256xf32>, tensor<32x1024x256xf32>, tensor<1024x256xf32>) -> tensor<1024x256xf32> {
  ^bb0(%a: tensor<32x1024x256xf32>, %d: tensor<32x1024x256xf32>, %c: tensor<1024x256xf32>):
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %s = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<32x1024x256xf32>, tensor<f32>) -> tensor<1024x256xf32>
    %t = stablehlo.reduce(%d init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<32x1024x256xf32>, tensor<f32>) -> tensor<1024x256xf32>
    %u = stablehlo.add %s, %t : tensor<1024x256xf32>
    %n = stablehlo.subtract %c, %u : tensor<1024x256xf32>
    step.yield %n : tensor<1024x256xf32>
  }
  return %1, %2, %3 : tensor<1024x256xf32>, tensor<32x1024x256xf32>, tensor<1024x256xf32>
}

// -----

// That of a small tensor saves less than a node of its own may take.

// CHECK-LABEL: func.func @small
// CHECK: step.group elementwise
// CHECK: step.group column
func.func @small(%x: tensor<32x64x256xf32>, %b: tensor<64x256xf32>) -> (tensor<32x64x256xf32>, tensor<64x256xf32>) {
  %0 = step.group elementwise(%x) : (tensor<32x64x256xf32>) -> tensor<32x64x256xf32> {
  ^bb0(%a: tensor<32x64x256xf32>):
    %t = stablehlo.tanh %a : tensor<32x64x256xf32>
    step.yield %t : tensor<32x64x256xf32>
  }
  %1 = step.group column(%0, %b) : (tensor<32x64x256xf32>, tensor<64x256xf32>) -> tensor<64x256xf32> {
  ^bb0(%a: tensor<32x64x256xf32>, %c: tensor<64x256xf32>):
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %s = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<32x64x256xf32>, tensor<f32>) -> tensor<64x256xf32>
    %n = stablehlo.subtract %c, %s : tensor<64x256xf32>
    step.yield %n : tensor<64x256xf32>
  }
  return %0, %1 : tensor<32x64x256xf32>, tensor<64x256xf32>
}
