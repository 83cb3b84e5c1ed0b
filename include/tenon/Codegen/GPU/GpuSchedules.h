//===- GpuSchedules.h - How a GPU computes kernels ------------------------===//
//
// What a GPU hands to Codegen/Loops. A function that they emit takes the memory
// of Loops/KernelNest.h; its launch and its scratch memory are those of
// launchShapeOf (Loops/EmitKernel.h), which follow from the shapes alone.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_CODEGEN_GPU_GPUSCHEDULES_H
#define TENON_CODEGEN_GPU_GPUSCHEDULES_H

#include "tenon/Codegen/GPU/GpuTarget.h"
#include "tenon/Codegen/Loops/EmitKernel.h"

#include <memory>
#include <vector>

namespace tenon::codegen {

class GpuInstructions;

class GpuSchedules {
public:
  explicit GpuSchedules(const GpuTarget &target);
  ~GpuSchedules();
  GpuSchedules(const GpuSchedules &) = delete;

  operator Schedules() const { return all; }
  /// What reports call one of them.
  llvm::StringRef nameOf(const Schedule *schedule) const;

private:
  std::unique_ptr<GpuInstructions> instructions;
  std::vector<std::unique_ptr<Schedule>> owned;
  std::vector<const Schedule *> all;
};

} // namespace tenon::codegen

#endif // TENON_CODEGEN_GPU_GPUSCHEDULES_H
