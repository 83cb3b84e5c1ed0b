//===- OutlineKernel.h - The kernel function of a group -------------------===//
//
// A group's body as the function that code is generated from.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_EXEC_OUTLINEKERNEL_H
#define TENON_DIALECT_EXEC_OUTLINEKERNEL_H

#include "tenon/Dialect/Step/Step.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace tenon::exec {

/// On a kernel function: what it computes is never read, so it need not store
/// anything.
inline constexpr llvm::StringLiteral neverReadAttrName = "exec.never_read";

/// A private function `@kernel` outside any module, with the group's operands
/// as arguments, its results as results, a copy of its body, and its kind.
mlir::OwningOpRef<mlir::func::FuncOp> outlineKernel(step::GroupOp group);

} // namespace tenon::exec

#endif // TENON_DIALECT_EXEC_OUTLINEKERNEL_H
