// RUN: tenon-opt %s --verify-scheduled-form --split-input-file --verify-diagnostics

// What the planner writes is scheduled form.
// RUN: tenon-opt %S/plan-offsets.mlir --split-input-file --plan --verify-scheduled-form | FileCheck %s
// CHECK: step.places

// expected-error@+1 {{expected a function @main in scheduled form; run the stage plan first}}
module {
}

// -----

// expected-error@+1 {{needs the attribute 'step.argument_places' with 2 places}}
func.func @main(%x: tensor<8xf32>, %y: tensor<8xf32>) attributes {step.argument_places = [#step.place<batch, 0>], step.result_places = [], step.segment_bytes = {batch = 64 : i64, results = 64 : i64}} {
  return
}

// -----

func.func @main(%x: tensor<8xf32>) attributes {step.argument_places = [#step.place<batch, 0>], step.result_places = [], step.segment_bytes = {batch = 64 : i64, results = 64 : i64}} {
  // expected-error@+1 {{'stablehlo.reshape' op needs the attribute 'step.places' with 1 place}}
  %0 = stablehlo.reshape %x : (tensor<8xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @main(%x: tensor<8xf32>) attributes {step.argument_places = [#step.place<batch, 0>], step.result_places = [], step.segment_bytes = {batch = 64 : i64, results = 64 : i64}} {
  // expected-error@+1 {{'step.places' is [3], expected an array of #step.place}}
  %0 = stablehlo.reshape %x {step.places = [3]} : (tensor<8xf32>) -> tensor<2x4xf32>
  return
}

// -----

// expected-error@+1 {{has a place of 32 bytes at byte 64 of the segment 'batch', which has 64}}
func.func @main(%x: tensor<8xf32>) attributes {step.argument_places = [#step.place<batch, 64>], step.result_places = [], step.segment_bytes = {batch = 64 : i64, results = 64 : i64}} {
  return
}

// -----

// expected-error@+1 {{has a place at byte 8, expected a multiple of 64}}
func.func @main(%x: tensor<8xf32>) attributes {step.argument_places = [#step.place<batch, 8>], step.result_places = [], step.segment_bytes = {batch = 64 : i64, results = 64 : i64}} {
  return
}

// -----

func.func @main(%x: tensor<8xf32>) -> tensor<8xf32>
    attributes {step.argument_places = [#step.place<batch, 0>], step.result_places = [#step.place<results, 0>], step.segment_bytes = {batch = 64 : i64, results = 64 : i64, temporaries = 64 : i64}} {
  // expected-error@+1 {{'step.group' op has a place of 128 bytes at byte 0 of the segment 'temporaries', which has 64}}
  %0 = step.group elementwise(%x) attributes {
      step.places = [#step.place<results, 0>], step.scratch_bytes = 128 : i64, step.scratch_place = #step.place<temporaries, 0>
    } : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    %b = stablehlo.tanh %a : tensor<8xf32>
    step.yield %b : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}

// -----

func.func @main(%x: tensor<8xf32>) -> tensor<8xf32>
    attributes {step.argument_places = [#step.place<batch, 0>], step.result_places = [#step.place<results, 0>], step.segment_bytes = {batch = 64 : i64, results = 64 : i64, temporaries = 64 : i64}} {
  // expected-error@+1 {{'step.group' op needs the attribute 'step.scratch_place', a #step.place}}
  %0 = step.group elementwise(%x) attributes {step.places = [#step.place<results, 0>], step.scratch_bytes = 64 : i64} : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    %b = stablehlo.tanh %a : tensor<8xf32>
    step.yield %b : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}

// -----

func.func @main(%x: tensor<8xf32>) -> tensor<8xf32>
    attributes {step.argument_places = [#step.place<batch, 0>], step.result_places = [#step.place<results, 0>], step.segment_bytes = {batch = 64 : i64, results = 64 : i64}} {
  // expected-error@+1 {{'step.group' op a library group needs the attribute 'exec.library'}}
  %0 = step.group library(%x) attributes {step.places = [#step.place<results, 0>]} : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    step.yield %a : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}

// -----

// A value waits on the host.
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32>
    attributes {step.argument_places = [#step.place<batch, 0>], step.result_places = [#step.place<results, 0>], step.segment_bytes = {batch = 64 : i64, host = 64 : i64, results = 64 : i64, temporaries = 64 : i64}} {
  %0 = step.group save(%x) attributes {step.beside = 0 : i64, step.nanoseconds = 1500 : i64, step.node = 3 : i64, step.places = [#step.place<host, 0>], step.transfer_nanoseconds = 400 : i64} : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    step.yield %a : tensor<8xf32>
  }
  %1 = step.group load(%0) attributes {step.nanoseconds = 1500 : i64, step.node = 4 : i64, step.places = [#step.place<results, 0>], step.transfer_nanoseconds = 400 : i64} : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    step.yield %a : tensor<8xf32>
  }
  return %1 : tensor<8xf32>
}

// -----

module attributes {step.options = {target = "cpu"}} {
  func.func @main(%x: tensor<8xf32>)
      attributes {step.argument_places = [#step.place<batch, 0>], step.result_places = [], step.segment_bytes = {batch = 64 : i64, host = 64 : i64}} {
    // expected-error@+1 {{is of kind save, which the target "cpu" has not}}
    %0 = step.group save(%x) attributes {step.places = [#step.place<host, 0>]} : (tensor<8xf32>) -> tensor<8xf32> {
    ^bb0(%a: tensor<8xf32>):
      step.yield %a : tensor<8xf32>
    }
    return
  }
}

// -----

func.func @main(%x: tensor<8xf32>)
    attributes {step.argument_places = [#step.place<batch, 0>], step.result_places = [], step.segment_bytes = {batch = 64 : i64, host = 64 : i64, temporaries = 64 : i64}} {
  // expected-error@+1 {{has a place in the segment 'temporaries', expected 'host'}}
  %0 = step.group save(%x) attributes {step.places = [#step.place<temporaries, 0>]} : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    step.yield %a : tensor<8xf32>
  }
  return
}

// -----

func.func @main(%x: tensor<8xf32>)
    attributes {step.argument_places = [#step.place<batch, 0>], step.result_places = [], step.segment_bytes = {batch = 64 : i64, host = 128 : i64, temporaries = 64 : i64}} {
  %0 = step.group save(%x) attributes {step.places = [#step.place<host, 0>]} : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    step.yield %a : tensor<8xf32>
  }
  // expected-error@+1 {{has a place in the segment 'host', which is for saves}}
  %1 = step.group load(%0) attributes {step.places = [#step.place<host, 64>]} : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    step.yield %a : tensor<8xf32>
  }
  return
}

// -----

func.func @main(%x: tensor<8xf32>) -> tensor<8xf32>
    attributes {step.argument_places = [#step.place<batch, 0>], step.result_places = [#step.place<results, 0>], step.segment_bytes = {batch = 64 : i64, results = 64 : i64}} {
  // expected-error@+1 {{loads what no group of kind save has made}}
  %0 = step.group load(%x) attributes {step.places = [#step.place<results, 0>]} : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    step.yield %a : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}

// -----

func.func @main(%x: tensor<8xf32>) -> tensor<8xf32>
    attributes {step.argument_places = [#step.place<batch, 0>], step.result_places = [#step.place<results, 0>], step.segment_bytes = {batch = 64 : i64, host = 64 : i64, results = 64 : i64}} {
  // expected-error@+1 {{has a result that others read than groups of kind load}}
  %0 = step.group save(%x) attributes {step.places = [#step.place<host, 0>]} : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    step.yield %a : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}

// -----

func.func @main(%x: tensor<8xf32>, %p: tensor<i32>)
    attributes {step.argument_places = [#step.place<batch, 0>, #step.place<batch, 64>], step.result_places = [], step.segment_bytes = {batch = 128 : i64, host = 64 : i64}} {
  "stablehlo.case"(%p) ({
    // expected-error@+1 {{is of kind save, which stands in the block of @main alone}}
    %0 = step.group save(%x) attributes {step.places = [#step.place<host, 0>]} : (tensor<8xf32>) -> tensor<8xf32> {
    ^bb0(%a: tensor<8xf32>):
      step.yield %a : tensor<8xf32>
    }
    stablehlo.return
  }) : (tensor<i32>) -> ()
  return
}
