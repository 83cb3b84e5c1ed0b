//===- PackingProblem.h - Temporaries as a packing problem ---------------===//
//
// The buffers that share the arena of temporaries, each with the times at which
// it is live: what Solver/OffsetPacking places. Private to this folder.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_MEMORY_PACKINGPROBLEM_H
#define TENON_LIB_MEMORY_PACKINGPROBLEM_H

#include "JointRuns.h"

#include "tenon/Memory/BufferClasses.h"
#include "tenon/Solver/OffsetPacking.h"

namespace tenon::memory {

struct PackingProblem {
  solver::OffsetPackingProblem problem;
  /// The class of each of the problem's first buffers; those behind them are
  /// `buffers.scratch()`, in its order.
  llvm::SmallVector<BufferClasses::Id> classes;

  /// No value takes the place of another one while a run of `together` is
  /// under way, as if all of it happened at once. Of `segment`, which is
  /// `temporaries` or `host`.
  explicit PackingProblem(const BufferClasses &buffers,
                          llvm::ArrayRef<JointRun> together = {},
                          step::Segment segment = step::Segment::temporaries);
};

/// A short search for a small arena: some hundredths of a second.
solver::OffsetPackingOptions quickPacking(const PackingProblem &packing);
/// A longer one, of up to many seconds, as long as what it could save is worth:
/// the longest for a tenth of the arena, or for a megabyte.
solver::OffsetPackingOptions longPacking(const PackingProblem &packing,
                                         int64_t arena, int64_t bound);
/// A search for an arena within a capacity; where `quick`, one turn of each way
/// to search.
solver::OffsetPackingOptions packingToCapacity(const PackingProblem &packing,
                                               bool quick);

} // namespace tenon::memory

#endif // TENON_LIB_MEMORY_PACKINGPROBLEM_H
