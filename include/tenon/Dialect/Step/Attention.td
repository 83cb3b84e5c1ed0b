//===- Attention.td - Attention as one operation -------------------------===//
//
// Attention and its gradient (docs/Rationale/Attention.md).
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_STEP_ATTENTION_TD
#define TENON_DIALECT_STEP_ATTENTION_TD

include "tenon/Dialect/Step/Step.td"

/// The attributes `..._dims` say of each dimension of an operand or result what
/// it runs over: a number of at least 0 is the batch dimension of that number,
/// the others are those of AttentionDimension in Attention.h.
class Step_AttentionOperation<string mnemonic>
    : Step_Op<mnemonic, [AttrSizedOperandSegments, Pure]> {
  let hasVerifier = 1;
}

def Step_AttentionOp : Step_AttentionOperation<"attention"> {
  let summary = "softmax of products with keys, times values";
  let description = [{
    For each query, the values weighted by the softmax of the query's products
    with the keys:

        score(i, j)  = scale (sum over d of query(i, d) key(j, d)) + bias(i, j),
                       fill where mask(i, j) is false
        maximum(i)   = max over j of score(i, j)
        sum(i)       = sum over j of exp(score(i, j) - maximum(i))
        weight(i, j) = exp(score(i, j) - maximum(i)) / sum(i)
        output(i, v) = sum over j of weight(i, j) factor(i, j) value(j, v)

    With `causal`, keys behind the query (j > i) are left out. Bias, mask and
    factor (as of dropout) may be absent. Behind each tensor stands what its
    dimensions run over: batch dimensions by number, `q` queries, `k` keys, `d`
    features of queries and keys, `v` those of values. Keys and values may lack
    batch dimensions of the query, which then share them; bias, mask and factor
    may lack any dimension. Maximum and sum have the batch dimensions in their
    order, then the queries: the log-sum-exp in two parts, since one number would
    lose the sum where scores are large.

    Elements of 16 bits are computed in f32. With `rounds_weights`, what values
    are multiplied by, a weight times its factor, is rounded to their type. The
    order of all sums is part of the operation, see docs/Rationale/Attention.md.

    ```mlir
    %o, %m, %s = step.attention %q[0, q, 1, d], %k[0, k, 1, d], %v[0, k, 1, v] -> [0, q, 1, v]
        {causal, scale = 1.250000e-01 : f32}
        : (tensor<4x64x12x64xf32>, tensor<4x64x12x64xf32>, tensor<4x64x12x64xf32>)
          -> (tensor<4x64x12x64xf32>, tensor<4x12x64xf32>, tensor<4x12x64xf32>)
    ```
  }];
  let arguments = (ins
    AnyRankedTensor:$query, AnyRankedTensor:$key, AnyRankedTensor:$value,
    Optional<AnyRankedTensor>:$bias, Optional<AnyRankedTensor>:$mask,
    Optional<AnyRankedTensor>:$factor,
    DenseI64ArrayAttr:$query_dims, DenseI64ArrayAttr:$key_dims,
    DenseI64ArrayAttr:$value_dims, OptionalAttr<DenseI64ArrayAttr>:$bias_dims,
    OptionalAttr<DenseI64ArrayAttr>:$mask_dims,
    OptionalAttr<DenseI64ArrayAttr>:$factor_dims,
    DenseI64ArrayAttr:$output_dims,
    F32Attr:$scale, OptionalAttr<F32Attr>:$fill, UnitAttr:$causal,
    UnitAttr:$rounds_weights);
  let results = (outs AnyRankedTensor:$output, AnyRankedTensor:$maximum,
                      AnyRankedTensor:$sum);
  let assemblyFormat = [{
    $query custom<AttentionDimensions>($query_dims) `,`
    $key custom<AttentionDimensions>($key_dims) `,`
    $value custom<AttentionDimensions>($value_dims)
    (`bias` $bias^ custom<AttentionDimensions>($bias_dims))?
    (`mask` $mask^ custom<AttentionDimensions>($mask_dims))?
    (`factor` $factor^ custom<AttentionDimensions>($factor_dims))?
    `->` custom<AttentionDimensions>($output_dims)
    attr-dict `:` functional-type(operands, results)
  }];
}

def Step_AttentionGradientOp : Step_AttentionOperation<"attention_gradient"> {
  let summary = "gradients of attention";
  let description = [{
    The gradients of `step.attention` by query, key and value, given that of its
    output. The weights are computed again, from maximum and sum:

        weight(i, j)          = exp(score(i, j) - maximum(i)) / sum(i)
        weight_gradient(i, j) = factor(i, j)
                                (sum over v of output_gradient(i, v) value(j, v))
        pivot(i)              = mean of weight_gradient(i, j) over the keys with
                                the row's largest weight
        rest(i)               = sum over the other keys of
                                weight(i, j) (weight_gradient(i, j) - pivot(i))
        slope(i, j)           = scale weight(i, j)
                                ((weight_gradient(i, j) - pivot(i)) - rest(i)),
                                0 where mask(i, j) is false
        query_gradient(i, d)  = sum over j of slope(i, j) key(j, d)
        key_gradient(j, d)    = sum over i of slope(i, j) query(i, d)
        value_gradient(j, v)  = sum over i of weight(i, j) factor(i, j)
                                output_gradient(i, v)

    Pivot and rest are together the mean of the row's weight gradients, by
    weight. The sums for keys and values also run over the batch dimensions that
    these lack. What a program with 16-bit products rounds in between is rounded here:
    with `rounds_weights` the weights times their factors that the output's
    gradient is multiplied by, to the type of the values; with
    `rounds_weight_gradients` the sums that give the weights' gradient, to the
    type of the values; with `rounds_slopes` the slopes, to the type of the keys.

    ```mlir
    %dq, %dk, %dv = step.attention_gradient %q[0, q, 1, d], %k[0, k, 1, d], %v[0, k, 1, v]
        of %m, %s, %do[0, q, 1, v] -> [0, q, 1, d], [0, k, 1, d], [0, k, 1, v]
        {causal, scale = 1.250000e-01 : f32}
        : (tensor<4x64x12x64xf32>, tensor<4x64x12x64xf32>, tensor<4x64x12x64xf32>,
           tensor<4x12x64xf32>, tensor<4x12x64xf32>, tensor<4x64x12x64xf32>)
          -> (tensor<4x64x12x64xf32>, tensor<4x64x12x64xf32>, tensor<4x64x12x64xf32>)
    ```
  }];
  let arguments = (ins
    AnyRankedTensor:$query, AnyRankedTensor:$key, AnyRankedTensor:$value,
    Optional<AnyRankedTensor>:$bias, Optional<AnyRankedTensor>:$mask,
    Optional<AnyRankedTensor>:$factor,
    AnyRankedTensor:$maximum, AnyRankedTensor:$sum,
    AnyRankedTensor:$output_gradient,
    DenseI64ArrayAttr:$query_dims, DenseI64ArrayAttr:$key_dims,
    DenseI64ArrayAttr:$value_dims, OptionalAttr<DenseI64ArrayAttr>:$bias_dims,
    OptionalAttr<DenseI64ArrayAttr>:$mask_dims,
    OptionalAttr<DenseI64ArrayAttr>:$factor_dims,
    DenseI64ArrayAttr:$output_gradient_dims,
    DenseI64ArrayAttr:$query_gradient_dims, DenseI64ArrayAttr:$key_gradient_dims,
    DenseI64ArrayAttr:$value_gradient_dims,
    F32Attr:$scale, OptionalAttr<F32Attr>:$fill, UnitAttr:$causal,
    UnitAttr:$rounds_weights, UnitAttr:$rounds_weight_gradients,
    UnitAttr:$rounds_slopes);
  let results = (outs AnyRankedTensor:$query_gradient,
                      AnyRankedTensor:$key_gradient,
                      AnyRankedTensor:$value_gradient);
  let assemblyFormat = [{
    $query custom<AttentionDimensions>($query_dims) `,`
    $key custom<AttentionDimensions>($key_dims) `,`
    $value custom<AttentionDimensions>($value_dims)
    (`bias` $bias^ custom<AttentionDimensions>($bias_dims))?
    (`mask` $mask^ custom<AttentionDimensions>($mask_dims))?
    (`factor` $factor^ custom<AttentionDimensions>($factor_dims))?
    `of` $maximum `,` $sum `,`
    $output_gradient custom<AttentionDimensions>($output_gradient_dims)
    `->` custom<AttentionDimensions>($query_gradient_dims) `,`
    custom<AttentionDimensions>($key_gradient_dims) `,`
    custom<AttentionDimensions>($value_gradient_dims)
    attr-dict `:` functional-type(operands, results)
  }];
}

#endif // TENON_DIALECT_STEP_ATTENTION_TD
