//===- Views.cpp - Operations that move no bytes --------------------------===//
//
// See Views.h.
//
//===----------------------------------------------------------------------===//

#include "Views.h"

#include "tenon/Dialect/StableHLO/StableHLO.h"

using namespace mlir;
using namespace tenon;

bool memory::isView(Operation *op) {
  return isa<stablehlo::ReshapeOp, stablehlo::OptimizationBarrierOp>(op);
}

Value memory::viewedBy(Value value) {
  auto result = dyn_cast<OpResult>(value);
  return result && isView(result.getOwner())
             ? result.getOwner()->getOperand(result.getResultNumber())
             : Value();
}

Value memory::storageOf(Value value) {
  while (Value viewed = viewedBy(value))
    value = viewed;
  return value;
}
