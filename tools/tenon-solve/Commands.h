//===- Commands.h - the subcommands of tenon-solve
//-------------------------===//
//
// One function per subcommand, each in a file of its own name. The arguments
// are those after the subcommand's name; the result is the exit code.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TOOLS_TENON_SOLVE_COMMANDS_H
#define TENON_TOOLS_TENON_SOLVE_COMMANDS_H

#include <span>
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
int runCheck(Arguments arguments);

} // namespace tenon::solve

#endif // TENON_TOOLS_TENON_SOLVE_COMMANDS_H
