// RUN: tenon-opt %s --import-infer-roles --split-input-file | FileCheck %s

// Names: paths of arguments against paths of results. The exporter has paired the
// buffer of `w` with the result of `unread`; succession follows the names.

// CHECK-LABEL: func.func public @main
// CHECK-SAME: step.aliases = ["state['params']['w']", "arg0"]
// CHECK-SAME: step.donated
// CHECK-SAME: step.name = "params.w"
// CHECK-SAME: step.role = #step.role<parameter>
// CHECK-SAME: step.role_reason = "result 1 has its path, named 'params'"
// CHECK-SAME: step.successor = 1 : i64
// CHECK-SAME: tf.aliasing_output = 0 : i32
// CHECK-SAME: step.name = "opt.0.mu.w"
// CHECK-SAME: step.role = #step.role<optimizer_state>
// CHECK-SAME: step.successor = 2 : i64
// CHECK-SAME: step.name = "opt.0.count"
// CHECK-SAME: step.role = #step.role<counter>
// CHECK-SAME: step.name = "batch_stats.mean"
// CHECK-SAME: step.role = #step.role<buffer>
// CHECK-SAME: step.name = "rng"
// CHECK-SAME: step.role = #step.role<rng>
// CHECK-SAME: step.name = "mystery"
// CHECK-SAME: step.role = #step.role<unknown>
// CHECK-SAME: step.name = "x"
// CHECK-SAME: step.role = #step.role<batch>
// CHECK-SAME: step.name = "lr"
// CHECK-SAME: step.role = #step.role<hyper_parameter>
// CHECK-SAME: -> (tensor<4xf32> {jax.result_info = "result[0]['params']['unread']", step.aliases = ["result[0]['params']['unread']", "result0"], step.name = "params.unread"}
// CHECK-SAME: step.name = "params.w"
// CHECK-SAME: step.aliases = ["result[1]", "result7"], step.name = "loss"}
func.func public @main(
    %w: tensor<4xf32> {tf.aliasing_output = 0 : i32} loc("state['params']['w']"),
    %mu: tensor<4xf32> {tf.aliasing_output = 1 : i32} loc("state['opt'][0].mu['w']"),
    %count: tensor<i32> {tf.aliasing_output = 3 : i32} loc("state['opt'][0].count"),
    %mean: tensor<8xf32> {tf.aliasing_output = 4 : i32} loc("state['batch_stats']['mean']"),
    %key: tensor<2xui32> {tf.aliasing_output = 5 : i32} loc("state['rng']"),
    %odd: tensor<f32> {tf.aliasing_output = 6 : i32} loc("state['mystery']"),
    %x: tensor<2x4xf32> loc("x"), %lr: tensor<f32> loc("lr"))
  -> (tensor<4xf32> {jax.result_info = "result[0]['params']['unread']"},
      tensor<4xf32> {jax.result_info = "result[0]['params']['w']"},
      tensor<4xf32> {jax.result_info = "result[0]['opt'][0].mu['w']"},
      tensor<i32> {jax.result_info = "result[0]['opt'][0].count"},
      tensor<8xf32> {jax.result_info = "result[0]['batch_stats']['mean']"},
      tensor<2xui32> {jax.result_info = "result[0]['rng']"},
      tensor<f32> {jax.result_info = "result[0]['mystery']"},
      tensor<f32> {jax.result_info = "result[1]"}) {
  return %w, %w, %mu, %count, %mean, %key, %odd, %lr : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<i32>, tensor<8xf32>, tensor<2xui32>, tensor<f32>, tensor<f32>
}

// -----

// Positions: no names, but the donated arguments have the types of one group of
// results and of no other.

// CHECK-LABEL: func.func public @main
// CHECK-SAME: step.name = "b", step.role = #step.role<unknown>, step.role_reason = "result 0 has its position, the name says nothing", step.successor = 0
// CHECK-SAME: step.name = "params.w", step.role = #step.role<parameter>, step.role_reason = "result 1 has its position, named 'params'", step.successor = 1
// CHECK-SAME: step.name = "arg2", step.role = #step.role<batch>
func.func public @main(
    %b: tensor<4xf32> {tf.aliasing_output = 0 : i32}, %w: tensor<4x4xf32> {tf.aliasing_output = 1 : i32},
    %x: tensor<2x4xf32>)
  -> (tensor<4xf32> {jax.result_info = "result[0]['b']"},
      tensor<4x4xf32> {jax.result_info = "result[0]['params']['w']"},
      tensor<f32> {jax.result_info = "result[1]"}) {
  %loss = stablehlo.constant dense<0.0> : tensor<f32>
  return %b, %w, %loss : tensor<4xf32>, tensor<4x4xf32>, tensor<f32>
}

// -----

// Trees with equal leaves: one group of results each, in the only way that is
// left once the larger tree has found its group.

// CHECK-LABEL: func.func public @main
// CHECK-SAME: step.name = "0.w", {{.*}}step.successor = 0
// CHECK-SAME: step.name = "1.w", {{.*}}step.successor = 1
// CHECK-SAME: step.name = "extra", {{.*}}step.successor = 2
func.func public @main(
    %w: tensor<4xf32> {jax.buffer_donor = true} loc("params['w']"),
    %v: tensor<4xf32> {jax.buffer_donor = true} loc("slots['w']"),
    %e: tensor<4xf32> {jax.buffer_donor = true} loc("slots['extra']"))
  -> (tensor<4xf32> {jax.result_info = "result[0]['w']"},
      tensor<4xf32> {jax.result_info = "result[1]['w']"},
      tensor<4xf32> {jax.result_info = "result[1]['extra']"}) {
  return %w, %v, %e : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// A step that returns a dictionary: whole paths are names.

// CHECK-LABEL: func.func public @main
// CHECK-SAME: step.name = "w", {{.*}}step.successor = 1
// CHECK-SAME: step.name = "x", step.role = #step.role<batch>
// CHECK-SAME: step.name = "loss"
func.func public @main(%w: tensor<f32> {jax.buffer_donor = true} loc("w"), %x: tensor<4xf32> loc("x"))
  -> (tensor<f32> {jax.result_info = "result['loss']"}, tensor<f32> {jax.result_info = "result['w']"}) {
  return %w, %w : tensor<f32>, tensor<f32>
}

// -----

// Nothing is donated: a root without keys is no evidence (`lr` against
// `result[1]`), a tree is.

// CHECK-LABEL: func.func public @main
// CHECK-SAME: step.name = "w", step.role = #step.role<unknown>, {{.*}}step.successor = 0
// CHECK-SAME: step.name = "lr", step.role = #step.role<hyper_parameter>, step.role_reason
func.func public @main(%w: tensor<f32> loc("state['w']"), %lr: tensor<f32> loc("lr"))
  -> (tensor<f32> {jax.result_info = "result[0]['w']"}, tensor<f32> {jax.result_info = "result[1]"}) {
  return %w, %lr : tensor<f32>, tensor<f32>
}

// -----

// An argument's own name speaks where its result's path says nothing.

// CHECK-LABEL: func.func public @main
// CHECK-SAME: step.name = "w", step.role = #step.role<parameter>, step.role_reason = "result 0 has its path, named 'params'"
func.func public @main(%w: tensor<2xf32> {tf.aliasing_output = 0 : i32} loc("params['w']"))
  -> (tensor<2xf32> {jax.result_info = "result[0]['w']"}, tensor<2xf32> {jax.result_info = "result[1]"}) {
  return %w, %w : tensor<2xf32>, tensor<2xf32>
}

// -----

// Two floating scalars without a name: neither is known to be the loss. Positions
// inside of a result are no names either.

// CHECK-LABEL: func.func public @main
// CHECK-SAME: step.name = "w"}
// CHECK-SAME: step.aliases = ["result[1]"], step.name = "result1"}
// CHECK-SAME: step.aliases = ["result[2][0]"], step.name = "result2"}
func.func public @main(%w: tensor<2xf32> {tf.aliasing_output = 0 : i32} loc("params['w']"), %x: tensor<f32> loc("x"))
  -> (tensor<2xf32> {jax.result_info = "result[0]['w']"}, tensor<f32> {jax.result_info = "result[1]"},
      tensor<f32> {jax.result_info = "result[2][0]"}) {
  return %w, %x, %x : tensor<2xf32>, tensor<f32>, tensor<f32>
}

// -----

// Of a loss and a count, the loss is the floating scalar.

// CHECK-LABEL: func.func public @main
// CHECK-SAME: step.name = "loss"}
// CHECK-SAME: step.name = "result2"}
func.func public @main(%w: tensor<2xf32> {tf.aliasing_output = 0 : i32} loc("params['w']"), %x: tensor<f32> loc("x"), %n: tensor<i32> loc("n"))
  -> (tensor<2xf32> {jax.result_info = "result[0]['w']"}, tensor<f32> {jax.result_info = "result[1]"},
      tensor<i32> {jax.result_info = "result[2]"}) {
  return %w, %x, %n : tensor<2xf32>, tensor<f32>, tensor<i32>
}

// -----

// What the user calls the loss keeps the name.

// CHECK-LABEL: func.func public @main
// CHECK-SAME: step.name = "loss", {{.*}}step.successor = 0
// CHECK-SAME: step.name = "result1"}
func.func public @main(%w: tensor<f32> {tf.aliasing_output = 0 : i32} loc("state['loss']"), %x: tensor<f32> loc("x"))
  -> (tensor<f32> {jax.result_info = "result[0]['loss']"}, tensor<f32> {jax.result_info = "result[1]"}) {
  return %w, %x : tensor<f32>, tensor<f32>
}
