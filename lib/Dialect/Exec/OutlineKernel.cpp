//===- OutlineKernel.cpp - The kernel function of a group -----------------===//
//
// See OutlineKernel.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Dialect/Exec/OutlineKernel.h"

#include "tenon/Dialect/Exec/Exec.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace tenon;

OwningOpRef<func::FuncOp> exec::outlineKernel(step::GroupOp group) {
  auto type =
      FunctionType::get(group.getContext(), group.getInputs().getTypes(),
                        group.getOutputs().getTypes());
  OwningOpRef<func::FuncOp> kernel =
      func::FuncOp::create(group.getLoc(), "kernel", type);
  kernel->setPrivate();
  kernel.get()->setAttr(kernelKindAttrName, group.getKindAttr());
  IRMapping mapping;
  group.getBody().cloneInto(&kernel->getBody(), mapping);
  Operation *yield = kernel->getBody().front().getTerminator();
  OpBuilder builder(yield);
  func::ReturnOp::create(builder, yield->getLoc(), yield->getOperands());
  yield->erase();
  return kernel;
}
