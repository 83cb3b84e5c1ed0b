//===- Attributes.td - Meshes, shardings and sharding rules ---------------===//
//
// The attributes of the sdy dialect. Their text is compact (`{"x", "y":(2)4}`)
// and written by hand in lib/Dialect/Shardy/AttributeText.cpp and
// ShardingRuleText.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_SHARDY_ATTRIBUTES_TD
#define TENON_DIALECT_SHARDY_ATTRIBUTES_TD

include "tenon/Dialect/Shardy/Base.td"

class Sdy_Attr<string name, string attrMnemonic, string what> : AttrDef<Sdy_Dialect, name> {
  let mnemonic = attrMnemonic;
  let summary = what;
  let hasCustomAssemblyFormat = 1;
}

//===----------------------------------------------------------------------===//
// Meshes
//===----------------------------------------------------------------------===//

def Sdy_MeshAxisAttr : Sdy_Attr<"MeshAxis", "mesh_axis", "a named axis of a mesh"> {
  let description = "Written `\"x\"=4`.";
  let parameters = (ins StringRefParameter<"name">:$name, "int64_t":$size);
  let genVerifyDecl = 1;
}

def Sdy_MeshAttr : Sdy_Attr<"Mesh", "mesh", "a grid of devices with named axes"> {
  let description = [{
    Written `<["x"=4, "y"=2]>`. Devices are numbered in row-major order unless
    `device_ids` lists them. A mesh without axes is empty, or stands for the one
    device in its list (a maximal mesh): `<[], device_ids=[3]>`.
  }];
  let parameters = (ins ArrayRefParameter<"::tenon::sdy::MeshAxisAttr">:$axes,
                        OptionalArrayRefParameter<"int64_t">:$device_ids);
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The size of the axis called `name`, or nothing.
    std::optional<int64_t> getAxisSize(::llvm::StringRef name) const;
    /// The position of the axis called `name`, or nothing.
    std::optional<size_t> getAxisIndex(::llvm::StringRef name) const;
    /// Whether this stands for one device.
    bool isMaximal() const;
    /// The number of devices; nothing if it leaves the 64-bit range.
    std::optional<int64_t> getDeviceCount() const;
  }];
}

//===----------------------------------------------------------------------===//
// Axes
//===----------------------------------------------------------------------===//

def Sdy_SubAxisInfoAttr : Sdy_Attr<"SubAxisInfo", "sub_axis_info", "a part of an axis"> {
  let description = [{
    Written `(m)k`: an axis of size n seen as [m, k, n / (m * k)], and of that the
    middle one.
  }];
  let parameters = (ins "int64_t":$pre_size, "int64_t":$size);
}

def Sdy_AxisRefAttr : Sdy_Attr<"AxisRef", "axis_ref", "an axis or a part of one"> {
  let description = "Written `\"x\"` or `\"x\":(2)4`.";
  let parameters = (ins StringRefParameter<"name">:$name,
                        OptionalParameter<"::tenon::sdy::SubAxisInfoAttr">:$sub_axis_info);
  let extraClassDeclaration = [{
    /// The number of parts this splits into; the axis must be one of the mesh.
    int64_t getSize(::tenon::sdy::MeshAttr mesh) const;
    /// Whether the two have a part of an axis in common.
    bool overlaps(::tenon::sdy::AxisRefAttr other) const;
  }];
}

def Sdy_AxisRefListAttr : Sdy_Attr<"AxisRefList", "axis_ref_list", "a list of axes"> {
  let description = "Written `{\"x\", \"y\"}`.";
  let parameters = (ins OptionalArrayRefParameter<"::tenon::sdy::AxisRefAttr">:$value);
}

def Sdy_ListOfAxisRefListsAttr
    : Sdy_Attr<"ListOfAxisRefLists", "list_of_axis_ref_lists", "a list of axes per dimension"> {
  let description = "Written `[{\"x\"}, {}]`.";
  let parameters = (ins OptionalArrayRefParameter<"::tenon::sdy::AxisRefListAttr">:$value);
}

def Sdy_ManualAxesAttr
    : Sdy_Attr<"ManualAxes", "manual_axes", "axes along which a computation is per device"> {
  let description = "Written `{\"x\", \"y\"}`.";
  let parameters = (ins OptionalArrayRefParameter<"::mlir::StringAttr">:$value);
}

def Sdy_AllToAllParamAttr
    : Sdy_Attr<"AllToAllParam", "all_to_all_param", "axes that move from one dimension to another"> {
  let description = "Written `{\"x\"}: 0->2`.";
  let parameters = (ins OptionalArrayRefParameter<"::tenon::sdy::AxisRefAttr">:$axes,
                        "int64_t":$src_dim, "int64_t":$tgt_dim);
}

def Sdy_AllToAllParamListAttr
    : Sdy_Attr<"AllToAllParamList", "all_to_all_param_list", "the moves of an all_to_all"> {
  let description = "Written `[{\"x\"}: 0->2, {\"y\"}: 1->3]`.";
  let parameters = (ins OptionalArrayRefParameter<"::tenon::sdy::AllToAllParamAttr">:$value);
}

//===----------------------------------------------------------------------===//
// Shardings
//===----------------------------------------------------------------------===//

def Sdy_DimensionShardingAttr
    : Sdy_Attr<"DimensionSharding", "dimension_sharding", "how one dimension is split"> {
  let description = [{
    Written `{"x", "y"}`; `{"x", ?}` if it may be split further (it is open);
    `{"x"}p1` with a priority, 0 being the highest.
  }];
  let parameters = (ins OptionalArrayRefParameter<"::tenon::sdy::AxisRefAttr">:$axes,
                        "bool":$is_closed,
                        OptionalParameter<"::std::optional<int64_t>">:$priority);
}

def Sdy_TensorShardingAttr : Sdy_Attr<"TensorSharding", "sharding", "how a tensor is split"> {
  let description = [{
    Written `<@mesh, [{"x"}, {} ], replicated={"y"}, unreduced={"z"}>`. The mesh is
    a symbol or written out (`mesh<["x"=2]>`). Along unreduced axes every device
    holds a part of a sum, or of a maximum or minimum (`unreduced=max{"z"}`).
  }];
  let parameters = (ins "::mlir::Attribute":$mesh_or_ref,
                        OptionalArrayRefParameter<"::tenon::sdy::DimensionShardingAttr">:$dim_shardings,
                        OptionalArrayRefParameter<"::tenon::sdy::AxisRefAttr">:$replicated_axes,
                        OptionalArrayRefParameter<"::tenon::sdy::AxisRefAttr">:$unreduced_axes,
                        "::tenon::sdy::ReductionOp":$reduction_op);
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The mesh, looked up from `op` if it is a symbol; null if there is none.
    ::tenon::sdy::MeshAttr getMesh(::mlir::Operation *op) const;
  }];
}

def Sdy_TensorShardingPerValueAttr
    : Sdy_Attr<"TensorShardingPerValue", "sharding_per_value", "how each of several tensors is split"> {
  let description = "Written `<[<@mesh, [{}]>, <@mesh, []>]>`.";
  let parameters = (ins OptionalArrayRefParameter<"::tenon::sdy::TensorShardingAttr">:$shardings);
}

//===----------------------------------------------------------------------===//
// Sharding rules
//===----------------------------------------------------------------------===//

def Sdy_DimMappingAttr
    : Sdy_Attr<"DimMapping", "dim_mapping", "the factors that make up a dimension"> {
  let description = "Written `ij`, factors by letter from `i` on, then `z_1`; `*` if there is none.";
  let parameters = (ins OptionalArrayRefParameter<"int64_t">:$factor_indices);
}

def Sdy_TensorMappingAttr
    : Sdy_Attr<"TensorMapping", "tensor_mapping", "the factors of every dimension of a tensor"> {
  let description = "Written `[i, jk]`.";
  let parameters = (ins OptionalArrayRefParameter<"::tenon::sdy::DimMappingAttr">:$dim_mappings);
}

def Sdy_OpShardingRuleAttr
    : Sdy_Attr<"OpShardingRule", "op_sharding_rule", "how an operation may be partitioned"> {
  let description = [{
    Written `<([i, k], [k, j])->([i, j]) {i=8, j=16, k=8} reduction={k}>`: which
    dimensions of operands and results share a factor, the sizes of the factors,
    and which of them need communication when they are split. `, custom` marks a
    rule that a user gave.
  }];
  let parameters = (ins OptionalArrayRefParameter<"int64_t">:$factor_sizes,
                        OptionalArrayRefParameter<"::tenon::sdy::TensorMappingAttr">:$operand_mappings,
                        OptionalArrayRefParameter<"::tenon::sdy::TensorMappingAttr">:$result_mappings,
                        OptionalArrayRefParameter<"int64_t">:$reduction_factors,
                        OptionalArrayRefParameter<"int64_t">:$need_replication_factors,
                        OptionalArrayRefParameter<"int64_t">:$permutation_factors,
                        OptionalArrayRefParameter<"int64_t">:$blocked_propagation_factors,
                        "bool":$is_custom_rule);
}

//===----------------------------------------------------------------------===//
// Records of propagation
//===----------------------------------------------------------------------===//

def Sdy_EdgeValueRefAttr
    : Sdy_Attr<"EdgeValueRef", "edge_value_ref", "an operand or result by number"> {
  let description = "Written `operand-0`.";
  let parameters = (ins "::tenon::sdy::EdgeNodeType":$type, "int64_t":$index);
}

def Sdy_AxisToPropagationDetailsAttr
    : Sdy_Attr<"AxisToPropagationDetails", "axis_to_propagation_details",
               "where an axis came from and went to"> {
  let description = "Written `{\"x\" = operand-0 -> [result-0]}`.";
  let parameters = (ins "::tenon::sdy::AxisRefAttr":$axis_name,
                        "::tenon::sdy::EdgeValueRefAttr":$source,
                        OptionalArrayRefParameter<"::tenon::sdy::EdgeValueRefAttr">:$targets);
}

def Sdy_PropagationOneStepAttr
    : Sdy_Attr<"PropagationOneStep", "propagation_one_step", "what one step of propagation did"> {
  let description = "Written `{step-2 = [{\"x\" = operand-0 -> [result-0]}]}`.";
  let parameters = (ins "int64_t":$step_index,
      OptionalArrayRefParameter<"::tenon::sdy::AxisToPropagationDetailsAttr">:$axis_entries);
}

def Sdy_PropagationEdgesAttr
    : Sdy_Attr<"PropagationEdges", "propagation_edges", "what all steps of propagation did"> {
  let description = "Written `<[{step-2 = [...]}]>`.";
  let parameters = (ins OptionalArrayRefParameter<"::tenon::sdy::PropagationOneStepAttr">:$value);
}

#endif // TENON_DIALECT_SHARDY_ATTRIBUTES_TD
