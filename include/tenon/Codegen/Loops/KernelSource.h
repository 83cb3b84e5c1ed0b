//===- KernelSource.h - What a kernel computes, as schedules see it -------===//
//
// The operations of a kernel on whole tensors, of a function of exec form or of
// a group that may become one.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_CODEGEN_LOOPS_KERNELSOURCE_H
#define TENON_CODEGEN_LOOPS_KERNELSOURCE_H

#include "tenon/Dialect/Step/Step.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tenon::codegen {

struct KernelSource {
  mlir::Block *body;
  mlir::Location loc;
  /// Per result, the operand it overwrites or -1.
  llvm::SmallVector<int64_t> inPlace;

  explicit KernelSource(mlir::func::FuncOp function);
  /// Of a group whose values have no places yet.
  explicit KernelSource(step::GroupOp group);

  auto operations() const { return body->without_terminator(); }
  mlir::ValueRange results() const {
    return body->getTerminator()->getOperands();
  }
  /// The operation whose results (all or some of them) are the kernel's, if
  /// everything else is what PointEmitter follows; none otherwise.
  mlir::Operation *rootOperation() const;
  /// Which of the kernel's results `value` is, -1 if none.
  int indexOfResult(mlir::Value value) const;
};

} // namespace tenon::codegen

#endif // TENON_CODEGEN_LOOPS_KERNELSOURCE_H
