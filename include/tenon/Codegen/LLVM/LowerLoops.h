//===- LowerLoops.h - From vectors and loops to LLVM's dialect ------------===//
//
// What the emitters write (scf, vector, arith, math, memref) becomes the LLVM
// dialect, in the same way for every processor. Nothing here looks for
// parallelism or vectors: the emitters have written them out, and with them
// every bit of the result. What stands around a kernel's body, a C function or
// a grid of threads, is the target's affair.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_CODEGEN_LLVM_LOWERLOOPS_H
#define TENON_CODEGEN_LLVM_LOWERLOOPS_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/LogicalResult.h"

namespace tenon::codegen {

/// The dialects that the lowering takes and creates.
void registerKernelDialects(mlir::DialectRegistry &registry);

/// Loads every one of them and registers the translations out of MLIR. Not
/// thread safe: call once per context before it is used by several threads
/// (compileObjects does).
void prepareContext(mlir::MLIRContext &context);

/// Checks that kernels keep to what the lowering takes: operations of func,
/// scf, cf, vector, arith, memref, index, ub, llvm and `targetDialect`, of math
/// only the ones with an exact instruction (fma, sqrt, floor, ceil, trunc,
/// roundeven, absf, copysign) and integer ones (absi, ctlz, cttz, ctpop), and
/// no fast-math flag anywhere. Reports every violation; `target` is what
/// messages call the processor.
llvm::LogicalResult verifyKernels(mlir::ModuleOp module, llvm::StringRef target,
                                  llvm::StringRef targetDialect = "");

/// `roundsToBf16` says whether the target converts f32 to bf16 by an
/// instruction; where not, the conversion is written in integers.
void addLoopLoweringPasses(mlir::OpPassManager &passes, bool roundsToBf16);

} // namespace tenon::codegen

#endif // TENON_CODEGEN_LLVM_LOWERLOOPS_H
