//===- Ordering.cpp - tenon-solve ordering, and its check -----------------===//
//
// Reads an ordering problem, writes the order and its bound; and the part of
// `tenon-solve check` that concerns them.
//
//===----------------------------------------------------------------------===//

#include "Commands.h"

#include "tenon/Solver/OperationOrdering.h"

#include <cstdio>

namespace tenon::solve {

using namespace tenon::solver;

int runOrdering(Arguments arguments) {
  std::optional<SolveRequest> request = parseSolveRequest(arguments);
  if (!request)
    return exitUsage;
  auto text = readFile(request->problemPath);
  if (!text)
    return exitError;
  OrderingProblem problem;
  if (auto error = parseOrderingProblem(*text, problem))
    return complain(request->problemPath, *error);
  OrderingSolution solution = solveOrdering(problem);
  if (!writeFile(request->solutionPath, printOrderingSolution(solution)))
    return exitError;
  auto peak = static_cast<long long>(solution.peak);
  auto bound = static_cast<long long>(solution.bound);
  std::string frontier;
  for (int32_t operation : solution.certificate.frontier)
    frontier += (frontier.empty() ? "" : ", ") + std::to_string(operation);
  std::string searched;
  if (peak == bound)
    searched = ", proved smallest";
  else if (solution.searchedBound == solution.peak)
    searched = ", no order is smaller (searched, not checked)";
  else if (solution.searchedBound > 0)
    searched = ", no order is below " + std::to_string(solution.searchedBound) +
               " (searched, not checked)";
  if (request->json)
    std::printf("{\"status\": \"solved\", \"peak\": %lld, \"bound\": %lld, "
                "\"certificate\": [%s], \"searched-bound\": %lld, "
                "\"method\": %s}\n",
                peak, bound, frontier.c_str(),
                static_cast<long long>(solution.searchedBound),
                quoteJson(solution.method).c_str());
  else
    std::printf("peak %lld, bound %lld (%s)%s\n", peak, bound,
                solution.method.c_str(), searched.c_str());
  return exitSolved;
}

int checkOrderingFiles(const CheckRequest &request) {
  return checkFiles(request, parseOrderingProblem, parseOrderingSolution,
                    checkOrdering, [](const OrderingSolution &solution) {
                      return "peak " + std::to_string(solution.peak) +
                             ", bound " + std::to_string(solution.bound);
                    });
}

} // namespace tenon::solve
