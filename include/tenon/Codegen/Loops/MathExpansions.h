//===- MathExpansions.h - Mathematical functions as arithmetic ------------===//
//
// One expansion per mathematical function, for every lane count and feature
// set with the same bits: a value's bits must not depend on how the loop around
// it was cut. An expansion is straight-line `arith` and `math` operations with
// exact instructions (and `math.fma` where it says so), no fast-math flags, no
// call. Special values (signed zeros, denormals, infinities, NaN) come out as
// IEEE 754 and C's Annex F say; a NaN keeps no payload. Denormals are computed
// exactly; where the processor flushes them, they count as zeros.
//
// The operand type is f32 or vector<Nxf32> (16-bit types: extend to f32, and
// truncate the result), or f64 or vector<Nxf64>: those call libm per lane, and
// the object links against it (see LinkSharedObject.h), unless the target has
// none, as GPUs.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_CODEGEN_LOOPS_MATHEXPANSIONS_H
#define TENON_CODEGEN_LOOPS_MATHEXPANSIONS_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/ValueRange.h"
#include "tenon/Codegen/Loops/Instructions.h"

namespace tenon::codegen {

enum class MathFunction : uint8_t {
  exp,
  expm1,
  log,
  log1p,
  tanh,
  logistic,
  erf,
  erfc,
  erfInv,
  sqrt,
  rsqrt,
  cbrt,
  sin,
  cos,
  tan,
  atan,
  pow,
  atan2,
};

inline constexpr size_t mathFunctionCount = size_t(MathFunction::atan2) + 1;

struct MathFunctionInfo {
  MathFunction function;
  /// As in StableHLO or CHLO without the dialect.
  llvm::StringLiteral name;
  unsigned operands;
  /// Every f32 result is within this many units in the last place of the exact
  /// one (a unit is the distance of the two f32 around the exact value).
  double maximumUlp;
};

const MathFunctionInfo &describe(MathFunction function);

/// Emits `function` of `operands`, which all have one of the types above, at
/// the builder's insertion point.
mlir::Value emitMath(mlir::OpBuilder &builder, mlir::Location loc,
                     MathFunction function, mlir::ValueRange operands,
                     const Instructions &instructions);

/// 2^x of an f32 or a vector of it, for weights that are rounded to 16 bits: of
/// numbers `shifted` = x + coarseExp2Shift with -126 <= x < 1, which a
/// multiplication in front adds at no cost. Within 2^-18 of the result, but for
/// what x lost when it was shifted; 0 where x is at most -127; NaN of NaN.
inline constexpr float coarseExp2Shift = 255;
mlir::Value emitCoarseExp2(mlir::OpBuilder &builder, mlir::Location loc,
                           mlir::Value shifted,
                           const Instructions &instructions);

} // namespace tenon::codegen

#endif // TENON_CODEGEN_LOOPS_MATHEXPANSIONS_H
