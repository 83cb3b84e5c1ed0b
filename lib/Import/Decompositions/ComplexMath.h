//===- ComplexMath.h - Functions of complex elements ----------------------===//
//
// Complex numbers as pairs of real tensors, and what the operations on complex
// elements mean for them. Used by SplitComplex.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_IMPORT_COMPLEXMATH_H
#define TENON_LIB_IMPORT_COMPLEXMATH_H

#include "ElementMath.h"

namespace tenon::importer {

/// A complex tensor: its real and its imaginary parts, of one type.
struct Parts {
  Value real, imaginary;
};

/// The parts of an operation's result. `math` builds on tensors of the parts'
/// type; `operands` are the parts of the operands.
using ComplexFunction = Parts (*)(const ElementMath &math,
                                  llvm::ArrayRef<Parts> operands);

/// The function an operation computes; null if there is none in the table.
ComplexFunction complexFunction(llvm::StringRef operation);

/// The absolute value, without overflow on the way.
Value magnitude(const ElementMath &math, Parts z);
Parts multiply(const ElementMath &math, Parts x, Parts y);

} // namespace tenon::importer

#endif // TENON_LIB_IMPORT_COMPLEXMATH_H
