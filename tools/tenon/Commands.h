//===- Commands.h - The verbs of the tenon tool
//----------------------------===//
//
// One function per verb; each parses its own arguments and returns the exit
// code documented in Driver/Compiler.h.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TOOLS_TENON_COMMANDS_H
#define TENON_TOOLS_TENON_COMMANDS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace tenon::tool {

/// Arguments after the verb.
using Arguments = llvm::ArrayRef<llvm::StringRef>;

int runCompile(Arguments arguments);
int runRun(Arguments arguments);
int runInspect(Arguments arguments);
int runBench(Arguments arguments);
int runPlan(Arguments arguments);
int runCalibrate(Arguments arguments);

} // namespace tenon::tool

#endif // TENON_TOOLS_TENON_COMMANDS_H
