//===- ReplacedState.cpp - State and what a step puts in its place -------===//
//
// See ReplacedState.h.
//
//===----------------------------------------------------------------------===//

#include "ReplacedState.h"

#include "Views.h"

#include "tenon/Dialect/Step/Step.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::memory;

std::vector<ReplacedState> memory::replacedStates(func::FuncOp main) {
  std::vector<ReplacedState> states;
  Block &block = main.getBody().front();
  Operation *ret = block.getTerminator();
  for (BlockArgument argument : block.getArguments()) {
    auto successor = main.getArgAttrOfType<IntegerAttr>(
        argument.getArgNumber(), step::successorAttrName);
    if (!successor)
      continue;
    auto result = unsigned(successor.getInt());
    Operation *writer = ret->getOperand(result).getDefiningOp();
    if (!writer)
      continue;
    ReplacedState &state = states.emplace_back();
    state.old = argument;
    state.result = result;
    state.writer = writer;
    SmallVector<Value> names = {argument};
    while (!names.empty())
      for (OpOperand &use : names.pop_back_val().getUses()) {
        Operation *user = use.getOwner();
        Operation *top = block.findAncestorOpInBlock(*user);
        if (!top || top == ret || top == writer)
          continue;
        state.readers.insert(top);
        if (isView(user))
          names.push_back(user->getResult(use.getOperandNumber()));
      }
  }
  return states;
}

Value memory::copyBefore(Operation *before, Value value) {
  OpBuilder builder(before);
  auto group =
      step::GroupOp::create(builder, value.getLoc(), value.getType(),
                            ValueRange{value}, step::GroupKind::elementwise);
  Block *body = builder.createBlock(&group.getBody());
  Value argument = body->addArgument(value.getType(), value.getLoc());
  step::YieldOp::create(builder, value.getLoc(), argument);
  return group.getResult(0);
}
