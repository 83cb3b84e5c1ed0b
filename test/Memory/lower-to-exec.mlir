// RUN: tenon-opt %s --plan --memory-lower-to-exec --verify-exec-form | FileCheck %s
// RUN: not tenon-opt %s --memory-lower-to-exec 2>&1 | FileCheck %s --check-prefix=UNPLANNED

// UNPLANNED: error: expected a function @main in scheduled form; run the stage plan first

// Two equal groups share one kernel; the loop's carried value is updated in
// place, so the only copy brings its start value in.

// CHECK-DAG: exec.segment @state
// CHECK-DAG: exec.segment @temporaries
// CHECK: exec.tensor {{.*}} : tensor<8xf32> at @state[0]
// CHECK-COUNT-3: func.func private @kernel_
// CHECK-NOT: func.func
// CHECK: exec.program @step
// CHECK: exec.invoke @copy
// CHECK: exec.while
// CHECK-NOT: exec.invoke @copy
module {
  func.func @main(%w: tensor<8xf32> {step.role = #step.role<parameter>, step.successor = 0 : i64},
                  %n: tensor<i32> {step.role = #step.role<hyper_parameter>}) -> tensor<8xf32> {
    %r:2 = stablehlo.while(%i = %n, %x = %w) : tensor<i32>, tensor<8xf32>
    cond {
      %c = step.group elementwise(%i) : (tensor<i32>) -> tensor<i1> {
      ^bb0(%a: tensor<i32>):
        %z = stablehlo.constant dense<0> : tensor<i32>
        %p = stablehlo.compare GT, %a, %z, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        step.yield %p : tensor<i1>
      }
      stablehlo.return %c : tensor<i1>
    } do {
      %j = step.group elementwise(%i) : (tensor<i32>) -> tensor<i32> {
      ^bb0(%a: tensor<i32>):
        %one = stablehlo.constant dense<1> : tensor<i32>
        %p = stablehlo.subtract %a, %one : tensor<i32>
        step.yield %p : tensor<i32>
      }
      %y = step.group elementwise(%x) : (tensor<8xf32>) -> tensor<8xf32> {
      ^bb0(%a: tensor<8xf32>):
        %p = stablehlo.tanh %a : tensor<8xf32>
        step.yield %p : tensor<8xf32>
      }
      %z = step.group elementwise(%y) : (tensor<8xf32>) -> tensor<8xf32> {
      ^bb0(%a: tensor<8xf32>):
        %p = stablehlo.tanh %a : tensor<8xf32>
        step.yield %p : tensor<8xf32>
      }
      stablehlo.return %j, %z : tensor<i32>, tensor<8xf32>
    }
    return %r#1 : tensor<8xf32>
  }
}
