// RUN: tenon-opt %s --memory-tabulate-loops | FileCheck %s --check-prefix=TABLE
// RUN: tenon-opt %s --memory-tabulate-loops --memory-choose-recomputation=budget=3200 | FileCheck %s
// RUN: tenon-opt %s --memory-tabulate-loops --memory-choose-recomputation | FileCheck %s --check-prefix=ROOM
// RUN: tenon-opt %s --memory-tabulate-loops --memory-choose-recomputation=budget=3100 | FileCheck %s --check-prefix=NONE

// In each of 5 rounds %a is read by %b and %e, and between them stand %d's two
// values: 4 KiB and a counter, or 3 KiB with %a computed again. A run of %a
// takes 2 ns.

// A way to run the body that needs less than 3575 bytes takes 230 ns, one that
// needs less than 4014 takes 225: proved at budgets between the two rows.

// TABLE: stablehlo.while
// TABLE-SAME: step.loop_floors = [{bytes = 3136 : i64, nanoseconds = 230 : i64},
// TABLE-SAME: {bytes = 3575 : i64, nanoseconds = 225 : i64},
// TABLE-SAME: {bytes = 4014 : i64, nanoseconds = 220 : i64}]
// TABLE-SAME: step.loop_rows = [{bytes = 4160 : i64, nanoseconds = 220 : i64, order = array<i32>, rows = array<i32>},
// TABLE-SAME: {bytes = 3136 : i64, nanoseconds = 230 : i64, order = array<i32: 0, 1, 2, 3, 1, 4>, rows = array<i32>}]

// The table is used up; the copy stands before its reader.
// CHECK: step.recomputation = {base_nanoseconds = 220 : i64
// CHECK-SAME: nanoseconds = 230 : i64
// CHECK-SAME: floor 3136 230
// CHECK-SAME: row 0 1
// CHECK-SAME: status = "solved"
// CHECK: stablehlo.while
// CHECK-NOT: step.loop_floors
// CHECK-NOT: step.loop_rows
// CHECK: %[[A:.*]] = step.group row(%[[C:.*]]) attributes {step.nanoseconds = 2 : i64} :
// CHECK: %[[B:.*]] = step.group row(%[[A]])
// CHECK: %[[D:.*]]:2 = step.group row(%[[B]])
// CHECK: %[[AGAIN:.*]] = step.group row(%[[C]]) attributes {step.nanoseconds = 2 : i64, step.recomputed}
// CHECK: step.group elementwise(%[[C]], %[[AGAIN]], %[[D]]#0, %[[D]]#1)

// ROOM: nanoseconds = 220 : i64
// ROOM-NOT: step.loop_rows
// ROOM-NOT: step.recomputed

// No row needs so little.
// NONE: status = "infeasible"
// NONE-NOT: step.recomputed
func.func @main(%x: tensor<16x16xf32> {step.role = #step.role<batch>}) -> tensor<16x16xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %c = %x) : tensor<i32>, tensor<16x16xf32> cond {
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
    %a = step.group row(%c) attributes {step.nanoseconds = 2 : i64} : (tensor<16x16xf32>) -> tensor<16x16xf32> {
    ^bb0(%p: tensor<16x16xf32>):
      %1 = stablehlo.tanh %p : tensor<16x16xf32>
      step.yield %1 : tensor<16x16xf32>
    }
    %b = step.group row(%a) attributes {step.nanoseconds = 10 : i64} : (tensor<16x16xf32>) -> tensor<16x16xf32> {
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
    %e = step.group elementwise(%c, %a, %d#0, %d#1) attributes {step.nanoseconds = 20 : i64} : (tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32> {
    ^bb0(%o: tensor<16x16xf32>, %p: tensor<16x16xf32>, %q: tensor<16x16xf32>, %s: tensor<16x16xf32>):
      %1 = stablehlo.add %p, %q : tensor<16x16xf32>
      %2 = stablehlo.add %1, %s : tensor<16x16xf32>
      %3 = stablehlo.add %2, %o : tensor<16x16xf32>
      step.yield %3 : tensor<16x16xf32>
    }
    stablehlo.return %next, %e : tensor<i32>, tensor<16x16xf32>
  }
  return %r#1 : tensor<16x16xf32>
}
