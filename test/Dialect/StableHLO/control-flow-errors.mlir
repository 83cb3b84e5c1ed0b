// Constraints of control flow, tuples and custom calls, one failing case or more per number.
// RUN: tenon-opt %s --split-input-file --verify-diagnostics

func.func @while_c1(%a: tensor<i32>, %b: tensor<2xf32>) {
  // expected-error@+1 {{'stablehlo.while' op value #0 returned by region 'cond' has type 'tensor<i32>', expected 'tensor<i1>'}}
  %r:2 = "stablehlo.while"(%a, %b) ({
  ^bb0(%x: tensor<i32>, %y: tensor<2xf32>):
    stablehlo.return %x : tensor<i32>
  }, {
  ^bb0(%x: tensor<i32>, %y: tensor<2xf32>):
    stablehlo.return %x, %y : tensor<i32>, tensor<2xf32>
  }) : (tensor<i32>, tensor<2xf32>) -> (tensor<i32>, tensor<2xf32>)
  return
}

// -----

func.func @while_c1_b(%a: tensor<i32>, %b: tensor<2xf32>) {
  // expected-error@+1 {{'stablehlo.while' op region 'cond' has 1 argument, expected 2}}
  %r:2 = "stablehlo.while"(%a, %b) ({
  ^bb0(%x: tensor<i32>):
    %p = stablehlo.compare LT, %x, %x : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }, {
  ^bb0(%x: tensor<i32>, %y: tensor<2xf32>):
    stablehlo.return %x, %y : tensor<i32>, tensor<2xf32>
  }) : (tensor<i32>, tensor<2xf32>) -> (tensor<i32>, tensor<2xf32>)
  return
}

// -----

func.func @while_c2(%a: tensor<i32>, %b: tensor<2xf32>) {
  // expected-error@+1 {{'stablehlo.while' op argument #1 of region 'body' has type 'tensor<3xf32>', expected 'tensor<2xf32>'}}
  %r:2 = "stablehlo.while"(%a, %b) ({
  ^bb0(%x: tensor<i32>, %y: tensor<2xf32>):
    %p = stablehlo.compare LT, %x, %x : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }, {
  ^bb0(%x: tensor<i32>, %y: tensor<3xf32>):
    stablehlo.return %x, %y : tensor<i32>, tensor<3xf32>
  }) : (tensor<i32>, tensor<2xf32>) -> (tensor<i32>, tensor<2xf32>)
  return
}

// -----

func.func @while_c2_b(%a: tensor<i32>, %b: tensor<2xf32>) {
  // expected-error@+1 {{'stablehlo.while' op region 'body' returns 1 value, expected 2}}
  %r:2 = "stablehlo.while"(%a, %b) ({
  ^bb0(%x: tensor<i32>, %y: tensor<2xf32>):
    %p = stablehlo.compare LT, %x, %x : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }, {
  ^bb0(%x: tensor<i32>, %y: tensor<2xf32>):
    stablehlo.return %x : tensor<i32>
  }) : (tensor<i32>, tensor<2xf32>) -> (tensor<i32>, tensor<2xf32>)
  return
}

// -----

func.func @while_c3(%a: tensor<i32>, %b: tensor<2xf32>) {
  // expected-error@+1 {{'stablehlo.while' op expected 'operand' #1 and 'results' #1 to have the same type, found 'tensor<2xf32>' and 'tensor<3xf32>'}}
  %r:2 = "stablehlo.while"(%a, %b) ({
  ^bb0(%x: tensor<i32>, %y: tensor<2xf32>):
    %p = stablehlo.compare LT, %x, %x : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }, {
  ^bb0(%x: tensor<i32>, %y: tensor<2xf32>):
    stablehlo.return %x, %y : tensor<i32>, tensor<2xf32>
  }) : (tensor<i32>, tensor<2xf32>) -> (tensor<i32>, tensor<3xf32>)
  return
}

// -----

func.func @while_c3_b(%a: tensor<i32>, %b: tensor<2xf32>) {
  // expected-error@+1 {{'stablehlo.while' op 'results' has 1 entry, expected 2, one for each value that goes in}}
  %r = "stablehlo.while"(%a, %b) ({
  ^bb0(%x: tensor<i32>, %y: tensor<2xf32>):
    %p = stablehlo.compare LT, %x, %x : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }, {
  ^bb0(%x: tensor<i32>, %y: tensor<2xf32>):
    stablehlo.return %x, %y : tensor<i32>, tensor<2xf32>
  }) : (tensor<i32>, tensor<2xf32>) -> tensor<i32>
  return
}

// -----

func.func @case_c1(%a: tensor<i32>) {
  // expected-error@+1 {{'stablehlo.case' op has no branches, expected at least one}}
  "stablehlo.case"(%a) : (tensor<i32>) -> ()
  return
}

// -----

func.func @case_c2(%a: tensor<i32>, %b: tensor<2xf32>) {
  // expected-error@+1 {{'stablehlo.case' op region 'branches' #0 has 1 argument, expected 0}}
  %r = "stablehlo.case"(%a) ({
  ^bb0(%x: tensor<2xf32>):
    stablehlo.return %x : tensor<2xf32>
  }) : (tensor<i32>) -> tensor<2xf32>
  return
}

// -----

func.func @case_c3(%a: tensor<i32>, %b: tensor<2xf32>) {
  // expected-error@+1 {{'stablehlo.case' op value #0 returned by region 'branches' #1 has type 'tensor<i32>', expected 'tensor<2xf32>'}}
  %r = "stablehlo.case"(%a) ({
    stablehlo.return %b : tensor<2xf32>
  }, {
    stablehlo.return %a : tensor<i32>
  }) : (tensor<i32>) -> tensor<2xf32>
  return
}

// -----

func.func @case_c4(%a: tensor<i32>, %b: tensor<2xf32>) {
  // expected-error@+1 {{'stablehlo.case' op value #0 returned by region 'branches' #0 has type 'tensor<2xf32>', expected 'tensor<3xf32>'}}
  %r = "stablehlo.case"(%a) ({
    stablehlo.return %b : tensor<2xf32>
  }) : (tensor<i32>) -> tensor<3xf32>
  return
}

// -----

func.func @if_c1(%a: tensor<i1>, %b: tensor<2xf32>) {
  // expected-error@+1 {{'stablehlo.if' op region 'true_branch' has 1 argument, expected 0}}
  %r = "stablehlo.if"(%a) ({
  ^bb0(%x: tensor<2xf32>):
    stablehlo.return %x : tensor<2xf32>
  }, {
    stablehlo.return %b : tensor<2xf32>
  }) : (tensor<i1>) -> tensor<2xf32>
  return
}

// -----

func.func @if_c2(%a: tensor<i1>, %b: tensor<2xf32>) {
  // expected-error@+1 {{'stablehlo.if' op value #0 returned by region 'false_branch' has type 'tensor<i1>', expected 'tensor<2xf32>'}}
  %r = "stablehlo.if"(%a) ({
    stablehlo.return %b : tensor<2xf32>
  }, {
    stablehlo.return %a : tensor<i1>
  }) : (tensor<i1>) -> tensor<2xf32>
  return
}

// -----

func.func @if_c3(%a: tensor<i1>, %b: tensor<2xf32>) {
  // expected-error@+1 {{'stablehlo.if' op value #0 returned by region 'true_branch' has type 'tensor<2xf32>', expected 'tensor<2xf64>'}}
  %r = "stablehlo.if"(%a) ({
    stablehlo.return %b : tensor<2xf32>
  }, {
    stablehlo.return %b : tensor<2xf32>
  }) : (tensor<i1>) -> tensor<2xf64>
  return
}

// -----

func.func @optimization_barrier_c1(%a: tensor<2xf32>, %b: tensor<i32>) {
  // expected-error@+1 {{'stablehlo.optimization_barrier' op expected 'operand' #1 and 'results' #1 to have the same type, found 'tensor<i32>' and 'tensor<f32>'}}
  %r:2 = "stablehlo.optimization_barrier"(%a, %b) : (tensor<2xf32>, tensor<i32>) -> (tensor<2xf32>, tensor<f32>)
  return
}

// -----

func.func @optimization_barrier_c1_b(%a: tensor<2xf32>, %b: tensor<i32>) {
  // expected-error@+1 {{'stablehlo.optimization_barrier' op 'results' has 1 entry, expected 2, one for each value that goes in}}
  %r = "stablehlo.optimization_barrier"(%a, %b) : (tensor<2xf32>, tensor<i32>) -> tensor<2xf32>
  return
}

// -----

func.func @get_tuple_element_c1(%a: tuple<tensor<i32>, tensor<f32>>) {
  // expected-error@+1 {{'stablehlo.get_tuple_element' op 'index' is 2, expected at least 0 and less than 2, the number of elements of 'operand'}}
  %r = "stablehlo.get_tuple_element"(%a) <{index = 2 : i32}> : (tuple<tensor<i32>, tensor<f32>>) -> tensor<f32>
  return
}

// -----

func.func @get_tuple_element_c1_b(%a: tuple<tensor<i32>, tensor<f32>>) {
  // expected-error@+1 {{'stablehlo.get_tuple_element' op 'index' is -1, expected at least 0 and less than 2, the number of elements of 'operand'}}
  %r = "stablehlo.get_tuple_element"(%a) <{index = -1 : i32}> : (tuple<tensor<i32>, tensor<f32>>) -> tensor<f32>
  return
}

// -----

func.func @get_tuple_element_c2(%a: tuple<tensor<i32>, tensor<f32>>) {
  // expected-error@+1 {{'stablehlo.get_tuple_element' op expected 'operand' and 'result' to have the same type, found 'tensor<i32>' and 'tensor<f32>'}}
  %r = "stablehlo.get_tuple_element"(%a) <{index = 0 : i32}> : (tuple<tensor<i32>, tensor<f32>>) -> tensor<f32>
  return
}

// -----

func.func @custom_call_layouts(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{'stablehlo.custom_call' op has 'operand_layouts' only, expected layouts for both operands and results or for neither}}
  %r = "stablehlo.custom_call"(%a) <{call_target_name = "f", operand_layouts = [dense<[1, 0]> : tensor<2xindex>]}> : (tensor<2x3xf32>) -> tensor<f32>
  return
}

// -----

func.func @custom_call_layouts_b(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{'stablehlo.custom_call' op 'operand_layouts' has 0 entries, expected 1, one for each value}}
  %r = "stablehlo.custom_call"(%a) <{call_target_name = "f", operand_layouts = [], result_layouts = [dense<> : tensor<0xindex>]}> : (tensor<2x3xf32>) -> tensor<f32>
  return
}

// -----

func.func @custom_call_layouts_c(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{'stablehlo.custom_call' op 'operand_layouts' #0 holds 1 twice, at positions 0 and 1, expected distinct values}}
  %r = "stablehlo.custom_call"(%a) <{call_target_name = "f", operand_layouts = [dense<[1, 1]> : tensor<2xindex>], result_layouts = [dense<> : tensor<0xindex>]}> : (tensor<2x3xf32>) -> tensor<f32>
  return
}

// -----

func.func @custom_call_layouts_d(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{'stablehlo.custom_call' op 'operand_layouts' #0 holds 2 at position 1, expected a dimension of 'inputs' #0 of rank 2 (at least 0, less than 2)}}
  %r = "stablehlo.custom_call"(%a) <{call_target_name = "f", operand_layouts = [dense<[0, 2]> : tensor<2xindex>], result_layouts = [dense<> : tensor<0xindex>]}> : (tensor<2x3xf32>) -> tensor<f32>
  return
}

// -----

func.func @custom_call_layouts_e(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{'stablehlo.custom_call' op 'operand_layouts' #0 has 1 entry, expected 2, one for each dimension}}
  %r = "stablehlo.custom_call"(%a) <{call_target_name = "f", operand_layouts = [dense<[0]> : tensor<1xindex>], result_layouts = [dense<> : tensor<0xindex>]}> : (tensor<2x3xf32>) -> tensor<f32>
  return
}

// -----

func.func @custom_call_aliases(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{'stablehlo.custom_call' op 'output_operand_aliases' #0 names operand 1, expected at least 0 and less than 1}}
  %r = "stablehlo.custom_call"(%a) <{call_target_name = "f", output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>]}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @custom_call_aliases_b(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{'stablehlo.custom_call' op 'output_operand_aliases' #0 is #stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>, whose output tuple indices name no value}}
  %r = "stablehlo.custom_call"(%a) <{call_target_name = "f", output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>]}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @custom_call_aliases_c(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{'stablehlo.custom_call' op expected 'aliased operand' and 'aliased output' to have the same type, found 'tensor<2x3xf32>' and 'tensor<2x4xf32>'}}
  %r = "stablehlo.custom_call"(%a) <{call_target_name = "f", output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>]}> : (tensor<2x3xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @custom_call_aliases_d(%a: tensor<2x3xf32>) {
  // expected-error@+1 {{'stablehlo.custom_call' op 'output_operand_aliases' #0 is #stablehlo.output_operand_alias<output_tuple_indices = [2], operand_index = 0, operand_tuple_indices = []>, whose output tuple indices name no value}}
  %r:2 = "stablehlo.custom_call"(%a) <{call_target_name = "f", output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [2], operand_index = 0, operand_tuple_indices = []>]}> : (tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>)
  return
}

// -----

func.func @tuple_c1(%a: tensor<2xf32>, %b: tensor<i32>) {
  // expected-error@+1 {{'stablehlo.tuple' op 'result' has type 'tuple<tensor<2xf32>, tensor<f32>>', expected 'tuple<tensor<2xf32>, tensor<i32>>'}}
  %r = "stablehlo.tuple"(%a, %b) : (tensor<2xf32>, tensor<i32>) -> tuple<tensor<2xf32>, tensor<f32>>
  return
}

// -----

func.func private @decomposition(%x: tensor<2xf32>) -> tensor<2xf32> {
  return %x : tensor<2xf32>
}
func.func @composite_c1(%a: tensor<2xf32>) {
  // expected-error@+1 {{'stablehlo.composite' op 'name' is "op", expected identifiers joined by dots, such as "my_namespace.my_operation"}}
  %r = "stablehlo.composite"(%a) <{name = "op", decomposition = @decomposition}> : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func private @decomposition(%x: tensor<2xf32>) -> tensor<2xf32> {
  return %x : tensor<2xf32>
}
func.func @composite_c1_b(%a: tensor<2xf32>) {
  // expected-error@+1 {{'stablehlo.composite' op 'name' is "my.", expected identifiers joined by dots, such as "my_namespace.my_operation"}}
  %r = "stablehlo.composite"(%a) <{name = "my.", decomposition = @decomposition}> : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func private @decomposition(%x: tensor<2xf32>) -> tensor<2xf32> {
  return %x : tensor<2xf32>
}
func.func @composite_c1_c(%a: tensor<2xf32>) {
  // expected-error@+1 {{'stablehlo.composite' op 'name' is "1my.op", expected identifiers joined by dots, such as "my_namespace.my_operation"}}
  %r = "stablehlo.composite"(%a) <{name = "1my.op", decomposition = @decomposition}> : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func private @decomposition(%x: tensor<2xf32>) -> tensor<2xf32> {
  return %x : tensor<2xf32>
}
func.func @composite_c2(%a: tensor<2xf32>) {
  // expected-error@+1 {{'stablehlo.composite' op names the decomposition @missing, which is no function of this module (C2)}}
  %r = "stablehlo.composite"(%a) <{name = "my.op", decomposition = @missing}> : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func private @decomposition(%x: tensor<2xf32>) -> tensor<2xf32> {
  return %x : tensor<2xf32>
}
func.func @composite_c3(%a: tensor<3xf32>) {
  // expected-error@+1 {{'stablehlo.composite' op passes ('tensor<3xf32>') to a decomposition that takes ('tensor<2xf32>') (C3)}}
  %r = "stablehlo.composite"(%a) <{name = "my.op", decomposition = @decomposition}> : (tensor<3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func private @decomposition(%x: tensor<2xf32>) -> tensor<2xf32> {
  return %x : tensor<2xf32>
}
func.func @composite_c4(%a: tensor<2xf32>) {
  // expected-error@+1 {{'stablehlo.composite' op returns ('tensor<3xf32>') of a decomposition that returns ('tensor<2xf32>') (C4)}}
  %r = "stablehlo.composite"(%a) <{name = "my.op", decomposition = @decomposition}> : (tensor<2xf32>) -> tensor<3xf32>
  return
}
