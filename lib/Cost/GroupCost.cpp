//===- GroupCost.cpp - Seconds and bytes of groups ------------------------===//
//
// See GroupCost.h. The constants are estimates that relate a kernel to the
// rates of a Target; what differs between machines is in the Target.
//
//===----------------------------------------------------------------------===//

#include "tenon/Cost/GroupCost.h"

#include "tenon/Analysis/ElementTypes.h"
#include "tenon/Analysis/OperationClass.h"
#include "tenon/Analysis/OperationCount.h"
#include "tenon/Dialect/Exec/Exec.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/SmallPtrSet.h"

#include <cmath>

using namespace mlir;
using namespace tenon;
using namespace tenon::cost;

namespace {

/// Simple operations that a division or transcendental function takes as long
/// as: a polynomial of a dozen steps and its special cases.
constexpr double expensiveOperation = 16;

/// The share of the multiply-add rate that a library reaches on large calls.
constexpr double libraryEfficiency = 0.9;

/// Obvious loops, one element at a time, against vectors of sixteen.
constexpr double fallbackSlowdown = 16;

/// A group that is smaller than this share of the last-level cache finds its
/// operands there.
constexpr double cachedShare = 0.5;

double elementsOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? double(tensor.getNumElements()) : 0;
}

/// Simple operations that computing the results of `op` takes.
double elementOperations(Operation *op) {
  switch (classify(op)) {
  case OperationClass::view:
  case OperationClass::ungrouped:
    return 0;
  case OperationClass::pointwise:
    return elementsOf(op->getResult(0).getType()) *
           (isExpensive(op) ? expensiveOperation : 1);
  case OperationClass::indexMap:
    return elementsOf(op->getResult(0).getType());
  case OperationClass::reduction:
    return elementsOf(op->getOperand(0).getType());
  case OperationClass::generic:
    break;
  }
  if (contractionFlops(op) > 0)
    return 0;
  double elements = 0;
  for (Type type : op->getOperandTypes())
    elements = std::max(elements, elementsOf(type));
  for (Type type : op->getResultTypes())
    elements = std::max(elements, elementsOf(type));
  return elements;
}

/// Bytes of the group's operands, each counted once, and of its results. Of a
/// table that is only gathered from, or a tensor of which a slice is read or
/// replaced in place, only the touched elements move.
double bytesOf(step::GroupOp group) {
  Block &body = group.getBody().front();
  double bytes = 0;
  llvm::SmallPtrSet<Value, 8> seen;
  for (auto [operand, argument] :
       llvm::zip_equal(group.getInputs(), body.getArguments())) {
    if (!seen.insert(operand).second)
      continue;
    double whole = double(storedBytes(operand.getType()));
    double touched = 0;
    for (OpOperand &use : argument.getUses()) {
      Operation *user = use.getOwner();
      if (use.getOperandNumber() == 0 &&
          isa<stablehlo::GatherOp, stablehlo::DynamicSliceOp,
              stablehlo::SliceOp>(user))
        touched += double(storedBytes(user->getResult(0).getType()));
      else if (use.getOperandNumber() == 0 &&
               isa<stablehlo::DynamicUpdateSliceOp>(user))
        touched += 0;
      else
        touched = whole;
    }
    bytes += std::min(whole, touched);
  }
  for (auto [result, value] : llvm::zip_equal(
           group.getOutputs(), body.getTerminator()->getOperands())) {
    auto update = value.getDefiningOp<stablehlo::DynamicUpdateSliceOp>();
    bytes += double(storedBytes(update ? update->getOperand(1).getType()
                                       : result.getType()));
  }
  return bytes;
}

/// How many cores the group keeps busy.
int64_t busyCores(step::GroupOp group, const target::Target &target) {
  auto library = group->getAttrOfType<DictionaryAttr>(exec::libraryAttrName);
  if (!library)
    return target.cores;
  auto pieces = library.getAs<IntegerAttr>("pieces");
  return pieces ? std::clamp<int64_t>(pieces.getInt(), 1, target.cores)
                : target.cores;
}

/// The type that the contraction of a library group multiplies in.
ElementType multipliedType(step::GroupOp group) {
  for (Operation &op : group.bodyOperations())
    if (contractionFlops(&op) > 0)
      return elementTypeOf(cast<RankedTensorType>(op.getOperand(0).getType())
                               .getElementType())
          .value_or(ElementType::f32);
  return ElementType::f32;
}

} // namespace

Cost cost::costOf(step::GroupOp group, const target::Target &target) {
  Cost cost;
  for (Operation &op : group.bodyOperations()) {
    cost.flops += contractionFlops(&op);
    cost.operations += elementOperations(&op);
  }
  cost.bytes = bytesOf(group);
  int64_t cores = busyCores(group, target);
  const target::Rate &multiplyAdd = target.computeRate(multipliedType(group));
  bool isFallback = group.getKind() == step::GroupKind::generic;
  // One operation per lane where the rate counts a multiplication and an
  // addition.
  double compute =
      cost.flops / (multiplyAdd.of(cores, target.cores) *
                    (isFallback ? 1 : libraryEfficiency)) +
      2 * cost.operations / target.compute.f32.of(cores, target.cores);
  if (isFallback)
    compute *= fallbackSlowdown;
  bool isCached = cost.bytes < cachedShare * double(target.caches.last());
  const target::Rate &bandwidth =
      isCached ? target.memory.cachedCopy : target.memory.copy;
  double memory = cost.bytes / bandwidth.of(cores, target.cores);
  cost.seconds = std::max(compute, memory) + target.overheads.launch +
                 target.overheads.barrier;
  return cost;
}

void cost::annotateTimes(Region &region, const target::Target &target) {
  region.walk([&](step::GroupOp group) {
    group->setAttr(step::nanosecondsAttrName,
                   Builder(group.getContext())
                       .getI64IntegerAttr(
                           std::llround(costOf(group, target).seconds * 1e9)));
  });
}

StepCost cost::predictStep(Region &region, const target::Target &target) {
  // Of several branches the dearest counts, so each figure is a sum of its own.
  auto sum = [&](double Cost::*figure, std::optional<step::GroupKind> kind) {
    return sumOverRuns(region, [&](Operation *op) {
      auto group = dyn_cast<step::GroupOp>(op);
      return group && (!kind || group.getKind() == *kind)
                 ? costOf(group, target).*figure
                 : 0.0;
    });
  };
  auto costOfKind = [&](std::optional<step::GroupKind> kind) {
    return Cost{sum(&Cost::flops, kind), sum(&Cost::operations, kind),
                sum(&Cost::bytes, kind), sum(&Cost::seconds, kind)};
  };
  StepCost step;
  step.total = costOfKind(std::nullopt);
  for (uint32_t i = 0; i <= step::getMaxEnumValForGroupKind(); ++i)
    if (Cost cost = costOfKind(step::GroupKind(i)); cost.seconds > 0)
      step.kinds.push_back({step::GroupKind(i), cost});
  return step;
}
