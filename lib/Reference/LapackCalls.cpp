//===- LapackCalls.cpp - Matrix decompositions by LAPACK ------------------===//
//
// Decompositions have no single right answer (signs, orders and roundings are
// the algorithm's), so that the interpreter asks the library that compiled code
// asks.
//
//===----------------------------------------------------------------------===//

#include "Evaluators.h"

#include "tenon/Analysis/ElementTypes.h"
#include "tenon/Analysis/LapackCalls.h"
#include "tenon/Libraries/Call.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::reference;

static int64_t widthOfElement(const Tensor &tensor) {
  return byteWidth(*elementTypeOf(tensor.elementType()));
}

bool reference::isLapackCall(Operation *op) {
  auto call = dyn_cast<stablehlo::CustomCallOp>(op);
  std::string ignored;
  return call && call.getCallTargetName().starts_with("lapack_") &&
         (describeLapack(call, ignored) ||
          cast<ShapedType>(op->getOperand(0).getType()).getNumElements() == 0);
}

LogicalResult reference::evaluateLapackCall(Operation *op, Interpreter &,
                                            ArrayRef<Tensor> operands,
                                            Tensors &results) {
  for (unsigned i = 0; i < op->getNumResults(); ++i)
    results.push_back(Tensor(resultType(op, i)));
  if (operands[0].size() == 0)
    return success();
  std::string error;
  auto description = describeLapack(cast<stablehlo::CustomCallOp>(op), error);
  if (!description)
    return op->emitOpError() << error;
  auto call = libraries::Call::create(*description, target::Isa{}, error);
  if (!call)
    return op->emitOpError() << error;
  std::vector<std::vector<std::byte>> memory;
  auto add = [&](int64_t bytes) -> std::byte * {
    return memory.emplace_back(size_t(bytes)).data();
  };
  for (const Tensor &operand : operands) {
    int64_t width = widthOfElement(operand);
    writeBytes(operand, add(operand.size() * width), width);
  }
  for (const Tensor &result : results)
    add(result.size() * widthOfElement(result));
  add(call->workspaceBytes());
  for (size_t i = 0; i < memory.size(); ++i)
    if (int64_t(memory[i].size()) < call->argumentBytes(int64_t(i)))
      return op->emitOpError() << "has an argument of " << memory[i].size()
                               << " bytes, the routine works on "
                               << call->argumentBytes(int64_t(i));
  std::vector<void *> pointers;
  for (std::vector<std::byte> &bytes : memory)
    pointers.push_back(bytes.data());
  auto bound = call->newBinding(error);
  if (!bound)
    return op->emitOpError("cannot be made ready: ") << error;
  bound->bind(pointers);
  if (int status = bound->run(0, 0))
    return op->emitOpError("failed: ") << call->statusText(status);
  for (auto [i, result] : llvm::enumerate(results))
    readBytes(result, memory[operands.size() + i].data(),
              widthOfElement(result));
  return success();
}
