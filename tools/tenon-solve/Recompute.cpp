//===- Recompute.cpp - tenon-solve recompute, and its check ---------------===//
//
// One budget into a solution file, or a frontier of budgets onto stdout; and
// the part of `tenon-solve check` that concerns recomputation.
//
//===----------------------------------------------------------------------===//

#include "Commands.h"

#include "tenon/Solver/RecomputeChoice.h"
#include "tenon/Support/ParseNumber.h"

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
    auto value = parseNumber(text);
    return value && *value >= least ? value : std::nullopt;
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

/// What a bound says of a plan that was found, behind the bound itself.
static std::string comparedWith(int64_t bound, int64_t cost) {
  if (cost == bound)
    return ", so this plan is the cheapest of them";
  if (bound <= 0)
    return ""; // of nothing there is no percentage
  char text[80];
  std::snprintf(text, sizeof text, ", so this plan is at most %.3f %% above",
                100.0 * double(cost - bound) / double(bound));
  return text;
}

/// Both bounds, each with the plans that it is about.
static void reportBounds(const RecomputeSolution &solution) {
  const bool isSolved = solution.status == RecomputeStatus::Solved;
  for (auto [plans, bound] :
       {std::pair("with first runs in this order", solution.bound),
        std::pair("in any order", solution.anyOrderBound)})
    std::printf("proved: plans %s cost at least %lld%s\n", plans,
                static_cast<long long>(bound),
                isSolved ? comparedWith(bound, solution.cost).c_str() : "");
}

static void report(const Options &options, const RecomputeSolution &solution) {
  if (options.json) {
    std::printf("%s\n", toJson(solution).c_str());
    return;
  }
  // Held bytes follow from which nodes have run and which have not; a working
  // set is that of any order.
  const bool isAnyOrder =
      solution.certificate.kind == RecomputeCertificate::Kind::WorkingSet;
  switch (solution.status) {
  case RecomputeStatus::Solved:
    std::printf("cost %lld, peak %lld of %lld\n",
                static_cast<long long>(solution.cost),
                static_cast<long long>(solution.peak),
                static_cast<long long>(solution.budget));
    reportBounds(solution);
    break;
  case RecomputeStatus::Infeasible:
    std::printf("infeasible (proved, %s): %s\n",
                isAnyOrder ? "in any order" : "with first runs in this order",
                solution.message.c_str());
    break;
  default:
    std::printf("not found (not proved infeasible): %s\n",
                solution.message.c_str());
    reportBounds(solution);
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
  return checkFiles(request, parseRecomputeProblem, parseRecomputeSolution,
                    checkRecompute, [](const RecomputeSolution &solution) {
                      return nameOf(solution.status);
                    });
}

} // namespace tenon::solve
