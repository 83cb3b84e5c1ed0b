//===- Tie.h - Make a value wait for another one --------------------------===//
//
// XLA merges equal operations and orders the rest as it likes, so a copy that
// is to run late has to need something late. A tie is such a need: it gives a
// value a new name that cannot be computed before another value is there, and
// changes no bit of it.
//
// It writes one element of the value over itself, at a position taken from the
// bits of the late value, wherever that is: positions are clamped, so nothing
// can be said about it ahead of time, and the element keeps its bits, NaN and
// -0.0 included. XLA does this in place if nobody reads the old name any more.
// A barrier around it is for clients that fold the rest but honour barriers.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_CODEGEN_STABLEHLO_TIE_H
#define TENON_CODEGEN_STABLEHLO_TIE_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/Value.h"

namespace tenon::codegen {

/// Whether a tensor can be tied: it has at least two elements, so that there is
/// a position to choose.
bool canBeTied(mlir::Value value);

/// Whether others can be tied to a tensor: its elements have bits to take a
/// position from.
bool canBeWaitedFor(mlir::Value value);

/// `value` under a name that waits for `late`.
mlir::Value tie(mlir::OpBuilder &builder, mlir::Location location,
                mlir::Value value, mlir::Value late);

/// Whether a value is a constant that can be made to wait: a number, alone or
/// repeated.
bool isTieableConstant(mlir::Value value);

/// The same constant, not known to be one before `late` is there: the first of
/// two different numbers that are tied together.
mlir::Value tieConstant(mlir::OpBuilder &builder, mlir::Location location,
                        mlir::Value constant, mlir::Value late);

} // namespace tenon::codegen

#endif // TENON_CODEGEN_STABLEHLO_TIE_H
