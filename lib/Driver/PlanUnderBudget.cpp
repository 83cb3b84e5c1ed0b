//===- PlanUnderBudget.cpp - The stage `plan` with a memory budget -------===//
//
// See PlanUnderBudget.h.
//
//===----------------------------------------------------------------------===//

#include "PlanUnderBudget.h"

#include "tenon/Memory/Passes.h"

#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::driver;

bool BudgetPlanner::order() {
  if (ordered)
    return true;
  OwningOpRef<ModuleOp> module = grouped.clone();
  PassManager passes(grouped.getContext());
  passes.enableVerifier(false);
  memory::buildOrderPipeline(passes, /*hasBudget=*/true);
  if (failed(passes.run(*module)))
    return false;
  auto main = module->lookupSymbol<func::FuncOp>("main");
  if (!main || main.isDeclaration()) {
    grouped.emitError() << "there is no function @main to plan";
    return false;
  }
  model = std::make_unique<memory::RecomputeModel>(main.getBody().front());
  ordered = std::move(module);
  return true;
}

PlannedStep driver::copyOf(const PlannedStep &plan) {
  PlannedStep copy;
  static_cast<PlanFigures &>(copy) = plan;
  copy.module = plan.module.get().clone();
  copy.solution = plan.solution;
  copy.alternative = plan.alternative;
  return copy;
}

/// Reads off the step what its places need.
static void readBytes(PlannedStep &plan) {
  func::FuncOp main = plan.main();
  auto segments =
      main->getAttrOfType<DictionaryAttr>(step::segmentBytesAttrName);
  plan.bytes = 0;
  for (NamedAttribute segment : segments)
    plan.bytes += cast<IntegerAttr>(segment.getValue()).getInt();
  plan.temporaries = segments
                         .getAs<IntegerAttr>(
                             step::stringifySegment(step::Segment::temporaries))
                         .getInt();
  plan.temporariesBound =
      main->getAttrOfType<IntegerAttr>(step::temporariesBoundAttrName).getInt();
}

bool driver::placeBuffers(PlannedStep &plan, bool quick, int64_t limit) {
  PassManager passes(plan.module->getContext());
  passes.enableVerifier(false);
  passes.addNestedPass<func::FuncOp>(
      memory::createPlanOffsetsPass({/*problemFile=*/"", quick, limit}));
  if (failed(passes.run(*plan.module)))
    return false;
  readBytes(plan);
  return true;
}

std::vector<int32_t> BudgetPlanner::startFor(int64_t liveBytes) const {
  auto rank = [&](const Start &start) {
    bool fits = start.livePeak <= liveBytes;
    return std::pair(!fits, fits ? start.nanoseconds : start.livePeak);
  };
  auto best = llvm::min_element(starts, [&](const Start &a, const Start &b) {
    return rank(a) < rank(b);
  });
  return best == starts.end() ? std::vector<int32_t>() : best->order;
}

void BudgetPlanner::remember(const solver::RecomputeSolution &solution) {
  auto isNoWorse = [](const Proof &a, int64_t liveBytes, int64_t bound) {
    return a.liveBytes >= liveBytes && a.bound >= bound;
  };
  if (llvm::any_of(proofs, [&](const Proof &proof) {
        return isNoWorse(proof, solution.budget, solution.bound);
      }))
    return;
  Proof added{solution.budget, solution.bound, solution.certificate};
  llvm::erase_if(proofs, [&](const Proof &proof) {
    return isNoWorse(added, proof.liveBytes, proof.bound);
  });
  proofs.push_back(std::move(added));
}

int64_t BudgetPlanner::allowedBy(int64_t budget) {
  const PlannedStep *all = keepEverything();
  return all ? budget - (all->bytes - all->temporaries) : 0;
}

int64_t BudgetPlanner::boundWithin(int64_t budget) {
  const int64_t allowed = allowedBy(budget);
  int64_t bound = model ? model->problem().baseCost() : 0;
  for (const Proof &proof : proofs)
    if (proof.liveBytes >= allowed)
      bound = std::max(bound, proof.bound);
  return bound;
}

void BudgetPlanner::settleBound(PlannedStep &plan, int64_t budget) {
  solver::RecomputeSolution &solution = plan.solution;
  const int64_t allowed =
      std::max(allowedBy(budget), budget - (plan.bytes - plan.temporaries));
  if (solution.budget != std::max(allowed, solution.peak)) {
    solver::RecomputeOptions options = memory::recomputeOptions();
    options.moves = 0;
    options.known = &solution;
    options.boundBudget = allowed;
    options.parallel = parallel;
    solver::RecomputeSolution proof =
        solver::solveRecompute(model->problem(), plan.livePeak, options);
    remember(proof);
    // As the solver counts, which may be more than the arena needs.
    solution.budget = std::max(allowed, solution.peak);
    solution.bound = proof.bound;
    solution.certificate = std::move(proof.certificate);
    solution.anyOrderBound = proof.anyOrderBound;
    solution.anyOrderCertificate = std::move(proof.anyOrderCertificate);
  }
  // A bound for more bytes is one for these, if its certificate still says so.
  for (const Proof &proof : proofs) {
    if (proof.liveBytes < allowed || proof.bound <= solution.bound)
      continue;
    solver::RecomputeSolution other = solution;
    other.bound = proof.bound;
    other.certificate = proof.certificate;
    if (!solver::checkRecompute(model->problem(), other))
      solution = std::move(other);
  }
  plan.boundNanoseconds = solution.bound;
  memory::writeProof(plan.main(), solution);
}

std::optional<PlannedStep> BudgetPlanner::plan(const Request &request) {
  if (!order())
    return std::nullopt;
  const int64_t liveBytes = request.liveBytes;
  const bool isQuick = request.effort != Effort::full;
  solver::RecomputeOptions options = memory::recomputeOptions();
  options.quick = isQuick;
  if (request.effort == Effort::least)
    options.moves /= 10;
  options.known = request.known;
  options.isProved = request.isProved;
  options.boundBudget = request.allowedBytes;
  // The fewest bytes are found by plans that know nothing of each other.
  if (!isCollecting)
    options.start = startFor(liveBytes);
  options.useless = request.nanoseconds;
  options.parallel = parallel;
  PlannedStep result;
  result.solution =
      solver::solveRecompute(model->problem(), liveBytes, options);
  if (result.solution.status == solver::RecomputeStatus::Invalid)
    ordered->emitError() << "the recomputation problem is not well formed: "
                         << result.solution.message;
  if (result.solution.status == solver::RecomputeStatus::Solved ||
      result.solution.status == solver::RecomputeStatus::Undecided)
    remember(result.solution);
  if (result.solution.status != solver::RecomputeStatus::Solved)
    return std::nullopt;
  result.module = ordered->clone();
  func::FuncOp main = result.main();
  memory::RecomputeModel copy(main.getBody().front());
  memory::writeRecomputation(main, copy, result.solution);
  // What fits need not be smaller.
  const bool isEnough = isQuick || request.allowedBytes > 0;
  if (!placeBuffers(result, /*quick=*/isEnough, request.budget))
    return std::nullopt;
  if (!isQuick && isEnough && result.temporaries > request.allowedBytes &&
      !placeBuffers(result, /*quick=*/false, request.budget))
    return std::nullopt;
  result.livePeak = result.solution.peak;
  result.liveLimit = liveBytes;
  result.baseNanoseconds = result.onceNanoseconds = model->problem().baseCost();
  result.nanoseconds = result.solution.cost;
  result.boundNanoseconds = result.solution.bound;
  if (result.nanoseconds > result.baseNanoseconds)
    starts.push_back(
        {result.livePeak, result.nanoseconds, result.solution.order});
  if (isCollecting)
    found.push_back(copyOf(result));
  return result;
}

const PlannedStep *BudgetPlanner::keepEverything() {
  if (!everything)
    everything = plan({.liveBytes = std::numeric_limits<int64_t>::max() / 4,
                       .effort = Effort::full});
  return everything ? &*everything : nullptr;
}

void BudgetPlanner::collect(bool on) {
  isCollecting = on;
  found.clear();
  if (on && everything)
    found.push_back(copyOf(*everything));
}

std::optional<PlannedStep> BudgetPlanner::next(int64_t budget, Rounds &rounds,
                                               int64_t nanoseconds) {
  const PlannedStep *all = keepEverything();
  rounds.over |= !all;
  if (!rounds.canContinue())
    return std::nullopt;
  if (all->bytes <= budget) {
    rounds.over = true;
    return copyOf(*all);
  }
  const int64_t allowed = allowedBy(budget);
  int64_t live = allowed;
  // First all that is allowed, then less by what the arena needs beside; a plan
  // that came out too large once more needs room to spare, twice as much each
  // time.
  if (rounds.made > 0)
    live -= rounds.last.temporaries - rounds.last.livePeak;
  if (rounds.made > 1)
    live -= (live / 100) << (rounds.made - 2);
  std::optional<PlannedStep> planned;
  if (live > 0)
    planned = plan({.liveBytes = live,
                    .allowedBytes = allowed,
                    .budget = budget,
                    .nanoseconds = nanoseconds,
                    .known = rounds.made ? &rounds.solution : nullptr});
  ++rounds.made;
  // Where there is none, there is none with fewer bytes.
  rounds.over = !planned || planned->bytes <= budget;
  if (rounds.over)
    return planned;
  rounds.last = *planned;
  rounds.solution = std::move(planned->solution);
  return std::nullopt;
}

std::optional<PlannedStep> BudgetPlanner::within(int64_t budget) {
  std::optional<PlannedStep> planned;
  for (Rounds rounds; !planned && rounds.canContinue();)
    planned = next(budget, rounds);
  return planned;
}

std::optional<PlannedStep> BudgetPlanner::closer(const PlannedStep &known,
                                                 int64_t budget) {
  constexpr int mostTried = 4;
  const int64_t allowed = allowedBy(budget);
  std::optional<PlannedStep> cheapest;
  int64_t with = known.livePeak, without = allowed;
  for (int tried = 0; tried < mostTried && without - with > allowed / 100;
       ++tried) {
    const int64_t middle = with + (without - with) / 2;
    std::optional<PlannedStep> found =
        plan({.liveBytes = middle, .allowedBytes = allowed, .budget = budget});
    if (!found || found->bytes > budget) {
      without = middle;
      continue;
    }
    with = middle;
    if (found->nanoseconds < (cheapest ? *cheapest : known).nanoseconds)
      cheapest = std::move(found);
  }
  return cheapest;
}

std::optional<PlannedStep> BudgetPlanner::improved(const PlannedStep &known,
                                                   int64_t budget) {
  Request request{.liveBytes = known.liveLimit,
                  .allowedBytes = allowedBy(budget),
                  .budget = budget,
                  .effort = Effort::full,
                  .known = &known.solution};
  solver::RecomputeSolution last;
  for (int round = 0; round < mostRounds && request.liveBytes > 0; ++round) {
    std::optional<PlannedStep> found = plan(request);
    if (!found || found->bytes <= budget)
      return found && found->nanoseconds <= known.nanoseconds ? std::move(found)
                                                              : std::nullopt;
    request.liveBytes -=
        std::max(found->bytes - budget, request.liveBytes / 100);
    // The search goes on, the proof is there.
    last = std::move(found->solution);
    request.known = &last;
    request.isProved = true;
  }
  return std::nullopt;
}

void BudgetPlanner::descend(int64_t liveBytes) {
  const int64_t precise = std::max<int64_t>(liveBytes / 200, 1);
  int64_t with = liveBytes;
  // Finer where little can be saved at all.
  auto precision = [&] {
    return std::clamp((liveBytes - with) / 20,
                      std::max<int64_t>(precise / 10, 1), precise);
  };
  for (Effort effort : {Effort::least, Effort::quick}) {
    // A plan that is known leads to one with somewhat fewer bytes.
    const int64_t finer = effort == Effort::least ? 1 : 4;
    // Longer and longer steps down, then bisection.
    int64_t without = 0, step = precise;
    while (with - without > std::max<int64_t>(precision() / finer, 1)) {
      int64_t middle = without ? without + (with - without) / 2
                               : std::max(with - step, with / 2);
      step *= 2;
      if (std::optional<PlannedStep> found =
              plan({.liveBytes = middle, .effort = effort}))
        with = std::min(middle, found->livePeak);
      else
        without = middle;
    }
  }
  // Fewer live bytes may need a larger arena, so neighbours are tried.
  for (int64_t i = 1; i <= neighbours && with + i * precise / 2 < liveBytes;
       ++i)
    plan({.liveBytes = with + i * precise / 2});
}

std::optional<PlannedStep> BudgetPlanner::takeFewest() {
  auto reachable = [](const PlannedStep &plan) {
    return plan.bytes - plan.temporaries + plan.temporariesBound;
  };
  llvm::sort(found, [&](const PlannedStep &a, const PlannedStep &b) {
    return std::pair(reachable(a), a.bytes) < std::pair(reachable(b), b.bytes);
  });
  std::optional<PlannedStep> fewest;
  for (auto [rank, plan] : llvm::enumerate(found)) {
    if (fewest && fewest->bytes <= reachable(plan))
      break;
    // Looks longer for a small arena for the same plan.
    if (rank < 2 && plan.temporaries > plan.temporariesBound)
      placeBuffers(plan, /*quick=*/false);
    if (!fewest || plan.bytes < fewest->bytes)
      fewest = std::move(plan);
  }
  found.clear();
  return fewest;
}

AlternativePlanner::AlternativePlanner(Groupings &groupings, bool parallel)
    : groupings(groupings), parallel(parallel) {
  follow();
}

void AlternativePlanner::follow() {
  while (planners.size() < groupings.size())
    planners.emplace_back(groupings[planners.size()], parallel);
}

bool AlternativePlanner::formMore() {
  bool any = groupings.formMore();
  follow();
  return any;
}

bool AlternativePlanner::formMixed(int64_t budget, int64_t nanoseconds) {
  const PlannedStep *all = keepEverything();
  bool any = groupings.formMixed(all->bytes - budget,
                                 nanoseconds - all->baseNanoseconds);
  follow();
  return any;
}

/// Whether a plan leaves so much of the budget unused that one with more bytes
/// may be cheaper.
static bool leavesRoom(const PlanFigures &plan, int64_t budget) {
  constexpr int64_t unusedShare = 50; // of the budget
  return plan.nanoseconds > plan.boundNanoseconds &&
         budget - plan.bytes > budget / unusedShare;
}

/// Whether a plan is worth looking for another among fewer choices.
static bool isFar(const PlanFigures &plan) {
  constexpr int64_t farShare = 20; // of the extra time that the bound asks for
  return plan.nanoseconds - plan.boundNanoseconds >
         (plan.boundNanoseconds - plan.baseNanoseconds) / farShare;
}

PlannedStep AlternativePlanner::named(PlannedStep plan, size_t alternative) {
  plan.alternative = alternative;
  // What is computed again between loops is more work, too.
  plan.baseNanoseconds = quickestNanoseconds();
  return plan;
}

int64_t AlternativePlanner::quickestNanoseconds() {
  int64_t quickest = BudgetPlanner::noLimit;
  for (BudgetPlanner &planner : planners)
    if (const PlannedStep *all = planner.keepEverything())
      quickest = std::min(quickest, all->nanoseconds);
  return quickest;
}

std::vector<PlannedStep> AlternativePlanner::look(int64_t budget) {
  std::vector<PlannedStep> plans; // the cheapest first
  std::vector<BudgetPlanner::Rounds> rounds(planners.size());
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
      std::optional<PlannedStep> plan = planners[index].next(
          budget, rounds[index],
          known ? known->nanoseconds : BudgetPlanner::noLimit);
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
      any = formMixed(budget, plans.front().nanoseconds);
    rounds.resize(planners.size());
  }
  return plans;
}

std::optional<PlannedStep> AlternativePlanner::within(int64_t budget) {
  const PlannedStep *all = keepEverything();
  if (!all)
    return std::nullopt;
  if (all->bytes <= budget) {
    PlannedStep plan = copyOf(*all);
    planners.front().settleBound(plan, budget);
    return named(std::move(plan), 0);
  }
  std::vector<PlannedStep> plans = look(budget);
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
    if (leavesRoom(plan, budget))
      if (auto found = planners[plan.alternative].closer(plan, budget))
        plan = named(std::move(*found), plan.alternative);
    if (auto found = planners[plan.alternative].improved(plan, budget))
      plan = named(std::move(*found), plan.alternative);
    if (!best || plan.nanoseconds < best->nanoseconds)
      best = std::move(plan);
  }
  if (!best || groupings.failure() != exitOk)
    return std::nullopt;
  planners[best->alternative].settleBound(*best, budget);
  return named(std::move(*best), best->alternative);
}

const PlannedStep *AlternativePlanner::smallest() {
  if (least || !keepEverything())
    return least ? &*least : nullptr;
  while (formMore()) {
  }
  if (groupings.failure() != exitOk)
    return nullptr;
  for (BudgetPlanner &planner : planners)
    planner.collect(true);
  const size_t last = planners.size() - 1;
  BudgetPlanner &first = planners[last];
  const PlannedStep *all = first.keepEverything();
  if (!all)
    return nullptr;
  least = named(copyOf(*all), last);
  first.descend(all->livePeak);
  if (std::optional<PlannedStep> fewest = first.takeFewest())
    least = named(std::move(*fewest), last);
  auto wanted = [&] { return least->bytes - least->bytes / 100; };
  auto findsLess = [&](size_t index) {
    BudgetPlanner &planner = planners[index];
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
    while (!found && formMixed(wanted(), BudgetPlanner::noLimit)) {
      planners.back().collect(true);
      found = findsLess(planners.size() - 1);
    }
  }
  for (BudgetPlanner &planner : planners)
    planner.collect(false);
  if (groupings.failure() != exitOk)
    least.reset();
  return least ? &*least : nullptr;
}

std::vector<FrontierPoint> AlternativePlanner::frontier(int64_t count) {
  std::vector<FrontierPoint> points;
  if (!smallest())
    return points;
  const PlannedStep *everything = keepEverything();
  int64_t range = everything->bytes - least->bytes;
  PlanFigures known = *least;
  size_t grouping = least->alternative;
  for (int64_t i = 0; i < count; ++i) {
    // The last budget is exactly what everything takes.
    int64_t steps = count > 1 ? count - 1 : 1;
    int64_t budget = everything->bytes - range / steps * (count - 1 - i);
    std::optional<PlannedStep> plan = within(budget);
    if (groupings.failure() != exitOk)
      return {};
    if (plan && plan->nanoseconds <= known.nanoseconds) {
      known = *plan;
      grouping = plan->alternative;
    } else if (plan && plan->alternative != grouping) {
      // A smaller budget's plan fits, too; a bound is proved here on the way.
      planners[grouping].within(budget);
    }
    points.push_back({known, budget, grouping});
  }
  // What was proved for a larger budget holds for every smaller one.
  for (FrontierPoint &point : points) {
    point.boundNanoseconds =
        planners[point.alternative].boundWithin(point.budget);
    point.baseNanoseconds = quickestNanoseconds();
  }
  return points;
}
