// RUN: tenon-opt %s --split-input-file --memory-separate-results --memory-plan-offsets | FileCheck %s

// State is updated in place: the new value lies where the old one did, and the
// temporary between them takes the arena's only bytes.

// CHECK-LABEL: func.func @main
// CHECK-SAME: step.result_places = [#step.place<state, 0>]
// CHECK-SAME: step.segment_bytes = {batch = 64 : i64, constants = 0 : i64, results = 0 : i64, state = 64 : i64, temporaries = 64 : i64}
// CHECK: step.group elementwise{{.*}}step.places = [#step.place<temporaries, 0>]
// CHECK: step.group elementwise{{.*}}step.places = [#step.place<state, 0>]
module {
  func.func @main(%w: tensor<8xf32> {step.role = #step.role<parameter>, step.successor = 0 : i64},
                  %g: tensor<8xf32> {step.role = #step.role<batch>}) -> tensor<8xf32> {
    %0 = step.group elementwise(%g) : (tensor<8xf32>) -> tensor<8xf32> {
    ^bb0(%a: tensor<8xf32>):
      %s = stablehlo.tanh %a : tensor<8xf32>
      step.yield %s : tensor<8xf32>
    }
    %1 = step.group elementwise(%w, %0) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32> {
    ^bb0(%a: tensor<8xf32>, %b: tensor<8xf32>):
      %s = stablehlo.subtract %a, %b : tensor<8xf32>
      step.yield %s : tensor<8xf32>
    }
    return %1 : tensor<8xf32>
  }
}

// -----

// A transposing group reads elsewhere than it writes: it must not overwrite its
// operand.

// CHECK-LABEL: func.func @main
// CHECK: step.group elementwise{{.*}}step.places = [#step.place<temporaries, [[A:[0-9]+]]>]
// CHECK: step.group elementwise
// CHECK-NOT: step.places = [#step.place<temporaries, [[A]]>]
// CHECK: return
module {
  func.func @main(%g: tensor<8x8xf32> {step.role = #step.role<batch>}) -> tensor<f32> {
    %0 = step.group elementwise(%g) : (tensor<8x8xf32>) -> tensor<8x8xf32> {
    ^bb0(%a: tensor<8x8xf32>):
      %s = stablehlo.tanh %a : tensor<8x8xf32>
      step.yield %s : tensor<8x8xf32>
    }
    %1 = step.group elementwise(%0) : (tensor<8x8xf32>) -> tensor<8x8xf32> {
    ^bb0(%a: tensor<8x8xf32>):
      %s = stablehlo.transpose %a, dims = [1, 0] : (tensor<8x8xf32>) -> tensor<8x8xf32>
      step.yield %s : tensor<8x8xf32>
    }
    %2 = step.group row(%1) : (tensor<8x8xf32>) -> tensor<f32> {
    ^bb0(%a: tensor<8x8xf32>):
      %z = stablehlo.constant dense<0.0> : tensor<f32>
      %s = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x8xf32>, tensor<f32>) -> tensor<f32>
      step.yield %s : tensor<f32>
    }
    return %2 : tensor<f32>
  }
}

// -----

// Only one branch of a conditional runs: both write the new state over the old,
// the one by leaving it as it is. No temporary is needed.

// CHECK-LABEL: func.func @main
// CHECK-SAME: step.result_places = [#step.place<state, 0>]
// CHECK-SAME: temporaries = 0 : i64
// CHECK: "stablehlo.case"
// CHECK: step.group elementwise{{.*}}step.places = [#step.place<state, 0>]
// CHECK: stablehlo.return
// CHECK: step.group elementwise{{.*}}step.places = [#step.place<state, 0>]
// CHECK: step.places = [#step.place<state, 0>]
module {
  func.func @main(%w: tensor<8xf32> {step.role = #step.role<parameter>, step.successor = 0 : i64},
                  %g: tensor<8xf32> {step.role = #step.role<batch>},
                  %skip: tensor<i32> {step.role = #step.role<batch>}) -> tensor<8xf32> {
    %0 = "stablehlo.case"(%skip) ({
      %1 = step.group elementwise(%w, %g) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32> {
      ^bb0(%a: tensor<8xf32>, %b: tensor<8xf32>):
        %s = stablehlo.subtract %a, %b : tensor<8xf32>
        step.yield %s : tensor<8xf32>
      }
      stablehlo.return %1 : tensor<8xf32>
    }, {
      stablehlo.return %w : tensor<8xf32>
    }) : (tensor<i32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}

// -----

// A branch copies its results one by one as it ends: the place of a result must
// not be that of a value that is still to be copied.

// CHECK-LABEL: func.func @main
// CHECK: step.group elementwise(%arg0){{.*}}step.places = [#step.place<temporaries, [[A:[0-9]+]]>]
// CHECK: step.group elementwise(%arg0){{.*}}step.places = [#step.place<temporaries, [[B:[0-9]+]]>]
// CHECK: stablehlo.return
// CHECK: step.places = [#step.place<temporaries, [[A]]>, #step.place<temporaries, [[B]]>]
module {
  func.func @main(%g: tensor<8xf32> {step.role = #step.role<batch>},
                  %which: tensor<i32> {step.role = #step.role<batch>}) -> tensor<f32> {
    %0:2 = "stablehlo.case"(%which) ({
      %1 = step.group elementwise(%g) : (tensor<8xf32>) -> tensor<8xf32> {
      ^bb0(%a: tensor<8xf32>):
        %s = stablehlo.tanh %a : tensor<8xf32>
        step.yield %s : tensor<8xf32>
      }
      %2 = step.group elementwise(%g) : (tensor<8xf32>) -> tensor<8xf32> {
      ^bb0(%a: tensor<8xf32>):
        %s = stablehlo.abs %a : tensor<8xf32>
        step.yield %s : tensor<8xf32>
      }
      stablehlo.return %1, %2 : tensor<8xf32>, tensor<8xf32>
    }) : (tensor<i32>) -> (tensor<8xf32>, tensor<8xf32>)
    %3 = step.group row(%0#0, %0#1) : (tensor<8xf32>, tensor<8xf32>) -> tensor<f32> {
    ^bb0(%a: tensor<8xf32>, %b: tensor<8xf32>):
      %s = stablehlo.add %a, %b : tensor<8xf32>
      %z = stablehlo.constant dense<0.0> : tensor<f32>
      %r = stablehlo.reduce(%s init: %z) applies stablehlo.add across dimensions = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
      step.yield %r : tensor<f32>
    }
    return %3 : tensor<f32>
  }
}
