//===- KernelSource.h - What a kernel computes, as schedules see it -------===//
//
// The operations of a kernel on whole tensors, of a function of exec form or of
// a group that may become one.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_CODEGEN_LOOPS_KERNELSOURCE_H
#define TENON_CODEGEN_LOOPS_KERNELSOURCE_H

#include "tenon/Analysis/KernelDescription.h"
#include "tenon/Dialect/Step/Step.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tenon::codegen {

struct KernelSource {
  mlir::Block *body;
  mlir::Location loc;
  /// Per result, the operand it overwrites or -1.
  llvm::SmallVector<int64_t> inPlace;
  KernelDescription kernel;
  KernelClass kernelClass;
  mlir::Operation *root; // null if there is none

  explicit KernelSource(mlir::func::FuncOp function);
  /// Of a group whose values have no places yet.
  explicit KernelSource(step::GroupOp group);

  auto operations() const { return body->without_terminator(); }
  mlir::ValueRange results() const {
    return body->getTerminator()->getOperands();
  }
  /// Which of the kernel's results `value` is, or is a part of behind what only
  /// moves it (KernelNest::storePart); -1 if none.
  int indexOfResult(mlir::Value value) const;

private:
  KernelSource(mlir::Block *body, mlir::Location loc, size_t results);
};

} // namespace tenon::codegen

#endif // TENON_CODEGEN_LOOPS_KERNELSOURCE_H
