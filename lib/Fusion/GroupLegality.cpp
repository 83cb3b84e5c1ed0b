//===- GroupLegality.cpp - What one group may hold -----------------------===//
//
// The rules behind kindOf(): a walk over the operations for each kind.
//
//===----------------------------------------------------------------------===//

#include "tenon/Fusion/GroupLegality.h"

#include "tenon/Analysis/InPlace.h"
#include "tenon/Analysis/Shapes.h"
#include "tenon/Analysis/SummingKernel.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::fusion;

namespace {

/// A kernel and what is asked of it.
class Candidate {
public:
  Candidate(const KernelDescription &kernel, std::string *whyNot)
      : kernel(kernel), operations(kernel.operations()),
        results(kernel.results()), whyNot(whyNot) {}

  std::optional<step::GroupKind> run();

private:
  std::nullopt_t decline(const Twine &reason) {
    if (whyNot)
      *whyNot = reason.str();
    return std::nullopt;
  }

  bool inside(Value value) const {
    return llvm::is_contained(operations, value.getDefiningOp());
  }
  bool followsReduction(Value value) const { return kernel.level(value) > 0; }

  std::optional<step::GroupKind> elementwise();
  std::optional<step::GroupKind> row(ArrayRef<int64_t> space, int64_t rows);
  std::optional<step::GroupKind> column(ArrayRef<int64_t> space,
                                        int64_t reducedDims);
  bool isRowBroadcast(stablehlo::BroadcastInDimOp op, ArrayRef<int64_t> space,
                      int64_t rows) const;
  bool isRowShape(ArrayRef<int64_t> shape, ArrayRef<int64_t> space,
                  int64_t rows) const;

  const KernelDescription &kernel;
  ArrayRef<Operation *> operations;
  ArrayRef<Value> results;
  std::string *whyNot;
};

/// Whether `shape` is the rows' shape, seen with any dimensions of extent 1.
bool Candidate::isRowShape(ArrayRef<int64_t> shape, ArrayRef<int64_t> space,
                           int64_t rows) const {
  return withoutUnits(shape) == withoutUnits(space.take_front(rows));
}

/// Whether a broadcast repeats a value per row along the columns, keeping the
/// row's index: [R...] or [R..., 1...] to the space.
bool Candidate::isRowBroadcast(stablehlo::BroadcastInDimOp op,
                               ArrayRef<int64_t> space, int64_t rows) const {
  ArrayRef<int64_t> from = shapeOf(op.getOperand());
  ArrayRef<int64_t> to = shapeOf(op.getResult());
  ArrayRef<int64_t> dims = op.getBroadcastDimensions();
  if (isRowShape(from, space, rows) && isRowShape(to, space, rows))
    return true; // adds dimensions of extent 1 only
  if (to != space || !isRowShape(from, space, rows))
    return false;
  for (auto [index, extent] : llvm::enumerate(from))
    if (extent != 1 && (dims[index] >= rows || to[dims[index]] != extent))
      return false;
  return true;
}

std::optional<step::GroupKind> Candidate::elementwise() {
  if (results.empty())
    return decline("no result");
  if (!kernel.havePoints())
    return decline("results of different shapes");
  // What is copied to its readers cannot be taken away from them again.
  auto isAlone = [&] {
    return llvm::count_if(operations, [](Operation *op) {
             return !isFreeToClone(op);
           }) <= 1;
  };
  for (Operation *op : operations) {
    OperationClass operationClass = classify(op);
    if (auto update = dyn_cast<stablehlo::DynamicUpdateSliceOp>(op)) {
      // In place: what is replaced is nothing that the kernel computes, or
      // reads elsewhere.
      if (inside(update.getOperand()) || !isReadOnlyWhereUpdated(update) ||
          !op->hasOneUse() ||
          !(*op->user_begin())->hasTrait<OpTrait::IsTerminator>())
        return decline("an update of what is computed or read beside it");
      continue;
    }
    if (operationClass == OperationClass::view) {
      // Inside one kernel a reshape is index arithmetic; only dimensions of
      // extent 1 make it free.
      if (!differInUnitsAlone(op->getOperand(0), op->getResult(0)))
        return decline("a reshape between two shapes");
      continue;
    }
    if (operationClass != OperationClass::indexMap)
      continue;
    for (Value operand : op->getOperands()) {
      if (!inside(operand) || isFreeToClone(operand.getDefiningOp()))
        continue;
      int64_t read = elementCount(shapeOf(op->getResult(0)));
      int64_t computed = elementCount(shapeOf(operand));
      if (isa<stablehlo::GatherOp, stablehlo::DynamicSliceOp>(op))
        return decline("a gather of computed values");
      if (read > computed && computed > 1 &&
          !isa<stablehlo::PadOp, stablehlo::ConcatenateOp>(op))
        return decline("computed values would be recomputed for each reader");
    }
    if (auto transpose = dyn_cast<stablehlo::TransposeOp>(op)) {
      auto permutation = transpose.getPermutation();
      if (permutation.back() != int64_t(permutation.size()) - 1 && !isAlone())
        return decline("a transpose of the innermost dimension");
    }
  }
  return step::GroupKind::elementwise;
}

std::optional<step::GroupKind> Candidate::row(ArrayRef<int64_t> space,
                                              int64_t rows) {
  for (Operation *op : operations) {
    OperationClass operationClass = classify(op);
    if (kernel.reduces(op))
      continue;
    ArrayRef<int64_t> shape = shapeOf(op->getResult(0));
    if (!followsReduction(op->getResult(0))) {
      // Independent of the reductions: anything an element-wise group may hold,
      // but nothing that would be computed again for every row.
      bool perRow = shape == space || isRowShape(shape, space, rows);
      if (!perRow && !isFreeToClone(op))
        return decline("a value that is neither per element nor per row");
      if (operationClass == OperationClass::indexMap && !isFreeToClone(op))
        return decline("an index map inside a row kernel");
      if (operationClass == OperationClass::view)
        if (withoutUnits(shapeOf(op->getOperand(0))) != withoutUnits(shape))
          return decline("a reshape between two shapes");
      continue;
    }
    if (operationClass == OperationClass::pointwise) {
      if (shape != space && !isRowShape(shape, space, rows))
        return decline("a value that is neither per element nor per row");
      continue;
    }
    if (operationClass == OperationClass::view &&
        isRowShape(shape, space, rows) &&
        isRowShape(shapeOf(op->getOperand(0)), space, rows))
      continue;
    if (auto broadcast = dyn_cast<stablehlo::BroadcastInDimOp>(op))
      if (isRowBroadcast(broadcast, space, rows))
        continue;
    return decline("a reduction's value is needed at another row");
  }
  for (Value result : results)
    if (shapeOf(result) != space && !isRowShape(shapeOf(result), space, rows))
      return decline("a result that is neither per element nor per row");
  return step::GroupKind::row;
}

std::optional<step::GroupKind> Candidate::column(ArrayRef<int64_t> space,
                                                 int64_t reducedDims) {
  ArrayRef<int64_t> kept = space.drop_front(reducedDims);
  for (Operation *op : operations) {
    OperationClass operationClass = classify(op);
    if (kernel.reduces(op)) {
      if (kernel.level(op->getResult(0)) > 1)
        return decline("a reduction over columns feeds another");
      continue;
    }
    ArrayRef<int64_t> shape = shapeOf(op->getResult(0));
    if (!followsReduction(op->getResult(0))) {
      bool fits = shape == space || withoutUnits(shape) == withoutUnits(kept);
      if (!fits && !isFreeToClone(op))
        return decline("a value that is neither per element nor per column");
      if (operationClass == OperationClass::indexMap && !isFreeToClone(op))
        return decline("an index map inside a column kernel");
      if (operationClass == OperationClass::view)
        if (withoutUnits(shapeOf(op->getOperand(0))) != withoutUnits(shape))
          return decline("a reshape between two shapes");
      continue;
    }
    if (withoutUnits(shape) != withoutUnits(kept) ||
        (operationClass != OperationClass::pointwise &&
         operationClass != OperationClass::view))
      return decline("a column's sum is needed at another index");
  }
  for (Value result : results)
    if (!followsReduction(result) ||
        withoutUnits(shapeOf(result)) != withoutUnits(kept))
      return decline("a result that is not a value per column");
  return step::GroupKind::column;
}

std::optional<step::GroupKind> Candidate::run() {
  if (kernel.reductions().empty())
    return elementwise();
  std::optional<ReducedDimensions> dimensions;
  ArrayRef<int64_t> space;
  for (stablehlo::ReduceOp reduce : kernel.reductions()) {
    auto current = reducedDimensions(reduce);
    if (!current)
      return decline("a reduction over mixed dimensions");
    ArrayRef<int64_t> shape = shapeOf(reduce.getInputs().front());
    if (dimensions && (*current != *dimensions || shape != space))
      return decline("reductions over different dimensions");
    dimensions = current;
    space = shape;
  }
  return dimensions->trailing ? row(space, dimensions->leading)
                              : column(space, dimensions->leading);
}

/// What is computed beside the sums, each of them of a value per element.
bool maySum(const SummingKernel &summing, std::string *whyNot) {
  auto decline = [&](const char *reason) {
    if (whyNot)
      *whyNot = reason;
    return false;
  };
  if (!Candidate(summing.inner, whyNot).run())
    return false;
  ArrayRef<int64_t> space =
      shapeOf(stablehlo::ReduceOp(summing.sums.front()).getInputs().front());
  for (stablehlo::ReduceOp sum : summing.sums)
    if (shapeOf(sum.getInputs().front()) != space)
      return decline("sums over different dimensions");
  for (Operation *op : summing.inner.operations())
    if (classify(op) == OperationClass::indexMap && !isFreeToClone(op) &&
        !summing.isInRows())
      return decline("an index map in front of a sum");
  return true;
}

} // namespace

std::optional<step::GroupKind> fusion::kindOf(const KernelDescription &kernel,
                                              std::string *whyNot, Sums sums) {
  if (sums == Sums::beside)
    if (auto summing = SummingKernel::of(kernel))
      return maySum(*summing, whyNot) ? std::optional(step::GroupKind::generic)
                                      : std::nullopt;
  return Candidate(kernel, whyNot).run();
}
