//===- Launch.h - A run of several processes ------------------------------===//
//
// `mpirun -n 4 tenon run ...`, torchrun or srun start this process four times.
// Each of them finds out here that it is one rank of a run, meets the others,
// and ends together with them. Only the first speaks on standard output.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TOOLS_TENON_LAUNCH_H
#define TENON_TOOLS_TENON_LAUNCH_H

#include "tools/tenon/ArgumentParser.h"

#include "tenon/Runtime/Executor.h"

namespace tenon::tool {

/// --heartbeat, which fills in seconds.
void takeHeartbeat(ArgumentParser &parser, double &seconds);

/// Meets the others, if a launcher has started some, and fills in
/// `options.processes`. `endsTogether` is for a run that saves when a signal
/// asks it to end. The exit code.
int joinLaunch(runtime::ExecutorOptions &options, double heartbeat,
               bool endsTogether);

/// Ends with the exit code `code`, together with the others if that is not an
/// error. The exit code.
int leaveLaunch(const runtime::ExecutorOptions &options, int code);

} // namespace tenon::tool

#endif // TENON_TOOLS_TENON_LAUNCH_H
