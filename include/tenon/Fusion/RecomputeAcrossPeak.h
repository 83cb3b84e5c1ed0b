//===- RecomputeAcrossPeak.h - Keep fewer values where most are kept -----===//
//
// A training step keeps values from its forward for its backward part. Of what
// element-wise operations compute between two matrix multiplications, often all
// intermediate values are wanted again, but one or two of them determine the
// others. This chooses which values really stay in memory at the moment when
// the most bytes do (the peak), and copies the operations that compute the
// others behind that moment, once for each group that reads them. Copied
// operations then join the group that reads them, so that a recomputation is
// mostly arithmetic on values that a kernel loads anyway.
//
// The choice is a minimum cut. Each value computed before the peak is an edge,
// with its bytes as capacity; what has to be there after the peak leads to the
// sink; a value that is not kept needs the operands of its operation instead.
// What must not be computed twice (matrix multiplications, reductions, loops)
// hangs on the source without limit, the others with the price of their
// arithmetic:
//
//     %p = dot ...        2 MiB, cannot be recomputed
//     %t = tanh %p        2 MiB, used after the peak
//     %s = 1 - %t * %t    2 MiB, used after the peak
//
//     source ══► %p ──2──► ┬─► %t ──2──► sink       cut: keep %p (2 MiB) and
//                          └─► %s ──2──► sink       recompute the others
//
// What comes out is done only if the groups, with and without what they would
// compute again, are predicted to take no longer than before. Library calls and
// loops cannot compute anything again themselves. The kernels that do it for
// them may take a small part of the time of the calls and loops of the block;
// what would take more, dearest first, is kept for them. In the body of a loop
// they must also save a part of what the loop holds.
//
// No bit changes: a copy is the same operation on the same values.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_FUSION_RECOMPUTEACROSSPEAK_H
#define TENON_FUSION_RECOMPUTEACROSSPEAK_H

#include "tenon/Fusion/GroupGraph.h"
#include "tenon/Fusion/KnownKernels.h"
#include "tenon/Target/Target.h"

#include "llvm/ADT/DenseMap.h"

namespace tenon::fusion {

/// Operations that were copied, with the number of the reader they were copied
/// for. Grouping must not merge one with anything before that reader, or what
/// it computes would stay in memory after all.
struct RecomputedOperations {
  llvm::DenseMap<mlir::Operation *, unsigned> readerOf;
  unsigned readers = 0; // numbered so far
};

/// Rewrites the block so that fewer bytes stay in memory at the moment when
/// most do, or, if nothing is to be gained there, when most do of those that
/// could be computed again. `graph` and `kernels`, which is of it, are stale
/// afterwards. Returns the bytes saved at that moment; 0, and an unchanged
/// block, if it is less than a fiftieth.
int64_t recomputeAcrossPeak(mlir::Block &block, const GroupGraph &graph,
                            KnownKernels &kernels,
                            RecomputedOperations &recomputed,
                            const target::Target &machine);

} // namespace tenon::fusion

#endif // TENON_FUSION_RECOMPUTEACROSSPEAK_H
