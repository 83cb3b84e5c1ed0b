//===- PlanUnderBudget.cpp - The stage `plan` with a memory budget -------===//
//
// See PlanUnderBudget.h.
//
//===----------------------------------------------------------------------===//

#include "PlanUnderBudget.h"

#include "tenon/Dialect/Step/Step.h"
#include "tenon/Support/Bytes.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

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
  ordered = std::move(module);
  return true;
}

std::optional<PlannedStep> BudgetPlanner::plan(int64_t liveBytes,
                                               int64_t moves) {
  if (!order())
    return std::nullopt;
  PlannedStep result;
  result.module = ordered->clone();
  memory::MemoryOptions withBudget = options;
  withBudget.temporariesBudget = liveBytes;
  withBudget.recomputeMoves = moves;
  PassManager passes(grouped.getContext());
  passes.enableVerifier(false);
  memory::buildPlacePipeline(passes, withBudget);
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
  std::optional<PlannedStep> planned =
      plan(std::numeric_limits<int64_t>::max() / 4, options.recomputeMoves);
  if (planned)
    everything = *planned;
  return planned;
}

std::optional<PlannedStep> BudgetPlanner::within(int64_t budget) {
  if (!everything || everything->bytes <= budget) {
    std::optional<PlannedStep> planned = keepEverything();
    if (!planned || planned->bytes <= budget)
      return planned;
  }
  PlanFigures last = *everything;
  for (int round = 0; round < mostRounds; ++round) {
    int64_t wanted = budget - (last.bytes - last.temporaries);
    int64_t live = wanted - (last.temporaries - last.livePeak);
    // A plan that came out too large once more needs some room to spare.
    live -= round ? live / 100 : 0;
    if (live <= 0)
      return std::nullopt;
    std::optional<PlannedStep> planned = plan(live, options.recomputeMoves);
    if (!planned || planned->bytes <= budget)
      return planned;
    last = *planned;
  }
  return std::nullopt;
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
  // Plans with more moves, until none is found with 1 % less.
  while (std::optional<PlannedStep> smaller =
             within(best->bytes - best->bytes / 100)) {
    if (smaller->bytes >= best->bytes)
      break;
    best = std::move(smaller);
  }
  return best;
}

AlternativePlanner::AlternativePlanner(ArrayRef<ModuleOp> grouped,
                                       const memory::MemoryOptions &options) {
  for (ModuleOp module : grouped) {
    if (module->hasAttr(step::wholeGroupsAttrName))
      whole = planners.size();
    planners.emplace_back(module, options);
  }
}

PlannedStep AlternativePlanner::named(PlannedStep plan,
                                      size_t alternative) const {
  plan.alternative = alternative;
  // What is computed again between loops is more work, too.
  plan.baseNanoseconds = everything->baseNanoseconds;
  return plan;
}

std::optional<PlannedStep> AlternativePlanner::keepEverything() {
  std::optional<PlannedStep> plan = planners.front().keepEverything();
  if (plan)
    everything = *plan;
  return plan;
}

std::optional<PlannedStep> AlternativePlanner::within(int64_t budget) {
  std::optional<PlannedStep> quickest = keepEverything();
  if (!quickest || quickest->bytes <= budget)
    return quickest;
  quickest.reset();
  for (auto [index, planner] : llvm::enumerate(planners)) {
    std::optional<PlannedStep> plan;
    if (index != whole)
      plan = planner.within(budget);
    if (plan && (!quickest || plan->nanoseconds < quickest->nanoseconds))
      quickest = named(std::move(*plan), index);
  }
  if (quickest)
    return improved(std::move(*quickest), budget);
  return std::nullopt;
}

PlannedStep AlternativePlanner::improved(PlannedStep plan, int64_t budget) {
  bool isFar = plan.nanoseconds - plan.boundNanoseconds >
               (plan.boundNanoseconds - plan.baseNanoseconds) / farShare;
  if (!whole || !isFar)
    return plan;
  std::optional<PlannedStep> other = planners[*whole].within(budget);
  if (other && other->nanoseconds < plan.nanoseconds)
    return named(std::move(*other), *whole);
  return plan;
}

std::optional<PlannedStep> AlternativePlanner::smallest() {
  if (!everything && !keepEverything())
    return std::nullopt;
  // The last stacks least between its loops, so it is looked at first; another
  // is of interest only where it has a plan with 1 % less.
  std::optional<PlannedStep> least;
  SmallVector<size_t> order; // the whole one is not worth its time here
  for (size_t index = planners.size(); index-- > 0;)
    if (index != whole)
      order.push_back(index);
  size_t failures = 0;
  for (size_t next = 0; failures < order.size(); ++next) {
    size_t i = order[next % order.size()];
    std::optional<PlannedStep> smaller =
        least ? planners[i].within(least->bytes - least->bytes / 100)
              : planners[i].smallest();
    if (!smaller) {
      ++failures;
      continue;
    }
    // What smallest() returns has no plan with 1 % less of its own.
    failures = least ? 0 : 1;
    std::optional<PlannedStep> own =
        least ? planners[i].smallest() : std::nullopt;
    if (own && own->bytes <= smaller->bytes) {
      smaller = std::move(own);
      failures = 1;
    }
    least = named(std::move(*smaller), i);
  }
  return least;
}

std::vector<FrontierPoint> AlternativePlanner::frontier(int64_t count) {
  std::optional<PlannedStep> least = smallest();
  std::vector<FrontierPoint> points;
  if (!least)
    return points;
  int64_t range = everything->bytes - least->bytes;
  for (int64_t i = 0; i < count; ++i) {
    // The last budget is exactly what everything takes.
    int64_t steps = count > 1 ? count - 1 : 1;
    int64_t budget = everything->bytes - range / steps * (count - 1 - i);
    // A smaller budget's plan fits every larger one.
    PlanFigures known = *least;
    if (!points.empty())
      known = points.back();
    std::optional<PlannedStep> plan = within(budget);
    if (plan && plan->nanoseconds <= known.nanoseconds)
      known = *plan;
    points.push_back({known, budget});
  }
  return points;
}

std::string driver::gapOfExtra(const PlanFigures &plan) {
  int64_t gap = plan.nanoseconds - plan.boundNanoseconds;
  int64_t extra = plan.boundNanoseconds - plan.baseNanoseconds;
  if (gap == 0)
    return "0.00 %";
  if (extra == 0)
    return "all";
  return llvm::formatv("{0:f2} %", 100.0 * double(gap) / double(extra)).str();
}

/// The point farthest below the straight line from the first to the last, both
/// axes scaled to 1.
static size_t kneeOf(ArrayRef<FrontierPoint> points) {
  const FrontierPoint &first = points.front(), &last = points.back();
  double bytes = std::max<double>(1, last.bytes - first.bytes);
  double time = std::max<double>(1, first.nanoseconds - last.nanoseconds);
  size_t knee = 0;
  double farthest = 0;
  for (auto [index, point] : llvm::enumerate(points)) {
    double below = 1 - (point.bytes - first.bytes) / bytes -
                   (point.nanoseconds - last.nanoseconds) / time;
    if (below > farthest) {
      farthest = below;
      knee = index;
    }
  }
  return knee;
}

void driver::printFrontier(ArrayRef<FrontierPoint> points,
                           llvm::raw_ostream &out) {
  auto percentAbove = [](int64_t value, int64_t base) {
    return 100.0 * double(value - base) / double(std::max<int64_t>(base, 1));
  };
  // How far above the bound a plan is, of the whole and of the extra time that
  // the bound asks for.
  out << "      budget      planned  predicted ms     bound ms  more work  "
         "above bound     of extra\n";
  size_t knee = kneeOf(points);
  for (auto [index, point] : llvm::enumerate(points))
    out << llvm::formatv(
        "{0,12} {1,12} {2,13:f3} {3,12:f3} {4,8:f2} % {5,10:f2} % {6,12}{7}\n",
        printBytes(point.budget), printBytes(point.bytes),
        point.nanoseconds / 1e6, point.boundNanoseconds / 1e6,
        percentAbove(point.nanoseconds, point.baseNanoseconds),
        percentAbove(point.nanoseconds, point.boundNanoseconds),
        gapOfExtra(point),
        index == knee && points.size() > 2 ? "  <- knee" : "");
}

std::pair<int64_t, int64_t> driver::excludedBytes(ModuleOp planned) {
  auto figures =
      planned->getAttrOfType<DictionaryAttr>(step::recomputationAttrName);
  auto integer = [&](StringRef name) {
    auto value = figures ? figures.getAs<IntegerAttr>(name) : IntegerAttr();
    return value ? value.getInt() : 0;
  };
  return {integer("pinned_bytes"), integer("value_bytes")};
}

static ArrayAttr exclusionsOf(ModuleOp planned) {
  auto figures =
      planned->getAttrOfType<DictionaryAttr>(step::recomputationAttrName);
  auto list = figures ? figures.getAs<ArrayAttr>("exclusions") : ArrayAttr();
  return list ? list : ArrayAttr::get(planned.getContext(), {});
}

llvm::json::Array driver::exclusionsJSON(ModuleOp planned) {
  // Copies: the report is written when the module is gone.
  llvm::json::Array list;
  for (auto entry : exclusionsOf(planned).getAsRange<DictionaryAttr>())
    list.push_back(llvm::json::Object{
        {"bytes", entry.getAs<IntegerAttr>("bytes").getInt()},
        {"reason", entry.getAs<StringAttr>("reason").str()},
        {"source", entry.getAs<StringAttr>("source").str()}});
  return list;
}

void driver::printExclusions(ModuleOp planned, llvm::raw_ostream &out) {
  auto [excluded, all] = excludedBytes(planned);
  out << llvm::formatv("not recomputable: {0} of {1} of values, {2:f2} %\n",
                       printBytes(excluded), printBytes(all),
                       100.0 * double(excluded) /
                           double(std::max<int64_t>(all, 1)));
  for (auto entry : exclusionsOf(planned).getAsRange<DictionaryAttr>())
    out << llvm::formatv("{0,12} {1}: {2}\n",
                         printBytes(entry.getAs<IntegerAttr>("bytes").getInt()),
                         entry.getAs<StringAttr>("reason").getValue(),
                         entry.getAs<StringAttr>("source").getValue());
}
