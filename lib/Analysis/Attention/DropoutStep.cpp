//===- DropoutStep.cpp - One operation of dropout -------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//

#include "DropoutStep.h"

#include "tenon/Analysis/Shapes.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::attention;

namespace hlo = tenon::stablehlo;

/// The booleans that a tensor of numbers is, true being 1.
static Value booleansOf(Value numbers) {
  auto convert = numbers.getDefiningOp<hlo::ConvertOp>();
  return convert && elementOf(convert.getOperand()).isInteger(1)
             ? convert.getOperand()
             : Value();
}

/// The booleans, and the number that is there where they are true, of a tensor
/// that is zero elsewhere.
static std::optional<DropoutStep> scaledBooleans(LabelledTensor tensor) {
  DropoutStep step;
  while (true) {
    tensor = beforeBroadcasts(tensor);
    if (Value booleans = booleansOf(tensor.value)) {
      step.kept = beforeBroadcasts({booleans, tensor.labels});
      return step;
    }
    Operation *op = tensor.value.getDefiningOp();
    if (auto select = dyn_cast_or_null<hlo::SelectOp>(op)) {
      auto scale = repeatedNumber(select.getOnTrue());
      if (!scale || !repeats(select.getOnFalse(), 0))
        return std::nullopt;
      step.scale *= *scale;
      step.kept = beforeBroadcasts({select.getPred(), tensor.labels});
      return step;
    }
    if (auto reshape = dyn_cast_or_null<hlo::ReshapeOp>(op)) {
      auto labels = acrossUnits(shapeOf(tensor.value), tensor.labels,
                                shapeOf(reshape.getOperand()));
      if (!labels)
        return std::nullopt;
      tensor = {reshape.getOperand(), *labels};
      continue;
    }
    auto scaled = scaling(op);
    if (!scaled)
      return std::nullopt;
    step.scale *= scaled->second;
    tensor.value = scaled->first;
  }
}

std::optional<DropoutStep> attention::dropoutStep(Operation *op,
                                                  ArrayRef<int64_t> labels) {
  if (auto scaled = scaling(op))
    return DropoutStep{scaled->first, scaled->second, {}};
  if (auto select = dyn_cast_or_null<hlo::SelectOp>(op)) {
    if (!repeats(select.getOnFalse(), 0) ||
        shapeOf(select.getPred()).size() != labels.size())
      return std::nullopt;
    return DropoutStep{select.getOnTrue(), 1,
                       beforeBroadcasts({select.getPred(), Labels(labels)})};
  }
  if (isa_and_nonnull<hlo::MultiplyOp>(op))
    for (unsigned side : {0, 1})
      if (auto step = scaledBooleans({op->getOperand(side), Labels(labels)})) {
        step->operand = op->getOperand(1 - side);
        return step;
      }
  return std::nullopt;
}
