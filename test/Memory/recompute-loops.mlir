// RUN: tenon-opt %s --split-input-file --memory-choose-recomputation=budget=5632 | FileCheck %s
// RUN: tenon-opt %s --split-input-file --memory-tabulate-loops --memory-choose-recomputation=budget=5632 | FileCheck %s --check-prefix=ROWS

// A loop runs again as a whole: %b takes four times what %a takes, so that %a is
// dropped before it. What the copy reads inside of its body was computed again,
// too.

// CHECK-LABEL: func.func @main
// CHECK-SAME: base_nanoseconds = 44 : i64, {{.*}}exclusions = [], nanoseconds = 48 : i64
// CHECK: %[[W:.*]] = step.group elementwise(%arg1)
// CHECK: %[[A:.*]]:2 = stablehlo.while(%{{.*}} = %{{.*}}, %{{.*}} = %arg0) {{.*}} attributes {step.nanoseconds = {{[0-9]+}} : i64, step.node = 1 : i64, {{(step.node_bytes = array<i64: [0-9, ]+>, )?}}step.node_values = array<i64: {{[0-9]+, [0-9]+}}>}
// CHECK: step.group elementwise(%{{.*}}, %[[W]])
// CHECK: %[[B:.*]] = step.group elementwise(%[[A]]#1)
// CHECK: %[[C:.*]] = step.group generic(%[[B]])
// CHECK: %[[WAGAIN:.*]] = step.group elementwise(%arg1) {{.*}}step.recomputed
// CHECK: %[[AGAIN:.*]]:2 = stablehlo.while(%{{.*}} = %{{.*}}, %{{.*}} = %arg0) {{.*}} attributes {step.nanoseconds = {{[0-9]+}} : i64, step.node = 1 : i64, {{(step.node_bytes = array<i64: [0-9, ]+>, )?}}step.node_values = array<i64: {{[0-9]+, [0-9]+}}>, step.recomputed}
// CHECK: step.group elementwise(%{{.*}}, %[[WAGAIN]])
// CHECK: step.group row(%[[C]], %[[AGAIN]]#1)
module {
  func.func @main(%x: tensor<16x16xf32> {step.role = #step.role<batch>}, %y: tensor<16x16xf32> {step.role = #step.role<batch>}) -> tensor<16xf32> {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %three = stablehlo.constant dense<3> : tensor<i32>
    %w = step.group elementwise(%y) attributes {step.nanoseconds = 1 : i64} : (tensor<16x16xf32>) -> tensor<16x16xf32> {
    ^bb0(%0: tensor<16x16xf32>):
      %1 = stablehlo.tanh %0 : tensor<16x16xf32>
      step.yield %1 : tensor<16x16xf32>
    }
    %a:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<16x16xf32>
    cond {
      %more = step.group elementwise(%i, %three) attributes {step.nanoseconds = 0 : i64} : (tensor<i32>, tensor<i32>) -> tensor<i1> {
      ^bb0(%0: tensor<i32>, %1: tensor<i32>):
        %2 = stablehlo.compare LT, %0, %1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        step.yield %2 : tensor<i1>
      }
      stablehlo.return %more : tensor<i1>
    } do {
      %next = step.group elementwise(%v, %w) attributes {step.nanoseconds = 1 : i64} : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32> {
      ^bb0(%0: tensor<16x16xf32>, %1: tensor<16x16xf32>):
        %2 = stablehlo.add %0, %1 : tensor<16x16xf32>
        step.yield %2 : tensor<16x16xf32>
      }
      %n = step.group elementwise(%i, %one) attributes {step.nanoseconds = 0 : i64} : (tensor<i32>, tensor<i32>) -> tensor<i32> {
      ^bb0(%0: tensor<i32>, %1: tensor<i32>):
        %2 = stablehlo.add %0, %1 : tensor<i32>
        step.yield %2 : tensor<i32>
      }
      stablehlo.return %n, %next : tensor<i32>, tensor<16x16xf32>
    }
    %b = step.group elementwise(%a#1) attributes {step.nanoseconds = 10 : i64} : (tensor<16x16xf32>) -> tensor<16x4x16xf32> {
    ^bb0(%0: tensor<16x16xf32>):
      %1 = stablehlo.exponential %0 : tensor<16x16xf32>
      %2 = stablehlo.broadcast_in_dim %1, dims = [0, 2] : (tensor<16x16xf32>) -> tensor<16x4x16xf32>
      step.yield %2 : tensor<16x4x16xf32>
    }
    %c = step.group generic(%b) attributes {step.nanoseconds = 10 : i64} : (tensor<16x4x16xf32>) -> tensor<16x16xf32> {
    ^bb0(%0: tensor<16x4x16xf32>):
      %1 = stablehlo.constant dense<0.0> : tensor<f32>
      %2 = stablehlo.reduce(%0 init: %1) applies stablehlo.add across dimensions = [1] : (tensor<16x4x16xf32>, tensor<f32>) -> tensor<16x16xf32>
      step.yield %2 : tensor<16x16xf32>
    }
    %d = step.group row(%c, %a#1) attributes {step.nanoseconds = 20 : i64} : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16xf32> {
    ^bb0(%0: tensor<16x16xf32>, %1: tensor<16x16xf32>):
      %4 = stablehlo.add %0, %1 : tensor<16x16xf32>
      %5 = stablehlo.constant dense<0.0> : tensor<f32>
      %6 = stablehlo.reduce(%4 init: %5) applies stablehlo.add across dimensions = [1] : (tensor<16x16xf32>, tensor<f32>) -> tensor<16xf32>
      step.yield %6 : tensor<16xf32>
    }
    return %d : tensor<16xf32>
  }
}

// -----

// The rounds of %a hold 4 KiB, or 3 KiB if they compute a value again. There is
// room for neither %a while %b is read, nor for 4 KiB beside %c: both runs of
// %a are of the second kind, of 230 ns instead of 220.

// ROWS: base_nanoseconds = 260 : i64, {{.*}}exclusions = [], nanoseconds = 500 : i64
// ROWS: %[[A:.*]]:2 = stablehlo.while(%{{.*}} = %{{.*}}, %{{.*}} = %arg0) {{.*}} attributes {step.nanoseconds = {{[0-9]+}} : i64, step.node = 0 : i64, {{(step.node_bytes = array<i64: [0-9, ]+>, )?}}step.node_values = array<i64: {{[0-9]+, [0-9]+}}>}
// ROWS: step.group row({{.*}}) attributes {step.nanoseconds = 2 : i64, step.recomputed}
// ROWS: %[[B:.*]] = step.group elementwise(%[[A]]#1)
// ROWS: %[[C:.*]] = step.group generic(%[[B]])
// ROWS: %[[AGAIN:.*]]:2 = stablehlo.while(%{{.*}} = %{{.*}}, %{{.*}} = %arg0) {{.*}} attributes {step.nanoseconds = {{[0-9]+}} : i64, step.node = 0 : i64, {{(step.node_bytes = array<i64: [0-9, ]+>, )?}}step.node_values = array<i64: {{[0-9]+, [0-9]+}}>, step.recomputed}
// ROWS: step.group row({{.*}}) attributes {step.nanoseconds = 2 : i64, step.recomputed}
// ROWS: step.group row(%[[C]], %[[AGAIN]]#1)
module {
  func.func @main(%x: tensor<16x16xf32> {step.role = #step.role<batch>}) -> tensor<16xf32> {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %a:2 = stablehlo.while(%i = %zero, %c = %x) : tensor<i32>, tensor<16x16xf32> cond {
      %0 = step.group elementwise(%i) attributes {step.nanoseconds = 1 : i64} : (tensor<i32>) -> tensor<i1> {
      ^bb0(%p: tensor<i32>):
        %q = stablehlo.constant dense<5> : tensor<i32>
        %1 = stablehlo.compare LT, %p, %q : (tensor<i32>, tensor<i32>) -> tensor<i1>
        step.yield %1 : tensor<i1>
      }
      stablehlo.return %0 : tensor<i1>
    } do {
      %next = step.group elementwise(%i) attributes {step.nanoseconds = 1 : i64} : (tensor<i32>) -> tensor<i32> {
      ^bb0(%p: tensor<i32>):
        %one = stablehlo.constant dense<1> : tensor<i32>
        %1 = stablehlo.add %p, %one : tensor<i32>
        step.yield %1 : tensor<i32>
      }
      %t = step.group row(%c) attributes {step.nanoseconds = 2 : i64} : (tensor<16x16xf32>) -> tensor<16x16xf32> {
      ^bb0(%p: tensor<16x16xf32>):
        %1 = stablehlo.tanh %p : tensor<16x16xf32>
        step.yield %1 : tensor<16x16xf32>
      }
      %b = step.group row(%t) attributes {step.nanoseconds = 10 : i64} : (tensor<16x16xf32>) -> tensor<16x16xf32> {
      ^bb0(%p: tensor<16x16xf32>):
        %1 = stablehlo.exponential %p : tensor<16x16xf32>
        step.yield %1 : tensor<16x16xf32>
      }
      %d:2 = step.group row(%b) attributes {step.nanoseconds = 10 : i64} : (tensor<16x16xf32>) -> (tensor<16x16xf32>, tensor<16x16xf32>) {
      ^bb0(%p: tensor<16x16xf32>):
        %1 = stablehlo.exponential %p : tensor<16x16xf32>
        %2 = stablehlo.tanh %p : tensor<16x16xf32>
        step.yield %1, %2 : tensor<16x16xf32>, tensor<16x16xf32>
      }
      %e = step.group elementwise(%c, %t, %d#0, %d#1) attributes {step.nanoseconds = 20 : i64} : (tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32> {
      ^bb0(%o: tensor<16x16xf32>, %p: tensor<16x16xf32>, %q: tensor<16x16xf32>, %s: tensor<16x16xf32>):
        %1 = stablehlo.add %p, %q : tensor<16x16xf32>
        %2 = stablehlo.add %1, %s : tensor<16x16xf32>
        %3 = stablehlo.add %2, %o : tensor<16x16xf32>
        step.yield %3 : tensor<16x16xf32>
      }
      stablehlo.return %next, %e : tensor<i32>, tensor<16x16xf32>
    }
    %b = step.group elementwise(%a#1) attributes {step.nanoseconds = 10 : i64} : (tensor<16x16xf32>) -> tensor<16x4x16xf32> {
    ^bb0(%0: tensor<16x16xf32>):
      %1 = stablehlo.exponential %0 : tensor<16x16xf32>
      %2 = stablehlo.broadcast_in_dim %1, dims = [0, 2] : (tensor<16x16xf32>) -> tensor<16x4x16xf32>
      step.yield %2 : tensor<16x4x16xf32>
    }
    %c = step.group generic(%b) attributes {step.nanoseconds = 10 : i64} : (tensor<16x4x16xf32>) -> tensor<16x16xf32> {
    ^bb0(%0: tensor<16x4x16xf32>):
      %1 = stablehlo.constant dense<0.0> : tensor<f32>
      %2 = stablehlo.reduce(%0 init: %1) applies stablehlo.add across dimensions = [1] : (tensor<16x4x16xf32>, tensor<f32>) -> tensor<16x16xf32>
      step.yield %2 : tensor<16x16xf32>
    }
    %d = step.group row(%c, %a#1) attributes {step.nanoseconds = 20 : i64} : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16xf32> {
    ^bb0(%0: tensor<16x16xf32>, %1: tensor<16x16xf32>):
      %4 = stablehlo.add %0, %1 : tensor<16x16xf32>
      %5 = stablehlo.constant dense<0.0> : tensor<f32>
      %6 = stablehlo.reduce(%4 init: %5) applies stablehlo.add across dimensions = [1] : (tensor<16x16xf32>, tensor<f32>) -> tensor<16xf32>
      step.yield %6 : tensor<16xf32>
    }
    return %d : tensor<16xf32>
  }
}
