//===- Formats.cpp - tenon-solve formats, and its check -------------------===//
//
// Reads a format problem, writes the choice and its bound; and the part of
// `tenon-solve check` that concerns them.
//
//===----------------------------------------------------------------------===//

#include "Commands.h"

#include "tenon/Solver/FormatChoice.h"

#include <cstdio>

namespace tenon::solve {

using namespace tenon::solver;

int runFormats(Arguments arguments) {
  std::optional<SolveRequest> request = parseSolveRequest(arguments);
  if (!request)
    return exitUsage;
  auto text = readFile(request->problemPath);
  if (!text)
    return exitError;
  FormatProblem problem;
  if (auto error = parseFormatProblem(*text, problem))
    return complain(request->problemPath, *error);
  const FormatSolution solution = solveFormats(problem);
  if (!solution.valid) {
    if (request->json)
      std::printf("{\"status\": \"infeasible\", \"message\": %s}\n",
                  quoteJson(solution.message).c_str());
    else
      std::printf("infeasible (proved): %s\n", solution.message.c_str());
    return exitNoPlan;
  }
  if (!writeFile(request->solutionPath, printFormatSolution(solution)))
    return exitError;
  std::printf(request->json ? "{\"status\": \"solved\", \"cost\": %lld, "
                              "\"bytes\": %lld, \"bound\": %lld}\n"
                            : "cost %lld, bytes %lld, bound %lld\n",
              static_cast<long long>(solution.cost),
              static_cast<long long>(solution.bytes),
              static_cast<long long>(solution.bound));
  return exitSolved;
}

int checkFormatFiles(const CheckRequest &request) {
  return checkFiles(request, parseFormatProblem, parseFormatSolution,
                    checkFormats, [](const FormatSolution &solution) {
                      return "cost " + std::to_string(solution.cost) +
                             ", bound " + std::to_string(solution.bound);
                    });
}

} // namespace tenon::solve
