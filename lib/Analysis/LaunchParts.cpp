//===- LaunchParts.cpp - Into how many parts a kernel is worth cutting ----===//
//
// See LaunchParts.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Analysis/LaunchParts.h"

#include "tenon/Dialect/StableHLO/StableHLO.h"

#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace tenon;

namespace {
/// Launches of fewer elements are not worth a second thread.
constexpr int64_t elementsPerPart = 4096;
constexpr int64_t maximalParts = 64;

int64_t partsFor(int64_t elements) {
  return std::clamp<int64_t>(elements / elementsPerPart, 1, maximalParts);
}
} // namespace

/// Whether a group only picks elements of its operand `input` or, if it
/// overwrites it, only replaces some: its work is not that of the whole.
static bool touchesSome(step::GroupOp group, size_t input, bool overwrites) {
  BlockArgument argument = group.getBody().getArgument(input);
  return llvm::all_of(argument.getUses(), [&](OpOperand &use) {
    if (use.getOperandNumber() != 0)
      return false;
    Operation *user = use.getOwner();
    return isa<stablehlo::SliceOp, stablehlo::DynamicSliceOp,
               stablehlo::GatherOp>(user) ||
           (overwrites &&
            isa<stablehlo::DynamicUpdateSliceOp, stablehlo::ScatterOp>(user));
  });
}

int64_t tenon::launchParts(step::GroupOp group, ArrayRef<int64_t> inPlace) {
  int64_t elements = 1;
  auto touch = [&](Value value) {
    elements = std::max(
        elements, cast<RankedTensorType>(value.getType()).getNumElements());
  };
  SmallVector<bool> replacesSome(group.getNumOperands());
  for (auto [index, operand] : llvm::enumerate(group.getInputs())) {
    bool overwrites = llvm::is_contained(inPlace, int64_t(index));
    bool some = touchesSome(group, index, overwrites);
    replacesSome[index] = some && overwrites;
    if (!some)
      touch(operand);
  }
  for (auto [output, overwritten] :
       llvm::zip_equal(group.getOutputs(), inPlace))
    if (overwritten < 0 || !replacesSome[overwritten])
      touch(output);
  return partsFor(elements);
}

int64_t tenon::launchParts(ArrayRef<Operation *> operations,
                           ArrayRef<Value> results) {
  llvm::SmallPtrSet<Operation *, 32> inside(operations.begin(),
                                            operations.end());
  auto isRead = [&](Value value) {
    return !inside.contains(value.getDefiningOp());
  };
  auto replacedBy = [&](Operation *op) {
    return isa_and_nonnull<stablehlo::DynamicUpdateSliceOp,
                           stablehlo::ScatterOp>(op) &&
                   isRead(op->getOperand(0))
               ? op->getOperand(0)
               : Value();
  };
  llvm::SmallPtrSet<Operation *, 4> updates;
  int64_t elements = 1;
  auto touch = [&](Value value) {
    elements = std::max(
        elements, cast<RankedTensorType>(value.getType()).getNumElements());
  };
  for (Value result : results)
    if (replacedBy(result.getDefiningOp()))
      updates.insert(result.getDefiningOp());
    else
      touch(result);
  for (Operation *op : operations)
    for (OpOperand &operand : op->getOpOperands()) {
      bool some = operand.getOperandNumber() == 0 &&
                  (isa<stablehlo::SliceOp, stablehlo::DynamicSliceOp,
                       stablehlo::GatherOp>(op) ||
                   updates.contains(op));
      if (!some && isRead(operand.get()))
        touch(operand.get());
    }
  return partsFor(elements);
}

int64_t tenon::launchParts(step::GroupOp group) {
  SmallVector<Operation *> operations;
  for (Operation &op : group.bodyOperations())
    operations.push_back(&op);
  return launchParts(
      operations, SmallVector<Value>(
                      group.getBody().front().getTerminator()->getOperands()));
}
