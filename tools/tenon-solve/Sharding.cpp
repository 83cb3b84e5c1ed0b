//===- Sharding.cpp - tenon-solve sharding, and its check -----------------===//
//
// Reads a sharding problem, in lines or in the contest's JSON, writes the
// choice and its bound; and the part of `tenon-solve check` that concerns them.
//
//===----------------------------------------------------------------------===//

#include "Commands.h"

#include "tenon/Solver/ShardingChoice.h"

#include <charconv>
#include <cstdio>
#include <vector>

namespace tenon::solve {

using namespace tenon::solver;

/// A number after `prefix`; `argument` is left alone if it begins otherwise.
static bool takeNumber(std::string_view argument, std::string_view prefix,
                       int64_t &value, bool &isGood) {
  if (!argument.starts_with(prefix))
    return false;
  argument.remove_prefix(prefix.size());
  auto [end, error] = std::from_chars(argument.data(),
                                      argument.data() + argument.size(), value);
  isGood = error == std::errc() && end == argument.data() + argument.size() &&
           value >= 1 && value <= 1'000'000'000;
  return true;
}

int runSharding(Arguments arguments) {
  ShardingOptions options;
  std::vector<std::string_view> others;
  for (std::string_view argument : arguments) {
    bool isGood = true;
    int64_t seed = 0;
    if (takeNumber(argument, "--effort=", options.effort, isGood)) {
    } else if (takeNumber(argument, "--seed=", seed, isGood)) {
      options.seed = static_cast<uint64_t>(seed);
    } else {
      others.push_back(argument);
    }
    if (!isGood)
      return misuse("'" + std::string(argument) +
                    "' needs a number from 1 to 10^9");
  }
  std::optional<SolveRequest> request = parseSolveRequest(others);
  if (!request)
    return exitUsage;
  ShardingProblem problem;
  {
    auto text = readFile(request->problemPath);
    if (!text)
      return exitError;
    if (auto error = parseShardingProblem(*text, problem))
      return complain(request->problemPath, *error);
  }
  const ShardingSolution solution = solveSharding(problem, options);
  if (!solution.valid) {
    if (request->json)
      std::printf("{\"status\": \"no plan\", \"message\": %s}\n",
                  quoteJson(solution.message).c_str());
    else
      std::printf("no choice: %s\n", solution.message.c_str());
    return exitNoPlan;
  }
  if (!writeFile(request->solutionPath, printShardingSolution(solution)))
    return exitError;
  std::printf(request->json ? "{\"status\": \"solved\", \"cost\": %lld, "
                              "\"peak\": %lld, \"bound\": %lld}\n"
                            : "cost %lld, peak %lld bytes, bound %lld\n",
              static_cast<long long>(solution.cost),
              static_cast<long long>(solution.peak),
              static_cast<long long>(solution.bound));
  return exitSolved;
}

int checkShardingFiles(const CheckRequest &request) {
  return checkFiles(request, parseShardingProblem, parseShardingSolution,
                    checkSharding, [](const ShardingSolution &solution) {
                      return "cost " + std::to_string(solution.cost) +
                             ", peak " + std::to_string(solution.peak) +
                             " bytes, bound " + std::to_string(solution.bound);
                    });
}

} // namespace tenon::solve
