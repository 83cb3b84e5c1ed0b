// RUN: tenon-opt %s --import-infer-roles --split-input-file --verify-diagnostics

// Two leaves that nothing reads were dropped from the arguments, so positions
// prove nothing, and donation pairs `hidden` with the result of `average`.

// expected-error@+1 {{cannot tell which results replace 2 of 3 arguments in the next step: 2 donated arguments and 5 results do not match one to one in number and type; pass --roles=FILE.json with "result" for each of them, or export the text with locations}}
func.func public @main(
    // expected-note@+1 {{arg0 of type 'tensor<4xf32>' could be replaced by result 0 result[0]['mean']['average'] or result 1 result[0]['mean']['hidden']}}
    %hidden: tensor<4xf32> {tf.aliasing_output = 0 : i32},
    // expected-note@+1 {{arg1 of type 'tensor<4x4xf32>' could be replaced by result 2 result[0]['w'] or result 3 result[0]['w_last']}}
    %w: tensor<4x4xf32> {tf.aliasing_output = 2 : i32},
    %x: tensor<8xf32>)
  -> (tensor<4xf32> {jax.result_info = "result[0]['mean']['average']"},
      tensor<4xf32> {jax.result_info = "result[0]['mean']['hidden']"},
      tensor<4x4xf32> {jax.result_info = "result[0]['w']"},
      tensor<4x4xf32> {jax.result_info = "result[0]['w_last']"},
      tensor<f32> {jax.result_info = "result[1]"}) {
  %loss = stablehlo.constant dense<0.0> : tensor<f32>
  return %hidden, %hidden, %w, %w, %loss : tensor<4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<f32>
}

// -----

// The one donated argument fits either result.

// expected-error@+1 {{1 donated arguments match 2 results in more than one way}}
func.func public @main(
    // expected-note@+1 {{arg0 of type 'tensor<f32>' could be replaced by result 0 result[0] or result 1 result[1]}}
    %w: tensor<f32> {tf.aliasing_output = 0 : i32})
  -> (tensor<f32> {jax.result_info = "result[0]"}, tensor<f32> {jax.result_info = "result[1]"}) {
  return %w, %w : tensor<f32>, tensor<f32>
}

// -----

// The parameters are donated; the optimizer's state was forgotten, or is it a
// batch that is handed through?

// expected-error@+1 {{an argument that is not donated has the path of a result, while others are donated}}
func.func public @main(
    %w: tensor<4xf32> {tf.aliasing_output = 0 : i32} loc("params['w']"),
    // expected-note@unknown {{arg1 slots['m'] of type}}
    %m: tensor<4xf32> loc("slots['m']"))
  -> (tensor<4xf32> {jax.result_info = "result[0]['w']"}, tensor<4xf32> {jax.result_info = "result[1]['m']"}) {
  return %w, %m : tensor<4xf32>, tensor<4xf32>
}
