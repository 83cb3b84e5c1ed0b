//===- Commands.h - The verbs that need no compiler -----------------------===//
//
// One function per verb; each parses its own arguments and returns the exit
// code of Support/ExitCode.h. They are linked into `tenon`, which has no
// compiler in it and hands over to `tenon-compiler` what needs one, and into
// `tenon-compiler`, which can do all of it.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TOOLS_TENON_COMMANDS_H
#define TENON_TOOLS_TENON_COMMANDS_H

#include <span>
#include <string_view>

namespace tenon::tool {

class Modules;

/// Arguments after the verb.
using Arguments = std::span<const std::string_view>;

/// `modules` is null in `tenon`.
int runRun(Arguments arguments, Modules *modules);
int runInspect(Arguments arguments, Modules *modules);
int runBench(Arguments arguments, Modules *modules);
int runCalibrate(Arguments arguments, Modules *modules);

/// Becomes `tenon-compiler --for=VERSION VERB ARGUMENTS...`, the executable
/// beside this one or that of the Python package tenon-compiler, which refuses
/// another version. Returns only if there is none, after saying so.
int callCompiler(std::string_view verb, Arguments arguments);

} // namespace tenon::tool

#endif // TENON_TOOLS_TENON_COMMANDS_H
