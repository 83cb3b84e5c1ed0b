//===- Casts.h - Conversions that the compiler placed ---------------------===//
//
// Lowering precision stores values in 16 bits. Its conversions are
// `stablehlo.convert` with the attribute `step.cast`; a conversion that the
// user wrote has none, and is a rounding with meaning.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_STEP_CASTS_H
#define TENON_DIALECT_STEP_CASTS_H

#include "mlir/IR/Operation.h"

namespace tenon::step {

/// On a conversion between f32 and a 16-bit float: the compiler's own. A unit.
inline constexpr llvm::StringLiteral castAttrName = "step.cast";

/// On a module whose program adds up in 16 bits as it came, so that nothing is
/// claimed of its sums. A unit.
inline constexpr llvm::StringLiteral narrowSumsAttrName = "step.narrow_sums";

inline bool isCompilerCast(mlir::Operation *op) {
  return op->hasAttr(castAttrName);
}

} // namespace tenon::step

#endif // TENON_DIALECT_STEP_CASTS_H
