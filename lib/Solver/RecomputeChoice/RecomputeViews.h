//===- RecomputeViews.h - cases that are seen from several cuts -----------===//
//
// Where a large value is dropped for one full moment and is back at the next,
// either cut alone misses something: the first does not see that it takes room
// again, the second not that it was dropped (f3 in the worked example of
// RecomputeChoice.h, which states the theorem). So cases are told apart by what
// runs again after the first of a few cuts, and each is proved at the cut that
// shows most. Unlike a series with cases (RecomputeCases.h) a cut looks at all
// the time after it, so nothing is lost between neighbouring cuts, and there
// are no prices of values to be found.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SOLVER_RECOMPUTEVIEWS_H
#define TENON_LIB_SOLVER_RECOMPUTEVIEWS_H

#include "RecomputeSeries.h"

namespace tenon::solver {

/// Looks for cases at some of the `cuts`, with a bound above `known.bound`;
/// done once it is `enough`, at most that of a plan. At most `flows` minimum
/// cuts, or so.
SeriesProof improveByViews(const RecomputeGraph &graph, int64_t budget,
                           std::span<const int32_t> cuts, SeriesProof known,
                           int64_t enough, int64_t flows);

} // namespace tenon::solver

#endif // TENON_LIB_SOLVER_RECOMPUTEVIEWS_H
