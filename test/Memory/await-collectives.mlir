// RUN: tenon-opt %s --memory-await-collectives --split-input-file | FileCheck %s

// The second operation behind the exchange writes over what is exchanged.

// CHECK-LABEL: func.func @main
// CHECK: step.group collective(%{{.*}}) attributes {step.beside = 1 : i64
func.func @main(%a0: tensor<16xf32>, %a1: tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>)
    attributes {step.argument_places = [#step.place<batch, 0>, #step.place<batch, 64>],
                step.result_places = [#step.place<results, 0>, #step.place<results, 64>],
                step.segment_bytes = {batch = 128 : i64, results = 128 : i64, temporaries = 256 : i64}} {
  %g = step.group elementwise(%a0) attributes {step.places = [#step.place<temporaries, 0>]} : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%p: tensor<16xf32>):
    %0 = stablehlo.tanh %p : tensor<16xf32>
    step.yield %0 : tensor<16xf32>
  }
  %c = step.group collective(%g) attributes {step.places = [#step.place<temporaries, 64>]} : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%p: tensor<16xf32>):
    %0 = "stablehlo.collective_permute"(%p) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<16xf32>) -> tensor<16xf32>
    step.yield %0 : tensor<16xf32>
  }
  %h = step.group elementwise(%a1) attributes {step.places = [#step.place<temporaries, 128>]} : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%p: tensor<16xf32>):
    %0 = stablehlo.tanh %p : tensor<16xf32>
    step.yield %0 : tensor<16xf32>
  }
  %k = step.group elementwise(%h) attributes {step.places = [#step.place<temporaries, 0>]} : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%p: tensor<16xf32>):
    %0 = stablehlo.sine %p : tensor<16xf32>
    step.yield %0 : tensor<16xf32>
  }
  %u = step.group elementwise(%c, %k) attributes {step.places = [#step.place<results, 0>]} : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%p: tensor<16xf32>, %q: tensor<16xf32>):
    %0 = stablehlo.add %p, %q : tensor<16xf32>
    step.yield %0 : tensor<16xf32>
  }
  %v = step.group elementwise(%k) attributes {step.places = [#step.place<results, 64>]} : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%p: tensor<16xf32>):
    %0 = stablehlo.cosine %p : tensor<16xf32>
    step.yield %0 : tensor<16xf32>
  }
  return %u, %v : tensor<16xf32>, tensor<16xf32>
}

// -----

// Others may read what is exchanged; whoever needs what arrives waits.

// CHECK-LABEL: func.func @main
// CHECK: step.group collective(%{{.*}}) attributes {step.beside = 2 : i64
func.func @main(%a0: tensor<16xf32>, %a1: tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>)
    attributes {step.argument_places = [#step.place<batch, 0>, #step.place<batch, 64>],
                step.result_places = [#step.place<results, 0>, #step.place<results, 64>],
                step.segment_bytes = {batch = 128 : i64, results = 128 : i64, temporaries = 256 : i64}} {
  %g = step.group elementwise(%a0) attributes {step.places = [#step.place<temporaries, 0>]} : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%p: tensor<16xf32>):
    %0 = stablehlo.tanh %p : tensor<16xf32>
    step.yield %0 : tensor<16xf32>
  }
  %c = step.group collective(%g) attributes {step.places = [#step.place<temporaries, 64>]} : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%p: tensor<16xf32>):
    %0 = "stablehlo.collective_permute"(%p) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<16xf32>) -> tensor<16xf32>
    step.yield %0 : tensor<16xf32>
  }
  %h = step.group elementwise(%g) attributes {step.places = [#step.place<temporaries, 128>]} : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%p: tensor<16xf32>):
    %0 = stablehlo.tanh %p : tensor<16xf32>
    step.yield %0 : tensor<16xf32>
  }
  %k = step.group elementwise(%h) attributes {step.places = [#step.place<results, 64>]} : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%p: tensor<16xf32>):
    %0 = stablehlo.sine %p : tensor<16xf32>
    step.yield %0 : tensor<16xf32>
  }
  %u = step.group elementwise(%c, %h) attributes {step.places = [#step.place<results, 0>]} : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%p: tensor<16xf32>, %q: tensor<16xf32>):
    %0 = stablehlo.add %p, %q : tensor<16xf32>
    step.yield %0 : tensor<16xf32>
  }
  return %u, %k : tensor<16xf32>, tensor<16xf32>
}

// -----

// An exchange that is shorter than waking a thread, and one behind which nothing
// runs, stay alone.

// CHECK-LABEL: func.func @main
// CHECK: step.group collective
// CHECK-NOT: step.beside
// CHECK: step.group collective
// CHECK-NOT: step.beside
func.func @main(%a0: tensor<16xf32>, %a1: tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>)
    attributes {step.argument_places = [#step.place<batch, 0>, #step.place<batch, 64>],
                step.result_places = [#step.place<results, 0>, #step.place<results, 64>, #step.place<results, 128>],
                step.segment_bytes = {batch = 128 : i64, results = 192 : i64, temporaries = 256 : i64}} {
  %c = step.group collective(%a0) attributes {step.places = [#step.place<results, 0>], step.nanoseconds = 9000 : i64} : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%p: tensor<16xf32>):
    %0 = "stablehlo.collective_permute"(%p) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<16xf32>) -> tensor<16xf32>
    step.yield %0 : tensor<16xf32>
  }
  %h = step.group elementwise(%a1) attributes {step.places = [#step.place<results, 64>], step.nanoseconds = 90000 : i64} : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%p: tensor<16xf32>):
    %0 = stablehlo.tanh %p : tensor<16xf32>
    step.yield %0 : tensor<16xf32>
  }
  %d = step.group collective(%a1) attributes {step.places = [#step.place<results, 128>], step.nanoseconds = 90000 : i64} : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%p: tensor<16xf32>):
    %0 = "stablehlo.collective_permute"(%p) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<16xf32>) -> tensor<16xf32>
    step.yield %0 : tensor<16xf32>
  }
  return %c, %h, %d : tensor<16xf32>, tensor<16xf32>, tensor<16xf32>
}

// -----

// What was planned to run beside an exchange does, however short: places were given for that.

// CHECK-LABEL: func.func @main
// CHECK: step.group collective(%{{.*}}) attributes {step.beside = 1 : i64
func.func @main(%a0: tensor<16xf32>, %a1: tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>)
    attributes {step.argument_places = [#step.place<batch, 0>, #step.place<batch, 64>],
                step.result_places = [#step.place<results, 0>, #step.place<results, 64>],
                step.segment_bytes = {batch = 128 : i64, results = 128 : i64, temporaries = 256 : i64}} {
  %c = step.group collective(%a0) attributes {step.beside = 1 : i64, step.places = [#step.place<results, 0>], step.nanoseconds = 90000 : i64} : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%p: tensor<16xf32>):
    %0 = "stablehlo.collective_permute"(%p) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<16xf32>) -> tensor<16xf32>
    step.yield %0 : tensor<16xf32>
  }
  %h = step.group elementwise(%a1) attributes {step.places = [#step.place<results, 64>], step.nanoseconds = 100 : i64} : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%p: tensor<16xf32>):
    %0 = stablehlo.tanh %p : tensor<16xf32>
    step.yield %0 : tensor<16xf32>
  }
  return %c, %h : tensor<16xf32>, tensor<16xf32>
}
