//===- InPlace.cpp - What a kernel may write over what it reads -----------===//
//
// See InPlace.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Analysis/InPlace.h"

#include "tenon/Analysis/OperationClass.h"
#include "tenon/Analysis/Shapes.h"
#include "tenon/Dialect/Step/Step.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace tenon;

/// The same, but for values that were looked at: a value is computed from
/// another one in many ways, each of which comes to its readers.
static bool isReadOnlyWhereWritten(Value value, bool inRows,
                                   llvm::SmallDenseSet<Value, 16> &seen) {
  if (!seen.insert(value).second)
    return true;
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    if (isa<step::YieldOp>(user) || (inRows && isa<stablehlo::ReduceOp>(user)))
      continue;
    // What another result is updated with, seen with or without dimensions of
    // extent 1.
    if (isa<stablehlo::DynamicUpdateSliceOp>(user) &&
        use.getOperandNumber() == 1)
      continue;
    if (auto reshape = dyn_cast<stablehlo::ReshapeOp>(user);
        reshape &&
        differInUnitsAlone(reshape.getOperand(), reshape.getResult())) {
      if (!isReadOnlyWhereWritten(reshape.getResult(), inRows, seen))
        return false;
      continue;
    }
    if (classify(user) != OperationClass::pointwise)
      return false;
    if (shapeOf(user->getResult(0)) != shapeOf(value))
      return false;
    if (!isReadOnlyWhereWritten(user->getResult(0), inRows, seen))
      return false;
  }
  return true;
}

bool tenon::isReadOnlyWhereWritten(Value value, bool inRows) {
  llvm::SmallDenseSet<Value, 16> seen;
  return ::isReadOnlyWhereWritten(value, inRows, seen);
}

/// Whether a slice is the part that an update replaces. Where the part is the
/// whole of a dimension, it starts at 0 wherever it is asked for.
static bool isReplacedBy(stablehlo::DynamicSliceOp slice,
                         stablehlo::DynamicUpdateSliceOp update) {
  ArrayRef<int64_t> part = shapeOf(update.getUpdate());
  if (shapeOf(slice) != part)
    return false;
  for (auto [extent, size, start, place] :
       llvm::zip_equal(shapeOf(update), part, slice.getStartIndices(),
                       update.getStartIndices()))
    if (size != extent && start != place)
      return false;
  return true;
}

bool tenon::isReadOnlyWhereUpdated(stablehlo::DynamicUpdateSliceOp update) {
  return llvm::all_of(update.getOperand().getUses(), [&](OpOperand &use) {
    if (use.getOwner() == update)
      return use.getOperandNumber() == 0;
    auto slice = dyn_cast<stablehlo::DynamicSliceOp>(use.getOwner());
    return slice && use.getOperandNumber() == 0 &&
           isReplacedBy(slice, update) && isReadOnlyWhereWritten(slice);
  });
}
