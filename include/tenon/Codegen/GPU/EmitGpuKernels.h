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
#include "llvm/ADT/SmallVector.h"

#include <string>
#include <utility>
#include <vector>

namespace tenon::codegen {

struct GpuKernels {
  /// One for each architecture, with the same symbols in the same order.
  std::vector<PtxModule> modules;
  /// Per kernel function of the module, in their order: its name and the symbol
  /// it was compiled to.
  llvm::SmallVector<std::pair<std::string, std::string>> symbols;
};

/// Compiles every function of `module` that has the attribute `exec.kernel`.
/// Reports all kernels that have no code on the first architecture that misses
/// some.
llvm::FailureOr<GpuKernels>
emitGpuKernels(mlir::ModuleOp module,
               llvm::ArrayRef<const target::GpuArchitecture *> architectures,
               Subnormals subnormals);

} // namespace tenon::codegen

#endif // TENON_CODEGEN_GPU_EMITGPUKERNELS_H
