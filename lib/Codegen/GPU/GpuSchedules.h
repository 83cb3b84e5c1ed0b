//===- GpuSchedules.h - How a GPU computes kernels ------------------------===//
//
// One class per schedule; GpuScheduleList has them in order of preference.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_GPU_GPUSCHEDULES_H
#define TENON_LIB_CODEGEN_GPU_GPUSCHEDULES_H

#include "GpuKernelBuilder.h"

#include "tenon/Codegen/Loops/EmitKernel.h"

namespace tenon::codegen {

/// What all of them share.
class GpuSchedule : public Schedule {
public:
  explicit GpuSchedule(const GpuInstructions &instructions)
      : instructions(instructions) {}

  mlir::LogicalResult check(const KernelSource &source) const override {
    return checkPointOperations(source);
  }

protected:
  const GpuInstructions &instructions;
};

class ElementwiseSchedule final : public GpuSchedule {
public:
  using GpuSchedule::GpuSchedule;
  bool accepts(const KernelSource &source) const override;
  LaunchShape launchShape(const KernelSource &source) const override;
  unsigned variants(const KernelSource &source) const override;
  EmittedLoops emit(const KernelSource &source, mlir::ModuleOp module,
                    llvm::StringRef name, unsigned variant) const override;
};

} // namespace tenon::codegen

#endif // TENON_LIB_CODEGEN_GPU_GPUSCHEDULES_H
