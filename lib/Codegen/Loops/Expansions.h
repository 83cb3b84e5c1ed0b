//===- Expansions.h - The expansions by name, inside this folder ----------===//
//
// Each takes and gives f32, a scalar or a vector. The files behind them are
// named MathExpansions<Family>.cpp and say how each function is computed.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_LOOPS_EXPANSIONS_H
#define TENON_LIB_CODEGEN_LOOPS_EXPANSIONS_H

#include "Lanes.h"
#include "tenon/Codegen/Loops/MathExpansions.h"

namespace tenon::codegen {

/// exp(x) as p * 2^n, not yet multiplied.
struct ScaledExponential {
  mlir::Value mantissa; ///< p, in [0.7, 1.42]
  mlir::Value exponent; ///< n, a whole f32
  mlir::Value magic;    ///< n + 1.5 * 2^23, whose low bits are n
};
/// |x| must be below 2^21 or NaN.
ScaledExponential expandExpParts(const Lanes &lanes, mlir::Value x);
/// The same for the sum of x and a smaller part, added after the reduction.
ScaledExponential expandExpParts(const Lanes &lanes, mlir::Value x,
                                 mlir::Value part);
/// p * 2^n, correctly rounded also where that is denormal or infinite; n within
/// [-252, 254].
mlir::Value scale(const Lanes &lanes, mlir::Value p,
                  const ScaledExponential &by);
/// The same where 2^n is a normal number: n within [-126, 127].
mlir::Value scaleNormal(const Lanes &lanes, mlir::Value p,
                        const ScaledExponential &by);

/// log(x) for x positive, normal and finite.
mlir::Value expandLogNormal(const Lanes &lanes, mlir::Value x);

using Expansion = mlir::Value(const Lanes &lanes, mlir::Value x);
Expansion expandExp, expandExpm1, expandTanh, expandLogistic, expandLog,
    expandLog1p, expandErf, expandErfc, expandErfInv, expandSqrt, expandRsqrt,
    expandCbrt, expandSin, expandCos, expandTan, expandAtan;
/// See emitCoarseExp2.
Expansion expandCoarseExp2;
mlir::Value expandPow(const Lanes &lanes, mlir::Value x, mlir::Value y);
mlir::Value expandAtan2(const Lanes &lanes, mlir::Value y, mlir::Value x);

/// The same functions of f64 operands, through libm where there is one.
mlir::Value emitDoubleMath(const Lanes &lanes, MathFunction function,
                           mlir::ValueRange operands);
/// Those of them that C has, without libm.
mlir::Value expandDouble(const Lanes &lanes, MathFunction function,
                         mlir::ValueRange operands);

} // namespace tenon::codegen

#endif // TENON_LIB_CODEGEN_LOOPS_EXPANSIONS_H
