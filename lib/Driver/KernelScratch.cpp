//===- KernelScratch.cpp - Scratch memory of kernels for the target -------===//
//
// See KernelScratch.h.
//
//===----------------------------------------------------------------------===//

#include "KernelScratch.h"

#include "tenon/Codegen/CPU/AnnotateScratch.h"
#include "tenon/Codegen/GPU/GpuSchedules.h"

#include <memory>

using namespace tenon;
using namespace tenon::driver;

KernelScratch driver::kernelScratchFor(const ResolvedOptions &resolved) {
  if (resolved.target != OutputTarget::cuda)
    return [features = resolved.features](step::GroupOp group) {
      return codegen::scratchBytesOf(group, features);
    };
  // It follows from shapes alone, so it is the same on all architectures.
  auto schedules = std::make_shared<codegen::GpuSchedules>(
      codegen::GpuTarget{resolved.gpus.front(), resolved.features.subnormals});
  return [schedules, features = resolved.features](step::GroupOp group) {
    if (group.getKind() == step::GroupKind::library)
      return codegen::scratchBytesOf(group, features);
    return codegen::launchShapeOf(codegen::KernelSource(group), *schedules)
        .scratchBytes;
  };
}
