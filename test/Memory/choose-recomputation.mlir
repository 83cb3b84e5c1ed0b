// RUN: tenon-opt %s --split-input-file --memory-choose-recomputation=budget=3072 | FileCheck %s
// RUN: tenon-opt %s --split-input-file --memory-choose-recomputation | FileCheck %s --check-prefix=ROOM
// RUN: tenon-opt %s --split-input-file --memory-choose-recomputation=budget=4224 | FileCheck %s --check-prefix=PARTS
// RUN: tenon-opt %s --split-input-file --memory-choose-recomputation=budget=3136 | FileCheck %s --check-prefix=STATE

// No other pass may merge a copy with its original, or move it to where that is.
// RUN: tenon-opt %s --split-input-file --memory-choose-recomputation=budget=3072 --cse --canonicalize --loop-invariant-code-motion | FileCheck %s

// %a is cheap and read at both ends; between them each value takes 1 KiB. Three
// of them fit, so %a is dropped after %b has read it and computed again through
// another name of it.

// CHECK-LABEL: func.func @main
// CHECK-SAME: step.recomputation = {base_nanoseconds = 41 : i64, {{.*}}budget = 3072 : i64, {{.*}}nanoseconds = 42 : i64{{.*}}status = "solved"
// CHECK: %[[A:.*]] = step.group elementwise(%arg0) attributes {step.nanoseconds = 1 : i64, step.node = 0 : i64, {{(step.node_bytes = array<i64: [0-9, ]+>, )?}}step.node_values = array<i64: 0>}
// CHECK: %[[B:.*]] = step.group row(%[[A]])
// CHECK: %[[C:.*]]:2 = step.group row(%[[B]])
// CHECK: %[[AGAIN:.*]] = step.group elementwise(%arg0) attributes {step.nanoseconds = 1 : i64, step.node = 0 : i64, {{(step.node_bytes = array<i64: [0-9, ]+>, )?}}step.node_values = array<i64: 0>, step.recomputed}
// CHECK: %[[NAME:.*]] = stablehlo.reshape %[[AGAIN]]
// CHECK: %[[D:.*]] = step.group row(%[[C]]#0, %[[C]]#1, %[[NAME]])
// CHECK: return %[[D]]

// With room for everything nothing changes.
// ROOM-LABEL: func.func @main
// ROOM-SAME: nanoseconds = 41 : i64
// ROOM-NOT: step.recomputed
module {
  func.func @main(%x: tensor<16x16xf32> {step.role = #step.role<batch>}) -> tensor<16xf32> {
    %a = step.group elementwise(%x) attributes {step.nanoseconds = 1 : i64} : (tensor<16x16xf32>) -> tensor<16x16xf32> {
    ^bb0(%0: tensor<16x16xf32>):
      %1 = stablehlo.tanh %0 : tensor<16x16xf32>
      step.yield %1 : tensor<16x16xf32>
    }
    %name = stablehlo.reshape %a : (tensor<16x16xf32>) -> tensor<256xf32>
    %b = step.group row(%a) attributes {step.nanoseconds = 10 : i64} : (tensor<16x16xf32>) -> tensor<16x16xf32> {
    ^bb0(%0: tensor<16x16xf32>):
      %1 = stablehlo.exponential %0 : tensor<16x16xf32>
      step.yield %1 : tensor<16x16xf32>
    }
    %c:2 = step.group row(%b) attributes {step.nanoseconds = 10 : i64} : (tensor<16x16xf32>) -> (tensor<16x16xf32>, tensor<16x16xf32>) {
    ^bb0(%0: tensor<16x16xf32>):
      %1 = stablehlo.exponential %0 : tensor<16x16xf32>
      %2 = stablehlo.tanh %0 : tensor<16x16xf32>
      step.yield %1, %2 : tensor<16x16xf32>, tensor<16x16xf32>
    }
    %d = step.group row(%c#0, %c#1, %name) attributes {step.nanoseconds = 20 : i64} : (tensor<16x16xf32>, tensor<16x16xf32>, tensor<256xf32>) -> tensor<16xf32> {
    ^bb0(%0: tensor<16x16xf32>, %1: tensor<16x16xf32>, %2: tensor<256xf32>):
      %3 = stablehlo.reshape %2 : (tensor<256xf32>) -> tensor<16x16xf32>
      %4 = stablehlo.add %0, %3 : tensor<16x16xf32>
      %5 = stablehlo.add %4, %1 : tensor<16x16xf32>
      %6 = stablehlo.constant dense<0.0> : tensor<f32>
      %7 = stablehlo.reduce(%5 init: %6) applies stablehlo.add across dimensions = [1] : (tensor<16x16xf32>, tensor<f32>) -> tensor<16xf32>
      step.yield %7 : tensor<16xf32>
    }
    return %d : tensor<16xf32>
  }
}

// -----

// What one group reads and writes does not fit: nothing changes but the status.

// CHECK-LABEL: func.func @main
// CHECK-SAME: status = "infeasible"
// CHECK-NOT: step.recomputed
module {
  func.func @main(%x: tensor<16x16xf32> {step.role = #step.role<batch>}) -> tensor<16xf32> {
    %a:4 = step.group elementwise(%x) attributes {step.nanoseconds = 1 : i64} : (tensor<16x16xf32>) -> (tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>) {
    ^bb0(%0: tensor<16x16xf32>):
      %1 = stablehlo.tanh %0 : tensor<16x16xf32>
      %2 = stablehlo.abs %0 : tensor<16x16xf32>
      %3 = stablehlo.negate %0 : tensor<16x16xf32>
      %4 = stablehlo.sqrt %0 : tensor<16x16xf32>
      step.yield %1, %2, %3, %4 : tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>
    }
    %b = step.group row(%a#0, %a#1, %a#2, %a#3) attributes {step.nanoseconds = 1 : i64} : (tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16xf32> {
    ^bb0(%0: tensor<16x16xf32>, %1: tensor<16x16xf32>, %2: tensor<16x16xf32>, %3: tensor<16x16xf32>):
      %4 = stablehlo.add %0, %1 : tensor<16x16xf32>
      %5 = stablehlo.add %2, %3 : tensor<16x16xf32>
      %6 = stablehlo.add %4, %5 : tensor<16x16xf32>
      %7 = stablehlo.constant dense<0.0> : tensor<f32>
      %8 = stablehlo.reduce(%6 init: %7) applies stablehlo.add across dimensions = [1] : (tensor<16x16xf32>, tensor<f32>) -> tensor<16xf32>
      step.yield %8 : tensor<16xf32>
    }
    return %b : tensor<16xf32>
  }
}

// -----

// The last reader of %a writes one of its results over it, and the group before
// joins the multiplication whose result it overwrites: never more than three
// values of 1 KiB.

// CHECK-LABEL: func.func @main
// CHECK-SAME: nodes = 3 : i64, {{.*}}peak = 3072 : i64
// CHECK-NOT: step.recomputed
module {
  func.func @main(%x: tensor<16x16xf32> {step.role = #step.role<batch>}) -> tensor<16xf32> {
    %a = step.group row(%x) attributes {step.nanoseconds = 9 : i64} : (tensor<16x16xf32>) -> tensor<16x16xf32> {
    ^bb0(%0: tensor<16x16xf32>):
      %1 = stablehlo.tanh %0 : tensor<16x16xf32>
      step.yield %1 : tensor<16x16xf32>
    }
    %b = step.group row(%x) attributes {step.nanoseconds = 9 : i64} : (tensor<16x16xf32>) -> tensor<16x16xf32> {
    ^bb0(%0: tensor<16x16xf32>):
      %1 = stablehlo.sine %0 : tensor<16x16xf32>
      step.yield %1 : tensor<16x16xf32>
    }
    %c:3 = step.group elementwise(%b, %a) attributes {step.nanoseconds = 1 : i64} : (tensor<16x16xf32>, tensor<16x16xf32>) -> (tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>) {
    ^bb0(%0: tensor<16x16xf32>, %1: tensor<16x16xf32>):
      %2 = stablehlo.add %0, %1 : tensor<16x16xf32>
      %3 = stablehlo.multiply %0, %1 : tensor<16x16xf32>
      %4 = stablehlo.subtract %0, %1 : tensor<16x16xf32>
      step.yield %2, %3, %4 : tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>
    }
    %d = step.group row(%c#0, %c#1, %c#2) attributes {step.nanoseconds = 9 : i64} : (tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16xf32> {
    ^bb0(%0: tensor<16x16xf32>, %1: tensor<16x16xf32>, %2: tensor<16x16xf32>):
      %3 = stablehlo.add %0, %1 : tensor<16x16xf32>
      %4 = stablehlo.add %3, %2 : tensor<16x16xf32>
      %5 = stablehlo.constant dense<0.0> : tensor<f32>
      %6 = stablehlo.reduce(%4 init: %5) applies stablehlo.add across dimensions = [1] : (tensor<16x16xf32>, tensor<f32>) -> tensor<16xf32>
      step.yield %6 : tensor<16xf32>
    }
    return %d : tensor<16xf32>
  }
}

// -----

// The sum and what is scaled by its rows come from one kernel in 4 ns, 1 less
// than apart. What is scaled is dropped and computed again from the sum alone,
// since %a and %b are gone.

// PARTS: func.func @main{{.*}}base_nanoseconds = 64 : i64, {{.*}}nanoseconds = 66 : i64{{.*}}problem = {{.*}}node 1 -1 0\0A{{.*}}status = "solved"
// PARTS: %[[G:.*]]:2 = step.group row({{.*}}) attributes {step.nanoseconds = 4 : i64, step.node = 1 : i64, {{(step.node_bytes = array<i64: [0-9, ]+>, )?}}step.node_values = array<i64: 2, 3>}
// PARTS: %[[C:.*]]:2 = step.group row(%[[G]]#1)
// PARTS: %[[D:.*]] = step.group row(%[[C]]#0, %[[C]]#1, %[[G]]#0)
// PARTS-NEXT: ^bb0
// PARTS: %[[AGAIN:.*]] = step.group row(%[[G]]#0) attributes {step.nanoseconds = 2 : i64, step.node = 3 : i64, {{(step.node_bytes = array<i64: [0-9, ]+>, )?}}step.node_values = array<i64: 3>, step.recomputed, step.scratch_bytes = 64 : i64}
// PARTS-NEXT: ^bb0(%[[SUM:.*]]: tensor<16x16xf32>
// PARTS-NOT: stablehlo.add %
// PARTS: step.yield
// PARTS: step.group row(%[[D]], %[[AGAIN]])
module {
  func.func @main(%x: tensor<16x16xf32> {step.role = #step.role<batch>}) -> tensor<16xf32> {
    %a = step.group row(%x) attributes {step.nanoseconds = 10 : i64} : (tensor<16x16xf32>) -> tensor<16x16xf32> {
    ^bb0(%0: tensor<16x16xf32>):
      %1 = stablehlo.tanh %0 : tensor<16x16xf32>
      step.yield %1 : tensor<16x16xf32>
    }
    %b = step.group row(%x) attributes {step.nanoseconds = 10 : i64} : (tensor<16x16xf32>) -> tensor<16x16xf32> {
    ^bb0(%0: tensor<16x16xf32>):
      %1 = stablehlo.sine %0 : tensor<16x16xf32>
      step.yield %1 : tensor<16x16xf32>
    }
    %g:2 = step.group row(%a, %b) attributes {step.nanoseconds = 4 : i64, step.parts = [{nanoseconds = 3 : i64, scratch_bytes = 0 : i64}, {nanoseconds = 2 : i64, scratch_bytes = 64 : i64}]} : (tensor<16x16xf32>, tensor<16x16xf32>) -> (tensor<16x16xf32>, tensor<16x16xf32>) {
    ^bb0(%0: tensor<16x16xf32>, %1: tensor<16x16xf32>):
      %2 = stablehlo.add %0, %1 : tensor<16x16xf32>
      %3 = stablehlo.constant dense<0.0> : tensor<f32>
      %4 = stablehlo.reduce(%2 init: %3) applies stablehlo.maximum across dimensions = [1] : (tensor<16x16xf32>, tensor<f32>) -> tensor<16xf32>
      %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<16xf32>) -> tensor<16x16xf32>
      %6 = stablehlo.multiply %2, %5 : tensor<16x16xf32>
      step.yield %2, %6 : tensor<16x16xf32>, tensor<16x16xf32>
    }
    %c:2 = step.group row(%g#1) attributes {step.nanoseconds = 10 : i64} : (tensor<16x16xf32>) -> (tensor<16x16xf32>, tensor<16x16xf32>) {
    ^bb0(%0: tensor<16x16xf32>):
      %1 = stablehlo.exponential %0 : tensor<16x16xf32>
      %2 = stablehlo.tanh %0 : tensor<16x16xf32>
      step.yield %1, %2 : tensor<16x16xf32>, tensor<16x16xf32>
    }
    %d = step.group row(%c#0, %c#1, %g#0) attributes {step.nanoseconds = 20 : i64} : (tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32> {
    ^bb0(%0: tensor<16x16xf32>, %1: tensor<16x16xf32>, %2: tensor<16x16xf32>):
      %3 = stablehlo.multiply %0, %1 : tensor<16x16xf32>
      %4 = stablehlo.multiply %3, %2 : tensor<16x16xf32>
      step.yield %4 : tensor<16x16xf32>
    }
    %e = step.group row(%d, %g#1) attributes {step.nanoseconds = 10 : i64} : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16xf32> {
    ^bb0(%0: tensor<16x16xf32>, %1: tensor<16x16xf32>):
      %2 = stablehlo.multiply %0, %1 : tensor<16x16xf32>
      %3 = stablehlo.constant dense<0.0> : tensor<f32>
      %4 = stablehlo.reduce(%2 init: %3) applies stablehlo.add across dimensions = [1] : (tensor<16x16xf32>, tensor<f32>) -> tensor<16xf32>
      step.yield %4 : tensor<16xf32>
    }
    return %e : tensor<16xf32>
  }
}

// -----

// %a is dropped, and its copy reads %w when %n is there already. So %n waits in
// a buffer of its own, until the copy has run and no longer.

// CHECK-LABEL: func.func @main(%arg0: tensor<16x16xf32> {{.*}}, %arg1
// STATE-LABEL: func.func @main(%arg0: tensor<16x16xf32> {{.*}}, %arg1
// STATE: %[[N:.*]] = step.group elementwise(%arg1, %{{.*}}) attributes {step.nanoseconds = 1 : i64, step.node = 2 : i64, {{(step.node_bytes = array<i64: [0-9, ]+>, )?}}step.node_values = array<i64: 2>}
// STATE: %[[AGAIN:.*]] = step.group elementwise(%arg0, %arg1) {{.*}}step.recomputed
// STATE: %[[COPY:.*]] = step.group elementwise(%[[N]]) : (tensor<16x1xf32>) -> tensor<16x1xf32>
// STATE: %[[D:.*]] = step.group row({{.*}}, %[[AGAIN]])
// STATE: return %[[D]], %[[COPY]]
module {
  func.func @main(%x: tensor<16x16xf32> {step.role = #step.role<batch>}, %w: tensor<16x1xf32> {step.role = #step.role<parameter>, step.successor = 1 : i64}) -> (tensor<16xf32>, tensor<16x1xf32>) {
    %a = step.group elementwise(%x, %w) attributes {step.nanoseconds = 1 : i64} : (tensor<16x16xf32>, tensor<16x1xf32>) -> tensor<16x16xf32> {
    ^bb0(%0: tensor<16x16xf32>, %1: tensor<16x1xf32>):
      %2 = stablehlo.reshape %1 : (tensor<16x1xf32>) -> tensor<16xf32>
      %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<16xf32>) -> tensor<16x16xf32>
      %4 = stablehlo.add %0, %3 : tensor<16x16xf32>
      step.yield %4 : tensor<16x16xf32>
    }
    %b:2 = step.group row(%a) attributes {step.nanoseconds = 10 : i64} : (tensor<16x16xf32>) -> (tensor<16x16xf32>, tensor<16x1xf32>) {
    ^bb0(%0: tensor<16x16xf32>):
      %1 = stablehlo.exponential %0 : tensor<16x16xf32>
      %2 = stablehlo.slice %1 [0:16, 0:1] : (tensor<16x16xf32>) -> tensor<16x1xf32>
      step.yield %1, %2 : tensor<16x16xf32>, tensor<16x1xf32>
    }
    %n = step.group elementwise(%w, %b#1) attributes {step.nanoseconds = 1 : i64} : (tensor<16x1xf32>, tensor<16x1xf32>) -> tensor<16x1xf32> {
    ^bb0(%0: tensor<16x1xf32>, %1: tensor<16x1xf32>):
      %2 = stablehlo.subtract %0, %1 : tensor<16x1xf32>
      step.yield %2 : tensor<16x1xf32>
    }
    %c:2 = step.group row(%b#0) attributes {step.nanoseconds = 10 : i64} : (tensor<16x16xf32>) -> (tensor<16x16xf32>, tensor<16x16xf32>) {
    ^bb0(%0: tensor<16x16xf32>):
      %1 = stablehlo.exponential %0 : tensor<16x16xf32>
      %2 = stablehlo.tanh %0 : tensor<16x16xf32>
      step.yield %1, %2 : tensor<16x16xf32>, tensor<16x16xf32>
    }
    %d = step.group row(%c#0, %c#1, %a) attributes {step.nanoseconds = 20 : i64} : (tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16xf32> {
    ^bb0(%0: tensor<16x16xf32>, %1: tensor<16x16xf32>, %2: tensor<16x16xf32>):
      %4 = stablehlo.add %0, %2 : tensor<16x16xf32>
      %5 = stablehlo.add %4, %1 : tensor<16x16xf32>
      %6 = stablehlo.constant dense<0.0> : tensor<f32>
      %7 = stablehlo.reduce(%5 init: %6) applies stablehlo.add across dimensions = [1] : (tensor<16x16xf32>, tensor<f32>) -> tensor<16xf32>
      step.yield %7 : tensor<16xf32>
    }
    return %d, %n : tensor<16xf32>, tensor<16x1xf32>
  }
}
