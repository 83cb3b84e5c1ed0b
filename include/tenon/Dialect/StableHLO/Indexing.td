//===- Indexing.td - Operations whose indices are data --------------------===//
//
// Slices at positions that are computed, gathers and scatters.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_STABLEHLO_INDEXING_TD
#define TENON_DIALECT_STABLEHLO_INDEXING_TD

include "tenon/Dialect/StableHLO/Attributes.td"
include "tenon/Dialect/StableHLO/Enums.td"

def StableHLO_DynamicSliceOp : StableHLO_Op<"dynamic_slice", [Pure]> {
  let summary = "a box at a computed position";
  let description = [{
    The box of `slice_sizes` that starts at `start_indices`, moved so that it
    lies inside the operand.
  }];
  let arguments = (ins StableHLO_Tensor:$operand, Variadic<StableHLO_ScalarInteger>:$start_indices,
                       DenseI64ArrayAttr:$slice_sizes);
  let results = (outs StableHLO_Tensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$operand, "::mlir::ValueRange":$startIndices,
                                 "::llvm::ArrayRef<int64_t>":$sliceSizes)>];
  let assemblyFormat = [{
    custom<VariadicOperandWithAttribute>($operand, $start_indices) `sizes` `=` $slice_sizes
    attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def StableHLO_DynamicUpdateSliceOp : StableHLO_Op<"dynamic_update_slice", [Pure]> {
  let summary = "a box replaced at a computed position";
  let description = [{
    The operand with the box that starts at `start_indices`, moved so that it
    lies inside, replaced by `update`.
  }];
  let arguments = (ins StableHLO_Tensor:$operand, StableHLO_Tensor:$update,
                       Variadic<StableHLO_ScalarInteger>:$start_indices);
  let results = (outs StableHLO_Tensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$operand, "::mlir::Value":$update,
                                 "::mlir::ValueRange":$startIndices), [{
    build($_builder, $_state, operand.getType(), operand, update, startIndices);
  }]>];
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def StableHLO_GatherOp : StableHLO_Op<"gather", [Pure]> {
  let summary = "slices at many positions";
  let description = [{
    Takes from the operand one slice per index vector in `start_indices`, moved
    so that it lies inside, and arranges the slices as the dimension numbers say.
  }];
  let arguments = (ins StableHLO_Tensor:$operand, StableHLO_IntegerTensor:$start_indices,
                       StableHLO_GatherDimensionNumbersAttr:$dimension_numbers,
                       DenseI64ArrayAttr:$slice_sizes,
                       DefaultValuedOptionalAttr<BoolAttr, "false">:$indices_are_sorted);
  let results = (outs StableHLO_Tensor:$result);
  let hasVerifier = 1;
}

def StableHLO_DynamicGatherOp : StableHLO_Op<"dynamic_gather", [Pure]> {
  let summary = "gather whose slice sizes are an operand";
  let description = "Like `gather`, with the sizes of the slices in a 1-dimensional tensor.";
  let arguments = (ins StableHLO_Tensor:$operand, StableHLO_IntegerTensor:$start_indices,
                       StableHLO_DimensionTensor:$slice_sizes,
                       StableHLO_GatherDimensionNumbersAttr:$dimension_numbers,
                       DefaultValuedOptionalAttr<BoolAttr, "false">:$indices_are_sorted);
  let results = (outs StableHLO_Tensor:$result);
}

def StableHLO_TorchIndexSelectOp : StableHLO_Op<"torch_index_select", [Pure]> {
  let summary = "slices of one dimension by index";
  let description = [{
    Takes slices along `dim` at the given indices, pairing the first
    `batch_dims` dimensions. Deprecated in favour of `gather`.
  }];
  let arguments = (ins StableHLO_Tensor:$operand, StableHLO_Tensor:$index, I64Attr:$dim,
                       I64Attr:$batch_dims);
  let results = (outs StableHLO_Tensor:$result);
}

def StableHLO_ScatterOp : StableHLO_Op<"scatter", [
    StableHLO_RegionEffects, SameVariadicOperandSize,
    SingleBlockImplicitTerminator<"ReturnOp">]> {
  let summary = "updates combined into many positions";
  let description = [{
    The inputs with each slice of the updates combined into the place its index
    vector names, by the region, which gets the element that is there and the
    update. Updates outside the inputs are dropped; the order of updates to the
    same place is open.
  }];
  let arguments = (ins Variadic<StableHLO_Tensor>:$inputs,
                       StableHLO_TensorOf<"kInteger | kIndex", "integer values">:$scatter_indices,
                       Variadic<StableHLO_Tensor>:$updates,
                       StableHLO_ScatterDimensionNumbersAttr:$scatter_dimension_numbers,
                       DefaultValuedOptionalAttr<BoolAttr, "false">:$indices_are_sorted,
                       DefaultValuedOptionalAttr<BoolAttr, "false">:$unique_indices);
  let regions = (region SizedRegion<1>:$update_computation);
  let results = (outs Variadic<StableHLO_Tensor>:$results);
  let hasVerifier = 1;
}

#endif // TENON_DIALECT_STABLEHLO_INDEXING_TD
