//===- Control.cpp - Loops and conditionals -------------------------------===//
//
// while, case, if, map: regions that see the values around them.
//
//===----------------------------------------------------------------------===//

#include "Evaluators.h"

#include "tenon/Dialect/StableHLO/StableHLO.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::reference;

namespace {

LogicalResult evaluateWhile(Operation *op, Interpreter &interpreter,
                            ArrayRef<Tensor> operands, Tensors &results) {
  auto loop = cast<stablehlo::WhileOp>(op);
  Tensors carried(operands.begin(), operands.end());
  while (true) {
    auto condition = interpreter.evaluate(loop.getCond(), carried);
    if (failed(condition))
      return failure();
    if (condition->front().elements.front().integer == 0)
      break;
    auto body = interpreter.evaluate(loop.getBody(), carried);
    if (failed(body))
      return failure();
    carried = std::move(*body);
  }
  results = std::move(carried);
  return success();
}

/// The function of elements at every index.
LogicalResult evaluateMap(Operation *op, Interpreter &interpreter,
                          ArrayRef<Tensor> operands, Tensors &results) {
  Region &region = cast<stablehlo::MapOp>(op).getComputation();
  Tensor result(resultType(op));
  for (int64_t i = 0; i < result.size(); ++i) {
    Tensors scalars;
    for (const Tensor &operand : operands) {
      Tensor scalar(RankedTensorType::get({}, operand.elementType()));
      scalar.elements.front() = operand.elements[i];
      scalars.push_back(std::move(scalar));
    }
    auto value = interpreter.evaluate(region, scalars);
    if (failed(value))
      return failure();
    result.elements[i] = value->front().elements.front();
  }
  results.push_back(std::move(result));
  return success();
}

LogicalResult evaluateBranch(Interpreter &interpreter, Region &region,
                             Tensors &results) {
  auto values = interpreter.evaluate(region, {});
  if (failed(values))
    return failure();
  results = std::move(*values);
  return success();
}

LogicalResult evaluateCase(Operation *op, Interpreter &interpreter,
                           ArrayRef<Tensor> operands, Tensors &results) {
  int64_t index = operands[0].elements.front().integer;
  int64_t branches = op->getNumRegions();
  if (index < 0 || index >= branches)
    index = branches - 1;
  return evaluateBranch(interpreter, op->getRegion(index), results);
}

LogicalResult evaluateIf(Operation *op, Interpreter &interpreter,
                         ArrayRef<Tensor> operands, Tensors &results) {
  bool holds = operands[0].elements.front().integer != 0;
  return evaluateBranch(interpreter, op->getRegion(holds ? 0 : 1), results);
}

} // namespace

ArrayRef<Evaluator> reference::controlEvaluators() {
  static const Evaluator table[] = {
      {"stablehlo.case", evaluateCase},
      {"stablehlo.if", evaluateIf},
      {"stablehlo.map", evaluateMap},
      {"stablehlo.while", evaluateWhile},
  };
  return table;
}
