//===- EmitKernel.h - A kernel function from tensors to loops -------------===//
//
// Turns a kernel of exec form (a private function on tensors, docs/Forms.md)
// into loops over memory with explicit vectors, the input of a target's
// lowering. The kind of a kernel names the template; the bits of a result
// follow from the operations alone, so every template that can compute a value
// computes the same.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_CODEGEN_CPU_EMITKERNEL_H
#define TENON_CODEGEN_CPU_EMITKERNEL_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "tenon/Codegen/CPU/FeatureSet.h"

namespace tenon::codegen {

/// No launch uses more parts than this.
inline constexpr int64_t maximumParts = 64;

/// Bytes of scratch memory a launch of `kernel` needs, for any number of parts
/// up to maxParts(); 0 for none. The kernel then takes it as its last argument.
int64_t scratchBytesNeeded(mlir::func::FuncOp kernel);

/// The largest number of parts worth using, between 1 and maximumParts.
int64_t maxParts(mlir::func::FuncOp kernel);

/// Whether `kernel` is left to obvious loops: it has no fast code.
bool isFallback(mlir::func::FuncOp kernel);

/// Appends to `target` a function named `name` that computes `kernel`: rank-1
/// memrefs for its operands, for those of its results that overwrite no operand
/// (`exec.in_place`) and, if it needs any, for the scratch memory, followed by
/// the part and the number of parts, both of type index. Booleans are bytes.
/// Reports operations and element types there is no code for.
mlir::FailureOr<mlir::func::FuncOp>
emitKernelFunction(mlir::func::FuncOp kernel, mlir::ModuleOp target,
                   llvm::StringRef name, const FeatureSet &features);

} // namespace tenon::codegen

#endif // TENON_CODEGEN_CPU_EMITKERNEL_H
