//===- InitialValues.h - The entry point `init` --------------------------===//
//
// Private to this folder. Hidden state (Dialect/Step/HiddenState.h) is nobody's
// to write, so a second program gives it its initial values: a kernel for each,
// which reads nothing.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_MEMORY_INITIALVALUES_H
#define TENON_LIB_MEMORY_INITIALVALUES_H

#include "tenon/Dialect/Step/Step.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tenon::memory {

/// Writes `exec.program @init` where `builder` stands, if the step `main`,
/// which is in scheduled form, has hidden state. `kernelFor` outlines a group.
void writeInit(mlir::OpBuilder &builder, mlir::func::FuncOp main,
               llvm::function_ref<llvm::StringRef(step::GroupOp)> kernelFor);

} // namespace tenon::memory

#endif // TENON_LIB_MEMORY_INITIALVALUES_H
