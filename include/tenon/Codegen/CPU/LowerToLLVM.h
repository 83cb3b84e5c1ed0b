//===- LowerToLLVM.h - Kernels from vectors and loops to LLVM's dialect ---===//
//
// The first half of compiling kernels: from what the emitters write to the LLVM
// dialect. Nothing here looks for parallelism or vectors; the emitters have
// written them out, and with them every bit of the result. See
// KernelFunction.h for the shape of a kernel and CompileObjects.h for the
// second half.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_CODEGEN_CPU_LOWERTOLLVM_H
#define TENON_CODEGEN_CPU_LOWERTOLLVM_H

#include "mlir/IR/BuiltinOps.h"
#include "tenon/Codegen/CPU/FeatureSet.h"
#include "llvm/Support/LogicalResult.h"

namespace tenon::codegen {

/// Loads every dialect the lowering creates and registers the translations out
/// of MLIR. Not thread safe: call once per context before it is used by
/// several threads (compileObjects does).
void prepareContext(mlir::MLIRContext &context);

/// Checks that kernels keep to what the lowering takes: operations of func,
/// scf, cf, vector, arith, memref, index, ub and llvm, of math only
/// the ones with an exact instruction (fma, sqrt, floor, ceil, trunc,
/// roundeven, absf, copysign) and integer ones (absi, ctlz, cttz, ctpop), and
/// no fast-math flag anywhere. Reports every violation.
llvm::LogicalResult verifyKernels(mlir::ModuleOp module);

/// verifyKernels, then the module becomes LLVM dialect for `features`, with a C
/// function per kernel. Reports and fails on the first pass that fails.
/// The context must have been prepared.
llvm::LogicalResult lowerToLLVM(mlir::ModuleOp module,
                                const FeatureSet &features);

} // namespace tenon::codegen

#endif // TENON_CODEGEN_CPU_LOWERTOLLVM_H
