//===- EmitGpuKernels.h - The kernels of exec form to PTX -----------------===//
//
// What the stage `codegen` does for GPUs: every kernel function of a module in
// exec form becomes an entry of one text of PTX per architecture. Kernels that
// compute the same are compiled once.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_CODEGEN_GPU_EMITGPUKERNELS_H
#define TENON_CODEGEN_GPU_EMITGPUKERNELS_H

#include "tenon/Codegen/GPU/EmitPtx.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/SmallVector.h"

#include <string>
#include <utility>
#include <vector>

namespace tenon::codegen {

/// Invocations that follow each other and that one launch does.
struct JointLaunch {
  std::string symbol;
  llvm::SmallVector<mlir::Operation *> invocations; // exec.invoke
};

struct GpuKernels {
  /// One for each architecture, with the same symbols in the same order.
  std::vector<PtxModule> modules;
  /// Per kernel function of the module, in their order: its name and the symbol
  /// it was compiled to.
  llvm::SmallVector<std::pair<std::string, std::string>> symbols;
  /// Of the invocations of its programs those that are launched together.
  std::vector<JointLaunch> joint;
};

/// Compiles every function of `module` that has the attribute `exec.kernel`,
/// and one more for each sequence of kernels that are launched together:
/// neighbours that touch nothing that another one of them writes. Reports all
/// kernels that have no code on the first architecture that misses some.
llvm::FailureOr<GpuKernels>
emitGpuKernels(mlir::ModuleOp module,
               llvm::ArrayRef<const target::GpuArchitecture *> architectures,
               Subnormals subnormals, const CodeWork &work = {});

} // namespace tenon::codegen

#endif // TENON_CODEGEN_GPU_EMITGPUKERNELS_H
