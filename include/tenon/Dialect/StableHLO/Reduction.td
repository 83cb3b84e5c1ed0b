//===- Reduction.td - Operations that combine many elements ---------------===//
//
// Reductions over dimensions and windows, sorting, batch normalisation and
// random bits. Where there is a region, it works on 0-dimensional tensors.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_STABLEHLO_REDUCTION_TD
#define TENON_DIALECT_STABLEHLO_REDUCTION_TD

include "tenon/Dialect/StableHLO/Attributes.td"
include "tenon/Dialect/StableHLO/Enums.td"

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

def StableHLO_ReduceOp : StableHLO_Op<"reduce", [
    StableHLO_RegionEffects, SameVariadicOperandSize,
    SingleBlockImplicitTerminator<"ReturnOp">]> {
  let summary = "combination of all elements along dimensions";
  let description = [{
    Combines the elements along the dimensions by the region, starting from the
    initial values. The region gets the accumulators first, then one element of
    each input. The public language leaves the order open; Tenon fixes it when
    it lowers the operation.
  }];
  let arguments = (ins Variadic<StableHLO_Tensor>:$inputs, Variadic<StableHLO_Tensor>:$init_values,
                       DenseI64ArrayAttr:$dimensions);
  let regions = (region SizedRegion<1>:$body);
  let results = (outs Variadic<StableHLO_Tensor>:$results);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def StableHLO_ReduceWindowOp : StableHLO_Op<"reduce_window", [
    StableHLO_RegionEffects, SameVariadicOperandSize,
    SingleBlockImplicitTerminator<"ReturnOp">]> {
  let summary = "combination of all elements in windows";
  let description = [{
    Moves a window over the padded and dilated inputs and combines the elements
    in it by the region, starting from the initial values.
  }];
  let arguments = (ins Variadic<StableHLO_Tensor>:$inputs, Variadic<StableHLO_Tensor>:$init_values,
                       DenseI64ArrayAttr:$window_dimensions,
                       OptionalAttr<DenseI64ArrayAttr>:$window_strides,
                       OptionalAttr<DenseI64ArrayAttr>:$base_dilations,
                       OptionalAttr<DenseI64ArrayAttr>:$window_dilations,
                       OptionalAttr<I64ElementsAttr>:$padding);
  let regions = (region SizedRegion<1>:$body);
  let results = (outs Variadic<StableHLO_Tensor>:$results);
  let hasVerifier = 1;
}

def StableHLO_SelectAndScatterOp : StableHLO_Op<"select_and_scatter", [StableHLO_RegionEffects]> {
  let summary = "values sent to the selected element of each window";
  let description = [{
    Moves a window over the operand; the first region chooses one element of it,
    and the second combines the source's element for that window into the
    result at that place. The gradient of pooling by maximum.
  }];
  let arguments = (ins StableHLO_Tensor:$operand, StableHLO_Tensor:$source,
                       StableHLO_Tensor:$init_value,
                       OptionalAttr<DenseI64ArrayAttr>:$window_dimensions,
                       OptionalAttr<DenseI64ArrayAttr>:$window_strides,
                       OptionalAttr<I64ElementsAttr>:$padding);
  let regions = (region SizedRegion<1>:$select, SizedRegion<1>:$scatter);
  let results = (outs StableHLO_Tensor:$result);
  let hasVerifier = 1;
}

def StableHLO_SortOp : StableHLO_Op<"sort", [
    StableHLO_RegionEffects, SingleBlockImplicitTerminator<"ReturnOp">]> {
  let summary = "tensors in order along a dimension";
  let description = [{
    Sorts the inputs together along one dimension by a region that says whether
    its left elements come first; it gets (left, right) of each input in turn.
  }];
  let arguments = (ins Variadic<StableHLO_Tensor>:$inputs,
                       DefaultValuedOptionalAttr<I64Attr, "-1">:$dimension,
                       DefaultValuedOptionalAttr<BoolAttr, "false">:$is_stable);
  let regions = (region SizedRegion<1>:$comparator);
  let results = (outs Variadic<StableHLO_Tensor>:$results);
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Batch normalisation
//===----------------------------------------------------------------------===//

def StableHLO_BatchNormTrainingOp : StableHLO_Op<"batch_norm_training", [Pure]> {
  let summary = "batch normalisation with the batch's own statistics";
  let description = [{
    Normalises every feature to mean 0 and variance 1 over the batch and the
    spatial dimensions, scales and shifts it, and returns mean and variance too.
  }];
  let arguments = (ins StableHLO_PlainFloatTensor:$operand, StableHLO_PlainFloatTensor:$scale,
                       StableHLO_PlainFloatTensor:$offset, F32Attr:$epsilon,
                       I64Attr:$feature_index);
  let results = (outs StableHLO_PlainFloatTensor:$output, StableHLO_PlainFloatTensor:$batch_mean,
                      StableHLO_PlainFloatTensor:$batch_var);
  let hasVerifier = 1;
}

def StableHLO_BatchNormInferenceOp : StableHLO_Op<"batch_norm_inference", [Pure]> {
  let summary = "batch normalisation with given statistics";
  let description = "Normalises every feature with the given mean and variance, scales and shifts it.";
  let arguments = (ins StableHLO_PlainFloatTensor:$operand, StableHLO_PlainFloatTensor:$scale,
                       StableHLO_PlainFloatTensor:$offset, StableHLO_PlainFloatTensor:$mean,
                       StableHLO_PlainFloatTensor:$variance, F32Attr:$epsilon,
                       I64Attr:$feature_index);
  let results = (outs StableHLO_PlainFloatTensor:$result);
  let hasVerifier = 1;
}

def StableHLO_BatchNormGradOp : StableHLO_Op<"batch_norm_grad", [Pure]> {
  let summary = "gradients of batch normalisation";
  let description = [{
    The gradients of `batch_norm_training` with respect to its operand, scale
    and offset.
  }];
  let arguments = (ins StableHLO_PlainFloatTensor:$operand, StableHLO_PlainFloatTensor:$scale,
                       StableHLO_PlainFloatTensor:$mean, StableHLO_PlainFloatTensor:$variance,
                       StableHLO_PlainFloatTensor:$grad_output, F32Attr:$epsilon,
                       I64Attr:$feature_index);
  let results = (outs StableHLO_PlainFloatTensor:$grad_operand,
                      StableHLO_PlainFloatTensor:$grad_scale,
                      StableHLO_PlainFloatTensor:$grad_offset);
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Random numbers
//===----------------------------------------------------------------------===//

def StableHLO_RngBitGeneratorOp : StableHLO_Op<"rng_bit_generator", [Pure]> {
  let summary = "random bits from a state";
  let description = [{
    Uniformly distributed bits and the next state, a function of the state
    alone; the algorithm decides which.
  }];
  let arguments = (ins StableHLO_RngAlgorithmAttr:$rng_algorithm,
                       StableHLO_Tensor:$initial_state);
  let results = (outs StableHLO_Tensor:$output_state, StableHLO_Tensor:$output);
  let assemblyFormat = [{
    $initial_state `,` `algorithm` `=` custom<EnumName>($rng_algorithm) attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def StableHLO_RngOp : StableHLO_Op<"rng"> {
  let summary = "random numbers without a state";
  let description = [{
    Numbers from `a` up to and without `b`, or with mean `a` and standard
    deviation `b`. Which ones is left open; here they depend on the operation's
    place in the module alone (`--import-expand-rng`), so that two such
    operations are never one.
  }];
  let arguments = (ins StableHLO_Tensor:$a, StableHLO_Tensor:$b, StableHLO_DimensionTensor:$shape,
                       StableHLO_RngDistributionAttr:$rng_distribution);
  let results = (outs Res<StableHLO_Tensor, "fresh numbers", [MemAlloc]>:$result);
  let assemblyFormat = [{
    $a `,` $b `,` $shape `,` `distribution` `=` custom<EnumName>($rng_distribution) attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

#endif // TENON_DIALECT_STABLEHLO_REDUCTION_TD
