//===- RecomputeRebuild.h - from a cut to a plan --------------------------===//
//
// A cut says what runs again after the cut node, not when. Each of these nodes
// runs again just before its first use on the way back, and what it reads and
// is not there runs again with it. On deep stacks that rebuilds too much at
// once: the network sees one moment and no later one. So whenever a rebuild
// does not fit, it is split: its upper part runs now, the few values that the
// upper part reads from the lower part (a block boundary, in a stack of layers)
// are held instead, and the lower part waits until it is needed. The room for
// the held values is reserved beforehand; the amount is searched for.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SOLVER_RECOMPUTEREBUILD_H
#define TENON_LIB_SOLVER_RECOMPUTEREBUILD_H

#include "RecomputeCut.h"

namespace tenon::solver {

/// The nodes that run again when `room` bytes may be held at the cut: the line
/// of the front that fits, filled up from the next line. `front` is sorted by
/// held bytes; its first line must fit.
std::vector<char> chooseReruns(const RecomputeGraph &graph,
                               const CutNetwork &network,
                               const std::vector<CutLine> &front, int64_t room);

/// Places the reruns, each just before its first use after `cut`. With `split`,
/// rebuilds that exceed the budget are split as described above.
Reruns placeReruns(const RecomputeGraph &graph, int32_t cut,
                   std::vector<char> rerun, int64_t budget, bool split);

} // namespace tenon::solver

#endif // TENON_LIB_SOLVER_RECOMPUTEREBUILD_H
