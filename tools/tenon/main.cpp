//===- main.cpp - The tenon tool -----------------------------------------===//
//
// `tenon VERB ...`: compiles training steps, runs and inspects what came out.
// Each verb lives in a file of its own.
//
//===----------------------------------------------------------------------===//

#include "tools/tenon/Commands.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/raw_ostream.h"

#include <csignal>

using namespace tenon::tool;

namespace {

struct Verb {
  llvm::StringLiteral name;
  llvm::StringLiteral summary;
  int (*run)(Arguments);
};

constexpr Verb verbs[] = {
    {"compile", "turn an exported training step into a .tenon file",
     runCompile},
    {"run", "run steps of a .tenon file or a module", runRun},
    {"inspect", "print what a module or a .tenon file holds", runInspect},
    {"bench", "time steps, or their kernels one by one", runBench},
    {"calibrate", "measure what this machine can do", runCalibrate},
    {"plan", "show what memory budgets cost, write the planner's problems",
     runPlan},
};

void printHelp(llvm::raw_ostream &out) {
  out << "usage: tenon VERB ...\n\n"
         "Tenon compiles whole training steps ahead of time.\n\nverbs:\n";
  for (const Verb &verb : verbs)
    out << "  " << verb.name << std::string(11 - verb.name.size(), ' ')
        << verb.summary << "\n";
  out << "\ntenon VERB --help lists the options of a verb, tenon --version "
         "says which tenon this is.\n"
         "exit codes: 0 ok, 1 wrong input, 2 wrong usage, 3 no plan within "
         "the limit,\n4 unsupported operation, 70 internal error\n";
}

} // namespace

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  // A file that grows over a limit is an error of the write, not the end.
  std::signal(SIGXFSZ, SIG_IGN);
  llvm::SmallVector<llvm::StringRef> arguments(argv + 1, argv + argc);
  if (arguments.empty() || arguments[0] == "--help" || arguments[0] == "-h") {
    printHelp(arguments.empty() ? llvm::errs() : llvm::outs());
    return arguments.empty() ? 2 : 0;
  }
  if (arguments[0] == "--version") {
    llvm::outs() << "tenon 0.1.0 (LLVM " LLVM_VERSION_STRING ")\n";
    return 0;
  }
  for (const Verb &verb : verbs)
    if (arguments[0] == verb.name)
      return verb.run(Arguments(arguments).drop_front());
  llvm::errs() << "error: unknown verb '" << arguments[0] << "'\n";
  printHelp(llvm::errs());
  return 2;
}
