//===- main.cpp - What tenon needs a compiler for -------------------------===//
//
// `tenon` becomes this executable for the verbs that compile, and for those
// that it was given a module for instead of a .tenon file.
//
//===----------------------------------------------------------------------===//

#include "tools/tenon-compiler/Commands.h"
#include "tools/tenon-compiler/CompiledModules.h"
#include "tools/tenon-compiler/InternalError.h"

#include "tenon/Support/ExitCode.h"

#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/raw_ostream.h"

#include <vector>

using namespace tenon;
using namespace tenon::tool;

namespace {

struct Verb {
  std::string_view name;
  int (*run)(Arguments, Modules *);
};

constexpr Verb verbs[] = {
    {"compile", runCompile}, {"plan", runPlan},   {"run", runRun},
    {"inspect", runInspect}, {"bench", runBench}, {"verify", runVerify},
};

} // namespace

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  // tenon says first which version it is: the two may be installed apart, and
  // an older one would not know what the other's files and options mean.
  constexpr std::string_view callerOption = "--for=";
  if (argc > 1 && std::string_view(argv[1]).starts_with(callerOption)) {
    std::string_view caller =
        std::string_view(argv[1]).substr(callerOption.size());
    if (caller != TENON_VERSION) {
      llvm::errs() << "error: tenon is version " << caller
                   << ", its compiler is version " TENON_VERSION
                      "; install both in the same version, for example with "
                      "`pip install tenon=="
                   << caller << " tenon-compiler==" << caller << "`\n";
      return exitUserError;
    }
    ++argv;
    --argc;
  }
  reportCrashes(argc, argv);
  std::vector<std::string_view> arguments(argv + 1, argv + argc);
  CompiledModules modules;
  for (const Verb &verb : verbs)
    if (!arguments.empty() && arguments[0] == verb.name) {
      int code = verb.run(Arguments(arguments).subspan(1), &modules);
      if (code == exitInternal)
        reportInternalError();
      return code;
    }
  llvm::errs() << "error: tenon-compiler is started by tenon; tenon --help "
                  "lists its verbs\n";
  return exitBadUsage;
}
