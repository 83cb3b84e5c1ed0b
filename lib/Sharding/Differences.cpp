//===- Differences.cpp - What differs between the devices of an axis ------===//
//
// See Differences.h.
//
//===----------------------------------------------------------------------===//

#include "Differences.h"

#include "Lifetimes.h"

#include "tenon/Analysis/Collectives.h"
#include "tenon/Analysis/ElementTypes.h"
#include "tenon/Analysis/Shapes.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"

#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::sharding;

LogicalResult Differences::visit(Block &block) {
  for (Operation &op : block.without_terminator())
    if (failed(visit(&op)))
      return failure();
  return success();
}

bool Differences::reads(Operation *op) const {
  return op
      ->walk([&](Operation *inner) {
        return llvm::any_of(inner->getOperands(),
                            [&](Value v) { return contains(v); })
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

LogicalResult Differences::visit(Operation *op) {
  if (isControl(op))
    return visitControl(op);
  if (exchanges(op))
    return visitCollective(op);
  if (std::vector<int64_t> found = numbersOf(op); !found.empty()) {
    const int64_t stride = fold.devices.stride(fold.axis);
    for (int64_t device = 0; device < fold.devices.devices(); ++device)
      if (found[size_t(device)] !=
          found[size_t(device - fold.coordinate(device) * stride)])
        add(op->getResult(0));
    numbers[op->getResult(0)] = std::move(found);
  } else if (reads(op)) {
    for (Value result : op->getResults())
      add(result);
  }
  return success();
}

std::vector<int64_t> Differences::numbersOf(Operation *op) const {
  auto type = op->getNumResults() == 1
                  ? dyn_cast<RankedTensorType>(op->getResult(0).getType())
                  : RankedTensorType();
  auto integer =
      type ? dyn_cast<IntegerType>(type.getElementType()) : IntegerType();
  if (!integer || type.getRank() != 0 || integer.getWidth() < 32)
    return {};
  std::vector<const std::vector<int64_t> *> operands;
  for (Value operand : op->getOperands()) {
    auto found = numbers.find(operand);
    if (found == numbers.end())
      return {};
    operands.push_back(&found->second);
  }
  std::vector<int64_t> made;
  for (int64_t device = 0; device < fold.devices.devices(); ++device) {
    auto operand = [&](size_t at) { return (*operands[at])[size_t(device)]; };
    // What is no number of this width, or depends on a sign, is not followed.
    int64_t value = -1;
    if (isa<stablehlo::PartitionIdOp>(op))
      value = device;
    else if (auto constant = dyn_cast<stablehlo::ConstantOp>(op))
      value = cast<DenseIntElementsAttr>(constant.getValue())
                  .getSplatValue<APInt>()
                  .trySExtValue()
                  .value_or(-1);
    else if (isa<stablehlo::ConvertOp>(op))
      value = operand(0);
    else if (isa<stablehlo::AddOp>(op))
      value = operand(0) + operand(1);
    else if (isa<stablehlo::SubtractOp>(op))
      value = operand(0) - operand(1);
    else if (isa<stablehlo::MultiplyOp>(op))
      value = operand(0) * operand(1);
    else if (isa<stablehlo::MaximumOp>(op))
      value = std::max(operand(0), operand(1));
    else if (isa<stablehlo::MinimumOp>(op))
      value = std::min(operand(0), operand(1));
    else if (isa<stablehlo::DivideOp>(op) && operand(1) > 0)
      value = operand(0) / operand(1);
    else if (isa<stablehlo::RemainderOp>(op) && operand(1) > 0)
      value = operand(0) % operand(1);
    if (value < 0 || value > std::numeric_limits<int32_t>::max())
      return {};
    made.push_back(value);
  }
  return made;
}

LogicalResult Differences::visitCollective(Operation *op) {
  const Along along = alongOf(op, fold);
  auto refuse = [&](const Twine &why) {
    return op->emitError() << "'" << op->getName() << "' " << why
                           << ", which logical shards of the axis '"
                           << fold.name() << "' have no form for; give "
                           << "layouts that cut no tensor so";
  };
  if (along == Along::both)
    return refuse(isa<stablehlo::CollectivePermuteOp>(op)
                      ? "sends along the axis"
                      : "exchanges along a part of the axis, or "
                        "along another axis as well");
  if (along == Along::others) {
    if (reads(op))
      add(op->getResult(0));
    return success();
  }
  std::string whyNot;
  auto described = describeCollective(op, whyNot);
  if (!described)
    return op->emitError() << "'" << op->getName()
                           << "' is not carried out: " << whyNot;
  auto exchange = dyn_cast<stablehlo::AllToAllOp>(op);
  if (exchange && exchange.getSplitDimension() != 0)
    return refuse("exchanges parts of a dimension behind the first");
  if (isa<stablehlo::ReduceScatterOp, stablehlo::AllToAllOp>(op))
    add(op->getResult(0));
  return success();
}

LogicalResult Differences::visitControl(Operation *op) {
  auto decides = [&](Value value) -> LogicalResult {
    if (!contains(value))
      return success();
    return op->emitError() << "'" << op->getName()
                           << "' decides by a value that differs between "
                              "the logical shards of the axis '"
                           << fold.name() << "'";
  };
  auto loop = dyn_cast<stablehlo::WhileOp>(op);
  if (!loop && failed(decides(op->getOperand(0))))
    return failure();
  for (size_t before = ~size_t(0); before != differing.size();) {
    before = differing.size();
    for (Region &region : op->getRegions()) {
      if (failed(visit(region.front())))
        return failure();
      ValueRange left = region.front().getTerminator()->getOperands();
      if (loop && &region == &loop.getCond()) {
        if (failed(decides(left.front())))
          return failure();
        continue;
      }
      for (auto [at, value] : llvm::enumerate(left))
        if (contains(value) || (loop && contains(op->getOperand(at)))) {
          add(op->getResult(at));
          if (!loop)
            continue;
          add(loop.getCond().getArgument(at));
          add(loop.getBody().getArgument(at));
        }
    }
  }
  return success();
}
