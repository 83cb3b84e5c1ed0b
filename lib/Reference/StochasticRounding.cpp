//===- StochasticRounding.cpp - step.stochastic_round ---------------------===//
//
// The numbers of Dialect/Step/StochasticRounding.h, an element at a time.
//
//===----------------------------------------------------------------------===//

#include "Evaluators.h"

#include "tenon/Dialect/Step/StochasticRounding.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::reference;

namespace {

LogicalResult evaluateStochasticRound(Operation *op, Interpreter &,
                                      ArrayRef<Tensor> operands,
                                      Tensors &results) {
  const Tensor &value = operands[0], &step = operands[1], &key = operands[2];
  auto word = [](const Tensor &tensor, int64_t index) {
    return uint32_t(tensor.elements[index].integer);
  };
  step::RoundingWords words =
      step::roundingWords({word(key, 0), word(key, 1)}, word(step, 0));
  Tensor result(resultType(op));
  for (int64_t i = 0; i < result.size(); ++i) {
    auto bits = uint32_t(bitsOf(value.elements[i], value.elementType()));
    uint32_t index = operands.size() > 3 ? word(operands[3], i) : uint32_t(i);
    result.elements[i] = fromBits(
        step::roundStochastically(bits, step::roundingBits(words, index)),
        result.elementType());
  }
  results.push_back(std::move(result));
  return success();
}

} // namespace

ArrayRef<Evaluator> reference::stochasticRoundingEvaluators() {
  static const Evaluator table[] = {
      {"step.stochastic_round", evaluateStochasticRound},
  };
  return table;
}
