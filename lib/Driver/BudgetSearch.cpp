//===- BudgetSearch.cpp - Plans within budgets, of all candidates ---------===//
//
// See BudgetSearch.h.
//
//===----------------------------------------------------------------------===//

#include "BudgetSearch.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::driver;

BudgetSearch::BudgetSearch(CandidateStream &candidates, SearchOptions options)
    : candidates(candidates), options(options) {
  follow();
}

void BudgetSearch::follow() {
  SearchOptions without = options;
  without.hostLink.reset();
  for (const Candidate &candidate :
       candidates.formed().drop_front(plain.size())) {
    planners.emplace_back(*candidate.module, without);
    if (options.hostLink)
      planners.emplace_back(*candidate.module, options);
    plain.emplace_back(*candidate.module, without,
                       CandidatePlanner::Order::withoutBudget);
  }
}

bool BudgetSearch::formMore() {
  bool any = candidates.formMore();
  follow();
  return any;
}

bool BudgetSearch::formMixture(int64_t budget, int64_t nanoseconds) {
  const PlannedStep *all = planners.front().keepEverything();
  if (!all)
    return false;
  bool any = candidates.formMixture(
      {all->bytes - budget, nanoseconds - all->baseNanoseconds});
  follow();
  return any;
}

/// Whether a plan leaves so much of the budget unused that one with more bytes
/// may be cheaper.
static bool leavesRoom(const PlanFigures &plan, int64_t budget) {
  constexpr int64_t unusedShare = 100; // of the budget
  return plan.nanoseconds > plan.boundNanoseconds &&
         budget - plan.bytes > budget / unusedShare;
}

/// Whether a plan is worth looking for another among fewer choices.
static bool isFar(const PlanFigures &plan) {
  constexpr int64_t farShare = 20; // of the extra time that the bound asks for
  return plan.nanoseconds - plan.boundNanoseconds >
         (plan.boundNanoseconds - plan.baseNanoseconds) / farShare;
}

/// Whether a plan computes nothing again.
static bool keepsEverything(const PlanFigures &plan) {
  return plan.nanoseconds == plan.onceNanoseconds;
}

PlannedStep BudgetSearch::named(PlannedStep plan, size_t planner) {
  plan.planner = planner;
  plan.candidate = candidateOf(planner);
  // What is computed again between loops is more work, too.
  plan.baseNanoseconds = quickestNanoseconds();
  return plan;
}

int64_t BudgetSearch::quickestNanoseconds() {
  int64_t quickest = CandidatePlanner::noLimit;
  for (CandidatePlanner &planner : planners)
    if (const PlannedStep *all = planner.keepEverything())
      quickest = std::min(quickest, all->nanoseconds);
  return quickest;
}

std::optional<PlannedStep> BudgetSearch::everythingWithin(int64_t budget,
                                                          size_t planner) {
  const PlannedStep *all = planners[planner].keepEverything();
  // The order without a budget saves less than 1 % of the live bytes beside the
  // one for budgets; places may save a little more.
  constexpr int64_t savedShare = 50; // of the temporaries
  if (!all || all->bytes - budget > all->temporaries / savedShare)
    return std::nullopt;
  for (CandidatePlanner *each :
       {&plain[candidateOf(planner)], &planners[planner]}) {
    all = each->keepEverything();
    if (!all || all->bytes > budget)
      continue;
    PlannedStep plan = copyOf(*all);
    each->settleBound(plan, budget);
    return named(std::move(plan), planner);
  }
  return std::nullopt;
}

std::vector<PlannedStep> BudgetSearch::look(int64_t budget) {
  std::vector<PlannedStep> plans; // the cheapest first
  std::vector<CandidatePlanner::Rounds> rounds(planners.size());
  // All have their first round before any has its second: most have a plan by
  // then, and what it takes ends the others' rounds.
  for (bool any = true; any;) {
    any = false;
    // The last one stacks least between its loops, so it comes first.
    for (size_t index = planners.size(); index-- > 0;) {
      const PlannedStep *known = plans.empty() ? nullptr : &plans.front();
      if (!rounds[index].canContinue() ||
          // With fewer bytes it takes longer still.
          (known && rounds[index].made &&
           rounds[index].last.nanoseconds >= known->nanoseconds))
        continue;
      any = true;
      std::optional<PlannedStep> plan;
      if (!rounds[index].made)
        plan = everythingWithin(budget, index);
      if (plan)
        rounds[index].over = true;
      else
        plan = planners[index].next(budget, rounds[index],
                                    known ? known->nanoseconds
                                          : CandidatePlanner::noLimit);
      if (!plan)
        continue;
      auto place = llvm::upper_bound(
          plans, *plan, [](const PlannedStep &a, const PlannedStep &b) {
            return a.nanoseconds < b.nanoseconds;
          });
      plans.insert(place, named(std::move(*plan), index));
    }
    // The next one computes more again than the last one.
    if (!any &&
        (plans.empty() || (isFar(plans.front()) &&
                           planners.back().keepEverything()->nanoseconds <
                               plans.front().nanoseconds)))
      any = formMore();
    if (!any && !plans.empty())
      any = formMixture(budget, plans.front().nanoseconds);
    rounds.resize(planners.size());
  }
  return plans;
}

BudgetSearch::Sight BudgetSearch::see(int64_t budget) {
  if (seen && seen->budget == budget) {
    Sight known = std::move(*seen);
    seen.reset();
    return known;
  }
  Sight sight{budget, {}, /*keepsEverything=*/true};
  if (auto all = everythingWithin(budget, 0))
    sight.plans.push_back(std::move(*all));
  else
    sight = {budget, look(budget), /*keepsEverything=*/false};
  return sight;
}

const PlannedStep *BudgetSearch::glance(int64_t budget) {
  if (!keepEverything())
    return nullptr;
  seen = see(budget);
  return seen->plans.empty() || candidates.failure() != exitOk
             ? nullptr
             : &seen->plans.front();
}

std::optional<PlannedStep> BudgetSearch::within(int64_t budget) {
  if (!keepEverything())
    return std::nullopt;
  Sight sight = see(budget);
  std::vector<PlannedStep> &plans = sight.plans;
  if (sight.keepsEverything)
    return std::move(plans.front());
  if (plans.empty() && smallest() && least->bytes <= budget) {
    // What was found on the way down is where another look begins.
    plans = look(budget);
    if (plans.empty())
      plans.push_back(copyOf(*least));
  }
  std::optional<PlannedStep> best;
  for (PlannedStep &plan : plans) {
    // A long search rarely gains what the quick look was behind.
    if (best && best->nanoseconds <= plan.nanoseconds)
      break;
    if (!plan.isSettled) {
      CandidatePlanner &planner = planners[plan.planner];
      if (leavesRoom(plan, budget))
        if (auto found = planner.closer(plan, budget))
          plan = named(std::move(*found), plan.planner);
      if (auto found = planner.improved(plan, budget))
        plan = named(std::move(*found), plan.planner);
    }
    if (!best || plan.nanoseconds < best->nanoseconds)
      best = std::move(plan);
  }
  if (!best || candidates.failure() != exitOk)
    return std::nullopt;
  if (!best->isSettled)
    planners[best->planner].settleBound(*best, budget);
  return named(std::move(*best), best->planner);
}

const PlannedStep *BudgetSearch::smallest() {
  if (least || !keepEverything())
    return least ? &*least : nullptr;
  while (formMore()) {
  }
  if (candidates.failure() != exitOk)
    return nullptr;
  for (CandidatePlanner &planner : planners)
    planner.collect(true);
  size_t collecting = planners.size();
  const size_t last = planners.size() - 1;
  const PlannedStep *all = planners[last].keepEverything();
  if (!all)
    return nullptr;
  least = named(copyOf(*all), last);
  // With transfers a step may need fewer bytes, or without.
  for (size_t index = planners.size();
       index-- > 0 && candidateOf(index) == candidateOf(last);) {
    planners[index].descend(all->livePeak);
    std::optional<PlannedStep> fewest = planners[index].takeFewest();
    if (fewest && fewest->bytes <= least->bytes)
      least = named(std::move(*fewest), index);
  }
  auto wanted = [&] { return least->bytes - least->bytes / 100; };
  auto findsLess = [&](size_t index) {
    CandidatePlanner &planner = planners[index];
    std::optional<PlannedStep> smaller = planner.within(wanted());
    if (smaller)
      planner.descend(smaller->livePeak);
    smaller = planner.takeFewest();
    if (!smaller || smaller->bytes >= least->bytes)
      return false;
    least = named(std::move(*smaller), index);
    return true;
  };
  for (bool found = true; found;) {
    found = false;
    for (size_t index = planners.size(); index-- > 0;)
      found |= findsLess(index);
    while (!found && formMixture(wanted(), CandidatePlanner::noLimit))
      for (; collecting < planners.size(); ++collecting) {
        planners[collecting].collect(true);
        found |= findsLess(collecting);
      }
  }
  for (CandidatePlanner &planner : planners)
    planner.collect(false);
  if (candidates.failure() != exitOk)
    least.reset();
  return least ? &*least : nullptr;
}

std::vector<FrontierPoint> BudgetSearch::frontier(int64_t count) {
  std::vector<FrontierPoint> points;
  if (!smallest())
    return points;
  const PlannedStep *everything = keepEverything();
  int64_t range = everything->bytes - least->bytes;
  PlanFigures known = *least;
  size_t planner = least->planner;
  for (int64_t i = 0; i < count; ++i) {
    // The last budget is exactly what everything takes.
    int64_t steps = count > 1 ? count - 1 : 1;
    int64_t budget = everything->bytes - range / steps * (count - 1 - i);
    std::optional<PlannedStep> plan = within(budget);
    if (candidates.failure() != exitOk)
      return {};
    if (plan && plan->nanoseconds <= known.nanoseconds) {
      known = *plan;
      planner = plan->planner;
    } else if (plan && plan->planner != planner) {
      // A smaller budget's plan fits, too; a bound is proved here on the way.
      planners[planner].within(budget);
    }
    points.push_back({known, budget, planner});
  }
  // What was proved for a larger budget holds for every smaller one.
  for (FrontierPoint &point : points) {
    // In no order does a plan take less than each kernel once.
    point.boundNanoseconds =
        keepsEverything(point)
            ? point.onceNanoseconds
            : planners[point.planner].boundWithin(point.budget);
    point.baseNanoseconds = quickestNanoseconds();
  }
  return points;
}
