//===- RecomputeExact.h - the cheapest plan of a small problem ------------===//
//
// Best-first search over (first runs done, values in memory). The local search
// runs every node at most once per stage and by id; a few tight problems need a
// node twice in one stage, or out of order. On problems of up to 24 values this
// search has no such limits.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SOLVER_RECOMPUTEEXACT_H
#define TENON_LIB_SOLVER_RECOMPUTEEXACT_H

#include "RecomputeGraph.h"

namespace tenon::solver {

/// Whether the problem is small enough; transfers are not known here.
bool canSearchExactly(const RecomputeGraph &graph,
                      std::span<const RecomputeProblem::Variant> variants = {});

/// The cheapest list of operations that costs less than `below`; empty if there
/// is none or `states` were visited first. Counts `states` down.
std::vector<int32_t>
searchExactly(const RecomputeGraph &graph,
              std::span<const RecomputeProblem::Variant> variants,
              int64_t budget, int64_t below, int64_t &states);

} // namespace tenon::solver

#endif // TENON_LIB_SOLVER_RECOMPUTEEXACT_H
