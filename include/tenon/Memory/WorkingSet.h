//===- WorkingSet.h - Bytes that no plan goes below -----------------------===//
//
// While a group runs, what it reads and what it writes are there together, in
// any order and with anything recomputed. The largest such sum among the
// temporaries, beside the segments that are always there, is a lower bound on
// every plan of these groups:
//
//     %c = group library(%a, %b)      %a, %b and %c, unless one of them may lie
//                                     in another segment or over another value
//
// Counted are only values that surely lie among the temporaries: a value that
// an element-wise chain connects with an argument, with a result of the step or
// with what a loop carries may be written over that.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_MEMORY_WORKINGSET_H
#define TENON_MEMORY_WORKINGSET_H

#include "tenon/Solver/RecomputeChoice.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SmallVector.h"

#include <string>

namespace tenon::memory {

struct WorkingSet {
  struct Part {
    std::string type, source; // "32x65x768xf32", "jvp()/mul models.py:232"
    int64_t bytes = 0;        // as placed
    bool isWritten = false;
  };
  /// Largest first; without scratch memory.
  llvm::SmallVector<Part> parts;
  int64_t scratchBytes = 0;
  std::string source; // of the group
  int64_t bytes = 0;  // in all

  /// The group as the only interesting node of a recomputation problem, so that
  /// solver::checkRecompute() accepts `proof()` for every smaller budget.
  solver::RecomputeProblem problem() const;
  solver::RecomputeSolution proof(int64_t budget) const;
};

/// The largest working set of the groups of `main`, in grouped form with
/// scratch sizes; of zero bytes if nothing is sure.
WorkingSet largestWorkingSet(mlir::func::FuncOp main);

} // namespace tenon::memory

#endif // TENON_MEMORY_WORKINGSET_H
