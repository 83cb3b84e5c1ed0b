//===- OffloadPlan.cpp - What waiting in the host's memory would save ----===//
//
// See OffloadPlan.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Memory/OffloadPlan.h"

#include "tenon/Memory/RecomputeModel.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace tenon;
using namespace tenon::memory;

namespace {

/// Smaller values are not worth a transfer; part of the bytes of all.
constexpr int64_t negligibleShare = 1000;

/// Moves of the solver for all budgets together.
constexpr int64_t moves = 400'000;

void addVariants(solver::RecomputeProblem &problem, int64_t allBytes,
                 const HostLink &link) {
  std::vector<bool> isRead(problem.valueCount(), false);
  for (const solver::RecomputeProblem::Edge &edge : problem.edges)
    isRead[edge.value] = true;
  for (int32_t value = 0; value < problem.valueCount(); ++value) {
    int64_t bytes = problem.bytes(value);
    if (!isRead[value] || bytes == 0 || bytes < allBytes / negligibleShare)
      continue;
    auto start = std::llround(link.seconds * 1e9);
    solver::RecomputeProblem::Variant variant;
    variant.value = value;
    variant.saveCost = variant.loadCost = start;
    variant.transfer = std::max<int64_t>(
        1, std::llround(double(bytes) / link.bytesPerSecond * 1e9));
    problem.variants.push_back(variant);
  }
}

} // namespace

std::optional<std::vector<OffloadPoint>>
memory::planOffload(func::FuncOp main, const HostLink &link, int32_t count,
                    std::string &error) {
  // Transfers are held against a clock, which parts of groups would turn back.
  dropParts(main);
  RecomputeModel model(main.getBody().front());
  const solver::RecomputeProblem &without = model.problem();
  solver::RecomputeProblem problem = without;
  addVariants(problem, model.valueBytes(), link);
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
