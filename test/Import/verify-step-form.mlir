// RUN: tenon-opt %s --verify-step-form --split-input-file --verify-diagnostics

// A module in step form passes.

module {
  sdy.mesh @mesh = <["data"=4]>
  func.func @main(
      %w: tensor<4xf32> {step.role = #step.role<parameter>, step.role_reason = "said so", step.name = "w",
                         step.aliases = ["arg0"], step.successor = 0 : i64, step.donated},
      %x: tensor<4xf32> {step.role = #step.role<batch>, step.role_reason = "said so", step.name = "x",
                         step.aliases = []})
    -> (tensor<4xf32> {step.name = "w", step.aliases = ["result0"]}) {
    %0 = stablehlo.add %w, %x : tensor<4xf32>
    %1 = chlo.erf %0 : tensor<4xf32> -> tensor<4xf32>
    return %1 : tensor<4xf32>
  }
}

// -----

// expected-error@+1 {{argument 0 has no 'step.role'}}
func.func @main(%x: tensor<4xf32> {step.role_reason = "", step.name = "x", step.aliases = []})
    -> (tensor<4xf32> {step.name = "y", step.aliases = []}) {
  // expected-error@+1 {{step form holds no 'chlo.square'}}
  %0 = chlo.square %x : tensor<4xf32> -> tensor<4xf32>
  // expected-error@+2 {{step form holds no composites and tuples}}
  // expected-error@+1 {{step form holds tensors of static shape, found a result of type 'tuple<tensor<4xf32>>'}}
  %t = stablehlo.tuple %0 : tuple<tensor<4xf32>>
  return %0 : tensor<4xf32>
}

// -----

// expected-error@+2 {{arguments 0 and 1 are both named 'x'}}
// expected-error@+1 {{argument 1 'x' has the role parameter and no successor}}
func.func @main(
    %x: tensor<4xf32> {step.role = #step.role<batch>, step.role_reason = "", step.name = "x", step.aliases = []},
    %y: tensor<4xf32> {step.role = #step.role<parameter>, step.role_reason = "", step.name = "x", step.aliases = []}) {
  return
}

// -----

// expected-error@+2 {{arguments 0 and 1 have the same successor, result 0}}
// expected-error@+1 {{argument 1 is named 'b' and its successor, result 0, 'a'}}
func.func @main(
    %x: tensor<4xf32> {step.role = #step.role<state>, step.role_reason = "", step.name = "a", step.aliases = [], step.successor = 0 : i64},
    %y: tensor<4xf32> {step.role = #step.role<state>, step.role_reason = "", step.name = "b", step.aliases = [], step.successor = 0 : i64})
  -> (tensor<4xf32> {step.name = "a", step.aliases = []}) {
  return %x : tensor<4xf32>
}

// -----

func.func @main() {
  return
}
// expected-error@+1 {{step form holds one public function @main and nothing beside it}}
func.func private @other() {
  return
}

// -----

// expected-error@+1 {{step form holds a public function @main}}
module {
}

// -----

// A terabyte is the most.
func.func @main(%x: tensor<1048576x1048576xi8> {step.role = #step.role<batch>, step.role_reason = "", step.name = "x", step.aliases = []}) {
  // expected-error@+1 {{step form holds tensors of at most 1099511627776 bytes, found the type 'tensor<1048576x1048577xi8>'}}
  %0 = stablehlo.iota dim = 0 : tensor<1048576x1048577xi8>
  // What repeats one element takes no memory before it is needed.
  %1 = stablehlo.constant dense<1> : tensor<1048576x1048577xi8>
  return
}

// -----

// expected-error@+1 {{'w' has 1 part among the arguments, expected 2}}
func.func @main(
    %a: tensor<4xbf16> {step.role = #step.role<parameter>, step.role_reason = "", step.name = "a", step.aliases = [], step.successor = 0 : i64, step.holds = {part = 0 : i64, rule = "high_and_low", tensor = "w"}})
    -> (tensor<4xbf16> {step.name = "a", step.aliases = [], step.holds = {part = 0 : i64, rule = "high_and_low", tensor = "w"}}) {
  return %a : tensor<4xbf16>
}

// -----

// expected-error@+1 {{argument 0 is part 1 of 'w', expected part 0}}
func.func @main(
    %a: tensor<4xi16> {step.role = #step.role<parameter>, step.role_reason = "", step.name = "a", step.aliases = [], step.successor = 0 : i64, step.holds = {part = 1 : i64, rule = "high_and_low", tensor = "w"}})
    -> (tensor<4xi16> {step.name = "a", step.aliases = [], step.holds = {part = 1 : i64, rule = "high_and_low", tensor = "w"}}) {
  return %a : tensor<4xi16>
}

// -----

// expected-error@+1 {{argument 1, part 1 of 'w', has the type 'tensor<5xi16>', expected a bf16 and an i16 of one shape}}
func.func @main(
    %a: tensor<4xbf16> {step.role = #step.role<parameter>, step.role_reason = "", step.name = "a", step.aliases = [], step.successor = 0 : i64, step.holds = {part = 0 : i64, rule = "high_and_low", tensor = "w"}},
    %b: tensor<5xi16> {step.role = #step.role<parameter>, step.role_reason = "", step.name = "b", step.aliases = [], step.successor = 1 : i64, step.holds = {part = 1 : i64, rule = "high_and_low", tensor = "w"}})
    -> (tensor<4xbf16> {step.name = "a", step.aliases = [], step.holds = {part = 0 : i64, rule = "high_and_low", tensor = "w"}}, tensor<5xi16> {step.name = "b", step.aliases = [], step.holds = {part = 1 : i64, rule = "high_and_low", tensor = "w"}}) {
  return %a, %b : tensor<4xbf16>, tensor<5xi16>
}

// -----

// expected-error@+1 {{argument 1 is part 1 of 'w', its successor, result 1, is not}}
func.func @main(
    %a: tensor<4xbf16> {step.role = #step.role<parameter>, step.role_reason = "", step.name = "a", step.aliases = [], step.successor = 0 : i64, step.holds = {part = 0 : i64, rule = "high_and_low", tensor = "w"}},
    %b: tensor<4xi16> {step.role = #step.role<parameter>, step.role_reason = "", step.name = "b", step.aliases = [], step.successor = 1 : i64, step.holds = {part = 1 : i64, rule = "high_and_low", tensor = "w"}})
    -> (tensor<4xbf16> {step.name = "a", step.aliases = [], step.holds = {part = 0 : i64, rule = "high_and_low", tensor = "w"}}, tensor<4xi16> {step.name = "b", step.aliases = []}) {
  return %a, %b : tensor<4xbf16>, tensor<4xi16>
}

// -----

// expected-error@+1 {{argument 1 is a part of 'w' by the rule 'high_and_low', expected 'converted' as of part 0}}
func.func @main(
    %a: tensor<4xbf16> {step.role = #step.role<parameter>, step.role_reason = "", step.name = "a", step.aliases = [], step.successor = 0 : i64, step.holds = {part = 0 : i64, rule = "converted", tensor = "w"}},
    %b: tensor<4xi16> {step.role = #step.role<parameter>, step.role_reason = "", step.name = "b", step.aliases = [], step.successor = 1 : i64, step.holds = {part = 1 : i64, rule = "high_and_low", tensor = "w"}})
    -> (tensor<4xbf16> {step.name = "a", step.aliases = [], step.holds = {part = 0 : i64, rule = "converted", tensor = "w"}}, tensor<4xi16> {step.name = "b", step.aliases = [], step.holds = {part = 1 : i64, rule = "high_and_low", tensor = "w"}}) {
  return %a, %b : tensor<4xbf16>, tensor<4xi16>
}

// -----

// expected-error@+1 {{argument 0, part 0 of 'a', has the type 'tensor<4xf32>', expected a bf16}}
func.func @main(
    %a: tensor<4xf32> {step.role = #step.role<parameter>, step.role_reason = "", step.name = "a", step.aliases = [], step.successor = 0 : i64, step.holds = {part = 0 : i64, rule = "converted", tensor = "a"}})
    -> (tensor<4xf32> {step.name = "a", step.aliases = [], step.holds = {part = 0 : i64, rule = "converted", tensor = "a"}}) {
  return %a : tensor<4xf32>
}
