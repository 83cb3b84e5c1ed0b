// RUN: tenon-opt %s --memory-gather-launches | FileCheck %s
// RUN: tenon-opt %s --memory-gather-launches --memory-plan-offsets | FileCheck %s --check-prefix=BYTES
// RUN: tenon-opt %s --memory-plan-offsets | FileCheck %s --check-prefix=BEFORE

// The first update waits for the second through the peak, and with it 64 bytes
// that it reads: the arena may grow by 1/4096, which is 128 bytes. As if nothing
// took the place of anything else, more bytes are live at the beginning.

// CHECK-LABEL: func.func private @waits_at_the_peak
// CHECK: step.group generic(%arg2)
// CHECK: step.group generic(%arg3)
// CHECK: step.group generic
// CHECK: step.group generic
// CHECK: step.group elementwise(%arg0
// CHECK: step.group elementwise(%arg1
// BEFORE-LABEL: func.func private @waits_at_the_peak
// BEFORE-SAME: temporaries = 524288 : i64
// BYTES-LABEL: func.func private @waits_at_the_peak
// BYTES-SAME: temporaries = 524352 : i64
func.func private @waits_at_the_peak(%p: tensor<16xf32> {step.role = #step.role<batch>}, %q: tensor<16xf32> {step.role = #step.role<batch>}, %s: tensor<f32> {step.role = #step.role<batch>}, %l: tensor<f32> {step.role = #step.role<batch>}) -> (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) {
  %made = step.group generic(%l) : (tensor<f32>) -> tensor<70000xf32> {
  ^bb0(%x: tensor<f32>):
    %0 = stablehlo.broadcast_in_dim %x, dims = [] : (tensor<f32>) -> tensor<70000xf32>
    step.yield %0 : tensor<70000xf32>
  }
  %changed = step.group elementwise(%made) : (tensor<70000xf32>) -> tensor<70000xf32> {
  ^bb0(%x: tensor<70000xf32>):
    %0 = stablehlo.negate %x : tensor<70000xf32>
    step.yield %0 : tensor<70000xf32>
  }
  %used = step.group generic(%changed) : (tensor<70000xf32>) -> tensor<16xf32> {
  ^bb0(%x: tensor<70000xf32>):
    %0 = stablehlo.slice %x [0:16] : (tensor<70000xf32>) -> tensor<16xf32>
    step.yield %0 : tensor<16xf32>
  }
  %small = step.group generic(%s) : (tensor<f32>) -> tensor<16xf32> {
  ^bb0(%x: tensor<f32>):
    %0 = stablehlo.broadcast_in_dim %x, dims = [] : (tensor<f32>) -> tensor<16xf32>
    step.yield %0 : tensor<16xf32>
  }
  %np = step.group elementwise(%p, %small) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%x: tensor<16xf32>, %y: tensor<16xf32>):
    %0 = stablehlo.reverse %y, dims = [0] : tensor<16xf32>
    %1 = stablehlo.add %x, %0 : tensor<16xf32>
    step.yield %1 : tensor<16xf32>
  }
  %large = step.group generic(%l) : (tensor<f32>) -> tensor<65536xf32> {
  ^bb0(%x: tensor<f32>):
    %0 = stablehlo.broadcast_in_dim %x, dims = [] : (tensor<f32>) -> tensor<65536xf32>
    step.yield %0 : tensor<65536xf32>
  }
  %other = step.group generic(%large) : (tensor<65536xf32>) -> tensor<65536xf32> {
  ^bb0(%x: tensor<65536xf32>):
    %0 = stablehlo.reverse %x, dims = [0] : tensor<65536xf32>
    step.yield %0 : tensor<65536xf32>
  }
  %part = step.group generic(%other) : (tensor<65536xf32>) -> tensor<16xf32> {
  ^bb0(%x: tensor<65536xf32>):
    %0 = stablehlo.slice %x [0:16] : (tensor<65536xf32>) -> tensor<16xf32>
    step.yield %0 : tensor<16xf32>
  }
  %nq = step.group elementwise(%q, %part) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%x: tensor<16xf32>, %y: tensor<16xf32>):
    %0 = stablehlo.subtract %x, %y : tensor<16xf32>
    step.yield %0 : tensor<16xf32>
  }
  return %np, %nq, %used : tensor<16xf32>, tensor<16xf32>, tensor<16xf32>
}

// Sums over columns of unequal shapes. What the first reads is computed right
// in front of it, so it cannot run earlier; it runs later, in front of the next:
// more bytes are live in between, but fewer than behind them.

// CHECK-LABEL: func.func private @runs_later
// CHECK: %[[FIRST:.*]] = step.group generic(%arg0)
// CHECK: %[[SECOND:.*]] = step.group generic(%arg1)
// CHECK: step.group column(%[[FIRST]])
// CHECK: step.group column(%[[SECOND]])
func.func private @runs_later(%s: tensor<f32> {step.role = #step.role<batch>}, %l: tensor<f32> {step.role = #step.role<batch>}) -> (tensor<16xf32>, tensor<64xf32>, tensor<16xf32>) {
  %first = step.group generic(%s) : (tensor<f32>) -> tensor<8x16xf32> {
  ^bb0(%x: tensor<f32>):
    %0 = stablehlo.broadcast_in_dim %x, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    step.yield %0 : tensor<8x16xf32>
  }
  %sum = step.group column(%first) : (tensor<8x16xf32>) -> tensor<16xf32> {
  ^bb0(%x: tensor<8x16xf32>):
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0] : (tensor<8x16xf32>, tensor<f32>) -> tensor<16xf32>
    step.yield %0 : tensor<16xf32>
  }
  %second = step.group generic(%l) : (tensor<f32>) -> tensor<4x64xf32> {
  ^bb0(%x: tensor<f32>):
    %0 = stablehlo.broadcast_in_dim %x, dims = [] : (tensor<f32>) -> tensor<4x64xf32>
    step.yield %0 : tensor<4x64xf32>
  }
  %other = step.group column(%second) : (tensor<4x64xf32>) -> tensor<64xf32> {
  ^bb0(%x: tensor<4x64xf32>):
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0] : (tensor<4x64xf32>, tensor<f32>) -> tensor<64xf32>
    step.yield %0 : tensor<64xf32>
  }
  %large = step.group generic(%l) : (tensor<f32>) -> tensor<1024xf32> {
  ^bb0(%x: tensor<f32>):
    %0 = stablehlo.broadcast_in_dim %x, dims = [] : (tensor<f32>) -> tensor<1024xf32>
    step.yield %0 : tensor<1024xf32>
  }
  %part = step.group generic(%large) : (tensor<1024xf32>) -> tensor<16xf32> {
  ^bb0(%x: tensor<1024xf32>):
    %0 = stablehlo.slice %x [0:16] : (tensor<1024xf32>) -> tensor<16xf32>
    step.yield %0 : tensor<16xf32>
  }
  return %sum, %other, %part : tensor<16xf32>, tensor<64xf32>, tensor<16xf32>
}
