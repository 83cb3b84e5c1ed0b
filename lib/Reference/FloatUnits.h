//===- FloatUnits.h - Distances between the numbers of a type -------------===//
//
// What bounds of errors are made of.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_REFERENCE_FLOATUNITS_H
#define TENON_LIB_REFERENCE_FLOATUNITS_H

#include "mlir/IR/BuiltinTypes.h"

#include <cmath>

namespace tenon::reference {

/// Digits after the first, and the exponent of the smallest normal number.
struct Format {
  int digits, smallest;
};

inline Format formatOf(mlir::FloatType type) {
  const llvm::fltSemantics &semantics = type.getFloatSemantics();
  return {int(llvm::APFloat::semanticsPrecision(semantics)) - 1,
          llvm::APFloat::semanticsMinExponent(semantics)};
}

/// The distance of the numbers of a type around `value`.
inline long double unitAt(long double value, mlir::FloatType type) {
  Format format = formatOf(type);
  int exponent = value == 0 ? format.smallest
                            : std::max(std::ilogb(value), format.smallest);
  return std::ldexp(1.0L, exponent - format.digits);
}

inline long double largestOf(mlir::FloatType type) {
  return llvm::APFloat::getLargest(type.getFloatSemantics()).convertToDouble();
}

} // namespace tenon::reference

#endif // TENON_LIB_REFERENCE_FLOATUNITS_H
