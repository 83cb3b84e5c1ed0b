//===- ReplacedState.h - State and what a step puts in its place ---------===//
//
// New state is written over the old one, unless something still reads that.
// Private to this folder: who computes the new one, and who reads the old.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_MEMORY_REPLACEDSTATE_H
#define TENON_LIB_MEMORY_REPLACEDSTATE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"

#include <vector>

namespace tenon::memory {

struct ReplacedState {
  mlir::BlockArgument old;
  unsigned result;         // of the function, that succeeds it
  mlir::Operation *writer; // computes the successor
  /// Operations of the function's block that read the old state, or run others
  /// that do; without the writer and the return.
  llvm::SetVector<mlir::Operation *> readers;
};

/// Of @main, in order of its arguments; without what the step hands on.
std::vector<ReplacedState> replacedStates(mlir::func::FuncOp main);

/// A group in front of `before` that copies the value.
mlir::Value copyBefore(mlir::Operation *before, mlir::Value value);

} // namespace tenon::memory

#endif // TENON_LIB_MEMORY_REPLACEDSTATE_H
