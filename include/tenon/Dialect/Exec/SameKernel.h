//===- SameKernel.h - Kernels that compute the same -----------------------===//
//
// Kernels that compute the same are written and compiled once.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_EXEC_SAMEKERNEL_H
#define TENON_DIALECT_EXEC_SAMEKERNEL_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMapInfo.h"

namespace tenon::exec {

/// Compares kernel functions, as keys of a map or a set, but for their names
/// and for places in the user's program. What a kernel is compiled by beside
/// its body stands in its attributes, all of which have to be equal.
struct SameKernel : llvm::DenseMapInfo<mlir::Operation *> {
  static unsigned getHashValue(mlir::Operation *kernel);
  static bool isEqual(mlir::Operation *a, mlir::Operation *b);
};

} // namespace tenon::exec

#endif // TENON_DIALECT_EXEC_SAMEKERNEL_H
