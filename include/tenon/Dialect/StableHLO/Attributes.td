//===- Attributes.td - Structured attributes of stablehlo -----------------===//
//
// Dimension numbers, handles and meshes. Members that are empty or at their
// default are left out of the text. Parsers: lib/Dialect/StableHLO/Attributes.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_STABLEHLO_ATTRIBUTES_TD
#define TENON_DIALECT_STABLEHLO_ATTRIBUTES_TD

include "mlir/IR/TensorEncoding.td"
include "tenon/Dialect/StableHLO/Base.td"

class StableHLO_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<StableHLO_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

// A list of dimension numbers or extents.
def StableHLO_Dims : ArrayRefParameter<"int64_t">;

def StableHLO_DotDimensionNumbersAttr : StableHLO_Attr<"DotDimensionNumbers", "dot"> {
  let summary = "which dimensions a dot_general batches and contracts";
  let parameters = (ins StableHLO_Dims:$lhsBatchingDimensions, StableHLO_Dims:$rhsBatchingDimensions,
                        StableHLO_Dims:$lhsContractingDimensions,
                        StableHLO_Dims:$rhsContractingDimensions);
  let hasCustomAssemblyFormat = 1;
}

def StableHLO_DotAlgorithmAttr : StableHLO_Attr<"DotAlgorithm", "dot_algorithm"> {
  let summary = "the arithmetic a dot_general has to use";
  let description = [{
    Operands are split into component counts of the given types, multiplied in
    that many primitive products, and summed in the accumulation type.
  }];
  let parameters = (ins "::mlir::Type":$lhs_precision_type, "::mlir::Type":$rhs_precision_type,
                        "::mlir::Type":$accumulation_type, "int64_t":$lhs_component_count,
                        "int64_t":$rhs_component_count, "int64_t":$num_primitive_operations,
                        "bool":$allow_imprecise_accumulation);
  let assemblyFormat = "`<` struct(params) `>`";
}

def StableHLO_ConvDimensionNumbersAttr : StableHLO_Attr<"ConvDimensionNumbers", "conv"> {
  let summary = "the meaning of the dimensions of a convolution";
  let parameters = (ins "int64_t":$inputBatchDimension, "int64_t":$inputFeatureDimension,
                        StableHLO_Dims:$inputSpatialDimensions,
                        "int64_t":$kernelInputFeatureDimension,
                        "int64_t":$kernelOutputFeatureDimension,
                        StableHLO_Dims:$kernelSpatialDimensions, "int64_t":$outputBatchDimension,
                        "int64_t":$outputFeatureDimension, StableHLO_Dims:$outputSpatialDimensions);
  let hasCustomAssemblyFormat = 1;
}

def StableHLO_GatherDimensionNumbersAttr : StableHLO_Attr<"GatherDimensionNumbers", "gather"> {
  let summary = "how a gather turns indices into slices of its operand";
  let parameters = (ins StableHLO_Dims:$offsetDims, StableHLO_Dims:$collapsedSliceDims,
                        StableHLO_Dims:$operandBatchingDims,
                        StableHLO_Dims:$startIndicesBatchingDims, StableHLO_Dims:$startIndexMap,
                        "int64_t":$indexVectorDim);
  let hasCustomAssemblyFormat = 1;
}

def StableHLO_ScatterDimensionNumbersAttr : StableHLO_Attr<"ScatterDimensionNumbers", "scatter"> {
  let summary = "how a scatter turns indices into places in its operand";
  let parameters = (ins StableHLO_Dims:$updateWindowDims, StableHLO_Dims:$insertedWindowDims,
                        StableHLO_Dims:$inputBatchingDims,
                        StableHLO_Dims:$scatterIndicesBatchingDims,
                        StableHLO_Dims:$scatterDimsToOperandDims, "int64_t":$indexVectorDim);
  let hasCustomAssemblyFormat = 1;
}

def StableHLO_ChannelHandleAttr : StableHLO_Attr<"ChannelHandle", "channel_handle"> {
  let summary = "which channel a communication uses, and of which kind";
  let parameters = (ins "int64_t":$handle, "int64_t":$type);
  let assemblyFormat = "`<` struct(params) `>`";
}

def StableHLO_OutputOperandAliasAttr : StableHLO_Attr<"OutputOperandAlias", "output_operand_alias"> {
  let summary = "an output of a custom call that shares memory with an operand";
  let parameters = (ins StableHLO_Dims:$outputTupleIndices, "int64_t":$operandIndex,
                        StableHLO_Dims:$operandTupleIndices);
  let hasCustomAssemblyFormat = 1;
}

def StableHLO_TypeExtensionsAttr : StableHLO_Attr<"TypeExtensions", "bounds", [
      DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let summary = "upper bounds of the dynamic extents of a tensor type";
  let description = [{
    One entry per dimension, `?` (ShapedType::kDynamic) where there is no bound.
    `#stablehlo.type_extensions<bounds = [...]>` is the older spelling.
  }];
  let parameters = (ins StableHLO_Dims:$bounds);
  let hasCustomAssemblyFormat = 1;
}

def StableHLO_ResultAccuracyAttr : StableHLO_Attr<"ResultAccuracy", "result_accuracy"> {
  let summary = "how accurate an elementary function has to be";
  let parameters = (ins "::llvm::APFloat":$atol, "::llvm::APFloat":$rtol, "int64_t":$ulps,
                        "::tenon::stablehlo::ResultAccuracyModeAttr":$mode);
  let hasCustomAssemblyFormat = 1;
}

def StableHLO_MeshAxisAttr : StableHLO_Attr<"MeshAxis", "mesh_axis"> {
  let summary = "one named axis of a mesh of devices";
  let parameters = (ins "::mlir::StringAttr":$name, "int64_t":$size);
  let assemblyFormat = "`<` struct(params) `>`";
}

def StableHLO_MeshAttr : StableHLO_Attr<"Mesh", "mesh"> {
  let summary = "a grid of devices with named axes";
  let description = [{
    The axes may also be written without their name: `axes = [<name = "x", size = 2>]`.
  }];
  let parameters = (ins ArrayRefParameter<"::tenon::stablehlo::MeshAxisAttr">:$axes,
                        OptionalParameter<"::mlir::DenseIntElementsAttr">:$device_ids);
  let hasCustomAssemblyFormat = 1;
}

def StableHLO_SubAxisInfoAttr : StableHLO_Attr<"SubAxisInfo", "sub_axis_info"> {
  let summary = "the part of a mesh axis that a sub-axis is";
  let parameters = (ins "int64_t":$preSize, "int64_t":$size);
  let assemblyFormat = "`(` $preSize `)` `` $size";
}

def StableHLO_AxisRefAttr : StableHLO_Attr<"AxisRef", "axis_ref"> {
  let summary = "a mesh axis or a part of one";
  let parameters = (ins "::mlir::StringAttr":$name,
      OptionalParameter<"::tenon::stablehlo::SubAxisInfoAttr">:$sub_axis_info);
  let assemblyFormat = "`<` struct(params) `>`";
}

def StableHLO_ReplicaGroupMeshAxesAttr
    : StableHLO_Attr<"ReplicaGroupMeshAxes", "replica_group_mesh_axes"> {
  let summary = "process groups given by axes of a mesh";
  let parameters = (ins "::mlir::Attribute":$mesh, "::mlir::ArrayAttr":$axes);
  let assemblyFormat = "`<` struct(params) `>`";
}

#endif // TENON_DIALECT_STABLEHLO_ATTRIBUTES_TD
