//===- OffloadPlan.cpp - What waiting in the host's memory would save ----===//
//
// See OffloadPlan.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Memory/OffloadPlan.h"

#include <algorithm>

using namespace mlir;
using namespace tenon;
using namespace tenon::memory;

namespace {

/// Moves of the solver for all budgets together.
constexpr int64_t moves = 400'000;

} // namespace

std::optional<std::vector<OffloadPoint>>
memory::planOffload(func::FuncOp main, const HostLink &link, int32_t count,
                    std::string &error) {
  RecomputeModel::keepWhole(main.getBody().front());
  RecomputeModel model(main.getBody().front());
  const solver::RecomputeProblem without = model.problem();
  model.addVariants(link);
  const solver::RecomputeProblem &problem = model.problem();
  int64_t base = problem.baseCost();

  solver::RecomputeOptions effort;
  effort.moves = moves;
  std::vector<OffloadPoint> points;
  solver::solveRecomputeFrontier(
      problem, count, effort, [&](const solver::RecomputeSolution &solution) {
        if (auto wrong = solver::checkRecompute(problem, solution))
          error = *wrong;
        OffloadPoint &point = points.emplace_back();
        point.budget = solution.budget;
        point.baseTime = base;
        point.time = solution.cost;
        point.timeBound = solution.bound;
        int64_t runs = 0;
        for (int32_t operation : solution.order) {
          int32_t choice = operation - int32_t(problem.nodes.size());
          runs += choice < 0;
          if (choice < 0 || choice % 2 == 1)
            continue;
          ++point.copies;
          point.copiedBytes +=
              problem.bytes(problem.variants[choice / 2].value);
        }
        point.repeated = runs - int64_t(problem.nodes.size());
      });
  if (!error.empty())
    return std::nullopt;
  effort.moves = moves / std::max(count, 1);
  for (OffloadPoint &point : points) {
    solver::RecomputeSolution plain =
        solver::solveRecompute(without, point.budget, effort);
    if (plain.status != solver::RecomputeStatus::Solved)
      continue;
    point.timeWithout = plain.cost;
    // A plan without the link is a plan with it.
    if (plain.cost < point.time) {
      point.time = plain.cost;
      point.copies = point.copiedBytes = 0;
      point.repeated =
          int64_t(plain.order.size()) - int64_t(without.nodes.size());
    }
  }
  return points;
}
