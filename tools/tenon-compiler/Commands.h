//===- Commands.h - The verbs of the compiler -----------------------------===//
//
// One function per verb; each parses its own arguments and returns the exit
// code of Support/ExitCode.h.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TOOLS_TENON_COMPILER_COMMANDS_H
#define TENON_TOOLS_TENON_COMPILER_COMMANDS_H

#include "tools/tenon/Commands.h"

namespace tenon::tool {

int runCompile(Arguments arguments, Modules *modules);
int runPlan(Arguments arguments, Modules *modules);
int runVerify(Arguments arguments, Modules *modules);

} // namespace tenon::tool

#endif // TENON_TOOLS_TENON_COMPILER_COMMANDS_H
