//===- BudgetSearch.h - Plans within budgets, of all candidates -----------===//
//
// Looks through a stream of candidates for the quickest plan within a budget,
// and for the one with the fewest bytes. The first candidate keeps most between
// its loops and takes least time. A quick look at each says in which the
// cheapest plan is to be looked for, and whether further ones are worth
// forming. Where values may wait in the host's memory, each candidate is
// planned with and without that, and no plan is slower than those without.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_DRIVER_BUDGETSEARCH_H
#define TENON_LIB_DRIVER_BUDGETSEARCH_H

#include "CandidatePlanner.h"
#include "Candidates.h"

#include <deque>

namespace tenon::driver {

struct FrontierPoint : PlanFigures {
  int64_t budget = 0;
  size_t planner = 0; // who has made the plan
};

class BudgetSearch {
public:
  /// Forms further candidates where a budget needs them.
  BudgetSearch(CandidateStream &candidates, SearchOptions options);

  /// The plan without a budget, which keeps everything: that of the first
  /// candidate, in the order that it has without a budget. Null after an error
  /// was reported.
  const PlannedStep *keepEverything() { return plain.front().keepEverything(); }
  /// A plan within `budget` bytes, if a quick look finds one; null otherwise. A
  /// search within the same budget begins with what was seen.
  const PlannedStep *glance(int64_t budget);
  /// The quickest plan within `budget` bytes, if one is found; none where a
  /// candidate that might have it could not be formed.
  std::optional<PlannedStep> within(int64_t budget);
  /// The plan with the fewest bytes that is found: looking for one with 1 %
  /// less in any candidate finds none. Null after an error was reported, also
  /// of a candidate that could not be formed.
  const PlannedStep *smallest();
  /// Plans for `count` budgets, evenly spaced from the smallest with a plan to
  /// keeping everything; bytes never fall and times never rise along them.
  /// Empty after an error was reported.
  std::vector<FrontierPoint> frontier(int64_t count);

private:
  /// Says whose plan it is, and measures it by the quickest without a budget.
  PlannedStep named(PlannedStep plan, size_t planner);
  /// The one for whose step a planner makes plans.
  size_t candidateOf(size_t planner) const {
    return options.hostLink ? planner / 2 : planner;
  }
  int64_t quickestNanoseconds();
  /// Takes up candidates that were formed since.
  void follow();
  bool formMore();
  /// Forms a mixture in which there may be a plan within `budget` for less than
  /// `nanoseconds`.
  bool formMixture(int64_t budget, int64_t nanoseconds);
  /// The plan of a planner's candidate that keeps everything, if it fits; in
  /// the order that it has without a budget where it fits in that one.
  std::optional<PlannedStep> everythingWithin(int64_t budget, size_t planner);
  /// What a quick look finds, at most a plan per planner, the cheapest first.
  std::vector<PlannedStep> look(int64_t budget);
  /// The plan that keeps everything, if it fits, otherwise what a look finds.
  struct Sight {
    int64_t budget = 0;
    std::vector<PlannedStep> plans;
    bool keepsEverything = false;
  };
  Sight see(int64_t budget);

  CandidateStream &candidates;
  SearchOptions options;
  /// Of each candidate one; where values may wait in the host's memory a second
  /// one behind it for plans in which they do: these compute groups again as a
  /// whole, the others in parts.
  std::deque<CandidatePlanner> planners;
  std::deque<CandidatePlanner> plain; // of each in its order without a budget
  std::optional<PlannedStep> least;   // once smallest() ran
  std::optional<Sight> seen;          // once glance() ran
};

} // namespace tenon::driver

#endif // TENON_LIB_DRIVER_BUDGETSEARCH_H
