//===- CHLO.td - Operations that frameworks compose -----------------------===//
//
// The `chlo` dialect: functions and broadcasting forms that frameworks export
// and that are made of StableHLO operations. Import decomposes them, except for
// those that have kernels of their own. Text: the public definition of the
// dialect; unary operations always print both types.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_CHLO_CHLO_TD
#define TENON_DIALECT_CHLO_CHLO_TD

include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/EnumAttr.td"
include "tenon/Dialect/StableHLO/Base.td"

def CHLO_Dialect : Dialect {
  let name = "chlo";
  let cppNamespace = "::tenon::chlo";
  let summary = "functions that frameworks compose of StableHLO operations";
  let description = [{
    Special functions, operations that broadcast their operands, and a few large
    ones (top-k, ragged products, scans). Each has a meaning of its own and,
    scan apart, an expansion into `stablehlo` operations.
  }];
  let dependentDialects = ["::tenon::stablehlo::StableHLODialect"];
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

class CHLO_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::tenon::chlo";
  let genSpecializedAttr = 0;
}

def CHLO_ComparisonDirection : CHLO_Enum<"ComparisonDirection", "relation to test", [
    I32EnumAttrCase<"EQ", 0>, I32EnumAttrCase<"NE", 1>, I32EnumAttrCase<"GE", 2>,
    I32EnumAttrCase<"GT", 3>, I32EnumAttrCase<"LE", 4>, I32EnumAttrCase<"LT", 5>]>;
def CHLO_ComparisonDirectionAttr
    : EnumAttr<CHLO_Dialect, CHLO_ComparisonDirection, "comparison_direction">;

def CHLO_ComparisonType : CHLO_Enum<"ComparisonType", "order to compare in", [
    I32EnumAttrCase<"NOTYPE", 0>, I32EnumAttrCase<"FLOAT", 1>, I32EnumAttrCase<"TOTALORDER", 2>,
    I32EnumAttrCase<"SIGNED", 3>, I32EnumAttrCase<"UNSIGNED", 4>]>;
def CHLO_ComparisonTypeAttr
    : EnumAttr<CHLO_Dialect, CHLO_ComparisonType, "comparison_type">;

def CHLO_Precision : CHLO_Enum<"Precision", "how exact a product has to be", [
    I32EnumAttrCase<"DEFAULT", 0>, I32EnumAttrCase<"HIGH", 1>, I32EnumAttrCase<"HIGHEST", 2>]>;
def CHLO_PrecisionAttr : EnumAttr<CHLO_Dialect, CHLO_Precision, "precision">;

def CHLO_Dims : ArrayRefParameter<"int64_t">;

def CHLO_RaggedDotDimensionNumbersAttr
    : AttrDef<CHLO_Dialect, "RaggedDotDimensionNumbers"> {
  let mnemonic = "ragged_dot";
  let summary = "which dimensions a ragged_dot batches, contracts and groups";
  let description = "Lists that are empty are left out of the text.";
  let parameters = (ins CHLO_Dims:$lhsBatchingDimensions, CHLO_Dims:$rhsBatchingDimensions,
                        CHLO_Dims:$lhsContractingDimensions, CHLO_Dims:$rhsContractingDimensions,
                        CHLO_Dims:$lhsRaggedDimensions, CHLO_Dims:$rhsGroupDimensions);
  let hasCustomAssemblyFormat = 1;
}

//===----------------------------------------------------------------------===//
// Functions of one operand
//===----------------------------------------------------------------------===//

class CHLO_Op<string mnemonic, string what, string details, list<Trait> traits = []>
    : Op<CHLO_Dialect, mnemonic, traits> {
  let summary = what;
  let description = details;
}

class CHLO_UnaryOp<string mnemonic, Type operandType, Type resultType, string what, string details,
                   list<Trait> traits>
    : CHLO_Op<mnemonic, what, details, !listconcat([Pure], traits, [Elementwise])> {
  let arguments = (ins operandType:$operand);
  let results = (outs resultType:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
}

// Result of the operand's type.
class CHLO_FunctionOp<string mnemonic, Type type, string what, string details>
    : CHLO_UnaryOp<mnemonic, type, type, what, details, [StableHLO_CompatibleTypes]> {
  let builders = [OpBuilder<(ins "::mlir::Value":$operand), [{
    build($_builder, $_state, operand.getType(), operand);
  }]>];
}

class CHLO_ComplexFunctionOp<string mnemonic, string what, string details>
    : CHLO_FunctionOp<mnemonic, StableHLO_PlainFloatOrComplexTensor, what, details>;
class CHLO_RealFunctionOp<string mnemonic, string what, string details>
    : CHLO_FunctionOp<mnemonic, StableHLO_PlainFloatTensor, what, details>;
class CHLO_PredicateOp<string mnemonic, string what, string details>
    : CHLO_UnaryOp<mnemonic, StableHLO_PlainFloatTensor, StableHLO_BooleanTensor, what, details,
                   [StableHLO_CompatibleShapes]>;

def CHLO_AsinAcosKernelOp : CHLO_FunctionOp<"_asin_acos_kernel", StableHLO_ComplexTensor,
    "common part of the inverse sine and cosine",
    "The complex number from whose parts the four complex inverse functions are put together. An intermediate of expansions; exporters do not write it.">;
def CHLO_AcosOp : CHLO_ComplexFunctionOp<"acos", "inverse cosine",
    "The angle from 0 to pi whose cosine is the element.">;
def CHLO_AcoshOp : CHLO_ComplexFunctionOp<"acosh", "inverse hyperbolic cosine",
    "The non-negative number whose hyperbolic cosine is the element; NaN below 1.">;
def CHLO_AsinOp : CHLO_ComplexFunctionOp<"asin", "inverse sine",
    "The angle from -pi/2 to pi/2 whose sine is the element.">;
def CHLO_AsinhOp : CHLO_ComplexFunctionOp<"asinh", "inverse hyperbolic sine",
    "The number whose hyperbolic sine is the element.">;
def CHLO_AtanOp : CHLO_ComplexFunctionOp<"atan", "inverse tangent",
    "The angle from -pi/2 to pi/2 whose tangent is the element.">;
def CHLO_AtanhOp : CHLO_ComplexFunctionOp<"atanh", "inverse hyperbolic tangent",
    "The number whose hyperbolic tangent is the element; NaN beyond -1 and 1.">;
def CHLO_BesselI1eOp : CHLO_ComplexFunctionOp<"bessel_i1e", "scaled Bessel function of order 1",
    "The modified Bessel function of the first kind and order 1, times exp(-|x|).">;
def CHLO_ConjOp : CHLO_ComplexFunctionOp<"conj", "complex conjugate",
    "The element with its imaginary part negated.">;
def CHLO_CoshOp : CHLO_ComplexFunctionOp<"cosh", "hyperbolic cosine",
    "Half the sum of exp(x) and exp(-x).">;
def CHLO_DigammaOp : CHLO_RealFunctionOp<"digamma", "digamma function",
    "The derivative of the logarithm of the gamma function.">;
def CHLO_ErfOp : CHLO_RealFunctionOp<"erf", "error function",
    "The probability that a normal variable of variance 1/2 lies between -x and x, with the sign of x.">;
def CHLO_ErfInvOp : CHLO_RealFunctionOp<"erf_inv", "inverse error function",
    "The number whose error function is the element; infinite at -1 and 1.">;
def CHLO_ErfcOp : CHLO_RealFunctionOp<"erfc", "complementary error function",
    "One minus the error function, accurate where that is small.">;
def CHLO_IsInfOp : CHLO_PredicateOp<"is_inf", "infinite", "True for both infinities.">;
def CHLO_IsNegInfOp : CHLO_PredicateOp<"is_neg_inf", "minus infinity", "True for minus infinity.">;
def CHLO_IsPosInfOp : CHLO_PredicateOp<"is_pos_inf", "plus infinity", "True for plus infinity.">;
def CHLO_LgammaOp : CHLO_RealFunctionOp<"lgamma", "logarithm of the gamma function",
    "The natural logarithm of the absolute value of the gamma function.">;
def CHLO_SinhOp : CHLO_ComplexFunctionOp<"sinh", "hyperbolic sine",
    "Half the difference of exp(x) and exp(-x), accurate near zero.">;
def CHLO_SquareOp : CHLO_ComplexFunctionOp<"square", "square", "The element times itself.">;
def CHLO_TanOp : CHLO_ComplexFunctionOp<"tan", "tangent", "The tangent of an angle in radians.">;

//===----------------------------------------------------------------------===//
// Functions of two operands of one type
//===----------------------------------------------------------------------===//

class CHLO_BinaryOp<string mnemonic, string what, string details, list<Trait> traits = []>
    : CHLO_Op<mnemonic, what, details,
              !listconcat([Pure, StableHLO_CompatibleTypes, Elementwise], traits)>;

def CHLO_MulhiOp : CHLO_BinaryOp<"mulhi", "upper half of a product",
    "The upper N bits of the 2N-bit product of two N-bit integers.", [StableHLO_Commutative]> {
  let arguments = (ins StableHLO_IntegerTensor:$lhs, StableHLO_IntegerTensor:$rhs);
  let results = (outs StableHLO_IntegerTensor:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)";
}

def CHLO_NextAfterOp : CHLO_BinaryOp<"next_after", "neighbouring number",
    "The floating-point number next to `x` in the direction of `y`, `y` if they are equal."> {
  let arguments = (ins StableHLO_PlainFloatTensor:$x, StableHLO_PlainFloatTensor:$y);
  let results = (outs StableHLO_PlainFloatTensor:$result);
  let assemblyFormat = "$x `,` $y attr-dict `:` type($x) `,` type($y) `->` type(results)";
}

def CHLO_PolygammaOp : CHLO_BinaryOp<"polygamma", "polygamma function",
    "The derivative of order `n` of the digamma function at `x`."> {
  let arguments = (ins StableHLO_PlainFloatTensor:$n, StableHLO_PlainFloatTensor:$x);
  let results = (outs StableHLO_PlainFloatTensor:$result);
  let assemblyFormat = "$n `,` $x attr-dict `:` type($n) `,` type($x) `->` type(results)";
}

def CHLO_ZetaOp : CHLO_BinaryOp<"zeta", "Hurwitz zeta function",
    "The sum over all n >= 0 of (q + n) to the power of -x."> {
  let arguments = (ins StableHLO_PlainFloatTensor:$x, StableHLO_PlainFloatTensor:$q);
  let results = (outs StableHLO_PlainFloatTensor:$result);
  let assemblyFormat = "$x `,` $q attr-dict `:` type($x) `,` type($q) `->` type(results)";
}

//===----------------------------------------------------------------------===//
// Operations that broadcast
//===----------------------------------------------------------------------===//

// Two operands that are broadcast to one shape: dimensions are paired from the
// last, as NumPy does, or by `broadcast_dimensions`, which says for every
// dimension of the operand of lower rank which one of the other it is.
class CHLO_BroadcastOp<string mnemonic, Type operandType, Type resultType, string what,
                       list<Trait> traits = []>
    : CHLO_Op<mnemonic, what # " of operands that are broadcast",
              "The operation of StableHLO (or of this dialect) of that name after both operands have been broadcast to one shape.",
              !listconcat([Pure], traits)> {
  let arguments = (ins operandType:$lhs, operandType:$rhs,
                       OptionalAttr<DenseI64ArrayAttr>:$broadcast_dimensions);
  let results = (outs resultType:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs attr-dict `:` `(` type($lhs) `,` type($rhs) `)` `->` type(results)
  }];
  let hasVerifier = 1;
}

class CHLO_BroadcastSameOp<string mnemonic, Type type, string what, list<Trait> traits = []>
    : CHLO_BroadcastOp<mnemonic, type, type, what, traits>;

def CHLO_BroadcastAddOp
    : CHLO_BroadcastSameOp<"broadcast_add", StableHLO_QuantizableTensor, "sum", [StableHLO_Commutative]>;
def CHLO_BroadcastAndOp
    : CHLO_BroadcastSameOp<"broadcast_and", StableHLO_LogicalTensor, "conjunction", [StableHLO_Commutative]>;
def CHLO_BroadcastAtan2Op
    : CHLO_BroadcastSameOp<"broadcast_atan2", StableHLO_QuantizableTensor, "angle">;
def CHLO_BroadcastComplexOp
    : CHLO_BroadcastOp<"broadcast_complex", StableHLO_PlainFloatTensor, StableHLO_ComplexTensor,
                       "complex number">;
def CHLO_BroadcastDivOp
    : CHLO_BroadcastSameOp<"broadcast_divide", StableHLO_QuantizableTensor, "quotient">;
def CHLO_BroadcastMaxOp
    : CHLO_BroadcastSameOp<"broadcast_maximum", StableHLO_QuantizableTensor, "larger", [StableHLO_Commutative]>;
def CHLO_BroadcastMinOp
    : CHLO_BroadcastSameOp<"broadcast_minimum", StableHLO_QuantizableTensor, "smaller", [StableHLO_Commutative]>;
def CHLO_BroadcastMulOp
    : CHLO_BroadcastSameOp<"broadcast_multiply", StableHLO_QuantizableTensor, "product", [StableHLO_Commutative]>;
def CHLO_BroadcastNextAfterOp
    : CHLO_BroadcastSameOp<"broadcast_next_after", StableHLO_QuantizableTensor, "neighbour">;
def CHLO_BroadcastOrOp
    : CHLO_BroadcastSameOp<"broadcast_or", StableHLO_LogicalTensor, "disjunction", [StableHLO_Commutative]>;
def CHLO_BroadcastPolygammaOp
    : CHLO_BroadcastSameOp<"broadcast_polygamma", StableHLO_QuantizableTensor, "polygamma function">;
def CHLO_BroadcastPowOp
    : CHLO_BroadcastSameOp<"broadcast_power", StableHLO_QuantizableTensor, "power">;
def CHLO_BroadcastRemOp
    : CHLO_BroadcastSameOp<"broadcast_remainder", StableHLO_QuantizableTensor, "remainder">;
def CHLO_BroadcastShiftLeftOp
    : CHLO_BroadcastSameOp<"broadcast_shift_left", StableHLO_QuantizableTensor, "left shift">;
def CHLO_BroadcastShiftRightArithmeticOp
    : CHLO_BroadcastSameOp<"broadcast_shift_right_arithmetic", StableHLO_QuantizableTensor,
                           "arithmetic right shift">;
def CHLO_BroadcastShiftRightLogicalOp
    : CHLO_BroadcastSameOp<"broadcast_shift_right_logical", StableHLO_QuantizableTensor,
                           "logical right shift">;
def CHLO_BroadcastSubOp
    : CHLO_BroadcastSameOp<"broadcast_subtract", StableHLO_QuantizableTensor, "difference">;
def CHLO_BroadcastXorOp
    : CHLO_BroadcastSameOp<"broadcast_xor", StableHLO_LogicalTensor, "exclusive disjunction",
                           [StableHLO_Commutative]>;
def CHLO_BroadcastZetaOp
    : CHLO_BroadcastSameOp<"broadcast_zeta", StableHLO_PlainFloatTensor, "zeta function">;

def CHLO_BroadcastCompareOp : CHLO_BroadcastOp<"broadcast_compare", StableHLO_QuantizableTensor,
                                               StableHLO_BooleanTensor, "comparison"> {
  let arguments = (ins StableHLO_QuantizableTensor:$lhs, StableHLO_QuantizableTensor:$rhs,
                       OptionalAttr<DenseI64ArrayAttr>:$broadcast_dimensions,
                       CHLO_ComparisonDirectionAttr:$comparison_direction,
                       OptionalAttr<CHLO_ComparisonTypeAttr>:$compare_type);
}

def CHLO_BroadcastSelectOp : CHLO_Op<"broadcast_select",
    "choice between operands that are broadcast",
    "Elements of `on_true` where the predicate holds and of `on_false` elsewhere, all three broadcast to one shape.",
    [Pure]> {
  let arguments = (ins StableHLO_BooleanTensor:$pred, StableHLO_QuantizableTensor:$on_true,
                       StableHLO_QuantizableTensor:$on_false);
  let results = (outs StableHLO_QuantizableTensor:$result);
  let assemblyFormat = [{
    $pred `,` $on_true `,` $on_false attr-dict
    `:` `(` type($pred) `,` type($on_true) `,` type($on_false) `)` `->` type(results)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

def CHLO_ConstantOp : CHLO_Op<"constant", "a tensor known at compile time",
    "The tensor that the attribute holds.",
    [Pure, ConstantLike, AllTypesMatch<["value", "output"]>]> {
  let arguments = (ins ElementsAttr:$value);
  let results = (outs StableHLO_Tensor:$output);
  let assemblyFormat = "attr-dict $value";
  let hasFolder = 1;
}

def CHLO_ConstantLikeOp : CHLO_Op<"constant_like", "a constant in the shape of its operand",
    "A tensor of the operand's shape that holds one value throughout.",
    [Pure, StableHLO_CompatibleShapes]> {
  let arguments = (ins StableHLO_QuantizableTensor:$operand, TypedAttrInterface:$value);
  let results = (outs StableHLO_QuantizableTensor:$result);
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Large operations
//===----------------------------------------------------------------------===//

def CHLO_TopKOp : CHLO_Op<"top_k", "largest elements and where they are",
    "The `k` largest elements along the last dimension in descending order, and their indices. With `is_stable` equal elements keep their order; otherwise their order is open.",
    [Pure]> {
  let arguments = (ins StableHLO_QuantizableTensor:$operand, I64Attr:$k,
                       OptionalAttr<BoolAttr>:$is_stable);
  let results = (outs StableHLO_QuantizableTensor:$values, StableHLO_QuantizableTensor:$indices);
  let assemblyFormat = [{
    `(` $operand `,` `k` `=` $k (`,` `is_stable` `=` $is_stable^)? `)` attr-dict `:`
    type($operand) `->` `(` type($values) `,` type($indices) `)`
  }];
  let hasVerifier = 1;
}

def CHLO_RaggedDotOp : CHLO_Op<"ragged_dot", "product of groups of different sizes", [{
    Like `stablehlo.dot_general` with one dimension of the left operand, the
    ragged one, cut into consecutive groups of the sizes in `group_sizes`. If
    that is a free dimension (`m`), every group of rows meets its own right
    operand: `[b,m,k], [g,b,k,n], [b,g] -> [b,m,n]`. If it is contracted, every
    group gives a result of its own: `[b,m,k], [b,k,n], [b,g] -> [g,b,m,n]`. If
    it is a batching dimension, the groups change nothing:
    `[b,m,k], [b,k,n], [g] -> [b,m,n]`.
  }], [Pure]> {
  let arguments = (ins StableHLO_QuantizableTensor:$lhs, StableHLO_QuantizableTensor:$rhs,
                       StableHLO_IntegerTensor:$group_sizes,
                       CHLO_RaggedDotDimensionNumbersAttr:$ragged_dot_dimension_numbers,
                       OptionalAttr<TypedArrayAttrBase<CHLO_PrecisionAttr, "one precision per operand">>
                           :$precision_config);
  let results = (outs StableHLO_QuantizableTensor:$result);
  let hasVerifier = 1;
}

def CHLO_ScanOp : CHLO_Op<"scan", "running combination along a dimension", [{
    Walks along `dimension`, from the end with `is_reverse`. At each index the
    region gets the slices of the inputs and the values carried so far, `inits`
    at the start, and returns one slice of every output and the values to carry
    on. `is_associative` says that the carries may be combined in any grouping.
  }], [AttrSizedOperandSegments, AttrSizedResultSegments, IsolatedFromAbove,
       RecursiveMemoryEffects]> {
  let arguments = (ins Variadic<StableHLO_QuantizableTensor>:$inputs,
                       Variadic<StableHLO_QuantizableTensor>:$inits,
                       ConfinedAttr<I64Attr, [IntNonNegative]>:$dimension,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntNonNegative]>>:$scan_dim_size,
                       DefaultValuedOptionalAttr<BoolAttr, "false">:$is_reverse,
                       OptionalAttr<BoolAttr>:$is_associative);
  let regions = (region SizedRegion<1>:$body);
  let results = (outs Variadic<StableHLO_QuantizableTensor>:$outputs,
                      Variadic<StableHLO_QuantizableTensor>:$carries);
  let hasVerifier = 1;
}

#endif // TENON_DIALECT_CHLO_CHLO_TD
