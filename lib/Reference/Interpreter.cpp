//===- Interpreter.cpp - The slow, obvious truth
//---------------------------===//
//
// Walks blocks and looks operations up in the tables of this folder.
//
//===----------------------------------------------------------------------===//

#include "tenon/Reference/Interpreter.h"

#include "Evaluators.h"

#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::reference;

Evaluate reference::evaluatorFor(StringRef operation) {
  static const llvm::StringMap<Evaluate> table = [] {
    llvm::StringMap<Evaluate> all;
    for (ArrayRef<Evaluator> part :
         {elementwiseEvaluators(), shapeEvaluators(), indexingEvaluators(),
          reductionEvaluators(), contractionEvaluators(), controlEvaluators(),
          randomEvaluators()})
      for (const Evaluator &entry : part)
        all[entry.operation] = entry.evaluate;
    return all;
  }();
  return table.lookup(operation);
}

Element Interpreter::roundTo(Element value, Type type) const {
  if (accumulating && (type.isF16() || type.isBF16())) {
    value.real = float(value.real);
    return value;
  }
  return round(value, type);
}

LogicalResult Interpreter::evaluate(Operation &op) {
  if (++evaluated > limits.operations)
    return op.emitError() << "interpretation exceeds its limit of "
                          << limits.operations << " operations";
  Evaluate evaluate = evaluatorFor(op.getName().getStringRef());
  if (!evaluate)
    return op.emitOpError("is not supported by the reference interpreter");
  Tensors operands, results;
  for (Value operand : op.getOperands())
    operands.push_back(values.lookup(operand));
  if (failed(evaluate(&op, *this, operands, results)))
    return failure();
  for (auto [value, tensor] : llvm::zip_equal(op.getResults(), results))
    values[value] = std::move(tensor);
  return success();
}

FailureOr<Tensors> Interpreter::evaluate(Region &region,
                                         ArrayRef<Tensor> arguments) {
  Block &block = region.front();
  for (auto [value, tensor] : llvm::zip_equal(block.getArguments(), arguments))
    values[value] = tensor;
  for (Operation &op : block.without_terminator())
    if (failed(evaluate(op)))
      return failure();
  Tensors results;
  for (Value operand : block.getTerminator()->getOperands())
    results.push_back(values.lookup(operand));
  return results;
}

FailureOr<SmallVector<Element>>
Interpreter::reduce(Region &region, ArrayRef<Element> arguments) {
  Block &block = region.front();
  Tensors scalars;
  for (auto [argument, element] :
       llvm::zip_equal(block.getArguments(), arguments)) {
    Tensor scalar(cast<RankedTensorType>(argument.getType()));
    scalar.elements.front() = element;
    scalars.push_back(std::move(scalar));
  }
  bool outer = std::exchange(accumulating, true);
  FailureOr<Tensors> results = evaluate(region, scalars);
  accumulating = outer;
  if (failed(results))
    return failure();
  SmallVector<Element> elements;
  for (const Tensor &result : *results)
    elements.push_back(result.elements.front());
  return elements;
}

FailureOr<Tensors> Interpreter::run(func::FuncOp function,
                                    ArrayRef<Tensor> arguments) {
  if (arguments.size() != function.getNumArguments())
    return function.emitError() << "takes " << function.getNumArguments()
                                << " arguments, given " << arguments.size();
  int64_t elements = 0;
  WalkResult fits = function.walk([&](Operation *op) {
    for (Type type : op->getResultTypes())
      if (auto tensor = dyn_cast<RankedTensorType>(type))
        if ((elements += tensor.getNumElements()) > limits.elements)
          return WalkResult(op->emitError()
                            << "interpretation exceeds its limit of "
                            << limits.elements << " elements");
    return WalkResult::advance();
  });
  if (fits.wasInterrupted())
    return failure();
  return evaluate(function.getBody(), arguments);
}
