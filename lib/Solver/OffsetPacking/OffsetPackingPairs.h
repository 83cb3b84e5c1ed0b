//===- OffsetPackingPairs.h - exact search over above-or-below decisions --===//
//
// Bodies of any shape (groups, slices, fixed offsets) need not be stackable:
// one may reach under another here and over it there. What is always true: of
// two slots with a common section, one lies above the other. The search decides
// this for one pair after another, always a pair that still overlaps when every
// body lies as low as the decisions permit. Exact for every model; meant for
// small ones, and for improving on a first fit. The compiler's buffers can all
// be dropped (Model::canBeDropped), so only files given to tenon-solve, which
// may hold slices, groups and fixed offsets, come here. Internal to lib/Solver.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SOLVER_OFFSETPACKINGPAIRS_H
#define TENON_LIB_SOLVER_OFFSETPACKINGPAIRS_H

#include "OffsetPackingSearch.h"

namespace tenon::solver::packing {

/// Looks for a plan with arena <= capacity. Each decision costs one node.
SearchOutcome searchPairs(const Model &model, int64_t capacity, int64_t &nodes,
                          Bases &bases);

/// Places the bodies in the given order, fixed ones first, each at the lowest
/// base that is free. Finds holes under what is already there, which a dive
/// does not. Quadratic in the number of slots.
Bases firstFit(const Model &model, const std::vector<int32_t> &order);

} // namespace tenon::solver::packing

#endif // TENON_LIB_SOLVER_OFFSETPACKINGPAIRS_H
