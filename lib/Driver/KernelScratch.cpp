//===- KernelScratch.cpp - Scratch memory of kernels for the target -------===//
//
// See KernelScratch.h.
//
//===----------------------------------------------------------------------===//

#include "KernelScratch.h"

#include "tenon/Codegen/CPU/AnnotateScratch.h"
#include "tenon/Codegen/GPU/GpuSchedules.h"
#include "tenon/Dialect/Exec/Exec.h"
#include "tenon/Dialect/Exec/GpuCode.h"

#include "mlir/IR/BuiltinAttributes.h"

#include <memory>

using namespace tenon;
using namespace tenon::driver;

/// What is asked of them here follows from shapes alone, so it is the same on
/// all architectures.
static std::shared_ptr<codegen::GpuSchedules>
gpuSchedules(const ResolvedOptions &resolved) {
  return std::make_shared<codegen::GpuSchedules>(
      codegen::GpuTarget{resolved.gpus.front(), resolved.features.subnormals});
}

std::function<bool(step::GroupOp)>
driver::hasScheduleOn(const ResolvedOptions &resolved) {
  auto schedules = gpuSchedules(resolved);
  return [schedules](step::GroupOp group) {
    return codegen::scheduleOf(codegen::KernelSource(group), *schedules) !=
           nullptr;
  };
}

KernelScratch driver::kernelScratchFor(const ResolvedOptions &resolved) {
  if (resolved.target != OutputTarget::cuda)
    return [features = resolved.features](step::GroupOp group) {
      return codegen::scratchBytesOf(group, features);
    };
  auto schedules = gpuSchedules(resolved);
  return [schedules, features = resolved.features](step::GroupOp group) {
    // A call on the host has its workspace there.
    if (auto call =
            group->getAttrOfType<mlir::DictionaryAttr>(exec::libraryAttrName))
      return exec::isHostCall(call) ? 0
                                    : codegen::scratchBytesOf(group, features);
    return codegen::launchShapeOf(codegen::KernelSource(group), *schedules)
        .scratchBytes;
  };
}
