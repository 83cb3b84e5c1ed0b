//===- Check.cpp - tenon-solve check: is every claim true? ----------------===//
//
// Reads the files and hands them to the checker of their kind, which the first
// line of the problem tells.
//
//===----------------------------------------------------------------------===//

#include "Commands.h"

#include <cstdio>
#include <vector>

namespace tenon::solve {

int runCheck(Arguments arguments) {
  CheckRequest request;
  std::vector<std::string> paths;
  for (std::string_view argument : arguments) {
    if (argument == "--json") {
      request.json = true;
    } else if (argument.starts_with("-")) {
      std::fprintf(stderr, "error: unknown option '%.*s'\n",
                   static_cast<int>(argument.size()), argument.data());
      return exitUsage;
    } else {
      paths.emplace_back(argument);
    }
  }
  if (paths.size() < 2 || paths.size() > 3) {
    std::fprintf(stderr, "usage: tenon-solve check P S [C] [--json]\n");
    return exitUsage;
  }
  request.problemPath = paths[0];
  request.solutionPath = paths[1];
  auto problem = readFile(paths[0]);
  auto solution = problem ? readFile(paths[1]) : std::nullopt;
  if (!solution)
    return exitError;
  request.problemText = std::move(*problem);
  request.solutionText = std::move(*solution);
  if (paths.size() == 3) {
    auto claims = readFile(paths[2]);
    if (!claims)
      return exitError;
    request.claimsPath = paths[2];
    request.claimsText = std::move(*claims);
  }
  // The first line that is no comment.
  std::string_view text = request.problemText;
  while (text.starts_with('#') || text.starts_with('\n')) {
    size_t end = text.find('\n');
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  if (text.starts_with("ordering-problem"))
    return checkOrderingFiles(request);
  if (text.starts_with("recompute-problem"))
    return checkRecomputeFiles(request);
  if (text.starts_with("formats-problem"))
    return checkFormatFiles(request);
  if (text.starts_with("sharding-problem") || text.starts_with("{"))
    return checkShardingFiles(request);
  return checkOffsetPackingFiles(request);
}

int printVerdict(const CheckRequest &request,
                 const std::optional<std::string> &wrong,
                 const std::string &summary) {
  if (request.json)
    std::printf("{\"valid\": %s%s%s}\n", wrong ? "false" : "true",
                wrong ? ", \"claim\": " : "",
                wrong ? quoteJson(*wrong).c_str() : "");
  else if (wrong)
    std::printf("false: %s\n", wrong->c_str());
  else
    std::printf("valid: %s\n", summary.c_str());
  return wrong ? exitError : exitSolved;
}

} // namespace tenon::solve
