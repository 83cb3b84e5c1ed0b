//===- LoadExecutor.cpp - A file or a module, ready to run
//-----------------===//
//
// See LoadExecutor.h.
//
//===----------------------------------------------------------------------===//

#include "tools/tenon/LoadExecutor.h"

#include "tenon/Driver/Compiler.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

using namespace tenon;

std::unique_ptr<runtime::Executor>
tool::loadExecutor(const std::string &path, const ModuleOptions &module,
                   const runtime::ExecutorOptions &options, int &code,
                   std::vector<importer::SeparatedExpectation> *expectations) {
  runtime::Error error;
  std::unique_ptr<runtime::Executor> executor;
  code = driver::exitOk;
  if (llvm::StringRef(path).ends_with(".mlir")) {
    driver::CompileOptions compile;
    compile.input = path;
    compile.rolesFile = module.rolesFile;
    compile.function = module.function;
    compile.separateExpectations = expectations != nullptr;
    driver::CompileResult result = driver::compile(compile);
    if (result.code != driver::exitOk) {
      code = result.code;
      return nullptr;
    }
    if (expectations)
      *expectations = std::move(result.expectations);
    executor =
        runtime::Executor::loadBytes(std::move(result.file), options, error);
  } else if (module.function != ModuleOptions().function) {
    llvm::errs() << "error: '" << path
                 << "' holds one function, which was chosen when it was "
                    "compiled; compile the module with --function="
                 << module.function << "\n";
    code = driver::exitBadUsage;
    return nullptr;
  } else {
    executor = runtime::Executor::load(path, options, error);
  }
  if (!executor) {
    llvm::errs() << "error: " << error.message << "\n";
    code = driver::exitUserError;
  }
  return executor;
}
