//===- Interpreter.cpp - The slow, obvious truth --------------------------===//
//
// Walks blocks and looks operations up in the tables of this folder.
//
//===----------------------------------------------------------------------===//

#include "tenon/Reference/Interpreter.h"

#include "Devices.h"
#include "Evaluators.h"
#include "Quantized.h"

#include "tenon/Analysis/FloatArithmetic.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Support/FloatingPointMode.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::reference;

Evaluate reference::evaluatorFor(StringRef operation) {
  static const llvm::StringMap<Evaluate> table = [] {
    llvm::StringMap<Evaluate> all;
    for (ArrayRef<Evaluator> part :
         {elementwiseEvaluators(), functionEvaluators(), shapeEvaluators(),
          indexingEvaluators(), reductionEvaluators(), contractionEvaluators(),
          controlEvaluators(), collectiveEvaluators(), callEvaluators(),
          linearAlgebraEvaluators(), randomEvaluators(), quantizedEvaluators(),
          channelEvaluators(), shardingEvaluators(), attentionEvaluators(),
          stochasticRoundingEvaluators()})
      for (const Evaluator &entry : part)
        all[entry.operation] = entry.evaluate;
    return all;
  }();
  return table.lookup(operation);
}

Element Interpreter::roundTo(Element value, Type type) const {
  if (accumulating && isFloat(type) && widthOf(type) < 32) {
    value.real = float(value.real);
    return value;
  }
  // bf16 is computed in f32, where a result may be flushed that bf16 would
  // round up to its smallest normal number.
  if (type.isBF16())
    value.real = float(value.real);
  return round(value, type);
}

Interpreter::Interpreter(Subnormals subnormals, InterpreterLimits limits,
                         Devices *devices, int64_t process)
    : ofSubnormals(subnormals), bounds(limits), meeting(devices),
      number(process) {
  if (!meeting) {
    alone = std::make_unique<Devices>(1, 1);
    meeting = alone.get();
  }
}

Interpreter::~Interpreter() = default;

LogicalResult Interpreter::exceed(Operation *op, int64_t limit,
                                  StringRef what) {
  reason = Failure::limit;
  return op->emitError() << "interpretation exceeds its limit of " << limit
                         << " " << what;
}

LogicalResult Interpreter::unsupported(Operation *op, const Twine &what) {
  reason = Failure::unsupported;
  auto call = dyn_cast<stablehlo::CustomCallOp>(op);
  InFlightDiagnostic error = op->emitOpError();
  if (call)
    error << "@" << call.getCallTargetName() << " ";
  if (!what.isTriviallyEmpty())
    error << what << " ";
  return error << "is not supported by the reference interpreter";
}

LogicalResult Interpreter::set(Operation *op, Value value, Tensor tensor) {
  Tensor &place = values[value];
  alive += tensor.size() - place.size();
  place = std::move(tensor);
  if (alive > bounds.elements)
    return exceed(op, bounds.elements, "elements");
  return success();
}

/// Elements an operation's results have.
static int64_t resultElements(Operation &op) {
  int64_t elements = 0;
  for (Type type : op.getResultTypes())
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      elements =
          llvm::SaturatingAdd<uint64_t>(elements, tensor.getNumElements());
  return elements;
}

LogicalResult Interpreter::evaluate(Operation &op, ArrayRef<Tensor> operands,
                                    Tensors &results) {
  Evaluate evaluate = evaluatorFor(op.getName().getStringRef());
  if (!evaluate)
    return unsupported(&op);
  // Where numbers of f64 are flushed, or rounded to f32, the processor does as
  // it does in compiled code; operands of narrower types, which are held in
  // f64, are flushed here. Operations that move or compare bits see them as
  // they are.
  bool flushes = ofSubnormals == Subnormals::flush && isFloatArithmetic(&op);
  FloatingPointMode mode(flushes ? Subnormals::flush : Subnormals::keep);
  Tensors flushed;
  if (flushes) {
    flushed.assign(operands.begin(), operands.end());
    llvm::for_each(flushed, flushSubnormals);
    operands = flushed;
  }
  if (failed(computesOnNumbers(&op)
                 ? evaluateOnNumbers(&op, evaluate, *this, operands, results)
                 : evaluate(&op, *this, operands, results)))
    return mlir::failure();
  if (flushes)
    llvm::for_each(results, flushSubnormals);
  return success();
}

LogicalResult Interpreter::evaluateCounted(Operation &op,
                                           ArrayRef<Tensor> operands,
                                           Tensors &results) {
  if (++evaluated > bounds.operations)
    return exceed(&op, bounds.operations, "operations");
  // Before anything is allocated for them.
  if (resultElements(op) > bounds.elements - alive)
    return exceed(&op, bounds.elements, "elements");
  if (succeeded(evaluate(op, operands, results)))
    return success();
  if (reason == Failure::none)
    reason = Failure::other;
  return mlir::failure();
}

LogicalResult Interpreter::evaluate(Operation &op) {
  Tensors operands, results;
  for (Value operand : op.getOperands())
    operands.push_back(values.lookup(operand));
  if (failed(evaluateCounted(op, operands, results)))
    return mlir::failure();
  for (auto [value, tensor] : llvm::zip_equal(op.getResults(), results))
    if (failed(set(&op, value, std::move(tensor))))
      return mlir::failure();
  return success();
}

FailureOr<Tensors> Interpreter::evaluate(Region &region,
                                         ArrayRef<Tensor> arguments) {
  Block &block = region.front();
  for (auto [value, tensor] : llvm::zip_equal(block.getArguments(), arguments))
    if (failed(set(block.getParentOp(), value, tensor)))
      return mlir::failure();
  for (Operation &op : block.without_terminator())
    if (failed(evaluate(op)))
      return mlir::failure();
  Tensors results;
  for (Value operand : block.getTerminator()->getOperands())
    results.push_back(values.lookup(operand));
  return results;
}

FailureOr<Tensors> Interpreter::call(Operation *op, Region &body,
                                     ArrayRef<Tensor> arguments) {
  if (++depth > bounds.calls)
    return exceed(op, bounds.calls, "nested calls");
  // A function that calls itself has values of its own each time.
  llvm::DenseMap<Value, Tensor> outer;
  std::swap(outer, values);
  int64_t outerAlive = alive;
  FailureOr<Tensors> results = evaluate(body, arguments);
  values = std::move(outer);
  alive = outerAlive;
  --depth;
  return results;
}

/// The operation of a region that does nothing else than hand its arguments to
/// one operation and return what that makes, as most reducers do; null for
/// others.
static Operation *onlyOperation(Block &block) {
  Operation &op = block.front(), *end = block.getTerminator();
  if (op.getNextNode() != end || op.getNumRegions() != 0 ||
      !llvm::equal(end->getOperands(), op.getResults()))
    return nullptr;
  return llvm::all_of(op.getOperands(),
                      [&](Value operand) {
                        auto argument = dyn_cast<BlockArgument>(operand);
                        return argument && argument.getOwner() == &block;
                      })
             ? &op
             : nullptr;
}

FailureOr<SmallVector<Element>>
Interpreter::reduce(Region &region, ArrayRef<Element> arguments) {
  Block &block = region.front();
  auto scalarOf = [&](BlockArgument argument) {
    Tensor scalar(cast<RankedTensorType>(argument.getType()));
    scalar.elements.front() = arguments[argument.getArgNumber()];
    return scalar;
  };
  Tensors scalars, results;
  LogicalResult reduced = success();
  bool outer = std::exchange(accumulating, true);
  // Reducers run for every element, so the values of one operation do not go
  // through the table of all values.
  if (Operation *op = onlyOperation(block)) {
    for (Value operand : op->getOperands())
      scalars.push_back(scalarOf(cast<BlockArgument>(operand)));
    reduced = evaluateCounted(*op, scalars, results);
  } else {
    for (BlockArgument argument : block.getArguments())
      scalars.push_back(scalarOf(argument));
    FailureOr<Tensors> made = evaluate(region, scalars);
    reduced = made;
    if (succeeded(made))
      results = std::move(*made);
  }
  accumulating = outer;
  if (failed(reduced))
    return mlir::failure();
  SmallVector<Element> elements;
  for (const Tensor &result : results)
    elements.push_back(result.elements.front());
  return elements;
}

FailureOr<Tensors> Interpreter::run(func::FuncOp function,
                                    ArrayRef<Tensor> arguments) {
  reason = Failure::none;
  if (arguments.size() != function.getNumArguments()) {
    reason = Failure::other;
    return function.emitError() << "takes " << function.getNumArguments()
                                << " arguments, given " << arguments.size();
  }
  return evaluate(function.getBody(), arguments);
}
