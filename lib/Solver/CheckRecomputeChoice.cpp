//===- CheckRecomputeChoice.cpp - judge a recomputation plan --------------===//
//
// What a solution claims, claim by claim. It trusts nothing that the solver
// computed and shares no code with it.
//
//===----------------------------------------------------------------------===//

#include "CheckRecompute.h"

using namespace tenon::solver;

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
    break;
  case RecomputeStatus::Infeasible:
    if (!solution.order.empty())
      return std::string("an infeasible problem has no plan");
    return judge::checkInfeasible(tables, solution.budget,
                                  solution.certificate);
  case RecomputeStatus::Undecided:
    if (!solution.order.empty())
      return std::string("an undecided problem has no plan");
    break;
  }
  if (auto error = judge::checkBound(tables, solution.budget, false,
                                     solution.bound, solution.certificate))
    return error;
  return judge::checkBound(tables, solution.budget, true,
                           solution.anyOrderBound,
                           solution.anyOrderCertificate);
}
