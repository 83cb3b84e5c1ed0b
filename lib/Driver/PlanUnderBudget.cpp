//===- PlanUnderBudget.cpp - The stage `plan` with a memory budget -------===//
//
// See PlanUnderBudget.h.
//
//===----------------------------------------------------------------------===//

#include "PlanUnderBudget.h"

#include "tenon/Dialect/Step/Step.h"

#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::driver;

std::optional<PlannedStep> BudgetPlanner::plan(int64_t liveBytes,
                                               int64_t moves) {
  PlannedStep result;
  result.module = grouped.clone();
  memory::MemoryOptions withBudget = options;
  withBudget.temporariesBudget = liveBytes;
  withBudget.recomputeMoves = moves;
  PassManager passes(grouped.getContext());
  passes.enableVerifier(false);
  memory::buildPlanPipeline(passes, withBudget);
  if (failed(passes.run(*result.module)))
    return std::nullopt;
  auto plan = (*result.module)
                  ->getAttrOfType<DictionaryAttr>(step::recomputationAttrName);
  auto segments =
      (*result.module)
          ->getAttrOfType<DictionaryAttr>(step::segmentBytesAttrName);
  if (!plan || !segments ||
      plan.getAs<StringAttr>("status").getValue() != "solved")
    return std::nullopt;
  for (NamedAttribute segment : segments)
    result.bytes += cast<IntegerAttr>(segment.getValue()).getInt();
  auto integer = [](DictionaryAttr dictionary, StringRef name) {
    return dictionary.getAs<IntegerAttr>(name).getInt();
  };
  result.temporaries =
      integer(segments, step::stringifySegment(step::Segment::temporaries));
  result.temporariesBound =
      (*result.module)
          ->getAttrOfType<IntegerAttr>(step::temporariesBoundAttrName)
          .getInt();
  result.livePeak = integer(plan, "peak");
  result.baseNanoseconds = integer(plan, "base_nanoseconds");
  result.nanoseconds = integer(plan, "nanoseconds");
  result.boundNanoseconds = integer(plan, "bound_nanoseconds");
  return result;
}

std::optional<PlannedStep> BudgetPlanner::keepEverything() {
  return plan(std::numeric_limits<int64_t>::max() / 4, options.recomputeMoves);
}

std::optional<PlannedStep> BudgetPlanner::within(int64_t budget) {
  std::optional<PlannedStep> best = keepEverything();
  for (int round = 0; best && best->bytes > budget && round < mostRounds;
       ++round) {
    int64_t wanted = budget - (best->bytes - best->temporaries);
    int64_t live = wanted - (best->temporaries - best->livePeak);
    // A plan that came out too large once more needs some room to spare.
    live -= round ? live / 100 : 0;
    if (live <= 0)
      return std::nullopt;
    best = plan(live, options.recomputeMoves);
  }
  if (best && best->bytes > budget)
    return std::nullopt;
  return best;
}

std::optional<PlannedStep> BudgetPlanner::smallest() {
  std::optional<PlannedStep> best = keepEverything();
  if (!best)
    return std::nullopt;
  // The least live bytes with a plan, to half a percent.
  int64_t without = 0, with = best->livePeak;
  while (with - without > best->livePeak / 200) {
    int64_t middle = without + (with - without) / 2;
    std::optional<PlannedStep> candidate = plan(middle, fewMoves);
    if (!candidate) {
      without = middle;
      continue;
    }
    with = middle;
    if (candidate->bytes < best->bytes)
      best = std::move(candidate);
  }
  return best;
}
