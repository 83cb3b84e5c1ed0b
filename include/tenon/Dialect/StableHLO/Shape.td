//===- Shape.td - Operations that arrange elements ------------------------===//
//
// Constants and counting, and operations that move elements to other indices
// without looking at them: broadcast, reshape, transpose, slice, pad, ...
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_STABLEHLO_SHAPE_TD
#define TENON_DIALECT_STABLEHLO_SHAPE_TD

include "mlir/IR/OpAsmInterface.td"
include "tenon/Dialect/StableHLO/Attributes.td"
include "tenon/Dialect/StableHLO/Enums.td"

class StableHLO_ShapeOp<string mnemonic, list<Trait> traits = []>
    : StableHLO_Op<mnemonic, !listconcat([Pure], traits)>;

//===----------------------------------------------------------------------===//
// Tensors from nothing
//===----------------------------------------------------------------------===//

def StableHLO_ConstantOp : StableHLO_ShapeOp<"constant", [
    ConstantLike, DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "a tensor known at compile time";
  let description = "The tensor that the attribute holds.";
  let arguments = (ins ElementsAttr:$value);
  let results = (outs StableHLO_QuantizableTensor:$output);
  let builders = [OpBuilder<(ins "::mlir::ElementsAttr":$value), [{
    build($_builder, $_state, value.getType(), value);
  }]>];
  let hasCustomAssemblyFormat = 1;
  let hasFolder = 1;
  let hasVerifier = 1;
}

def StableHLO_IotaOp : StableHLO_ShapeOp<"iota"> {
  let summary = "indices along one dimension";
  let description = "A tensor whose elements count 0, 1, 2, ... along one dimension and repeat along the others.";
  let arguments = (ins I64Attr:$iota_dimension);
  let results = (outs StableHLO_Tensor:$output);
  let assemblyFormat = "`dim` `=` $iota_dimension attr-dict `:` type($output)";
  let hasVerifier = 1;
}

def StableHLO_DynamicIotaOp : StableHLO_ShapeOp<"dynamic_iota"> {
  let summary = "iota whose shape is an operand";
  let description = "Like `iota`; the extents of the result are the elements of `output_shape`.";
  let arguments = (ins StableHLO_DimensionTensor:$output_shape, I64Attr:$iota_dimension);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = [{
    $output_shape `,` `dim` `=` $iota_dimension attr-dict `:` functional-type(operands, results)
  }];
}

//===----------------------------------------------------------------------===//
// Broadcasts
//===----------------------------------------------------------------------===//

def StableHLO_BroadcastInDimOp : StableHLO_ShapeOp<"broadcast_in_dim"> {
  let summary = "repeat elements along new or unit dimensions";
  let description = [{
    Operand dimension `i` becomes result dimension `broadcast_dimensions[i]`; an
    extent of one is repeated, and so is everything along the dimensions that
    are not named.
  }];
  let arguments = (ins StableHLO_QuantizableTensor:$operand,
                       DenseI64ArrayAttr:$broadcast_dimensions);
  let results = (outs StableHLO_QuantizableTensor:$result);
  let assemblyFormat = [{
    $operand `,` `dims` `=` $broadcast_dimensions attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def StableHLO_BroadcastOp : StableHLO_ShapeOp<"broadcast"> {
  let summary = "repeat a tensor along new leading dimensions";
  let description = [{
    Puts dimensions of the given sizes in front and repeats the operand along
    them. Deprecated in favour of `broadcast_in_dim`.
  }];
  let arguments = (ins StableHLO_Tensor:$operand, DenseI64ArrayAttr:$broadcast_sizes);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = [{
    $operand `,` `sizes` `=` $broadcast_sizes attr-dict `:` functional-type(operands, results)
  }];
}

def StableHLO_DynamicBroadcastInDimOp : StableHLO_ShapeOp<"dynamic_broadcast_in_dim"> {
  let summary = "broadcast_in_dim whose shape is an operand";
  let description = [{
    Like `broadcast_in_dim`; the result's extents are the elements of
    `output_dimensions`. Two lists may tell which operand dimensions are known
    to be repeated, and which are known not to be.
  }];
  let arguments = (ins StableHLO_QuantizableTensor:$operand,
                       StableHLO_DimensionTensor:$output_dimensions,
                       DenseI64ArrayAttr:$broadcast_dimensions,
                       OptionalAttr<DenseI64ArrayAttr>:$known_expanding_dimensions,
                       OptionalAttr<DenseI64ArrayAttr>:$known_nonexpanding_dimensions);
  let results = (outs StableHLO_QuantizableTensor:$result);
  let assemblyFormat = [{
    $operand `,` $output_dimensions `,` `dims` `=` $broadcast_dimensions attr-dict
    `:` functional-type(operands, results)
  }];
}

//===----------------------------------------------------------------------===//
// One operand, other indices
//===----------------------------------------------------------------------===//

def StableHLO_ReshapeOp : StableHLO_ShapeOp<"reshape"> {
  let summary = "the same elements in another shape";
  let description = "Elements keep their row-major order; only the extents change.";
  let arguments = (ins StableHLO_QuantizableTensor:$operand);
  let results = (outs StableHLO_QuantizableTensor:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def StableHLO_DynamicReshapeOp : StableHLO_ShapeOp<"dynamic_reshape"> {
  let summary = "reshape whose shape is an operand";
  let description = "Like `reshape`; the result's extents are the elements of `output_shape`.";
  let arguments = (ins StableHLO_QuantizableTensor:$operand, StableHLO_DimensionTensor:$output_shape);
  let results = (outs StableHLO_QuantizableTensor:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

def StableHLO_BitcastConvertOp : StableHLO_ShapeOp<"bitcast_convert"> {
  let summary = "the same bits as another element type";
  let description = [{
    Reads the operand's bits as elements of the result's type. Where the widths
    differ, the last dimension of the narrower side holds the pieces of one
    wider element, lowest bits first.
  }];
  let arguments = (ins StableHLO_Tensor:$operand);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def StableHLO_TransposeOp : StableHLO_ShapeOp<"transpose"> {
  let summary = "permutation of dimensions";
  let description = "Result dimension `i` is operand dimension `permutation[i]`.";
  let arguments = (ins StableHLO_QuantizableTensor:$operand, DenseI64ArrayAttr:$permutation);
  let results = (outs StableHLO_QuantizableTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$operand,
                                 "::llvm::ArrayRef<int64_t>":$permutation)>];
  let assemblyFormat = [{
    $operand `,` `dims` `=` $permutation attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def StableHLO_ReverseOp : StableHLO_ShapeOp<"reverse", [StableHLO_CompatibleTypes]> {
  let summary = "reversed order along dimensions";
  let description = "Elements in the opposite order along each dimension that is named.";
  let arguments = (ins StableHLO_Tensor:$operand, DenseI64ArrayAttr:$dimensions);
  let results = (outs StableHLO_Tensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$operand,
                                 "::llvm::ArrayRef<int64_t>":$dimensions), [{
    build($_builder, $_state, operand.getType(), operand, dimensions);
  }]>];
  let assemblyFormat = [{
    $operand `,` `dims` `=` $dimensions attr-dict
    `:` custom<SameOperandsAndResultType>(type($operand), type($result))
  }];
  let hasVerifier = 1;
}

def StableHLO_SliceOp : StableHLO_ShapeOp<"slice"> {
  let summary = "a strided box of a tensor";
  let description = [{
    Along each dimension the indices from `start_indices` (included) to
    `limit_indices` (excluded), every `strides`th of them.
  }];
  let arguments = (ins StableHLO_Tensor:$operand, DenseI64ArrayAttr:$start_indices,
                       DenseI64ArrayAttr:$limit_indices, DenseI64ArrayAttr:$strides);
  let results = (outs StableHLO_Tensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$operand, "::llvm::ArrayRef<int64_t>":$starts,
                                 "::llvm::ArrayRef<int64_t>":$limits,
                                 "::llvm::ArrayRef<int64_t>":$strides)>];
  let assemblyFormat = [{
    $operand custom<SliceRanges>($start_indices, $limit_indices, $strides) attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def StableHLO_RealDynamicSliceOp : StableHLO_ShapeOp<"real_dynamic_slice"> {
  let summary = "slice whose bounds are operands";
  let description = "Like `slice`, with starts, limits and strides in 1-dimensional tensors.";
  let arguments = (ins StableHLO_Tensor:$operand, StableHLO_DimensionTensor:$start_indices,
                       StableHLO_DimensionTensor:$limit_indices,
                       StableHLO_DimensionTensor:$strides);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

def StableHLO_PadOp : StableHLO_ShapeOp<"pad"> {
  let summary = "elements added around and between";
  let description = [{
    Puts the padding value before the first, after the last and between all
    elements along each dimension. Negative edge padding takes elements away.
  }];
  let arguments = (ins StableHLO_Tensor:$operand, StableHLO_Tensor:$padding_value,
                       DenseI64ArrayAttr:$edge_padding_low, DenseI64ArrayAttr:$edge_padding_high,
                       DenseI64ArrayAttr:$interior_padding);
  let results = (outs StableHLO_Tensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$operand, "::mlir::Value":$paddingValue,
                                 "::llvm::ArrayRef<int64_t>":$low, "::llvm::ArrayRef<int64_t>":$high,
                                 "::llvm::ArrayRef<int64_t>":$interior)>];
  let assemblyFormat = [{
    $operand `,` $padding_value `,` `low` `=` $edge_padding_low `,` `high` `=` $edge_padding_high
    `,` `interior` `=` $interior_padding attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def StableHLO_DynamicPadOp : StableHLO_ShapeOp<"dynamic_pad"> {
  let summary = "pad whose amounts are operands";
  let description = "Like `pad`, with the amounts in 1-dimensional tensors.";
  let arguments = (ins StableHLO_Tensor:$operand, StableHLO_Tensor:$padding_value,
                       StableHLO_DimensionTensor:$edge_padding_low,
                       StableHLO_DimensionTensor:$edge_padding_high,
                       StableHLO_DimensionTensor:$interior_padding);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

//===----------------------------------------------------------------------===//
// Several operands
//===----------------------------------------------------------------------===//

def StableHLO_ConcatenateOp : StableHLO_ShapeOp<"concatenate"> {
  let summary = "tensors one after the other";
  let description = "The operands joined along one dimension, in order.";
  let arguments = (ins Variadic<StableHLO_Tensor>:$inputs, I64Attr:$dimension);
  let results = (outs StableHLO_Tensor:$result);
  let builders = [OpBuilder<(ins "::mlir::ValueRange":$inputs, "int64_t":$dimension)>];
  let assemblyFormat = [{
    custom<VariadicOperandWithAttribute>($inputs) `dim` `=` $dimension attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Extents
//===----------------------------------------------------------------------===//

def StableHLO_GetDimensionSizeOp : StableHLO_ShapeOp<"get_dimension_size"> {
  let summary = "extent of a dimension";
  let description = "The extent of one dimension of the operand as a 32-bit integer.";
  let arguments = (ins StableHLO_QuantizableTensor:$operand, I64Attr:$dimension);
  let results = (outs StableHLO_ScalarI32:$result);
  let assemblyFormat = [{
    $operand `,` `dim` `=` $dimension attr-dict `:` functional-type(operands, results)
  }];
}

def StableHLO_SetDimensionSizeOp : StableHLO_ShapeOp<"set_dimension_size"> {
  let summary = "extent of a dimension, set";
  let description = [{
    The operand with one dimension declared to have a given extent, elements
    beyond it being undefined. Deprecated in the public language.
  }];
  let arguments = (ins StableHLO_Tensor:$operand, StableHLO_ScalarI32:$size, I64Attr:$dimension);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = [{
    $operand `,` $size `,` `dim` `=` $dimension attr-dict `:` functional-type(operands, results)
  }];
}

#endif // TENON_DIALECT_STABLEHLO_SHAPE_TD
