//===- CheckRecomputeChoice.cpp - judge a recomputation plan --------------===//
//
// What a solution claims, claim by claim. It trusts nothing that the solver
// computed and shares no code with it.
//
//===----------------------------------------------------------------------===//

#include "CheckRecompute.h"

#include <vector>

using namespace tenon::solver;

/// The problem without rows of loops that no plan within the budget can choose,
/// since the loop's own run would exceed it. What bounds the plans of this one
/// bounds those of `tables.problem`. A loop of which no row fits keeps all.
static RecomputeProblem withRowsThatFit(const judge::Tables &tables,
                                        int64_t budget) {
  RecomputeProblem result = tables.problem;
  for (RecomputeProblem::Loop &loop : result.loops) {
    auto exceeds = [&](const RecomputeProblem::Loop::Row &row) {
      return tables.bytesBesideRow(loop.node) + row.bytes > budget;
    };
    std::vector<RecomputeProblem::Loop::Row> rows = loop.rows;
    std::erase_if(rows, exceeds);
    if (!rows.empty())
      loop.rows = std::move(rows);
  }
  return result;
}

std::optional<std::string>
tenon::solver::checkRecompute(const RecomputeProblem &problem,
                              const RecomputeSolution &solution) {
  if (auto error = validateRecomputeProblem(problem))
    return "problem: " + *error;
  judge::Tables tables(problem);
  switch (solution.status) {
  case RecomputeStatus::Invalid:
    return std::string("an invalid problem has no solution to check");
  case RecomputeStatus::Solved:
    if (auto error = judge::checkPlan(tables, solution))
      return error;
    // Whatever the certificates say: the plan is there and costs that much.
    for (int64_t bound : {solution.bound, solution.anyOrderBound})
      if (bound > solution.cost)
        return "bound " + std::to_string(bound) + " exceeds the cost " +
               std::to_string(solution.cost) + " of a valid plan";
    break;
  case RecomputeStatus::Infeasible:
    if (!solution.order.empty())
      return std::string("an infeasible problem has no plan");
    if (!problem.loops.empty()) {
      const RecomputeProblem anyWay = problem.inAnyWay();
      return judge::checkInfeasible(judge::Tables(anyWay), solution.budget,
                                    solution.certificate);
    }
    return judge::checkInfeasible(tables, solution.budget,
                                  solution.certificate);
  case RecomputeStatus::Undecided:
    if (!solution.order.empty())
      return std::string("an undecided problem has no plan");
    break;
  }
  auto checkBounds = [&](const judge::Tables &limited) {
    auto error = judge::checkBound(limited, solution.budget, false,
                                   solution.bound, solution.certificate);
    return error ? error
                 : judge::checkBound(limited, solution.budget, true,
                                     solution.anyOrderBound,
                                     solution.anyOrderCertificate);
  };
  if (problem.loops.empty())
    return checkBounds(tables);
  const RecomputeProblem anyWay = problem.inAnyWay();
  const RecomputeProblem fitting =
      withRowsThatFit(judge::Tables(anyWay), solution.budget);
  return checkBounds(judge::Tables(fitting));
}
