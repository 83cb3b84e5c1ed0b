//===- TouchedElements.cpp - How much of its operands a kernel works on ---===//
//
// See TouchedElements.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Analysis/TouchedElements.h"

#include "tenon/Analysis/Shapes.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"

#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace tenon;

/// `isInPlace` is asked of a result that replaces a part of an operand.
static int64_t
countTouched(ArrayRef<Operation *> operations, ArrayRef<Value> results,
             llvm::function_ref<bool(size_t result, Value operand)> isInPlace) {
  llvm::SmallPtrSet<Operation *, 32> inside(operations.begin(),
                                            operations.end());
  auto isRead = [&](Value value) {
    return !inside.contains(value.getDefiningOp());
  };
  llvm::SmallPtrSet<Operation *, 4> updates;
  int64_t elements = 1;
  auto touch = [&](Value value) {
    elements = std::max(elements, elementCount(shapeOf(value)));
  };
  for (auto [index, result] : llvm::enumerate(results)) {
    Operation *op = result.getDefiningOp();
    if (isa_and_nonnull<stablehlo::DynamicUpdateSliceOp, stablehlo::ScatterOp>(
            op) &&
        isRead(op->getOperand(0)) && isInPlace(index, op->getOperand(0)))
      updates.insert(op);
    else
      touch(result);
  }
  for (Operation *op : operations)
    for (OpOperand &operand : op->getOpOperands()) {
      bool some = operand.getOperandNumber() == 0 &&
                  (isa<stablehlo::SliceOp, stablehlo::DynamicSliceOp,
                       stablehlo::GatherOp>(op) ||
                   updates.contains(op));
      if (!some && isRead(operand.get()))
        touch(operand.get());
    }
  return elements;
}

int64_t tenon::touchedElements(ArrayRef<Operation *> operations,
                               ArrayRef<Value> results) {
  return countTouched(operations, results, [](size_t, Value) { return true; });
}

int64_t tenon::touchedElements(step::GroupOp group, ArrayRef<int64_t> inPlace) {
  SmallVector<Operation *> operations;
  for (Operation &op : group.bodyOperations())
    operations.push_back(&op);
  Block &body = group.getBody().front();
  return countTouched(operations,
                      SmallVector<Value>(body.getTerminator()->getOperands()),
                      [&](size_t result, Value operand) {
                        return inPlace[result] >= 0 &&
                               operand == body.getArgument(inPlace[result]);
                      });
}
