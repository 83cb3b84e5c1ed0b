//===- OffsetPackingPortfolio.h - many short searches that learn ----------===//
//
// One order may need millions of nodes where another walks straight to a plan,
// and nobody knows which beforehand. So every order gets a small budget, again
// and again, growing slowly. What could not be placed in earlier searches is
// moved forward in later ones: each failure blames the bodies that waited for
// the same bytes, and the share of blame is added to the place in the order.
// Where few sizes repeat, most searches take an order at its word for bodies
// that could rest at nearly the same height (SearchTaste). Internal to
// lib/Solver.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SOLVER_OFFSETPACKINGPORTFOLIO_H
#define TENON_LIB_SOLVER_OFFSETPACKINGPORTFOLIO_H

#include "OffsetPackingClauses.h"
#include "OffsetPackingDive.h"
#include "OffsetPackingSearch.h"

namespace tenon::solver::packing {

class Portfolio {
public:
  /// The model can be dropped (Model::canBeDropped) and outlives the portfolio,
  /// as do its keys.
  Portfolio(const Model &model, const SortKeys &keys, int64_t largestCapacity);

  /// Looks for a plan with arena <= capacity; reduces `nodes` by what it
  /// spends. What was learnt stays for the next call, except clauses, which
  /// hold for one capacity and are worth it where that is worth a long search.
  SearchOutcome run(int64_t capacity, bool withClauses, int64_t &nodes,
                    Bases &bases);

private:
  SearchOutcome runDrops(int64_t capacity, int64_t share, int64_t &nodes,
                         Bases &bases);
  std::vector<int32_t> nextOrder();
  SearchTaste nextTaste() const;

  const Model &model;
  const SortKeys &keys;
  std::unique_ptr<Search> search;
  std::vector<int64_t> blame;
  bool mostlyTolerant;
  int64_t round = 0;
  double budget = 0;    ///< nodes of the next search by drops
  int64_t numEqual = 0; ///< searches of the same budget before it
};

} // namespace tenon::solver::packing

#endif // TENON_LIB_SOLVER_OFFSETPACKINGPORTFOLIO_H
