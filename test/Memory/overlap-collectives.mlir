// RUN: tenon-opt %s --memory-separate-results --memory-overlap-collectives=switch-nanoseconds=1000 --split-input-file | FileCheck %s
// RUN: tenon-opt %s --memory-separate-results --memory-overlap-collectives=switch-nanoseconds=5000 --split-input-file | FileCheck %s --check-prefix=SHORT

// The first update waits until enough has run beside the first exchange, and
// the second exchange starts before it.

// CHECK-LABEL: func.func @main
// CHECK: %[[G1:.*]] = step.group elementwise(%arg2)
// CHECK: %[[C1:.*]] = step.group collective(%[[G1]]) attributes {step.beside = 2 : i64
// CHECK: %[[H:.*]] = step.group elementwise(%arg3)
// CHECK: %[[G2:.*]] = step.group elementwise(%[[H]])
// CHECK: %[[C2:.*]] = step.group collective(%[[G2]]) attributes {step.beside = 1 : i64
// CHECK: step.group elementwise(%arg0, %[[C1]])
// CHECK: step.group elementwise(%arg1, %[[C2]])
func.func @main(%w1: tensor<16xf32> {step.role = #step.role<batch>}, %w2: tensor<16xf32> {step.role = #step.role<batch>}, %x: tensor<16xf32> {step.role = #step.role<batch>}, %y: tensor<16xf32> {step.role = #step.role<batch>}, %l: tensor<4096xf32> {step.role = #step.role<batch>}) -> (tensor<16xf32>, tensor<16xf32>, tensor<f32>) {
  %big = step.group elementwise(%l) attributes {step.nanoseconds = 1 : i64} : (tensor<4096xf32>) -> tensor<4096xf32> {
  ^bb0(%p: tensor<4096xf32>):
    %0 = stablehlo.tanh %p : tensor<4096xf32>
    step.yield %0 : tensor<4096xf32>
  }
  %less = step.group row(%big) attributes {step.nanoseconds = 1 : i64} : (tensor<4096xf32>) -> tensor<f32> {
  ^bb0(%p: tensor<4096xf32>):
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.reduce(%p init: %z) applies stablehlo.add across dimensions = [0] : (tensor<4096xf32>, tensor<f32>) -> tensor<f32>
    step.yield %0 : tensor<f32>
  }
  %g1 = step.group elementwise(%x) attributes {step.nanoseconds = 5000 : i64} : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%p: tensor<16xf32>):
    %0 = stablehlo.tanh %p : tensor<16xf32>
    step.yield %0 : tensor<16xf32>
  }
  %c1 = step.group collective(%g1) attributes {step.nanoseconds = 20000 : i64} : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%p: tensor<16xf32>):
    %0 = "stablehlo.collective_permute"(%p) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<16xf32>) -> tensor<16xf32>
    step.yield %0 : tensor<16xf32>
  }
  %u1 = step.group elementwise(%w1, %c1) attributes {step.nanoseconds = 3000 : i64} : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%p: tensor<16xf32>, %q: tensor<16xf32>):
    %0 = stablehlo.add %p, %q : tensor<16xf32>
    step.yield %0 : tensor<16xf32>
  }
  %h = step.group elementwise(%y) attributes {step.nanoseconds = 15000 : i64} : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%p: tensor<16xf32>):
    %0 = stablehlo.tanh %p : tensor<16xf32>
    step.yield %0 : tensor<16xf32>
  }
  %g2 = step.group elementwise(%h) attributes {step.nanoseconds = 8000 : i64} : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%p: tensor<16xf32>):
    %0 = stablehlo.sine %p : tensor<16xf32>
    step.yield %0 : tensor<16xf32>
  }
  %c2 = step.group collective(%g2) attributes {step.nanoseconds = 20000 : i64} : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%p: tensor<16xf32>):
    %0 = "stablehlo.collective_permute"(%p) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<16xf32>) -> tensor<16xf32>
    step.yield %0 : tensor<16xf32>
  }
  %u2 = step.group elementwise(%w2, %c2) attributes {step.nanoseconds = 3000 : i64} : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%p: tensor<16xf32>, %q: tensor<16xf32>):
    %0 = stablehlo.add %p, %q : tensor<16xf32>
    step.yield %0 : tensor<16xf32>
  }
  return %u1, %u2, %less : tensor<16xf32>, tensor<16xf32>, tensor<f32>
}

// -----

// A third large value beside the two of the exchange would be more than the
// peak: it is awaited at once.

// CHECK-LABEL: func.func @main
// CHECK: step.group collective
// CHECK-NOT: step.beside
// CHECK: step.group elementwise(%arg0
func.func @main(%w: tensor<4096xf32> {step.role = #step.role<batch>}, %x: tensor<4096xf32> {step.role = #step.role<batch>}, %y: tensor<4096xf32> {step.role = #step.role<batch>}) -> (tensor<4096xf32>, tensor<f32>) {
  %g = step.group elementwise(%x) attributes {step.nanoseconds = 5000 : i64} : (tensor<4096xf32>) -> tensor<4096xf32> {
  ^bb0(%p: tensor<4096xf32>):
    %0 = stablehlo.tanh %p : tensor<4096xf32>
    step.yield %0 : tensor<4096xf32>
  }
  %c = step.group collective(%g) attributes {step.nanoseconds = 20000 : i64} : (tensor<4096xf32>) -> tensor<4096xf32> {
  ^bb0(%p: tensor<4096xf32>):
    %0 = "stablehlo.collective_permute"(%p) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<4096xf32>) -> tensor<4096xf32>
    step.yield %0 : tensor<4096xf32>
  }
  %u = step.group elementwise(%w, %c) attributes {step.nanoseconds = 3000 : i64} : (tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32> {
  ^bb0(%p: tensor<4096xf32>, %q: tensor<4096xf32>):
    %0 = stablehlo.add %p, %q : tensor<4096xf32>
    step.yield %0 : tensor<4096xf32>
  }
  %h = step.group elementwise(%y) attributes {step.nanoseconds = 15000 : i64} : (tensor<4096xf32>) -> tensor<4096xf32> {
  ^bb0(%p: tensor<4096xf32>):
    %0 = stablehlo.tanh %p : tensor<4096xf32>
    step.yield %0 : tensor<4096xf32>
  }
  %k = step.group row(%h) attributes {step.nanoseconds = 15000 : i64} : (tensor<4096xf32>) -> tensor<f32> {
  ^bb0(%p: tensor<4096xf32>):
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.reduce(%p init: %z) applies stablehlo.add across dimensions = [0] : (tensor<4096xf32>, tensor<f32>) -> tensor<f32>
    step.yield %0 : tensor<f32>
  }
  return %u, %k : tensor<4096xf32>, tensor<f32>
}

// -----

// What adds up between two exchanges cannot pass the second; what waits for
// neither runs in front of it. An exchange of less than 5 us stays alone.

// CHECK-LABEL: func.func @main
// CHECK: %[[C1:.*]] = step.group collective(%arg1) attributes {step.beside = 1 : i64
// SHORT: %[[C1:.*]] = step.group collective(%arg1) attributes {step.nanoseconds = 4000 : i64
// CHECK: step.group elementwise(%arg2)
// CHECK: %[[V:.*]] = stablehlo.reshape %[[C1]]
// CHECK: %[[K:.*]] = step.group elementwise(%[[V]])
// CHECK: %[[C2:.*]] = step.group collective(%[[K]]) attributes {step.nanoseconds = 4000
// CHECK: step.group elementwise(%arg0, %[[C2]])
func.func @main(%w: tensor<4x4xf32> {step.role = #step.role<batch>}, %x: tensor<16xf32> {step.role = #step.role<batch>}, %y: tensor<16xf32> {step.role = #step.role<batch>}, %l: tensor<4096xf32> {step.role = #step.role<batch>}) -> (tensor<4x4xf32>, tensor<16xf32>, tensor<f32>) {
  %big = step.group elementwise(%l) attributes {step.nanoseconds = 1 : i64} : (tensor<4096xf32>) -> tensor<4096xf32> {
  ^bb0(%p: tensor<4096xf32>):
    %0 = stablehlo.tanh %p : tensor<4096xf32>
    step.yield %0 : tensor<4096xf32>
  }
  %less = step.group row(%big) attributes {step.nanoseconds = 1 : i64} : (tensor<4096xf32>) -> tensor<f32> {
  ^bb0(%p: tensor<4096xf32>):
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.reduce(%p init: %z) applies stablehlo.add across dimensions = [0] : (tensor<4096xf32>, tensor<f32>) -> tensor<f32>
    step.yield %0 : tensor<f32>
  }
  %c1 = step.group collective(%x) attributes {step.nanoseconds = 4000 : i64} : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%p: tensor<16xf32>):
    %0 = "stablehlo.collective_permute"(%p) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<16xf32>) -> tensor<16xf32>
    step.yield %0 : tensor<16xf32>
  }
  %v = stablehlo.reshape %c1 : (tensor<16xf32>) -> tensor<4x4xf32>
  %k = step.group elementwise(%v) attributes {step.nanoseconds = 500 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf32> {
  ^bb0(%p: tensor<4x4xf32>):
    %0 = stablehlo.tanh %p : tensor<4x4xf32>
    step.yield %0 : tensor<4x4xf32>
  }
  %c2 = step.group collective(%k) attributes {step.nanoseconds = 4000 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf32> {
  ^bb0(%p: tensor<4x4xf32>):
    %0 = "stablehlo.collective_permute"(%p) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
    step.yield %0 : tensor<4x4xf32>
  }
  %u = step.group elementwise(%w, %c2) attributes {step.nanoseconds = 500 : i64} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> {
  ^bb0(%p: tensor<4x4xf32>, %q: tensor<4x4xf32>):
    %0 = stablehlo.add %p, %q : tensor<4x4xf32>
    step.yield %0 : tensor<4x4xf32>
  }
  %h = step.group elementwise(%y) attributes {step.nanoseconds = 15000 : i64} : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%p: tensor<16xf32>):
    %0 = stablehlo.tanh %p : tensor<16xf32>
    step.yield %0 : tensor<16xf32>
  }
  return %u, %h, %less : tensor<4x4xf32>, tensor<16xf32>, tensor<f32>
}

// -----

// The exchange waits for what runs right before it, so what it does not wait
// for runs behind it.

// CHECK-LABEL: func.func @main
// CHECK: step.group row
// CHECK: %[[G:.*]] = step.group elementwise(%arg0)
// CHECK: %[[C:.*]] = step.group collective(%[[G]]) attributes {step.beside = 2 : i64
// CHECK: %[[H:.*]] = step.group elementwise(%arg1)
// CHECK: step.group elementwise(%[[H]])
// CHECK: step.group elementwise(%[[C]])
func.func @main(%x: tensor<16xf32> {step.role = #step.role<batch>}, %y: tensor<16xf32> {step.role = #step.role<batch>}, %l: tensor<4096xf32> {step.role = #step.role<batch>}) -> (tensor<16xf32>, tensor<16xf32>, tensor<f32>) {
  %big = step.group elementwise(%l) attributes {step.nanoseconds = 1 : i64} : (tensor<4096xf32>) -> tensor<4096xf32> {
  ^bb0(%p: tensor<4096xf32>):
    %0 = stablehlo.tanh %p : tensor<4096xf32>
    step.yield %0 : tensor<4096xf32>
  }
  %less = step.group row(%big) attributes {step.nanoseconds = 1 : i64} : (tensor<4096xf32>) -> tensor<f32> {
  ^bb0(%p: tensor<4096xf32>):
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.reduce(%p init: %z) applies stablehlo.add across dimensions = [0] : (tensor<4096xf32>, tensor<f32>) -> tensor<f32>
    step.yield %0 : tensor<f32>
  }
  %h = step.group elementwise(%y) attributes {step.nanoseconds = 5000 : i64} : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%p: tensor<16xf32>):
    %0 = stablehlo.tanh %p : tensor<16xf32>
    step.yield %0 : tensor<16xf32>
  }
  %k = step.group elementwise(%h) attributes {step.nanoseconds = 5000 : i64} : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%p: tensor<16xf32>):
    %0 = stablehlo.sine %p : tensor<16xf32>
    step.yield %0 : tensor<16xf32>
  }
  %g = step.group elementwise(%x) attributes {step.nanoseconds = 5000 : i64} : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%p: tensor<16xf32>):
    %0 = stablehlo.tanh %p : tensor<16xf32>
    step.yield %0 : tensor<16xf32>
  }
  %c = step.group collective(%g) attributes {step.nanoseconds = 8000 : i64} : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%p: tensor<16xf32>):
    %0 = "stablehlo.collective_permute"(%p) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<16xf32>) -> tensor<16xf32>
    step.yield %0 : tensor<16xf32>
  }
  %u = step.group elementwise(%c) attributes {step.nanoseconds = 500 : i64} : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%p: tensor<16xf32>):
    %0 = stablehlo.tanh %p : tensor<16xf32>
    step.yield %0 : tensor<16xf32>
  }
  return %u, %k, %less : tensor<16xf32>, tensor<16xf32>, tensor<f32>
}
