// What the parsers and verifiers of the dialect refuse.
// RUN: tenon-opt %s --split-input-file --verify-diagnostics

// axis_size
// expected-error@+1 {{custom op 'sdy.mesh' axis "a" has size 0, expected at least 1}}
sdy.mesh @grid = <["a"=0]>

// -----

// axis_twice
// expected-error@+1 {{custom op 'sdy.mesh' axis "a" is given twice, expected distinct names}}
sdy.mesh @grid = <["a"=2, "a"=2]>

// -----

// device_count
// expected-error@+1 {{custom op 'sdy.mesh' mesh lists 3 device ids, expected 2, the product of the sizes of its axes}}
sdy.mesh @grid = <["a"=2], device_ids=[0, 1, 2]>

// -----

// device_numbers
// expected-error@+1 {{custom op 'sdy.mesh' device ids do not count from 0 to 1: expected 1, found 2}}
sdy.mesh @grid = <["a"=2], device_ids=[0, 2]>

// -----

// device_negative
// expected-error@+1 {{custom op 'sdy.mesh' device id -1, expected at least 0}}
sdy.mesh @grid = <[], device_ids=[-1]>

// -----

// device_several
// expected-error@+1 {{custom op 'sdy.mesh' mesh without axes has 2 device ids, expected none or 1}}
sdy.mesh @grid = <[], device_ids=[1, 2]>

// -----

// device_overflow
// expected-error@+1 {{custom op 'sdy.mesh' sizes of the axes multiply to more than 9223372036854775807 devices}}
sdy.mesh @grid = <["a"=4611686018427387904, "b"=4]>

// -----

// priority_text
// expected-error@+1 {{found 'q1', expected a priority such as 'p1' that fits in 64 bits}}
func.func private @f() attributes {x = #sdy.sharding<@grid, [{}q1]>}

// -----

// member
// expected-error@+1 {{unknown member 'unreducd', expected 'replicated' or 'unreduced'}}
func.func private @f() attributes {x = #sdy.sharding<@grid, [], unreducd={"a"}>}

// -----

// member_twice
// expected-error@+1 {{'replicated' is given twice}}
func.func private @f() attributes {x = #sdy.sharding<@grid, [], replicated={"a"}, replicated={"b"}>}

// -----

// member_empty
// expected-error@+1 {{'replicated' lists no axes; leave it out}}
func.func private @f() attributes {x = #sdy.sharding<@grid, [], replicated={}>}

// -----

// reduction
// expected-error@+1 {{found reduction 'mean', expected 'sum', 'max' or 'min'}}
func.func private @f() attributes {x = #sdy.sharding<@grid, [], unreduced=mean{"a"}>}

// -----

// factor_letter
// expected-error@+1 {{found 'a', expected factors written i to z, z_1, z_2, ...}}
func.func private @f() attributes {x = #sdy.op_sharding_rule<([a])->([a]) {i=2}>}

// -----

// factor_order
// expected-error@+1 {{found factor 'j', expected 'i', the next in order}}
func.func private @f() attributes {x = #sdy.op_sharding_rule<([j])->([j]) {j=2}>}

// -----

// factor_group
// expected-error@+1 {{found 2 factors, expected 1}}
func.func private @f() attributes {x = #sdy.op_sharding_rule<([i, j])->([i]) {i=2, j=2} reduction={ij}>}

// -----

// edge
// expected-error@+1 {{found 'input', expected 'operand' or 'result'}}
func.func private @f() attributes {x = #sdy<edge_value_ref input-0>}

// -----

sdy.mesh @grid = <["a"=2, "b"=4]>
func.func @unknown_mesh(%x: tensor<8x8xf32>) {
  // expected-error@+1 {{'sdy.reshard' op 'sharding': unknown mesh @other, expected an sdy.mesh of that name}}
  %0 = sdy.reshard %x <@other, [{}, {}]> : tensor<8x8xf32>
  return
}

// -----

sdy.mesh @grid = <["a"=2, "b"=4]>
func.func @rank(%x: tensor<8x8xf32>) {
  // expected-error@+1 {{'sdy.reshard' op 'sharding': sharding has 1 dimensions, expected 2, the rank of 'tensor<8x8xf32>'}}
  %0 = sdy.reshard %x <@grid, [{"a"}]> : tensor<8x8xf32>
  return
}

// -----

sdy.mesh @grid = <["a"=2, "b"=4]>
func.func @unknown_axis(%x: tensor<8x8xf32>) {
  // expected-error@+1 {{'sdy.reshard' op 'sharding': unknown axis "c", expected an axis of the mesh #sdy.mesh<["a"=2, "b"=4]>}}
  %0 = sdy.reshard %x <@grid, [{"c"}, {}]> : tensor<8x8xf32>
  return
}

// -----

sdy.mesh @grid = <["a"=2, "b"=4]>
func.func @axis_reuse(%x: tensor<8x8xf32>) {
  // expected-error@+1 {{'sdy.reshard' op 'sharding': axis "a" is used twice, expected every axis (or part of one) once}}
  %0 = sdy.reshard %x <@grid, [{"a"}, {"a"}]> : tensor<8x8xf32>
  return
}

// -----

sdy.mesh @grid = <["a"=2, "b"=4]>
func.func @axis_overlap(%x: tensor<8x8xf32>) {
  // expected-error@+1 {{'sdy.reshard' op 'sharding': axis "b" is used twice, expected every axis (or part of one) once}}
  %0 = sdy.reshard %x <@grid, [{"b":(1)2}, {"b"}]> : tensor<8x8xf32>
  return
}

// -----

sdy.mesh @grid = <["a"=2, "b"=4]>
func.func @axis_replicated(%x: tensor<8x8xf32>) {
  // expected-error@+1 {{'sdy.reshard' op 'sharding': axis "a" is used twice, expected every axis (or part of one) once}}
  %0 = sdy.reshard %x <@grid, [{"a"}, {}], replicated={"a"}> : tensor<8x8xf32>
  return
}

// -----

sdy.mesh @grid = <["a"=2, "b"=4]>
func.func @part_range(%x: tensor<8x8xf32>) {
  // expected-error@+1 {{'sdy.reshard' op 'sharding': part (2)4 of axis "b", expected both to divide the axis' size 4}}
  %0 = sdy.reshard %x <@grid, [{"b":(2)4}, {}]> : tensor<8x8xf32>
  return
}

// -----

sdy.mesh @grid = <["a"=2, "b"=4]>
func.func @part_size(%x: tensor<8x8xf32>) {
  // expected-error@+1 {{'sdy.reshard' op 'sharding': part (2)1 of axis "b", expected at least 1 before it and a size of at least 2}}
  %0 = sdy.reshard %x <@grid, [{"b":(2)1}, {}]> : tensor<8x8xf32>
  return
}

// -----

sdy.mesh @grid = <["a"=2, "b"=4]>
func.func @part_whole(%x: tensor<8x8xf32>) {
  // expected-error@+1 {{'sdy.reshard' op 'sharding': part (1)4 of axis "b" is the whole axis, which is written without a part}}
  %0 = sdy.reshard %x <@grid, [{"b":(1)4}, {}]> : tensor<8x8xf32>
  return
}

// -----

sdy.mesh @grid = <["a"=2, "b"=4]>
func.func @part_neighbours(%x: tensor<8x8xf32>) {
  // expected-error@+1 {{'sdy.reshard' op 'sharding': parts of axis "b" at positions 0 and 1 follow each other, expected one part}}
  %0 = sdy.reshard %x <@grid, [{"b":(1)2, "b":(2)2}, {}]> : tensor<8x8xf32>
  return
}

// -----

sdy.mesh @grid = <["a"=2, "b"=4]>
func.func @order(%x: tensor<8x8xf32>) {
  // expected-error@+1 {{'sdy.reshard' op 'sharding': axis "a" at position 1 comes before axis "b" in the mesh, expected the mesh's order}}
  %0 = sdy.reshard %x <@grid, [{}, {}], replicated={"b", "a"}> : tensor<8x8xf32>
  return
}

// -----

sdy.mesh @grid = <["a"=2, "b"=4]>
func.func @priority(%x: tensor<8x8xf32>) {
  // expected-error@+1 {{'sdy.reshard' op 'sharding': dimension 0 is closed, has no axes and a priority; expected an axis, '?', or no priority}}
  %0 = sdy.reshard %x <@grid, [{}p1, {}]> : tensor<8x8xf32>
  return
}

// -----

sdy.mesh @grid = <["a"=2, "b"=4]>
func.func @empty_dimension(%x: tensor<0x8xf32>) {
  // expected-error@+1 {{'sdy.reshard' op 'sharding': dimension 0 of 'tensor<0x8xf32>' is empty and cannot be split}}
  %0 = sdy.reshard %x <@grid, [{"a"}, {}]> : tensor<0x8xf32>
  return
}

// -----

sdy.mesh @grid = <["a"=2, "b"=4]>
func.func @no_tensor(%x: tuple<tensor<f32>>) {
  // expected-error@+1 {{'sdy.reshard' op 'sharding': a value of type 'tuple<tensor<f32>>' has 1 dimension shardings and 0 replicated axes, expected none}}
  %0 = sdy.reshard %x <@grid, [{}]> : tuple<tensor<f32>>
  return
}

// -----

sdy.mesh @one = <[], device_ids=[0]>
func.func @maximal(%x: tensor<8x8xf32>) {
  // expected-error@+1 {{'sdy.reshard' op 'sharding': sharding on a single device is of rank 2, expected neither dimensions nor axes}}
  %0 = sdy.reshard %x <@one, [{}, {}]> : tensor<8x8xf32>
  return
}

// -----

sdy.mesh @grid = <["a"=2, "b"=4]>
func.func @barrier(%x: tensor<8x8xf32>) {
  // expected-error@+1 {{'sdy.propagation_barrier' op 'allowed_direction' is BOTH, which is no barrier; expected NONE, FORWARD or BACKWARD}}
  %0 = sdy.propagation_barrier %x allowed_direction=BOTH : tensor<8x8xf32>
  return
}

// -----

sdy.mesh @grid = <["a"=2, "b"=4]>
func.func @edge_of_sdy(%x: tensor<8x8xf32>) {
  %0 = sdy.data_flow_edge %x : tensor<8x8xf32>
  // expected-error@+1 {{'sdy.data_flow_edge' op 'input' is defined by sdy.data_flow_edge, expected an operation of another dialect}}
  %1 = sdy.data_flow_edge %0 : tensor<8x8xf32>
  return
}

// -----

sdy.mesh @grid = <["a"=2, "b"=4]>
// expected-error@+1 {{'func.func' op attribute 'sdy.sharding' of argument #0: is 1 : i32, expected #sdy.sharding}}
func.func @argument_kind(%x: tensor<8x8xf32> {sdy.sharding = 1 : i32}) {
  return
}

// -----

sdy.mesh @grid = <["a"=2, "b"=4]>
// expected-error@+1 {{'func.func' op attribute 'sdy.sharding' of argument #0: sharding has 1 dimensions, expected 2, the rank of 'tensor<8x8xf32>'}}
func.func @argument_rank(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{}]>}) {
  return
}

// -----

sdy.mesh @grid = <["a"=2, "b"=4]>
func.func @operation_kind(%x: tensor<8x8xf32>) {
  // expected-error@+1 {{'stablehlo.add' op attribute 'sdy.sharding' is #sdy.sharding<@grid, [{}, {}]>, expected #sdy.sharding_per_value}}
  %0 = stablehlo.add %x, %x {sdy.sharding = #sdy.sharding<@grid, [{}, {}]>} : tensor<8x8xf32>
  return
}

// -----

sdy.mesh @grid = <["a"=2, "b"=4]>
func.func @operation_count(%x: tensor<8x8xf32>) {
  // expected-error@+1 {{'stablehlo.add' op attribute 'sdy.sharding' has 0 shardings, expected one for each of 1 results}}
  %0 = stablehlo.add %x, %x {sdy.sharding = #sdy.sharding_per_value<[]>} : tensor<8x8xf32>
  return
}

// -----

sdy.mesh @grid = <["a"=2, "b"=4]>
func.func @operation_axis(%x: tensor<8x8xf32>) {
  // expected-error@+1 {{'stablehlo.add' op attribute 'sdy.sharding' of result #0: unknown axis "c", expected an axis of the mesh #sdy.mesh<["a"=2, "b"=4]>}}
  %0 = stablehlo.add %x, %x {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"c"}, {}]>]>} : tensor<8x8xf32>
  return
}

// -----

sdy.mesh @grid = <["a"=2, "b"=4]>
func.func @rule_operands(%x: tensor<8x8xf32>) {
  // expected-error@+1 {{'stablehlo.negate' op attribute 'sdy.sharding_rule' rule has 2 operand mappings, expected 1}}
  %0 = stablehlo.negate %x {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [i, j])->([i, j]) {i=8, j=8}>} : tensor<8x8xf32>
  return
}

// -----

sdy.mesh @grid = <["a"=2, "b"=4]>
func.func @rule_rank(%x: tensor<8x8xf32>) {
  // expected-error@+1 {{'stablehlo.negate' op attribute 'sdy.sharding_rule' operand #0 is of rank 1 in the rule, expected 2, the rank of 'tensor<8x8xf32>'}}
  %0 = stablehlo.negate %x {sdy.sharding_rule = #sdy.op_sharding_rule<([i])->([i, j]) {i=8, j=8}>} : tensor<8x8xf32>
  return
}

// -----

sdy.mesh @grid = <["a"=2, "b"=4]>
func.func @rule_factor(%x: tensor<8x8xf32>) {
  // expected-error@+1 {{'stablehlo.negate' op attribute 'sdy.sharding_rule' dimension 1 of operand #0 is mapped to factor 2, expected less than 2}}
  %0 = stablehlo.negate %x {sdy.sharding_rule = #sdy.op_sharding_rule<([i, k])->([i, j]) {i=8, j=8}>} : tensor<8x8xf32>
  return
}

// -----

sdy.mesh @grid = <["a"=2, "b"=4]>
func.func @rule_repeat(%x: tensor<8x8xf32>) {
  // expected-error@+1 {{'stablehlo.negate' op attribute 'sdy.sharding_rule' operand #0 is mapped to factor 0 twice}}
  %0 = stablehlo.negate %x {sdy.sharding_rule = #sdy.op_sharding_rule<([i, i])->([i, j]) {i=8, j=8}>} : tensor<8x8xf32>
  return
}

// -----

sdy.mesh @grid = <["a"=2, "b"=4]>
func.func @rule_one(%x: tensor<8x8xf32>) {
  // expected-error@+1 {{'stablehlo.negate' op attribute 'sdy.sharding_rule' dimension 0 of operand #0 is mapped to several factors of which factor 2 has size 1}}
  %0 = stablehlo.negate %x {sdy.sharding_rule = #sdy.op_sharding_rule<([ik, j])->([i, j]) {i=8, j=8, k=1}>} : tensor<8x8xf32>
  return
}

// -----

sdy.mesh @grid = <["a"=2, "b"=4]>
func.func @rule_unused(%x: tensor<8x8xf32>) {
  // expected-error@+1 {{'stablehlo.negate' op attribute 'sdy.sharding_rule' rule has factor 2 that no dimension is mapped to}}
  %0 = stablehlo.negate %x {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=8, k=2}>} : tensor<8x8xf32>
  return
}

// -----

sdy.mesh @grid = <["a"=2, "b"=4]>
func.func @rule_groups(%x: tensor<8x8xf32>) {
  // expected-error@+1 {{'stablehlo.negate' op attribute 'sdy.sharding_rule' rule gives factor 0 a type twice, expected once}}
  %0 = stablehlo.negate %x {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=8} reduction={i} permutation={i}>} : tensor<8x8xf32>
  return
}

// -----

sdy.mesh @grid = <["a"=2, "b"=4]>
func.func @rule_group_range(%x: tensor<8x8xf32>) {
  // expected-error@+1 {{'stablehlo.negate' op attribute 'sdy.sharding_rule' rule gives factor 2 a type, expected less than 2}}
  %0 = stablehlo.negate %x {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=8} reduction={k}>} : tensor<8x8xf32>
  return
}

// -----

sdy.mesh @grid = <["a"=2, "b"=4]>
func.func @rule_blocked(%x: tensor<8x8xf32>) {
  // expected-error@+1 {{'stablehlo.negate' op attribute 'sdy.sharding_rule' rule blocks factor 17, expected less than 2}}
  %0 = stablehlo.negate %x {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=8} blocked_propagation={z}>} : tensor<8x8xf32>
  return
}

// -----

sdy.mesh @grid = <["a"=2, "b"=4]>
func.func @manual_arguments(%x: tensor<8x8xf32>) {
  // expected-error@+1 {{'sdy.manual_computation' op has 0 block arguments, expected 1}}
  %0 = sdy.manual_computation(%x) in_shardings=[<@grid, [{"a"}, {}]>] out_shardings=[<@grid, [{"a"}, {}]>] manual_axes={"a"} () {
    sdy.return
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return
}

// -----

sdy.mesh @grid = <["a"=2, "b"=4]>
func.func @manual_results(%x: tensor<8x8xf32>) {
  // expected-error@+1 {{'sdy.manual_computation' op has 0 returned values, expected 1}}
  %0 = sdy.manual_computation(%x) in_shardings=[<@grid, [{"a"}, {}]>] out_shardings=[<@grid, [{"a"}, {}]>] manual_axes={"a"} (%y: tensor<4x8xf32>) {
    sdy.return
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return
}

// -----

sdy.mesh @grid = <["a"=2, "b"=4]>
func.func @manual_shardings(%x: tensor<8x8xf32>) {
  // expected-error@+1 {{'sdy.manual_computation' op has 0 in_shardings, expected 1}}
  %0 = sdy.manual_computation(%x) in_shardings=[] out_shardings=[<@grid, [{"a"}, {}]>] manual_axes={"a"} (%y: tensor<4x8xf32>) {
    sdy.return %y : tensor<4x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return
}

// -----

sdy.mesh @grid = <["a"=2, "b"=4]>
func.func @manual_local(%x: tensor<8x8xf32>) {
  // expected-error@+1 {{'sdy.manual_computation' op block argument #0 has type 'tensor<8x8xf32>', expected 'tensor<4x8xf32>', what one device holds of 'tensor<8x8xf32>'}}
  %0 = sdy.manual_computation(%x) in_shardings=[<@grid, [{"a"}, {}]>] out_shardings=[<@grid, [{"a"}, {}]>] manual_axes={"a"} (%y: tensor<8x8xf32>) {
    sdy.return %y : tensor<8x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return
}

// -----

sdy.mesh @grid = <["a"=2, "b"=4]>
func.func @manual_local_result(%x: tensor<8x8xf32>) {
  // expected-error@+1 {{'sdy.manual_computation' op returned value #0 has type 'tensor<4x8xf32>', expected 'tensor<8x8xf32>', what one device holds of 'tensor<8x8xf32>'}}
  %0 = sdy.manual_computation(%x) in_shardings=[<@grid, [{"a"}, {}]>] out_shardings=[<@grid, [{}, {}]>] manual_axes={"a"} (%y: tensor<4x8xf32>) {
    sdy.return %y : tensor<4x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return
}

// -----

sdy.mesh @grid = <["a"=2, "b"=4]>
func.func @manual_axis_twice(%x: tensor<8x8xf32>) {
  // expected-error@+1 {{'sdy.manual_computation' op 'manual_axes' holds "a" twice, expected distinct axes}}
  %0 = sdy.manual_computation(%x) in_shardings=[<@grid, [{"a"}, {}]>] out_shardings=[<@grid, [{"a"}, {}]>] manual_axes={"a", "a"} (%y: tensor<4x8xf32>) {
    sdy.return %y : tensor<4x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return
}

// -----

sdy.mesh @grid = <["a"=2, "b"=4]>
func.func @manual_axis_unknown(%x: tensor<8x8xf32>) {
  // expected-error@+1 {{'sdy.manual_computation' op 'manual_axes' holds unknown axis "c", expected an axis of the mesh #sdy.mesh<["a"=2, "b"=4]>}}
  %0 = sdy.manual_computation(%x) in_shardings=[<@grid, [{}, {}]>] out_shardings=[<@grid, [{}, {}]>] manual_axes={"c"} (%y: tensor<8x8xf32>) {
    sdy.return %y : tensor<8x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return
}

// -----

sdy.mesh @grid = <["a"=2, "b"=4]>
func.func @manual_order(%x: tensor<8x8xf32>) {
  // expected-error@+1 {{'sdy.manual_computation' op in_shardings #0: dimension 0 has free axis "b" before manual axis "a", expected manual axes first}}
  %0 = sdy.manual_computation(%x) in_shardings=[<@grid, [{"b", "a"}, {}]>] out_shardings=[<@grid, [{"a"}, {}]>] manual_axes={"a"} (%y: tensor<4x8xf32>) {
    sdy.return %y : tensor<4x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return
}

// -----

sdy.mesh @grid = <["a"=2, "b"=4]>
func.func @manual_meshes(%x: tensor<8x8xf32>) {
  // expected-error@+1 {{'sdy.manual_computation' op shardings are bound to the meshes #sdy.mesh<["a"=2, "b"=4]> and #sdy.mesh<["a"=2]>, expected one mesh}}
  %0 = sdy.manual_computation(%x) in_shardings=[<@grid, [{"a"}, {}]>] out_shardings=[<mesh<["a"=2]>, [{"a"}, {}]>] manual_axes={"a"} (%y: tensor<4x8xf32>) {
    sdy.return %y : tensor<4x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return
}

// -----

sdy.mesh @grid = <["a"=2, "b"=4]>
func.func @manual_divides(%x: tensor<6xf32>) {
  // expected-error@+1 {{'sdy.manual_computation' op in_shardings #0: dimension 0 has size 6, expected a multiple of the 4 devices along its manual axes}}
  %0 = sdy.manual_computation(%x) in_shardings=[<@grid, [{"b"}]>] out_shardings=[<@grid, [{"b"}]>] manual_axes={"b"} (%y: tensor<2xf32>) {
    sdy.return %y : tensor<2xf32>
  } : (tensor<6xf32>) -> tensor<6xf32>
  return
}

// -----

sdy.mesh @grid = <["a"=2, "b"=4]>
func.func @named_argument(%x: tensor<8x8xf32>) {
  // expected-error@+1 {{'sdy.named_computation' op block argument #0 has type 'tensor<4xf32>', expected 'tensor<8x8xf32>'}}
  %0 = sdy.named_computation<"f">(%x) (%y: tensor<4xf32>) {
    %z = stablehlo.constant dense<0.0> : tensor<8x8xf32>
    sdy.return %z : tensor<8x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return
}

// -----

sdy.mesh @grid = <["a"=2, "b"=4]>
func.func @named_result(%x: tensor<8x8xf32>) {
  // expected-error@+1 {{'sdy.named_computation' op returned value #0 has type 'tensor<8x8xf32>', expected 'tensor<8x9xf32>'}}
  %0 = sdy.named_computation<"f">(%x) (%y: tensor<8x8xf32>) {
    sdy.return %y : tensor<8x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x9xf32>
  return
}

// -----

sdy.mesh @grid = <["a"=2, "b"=4]>
func.func @named_shardings(%x: tensor<8x8xf32>) {
  // expected-error@+1 {{'sdy.named_computation' op has 0 in_shardings, expected 1}}
  %0 = sdy.named_computation<"f">(%x) in_shardings=[] (%y: tensor<8x8xf32>) {
    sdy.return %y : tensor<8x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return
}

// -----

sdy.mesh @grid = <["a"=2, "b"=4]>
func.func @gather_entries(%x: tensor<8x8xf32>) {
  // expected-error@+1 {{'sdy.all_gather' op 'gathering_axes' is of size 1, expected 2, one entry for each dimension}}
  %0 = sdy.all_gather [{"a"}] %x out_sharding=<@grid, [{}, {}]> : tensor<8x8xf32>
  return
}

// -----

sdy.mesh @grid = <["a"=2, "b"=4]>
func.func @gather_axes(%x: tensor<8x8xf32>) {
  // expected-error@+1 {{'sdy.all_gather' op 'gathering_axes' has no axes, expected one}}
  %0 = sdy.all_gather [{}, {}] %x out_sharding=<@grid, [{}, {}]> : tensor<8x8xf32>
  return
}

// -----

sdy.mesh @grid = <["a"=2, "b"=4]>
func.func @gather_axis(%x: tensor<8x8xf32>) {
  // expected-error@+1 {{'sdy.all_gather' op 'gathering_axes': unknown axis "c", expected an axis of the mesh #sdy.mesh<["a"=2, "b"=4]>}}
  %0 = sdy.all_gather [{"c"}, {}] %x out_sharding=<@grid, [{}, {}]> : tensor<8x8xf32>
  return
}

// -----

sdy.mesh @grid = <["a"=2, "b"=4]>
func.func @gather_twice(%x: tensor<8x8xf32>) {
  // expected-error@+1 {{'sdy.all_gather' op 'gathering_axes': axis "a" is used twice, expected every axis (or part of one) once}}
  %0 = sdy.all_gather [{"a"}, {"a"}] %x out_sharding=<@grid, [{}, {}]> : tensor<8x8xf32>
  return
}

// -----

sdy.mesh @grid = <["a"=2, "b"=4]>
func.func @slice_sharding(%x: tensor<8x8xf32>) {
  // expected-error@+1 {{'sdy.all_slice' op 'out_sharding': sharding has 1 dimensions, expected 2, the rank of 'tensor<8x8xf32>'}}
  %0 = sdy.all_slice [{"a"}, {}] %x out_sharding=<@grid, [{"a"}]> : tensor<8x8xf32>
  return
}

// -----

sdy.mesh @grid = <["a"=2, "b"=4]>
func.func @reduce_order(%x: tensor<8x8xf32>) {
  // expected-error@+1 {{'sdy.all_reduce' op 'reduction_axes': axis "a" at position 1 comes before axis "b" in the mesh, expected the mesh's order}}
  %0 = sdy.all_reduce {"b", "a"} %x out_sharding=<@grid, [{}, {}]> : tensor<8x8xf32>
  return
}

// -----

sdy.mesh @grid = <["a"=2, "b"=4]>
func.func @reduce_none(%x: tensor<8x8xf32>) {
  // expected-error@+1 {{'sdy.all_reduce' op 'reduction_axes' has no axes, expected one}}
  %0 = sdy.all_reduce {} %x out_sharding=<@grid, [{}, {}]> : tensor<8x8xf32>
  return
}

// -----

sdy.mesh @grid = <["a"=2, "b"=4]>
func.func @move_none(%x: tensor<8x8xf32>) {
  // expected-error@+1 {{'sdy.all_to_all' op 'params' is empty, expected at least one move}}
  %0 = sdy.all_to_all [] %x out_sharding=<@grid, [{}, {}]> : tensor<8x8xf32>
  return
}

// -----

sdy.mesh @grid = <["a"=2, "b"=4]>
func.func @move_range(%x: tensor<8x8xf32>) {
  // expected-error@+1 {{'sdy.all_to_all' op 'params' #0 names dimension 2, expected at least 0 and less than the rank 2}}
  %0 = sdy.all_to_all [{"a"}: 0->2] %x out_sharding=<@grid, [{}, {}]> : tensor<8x8xf32>
  return
}

// -----

sdy.mesh @grid = <["a"=2, "b"=4]>
func.func @move_repeat(%x: tensor<8x8xf32>) {
  // expected-error@+1 {{'sdy.all_to_all' op 'params' #0 names dimension 0 again, expected every dimension once}}
  %0 = sdy.all_to_all [{"a"}: 0->0] %x out_sharding=<@grid, [{}, {}]> : tensor<8x8xf32>
  return
}

// -----

sdy.mesh @grid = <["a"=2, "b"=4]>
func.func @move_order(%x: tensor<8x8x8x8xf32>) {
  // expected-error@+1 {{'sdy.all_to_all' op 'params' #1 has source dimension 0 after 2, expected ascending order}}
  %0 = sdy.all_to_all [{"a"}: 2->3, {"b"}: 0->1] %x out_sharding=<@grid, [{}, {}, {}, {}]> : tensor<8x8x8x8xf32>
  return
}

// -----

sdy.mesh @grid = <["a"=2, "b"=4]>
func.func @move_axis(%x: tensor<8x8xf32>) {
  // expected-error@+1 {{'sdy.all_to_all' op 'params' #0: unknown axis "c", expected an axis of the mesh #sdy.mesh<["a"=2, "b"=4]>}}
  %0 = sdy.all_to_all [{"c"}: 0->1] %x out_sharding=<@grid, [{}, {}]> : tensor<8x8xf32>
  return
}
