//===- LoadExecutor.h - A file or a module, ready to run
//-------------------===//
//
// Loads a .tenon file, or compiles a module in memory and loads the result.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TOOLS_TENON_LOADEXECUTOR_H
#define TENON_TOOLS_TENON_LOADEXECUTOR_H

#include "tenon/Import/Expectations.h"
#include "tenon/Runtime/Executor.h"

#include <memory>
#include <string>

namespace tenon::tool {

/// What has to be said about a module before it is a step.
struct ModuleOptions {
  std::string rolesFile;         // empty for none
  std::string function = "main"; // which of its functions
};

/// Null after printing why, with the exit code in `code`. With `expectations`,
/// a module may be a self-checking program; what it compares goes there.
std::unique_ptr<runtime::Executor> loadExecutor(
    const std::string &path, const ModuleOptions &module,
    const runtime::ExecutorOptions &options, int &code,
    std::vector<importer::SeparatedExpectation> *expectations = nullptr);

} // namespace tenon::tool

#endif // TENON_TOOLS_TENON_LOADEXECUTOR_H
