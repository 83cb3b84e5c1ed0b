//===- EmitPtx.h - The kernels of a module to PTX -------------------------===//
//
// Kernel functions of exec form become the text of NVIDIA's assembler: loops
// over threads (the schedules of this folder), LLVM, and LLVM's NVPTX back end.
// No toolkit and no library of NVIDIA's is asked. Divisions and square roots
// are rounded to nearest, multiplications and additions stay apart, so the bits
// are the CPU's wherever the operations are the same.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_CODEGEN_GPU_EMITPTX_H
#define TENON_CODEGEN_GPU_EMITPTX_H

#include "tenon/Codegen/GPU/GpuTarget.h"
#include "tenon/Codegen/LLVM/KeptCode.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tenon::codegen {

/// A kernel in a text of PTX. Its parameters are the addresses of the operands,
/// then those of the results that overwrite none, then that of the scratch
/// memory if it needs any, 8 bytes each, all multiples of 64.
struct PtxKernel {
  std::string symbol;
  /// How it is launched: blocks of threads, both in one dimension.
  int64_t blocks = 1, threads = 1;
  /// Scratch memory, whose content does not matter before and after; as many
  /// bytes as launchShapeOf gives for the schedules of GpuSchedules.h.
  int64_t scratchBytes = 0;
  /// Whether no schedule for GPUs took it, so that threads do the parts of the
  /// CPU's code: right, but slow.
  bool isInParts = false;
  /// What emitted it, as GpuSchedules::nameOf calls it.
  std::string schedule;
  /// The symbol of the kernel that is launched after it with the same
  /// parameters, since its blocks read what several blocks of this one have
  /// written; empty for none.
  std::string followedBy = {};
  /// The bits of numbers that the user's program has and that its machine code
  /// may take from beside it.
  std::vector<uint32_t> constants = {};
};

/// Several runs of kernels, not necessarily different ones, that one launch
/// does side by side: the number of the kernel of each. None reads or
/// overwrites what another one writes, and none needs scratch memory. Kernels
/// of fewer threads in a block than others have threads that are apart
/// (LaunchShape).
using JointKernels = llvm::SmallVector<unsigned>;

struct PtxModule {
  std::string text;
  /// The same, and from which line of the user's program each kernel comes. The
  /// assembler would put a copy of this text into the machine code, which then
  /// is twice as long.
  std::string textWithSources;
  std::vector<PtxKernel> kernels;
};

/// The kernels, in their order, as `kernel_0`, `kernel_1` and so on, then what
/// follows one of them as `kernel_0_then`, then those of several runs as
/// `joint_0` and so on, whose parameters are those of all
/// runs in order. Reports all that have no code, not only the first. The same
/// kernels and target give the same bytes on any machine.
llvm::FailureOr<PtxModule> emitPtx(llvm::ArrayRef<mlir::func::FuncOp> kernels,
                                   const GpuTarget &target,
                                   llvm::ArrayRef<JointKernels> joints = {},
                                   const CodeWork &work = {});

/// The symbol of a kernel of several runs, by its place among them.
std::string symbolOfJoint(size_t index);

} // namespace tenon::codegen

#endif // TENON_CODEGEN_GPU_EMITPTX_H
