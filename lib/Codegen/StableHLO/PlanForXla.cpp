//===- PlanForXla.cpp - Recomputation that XLA keeps ----------------------===//
//
// See PlanForXla.h. The problem counts live bytes in the planned order, the
// prediction plays XLA's own order through on what was written; the first is
// asked for less until the second fits.
//
//===----------------------------------------------------------------------===//

#include "tenon/Codegen/StableHLO/PlanForXla.h"

#include "ExpandPools.h"
#include "WritePlan.h"
#include "XlaProblem.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::codegen;

static constexpr int mostRounds = 6;

int64_t codegen::predictedTemporaries(func::FuncOp main) {
  Block &block = main.getBody().front();
  return predictTemporaries(block, XlaClusters(block, Barriers::names), main);
}

/// One plan with at most `live` bytes of live values in the problem's order.
static std::optional<XlaPlan> planOnce(ModuleOp module, int64_t live,
                                       const target::Target &machine) {
  XlaPlan plan;
  plan.module = module.clone();
  auto main = plan.module->lookupSymbol<func::FuncOp>("main");
  expandPools(main);
  XlaClusters clusters(main.getBody().front(), Barriers::wait);
  XlaProblem problem(main, clusters, machine);
  solver::RecomputeOptions options;
  options.moves = 200'000;
  solver::RecomputeSolution solution =
      solver::solveRecompute(problem.problem(), live, options);
  for (const solver::RecomputeProblem::Node &node : problem.problem().nodes)
    plan.baseNanoseconds += node.cost;
  plan.nanoseconds = solution.cost;
  plan.live = solution.peak;
  if (solution.status != solver::RecomputeStatus::Solved)
    return std::nullopt;
  WrittenPlan written = writePlan(main, clusters, problem, solution.order);
  plan.dots = written.dots;
  plan.convolutions = written.convolutions;
  plan.clusters = written.clusters;
  plan.ties = written.ties;
  plan.temporaries = predictedTemporaries(main);
  return plan;
}

std::optional<XlaPlan> codegen::planForXla(ModuleOp module, int64_t temporaries,
                                           const target::Target &machine) {
  int64_t wanted = withRoomToSpare(temporaries);
  // Order alone, nothing runs again.
  std::optional<XlaPlan> best =
      planOnce(module, std::numeric_limits<int64_t>::max() / 4, machine);
  if (!best || best->temporaries <= wanted)
    return best;
  int64_t works = best->live, fails = 0;
  int64_t live = works - (best->temporaries - wanted);
  for (int round = 0; round < mostRounds && fails < works; ++round) {
    if (live <= fails || live >= works)
      live = fails + (works - fails) / 2;
    std::optional<XlaPlan> plan = planOnce(module, live, machine);
    if (!plan) {
      fails = live;
      continue;
    }
    works = plan->live;
    live = works - (plan->temporaries - wanted) - works / 100;
    bool fits = plan->temporaries <= wanted;
    if (plan->temporaries < best->temporaries)
      best = std::move(plan);
    if (fits)
      break;
  }
  return best;
}
