//===- KernelScratch.h - Scratch memory of kernels for the target ---------===//
//
// What the schedules of a target ask for, which planning must know and Memory
// may not ask Codegen for.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_DRIVER_KERNELSCRATCH_H
#define TENON_LIB_DRIVER_KERNELSCRATCH_H

#include "tenon/Dialect/Step/Step.h"
#include "tenon/Driver/Stages.h"

#include <functional>

namespace tenon::driver {

/// Bytes of scratch memory that the kernel or call of a group needs.
using KernelScratch = std::function<int64_t(step::GroupOp)>;

/// That of the target that `resolved` settles.
KernelScratch kernelScratchFor(const ResolvedOptions &resolved);

/// Says whether the GPUs that `resolved` settles have a schedule for a group.
std::function<bool(step::GroupOp)>
hasScheduleOn(const ResolvedOptions &resolved);

} // namespace tenon::driver

#endif // TENON_LIB_DRIVER_KERNELSCRATCH_H
