//===- main.cpp - tenon-solve: the solvers on problem files ---------------===//
//
// Replays a planning problem from a text file without a compiler: packing,
// ordering, recomputation, number formats, layouts on several devices, and the
// independent check of their solutions. Here is only the table of subcommands.
//
//===----------------------------------------------------------------------===//

#include "Commands.h"

#include <cstdio>
#include <vector>

using namespace tenon::solve;

namespace {
struct Command {
  std::string_view name;
  int (*run)(Arguments);
  std::string_view usage;
  std::string_view summary;
};
} // namespace

static constexpr Command commands[] = {
    {"offset-packing", runOffsetPacking,
     "P.csv [--capacity=N] [--nodes=N] -o S.csv [--claims=C] [--json]",
     "place buffers so that none overlap, in as few bytes as possible"},
    {"ordering", runOrdering, "P -o S [--json]",
     "order operations so that their values need as few bytes as possible"},
    {"recompute", runRecompute,
     "P --budget=N [--moves=N] -o S | P --frontier=K [--json]",
     "choose what to compute again so that the values fit into N bytes"},
    {"formats", runFormats, "P -o S [--json]",
     "choose a number format for every value so that the step costs least"},
    {"sharding", runSharding, "P [--effort=N] [--seed=N] -o S [--json]",
     "choose a layout on several devices for every value, within a limit"},
    {"check", runCheck, "P S [C] [--json]",
     "check a solution and its claims with code that is not the solver's"},
};

static void printUsage(std::FILE *stream) {
  std::fprintf(stream, "Solves planning problems of the compiler. P is a file "
                       "with a problem, S one with its solution, C one with\n"
                       "claims about it; docs/SolverForms.md describes them."
                       "\n\nusage:\n");
  for (const Command &command : commands)
    std::fprintf(stream, "  tenon-solve %.*s %.*s\n      %.*s\n",
                 static_cast<int>(command.name.size()), command.name.data(),
                 static_cast<int>(command.usage.size()), command.usage.data(),
                 static_cast<int>(command.summary.size()),
                 command.summary.data());
  std::fprintf(stream, "\nExit codes: 0 solved, 1 an error in a file or a "
                       "false claim, 2 a wrong command line, 3 no plan.\n");
}

int main(int argc, char **argv) {
  std::vector<std::string_view> arguments(argv + 1, argv + argc);
  if (arguments.empty()) {
    printUsage(stderr);
    return exitUsage;
  }
  if (arguments[0] == "--help" || arguments[0] == "-h") {
    printUsage(stdout);
    return exitSolved;
  }
  for (const Command &command : commands)
    if (arguments[0] == command.name)
      return command.run(Arguments(arguments).subspan(1));
  std::fprintf(stderr, "error: unknown subcommand '%.*s'\n",
               static_cast<int>(arguments[0].size()), arguments[0].data());
  printUsage(stderr);
  return exitUsage;
}
