//===- Commands.h - the subcommands of tenon-solve ------------------------===//
//
// One function per subcommand, each in a file of its own name. The arguments
// are those after the subcommand's name; the result is the exit code.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TOOLS_TENON_SOLVE_COMMANDS_H
#define TENON_TOOLS_TENON_SOLVE_COMMANDS_H

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tenon::solve {

/// What a shell sees; the same for every subcommand.
enum ExitCode : int {
  exitSolved = 0,
  /// Bad input (with its line), or a false claim in `check`.
  exitError = 1,
  /// Bad usage of the command line.
  exitUsage = 2,
  /// No plan: proved infeasible, or undecided within the limit.
  exitNoPlan = 3,
};

using Arguments = std::span<const std::string_view>;

int runOffsetPacking(Arguments arguments);
int runOrdering(Arguments arguments);
int runRecompute(Arguments arguments);
int runFormats(Arguments arguments);
int runSharding(Arguments arguments);
int runCheck(Arguments arguments);

/// What a subcommand without options of its own was given: P -o S [--json].
struct SolveRequest {
  std::string problemPath;
  std::string solutionPath;
  bool json = false;
};

/// Nothing after a message on stderr.
std::optional<SolveRequest> parseSolveRequest(Arguments arguments);

/// What `check` was given. The files' kind is told by the problem's first line;
/// each kind has one function, which prints the first false claim and returns
/// exitError, or returns exitSolved.
struct CheckRequest {
  std::string problemPath;
  std::string problemText;
  std::string solutionPath;
  std::string solutionText;
  /// Offset packing only.
  std::optional<std::string> claimsPath;
  std::string claimsText;
  bool json = false;
};

int checkOffsetPackingFiles(const CheckRequest &request); ///< a CSV header
int checkOrderingFiles(const CheckRequest &request);      ///< ordering-problem
int checkRecomputeFiles(const CheckRequest &request);     ///< recompute-problem
int checkFormatFiles(const CheckRequest &request);        ///< formats-problem
int checkShardingFiles(const CheckRequest &request); ///< sharding-problem, JSON

/// Says on stderr what is wrong with a file; returns exitError.
int complain(const std::string &path, const std::string &message);

/// Prints what a checker says of a solution: `wrong`, its first false claim, or
/// that it is valid, with what `summary` says of it. Returns the exit code.
int printVerdict(const CheckRequest &request,
                 const std::optional<std::string> &wrong,
                 const std::string &summary);

/// Reads a problem and its solution, has `check` judge them and prints the
/// verdict; `summarize` says of a valid solution what it claims.
template <typename Problem, typename Solution, typename Summarize>
int checkFiles(
    const CheckRequest &request,
    std::optional<std::string> (*parseProblem)(std::string_view, Problem &),
    std::optional<std::string> (*parseSolution)(std::string_view, Solution &),
    std::optional<std::string> (*check)(const Problem &, const Solution &),
    Summarize summarize) {
  Problem problem;
  Solution solution;
  if (auto error = parseProblem(request.problemText, problem))
    return complain(request.problemPath, *error);
  if (auto error = parseSolution(request.solutionText, solution))
    return complain(request.solutionPath, *error);
  return printVerdict(request, check(problem, solution), summarize(solution));
}

/// Says on stderr what is wrong with the command line; returns exitUsage.
int misuse(const std::string &message);

/// The text of a file, or nothing after an error on stderr.
std::optional<std::string> readFile(const std::string &path);

/// False after an error on stderr.
bool writeFile(const std::string &path, std::string_view text);

/// `text` as a JSON string, quotes included.
std::string quoteJson(std::string_view text);

} // namespace tenon::solve

#endif // TENON_TOOLS_TENON_SOLVE_COMMANDS_H
