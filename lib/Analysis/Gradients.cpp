//===- Gradients.cpp - Which values of a step are gradients ---------------===//
//
// See Gradients.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Analysis/Gradients.h"

#include "tenon/Analysis/OperationClass.h"
#include "tenon/Analysis/Shapes.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/Step.h"

#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tenon;

namespace {

/// What depends on the batch.
llvm::DenseSet<Value> followBatch(func::FuncOp step) {
  llvm::DenseSet<Value> dependent;
  for (BlockArgument argument : step.getArguments()) {
    auto role = step.getArgAttrOfType<step::RoleAttr>(argument.getArgNumber(),
                                                      step::roleAttrName);
    if (role && role.getValue() == step::Role::batch)
      dependent.insert(argument);
  }
  for (Operation &op : step.getBody().front()) {
    llvm::SetVector<Value> captured;
    getUsedValuesDefinedAbove(op.getRegions(), captured);
    auto isDependent = [&](Value value) { return dependent.contains(value); };
    if (llvm::any_of(op.getOperands(), isDependent) ||
        llvm::any_of(captured, isDependent))
      dependent.insert(op.result_begin(), op.result_end());
  }
  return dependent;
}

/// The arithmetic on elements that makes a parameter's successor.
class Update {
public:
  Update(Value successor, const llvm::DenseSet<Value> &dependent)
      : successor(successor), dependent(dependent) {
    while (Operation *op = this->successor.getDefiningOp()) {
      if (!isa<stablehlo::TransposeOp, stablehlo::ReshapeOp>(op))
        break;
      this->successor = op->getOperand(0);
    }
    visit(this->successor);
  }

  /// Null if there is none.
  Value gradient() const {
    if (sources.size() == 1)
      return sources.front();
    // In program order, since each of them follows from what is before it.
    SmallVector<Value> sums;
    for (Value value : arithmetic)
      if (value != successor)
        sums.push_back(value);
    llvm::sort(sums, [](Value a, Value b) {
      return a.getDefiningOp()->isBeforeInBlock(b.getDefiningOp());
    });
    for (Value sum : sums)
      if (!sources.empty() && everythingPasses(sum))
        return sum;
    return {};
  }

private:
  bool isPartOfUpdate(Value value) const {
    return dependent.contains(value) && isa<FloatType>(elementOf(value)) &&
           shapeOf(value) == shapeOf(successor);
  }
  static bool isArithmetic(Operation *op) {
    return classify(op) == OperationClass::pointwise ||
           isa<stablehlo::OptimizationBarrierOp>(op);
  }
  /// What a value on the walk follows from.
  static SmallVector<Value> operandsOf(Value value) {
    auto result = cast<OpResult>(value);
    if (isa<stablehlo::OptimizationBarrierOp>(result.getOwner()))
      return {result.getOwner()->getOperand(result.getResultNumber())};
    return SmallVector<Value>(result.getOwner()->getOperands());
  }

  void visit(Value value) {
    if (!isPartOfUpdate(value) || arithmetic.contains(value) ||
        sources.contains(value))
      return;
    Operation *op = value.getDefiningOp();
    if (op && isArithmetic(op)) {
      arithmetic.insert(value);
      for (Value operand : operandsOf(value))
        visit(operand);
    } else if (op && !isa<stablehlo::BroadcastInDimOp>(op) &&
               value != successor) {
      sources.insert(value);
    }
  }

  /// Whether the successor follows from no source but through `sum`.
  bool everythingPasses(Value sum) const {
    llvm::DenseSet<Value> seen = {sum};
    SmallVector<Value> next = {successor};
    while (!next.empty()) {
      Value value = next.pop_back_val();
      if (sources.contains(value))
        return false;
      if (arithmetic.contains(value) && seen.insert(value).second)
        llvm::append_range(next, operandsOf(value));
    }
    return true;
  }

  Value successor;
  const llvm::DenseSet<Value> &dependent;
  llvm::SetVector<Value> arithmetic, sources;
};

} // namespace

SmallVector<ParameterUpdate> tenon::parameterUpdates(func::FuncOp step) {
  SmallVector<ParameterUpdate> updates;
  Operation *end = step.getBody().front().getTerminator();
  for (unsigned number = 0; number < step.getNumArguments(); ++number) {
    auto role =
        step.getArgAttrOfType<step::RoleAttr>(number, step::roleAttrName);
    auto successor =
        step.getArgAttrOfType<IntegerAttr>(number, step::successorAttrName);
    if (role && role.getValue() == step::Role::parameter && successor)
      updates.push_back(
          {number, &end->getOpOperand(unsigned(successor.getInt()))});
  }
  return updates;
}

SmallVector<Gradient> tenon::gradientsOf(func::FuncOp step) {
  SmallVector<Gradient> gradients;
  llvm::DenseSet<Value> dependent = followBatch(step);
  for (auto [parameter, result] : parameterUpdates(step)) {
    Update update(result->get(), dependent);
    if (Value gradient = update.gradient())
      gradients.push_back({parameter, gradient});
  }
  return gradients;
}
