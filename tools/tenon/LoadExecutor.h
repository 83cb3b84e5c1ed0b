//===- LoadExecutor.h - A file or a module, ready to run
//-------------------===//
//
// Loads a .tenon file, or compiles a module in memory and loads the result.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TOOLS_TENON_LOADEXECUTOR_H
#define TENON_TOOLS_TENON_LOADEXECUTOR_H

#include "tenon/Runtime/Executor.h"

#include <memory>
#include <string>

namespace tenon::tool {

/// Null after printing why, with the exit code in `code`.
std::unique_ptr<runtime::Executor>
loadExecutor(const std::string &path, const std::string &rolesFile,
             const runtime::ExecutorOptions &options, int &code);

} // namespace tenon::tool

#endif // TENON_TOOLS_TENON_LOADEXECUTOR_H
