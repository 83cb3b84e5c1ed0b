//===- main.cpp - The tenon tool -----------------------------------------===//
//
// `tenon VERB ...`: compiles training steps, runs and inspects what came out.
// Each verb lives in a file of its own; those of the compiler are in another
// executable.
//
//===----------------------------------------------------------------------===//

#include "tools/tenon/Commands.h"
#include "tools/tenon/ManualPage.h"

#include "tenon/Support/ExitCode.h"
#include "tenon/Support/NearestWord.h"

#include <csignal>
#include <cstdio>
#include <string>
#include <vector>

using namespace tenon;
using namespace tenon::tool;

namespace {

struct Verb {
  std::string_view name;
  const char *summary;
  int (*run)(Arguments, Modules *); // null for those of tenon-compiler
};

constexpr Verb verbs[] = {
    {"compile", "compile an exported training step into a .tenon file",
     nullptr},
    {"run", "train: run steps of a .tenon file or of a module", runRun},
    {"inspect", "show what a module or a .tenon file holds", runInspect},
    {"verify", "check the plan in a .tenon file", nullptr},
    {"bench", "measure how long a step or its kernels take", runBench},
    {"calibrate", "measure the rates of this machine for better predictions",
     runCalibrate},
    {"plan", "show the step time under several memory budgets", nullptr},
};

constexpr const char summary[] =
    "Tenon compiles whole training steps ahead of time.";
constexpr const char exitCodes[] =
    "0 success, 1 an error in the input or a file, 2 a wrong command line,\n"
    "3 no plan fits the memory budget, 4 an unsupported operation, 5 a run "
    "that a signal stopped and that was saved,\n"
    "6 an f16 tensor overflowed, 70 an internal error.\n";
constexpr const char examples[] =
    "tenon compile step.mlir -o step.tenon\n"
    "tenon run step.tenon --state=start.safetensors --batches=data/ "
    "--steps=1000 --save=trained.safetensors\n"
    "tenon inspect step.tenon\n";

void printHelp(std::FILE *out) {
  std::fprintf(out, "usage: tenon VERB ...\n\n%s\n\nverbs:\n", summary);
  for (const Verb &verb : verbs)
    std::fprintf(out, "  %-11s%s\n", verb.name.data(), verb.summary);
  std::fprintf(out,
               "\n`tenon VERB --help` lists the options of a verb. `tenon "
               "--version` prints the version.\n"
               "Exit codes: %s\nexamples:\n%s",
               exitCodes, indented(examples).c_str());
}

void printManualPage() {
  printManualHeader("tenon", summary);
  std::printf("\\fBtenon\\fR VERB ...\n.SH VERBS\n");
  for (const Verb &verb : verbs)
    std::printf(".TP\n\\fBtenon\\-%s\\fR(1)\n%s\n", verb.name.data(),
                roff(verb.summary).c_str());
  std::printf(".SH EXIT STATUS\n%s.SH EXAMPLES\n.nf\n%s.fi\n",
              roff(exitCodes).c_str(), roff(examples).c_str());
}

} // namespace

int main(int argc, char **argv) {
  // A file that grows over a limit is an error of the write, not the end.
  std::signal(SIGXFSZ, SIG_IGN);
  std::vector<std::string_view> arguments(argv + 1, argv + argc);
  if (arguments.empty() || arguments[0] == "--help" || arguments[0] == "-h") {
    printHelp(arguments.empty() ? stderr : stdout);
    return arguments.empty() ? exitBadUsage : exitOk;
  }
  if (arguments[0] == "--version") {
    std::printf("tenon " TENON_VERSION "\n");
    return exitOk;
  }
  if (arguments[0] == "--man") {
    printManualPage();
    return exitOk;
  }
  if (arguments[0] == "--list-verbs") {
    for (const Verb &verb : verbs)
      std::printf("%s\t%s\n", verb.name.data(), verb.summary);
    return exitOk;
  }
  Arguments rest = Arguments(arguments).subspan(1);
  for (const Verb &verb : verbs)
    if (arguments[0] == verb.name)
      return verb.run ? verb.run(rest, nullptr) : callCompiler(verb.name, rest);
  std::vector<std::string> names;
  for (const Verb &verb : verbs)
    names.emplace_back(verb.name);
  std::fprintf(stderr, "error: unknown verb '%s'%s\n", argv[1],
               didYouMean(arguments[0], names).c_str());
  printHelp(stderr);
  return exitBadUsage;
}
