// Every operation of the dialect, written and read back in both forms.
// RUN: tenon-opt %s | FileCheck %s
// RUN: tenon-opt %s --mlir-print-op-generic | FileCheck %s --check-prefix=GENERIC
// RUN: tenon-opt %s --mlir-print-op-generic | tenon-opt | FileCheck %s

// CHECK: sdy.mesh @grid = <["a"=2, "b"=4]>
// GENERIC: "sdy.mesh"() <{mesh = #sdy.mesh<["a"=2, "b"=4]>, sym_name = "grid"}> : () -> ()
sdy.mesh @grid = <["a"=2, "b"=4]>
// CHECK: sdy.mesh @empty = <[]>
sdy.mesh @empty = <[]>
// CHECK: sdy.mesh @one = <[], device_ids=[3]>
sdy.mesh @one = <[], device_ids=[3]>
// CHECK: sdy.mesh @shuffled = <["a"=2, "b"=2], device_ids=[0, 2, 1, 3]>
sdy.mesh @shuffled = <["a"=2, "b"=2], device_ids=[0, 2, 1, 3]>
// Ids that only count are left out.
// CHECK: sdy.mesh @counting = <["a"=2]> {note = "kept"}
sdy.mesh @counting = <["a"=2], device_ids=[0, 1]> {note = "kept"}

// CHECK-LABEL: func.func @constraints
// CHECK-SAME: %arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"a"}, {?}]>}
// CHECK-SAME: -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{}, {"b":(2)2}]>})
func.func @constraints(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"a"}, {?}]>})
    -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{}, {"b":(2)2}]>}) {
  // CHECK: sdy.sharding_constraint %arg0 <@grid, [{"a", ?}p1, {"b"}p0]> : tensor<8x8xf32>
  // GENERIC: "sdy.sharding_constraint"(%{{.*}}) <{sharding = #sdy.sharding<@grid, [{"a", ?}p1, {"b"}p0]>}> : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %0 = sdy.sharding_constraint %x <@grid, [{"a", ?}p1, {"b"}p0]> : tensor<8x8xf32>
  // CHECK: sdy.reshard %{{.*}} <@grid, [{"b"}, {}], replicated={"a"}> : tensor<8x8xf32>
  %1 = sdy.reshard %0 <@grid, [{"b"}, {}], replicated={"a"}> : tensor<8x8xf32>
  // Members may come in any order and are printed in one.
  // CHECK: sdy.reshard %{{.*}} <@grid, [{}, {}], replicated={"a"}, unreduced={"b"}> : tensor<8x8xf32>
  %2 = sdy.reshard %1 <@grid, [{}, {}], unreduced={"b"}, replicated={"a"}> : tensor<8x8xf32>
  // CHECK: sdy.reshard %{{.*}} <@grid, [{}, {}], unreduced=max{"b"}> : tensor<8x8xf32>
  %3 = sdy.reshard %1 <@grid, [{}, {}], unreduced=max{"b"}> : tensor<8x8xf32>
  // CHECK: sdy.reshard %{{.*}} <mesh<["a"=2]>, [{"a"}, {}]> : tensor<8x8xf32>
  %4 = sdy.reshard %1 <mesh<["a"=2]>, [{"a"}, {}]> : tensor<8x8xf32>
  // CHECK: sdy.sharding_group %{{.*}} group_id=21 : tensor<8x8xf32>
  // GENERIC: "sdy.sharding_group"(%{{.*}}) <{group_id = 21 : i64}>
  sdy.sharding_group %4 group_id=21 : tensor<8x8xf32>
  // CHECK: sdy.constant dense<1.000000e+00> : tensor<8x8xf32>
  %5 = sdy.constant dense<1.0> : tensor<8x8xf32>
  // CHECK: sdy.constant {note = 1 : i32} dense<2.000000e+00> : tensor<f32>
  %6 = sdy.constant {note = 1 : i32} dense<2.0> : tensor<f32>
  return %1 : tensor<8x8xf32>
}

// CHECK-LABEL: func.func @propagation
func.func @propagation(%x: tensor<8x8xf32>, %y: tensor<8x8xf32>, %z: tensor<8x8xf32>) {
  // CHECK: sdy.propagation_barrier %arg0 allowed_direction=BACKWARD : tensor<8x8xf32>
  // GENERIC: "sdy.propagation_barrier"(%{{.*}}) <{allowed_direction = 2 : i32}>
  %0 = sdy.propagation_barrier %x allowed_direction=BACKWARD : tensor<8x8xf32>
  // CHECK: stablehlo.add %{{.*}} {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"a"}, {}]>]>} : tensor<8x8xf32>
  %1 = stablehlo.add %0, %0 {sdy.sharding = #sdy.sharding_per_value<[<@grid, [{"a"}, {}]>]>} : tensor<8x8xf32>
  // CHECK: sdy.data_flow_edge %{{.*}} sharding=<@grid, [{}, {"b", ?}]> : tensor<8x8xf32>
  %2 = sdy.data_flow_edge %1 sharding=<@grid, [{}, {"b", ?}]> : tensor<8x8xf32>
  // CHECK: sdy.data_flow_edge %arg1 : tensor<8x8xf32>
  %3 = sdy.data_flow_edge %y : tensor<8x8xf32>
  // CHECK: sdy.func_data_flow_edge %arg2 : tensor<8x8xf32>
  %4 = sdy.func_data_flow_edge %z : tensor<8x8xf32>
  // CHECK: sdy.propagation_edges = #sdy.propagation_edges<[{step-1 = [{"a":(1)2 = operand-0 -> [result-0, operand-1]}, {"b" = result-0 -> [operand-0]}]}, {step-2 = [{"b" = operand-1 -> [result-0]}]}]>
  %5 = stablehlo.add %x, %x {sdy.propagation_edges = #sdy.propagation_edges<[{step-1 = [{"a":(1)2 = operand-0 -> [result-0, operand-1]}, {"b" = result-0 -> [operand-0]}]}, {step-2 = [{"b" = operand-1 -> [result-0]}]}]>} : tensor<8x8xf32>
  // CHECK: stablehlo.custom_call @f(%arg0) {has_side_effect = true, sdy.sharding = #sdy.sharding_per_value<[<@one, []>]>} : (tensor<8x8xf32>) -> ()
  stablehlo.custom_call @f(%x) {has_side_effect = true, sdy.sharding = #sdy.sharding_per_value<[<@one, []>]>} : (tensor<8x8xf32>) -> ()
  return
}

// CHECK-LABEL: func.func @regions
func.func @regions(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // CHECK: sdy.named_computation<"block">(%arg0) (%arg1: tensor<8x8xf32>) {
  // CHECK-NEXT: sdy.return %arg1 : tensor<8x8xf32>
  // CHECK-NEXT: } {note = "x"} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %0 = sdy.named_computation<"block">(%x) (%a: tensor<8x8xf32>) {
    sdy.return %a : tensor<8x8xf32>
  } {note = "x"} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  // CHECK: sdy.named_computation<"block">(%{{.*}}) in_shardings=[<@grid, [{}, {}]>] out_shardings=[<@grid, [{"a"}, {}]>] (%arg1: tensor<8x8xf32>) {
  %1 = sdy.named_computation<"block">(%0) in_shardings=[<@grid, [{}, {}]>] out_shardings=[<@grid, [{"a"}, {}]>] (%a: tensor<8x8xf32>) {
    sdy.return %a : tensor<8x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  // CHECK: sdy.named_computation<"nothing">() () {
  // CHECK-NEXT: sdy.return
  sdy.named_computation<"nothing">() () {
    sdy.return
  } : () -> ()
  // CHECK: sdy.manual_computation() in_shardings=[] out_shardings=[] manual_axes={} () {
  sdy.manual_computation() in_shardings=[] out_shardings=[] manual_axes={} () {
    sdy.return
  } : () -> ()
  // What one device sees: eight rows over two and four devices, then four over
  // two; the free axis stays.
  // CHECK: sdy.manual_computation(%{{.*}}) in_shardings=[<@grid, [{"a", "b"}, {}]>] out_shardings=[<@grid, [{"a", "b"}, {}]>] manual_axes={"a"} (%arg1: tensor<4x8xf32>) {
  // GENERIC: "sdy.manual_computation"(%{{.*}}) <{in_shardings = #sdy.sharding_per_value<[<@grid, [{"a", "b"}, {}]>]>, manual_axes = #sdy<manual_axes{"a"}>, out_shardings = #sdy.sharding_per_value<[<@grid, [{"a", "b"}, {}]>]>}> ({
  %2 = sdy.manual_computation(%1) in_shardings=[<@grid, [{"a", "b"}, {}]>] out_shardings=[<@grid, [{"a", "b"}, {}]>] manual_axes={"a"} (%a: tensor<4x8xf32>) {
    %s = stablehlo.add %a, %a : tensor<4x8xf32>
    sdy.return %s : tensor<4x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %2 : tensor<8x8xf32>
}

// CHECK-LABEL: func.func @collectives
func.func @collectives(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"a", "b"}, {}]>}) {
  // CHECK: sdy.all_gather [{"b"}, {}] %arg0 out_sharding=<@grid, [{"a"}, {}]> : tensor<8x8xf32>
  // GENERIC: "sdy.all_gather"(%{{.*}}) <{gathering_axes = #sdy<list_of_axis_ref_lists[{"b"}, {}]>, out_sharding = #sdy.sharding<@grid, [{"a"}, {}]>}>
  %0 = sdy.all_gather [{"b"}, {}] %x out_sharding=<@grid, [{"a"}, {}]> : tensor<8x8xf32>
  // CHECK: sdy.all_slice [{}, {"b":(1)2}] %{{.*}} out_sharding=<@grid, [{"a"}, {"b":(1)2}]> : tensor<8x8xf32>
  %1 = sdy.all_slice [{}, {"b":(1)2}] %0 out_sharding=<@grid, [{"a"}, {"b":(1)2}]> : tensor<8x8xf32>
  // CHECK: sdy.all_to_all [{"a"}: 0->1] %{{.*}} out_sharding=<@grid, [{}, {"b":(1)2, "a"}]> : tensor<8x8xf32>
  // GENERIC: params = #sdy<all_to_all_param_list[{"a"}: 0->1]>
  %2 = sdy.all_to_all [{"a"}: 0->1] %1 out_sharding=<@grid, [{}, {"b":(1)2, "a"}]> : tensor<8x8xf32>
  // CHECK: sdy.collective_permute %{{.*}} out_sharding=<@grid, [{}, {"b"}]> : tensor<8x8xf32>
  %3 = sdy.collective_permute %2 out_sharding=<@grid, [{}, {"b"}]> : tensor<8x8xf32>
  // CHECK: sdy.replicated_to_unreduced {"a"} %{{.*}} out_sharding=<@grid, [{}, {"b"}], unreduced={"a"}> : tensor<8x8xf32>
  %4 = sdy.replicated_to_unreduced {"a"} %3 out_sharding=<@grid, [{}, {"b"}], unreduced={"a"}> : tensor<8x8xf32>
  // CHECK: sdy.all_reduce {"a"} %{{.*}} out_sharding=<@grid, [{}, {"b"}]> : tensor<8x8xf32>
  // GENERIC: "sdy.all_reduce"(%{{.*}}) <{out_sharding = #sdy.sharding<@grid, [{}, {"b"}]>, reduction_axes = #sdy<axis_ref_list{"a"}>}>
  %5 = sdy.all_reduce {"a"} %4 out_sharding=<@grid, [{}, {"b"}]> : tensor<8x8xf32>
  // CHECK: sdy.all_reduce max {"a"} %{{.*}} out_sharding=<@grid, [{}, {"b"}]> : tensor<8x8xf32>
  %6 = sdy.all_reduce max {"a"} %5 out_sharding=<@grid, [{}, {"b"}]> : tensor<8x8xf32>
  // CHECK: sdy.reduce_scatter [{"a"}, {}] %{{.*}} out_sharding=<@grid, [{"a"}, {"b"}]> : tensor<8x8xf32>
  %7 = sdy.reduce_scatter [{"a"}, {}] %6 out_sharding=<@grid, [{"a"}, {"b"}]> : tensor<8x8xf32>
  // CHECK: sdy.reduce_scatter min [{"a"}, {}] %
  %8 = sdy.reduce_scatter min [{"a"}, {}] %6 out_sharding=<@grid, [{"a"}, {"b"}]> : tensor<8x8xf32>
  // CHECK: sdy.sharded_to_unreduced [{"a"}, {}] %{{.*}} out_sharding=<@grid, [{}, {"b"}], unreduced={"a"}> : tensor<8x8xf32>
  %9 = sdy.sharded_to_unreduced [{"a"}, {}] %7 out_sharding=<@grid, [{}, {"b"}], unreduced={"a"}> : tensor<8x8xf32>
  return
}

// CHECK-LABEL: func.func @rules
func.func @rules(%x: tensor<8x8xf32>, %y: tensor<8x16xf32>, %z: tensor<2x4xf32>) {
  // CHECK: sdy.sharding_rule = #sdy.op_sharding_rule<([i, k], [k, j])->([i, j]) {i=8, j=16, k=8} reduction={k}>
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] {sdy.sharding_rule = #sdy.op_sharding_rule<([i, k],[k, j])->([i, j]) {i=8, j=16, k=8} reduction={k}>} : (tensor<8x8xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  // CHECK: sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([ij]) {i=2, j=4}>
  %1 = stablehlo.reshape %z {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([ij]) {i=2, j=4}>} : (tensor<2x4xf32>) -> tensor<8xf32>
  // CHECK: sdy.sharding_rule = #sdy.op_sharding_rule<([j, i])->([i, *]) {i=4, j=2} reduction={j} need_replication={i} blocked_propagation={i}, custom>
  %2 = stablehlo.custom_call @f(%z) {sdy.sharding_rule = #sdy.op_sharding_rule<([j, i])->([i, *]) {i=4, j=2} reduction={j} need_replication={i} blocked_propagation={i}, custom>} : (tensor<2x4xf32>) -> tensor<4x2xf32>
  // After the eighteenth letter factors are numbered.
  // CHECK: #sdy.op_sharding_rule<([ij, klmnopqrstuvwxyz])->([zz_1, z_2]) {i=2, j=2, k=2, l=2, m=2, n=2, o=2, p=2, q=2, r=2, s=2, t=2, u=2, v=2, w=2, x=2, y=2, z=2, z_1=2, z_2=2}>
  %3 = stablehlo.custom_call @f(%z) {sdy.sharding_rule = #sdy.op_sharding_rule<([ij, klmnopqrstuvwxyz])->([zz_1, z_2]) {i=2, j=2, k=2, l=2, m=2, n=2, o=2, p=2, q=2, r=2, s=2, t=2, u=2, v=2, w=2, x=2, y=2, z=2, z_1=2, z_2=2}>} : (tensor<2x4xf32>) -> tensor<4x2xf32>
  return
}

// Attributes that stand alone.
// CHECK-LABEL: func.func private @alone
// CHECK-SAME: a = #sdy<axis_ref"x":(2)4>
// CHECK-SAME: b = #sdy<sub_axis_info(2)4>
// CHECK-SAME: c = #sdy<mesh_axis"x"=4>
// CHECK-SAME: d = #sdy<dimension_sharding{"x", ?}p1>
// CHECK-SAME: e = #sdy<all_to_all_param{"x"}: 0->2>
// CHECK-SAME: f = #sdy<tensor_mapping[i, jk, *]>
// CHECK-SAME: g = #sdy<dim_mapping ij>
// CHECK-SAME: h = #sdy<edge_value_ref result-2>
// CHECK-SAME: i = #sdy<axis_to_propagation_details{"x" = operand-0 -> []}>
// CHECK-SAME: j = #sdy<propagation_one_step{step-7 = []}>
func.func private @alone() attributes {
  a = #sdy<axis_ref "x":(2)4>, b = #sdy<sub_axis_info(2)4>, c = #sdy<mesh_axis"x"=4>,
  d = #sdy<dimension_sharding{"x", ?}p1>, e = #sdy<all_to_all_param{"x"}: 0->2>,
  f = #sdy<tensor_mapping[i, jk, *]>, g = #sdy<dim_mapping ij>, h = #sdy<edge_value_ref result-2>,
  i = #sdy<axis_to_propagation_details{"x" = operand-0 -> []}>,
  j = #sdy<propagation_one_step{step-7 = []}>}
