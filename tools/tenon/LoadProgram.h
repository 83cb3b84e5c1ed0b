//===- LoadProgram.h - A file or a module, ready to run -------------------===//
//
// Loads a .tenon file, or has a module compiled in memory and loads the result.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TOOLS_TENON_LOADPROGRAM_H
#define TENON_TOOLS_TENON_LOADPROGRAM_H

#include "tools/tenon/Modules.h"

namespace tenon::tool {

/// Whether the name is that of a module's text.
bool isModule(const std::string &path);

/// Null after printing why, with the exit code in `code`. `modules` may be null
/// if `path` is no module; otherwise see Modules::load.
std::unique_ptr<runtime::Executor>
loadProgram(const std::string &path, const ModuleOptions &module,
            const runtime::ExecutorOptions &options, Modules *modules,
            bool selfChecking, int &code);

} // namespace tenon::tool

#endif // TENON_TOOLS_TENON_LOADPROGRAM_H
