//===- DistinctKernels.h - The kernels of exec form that differ -----------===//
//
// Kernels that compute the same (Dialect/Exec/SameKernel.h) are compiled once.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_CODEGEN_LOOPS_DISTINCTKERNELS_H
#define TENON_CODEGEN_LOOPS_DISTINCTKERNELS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SmallVector.h"

#include <string>
#include <utility>

namespace tenon::codegen {

struct DistinctKernels {
  /// The first of each kind. Number i gets the symbol `kernel_<i>`.
  llvm::SmallVector<mlir::func::FuncOp> kernels;
  /// Per kernel function of the module, in their order: its name and the symbol
  /// that computes it.
  llvm::SmallVector<std::pair<std::string, std::string>> symbols;
};

/// The symbol of a kernel, by its place among the distinct ones.
std::string symbolOfKernel(size_t index);

/// Of all functions of `module` with the attribute `exec.kernel` and a body.
DistinctKernels distinctKernels(mlir::ModuleOp module);

} // namespace tenon::codegen

#endif // TENON_CODEGEN_LOOPS_DISTINCTKERNELS_H
