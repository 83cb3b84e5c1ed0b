//===- GpuKernelBuilder.h - A GPU kernel under construction ---------------===//
//
// What the GPU's schedules share: the kernel's memory and the number of the
// thread. A launch is a row of blocks of `threads` threads each; threads that
// have nothing to do are a condition in the code.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_GPU_GPUKERNELBUILDER_H
#define TENON_LIB_CODEGEN_GPU_GPUKERNELBUILDER_H

#include "GpuInstructions.h"

#include "tenon/Codegen/Loops/EmitKernel.h"
#include "tenon/Codegen/Loops/KernelNest.h"

namespace tenon::codegen {

/// On the function of a kernel: how it is launched, an array of blocks, threads
/// and bytes of scratch memory.
inline constexpr llvm::StringLiteral launchAttribute = "codegen.launch";
/// On the function of a kernel that no schedule for GPUs took.
inline constexpr llvm::StringLiteral inPartsAttribute = "codegen.in_parts";
/// On the function of a kernel, how many of its blocks a multiprocessor shall
/// have registers for, an integer. Without it ptxas may spill registers to make
/// room for one block more.
inline constexpr llvm::StringLiteral blocksAtOnceAttribute =
    "codegen.blocks_at_once";
/// On the function of a kernel, the function that is launched behind it, with
/// the same arguments.
inline constexpr llvm::StringLiteral followedByAttribute =
    "codegen.followed_by";

/// Sets the first of them, and says which operands are only read.
void describeLaunch(mlir::func::FuncOp function, const KernelSource &source,
                    const LaunchShape &launch);

inline constexpr int64_t bytesOfAccess = 16;
inline constexpr int64_t threadsOfWarp = 32;
/// Of shared memory a kernel may have so much without asking the driver.
inline constexpr int64_t mostStaticSharedBytes = 48 << 10;

/// The elements of the narrowest type that fill an access, among the results
/// and the operands that have at least so many elements.
int64_t longestVector(const KernelSource &source, int64_t elements);

class GpuKernelBuilder : public KernelNest {
public:
  GpuKernelBuilder(const KernelSource &source, mlir::func::FuncOp function,
                   const LaunchShape &launch,
                   const GpuInstructions &instructions);

  const LaunchShape launch;
  /// The number of the block and of the thread in it.
  IndexExpression block, thread;

  /// Sets the attribute of that name.
  void setBlocksAtOnce(int32_t blocks) {
    function->setAttr(blocksAtOnceAttribute,
                      builder.getI32IntegerAttr(blocks));
  }
  /// An estimate of a thread's work, in instructions.
  double cost() const;
  /// `elements` of memory that the threads of a block share.
  Buffer sharedMemory(int64_t elements, mlir::Type elementType);
  /// What threads of the block have written is there behind it. All of them
  /// have to come by.
  void awaitBlock();
  /// The same of the threads of the warp.
  void awaitWarp();
  /// The value of another thread of the warp, all of whose threads have to come
  /// by: `distance` further on, or, for 0, the first one of its `group`, a
  /// power of two.
  mlir::Value fromLane(mlir::Value value, int64_t distance, int64_t group);
  /// `lanes` neighbouring elements from `first` on, a multiple of `lanes`; the
  /// last one is less than `extent`.
  IndexExpression vectorAt(const IndexExpression &first, int64_t extent);
  /// Runs the body where `expression` is less than `limit`; nothing is asked
  /// where it always is.
  void ifBelow(const IndexExpression &expression, int64_t limit,
               llvm::function_ref<void(const IndexExpression &bounded)> body);

private:
  unsigned sharedMemories = 0;
};

} // namespace tenon::codegen

#endif // TENON_LIB_CODEGEN_GPU_GPUKERNELBUILDER_H
