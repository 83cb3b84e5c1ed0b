//===- LoadModule.cpp - A module, compiled in memory ----------------------===//
//
// See CompiledModules.h.
//
//===----------------------------------------------------------------------===//

#include "tools/tenon-compiler/CompiledModules.h"

#include "tenon/Driver/Compiler.h"

#include "llvm/Support/raw_ostream.h"

using namespace tenon;
using namespace tenon::tool;

std::unique_ptr<runtime::Executor>
CompiledModules::load(const std::string &path, const ModuleOptions &module,
                      const runtime::ExecutorOptions &options,
                      bool selfChecking, int &code) {
  driver::CompileOptions compile;
  compile.input = path;
  compile.rolesFile = module.rolesFile;
  compile.resultNames = module.resultNames;
  compile.function = module.function;
  compile.subnormals = module.subnormals;
  compile.separateExpectations = selfChecking;
  driver::CompileResult result = driver::compile(compile);
  code = result.code;
  if (code != exitOk)
    return nullptr;
  expectations = std::move(result.expectations);
  runtime::Error error;
  auto executor =
      runtime::Executor::loadBytes(std::move(result.file), options, error);
  if (!executor) {
    llvm::errs() << "error: " << error.message << "\n";
    code = exitUserError;
  }
  return executor;
}
