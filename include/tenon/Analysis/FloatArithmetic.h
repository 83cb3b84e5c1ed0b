//===- FloatArithmetic.h - What subnormal numbers are to operations -------===//
//
// A step that flushes subnormal numbers (Support/Subnormals.h) does so where it
// computes, not where it moves. These are the rules that compiled code, the
// interpreter and the simplifier share; docs/Forms.md has them as a table.
//
// Example, flushing: with x the smallest subnormal f32, `x + 0`, `x * 2^30`,
// `max(x, 0)`, `floor(x)` and `convert x to f64` are 0, `x == 0` holds, and
// `-x`, `|x|`, a choice, a copy and a comparison in total order see x as it is.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_ANALYSIS_FLOATARITHMETIC_H
#define TENON_ANALYSIS_FLOATARITHMETIC_H

#include "mlir/IR/Operation.h"

namespace tenon {

/// Whether a type has subnormal numbers that may be flushed: f32, f64 and bf16.
/// Those of f16 are kept; f32, in which it is computed, has them as normal
/// ones.
bool hasFlushedSubnormals(mlir::Type elementType);

/// Whether an operation computes with its floating-point operands or compares
/// them as numbers: where subnormal numbers are flushed, it takes zeros for
/// them and gives none. The operations in its regions are asked for themselves.
bool isFloatArithmetic(mlir::Operation *op);

/// Whether no element of `value` is subnormal where arithmetic gives none: it
/// was computed, or moved since. False where nothing is known, as of arguments.
bool isNeverSubnormal(mlir::Value value);

} // namespace tenon

#endif // TENON_ANALYSIS_FLOATARITHMETIC_H
