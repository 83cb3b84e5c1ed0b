//===- FilledStacks.h - Carried values that no round reads ----------------===//
//
// A loop that stacks what its rounds compute carries the stack from a constant
// that nobody ever sees: each element is written before it is read. Where
// `step.filled` says so, nothing has to be stored for the constant.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_STEP_FILLEDSTACKS_H
#define TENON_DIALECT_STEP_FILLEDSTACKS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

#include "llvm/ADT/ArrayRef.h"

namespace tenon::step {

/// On a loop: the positions among its carried values of which every element is
/// written, before it is read and before the loop ends.
inline constexpr llvm::StringLiteral filledAttrName = "step.filled";

/// Sorted; empty for none.
inline llvm::ArrayRef<int64_t> filledStacks(mlir::Operation *loop) {
  auto filled = loop->getAttrOfType<mlir::DenseI64ArrayAttr>(filledAttrName);
  return filled ? filled.asArrayRef() : llvm::ArrayRef<int64_t>();
}

inline void setFilledStacks(mlir::Operation *loop,
                            llvm::SmallVector<int64_t> positions) {
  if (positions.empty()) {
    loop->removeAttr(filledAttrName);
    return;
  }
  llvm::sort(positions);
  loop->setAttr(filledAttrName, mlir::DenseI64ArrayAttr::get(
                                    loop->getContext(), positions));
}

} // namespace tenon::step

#endif // TENON_DIALECT_STEP_FILLEDSTACKS_H
