//===- Recompute.cpp - tenon-solve recompute, and its check ---------------===//
//
// One budget into a solution file, or a frontier of budgets onto stdout; and
// the part of `tenon-solve check` that concerns recomputation.
//
//===----------------------------------------------------------------------===//

#include "Commands.h"

#include "tenon/Solver/RecomputeChoice.h"

#include <charconv>
#include <cstdio>

namespace tenon::solve {

using namespace tenon::solver;

namespace {
struct Options {
  std::string problemPath, solutionPath;
  std::optional<int64_t> budget, frontier;
  RecomputeOptions solver;
  bool json = false;
};
} // namespace

/// False after a message.
static bool parse(Arguments arguments, Options &options) {
  auto number = [](std::string_view text,
                   int64_t least) -> std::optional<int64_t> {
    int64_t value = 0;
    auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() ||
        text.empty() || value < least)
      return std::nullopt;
    return value;
  };
  for (size_t i = 0; i < arguments.size(); ++i) {
    std::string_view argument = arguments[i];
    std::optional<int64_t> value;
    if (argument == "--json") {
      options.json = true;
    } else if (argument == "-o" && i + 1 < arguments.size()) {
      options.solutionPath = arguments[++i];
    } else if (argument.starts_with("--budget=") &&
               (value = number(argument.substr(9), 0))) {
      options.budget = value;
    } else if (argument.starts_with("--frontier=") &&
               (value = number(argument.substr(11), 1)) && *value <= 100'000) {
      options.frontier = value;
    } else if (argument.starts_with("--moves=") &&
               (value = number(argument.substr(8), 0))) {
      options.solver.moves = *value;
    } else if (argument.starts_with("-") || !options.problemPath.empty()) {
      misuse("cannot use argument '" + std::string(argument) + "'");
      return false;
    } else {
      options.problemPath = argument;
    }
  }
  bool one = options.budget && !options.solutionPath.empty();
  if (options.problemPath.empty() || one == options.frontier.has_value()) {
    misuse("expected a problem and either --budget=N -o S or --frontier=K");
    return false;
  }
  return true;
}

static const char *nameOf(RecomputeStatus status) {
  switch (status) {
  case RecomputeStatus::Solved:
    return "solved";
  case RecomputeStatus::Infeasible:
    return "infeasible";
  case RecomputeStatus::Undecided:
    return "undecided";
  case RecomputeStatus::Invalid:
    break;
  }
  return "invalid";
}

static std::string toJson(const RecomputeSolution &solution) {
  std::string line = std::string("{\"status\": \"") + nameOf(solution.status) +
                     "\", \"budget\": " + std::to_string(solution.budget);
  if (solution.status == RecomputeStatus::Solved)
    line += ", \"cost\": " + std::to_string(solution.cost) +
            ", \"peak\": " + std::to_string(solution.peak);
  if (solution.status != RecomputeStatus::Infeasible)
    line += ", \"bound\": " + std::to_string(solution.bound) +
            ", \"any-order-bound\": " + std::to_string(solution.anyOrderBound);
  if (!solution.message.empty())
    line += ", \"message\": " + quoteJson(solution.message);
  return line + ", \"moves-used\": " + std::to_string(solution.movesUsed) + "}";
}

static void report(const Options &options, const RecomputeSolution &solution) {
  if (options.json) {
    std::printf("%s\n", toJson(solution).c_str());
    return;
  }
  auto print = [](int64_t value) { return static_cast<long long>(value); };
  switch (solution.status) {
  case RecomputeStatus::Solved:
    std::printf("cost %lld, peak %lld of %lld, bound %lld: at most %.3f %% "
                "above the cheapest (proved)\n",
                print(solution.cost), print(solution.peak),
                print(solution.budget), print(solution.bound),
                solution.cost == solution.bound
                    ? 0.0
                    : 100.0 * double(solution.cost - solution.bound) /
                          double(solution.bound));
    break;
  case RecomputeStatus::Infeasible:
    std::printf("infeasible (proved): %s\n", solution.message.c_str());
    break;
  default:
    std::printf("not found (not proved infeasible): %s, bound %lld\n",
                solution.message.c_str(), print(solution.bound));
  }
}

int runRecompute(Arguments arguments) {
  Options options;
  if (!parse(arguments, options))
    return exitUsage;
  auto text = readFile(options.problemPath);
  if (!text)
    return exitError;
  RecomputeProblem problem;
  if (auto error = parseRecomputeProblem(*text, problem))
    return complain(options.problemPath, *error);
  text.reset();
  if (options.frontier) {
    solveRecomputeFrontier(
        problem, static_cast<int32_t>(*options.frontier), options.solver,
        [&](const RecomputeSolution &solution) {
          if (options.json)
            std::printf("%s\n", toJson(solution).c_str());
          else
            std::printf("%lld %lld %lld %lld\n",
                        static_cast<long long>(solution.budget),
                        static_cast<long long>(solution.cost),
                        static_cast<long long>(solution.peak),
                        static_cast<long long>(solution.bound));
        });
    return exitSolved;
  }
  RecomputeSolution solution =
      solveRecompute(problem, *options.budget, options.solver);
  if (!writeFile(options.solutionPath, printRecomputeSolution(solution)))
    return exitError;
  report(options, solution);
  return solution.status == RecomputeStatus::Solved ? exitSolved : exitNoPlan;
}

int checkRecomputeFiles(const CheckRequest &request) {
  RecomputeProblem problem;
  RecomputeSolution solution;
  if (auto error = parseRecomputeProblem(request.problemText, problem))
    return complain(request.problemPath, *error);
  auto wrong = parseRecomputeSolution(request.solutionText, solution);
  if (wrong)
    return complain(request.solutionPath, *wrong);
  wrong = checkRecompute(problem, solution);
  if (request.json)
    std::printf("{\"valid\": %s%s%s}\n", wrong ? "false" : "true",
                wrong ? ", \"claim\": " : "",
                wrong ? quoteJson(*wrong).c_str() : "");
  else if (wrong)
    std::printf("false: %s\n", wrong->c_str());
  else
    std::printf("valid: %s\n", nameOf(solution.status));
  return wrong ? exitError : exitSolved;
}

} // namespace tenon::solve
