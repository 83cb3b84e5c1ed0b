//===- RecomputeSeries.h - the bound of several cuts together -------------===//
//
// One cut sees one moment. A series of cut nodes v1 < v2 < ... divides the time
// after v1 into windows, each from one cut to the next. In the window after vk
//
//     what is read from before vk must be held at vk or run again there,
//     what is held at vk must have been available in the window before,
//
// and no rerun is in two windows, so the costs add up. The second rule ties the
// windows together; it is given a price per value: holding a value at vk costs
// that price on top of the price of its bytes, and having it available in the
// window before earns it. With all prices fixed every window is a minimum cut
// of its own, and base + sum of cuts - sum of price * room - sum of value
// prices is a lower bound on the cost of every plan in the given order. The
// best prices are approached by subgradient steps. The series grows from a
// single cut, one cut at a time: whatever flows to what is read after a new cut
// is what holding it there may cost, so a longer series starts with the bound
// of the shorter one and only gains.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SOLVER_RECOMPUTESERIES_H
#define TENON_LIB_SOLVER_RECOMPUTESERIES_H

#include "RecomputeGraph.h"

namespace tenon::solver {

struct SeriesProof {
  int64_t bound = 0;
  RecomputeCertificate certificate;
};

/// Looks for a series with a bound above `known.bound`, starting from the
/// single cut of `known`'s certificate; `upper` is the cost of a plan, or a
/// guess. `fullness` is the bytes at each node when everything is kept: only
/// nodes above the budget become cuts. `tries` counts the series that are
/// evaluated.
SeriesProof improveBySeries(const RecomputeGraph &graph, int64_t budget,
                            const std::vector<int64_t> &fullness,
                            SeriesProof known, int64_t upper, int tries);

} // namespace tenon::solver

#endif // TENON_LIB_SOLVER_RECOMPUTESERIES_H
