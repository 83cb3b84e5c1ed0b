//===- OffsetPackingClauses.h - a search that learns who lies under whom --===//
//
// Of two bodies with a common section one lies under the other. This search
// decides so from the ground up: among the bodies that can lie nearly lowest it
// takes the first in an order and puts it under all that are still free. What
// follows is propagated, and every failure leaves a clause (BoundClauses.h)
// that holds for good, also after a restart in another order. A node costs a
// hundred times one of the search by drops, but on tight problems where that
// one is a lottery a few hundred failures are often enough. It has its turn
// where a capacity is given: in the compiler, that is a memory budget that the
// smallest arena found otherwise exceeds. Internal to lib/Solver.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SOLVER_OFFSETPACKINGCLAUSES_H
#define TENON_LIB_SOLVER_OFFSETPACKINGCLAUSES_H

#include "OffsetPackingDive.h"
#include "OffsetPackingSearch.h"

namespace tenon::solver::packing {

class ClauseSearch {
public:
  virtual ~ClauseSearch() = default;

  /// Goes on looking for a plan within the capacity; reduces `nodes` by what it
  /// spends, in nodes of Search that take as long. On Found, `bases` is the
  /// plan.
  virtual SearchOutcome run(int64_t &nodes, Bases &bases) = 0;
};

/// Nothing unless all bodies are free, equally high in all of their windows,
/// and lie at multiples of their common divisor, or if there are too many
/// pairs. The model and its keys must outlive it.
std::unique_ptr<ClauseSearch>
makeClauseSearch(const Model &model, const SortKeys &keys, int64_t capacity);

} // namespace tenon::solver::packing

#endif // TENON_LIB_SOLVER_OFFSETPACKINGCLAUSES_H
