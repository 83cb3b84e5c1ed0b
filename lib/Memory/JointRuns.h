//===- JointRuns.h - Groups that may be one launch ------------------------===//
//
// On a GPU kernels that follow each other and do not touch what another one
// writes are one launch (Codegen/GPU/JointKernel.h). A run is what an order
// allows of that: groups in a row, none of which reads a result of another. If
// no value takes the place of another one meanwhile, a run is one launch.
// Private to this folder.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_MEMORY_JOINTRUNS_H
#define TENON_LIB_MEMORY_JOINTRUNS_H

#include "tenon/Dialect/Step/Step.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tenon::memory {

struct JointRun {
  mlir::Operation *first, *last;
};

/// Whether a group can share a launch with another one at all.
bool mayShareLaunch(mlir::Operation *op);

/// The addresses that its kernel is given.
unsigned addressesOf(mlir::Operation *op);

/// Those of at least two groups, in the order of the program.
llvm::SmallVector<JointRun> findJointRuns(mlir::func::FuncOp function);

} // namespace tenon::memory

#endif // TENON_LIB_MEMORY_JOINTRUNS_H
