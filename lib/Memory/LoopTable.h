//===- LoopTable.h - The ways to run the body of a loop ------------------===//
//
// A loop is one node of the recomputation problem, and may come with a table:
// each row is a plan of its body, made inside out by TabulateLoops.cpp, with
// what it needs and how long the whole loop takes. Until a row is chosen, the
// table stands on the loop as step::loopRowsAttrName.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_MEMORY_LOOPTABLE_H
#define TENON_LIB_MEMORY_LOOPTABLE_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/SmallVector.h"

#include <vector>

namespace tenon::memory {

struct LoopRow {
  int64_t bytes = 0;       // live inside the loop and nowhere else, at most
  int64_t nanoseconds = 0; // of all rounds
  /// The plan of the body, as RecomputeModel::apply() takes it; empty for the
  /// body as it stands.
  llvm::SmallVector<int32_t> order, rows;
};

/// What no way to run the body goes below in both figures at once: each needs
/// at least these bytes and this time, or those of another floor.
struct LoopFloor {
  int64_t bytes = 0, nanoseconds = 0;
};

/// Rows of a loop, by falling bytes; empty without a table.
std::vector<LoopRow> readLoopRows(mlir::Operation *loop);
/// Empty if there are no other ways to run the body.
std::vector<LoopFloor> readLoopFloors(mlir::Operation *loop);
void writeLoopTable(mlir::Operation *loop, llvm::ArrayRef<LoopRow> rows,
                    llvm::ArrayRef<LoopFloor> floors);

/// Predicted time of an operation by step::nanosecondsAttrName, loops
/// multiplied out where their trips are evident; at least 1.
int64_t nanosecondsOf(mlir::Operation *op);

} // namespace tenon::memory

#endif // TENON_LIB_MEMORY_LOOPTABLE_H
