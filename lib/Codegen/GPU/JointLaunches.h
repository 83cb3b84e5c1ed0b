//===- JointLaunches.h - Which kernels are launched together --------------===//
//
// Looks through the programs of a module in exec form for invocations that
// follow each other and touch no byte that another one of them writes: their
// order does not matter, so one launch does them side by side (JointKernel.h).
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_GPU_JOINTLAUNCHES_H
#define TENON_LIB_CODEGEN_GPU_JOINTLAUNCHES_H

#include "tenon/Codegen/GPU/EmitGpuKernels.h"
#include "tenon/Dialect/Exec/Exec.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"

#include <map>
#include <optional>

namespace tenon::codegen {

class JointLaunches {
public:
  /// `symbols` says of each kernel function which of the distinct `kernels`
  /// computes it, as DistinctKernels does.
  JointLaunches(llvm::ArrayRef<mlir::func::FuncOp> kernels,
                llvm::ArrayRef<std::pair<std::string, std::string>> symbols,
                const GpuTarget &target);

  void collect(mlir::ModuleOp module);
  const std::vector<JointLaunch> &found() const { return launches; }
  /// What emitPtx is given: number i has the symbol of that number.
  llvm::ArrayRef<JointKernels> distinct() const { return sequences; }

private:
  /// What one of the distinct kernels asks of a launch.
  struct Kernel {
    bool mayJoin = false;
    int64_t threads = 1, sharedBytes = 0;
    /// Whether blocks of more threads may do what its blocks do.
    bool mayWiden = false;
    llvm::SmallVector<bool> writes; // per argument
  };
  struct Touched {
    llvm::StringRef segment;
    int64_t begin, end; // bytes
    bool isWritten;
  };
  struct Invocation {
    exec::InvokeOp op;
    unsigned kernel;
    llvm::SmallVector<Touched> touched;
  };

  /// Nothing for what is launched alone.
  std::optional<Invocation> describe(mlir::Operation &op) const;
  bool fits(const Invocation &next) const;
  /// Whether two kernels may be parts of one.
  static bool fit(const Kernel &a, const Kernel &b);
  /// Ends the sequence that is being collected.
  void finish();
  void collect(mlir::Block &block);

  std::vector<Kernel> kernels;
  llvm::StringMap<unsigned> numberOf; // of kernel functions
  std::vector<Invocation> open;
  std::map<std::vector<unsigned>, size_t> known;
  std::vector<JointKernels> sequences;
  std::vector<JointLaunch> launches;
};

} // namespace tenon::codegen

#endif // TENON_LIB_CODEGEN_GPU_JOINTLAUNCHES_H
