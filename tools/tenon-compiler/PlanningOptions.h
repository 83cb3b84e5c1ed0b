//===- PlanningOptions.h - What compile and plan are both told ------------===//
//
// The options that decide what a step is and what it is planned for.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TOOLS_TENON_COMPILER_PLANNINGOPTIONS_H
#define TENON_TOOLS_TENON_COMPILER_PLANNINGOPTIONS_H

#include "tools/tenon/ArgumentParser.h"

#include "tenon/Driver/Compiler.h"

namespace tenon::tool {

/// Takes a target other than StableHLO from `name`: cpu, or architectures of
/// GPUs. An error is returned.
std::string readDevices(std::string_view name, driver::CompileOptions &options);

/// Has the parser fill in `options`, which must outlive it: processor, machine,
/// roles, function, checkpoints and the budget, which `budgetHelp` describes.
void takePlanningOptions(ArgumentParser &parser,
                         driver::CompileOptions &options,
                         std::string_view budgetHelp);

} // namespace tenon::tool

#endif // TENON_TOOLS_TENON_COMPILER_PLANNINGOPTIONS_H
