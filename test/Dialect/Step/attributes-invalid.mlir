// RUN: tenon-opt %s --split-input-file --verify-diagnostics

// What stages hand on by attributes, where a user's edit made something else of it.

// expected-error@+1 {{'step.mesh' is "data=2,model", expected axes with sizes, such as "data=2,model=4"}}
module attributes {step.mesh = "data=2,model"} {
}

// -----

// expected-error@+1 {{'step.keeping_everything' is "x", expected {bytes, nanoseconds}, each an i64 of at least 0}}
module attributes {step.keeping_everything = "x"} {
}

// -----

// expected-error@+1 {{'step.keeping_everything' is {bytes = 1 : i64}, expected {bytes, nanoseconds}, each an i64 of at least 0}}
module attributes {step.keeping_everything = {bytes = 1 : i64}} {
}

// -----

// expected-error@+1 {{'step.keeping_everything' is {bytes = -1 : i64, nanoseconds = 1 : i64}, expected {bytes, nanoseconds}, each an i64 of at least 0}}
module attributes {step.keeping_everything = {bytes = -1 : i64, nanoseconds = 1 : i64}} {
}

// -----

// expected-error@+1 {{'step.keeping_everything' is {bytes = 1 : i32, nanoseconds = 1 : i64}, expected {bytes, nanoseconds}, each an i64 of at least 0}}
module attributes {step.keeping_everything = {bytes = 1 : i32, nanoseconds = 1 : i64}} {
}

// -----

// expected-error@+1 {{'step.segment_bytes' is {attic = 64 : i64}, expected bytes, i64 of at least 0, by the names of segments}}
module attributes {step.segment_bytes = {attic = 64 : i64}} {
}

// -----

// expected-error@+1 {{'step.segment_bytes' is {state = -64 : i64}}}
module attributes {step.segment_bytes = {state = -64 : i64}} {
}

// -----

// expected-error@+1 {{'step.temporaries_bound' is 1.000000e+00 : f64, expected bytes, an i64 of at least 0}}
module attributes {step.temporaries_bound = 1.0 : f64} {
}

// -----

// expected-error@+1 {{'step.flops' is -1.000000e+00 : f64, expected an f64 of at least 0}}
module attributes {step.flops = -1.0 : f64} {
}

// -----

// expected-error@+1 {{'step.flops' is "many"}}
module attributes {step.flops = "many"} {
}

// -----

// expected-error@+1 {{'step.recomputation' is {nanoseconds = 1.000000e+00 : f64}, expected a dictionary of i64 and strings}}
module attributes {step.recomputation = {nanoseconds = 1.0 : f64}} {
}

// -----

// expected-error@+1 {{'step.recomputation' is {exclusions = [{bytes = 1 : i64, reason = "x"}]}, expected}}
module attributes {step.recomputation = {exclusions = [{bytes = 1 : i64, reason = "x"}]}} {
}

// -----

// expected-error@+1 {{'step.argument_places' is [64], expected an array of #step.place}}
func.func @main() attributes {step.argument_places = [64 : i64]} {
  return
}

// -----

// expected-error@+1 {{'step.result_places' is "state", expected an array of #step.place}}
func.func @main() attributes {step.result_places = "state"} {
  return
}

// -----

// expected-error@+1 {{'step.loop_savings' is [1], expected an array<i64>}}
func.func @main() attributes {step.loop_savings = [1 : i64]} {
  return
}

// -----

// expected-error@+1 {{'step.segment_savings' is 1 : i64, expected an array<i64>}}
func.func @main() attributes {step.segment_savings = 1 : i64} {
  return
}

// -----

// expected-error@+1 {{'step.segments_can_nest' is true, expected no value}}
func.func @main() attributes {step.segments_can_nest = true} {
  return
}

// -----

func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{'step.nanoseconds' is -1 : i64, expected an i64 of at least 0}}
  %0 = step.group elementwise(%x) attributes {step.nanoseconds = -1 : i64} : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    %b = stablehlo.tanh %a : tensor<8xf32>
    step.yield %b : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}

// -----

func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{'step.nanoseconds' is 1 : i32}}
  %0 = step.group elementwise(%x) attributes {step.nanoseconds = 1 : i32} : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    %b = stablehlo.tanh %a : tensor<8xf32>
    step.yield %b : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}

// -----

func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{'step.scratch_bytes' is "64", expected bytes, an i64 of at least 0}}
  %0 = step.group elementwise(%x) attributes {step.scratch_bytes = "64"} : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    %b = stablehlo.tanh %a : tensor<8xf32>
    step.yield %b : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}

// -----

func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{'step.scratch_place' is 64 : i64, expected a #step.place}}
  %0 = step.group elementwise(%x) attributes {step.scratch_place = 64 : i64} : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    %b = stablehlo.tanh %a : tensor<8xf32>
    step.yield %b : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}

// -----

func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{'step.places' is [64], expected an array of #step.place}}
  %0 = step.group elementwise(%x) attributes {step.places = [64 : i64]} : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    %b = stablehlo.tanh %a : tensor<8xf32>
    step.yield %b : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}

// -----

func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{'step.parts' is [{nanoseconds = 1 : i64}], expected an array of {nanoseconds, scratch_bytes}, each an i64 of at least 0}}
  %0 = step.group elementwise(%x) attributes {step.parts = [{nanoseconds = 1 : i64}]} : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    %b = stablehlo.tanh %a : tensor<8xf32>
    step.yield %b : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}

// -----

func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{'step.recomputed' is 1 : i64, expected no value}}
  %0 = step.group elementwise(%x) attributes {step.recomputed = 1 : i64} : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    %b = stablehlo.tanh %a : tensor<8xf32>
    step.yield %b : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}

// -----

func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{'step.node' is "first", expected an i64 from 0 to 2147483647}}
  %0 = step.group elementwise(%x) attributes {step.node = "first"} : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    %b = stablehlo.tanh %a : tensor<8xf32>
    step.yield %b : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}

// -----

func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{'step.node' is 2147483648 : i64}}
  %0 = step.group elementwise(%x) attributes {step.node = 2147483648 : i64} : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    %b = stablehlo.tanh %a : tensor<8xf32>
    step.yield %b : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}

// -----

func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{'step.joined_nodes' is array<i64: -1>, expected an array<i64> of numbers from 0 to 2147483647}}
  %0 = step.group elementwise(%x) attributes {step.joined_nodes = array<i64: -1>} : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    %b = stablehlo.tanh %a : tensor<8xf32>
    step.yield %b : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}

// -----

func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{'exec.library' is "matmul", expected a dictionary}}
  %0 = step.group elementwise(%x) attributes {exec.library = "matmul"} : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    %b = stablehlo.tanh %a : tensor<8xf32>
    step.yield %b : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}

// -----

func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{'exec.library': matmul description has no 'lhs'}}
  %0 = step.group elementwise(%x) attributes {exec.library = {call = "matmul"}} : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    %b = stablehlo.tanh %a : tensor<8xf32>
    step.yield %b : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}

// -----

func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{'exec.library': k -8 is out of range, expected 1 to 1099511627776}}
  %0 = step.group elementwise(%x) attributes {exec.library = {accumulate = "f32", batch = [], call = "matmul", compute = "f32", epilogue = "none", k = -8 : i64, lhs = "f32", lhs_stride_k = 1 : i64, lhs_stride_m = 8 : i64, m = 8 : i64, n = 8 : i64, pieces = 1 : i64, result = "f32", result_stride_m = 8 : i64, result_stride_n = 1 : i64, rhs = "f32", rhs_stride_k = 8 : i64, rhs_stride_n = 1 : i64}} : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    %b = stablehlo.tanh %a : tensor<8xf32>
    step.yield %b : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}

// -----

func.func @main(%x: tensor<i32>) -> tensor<i32> {
  // expected-error@+1 {{'step.loop_pair' is -1 : i64, expected an i64 of at least 0}}
  %0 = stablehlo.while(%i = %x) : tensor<i32> attributes {step.loop_pair = -1 : i64}
  cond {
    %c = stablehlo.compare LT, %i, %x, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    stablehlo.return %i : tensor<i32>
  }
  return %0 : tensor<i32>
}

// -----

func.func @main(%x: tensor<i32>) -> tensor<i32> {
  // expected-error@+1 {{'step.loop_rows' is [], expected a non-empty array of {bytes, nanoseconds, order, rows}}}
  %0 = stablehlo.while(%i = %x) : tensor<i32> attributes {step.loop_rows = []}
  cond {
    %c = stablehlo.compare LT, %i, %x, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    stablehlo.return %i : tensor<i32>
  }
  return %0 : tensor<i32>
}

// -----

func.func @main(%x: tensor<i32>) -> tensor<i32> {
  // expected-error@+1 {{'step.loop_rows' is [{bytes = 1 : i64, nanoseconds = 1 : i64, order = array<i32: 0>}]}}
  %0 = stablehlo.while(%i = %x) : tensor<i32> attributes {step.loop_rows = [{bytes = 1 : i64, nanoseconds = 1 : i64, order = array<i32: 0>}]}
  cond {
    %c = stablehlo.compare LT, %i, %x, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    stablehlo.return %i : tensor<i32>
  }
  return %0 : tensor<i32>
}

// -----

func.func @main(%x: tensor<i32>) -> tensor<i32> {
  // expected-error@+1 {{expected a non-empty array of {bytes, nanoseconds, order, rows}: two i64 and two array<i32>, of numbers of at least 0}}
  %0 = stablehlo.while(%i = %x) : tensor<i32> attributes {step.loop_rows = [{bytes = 1 : i64, nanoseconds = 1 : i64, order = array<i32: -1>, rows = array<i32>}]}
  cond {
    %c = stablehlo.compare LT, %i, %x, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    stablehlo.return %i : tensor<i32>
  }
  return %0 : tensor<i32>
}

// -----

// expected-error@+1 {{argument #0: 'step.role' is "parameter", expected a #step.role}}
func.func @main(%x: tensor<8xf32> {step.role = "parameter"}) {
  return
}

// -----

// expected-error@+1 {{argument #0: 'step.role_reason' is 1 : i64, expected a string}}
func.func @main(%x: tensor<8xf32> {step.role_reason = 1 : i64}) {
  return
}

// -----

// expected-error@+1 {{argument #0: 'step.aliases' is [1], expected an array of strings}}
func.func @main(%x: tensor<8xf32> {step.aliases = [1 : i64]}) {
  return
}

// -----

// expected-error@+1 {{argument #0: 'step.aliases' is "x", expected an array of strings}}
func.func @main(%x: tensor<8xf32> {step.aliases = "x"}) {
  return
}

// -----

// expected-error@+1 {{argument #0: 'step.donated' is 1 : i64, expected no value}}
func.func @main(%x: tensor<8xf32> {step.donated = 1 : i64}) {
  return
}

// -----

// expected-error@+1 {{argument #0: 'step.successor' must be the index of a result, found "w"}}
func.func @main(%x: tensor<8xf32> {step.successor = "w"}) {
  return
}

// -----

// expected-error@+1 {{argument #0: 'step.successor' must be the index of a result, found 0 : i64}}
func.func @main(%x: tensor<8xf32> {step.successor = 0 : i64}) {
  return
}

// -----

// expected-error@+1 {{argument #0: 'step.complex' stands on a value of type 'tensor<8xf32>', expected f32 or f64 with a last dimension of extent 2}}
func.func @main(%x: tensor<8xf32> {step.complex}) {
  return
}

// -----

// expected-error@+1 {{argument #0: 'step.complex' stands on a value of type 'tensor<f32>'}}
func.func @main(%x: tensor<f32> {step.complex}) {
  return
}

// -----

// expected-error@+1 {{argument #0: 'step.element_type' is "f8" on a value of type 'tensor<8xui8>', expected a type of at most 8 bits on elements of 8 bits}}
func.func @main(%x: tensor<8xui8> {step.element_type = "f8"}) {
  return
}

// -----

// expected-error@+1 {{argument #0: 'step.element_type' is f64 on a value of type 'tensor<8xui8>'}}
func.func @main(%x: tensor<8xui8> {step.element_type = f64}) {
  return
}

// -----

// expected-error@+1 {{argument #0: 'step.element_type' is f8E4M3FN on a value of type 'tensor<8xf32>'}}
func.func @main(%x: tensor<8xf32> {step.element_type = f8E4M3FN}) {
  return
}

// -----

// expected-error@+1 {{result #0: 'step.name' is 1 : i64, expected a string}}
func.func @main(%x: tensor<8xf32>) -> (tensor<8xf32> {step.name = 1 : i64}) {
  return %x : tensor<8xf32>
}

// -----

// expected-error@+1 {{result #0: 'step.aliases' is [1], expected an array of strings}}
func.func @main(%x: tensor<8xf32>) -> (tensor<8xf32> {step.aliases = [1 : i64]}) {
  return %x : tensor<8xf32>
}

// -----

// expected-error@+1 {{result #0: 'step.complex' stands on a value of type 'tensor<8xf32>'}}
func.func @main(%x: tensor<8xf32>) -> (tensor<8xf32> {step.complex}) {
  return %x : tensor<8xf32>
}

// -----

func.func @main(%x: tensor<i32>) -> tensor<i32> {
  // expected-error@+1 {{'step.loop_floors' is [{bytes = 1 : i64}], expected an array of {bytes, nanoseconds}, each an i64 of at least 0}}
  %0 = stablehlo.while(%i = %x) : tensor<i32> attributes {step.loop_floors = [{bytes = 1 : i64}]}
  cond {
    %c = stablehlo.compare LT, %i, %x, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    stablehlo.return %i : tensor<i32>
  }
  return %0 : tensor<i32>
}

// -----

func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{'step.node_values' is [0], expected an array<i64>}}
  %0 = stablehlo.tanh %x {step.node_values = [0]} : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// expected-error@+1 {{'exec.description' is 3 : i64, expected a string}}
func.func private @kernel(tensor<8xf32>) attributes {exec.description = 3 : i64}

// -----

// expected-error@+1 {{'exec.symbol' is unit, expected a string}}
func.func private @kernel(tensor<8xf32>) attributes {exec.symbol}

// -----

// expected-error@+1 {{'exec.shared_object' is "none", expected a dense tensor of i8, the bytes of a shared object}}
module attributes {exec.shared_object = "none"} {
}

// -----

// expected-error@+1 {{argument #0: 'step.holds' is {part = 2 : i64, rule = "high_and_low", tensor = "w"}, expected {part, rule, tensor}: 0 or 1, "high_and_low", and a name; or 0, "converted", and a name}}
func.func @main(%x: tensor<8xbf16> {step.holds = {part = 2 : i64, rule = "high_and_low", tensor = "w"}}) {
  return
}

// -----

// expected-error@+1 {{argument #0: 'step.holds' is {part = 1 : i64, rule = "converted", tensor = "w"}, expected {part, rule, tensor}: 0 or 1, "high_and_low", and a name; or 0, "converted", and a name}}
func.func @main(%x: tensor<8xbf16> {step.holds = {part = 1 : i64, rule = "converted", tensor = "w"}}) {
  return
}

// -----

// expected-error@+1 {{result #0: 'step.holds' is {part = 0 : i64, rule = "padded", tensor = "w"}, expected {part, rule, tensor}: 0 or 1, "high_and_low", and a name; or 0, "converted", and a name}}
func.func @main(%x: tensor<8xbf16>) -> (tensor<8xbf16> {step.holds = {part = 0 : i64, rule = "padded", tensor = "w"}}) {
  return %x : tensor<8xbf16>
}
