// RUN: tenon-opt %s --import-infer-roles="names=1=accuracy,2=seen" | FileCheck %s
// RUN: tenon-opt %s --import-infer-roles="names=result[1]=accuracy" | FileCheck %s --check-prefix=PATH
// RUN: not tenon-opt %s --import-infer-roles="names=7=accuracy" 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not tenon-opt %s --import-infer-roles="names=0=accuracy" 2>&1 | FileCheck %s --check-prefix=STATE
// RUN: not tenon-opt %s --import-infer-roles="names=1=accuracy,loss=best" 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not tenon-opt %s --import-infer-roles="names=1=x" 2>&1 | FileCheck %s --check-prefix=TAKEN
// RUN: not tenon-opt %s --import-infer-roles="names=1=result2" 2>&1 | FileCheck %s --check-prefix=POSITION

// Old addresses stay beside the new name.

// CHECK: step.aliases = ["result[1]", "result1"], step.name = "accuracy"
// CHECK: step.aliases = ["result[2]", "result2"], step.name = "seen"
// PATH: step.name = "accuracy"
// NONE: error: there is no result '7' to be named 'accuracy', @main has 3 results, numbered from 0
// STATE: error: result 0 cannot be named 'accuracy': it is the state 'w' of the next step, whose name is in saved files
// TWICE: error: result 1 is given two names, the second is 'best'
// TAKEN: error: result 1 cannot be named 'x': argument 1 has that name
// POSITION: error: result 1 cannot be named 'result2': result 2 has that name
func.func public @main(%w: tensor<2xf32> {tf.aliasing_output = 0 : i32} loc("params['w']"), %x: tensor<f32> loc("x"), %n: tensor<i32> loc("n"))
  -> (tensor<2xf32> {jax.result_info = "result[0]['w']"}, tensor<f32> {jax.result_info = "result[1]"},
      tensor<i32> {jax.result_info = "result[2]"}) {
  return %w, %x, %n : tensor<2xf32>, tensor<f32>, tensor<i32>
}
