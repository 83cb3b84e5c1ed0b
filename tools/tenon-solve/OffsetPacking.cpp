//===- OffsetPacking.cpp - tenon-solve offset-packing, and its check ------===//
//
// Reads a problem as CSV, solves it and writes the plan and its claims; and the
// part of `tenon-solve check` that concerns them.
//
//===----------------------------------------------------------------------===//

#include "Commands.h"

#include "tenon/Solver/OffsetPackingText.h"
#include "tenon/Support/ParseNumber.h"

#include <cstdio>
#include <vector>

namespace tenon::solve {

using namespace tenon::solver;

namespace {
struct Options {
  std::string problemPath, planPath, claimsPath;
  std::optional<int64_t> capacity;
  int64_t nodes = OffsetPackingOptions::automatic;
  bool json = false;
};
} // namespace

/// False after a message.
static bool parse(Arguments arguments, Options &options) {
  auto number = [](std::string_view text, int64_t &value) {
    auto given = parseNumber(text);
    value = given.value_or(-1);
    return value >= 0;
  };
  for (size_t i = 0; i < arguments.size(); ++i) {
    std::string_view argument = arguments[i];
    int64_t value = 0;
    if (argument == "--json") {
      options.json = true;
    } else if (argument == "-o" && i + 1 < arguments.size()) {
      options.planPath = arguments[++i];
    } else if (argument.starts_with("--claims=")) {
      options.claimsPath = argument.substr(9);
    } else if (argument.starts_with("--capacity=") &&
               number(argument.substr(11), value)) {
      options.capacity = value;
    } else if (argument.starts_with("--nodes=") &&
               number(argument.substr(8), value)) {
      options.nodes = value;
    } else if (argument.starts_with("-") || !options.problemPath.empty()) {
      misuse("cannot use argument '" + std::string(argument) + "'");
      return false;
    } else {
      options.problemPath = argument;
    }
  }
  if (options.problemPath.empty() || options.planPath.empty()) {
    misuse("expected a problem and -o with a path for the plan");
    return false;
  }
  return true;
}

static void report(const Options &options,
                   const OffsetPackingSolution &solution) {
  const OffsetPackingCertificate &certificate = solution.certificate;
  // A search that was exhausted is the solver's word: `check` does not repeat
  // it.
  bool maxLive = certificate.proof == OffsetPackingCertificate::Proof::MaxLive;
  const char *status = solution.status == OffsetPackingStatus::Solved ? "solved"
                       : solution.status == OffsetPackingStatus::Infeasible
                           ? "infeasible"
                           : "undecided";
  if (options.json) {
    std::string line = std::string("{\"status\": \"") + status + '"';
    if (!solution.offsets.empty())
      line += ", \"arena\": " + std::to_string(solution.arena);
    line += ", \"bound\": " + std::to_string(certificate.bound);
    line += ", \"proof\": \"" + std::string(maxLive ? "max-live" : "search") +
            "\", \"" + (maxLive ? "time" : "nodes") + "\": " +
            std::to_string(maxLive ? certificate.time : certificate.nodes);
    if (options.capacity)
      line += ", \"capacity\": " + std::to_string(*options.capacity);
    line += ", \"nodes-used\": " + std::to_string(solution.nodesUsed);
    if (!solution.message.empty())
      line += ", \"message\": " + quoteJson(solution.message);
    std::printf("%s}\n", line.c_str());
    return;
  }
  if (solution.status == OffsetPackingStatus::Solved) {
    std::printf("arena %lld, bound %lld (%s)%s\n",
                static_cast<long long>(solution.arena),
                static_cast<long long>(certificate.bound),
                maxLive ? "max-live" : "searched",
                !solution.provedSmallest() ? ""
                : maxLive                  ? ", proved smallest"
                                           : ", none is smaller (not checked)");
  } else if (solution.status == OffsetPackingStatus::Infeasible) {
    std::printf("infeasible (%s): %s\n",
                maxLive ? "proved" : "searched, not checked",
                solution.message.c_str());
  } else {
    std::printf("not found (not proved infeasible): bound %lld, smallest arena "
                "found %lld\n",
                static_cast<long long>(certificate.bound),
                static_cast<long long>(solution.arena));
  }
}

int runOffsetPacking(Arguments arguments) {
  Options options;
  if (!parse(arguments, options))
    return exitUsage;
  auto text = readFile(options.problemPath);
  if (!text)
    return exitError;
  OffsetPackingFile file;
  if (auto error = readOffsetPacking(*text, file, /*asPlan=*/false, nullptr))
    return complain(options.problemPath, error->text());
  file.problem.capacity = options.capacity;
  OffsetPackingSolution solution =
      solveOffsetPacking(file.problem, {options.nodes});
  if (solution.status == OffsetPackingStatus::Invalid)
    return complain(options.problemPath, solution.message);
  if (solution.status == OffsetPackingStatus::Solved) {
    if (!writeFile(options.planPath, writeOffsetPlan(file, solution.offsets)))
      return exitError;
    OffsetPackingClaims claims{options.capacity, solution.arena,
                               solution.certificate};
    if (!options.claimsPath.empty() &&
        !writeFile(options.claimsPath, writeOffsetClaims(claims)))
      return exitError;
  }
  report(options, solution);
  return solution.status == OffsetPackingStatus::Solved ? exitSolved
                                                        : exitNoPlan;
}

/// A plan repeats its problem: the same buffers, field by field.
static std::optional<std::string> compareLines(const OffsetPackingFile &problem,
                                               const OffsetPackingFile &plan) {
  auto without = [](std::string_view line, std::optional<size_t> column) {
    std::string result;
    for (size_t i = 0;; ++i) {
      size_t end = line.find(',');
      if (i != column)
        (result += line.substr(0, end)) += ',';
      if (end == std::string_view::npos)
        return result;
      line.remove_prefix(end + 1);
    }
  };
  if (without(plan.header, plan.offsetColumn) !=
      without(problem.header, problem.offsetColumn))
    return "the plan's columns are not the problem's and offset";
  if (plan.lines.size() != problem.lines.size())
    return "the plan has " + std::to_string(plan.lines.size()) +
           " buffers, the problem " + std::to_string(problem.lines.size());
  for (size_t i = 0; i < plan.lines.size(); ++i)
    if (without(plan.lines[i], plan.offsetColumn) !=
        without(problem.lines[i], problem.offsetColumn))
      return "buffer " + std::to_string(i) +
             " of the plan is not that of the problem: found '" +
             std::string(plan.lines[i]) + "'";
  return std::nullopt;
}

int checkOffsetPackingFiles(const CheckRequest &request) {
  OffsetPackingFile problem, plan;
  OffsetPackingSolution solution;
  if (auto error =
          readOffsetPacking(request.problemText, problem, false, nullptr))
    return complain(request.problemPath, error->text());
  if (auto error = readOffsetPacking(request.solutionText, plan, true,
                                     &solution.offsets))
    return complain(request.solutionPath, error->text());
  OffsetPackingClaims claims;
  if (request.claimsPath) {
    if (auto error = readOffsetClaims(request.claimsText, claims))
      return complain(*request.claimsPath, error->text());
    solution.arena = claims.arena;
    solution.certificate = claims.certificate;
    problem.problem.capacity = claims.capacity;
  } else {
    // Without claims only the offsets say something; their arena follows.
    for (size_t i = 0; i < solution.offsets.size(); ++i) {
      int64_t end = 0;
      if (i < problem.problem.buffers.size() &&
          !__builtin_add_overflow(solution.offsets[i],
                                  problem.problem.buffers[i].size, &end))
        solution.arena = std::max(solution.arena, end);
    }
    solution.certificate.bound = 0;
  }
  solution.status = OffsetPackingStatus::Solved;
  auto wrong = compareLines(problem, plan);
  if (!wrong)
    wrong = checkOffsetPacking(problem.problem, solution);
  bool searched =
      solution.certificate.proof == OffsetPackingCertificate::Proof::Search;
  if (request.json) {
    std::printf("{\"valid\": %s%s%s, \"bound-checked\": %s}\n",
                wrong ? "false" : "true", wrong ? ", \"claim\": " : "",
                wrong ? quoteJson(*wrong).c_str() : "",
                request.claimsPath && !searched && !wrong ? "true" : "false");
  } else if (wrong) {
    std::printf("false: %s\n", wrong->c_str());
  } else {
    std::printf("valid: arena %lld", static_cast<long long>(solution.arena));
    if (request.claimsPath)
      std::printf(", bound %lld (%s)",
                  static_cast<long long>(solution.certificate.bound),
                  searched ? "searched, not checked" : "checked");
    std::printf("\n");
  }
  return wrong ? exitError : exitSolved;
}

} // namespace tenon::solve
