//===- RebuildLoop.cpp - A loop that carries other values ----------------===//
//
// See RebuildLoop.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Dialect/StableHLO/RebuildLoop.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace tenon;
using tenon::stablehlo::WhileOp;

WhileOp stablehlo::rebuildLoop(
    WhileOp loop, const llvm::BitVector &dropped, ValueRange starts,
    llvm::function_ref<SmallVector<Value>(ValueRange, OpBuilder &)>
        makeFollowing) {
  Block &condition = loop.getCond().front();
  Block &body = loop.getBody().front();
  Operation *next = body.getTerminator();
  unsigned before = loop->getNumOperands();
  for (Value start : starts) {
    condition.addArgument(start.getType(), start.getLoc());
    body.addArgument(start.getType(), start.getLoc());
  }
  OpBuilder builder(next);
  SmallVector<Value> following =
      makeFollowing(body.getArguments().drop_front(before), builder);
  next->eraseOperands(dropped);
  next->insertOperands(next->getNumOperands(), following);
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (isOpTriviallyDead(&op))
      op.erase();
  llvm::BitVector droppedArguments = dropped;
  droppedArguments.resize(body.getNumArguments());
  condition.eraseArguments(droppedArguments);
  body.eraseArguments(droppedArguments);

  SmallVector<Value> operands;
  SmallVector<unsigned> kept;
  for (unsigned i = 0; i < before; ++i)
    if (!dropped.test(i)) {
      operands.push_back(loop->getOperand(i));
      kept.push_back(i);
    }
  llvm::append_range(operands, starts);
  builder.setInsertionPoint(loop);
  auto rebuilt = WhileOp::create(builder, loop.getLoc(),
                                 ValueRange(operands).getTypes(), operands);
  rebuilt->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  rebuilt.getCond().takeBody(loop.getCond());
  rebuilt.getBody().takeBody(loop.getBody());
  for (auto [position, i] : llvm::enumerate(kept))
    loop->getResult(i).replaceAllUsesWith(rebuilt->getResult(position));
  return rebuilt;
}
