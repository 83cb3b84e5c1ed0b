//===- TrainingRun.h - A run from its first step to its last --------------===//
//
// Training: steps on batches, with all that is watched and saved meanwhile.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TOOLS_TENON_TRAININGRUN_H
#define TENON_TOOLS_TENON_TRAININGRUN_H

#include "tools/tenon/RunOptions.h"

#include "tenon/Runtime/Executor.h"

namespace tenon::tool {

/// Runs steps until options or a signal end the run. Returns the exit code.
int train(runtime::Executor &executor, const RunOptions &options);

/// Fills state with zeros and from --state. Returns the exit code.
int loadStartState(runtime::Executor &executor, const RunOptions &options);

} // namespace tenon::tool

#endif // TENON_TOOLS_TENON_TRAININGRUN_H
