//===- GpuSchedule.h - How a GPU computes one kind of kernel --------------===//
//
// One class per schedule; GpuSchedules.cpp has them in order of preference.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_GPU_GPUSCHEDULE_H
#define TENON_LIB_CODEGEN_GPU_GPUSCHEDULE_H

#include "GpuKernelBuilder.h"

#include "tenon/Codegen/CPU/VectorSchedules.h"
#include "tenon/Codegen/Loops/EmitKernel.h"

namespace tenon::codegen {

/// What all of them share.
class GpuSchedule : public Schedule {
public:
  explicit GpuSchedule(const GpuInstructions &instructions)
      : instructions(instructions) {}

  /// What reports call it, a word; empty if it has none.
  virtual llvm::StringRef name() const { return ""; }
  mlir::LogicalResult check(const KernelSource &source) const override {
    return checkPointOperations(source);
  }
  unsigned variants(const KernelSource &) const override { return 1; }

protected:
  /// A function that `Kernel`, a builder, fills.
  template <typename Kernel>
  EmittedLoops emitAs(const KernelSource &source, mlir::ModuleOp module,
                      llvm::StringRef name) const {
    LaunchShape launch = launchShape(source);
    mlir::func::FuncOp function =
        createKernelFunction(module, name, source, launch.scratchBytes, {});
    Kernel(source, function, launch, instructions);
    return {function};
  }

  const GpuInstructions &instructions;
};

/// One of the launches of a kernel. Each is given the kernel's memory.
struct GpuLaunch {
  LaunchShape shape;
  /// Fills the launch's function.
  void (*emit)(const KernelSource &source, mlir::func::FuncOp function,
               const LaunchShape &shape, const GpuInstructions &instructions);
};

/// Of kernels that are one launch or several: blocks of a launch read what
/// blocks of those before have written.
class SequenceSchedule : public GpuSchedule {
public:
  using GpuSchedule::GpuSchedule;
  LaunchShape launchShape(const KernelSource &source) const final {
    return launches(source).front().shape;
  }
  EmittedLoops emit(const KernelSource &source, mlir::ModuleOp module,
                    llvm::StringRef name, unsigned variant) const final;

protected:
  /// At least one; they have the same scratch memory.
  virtual llvm::SmallVector<GpuLaunch>
  launches(const KernelSource &source) const = 0;
};

/// The launch whose function `Kernel`, a builder, fills.
template <typename Kernel>
GpuLaunch launchOf(const LaunchShape &shape) {
  return {shape,
          [](const KernelSource &source, mlir::func::FuncOp function,
             const LaunchShape &shape, const GpuInstructions &instructions) {
            Kernel(source, function, shape, instructions);
          }};
}

class ElementwiseSchedule final : public GpuSchedule {
public:
  using GpuSchedule::GpuSchedule;
  llvm::StringRef name() const override { return "element-wise"; }
  bool accepts(const KernelSource &source) const override;
  LaunchShape launchShape(const KernelSource &source) const override;
  unsigned variants(const KernelSource &source) const override;
  EmittedLoops emit(const KernelSource &source, mlir::ModuleOp module,
                    llvm::StringRef name, unsigned variant) const override;
};

class TransposeSchedule final : public GpuSchedule {
public:
  using GpuSchedule::GpuSchedule;
  llvm::StringRef name() const override { return "transpose"; }
  bool accepts(const KernelSource &source) const override;
  LaunchShape launchShape(const KernelSource &source) const override;
  EmittedLoops emit(const KernelSource &source, mlir::ModuleOp module,
                    llvm::StringRef name, unsigned variant) const override;
};

class WarpRowSchedule final : public GpuSchedule {
public:
  using GpuSchedule::GpuSchedule;
  llvm::StringRef name() const override { return "rows"; }
  bool accepts(const KernelSource &source) const override;
  LaunchShape launchShape(const KernelSource &source) const override;
  EmittedLoops emit(const KernelSource &source, mlir::ModuleOp module,
                    llvm::StringRef name, unsigned variant) const override;
};

class BlockRowSchedule final : public GpuSchedule {
public:
  using GpuSchedule::GpuSchedule;
  llvm::StringRef name() const override { return "rows"; }
  bool accepts(const KernelSource &source) const override;
  LaunchShape launchShape(const KernelSource &source) const override;
  EmittedLoops emit(const KernelSource &source, mlir::ModuleOp module,
                    llvm::StringRef name, unsigned variant) const override;
};

class RowSchedule final : public GpuSchedule {
public:
  using GpuSchedule::GpuSchedule;
  llvm::StringRef name() const override { return "rows"; }
  bool accepts(const KernelSource &source) const override;
  LaunchShape launchShape(const KernelSource &source) const override;
  EmittedLoops emit(const KernelSource &source, mlir::ModuleOp module,
                    llvm::StringRef name, unsigned variant) const override;
};

class ColumnSchedule final : public GpuSchedule {
public:
  using GpuSchedule::GpuSchedule;
  llvm::StringRef name() const override { return "columns"; }
  bool accepts(const KernelSource &source) const override;
  LaunchShape launchShape(const KernelSource &source) const override;
  EmittedLoops emit(const KernelSource &source, mlir::ModuleOp module,
                    llvm::StringRef name, unsigned variant) const override;
};

class TensorAttentionSchedule final : public GpuSchedule {
public:
  using GpuSchedule::GpuSchedule;
  llvm::StringRef name() const override { return "tensor-attention"; }
  bool accepts(const KernelSource &source) const override;
  LaunchShape launchShape(const KernelSource &source) const override;
  EmittedLoops emit(const KernelSource &source, mlir::ModuleOp module,
                    llvm::StringRef name, unsigned variant) const override;
};

class TensorAttentionGradientSchedule final : public SequenceSchedule {
public:
  using SequenceSchedule::SequenceSchedule;
  llvm::StringRef name() const override { return "tensor-attention-gradient"; }
  bool accepts(const KernelSource &source) const override;

protected:
  llvm::SmallVector<GpuLaunch>
  launches(const KernelSource &source) const override;
};

class FloatAttentionSchedule final : public GpuSchedule {
public:
  using GpuSchedule::GpuSchedule;
  llvm::StringRef name() const override { return "attention"; }
  bool accepts(const KernelSource &source) const override;
  LaunchShape launchShape(const KernelSource &source) const override;
  EmittedLoops emit(const KernelSource &source, mlir::ModuleOp module,
                    llvm::StringRef name, unsigned variant) const override;
};

class FloatAttentionGradientSchedule final : public SequenceSchedule {
public:
  using SequenceSchedule::SequenceSchedule;
  llvm::StringRef name() const override { return "attention-gradient"; }
  bool accepts(const KernelSource &source) const override;

protected:
  llvm::SmallVector<GpuLaunch>
  launches(const KernelSource &source) const override;
};

class TensorProductSchedule final : public SequenceSchedule {
public:
  using SequenceSchedule::SequenceSchedule;
  llvm::StringRef name() const override { return "tensor-product"; }
  bool accepts(const KernelSource &source) const override;

protected:
  llvm::SmallVector<GpuLaunch>
  launches(const KernelSource &source) const override;
};

class ProductSchedule final : public GpuSchedule {
public:
  using GpuSchedule::GpuSchedule;
  llvm::StringRef name() const override { return "product"; }
  bool accepts(const KernelSource &source) const override;
  LaunchShape launchShape(const KernelSource &source) const override;
  EmittedLoops emit(const KernelSource &source, mlir::ModuleOp module,
                    llvm::StringRef name, unsigned variant) const override;
};

class PointProductSchedule final : public GpuSchedule {
public:
  using GpuSchedule::GpuSchedule;
  llvm::StringRef name() const override { return "point-product"; }
  bool accepts(const KernelSource &source) const override;
  mlir::LogicalResult check(const KernelSource &source) const override;
  LaunchShape launchShape(const KernelSource &source) const override;
  EmittedLoops emit(const KernelSource &source, mlir::ModuleOp module,
                    llvm::StringRef name, unsigned variant) const override;
};

class WindowSchedule final : public GpuSchedule {
public:
  using GpuSchedule::GpuSchedule;
  llvm::StringRef name() const override { return "window"; }
  bool accepts(const KernelSource &source) const override;
  LaunchShape launchShape(const KernelSource &source) const override;
  EmittedLoops emit(const KernelSource &source, mlir::ModuleOp module,
                    llvm::StringRef name, unsigned variant) const override;
};

class RandomSchedule final : public GpuSchedule {
public:
  using GpuSchedule::GpuSchedule;
  llvm::StringRef name() const override { return "random"; }
  bool accepts(const KernelSource &source) const override;
  mlir::LogicalResult check(const KernelSource &source) const override;
  LaunchShape launchShape(const KernelSource &source) const override;
  EmittedLoops emit(const KernelSource &source, mlir::ModuleOp module,
                    llvm::StringRef name, unsigned variant) const override;
};

class ScatterSchedule final : public GpuSchedule {
public:
  using GpuSchedule::GpuSchedule;
  llvm::StringRef name() const override { return "scatter"; }
  bool accepts(const KernelSource &source) const override;
  LaunchShape launchShape(const KernelSource &source) const override;
  EmittedLoops emit(const KernelSource &source, mlir::ModuleOp module,
                    llvm::StringRef name, unsigned variant) const override;
};

class TopKSchedule final : public GpuSchedule {
public:
  using GpuSchedule::GpuSchedule;
  llvm::StringRef name() const override { return "top-k"; }
  bool accepts(const KernelSource &source) const override;
  LaunchShape launchShape(const KernelSource &source) const override;
  EmittedLoops emit(const KernelSource &source, mlir::ModuleOp module,
                    llvm::StringRef name, unsigned variant) const override;
};

class SortSchedule final : public GpuSchedule {
public:
  using GpuSchedule::GpuSchedule;
  llvm::StringRef name() const override { return "sort"; }
  bool accepts(const KernelSource &source) const override;
  LaunchShape launchShape(const KernelSource &source) const override;
  EmittedLoops emit(const KernelSource &source, mlir::ModuleOp module,
                    llvm::StringRef name, unsigned variant) const override;
};

class UpdateSchedule final : public GpuSchedule {
public:
  using GpuSchedule::GpuSchedule;
  llvm::StringRef name() const override { return "update"; }
  bool accepts(const KernelSource &source) const override;
  LaunchShape launchShape(const KernelSource &source) const override;
  EmittedLoops emit(const KernelSource &source, mlir::ModuleOp module,
                    llvm::StringRef name, unsigned variant) const override;
};

/// The parts of the vector templates as threads: any kernel that the CPU
/// computes, and its bits, but the slow way.
class PartsSchedule final : public Schedule {
public:
  explicit PartsSchedule(const GpuTarget &target);
  bool accepts(const KernelSource &source) const override;
  mlir::LogicalResult check(const KernelSource &source) const override;
  LaunchShape launchShape(const KernelSource &source) const override;
  unsigned variants(const KernelSource &source) const override;
  EmittedLoops emit(const KernelSource &source, mlir::ModuleOp module,
                    llvm::StringRef name, unsigned variant) const override;

private:
  GpuInstructions instructions;
  VectorSchedules vectors;
};

} // namespace tenon::codegen

#endif // TENON_LIB_CODEGEN_GPU_GPUSCHEDULE_H
