//===- LoadProgram.cpp - A file or a module, ready to run -----------------===//
//
// See LoadProgram.h.
//
//===----------------------------------------------------------------------===//

#include "tools/tenon/LoadProgram.h"

#include "tenon/Support/ExitCode.h"

#include <cstdio>

using namespace tenon;

bool tool::isModule(const std::string &path) { return path.ends_with(".mlir"); }

std::unique_ptr<runtime::Executor>
tool::loadProgram(const std::string &path, const ModuleOptions &module,
                  const runtime::ExecutorOptions &options, Modules *modules,
                  bool selfChecking, int &code) {
  if (isModule(path))
    return modules->load(path, module, options, selfChecking, code);
  code = exitOk;
  if (module.function != ModuleOptions().function) {
    std::fprintf(stderr,
                 "error: '%s' holds one function, which was chosen when it was "
                 "compiled; compile the module with --function=%s\n",
                 path.c_str(), module.function.c_str());
    code = exitBadUsage;
    return nullptr;
  }
  if (!module.resultNames.empty()) {
    std::fprintf(stderr,
                 "error: '%s' holds the names of its results; compile the "
                 "module with --name=%s\n",
                 path.c_str(), module.resultNames.front().c_str());
    code = exitBadUsage;
    return nullptr;
  }
  if (module.subnormals) {
    std::fprintf(stderr,
                 "error: '%s' says itself what it does with subnormal numbers; "
                 "compile the module with --subnormals=%s\n",
                 path.c_str(), name(*module.subnormals).data());
    code = exitBadUsage;
    return nullptr;
  }
  runtime::Error error;
  auto executor = runtime::Executor::load(path, options, error);
  if (!executor) {
    std::fprintf(stderr, "error: %s\n", error.message.c_str());
    code = error.kind == runtime::Failure::unsupported ? exitUnsupported
                                                       : exitUserError;
    return nullptr;
  }
  // The emulated driver is there to execute PTX.
  if (std::string why = executor->whyNotBinary();
      !why.empty() && !executor->isEmulated())
    std::fprintf(stderr, "note: %s\n", why.c_str());
  if (options.tune) {
    const runtime::AlgorithmChoices choices = executor->algorithmChoices();
    std::fprintf(stderr,
                 "note: %s algorithms of cuBLASLt were chosen by their times, "
                 "and %s were so before\n",
                 std::to_string(choices.timed).c_str(),
                 std::to_string(choices.remembered).c_str());
  }
  return executor;
}
