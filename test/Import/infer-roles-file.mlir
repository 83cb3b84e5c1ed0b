// RUN: tenon-opt %s --import-infer-roles="roles=%S/Inputs/roles.json" | FileCheck %s
// RUN: echo '{"arg0": {"role": "weights"}}' > %t.role.json
// RUN: not tenon-opt %s --import-infer-roles="roles=%t.role.json" 2>&1 | FileCheck %s --check-prefix=ROLE
// RUN: echo '{"arg9": {"role": "batch"}}' > %t.name.json
// RUN: not tenon-opt %s --import-infer-roles="roles=%t.name.json" 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: echo '{"arg0": {"result": 2}}' > %t.type.json
// RUN: not tenon-opt %s --import-infer-roles="roles=%t.type.json" 2>&1 | FileCheck %s --check-prefix=TYPE
// RUN: echo '{"arg0": {"result": 7}}' > %t.range.json
// RUN: not tenon-opt %s --import-infer-roles="roles=%t.range.json" 2>&1 | FileCheck %s --check-prefix=RANGE
// RUN: echo '{"arg0": {"role": "batch", "result": 1}}' > %t.fed.json
// RUN: not tenon-opt %s --import-infer-roles="roles=%t.fed.json" 2>&1 | FileCheck %s --check-prefix=FED
// RUN: echo '{"arg0": {"results": 1}}' > %t.key.json
// RUN: not tenon-opt %s --import-infer-roles="roles=%t.key.json" 2>&1 | FileCheck %s --check-prefix=KEY
// RUN: echo '{"arg2": {"role": "parameter"}}' > %t.state.json
// RUN: not tenon-opt %s --import-infer-roles="roles=%t.state.json" 2>&1 | FileCheck %s --check-prefix=STATE
// RUN: not tenon-opt %s --import-infer-roles="roles=%t.missing.json" 2>&1 | FileCheck %s --check-prefix=MISSING

// The file settles what names and positions cannot.

// CHECK-LABEL: func.func public @main
// CHECK-SAME: step.name = "mean.hidden", step.role = #step.role<buffer>, step.role_reason = "the roles file names result 1, the roles file says so", step.successor = 1
// CHECK-SAME: step.name = "w", {{.*}}step.successor = 2
// CHECK-SAME: step.name = "mean.average"
// ROLE: error: roles file '{{.*}}': entry 'arg0': "role" is "weights", expected one of state, parameter, optimizer_state, buffer, rng, counter, metric, batch, hyper_parameter, unknown
// NAME: error: roles file '{{.*}}' names 'arg9', found no such argument of @main; expected arg0 to arg2, a full path, or a name
// TYPE: error: roles file '{{.*}}' replaces 'arg0' of type 'tensor<4xf32>' by result 2 of type 'tensor<4x4xf32>', expected equal types
// RANGE: error: roles file '{{.*}}' replaces 'arg0' by result 7, @main has 5 results
// FED: error: roles file '{{.*}}' gives 'arg0' the role batch and a result; only state has a result that replaces it
// KEY: error: roles file '{{.*}}': entry 'arg0' has the key "results", expected "role" or "result"
// STATE: error: cannot tell which results replace
// MISSING: error: cannot read roles file
func.func public @main(
    %hidden: tensor<4xf32> {tf.aliasing_output = 0 : i32}, %w: tensor<4x4xf32> {tf.aliasing_output = 2 : i32},
    %x: tensor<8xf32>)
  -> (tensor<4xf32> {jax.result_info = "result[0]['mean']['average']"},
      tensor<4xf32> {jax.result_info = "result[0]['mean']['hidden']"},
      tensor<4x4xf32> {jax.result_info = "result[0]['w']"},
      tensor<4x4xf32> {jax.result_info = "result[0]['w_last']"},
      tensor<f32> {jax.result_info = "result[1]"}) {
  %loss = stablehlo.constant dense<0.0> : tensor<f32>
  return %hidden, %hidden, %w, %w, %loss : tensor<4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<f32>
}
