//===- JointKernel.h - One launch for several runs of kernels -------------===//
//
// Kernels that have nothing to do with each other are one kernel whose blocks
// are dealt out to them: the updates of many parameters, say, each of which is
// over before a GPU has filled. A run has the code of its kernel, so its bits
// do not depend on whether it is launched alone. Worked example, runs of kernel
// a with 4 blocks and of kernel b with 2, in the order a b a:
//
//   blocks 0 to 3   a, given the operands of the first run
//   blocks 4 to 7   a, given those of the third
//   blocks 8, 9     b, given those of the second
//
// A block has as much shared memory as the kernel that has most.
//
// A run whose blocks have fewer threads than those of others must have threads
// that are apart (LaunchShape); then a block does what several of its blocks
// do.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_GPU_JOINTKERNEL_H
#define TENON_LIB_CODEGEN_GPU_JOINTKERNEL_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace tenon::codegen {

/// Adds to `module` a function with the arguments of all `runs`, which are
/// emitted kernels with a launch, in order.
mlir::func::FuncOp emitJoint(llvm::ArrayRef<mlir::func::FuncOp> runs,
                             mlir::ModuleOp module, llvm::StringRef name);

} // namespace tenon::codegen

#endif // TENON_LIB_CODEGEN_GPU_JOINTKERNEL_H
