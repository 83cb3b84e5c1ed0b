//===- Calls.cpp - Functions and expectations -----------------------------===//
//
// Calls of functions of the module, composites, which mean their decomposition,
// and what a program expects of its values.
//
//===----------------------------------------------------------------------===//

#include "Evaluators.h"

#include "tenon/Dialect/Check/Check.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Reference/Compare.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::reference;

namespace {

LogicalResult callFunction(Operation *op, FlatSymbolRefAttr name,
                           Interpreter &interpreter, ArrayRef<Tensor> operands,
                           Tensors &results) {
  auto function = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(op, name);
  if (!function || function.isExternal() || !function.getBody().hasOneBlock())
    return op->emitOpError("calls @")
           << name.getValue() << ", which has no body of one block";
  auto values = interpreter.call(op, function.getBody(), operands);
  if (failed(values))
    return failure();
  results = std::move(*values);
  return success();
}

LogicalResult evaluateCall(Operation *op, Interpreter &interpreter,
                           ArrayRef<Tensor> operands, Tensors &results) {
  return callFunction(op, cast<func::CallOp>(op).getCalleeAttr(), interpreter,
                      operands, results);
}

LogicalResult evaluateComposite(Operation *op, Interpreter &interpreter,
                                ArrayRef<Tensor> operands, Tensors &results) {
  return callFunction(op,
                      cast<stablehlo::CompositeOp>(op).getDecompositionAttr(),
                      interpreter, operands, results);
}

/// A token orders operations, which run in order anyway.
LogicalResult evaluateToken(Operation *, Interpreter &, ArrayRef<Tensor>,
                            Tensors &results) {
  results.emplace_back();
  return success();
}

LogicalResult evaluateExpectation(Operation *op, Interpreter &interpreter,
                                  ArrayRef<Tensor> operands, Tensors &) {
  auto expectation = check::expectationOf(op);
  if (!expectation)
    return op->emitOpError("is no expectation the interpreter knows");
  std::optional<Tensor> constant;
  if (expectation->constant &&
      !(constant = fromAttribute(expectation->constant)))
    return op->emitOpError("holds values the interpreter cannot read");
  auto difference =
      firstDifference(operands[0], constant ? *constant : operands[1],
                      toleranceOf(*expectation));
  if (!difference)
    return success();
  interpreter.noteDisagreement();
  return op->emitError() << *difference;
}

LogicalResult evaluateCustomCall(Operation *op, Interpreter &interpreter,
                                 ArrayRef<Tensor> operands, Tensors &results) {
  auto call = cast<stablehlo::CustomCallOp>(op);
  if (check::expectationOf(op))
    return evaluateExpectation(op, interpreter, operands, results);
  if (call.getCallTargetName() == "Sharding") {
    llvm::append_range(results, operands);
    return success();
  }
  if (isLapackCall(op))
    return evaluateLapackCall(op, interpreter, operands, results);
  return interpreter.unsupported(op);
}

} // namespace

Tolerance reference::toleranceOf(const check::Expectation &expectation) {
  Tolerance tolerance;
  switch (expectation.closeness) {
  case check::Closeness::equal:
    break;
  case check::Closeness::almostEqual:
    tolerance.kind = Tolerance::absolute;
    tolerance.largestDifference = expectation.tolerance;
    break;
  case check::Closeness::close:
    tolerance.kind = Tolerance::units;
    tolerance.maxUnits = expectation.maxUnits;
    tolerance.minUnits = expectation.minUnits;
    break;
  }
  return tolerance;
}

ArrayRef<Evaluator> reference::callEvaluators() {
  static const Evaluator table[] = {
      {"check.expect_almost_eq", evaluateExpectation},
      {"check.expect_almost_eq_const", evaluateExpectation},
      {"check.expect_close", evaluateExpectation},
      {"check.expect_close_const", evaluateExpectation},
      {"check.expect_eq", evaluateExpectation},
      {"check.expect_eq_const", evaluateExpectation},
      {"func.call", evaluateCall},
      {"stablehlo.after_all", evaluateToken},
      {"stablehlo.composite", evaluateComposite},
      {"stablehlo.create_token", evaluateToken},
      {"stablehlo.custom_call", evaluateCustomCall},
  };
  return table;
}
