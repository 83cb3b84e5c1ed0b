//===- CandidatePlanner.cpp - Plans within budgets for one candidate -----===//
//
// See CandidatePlanner.h.
//
//===----------------------------------------------------------------------===//

#include "CandidatePlanner.h"

#include "RunStages.h"

#include "tenon/Memory/Passes.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::driver;

bool CandidatePlanner::order() {
  if (ordered)
    return true;
  OwningOpRef<ModuleOp> module = grouped.clone();
  if (failed(runPasses(*module, search.verify, [&](OpPassManager &passes) {
        memory::buildOrderPipeline(passes, wanted == Order::forBudgets);
      })))
    return false;
  auto main = module->lookupSymbol<func::FuncOp>("main");
  if (!main || main.isDeclaration()) {
    grouped.emitError() << "there is no function @main to plan";
    return false;
  }
  if (search.hostLink)
    memory::RecomputeModel::keepWhole(main.getBody().front());
  model = std::make_unique<memory::RecomputeModel>(main.getBody().front());
  if (search.hostLink)
    model->addVariants(*search.hostLink);
  ordered = std::move(module);
  return true;
}

PlannedStep driver::copyOf(const PlannedStep &plan) {
  PlannedStep copy;
  static_cast<PlanFigures &>(copy) = plan;
  copy.module = plan.module.get().clone();
  copy.solution = plan.solution;
  copy.planner = plan.planner;
  copy.candidate = plan.candidate;
  copy.isSettled = plan.isSettled;
  copy.placing = plan.placing;
  return copy;
}

/// Reads off the step what its places need.
static void readBytes(PlannedStep &plan) {
  func::FuncOp main = plan.main();
  auto segments =
      main->getAttrOfType<DictionaryAttr>(step::segmentBytesAttrName);
  plan.bytes = plan.hostBytes = 0;
  for (NamedAttribute segment : segments)
    (segment.getName() == step::stringifySegment(step::Segment::host)
         ? plan.hostBytes
         : plan.bytes) += cast<IntegerAttr>(segment.getValue()).getInt();
  plan.temporaries = segments
                         .getAs<IntegerAttr>(
                             step::stringifySegment(step::Segment::temporaries))
                         .getInt();
  plan.temporariesBound =
      main->getAttrOfType<IntegerAttr>(step::temporariesBoundAttrName).getInt();
}

bool driver::placeBuffers(PlannedStep &plan, SearchOptions options,
                          Placing placing, int64_t limit) {
  auto add = [&](OpPassManager &passes) {
    passes.addNestedPass<func::FuncOp>(memory::createPlanOffsetsPass(
        {.quick = placing == Placing::quick,
         .limit = limit,
         .unsearched = placing == Placing::first}));
    if (options.verify)
      passes.addPass(memory::createVerifyScheduledFormPass());
  };
  if (failed(runPasses(*plan.module, options.verify, add)))
    return false;
  readBytes(plan);
  plan.placing = placing;
  return true;
}

std::vector<int32_t> CandidatePlanner::startFor(int64_t liveBytes) const {
  auto rank = [&](const Start &start) {
    bool fits = start.livePeak <= liveBytes;
    return std::pair(!fits, fits ? start.nanoseconds : start.livePeak);
  };
  auto best = llvm::min_element(starts, [&](const Start &a, const Start &b) {
    return rank(a) < rank(b);
  });
  return best == starts.end() ? std::vector<int32_t>() : best->order;
}

void CandidatePlanner::remember(const solver::RecomputeSolution &solution) {
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

int64_t CandidatePlanner::allowedBy(int64_t budget) {
  const PlannedStep *all = keepEverything();
  return all ? budget - (all->bytes - all->temporaries) : 0;
}

int64_t CandidatePlanner::boundWithin(int64_t budget) {
  const int64_t allowed = allowedBy(budget);
  int64_t bound = model ? model->problem().baseCost() : 0;
  for (const Proof &proof : proofs)
    if (proof.liveBytes >= allowed)
      bound = std::max(bound, proof.bound);
  return bound;
}

void CandidatePlanner::settleBound(PlannedStep &plan, int64_t budget) {
  solver::RecomputeSolution &solution = plan.solution;
  const int64_t allowed =
      std::max(allowedBy(budget), budget - (plan.bytes - plan.temporaries));
  if (solution.budget != std::max(allowed, solution.peak)) {
    solver::RecomputeOptions options = memory::recomputeOptions();
    options.moves = 0;
    options.known = &solution;
    options.boundBudget = allowed;
    options.parallel = search.parallel;
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
  plan.isSettled = true;
  plan.boundNanoseconds = solution.bound;
  memory::writeProof(plan.main(), solution);
}

std::optional<PlannedStep> CandidatePlanner::plan(const Request &request) {
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
  options.parallel = search.parallel;
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
  if (search.hostLink)
    copy.addVariants(*search.hostLink);
  if (failed(memory::writeRecomputation(main, copy, result.solution)))
    return std::nullopt;
  // What fits need not be smaller.
  const bool isEnough = isQuick || request.allowedBytes > 0;
  const Placing placing = request.isPlacedLater ? Placing::first
                          : isEnough            ? Placing::quick
                                                : Placing::full;
  if (!placeBuffers(result, search, placing, request.budget))
    return std::nullopt;
  if (!isQuick && isEnough && result.temporaries > request.allowedBytes &&
      !placeBuffers(result, search, Placing::full, request.budget))
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

const PlannedStep *CandidatePlanner::keepEverything() {
  if (!everything)
    everything = plan({.liveBytes = std::numeric_limits<int64_t>::max() / 4,
                       .effort = Effort::full});
  return everything ? &*everything : nullptr;
}

void CandidatePlanner::collect(bool on) {
  isCollecting = on;
  found.clear();
  if (on && everything)
    found.push_back(copyOf(*everything));
}

std::optional<PlannedStep>
CandidatePlanner::next(int64_t budget, Rounds &rounds, int64_t nanoseconds) {
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

std::optional<PlannedStep> CandidatePlanner::within(int64_t budget) {
  std::optional<PlannedStep> planned;
  for (Rounds rounds; !planned && rounds.canContinue();)
    planned = next(budget, rounds);
  return planned;
}

std::optional<PlannedStep> CandidatePlanner::closer(const PlannedStep &known,
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

std::optional<PlannedStep> CandidatePlanner::improved(const PlannedStep &known,
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

void CandidatePlanner::descend(int64_t liveBytes) {
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
      if (std::optional<PlannedStep> found = plan({.liveBytes = middle,
                                                   .effort = effort,
                                                   .isPlacedLater = true}))
        with = std::min(middle, found->livePeak);
      else
        without = middle;
    }
  }
  // Fewer live bytes may need a larger arena, so neighbours are tried.
  for (int64_t i = 1; i <= neighbours && with + i * precise / 2 < liveBytes;
       ++i)
    plan({.liveBytes = with + i * precise / 2, .isPlacedLater = true});
}

std::optional<PlannedStep> CandidatePlanner::takeFewest() {
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
    const Placing placing = rank < 2 ? Placing::full : Placing::quick;
    if (plan.placing < placing && plan.temporaries > plan.temporariesBound)
      placeBuffers(plan, search, placing);
    if (!fewest || plan.bytes < fewest->bytes)
      fewest = std::move(plan);
  }
  found.clear();
  return fewest;
}
