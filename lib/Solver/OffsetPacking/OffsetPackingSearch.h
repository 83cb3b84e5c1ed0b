//===- OffsetPackingSearch.h - exhaustive search for a plan that fits -----===//
//
// Decides whether bodies that can be dropped (Model::canBeDropped) fit a
// capacity, within a budget of nodes, taking them in a given order. Internal to
// lib/Solver.
//
// A plan whose offsets cannot be lowered can be rebuilt bottom up: drop each
// body on the skyline once all that lie under it are placed; it comes to rest
// where it was. So a partial plan is fully described by the lowest legal base
// of each unplaced body, and whichever body is looked at, there are two cases:
// nothing that is unplaced lies under it, and it rests where it would now; or
// something does, and it waits for that. What cuts the search is written at
// each rule in OffsetPackingSearch.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SOLVER_OFFSETPACKINGSEARCH_H
#define TENON_LIB_SOLVER_OFFSETPACKINGSEARCH_H

#include "OffsetPackingModel.h"

#include <memory>

namespace tenon::solver::packing {

enum class SearchOutcome {
  Found,     ///< the bases are a plan within the capacity
  Exhausted, ///< there is none: proved
  Stopped,   ///< the budget is spent
};

/// The rules that may be switched off, for tests that compare results with and
/// without each.
struct SearchRules {
  bool stuck = true;     ///< a skipped body waits for one that covers it
  bool dominance = true; ///< leave no hole that an unplaced body fits
  bool hatless = true;   ///< what nothing can cover has no alternative
  bool twins = true;     ///< equal bodies in one order only
  bool split = true;     ///< parts that no unplaced body joins, apart
  bool jump = true;      ///< no alternatives to what a failure does not touch
  bool fullestFirst = true; ///< equally low bodies: by what waits beside them
};

/// Which of several bodies is placed first; no taste loses a plan. Two parts
/// that were cut a little differently seldom end at the same height, and then a
/// difference of no importance would overrule the order.
struct SearchTaste {
  /// Resting places count as equally low if they differ by no more than this
  /// share of the capacity.
  double nearlyEqual = 0;
  /// Sections count as equally full likewise.
  double fullnessStep = 0;
};

class Search {
public:
  virtual ~Search() = default;

  /// Looks for a plan with arena <= capacity, which is at least the largest
  /// body and the bytes live in any section. `order` ranks all bodies of the
  /// model. Each placement tried costs one node; `nodes` is reduced by them.
  /// On Found, `bases` holds the plan. `blame`, one entry per body, grows for
  /// the bodies that waited for the same bytes when they did not fit.
  virtual SearchOutcome run(int64_t capacity, const std::vector<int32_t> &order,
                            const SearchTaste &taste, int64_t &nodes,
                            Bases &bases, std::vector<int64_t> &blame) = 0;

  SearchRules rules;
};

/// A search for this model, which must outlive it, and capacities from max-live
/// to `largestCapacity`.
std::unique_ptr<Search> makeSearch(const Model &model, int64_t largestCapacity);

} // namespace tenon::solver::packing

#endif // TENON_LIB_SOLVER_OFFSETPACKINGSEARCH_H
