//===- Math.td - Elementary functions -------------------------------------===//
//
// Roots, exponentials, logarithms and trigonometry of every element. Most of
// them may say how accurate they have to be (`result_accuracy`).
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_STABLEHLO_MATH_TD
#define TENON_DIALECT_STABLEHLO_MATH_TD

include "tenon/Dialect/StableHLO/ElementwiseClasses.td"

def StableHLO_CbrtOp : StableHLO_FunctionOp<"cbrt"> {
  let summary = "cube root";
  let description = "The real cube root of a float, the principal one of a complex number.";
}

def StableHLO_CosineOp : StableHLO_FunctionOp<"cosine"> {
  let summary = "cosine";
  let description = "The cosine of an angle in radians.";
}

def StableHLO_ExponentialOp : StableHLO_FunctionOp<"exponential"> {
  let summary = "exponential";
  let description = "e to the power of the element.";
}

def StableHLO_ExponentialMinusOneOp : StableHLO_FunctionOp<"exponential_minus_one"> {
  let summary = "exponential minus one";
  let description = "e to the power of the element, minus one, accurate near zero.";
}

def StableHLO_LogOp : StableHLO_FunctionOp<"log"> {
  let summary = "natural logarithm";
  let description = "The logarithm to base e; NaN for negative floats.";
}

def StableHLO_LogPlusOneOp : StableHLO_FunctionOp<"log_plus_one"> {
  let summary = "logarithm of one plus";
  let description = "The natural logarithm of one plus the element, accurate near zero.";
}

def StableHLO_LogisticOp : StableHLO_FunctionOp<"logistic"> {
  let summary = "logistic function";
  let description = "1 / (1 + exp(-x)).";
}

def StableHLO_RsqrtOp : StableHLO_FunctionOp<"rsqrt"> {
  let summary = "one over the square root";
  let description = "The reciprocal of the square root.";
}

def StableHLO_SineOp : StableHLO_FunctionOp<"sine"> {
  let summary = "sine";
  let description = "The sine of an angle in radians.";
}

def StableHLO_SqrtOp : StableHLO_FunctionOp<"sqrt"> {
  let summary = "square root";
  let description = "The square root; NaN for negative floats, the principal one of a complex number.";
}

def StableHLO_TanOp : StableHLO_FunctionOp<"tan"> {
  let summary = "tangent";
  let description = "The tangent of an angle in radians.";
}

def StableHLO_TanhOp : StableHLO_FunctionOp<"tanh"> {
  let summary = "hyperbolic tangent";
  let description = "The hyperbolic tangent.";
}

def StableHLO_Atan2Op : StableHLO_BinaryOp<"atan2", StableHLO_FloatOrComplexTensor> {
  let summary = "angle of a point";
  let description = "The angle, from -pi to pi, of the point whose y is the left and x the right element.";
}

def StableHLO_PowerOp : StableHLO_BinaryOp<"power", StableHLO_NumericTensor> {
  let summary = "power";
  let description = [{
    The left element to the power of the right one; integers wrap around, and a
    negative exponent gives 0 unless the base is 1 or -1.
  }];
}

#endif // TENON_DIALECT_STABLEHLO_MATH_TD
