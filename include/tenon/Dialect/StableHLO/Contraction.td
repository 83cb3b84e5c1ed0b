//===- Contraction.td - Products of matrices and their kin ----------------===//
//
// Dot products, convolutions, einsum and the linear algebra of the language.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_STABLEHLO_CONTRACTION_TD
#define TENON_DIALECT_STABLEHLO_CONTRACTION_TD

include "tenon/Dialect/StableHLO/Attributes.td"
include "tenon/Dialect/StableHLO/Enums.td"

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

def StableHLO_DotGeneralOp : StableHLO_Op<"dot_general", [Pure]> {
  let summary = "batched product over any dimensions";
  let description = [{
    Multiplies and sums over pairs of contracting dimensions, once per index of
    the batching dimensions. The result has the batching dimensions, then what
    is left of the left and then of the right operand. Its element type may be
    wider than the operands'.
  }];
  let arguments = (ins StableHLO_QuantizableTensor:$lhs, StableHLO_QuantizableTensor:$rhs,
                       StableHLO_DotDimensionNumbersAttr:$dot_dimension_numbers,
                       StableHLO_Precisions:$precision_config,
                       OptionalAttr<StableHLO_DotAlgorithmAttr>:$algorithm);
  let results = (outs StableHLO_QuantizableTensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs `,` custom<DotDimensionNumbers>($dot_dimension_numbers) ``
    custom<PrecisionConfigAndAlgorithm>($precision_config, $algorithm) attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def StableHLO_DotOp : StableHLO_Op<"dot", [Pure]> {
  let summary = "product of vectors and matrices";
  let description = [{
    Sums over the last dimension of the left and the first of the right operand,
    which have one or two each. Deprecated in favour of `dot_general`.
  }];
  let arguments = (ins StableHLO_Tensor:$lhs, StableHLO_Tensor:$rhs,
                       StableHLO_Precisions:$precision_config);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs `` custom<PrecisionConfig>($precision_config) attr-dict
    `:` functional-type(operands, results)
  }];
}

def StableHLO_EinsumOp : StableHLO_Op<"einsum", [Pure]> {
  let summary = "sum of products in index notation";
  let description = [{
    The sum of products that the text names, as in `ij,jk->ik`. Deprecated in
    favour of `dot_general`.
  }];
  let arguments = (ins StableHLO_Tensor:$lhs, StableHLO_Tensor:$rhs, StrAttr:$einsum_config);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs `,` `config` `=` $einsum_config attr-dict `:` functional-type(operands, results)
  }];
}

def StableHLO_UnaryEinsumOp : StableHLO_Op<"unary_einsum", [Pure]> {
  let summary = "sum in index notation";
  let description = "The sum over one operand that the text names, as in `ij->i`. Deprecated.";
  let arguments = (ins StableHLO_Tensor:$operand, StrAttr:$einsum_config);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = [{
    $operand `,` `config` `=` $einsum_config attr-dict `:` functional-type(operands, results)
  }];
}

//===----------------------------------------------------------------------===//
// Convolutions
//===----------------------------------------------------------------------===//

def StableHLO_ConvolutionOp : StableHLO_Op<"convolution", [Pure]> {
  let summary = "convolution";
  let description = [{
    Slides windows over the padded and dilated left operand and contracts them
    with the right one, the kernel. Attributes that are absent stand for stride
    and dilation one, no padding and no reversal.
  }];
  let arguments = (ins StableHLO_QuantizableTensor:$lhs, StableHLO_QuantizableTensor:$rhs,
                       OptionalAttr<DenseI64ArrayAttr>:$window_strides,
                       OptionalAttr<I64ElementsAttr>:$padding,
                       OptionalAttr<DenseI64ArrayAttr>:$lhs_dilation,
                       OptionalAttr<DenseI64ArrayAttr>:$rhs_dilation,
                       OptionalAttr<DenseBoolArrayAttr>:$window_reversal,
                       StableHLO_ConvDimensionNumbersAttr:$dimension_numbers,
                       I64Attr:$feature_group_count, I64Attr:$batch_group_count,
                       StableHLO_Precisions:$precision_config);
  let results = (outs StableHLO_QuantizableTensor:$result);
  let assemblyFormat = [{
    `(` operands `)` `dim_numbers` `=` custom<ConvolutionDimensions>($dimension_numbers) `,`
    `window` `=` `{` custom<WindowAttributes>($window_strides, $padding, $lhs_dilation,
                                              $rhs_dilation, $window_reversal) `}`
    attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def StableHLO_DynamicConvOp : StableHLO_Op<"dynamic_conv", [Pure]> {
  let summary = "convolution whose padding is an operand";
  let description = "Like `convolution`, with the padding in a tensor of two columns.";
  let arguments = (ins StableHLO_Tensor:$lhs, StableHLO_Tensor:$rhs,
                       StableHLO_PaddingTensor:$padding,
                       OptionalAttr<DenseI64ArrayAttr>:$window_strides,
                       OptionalAttr<DenseI64ArrayAttr>:$lhs_dilation,
                       OptionalAttr<DenseI64ArrayAttr>:$rhs_dilation,
                       OptionalAttr<DenseBoolArrayAttr>:$window_reversal,
                       StableHLO_ConvDimensionNumbersAttr:$dimension_numbers,
                       I64Attr:$feature_group_count, I64Attr:$batch_group_count,
                       StableHLO_Precisions:$precision_config);
  let results = (outs StableHLO_Tensor:$result);
}

//===----------------------------------------------------------------------===//
// Linear algebra
//===----------------------------------------------------------------------===//

def StableHLO_CholeskyOp : StableHLO_Op<"cholesky", [Pure, StableHLO_CompatibleTypes]> {
  let summary = "Cholesky factor";
  let description = [{
    The triangular factor of each symmetric (or Hermitian) positive definite
    matrix in the last two dimensions; which triangle is read says `lower`.
  }];
  let arguments = (ins StableHLO_PlainFloatOrComplexTensor:$a,
                       DefaultValuedOptionalAttr<BoolAttr, "false">:$lower);
  let results = (outs StableHLO_PlainFloatOrComplexTensor:$result);
  let assemblyFormat = [{
    $a (`,` `lower` `=` $lower^)? attr-dict
    `:` custom<SameOperandsAndResultType>(type($a), type($result))
  }];
  let hasVerifier = 1;
}

def StableHLO_TriangularSolveOp : StableHLO_Op<"triangular_solve", [Pure]> {
  let summary = "solution of triangular equations";
  let description = [{
    Solves `op(a) * x = b`, or `x * op(a) = b`, for each triangular matrix in
    the last two dimensions of `a`.
  }];
  let arguments = (ins StableHLO_PlainFloatOrComplexTensor:$a,
                       StableHLO_PlainFloatOrComplexTensor:$b, BoolAttr:$left_side,
                       BoolAttr:$lower, BoolAttr:$unit_diagonal,
                       StableHLO_TransposeAttr:$transpose_a);
  let results = (outs StableHLO_PlainFloatOrComplexTensor:$result);
  let hasVerifier = 1;
}

def StableHLO_FftOp : StableHLO_Op<"fft", [Pure]> {
  let summary = "Fourier transform";
  let description = "The discrete Fourier transform of the last dimensions, forward or inverse, complex or real.";
  let arguments = (ins StableHLO_PlainFloatOrComplexTensor:$operand, StableHLO_FftTypeAttr:$fft_type,
                       DenseI64ArrayAttr:$fft_length);
  let results = (outs StableHLO_PlainFloatOrComplexTensor:$result);
  let assemblyFormat = [{
    $operand `,` `type` `=` custom<EnumName>($fft_type) `,` `length` `=` $fft_length attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

#endif // TENON_DIALECT_STABLEHLO_CONTRACTION_TD
