//===- RowPlan.cpp - What a row kernel does in which pass -----------------===//
//
// See RowPlan.h.
//
//===----------------------------------------------------------------------===//

#include "RowPlan.h"

#include "KernelBuilder.h"

#include "tenon/Analysis/OperationClass.h"

using namespace mlir;

namespace tenon::codegen {

namespace {

class Planner {
public:
  explicit Planner(const KernelSource &source) : source(source) {}

  std::optional<RowPlan> run() {
    std::optional<ReductionSpace> space;
    for (Operation &op : source.operations()) {
      if (!reducesSomething(&op)) {
        if (!isPointOperation(&op))
          return std::nullopt;
        continue;
      }
      ReductionSpace own(cast<stablehlo::ReduceOp>(op));
      if (space && !(*space == own))
        return std::nullopt;
      space = own;
    }
    if (!space || !space->reducesLast())
      return std::nullopt;
    plan.emplace(RowPlan{*space});
    for (Operation &op : source.operations())
      if (reducesSomething(&op)) {
        unsigned level = depth(op.getResult(0));
        plan->levels = std::max(plan->levels, level);
        plan->reductions.resize(plan->levels);
        plan->reductions[level - 1].push_back(cast<stablehlo::ReduceOp>(op));
      }
    SmallVector<int64_t> keptShape = space->kept();
    for (auto [i, result] : llvm::enumerate(source.results())) {
      SmallVector<int64_t> shape = withoutUnits(shapeOf(result));
      bool isFull = ArrayRef(shape) == ArrayRef(space->extents);
      if (!isFull && ArrayRef(shape) != ArrayRef(keptShape))
        return std::nullopt;
      plan->isFull.push_back(isFull);
      plan->passOfResult.push_back(depth(result));
    }
    // The need for scratch memory is asked for before anybody knows what will
    // be overwritten, so it must not depend on that.
    keepExpensiveValues();
    for (auto [i, pass] : llvm::enumerate(plan->passOfResult))
      if (source.inPlace[i] >= 0)
        pass = plan->levels;
    return plan;
  }

private:
  /// How many levels of reductions a value needs.
  unsigned depth(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op)
      return 0;
    if (auto found = depths.find(op); found != depths.end())
      return found->second;
    unsigned deepest = 0;
    for (Value operand : op->getOperands())
      deepest = std::max(deepest, depth(operand));
    return depths[op] = deepest + reducesSomething(op);
  }

  void visit(Value value, unsigned pass) {
    Operation *op = value.getDefiningOp();
    if (!op || reducesSomething(op) || !seen.insert(value).second)
      return;
    bool isFull =
        ArrayRef(withoutUnits(shapeOf(value))) == ArrayRef(plan->space.extents);
    if (isFull && isExpensive(op)) {
      lastPass[value] = pass;
      auto [first, isNew] = firstPass.try_emplace(value, pass);
      if (!isNew && first->second < pass) {
        if (llvm::none_of(plan->kept,
                          [&](const KeptValue &k) { return k.value == value; }))
          plan->kept.push_back({value, first->second});
        return;
      }
    }
    for (Value operand : op->getOperands())
      visit(operand, pass);
  }

  void keepExpensiveValues() {
    for (unsigned pass = 0; pass < plan->passes(); ++pass) {
      seen.clear();
      if (pass < plan->levels)
        for (stablehlo::ReduceOp reduce : plan->reductions[pass])
          for (Value input : reduce.getInputs())
            visit(input, pass);
      for (auto [i, result] : llvm::enumerate(source.results()))
        if (plan->isFull[i] && plan->passOfResult[i] == pass)
          visit(result, pass);
    }
    SmallVector<bool> taken(plan->isFull.size(), false);
    for (KeptValue &kept : plan->kept) {
      for (auto [i, result] : llvm::enumerate(source.results()))
        if (kept.result < 0 && plan->isFull[i] && !taken[i] &&
            elementOf(result) == elementOf(kept.value) &&
            depth(result) >= lastPass.lookup(kept.value)) {
          kept.result = i;
          taken[i] = true;
        }
      if (kept.result >= 0)
        continue;
      kept.scratchOffset = plan->scratchPerPart;
      int64_t bytes = elementCount(plan->space.allReduced()) *
                      bytesOf(elementOf(kept.value));
      plan->scratchPerPart += (bytes + 63) / 64 * 64;
    }
  }

  const KernelSource &source;
  std::optional<RowPlan> plan;
  llvm::DenseMap<Operation *, unsigned> depths;
  /// In which passes an expensive value is needed. A result that holds it
  /// meanwhile must not be written before the last.
  llvm::DenseMap<Value, unsigned> firstPass, lastPass;
  llvm::DenseSet<Value> seen;
};

} // namespace

unsigned RowPlan::passes() const {
  unsigned count = levels;
  for (auto [full, pass] : llvm::zip(isFull, passOfResult))
    if (full)
      count = std::max(count, pass + 1);
  return count;
}

std::optional<RowPlan> planRows(const KernelSource &source) {
  return Planner(source).run();
}

} // namespace tenon::codegen
