//===- Elementwise.td - Operations on one element at a time ---------------===//
//
// Arithmetic, logic, comparison and conversion, each element on its own.
// Elementary functions (exp, log, ...) are in Math.td.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_STABLEHLO_ELEMENTWISE_TD
#define TENON_DIALECT_STABLEHLO_ELEMENTWISE_TD

include "tenon/Dialect/StableHLO/ElementwiseClasses.td"

//===----------------------------------------------------------------------===//
// One operand
//===----------------------------------------------------------------------===//

def StableHLO_AbsOp
    : StableHLO_UnaryOp<"abs", StableHLO_SignedTensor, StableHLO_RealTensor, [StableHLO_CompatibleShapes]> {
  let summary = "magnitude";
  let description = "The absolute value; the modulus, a real number, of a complex element.";
  let builders = [OpBuilder<(ins "::mlir::Value":$operand)>];
  let hasVerifier = 1;
}

def StableHLO_CeilOp : StableHLO_UnarySameOp<"ceil", StableHLO_FloatTensor> {
  let summary = "round up to an integer";
  let description = "The smallest whole number not below the element, in the same type.";
}

def StableHLO_FloorOp : StableHLO_UnarySameOp<"floor", StableHLO_FloatTensor> {
  let summary = "round down to an integer";
  let description = "The largest whole number not above the element, in the same type.";
}

def StableHLO_RoundNearestAfzOp : StableHLO_UnarySameOp<"round_nearest_afz", StableHLO_FloatTensor> {
  let summary = "round to nearest, halves away from zero";
  let description = "The nearest whole number; one exactly between two goes away from zero.";
}

def StableHLO_RoundNearestEvenOp
    : StableHLO_UnarySameOp<"round_nearest_even", StableHLO_FloatTensor> {
  let summary = "round to nearest, halves to even";
  let description = "The nearest whole number; one exactly between two goes to the even one.";
}

def StableHLO_NegateOp : StableHLO_UnarySameOp<"negate", StableHLO_NumericTensor> {
  let summary = "negation";
  let description = "Minus the element; integers wrap around, floats flip the sign bit.";
}

def StableHLO_SignOp : StableHLO_UnarySameOp<"sign", StableHLO_SignedTensor> {
  let summary = "sign";
  let description = [{
    -1, 0 or 1; zeros keep their sign, NaN stays NaN, and a complex element is
    divided by its modulus.
  }];
}

def StableHLO_NotOp : StableHLO_UnarySameOp<"not", StableHLO_LogicalTensor> {
  let summary = "logical or bitwise complement";
  let description = "Complement of every bit of an integer, logical negation of a boolean.";
}

def StableHLO_CountLeadingZerosOp : StableHLO_UnarySameOp<"count_leading_zeros", StableHLO_IntegerTensor> {
  let summary = "number of leading zero bits";
  let description = "How many zeros an element has above its highest bit that is set.";
}

def StableHLO_PopcntOp : StableHLO_UnarySameOp<"popcnt", StableHLO_IntegerTensor> {
  let summary = "number of set bits";
  let description = "How many bits of an element are one.";
}

def StableHLO_ConvertOp
    : StableHLO_UnaryOp<"convert", StableHLO_PlainTensor, StableHLO_PlainTensor,
                        [StableHLO_CompatibleShapes]> {
  let summary = "change of element type";
  let description = [{
    The element in another type: rounded to nearest even between floats, cut
    towards zero from float to integer, wrapped between integers; a boolean is
    0 or 1 and a non-zero number is true.
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$operand, "::mlir::Type":$elementType)>];
}

def StableHLO_IsFiniteOp : StableHLO_Op<"is_finite", [Pure, StableHLO_CompatibleShapes, Elementwise]> {
  let summary = "neither infinite nor NaN";
  let description = "True for every element that is a number.";
  let arguments = (ins StableHLO_FloatTensor:$x);
  let results = (outs StableHLO_BooleanTensor:$y);
  let builders = [OpBuilder<(ins "::mlir::Value":$x)>];
  let assemblyFormat = "$x attr-dict `:` functional-type(operands, results)";
}

def StableHLO_RealOp
    : StableHLO_UnaryOp<"real", StableHLO_PlainFloatOrComplexTensor, StableHLO_PlainFloatTensor,
                        [StableHLO_CompatibleShapes]> {
  let summary = "real part";
  let description = "The real part of a complex element; a float as it is.";
  let builders = [OpBuilder<(ins "::mlir::Value":$operand)>];
  let hasVerifier = 1;
}

def StableHLO_ImagOp
    : StableHLO_UnaryOp<"imag", StableHLO_PlainFloatOrComplexTensor, StableHLO_PlainFloatTensor,
                        [StableHLO_CompatibleShapes]> {
  let summary = "imaginary part";
  let description = "The imaginary part of a complex element; zero for a float.";
  let builders = [OpBuilder<(ins "::mlir::Value":$operand)>];
  let hasVerifier = 1;
}

def StableHLO_UniformQuantizeOp
    : StableHLO_UnaryOp<"uniform_quantize", StableHLO_FloatOrQuantizedTensor,
                        StableHLO_QuantizedTensor, [StableHLO_CompatibleShapes]> {
  let summary = "to a quantized type";
  let description = [{
    Floats, or elements quantized otherwise, become elements of the result's
    quantized type, clamped to its storage range.
  }];
}

def StableHLO_UniformDequantizeOp
    : StableHLO_UnaryOp<"uniform_dequantize", StableHLO_QuantizedTensor,
                        StableHLO_PlainFloatTensor, [StableHLO_CompatibleShapes]> {
  let summary = "from a quantized type";
  let description = "The floating-point values that quantized elements stand for.";
}

def StableHLO_ReducePrecisionOp
    : StableHLO_Op<"reduce_precision", [Pure, StableHLO_CompatibleTypes, Elementwise]> {
  let summary = "round to a smaller float format";
  let description = [{
    Rounds every element to a format with so many exponent and mantissa bits
    and returns it in the type it had. A rounding that a user wrote: it is never
    taken away.
  }];
  let arguments = (ins StableHLO_FloatTensor:$operand, I32Attr:$exponent_bits,
                       I32Attr:$mantissa_bits);
  let results = (outs StableHLO_FloatTensor:$output);
  let builders = [OpBuilder<(ins "::mlir::Value":$operand, "uint32_t":$exponentBits,
                                 "uint32_t":$mantissaBits), [{
    build($_builder, $_state, operand.getType(), operand, exponentBits, mantissaBits);
  }]>];
  let assemblyFormat = [{
    $operand `,` `format` `=` custom<ExponentMantissa>($exponent_bits, $mantissa_bits)
    attr-dict `:` custom<SameOperandsAndResultType>(type($operand), type($output))
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Two operands
//===----------------------------------------------------------------------===//

def StableHLO_AddOp
    : StableHLO_BinaryOp<"add", StableHLO_QuantizableTensor, [StableHLO_Commutative]> {
  let summary = "sum";
  let description = "The sum of two elements; integers wrap around, booleans are combined by or.";
  let hasVerifier = 1;
}

def StableHLO_SubtractOp : StableHLO_BinaryOp<"subtract", StableHLO_NumericTensor> {
  let summary = "difference";
  let description = "The left element minus the right one; integers wrap around.";
}

def StableHLO_MultiplyOp : StableHLO_BinaryOp<"multiply", StableHLO_Tensor, [StableHLO_Commutative]> {
  let summary = "product";
  let description = "The product of two elements; integers wrap around, booleans are combined by and.";
}

def StableHLO_DivideOp : StableHLO_BinaryOp<"divide", StableHLO_NumericTensor> {
  let summary = "quotient";
  let description = [{
    The left element divided by the right one; integers are cut towards zero.
    Integer division by zero gives a value that the implementation chooses, not
    a trap.
  }];
}

def StableHLO_RemainderOp : StableHLO_BinaryOp<"remainder", StableHLO_NumericTensor> {
  let summary = "remainder of division";
  let description = "What division towards zero leaves over, with the sign of the left element.";
}

def StableHLO_MaximumOp : StableHLO_BinaryOp<"maximum", StableHLO_Tensor, [StableHLO_Commutative]> {
  let summary = "larger of two";
  let description = [{
    The larger element; NaN if either is NaN, or for booleans, and real part
    before imaginary part for complex elements.
  }];
}

def StableHLO_MinimumOp : StableHLO_BinaryOp<"minimum", StableHLO_Tensor, [StableHLO_Commutative]> {
  let summary = "smaller of two";
  let description = [{
    The smaller element; NaN if either is NaN, and for booleans, and real part
    before imaginary part for complex elements.
  }];
}

def StableHLO_AndOp
    : StableHLO_BinaryOp<"and", StableHLO_LogicalTensor, [StableHLO_Commutative]> {
  let summary = "logical or bitwise and";
  let description = "Ones where both operands have ones, bit by bit for integers.";
}

def StableHLO_OrOp : StableHLO_BinaryOp<"or", StableHLO_LogicalTensor, [StableHLO_Commutative]> {
  let summary = "logical or bitwise or";
  let description = "Ones where either operand has a one, bit by bit for integers.";
}

def StableHLO_XorOp
    : StableHLO_BinaryOp<"xor", StableHLO_LogicalTensor, [StableHLO_Commutative]> {
  let summary = "logical or bitwise exclusive or";
  let description = "Ones where exactly one operand has a one, bit by bit for integers.";
}

def StableHLO_ShiftLeftOp : StableHLO_BinaryOp<"shift_left", StableHLO_IntegerTensor> {
  let summary = "shift to the left";
  let description = "The left element moved up by the right one; zero once everything has moved out.";
}

def StableHLO_ShiftRightLogicalOp
    : StableHLO_BinaryOp<"shift_right_logical", StableHLO_IntegerTensor> {
  let summary = "shift to the right, zeros entering";
  let description = "The left element moved down by the right one, zeros entering from above.";
}

def StableHLO_ShiftRightArithmeticOp
    : StableHLO_BinaryOp<"shift_right_arithmetic", StableHLO_IntegerTensor> {
  let summary = "shift to the right, the sign entering";
  let description = "The left element moved down by the right one, copies of its sign entering from above.";
}

def StableHLO_CompareOp : StableHLO_Op<"compare", [Pure, StableHLO_CompatibleShapes, Elementwise]> {
  let summary = "comparison";
  let description = [{
    Whether a relation holds between two elements. Floats are compared as in
    IEEE 754, where NaN is unordered, or by total order if that is asked for;
    complex elements can only be equal or not.
  }];
  let arguments = (ins StableHLO_QuantizableTensor:$lhs, StableHLO_QuantizableTensor:$rhs,
                       StableHLO_ComparisonDirectionAttr:$comparison_direction,
                       OptionalAttr<StableHLO_ComparisonTypeAttr>:$compare_type);
  let results = (outs StableHLO_BooleanTensor:$result);
  let builders = [
    OpBuilder<(ins "::mlir::Value":$lhs, "::mlir::Value":$rhs,
                   "::tenon::stablehlo::ComparisonDirection":$direction,
                   CArg<"::std::optional<::tenon::stablehlo::ComparisonType>",
                        "::std::nullopt">:$type)>
  ];
  let assemblyFormat = [{
    custom<EnumName>($comparison_direction) `,` $lhs `,` $rhs
    (`,` custom<EnumName>($compare_type)^)? attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def StableHLO_ComplexOp : StableHLO_Op<"complex", [Pure, StableHLO_CompatibleShapes, Elementwise]> {
  let summary = "complex number from its parts";
  let description = "Elements whose real part is the left and imaginary part the right operand's.";
  let arguments = (ins StableHLO_PlainFloatTensor:$lhs, StableHLO_PlainFloatTensor:$rhs);
  let results = (outs StableHLO_ComplexTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$lhs, "::mlir::Value":$rhs)>];
  let assemblyFormat = [{
    $lhs `,` $rhs attr-dict `:` custom<ComplexOpType>(type($lhs), type($rhs), type($result))
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Three operands
//===----------------------------------------------------------------------===//

def StableHLO_SelectOp : StableHLO_Op<"select", [Pure]> {
  let summary = "choice between two tensors";
  let description = [{
    Elements of `on_true` where the predicate holds and of `on_false` elsewhere;
    a 0-dimensional predicate decides for all of them.
  }];
  let arguments = (ins StableHLO_BooleanTensor:$pred, StableHLO_QuantizableTensor:$on_true,
                       StableHLO_QuantizableTensor:$on_false);
  let results = (outs StableHLO_QuantizableTensor:$result);
  let builders = [
    OpBuilder<(ins "::mlir::Value":$pred, "::mlir::Value":$onTrue, "::mlir::Value":$onFalse), [{
      build($_builder, $_state, onTrue.getType(), pred, onTrue, onFalse);
    }]>
  ];
  let assemblyFormat = [{
    $pred `,` $on_true `,` $on_false attr-dict
    `:` custom<SelectOpType>(type($pred), type($on_true), type($on_false), type($result))
  }];
  let hasVerifier = 1;
}

def StableHLO_ClampOp : StableHLO_Op<"clamp", [Pure]> {
  let summary = "limit to a range";
  let description = [{
    The smaller of `max` and the larger of `min` and the element. The limits have
    the operand's shape or are 0-dimensional.
  }];
  let arguments = (ins StableHLO_QuantizableTensor:$min, StableHLO_QuantizableTensor:$operand,
                       StableHLO_QuantizableTensor:$max);
  let results = (outs StableHLO_QuantizableTensor:$result);
  let builders = [
    OpBuilder<(ins "::mlir::Value":$min, "::mlir::Value":$operand, "::mlir::Value":$max), [{
      build($_builder, $_state, operand.getType(), min, operand, max);
    }]>
  ];
  let assemblyFormat = [{
    $min `,` $operand `,` $max attr-dict
    `:` custom<SameOperandsAndResultType>(type($min), type($operand), type($max), type($result))
  }];
  let hasVerifier = 1;
}

def StableHLO_MapOp : StableHLO_Op<"map", [StableHLO_RegionEffects,
                                           SingleBlockImplicitTerminator<"ReturnOp">]> {
  let summary = "a function applied to every element";
  let description = [{
    Calls the region for every index with the operands' elements there as
    0-dimensional tensors. Deprecated in the public language.
  }];
  let arguments = (ins Variadic<StableHLO_Tensor>:$inputs, DenseI64ArrayAttr:$dimensions);
  let regions = (region SizedRegion<1>:$computation);
  let results = (outs StableHLO_Tensor:$result);
}

#endif // TENON_DIALECT_STABLEHLO_ELEMENTWISE_TD
