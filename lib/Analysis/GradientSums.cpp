//===- GradientSums.cpp - Sums over rows beside gradients of attention ----===//
//
// See GradientSums.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Analysis/GradientSums.h"

#include "tenon/Analysis/ReductionTree.h"
#include "tenon/Analysis/Shapes.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tenon;

std::optional<GradientSum> GradientSum::of(Value value) {
  auto reduce = value ? value.getDefiningOp<stablehlo::ReduceOp>() : nullptr;
  if (!reduce || reduce.getNumResults() != 1 || !elementOf(value).isF32() ||
      reduce.getDimensions() != ArrayRef<int64_t>{1} ||
      !isa_and_nonnull<stablehlo::AddOp>(
          commutativeOperation(reduce.getBody())) ||
      !matchPattern(reduce.getInitValues().front(), m_AnyZeroFloat()))
    return std::nullopt;
  auto blocks =
      reduce.getInputs().front().getDefiningOp<stablehlo::ReshapeOp>();
  if (!blocks || shapeOf(blocks.getResult()).size() != 3 ||
      shapeOf(blocks.getResult())[1] != rowsOfGradientSum)
    return std::nullopt;
  Value summed = blocks.getOperand();
  if (auto widened = summed.getDefiningOp<stablehlo::ConvertOp>())
    summed = widened.getOperand();
  return GradientSum{reduce, summed};
}

int64_t GradientSum::columns() const {
  return shapeOf(reduce->getResult(0)).back();
}

step::AttentionGradientOp tenon::gradientsOf(Value value) {
  auto maker = value.getDefiningOp<step::AttentionGradientOp>();
  auto joined = value.getDefiningOp<stablehlo::ConcatenateOp>();
  if (!joined)
    return maker;
  for (Value part : joined.getInputs()) {
    while (auto reshape = part.getDefiningOp<stablehlo::ReshapeOp>())
      part = reshape.getOperand();
    auto gradient = part.getDefiningOp<step::AttentionGradientOp>();
    if (!gradient || (maker && maker != gradient))
      return nullptr;
    maker = gradient;
  }
  return maker;
}

step::AttentionGradientOp tenon::summedGradients(Value result) {
  auto sum = GradientSum::of(result);
  return sum ? gradientsOf(sum->summed) : nullptr;
}
