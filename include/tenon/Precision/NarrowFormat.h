//===- NarrowFormat.h - The 16-bit format of a policy ---------------------===//
//
// A policy stores values in one format of 16 bits beside f32. This says which,
// and what follows from it.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_PRECISION_NARROWFORMAT_H
#define TENON_PRECISION_NARROWFORMAT_H

#include "tenon/Support/ElementType.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/APFloat.h"

namespace tenon::precision {

enum class NarrowFormat { bf16, f16 };

constexpr ElementType elementTypeOf(NarrowFormat format) {
  return format == NarrowFormat::bf16 ? ElementType::bf16 : ElementType::f16;
}

/// The word for it: `bf16` or `f16`.
inline llvm::StringRef nameOf(NarrowFormat format) {
  return name(elementTypeOf(format));
}

mlir::FloatType typeOf(NarrowFormat format, mlir::MLIRContext *context);

/// The nearest number of the format; of two the even one.
llvm::APFloat nearestIn(NarrowFormat format, const llvm::APFloat &number);

} // namespace tenon::precision

#endif // TENON_PRECISION_NARROWFORMAT_H
