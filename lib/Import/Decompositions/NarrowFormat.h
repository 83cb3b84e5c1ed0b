//===- NarrowFormat.h - Element types that are carried in bytes -----------===//
//
// Floats of 4 to 8 bits and integers of 2 and 4 bits have no instructions. A
// tensor of them is held by a tensor of bytes: the bits of a float in the low
// bits of a ui8, the value of an integer in an i8 or ui8. The formulas here
// lead from these bytes to f32 and back. Used by CarryNarrowTypes.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_IMPORT_NARROWFORMAT_H
#define TENON_LIB_IMPORT_NARROWFORMAT_H

#include "ElementMath.h"

namespace tenon::importer {

/// Whether elements of this type are carried in bytes.
bool isNarrow(mlir::Type element);
/// ui8 for floats and unsigned integers, i8 for the others.
mlir::Type carrierOf(mlir::Type narrow);

/// The numbers, in f32, that `bytes` hold in the format `narrow`. Exact.
Value unpackFloats(mlir::ImplicitLocOpBuilder &builder, mlir::FloatType narrow,
                   Value bytes);
/// The nearest numbers of the format, to even, for f32 or f64 values. What is
/// too large is infinite, else NaN, else the largest number, whichever the
/// format has first; NaN is minus zero where there is none.
Value packFloats(mlir::ImplicitLocOpBuilder &builder, mlir::FloatType narrow,
                 Value values);

/// The carried integer with the low bits of `bytes`, which are ui8 or i8.
Value wrapIntegers(mlir::ImplicitLocOpBuilder &builder,
                   mlir::IntegerType narrow, Value bytes);
/// The bits of a carried integer or float, in the low bits of a ui8.
Value codesOf(mlir::ImplicitLocOpBuilder &builder, mlir::Type narrow,
              Value carried);
/// Inverse of codesOf(); ignores higher bits.
Value fromCodes(mlir::ImplicitLocOpBuilder &builder, mlir::Type narrow,
                Value codes);

} // namespace tenon::importer

#endif // TENON_LIB_IMPORT_NARROWFORMAT_H
