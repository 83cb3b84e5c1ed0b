//===- RecomputePrice.cpp - What it takes to compute a value again -------===//
//
// See RecomputePrice.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Fusion/RecomputePrice.h"

#include "tenon/Analysis/OperationClass.h"

#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;
using namespace tenon;

namespace {
/// Computing one element again, in those units. A division or a transcendental
/// function is worth a quarter of the f32 it makes.
constexpr int64_t cheapElement = 1, expensiveElement = 16, movedElement = 8;
} // namespace

Value fusion::storageOf(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (classify(op) != OperationClass::view)
      break;
    value = op->getOperand(0);
  }
  return value;
}

std::optional<int64_t> fusion::recomputePrice(Operation *op) {
  if (op->getNumResults() != 1)
    return std::nullopt;
  int64_t elements =
      cast<RankedTensorType>(op->getResult(0).getType()).getNumElements();
  if (isFreeToClone(op))
    return 0;
  switch (classify(op)) {
  case OperationClass::pointwise:
    return elements * (isExpensive(op) ? expensiveElement : cheapElement);
  case OperationClass::indexMap:
    return elements * movedElement;
  case OperationClass::view:
    return 0;
  case OperationClass::reduction:
  case OperationClass::generic:
  case OperationClass::ungrouped:
    return std::nullopt;
  }
  return std::nullopt;
}
