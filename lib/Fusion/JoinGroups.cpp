//===- JoinGroups.cpp - Two groups that were written become one ----------===//
//
// See JoinGroups.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Fusion/JoinGroups.h"

#include "mlir/IR/Dominance.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/CSE.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tenon;

bool fusion::isLoopKernel(step::GroupOp group) {
  return group.getKind() == step::GroupKind::elementwise ||
         group.getKind() == step::GroupKind::row ||
         group.getKind() == step::GroupKind::column;
}

std::optional<SmallVector<Operation *>>
fusion::waitingFor(step::GroupOp first, step::GroupOp second) {
  llvm::SmallDenseSet<Operation *, 16> needing = {first};
  auto needs = [&](Operation *op) {
    return op
        ->walk([&](Operation *inner) {
          return llvm::any_of(inner->getOperands(),
                              [&](Value operand) {
                                return needing.contains(
                                    operand.getDefiningOp());
                              })
                     ? WalkResult::interrupt()
                     : WalkResult::advance();
        })
        .wasInterrupted();
  };
  SmallVector<Operation *> waiting;
  for (Operation *op = first->getNextNode(); op != second;
       op = op->getNextNode())
    if (needs(op)) {
      needing.insert(op);
      waiting.push_back(op);
    }
  if (needs(second))
    return std::nullopt;
  return waiting;
}

step::GroupOp fusion::joinGroups(step::GroupOp first, step::GroupOp second,
                                 bool keepsFirst, Sums sums) {
  OpBuilder builder(second);
  llvm::SetVector<Value> inputs(first.getInputs().begin(),
                                first.getInputs().end());
  for (Value input : second.getInputs())
    if (input.getDefiningOp() != first)
      inputs.insert(input);
  SmallVector<Type> types;
  if (keepsFirst)
    llvm::append_range(types, first.getResultTypes());
  llvm::append_range(types, second.getResultTypes());
  auto joined = step::GroupOp::create(
      builder,
      FusedLoc::get(first.getContext(), {first.getLoc(), second.getLoc()}),
      types, inputs.getArrayRef(), second.getKind());
  Block *body = builder.createBlock(&joined.getBody());
  IRMapping values; // inside, and what is read outside
  for (Value input : inputs)
    values.map(input, body->addArgument(input.getType(), input.getLoc()));
  SmallVector<Value> yielded;
  for (step::GroupOp group : {first, second}) {
    IRMapping inside;
    for (auto [input, argument] : llvm::zip_equal(
             group.getInputs(), group.getBody().front().getArguments()))
      inside.map(argument, values.lookup(input));
    for (Operation &op : group.bodyOperations())
      builder.clone(op, inside);
    Operation *yield = group.getBody().front().getTerminator();
    for (auto [result, value] :
         llvm::zip_equal(group->getResults(), yield->getOperands())) {
      values.map(result, inside.lookup(value));
      if (group == second || keepsFirst)
        yielded.push_back(inside.lookup(value));
    }
  }
  step::YieldOp::create(builder, second.getLoc(), yielded);
  IRRewriter rewriter(builder);
  DominanceInfo dominance(joined);
  eliminateCommonSubExpressions(rewriter, dominance, joined);
  auto kind =
      kindOf(KernelDescription(joined.getBody().front()), nullptr, sums);
  if (!kind) {
    joined.erase();
    return nullptr;
  }
  joined.setKind(*kind);
  return joined;
}

void fusion::replaceByJoined(step::GroupOp first, step::GroupOp second,
                             step::GroupOp joined,
                             ArrayRef<Operation *> waiting) {
  Operation *behind = joined;
  for (Operation *op : waiting) {
    op->moveAfter(behind);
    behind = op;
  }
  const unsigned results = first.getNumResults();
  first->replaceAllUsesWith(joined.getOutputs().take_front(results));
  second->replaceAllUsesWith(joined.getOutputs().drop_front(results));
  first.erase();
  second.erase();
}

step::GroupOp fusion::withResults(step::GroupOp group, ValueRange values) {
  OpBuilder builder(group);
  auto other = step::GroupOp::create(builder, group.getLoc(), TypeRange(values),
                                     group.getInputs(), group.getKind());
  other.getBody().takeBody(group.getBody());
  other.getBody().front().getTerminator()->setOperands(values);
  return other;
}
