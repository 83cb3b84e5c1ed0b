//===- EmitKernels.h - The kernels of exec form to one shared object ------===//
//
// What the stage `codegen` does on the CPU: every kernel function of a module
// in exec form becomes loops (Codegen/Loops), object code, and a symbol of one
// ELF shared object. Kernels that compute the same are compiled once.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_CODEGEN_CPU_EMITKERNELS_H
#define TENON_CODEGEN_CPU_EMITKERNELS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "tenon/Codegen/CPU/FeatureSet.h"
#include "tenon/Codegen/LLVM/KeptCode.h"
#include "tenon/Codegen/Loops/EmitKernel.h"
#include "llvm/ADT/SmallVector.h"
#include <string>
#include <utility>

namespace tenon::codegen {

/// Appends the loops of `kernel` to `target`, marked as a kernel whose C symbol
/// will be `symbol`. Reports what there is no code for.
llvm::FailureOr<mlir::func::FuncOp> emitKernel(mlir::func::FuncOp kernel,
                                               mlir::ModuleOp target,
                                               llvm::StringRef symbol,
                                               Schedules schedules);

struct CompiledKernels {
  /// The ELF shared object.
  llvm::SmallVector<char, 0> sharedObject;
  /// Per kernel function of the module, in their order: its name and the symbol
  /// it was compiled to.
  llvm::SmallVector<std::pair<std::string, std::string>> symbols;
  /// How many of them are different.
  size_t distinct = 0;
};

/// Compiles every function of `module` that has the attribute `exec.kernel`.
/// The same module gives the same bytes. Reports all kernels that have no code,
/// not only the first.
llvm::FailureOr<CompiledKernels> emitKernels(mlir::ModuleOp module,
                                             const FeatureSet &features,
                                             const CodeWork &work = {});

} // namespace tenon::codegen

#endif // TENON_CODEGEN_CPU_EMITKERNELS_H
