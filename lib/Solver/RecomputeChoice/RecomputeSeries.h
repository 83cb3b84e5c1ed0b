//===- RecomputeSeries.h - the bound of several cuts together -------------===//
//
// One cut sees one moment; RecomputeChoice.h states what a series of cuts
// proves with a price per value between neighbouring windows. With all prices
// fixed every window is a minimum cut of its own. The best prices are
// approached by subgradient steps. The series grows from a single cut, one cut
// at a time: whatever flows to what is read after a new cut is what holding it
// there may cost, so a longer series starts with the bound of the shorter one
// and only gains.
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
