//===- LowerToLLVM.h - Kernels from vectors and loops to LLVM's dialect ---===//
//
// The first half of compiling kernels: from what the emitters write to the LLVM
// dialect (Codegen/LLVM/LowerLoops.h). A compiled kernel is the C function
//
//     void name(void *const *arguments, int64_t part, int64_t parts)
//
// that does part `part` of `parts`. The emitters do not see that: they fill a
// function of the kernel's memory (Loops/KernelNest.h) and of part and parts of
// type index, and this puts the C function around it. CompileObjects.h is the
// second half.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_CODEGEN_CPU_LOWERTOLLVM_H
#define TENON_CODEGEN_CPU_LOWERTOLLVM_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "tenon/Codegen/CPU/FeatureSet.h"
#include "llvm/Support/LogicalResult.h"

namespace tenon::codegen {

/// verifyKernels, then the module becomes LLVM dialect for `features`, with a C
/// function per kernel. Reports and fails on the first pass that fails.
/// The context must have been prepared.
llvm::LogicalResult lowerToLLVM(mlir::ModuleOp module,
                                const FeatureSet &features);

/// The same for many modules of one context: setting its passes up takes as
/// long as running them on a small kernel.
class LoweringToLLVM {
public:
  LoweringToLLVM(mlir::MLIRContext &context, const FeatureSet &features);
  llvm::LogicalResult run(mlir::ModuleOp module);

private:
  const FeatureSet &features;
  mlir::PassManager passes;
};

} // namespace tenon::codegen

#endif // TENON_CODEGEN_CPU_LOWERTOLLVM_H
