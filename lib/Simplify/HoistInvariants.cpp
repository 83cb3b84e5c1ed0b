//===- HoistInvariants.cpp - Invariant operations before their loop -------===//
//
// An operation is invariant if everything it reads comes from outside the loop
// or from an invariant operation. Movements (broadcast, reshape, transpose,
// iota) cost nothing where their user reads them in place, so they leave a loop
// only as operands of what does.
//
//===----------------------------------------------------------------------===//

#include "tenon/Simplify/Passes.h"

#include "tenon/Dialect/StableHLO/StableHLO.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

namespace tenon::simplify {
#define GEN_PASS_DEF_HOISTINVARIANTSPASS
#include "tenon/Simplify/Passes.h.inc"
} // namespace tenon::simplify

using namespace mlir;
using namespace tenon::stablehlo;

namespace {

bool isMovement(Operation *op) {
  return isa<BroadcastInDimOp, IotaOp, ReshapeOp, TransposeOp>(op);
}

class HoistInvariants
    : public tenon::simplify::impl::HoistInvariantsPassBase<HoistInvariants> {
  void runOnOperation() override {
    SmallVector<WhileOp> loops;
    getOperation()->walk([&](WhileOp op) { loops.push_back(op); });
    // Inner loops first: what leaves them may leave the outer ones too.
    for (WhileOp loop : loops)
      hoist(loop);
  }

  void hoist(WhileOp loop) {
    Block &body = loop.getBody().front();
    llvm::DenseSet<Operation *> invariant;
    SmallVector<Operation *> leaving;
    auto isOutside = [&](Value value) {
      if (Operation *op = value.getDefiningOp()) {
        Operation *inBody = body.findAncestorOpInBlock(*op);
        return !inBody || invariant.contains(inBody);
      }
      return !loop.getBody().isAncestor(value.getParentRegion());
    };
    for (Operation &op : body.without_terminator()) {
      // A loop inside is left where it is: it may not run at all.
      if (!isMemoryEffectFree(&op) || isa<WhileOp, CaseOp, IfOp>(op))
        continue;
      bool alike = true;
      op.walk([&](Operation *inner) {
        for (Value operand : inner->getOperands()) {
          Region *region = operand.getParentRegion();
          bool own =
              region != &loop.getBody() && op.isAncestor(region->getParentOp());
          alike &= own || isOutside(operand);
        }
      });
      if (!alike)
        continue;
      invariant.insert(&op);
      if (!isMovement(&op))
        leaving.push_back(&op);
    }
    int64_t moved = 0;
    IRMapping copies;
    for (Operation *op : leaving) {
      for (OpOperand &operand : op->getOpOperands())
        operand.set(bringOut(operand.get(), loop, copies));
      op->moveBefore(loop);
      moved += !isa<ConstantOp>(op);
    }
    SmallVector<Operation *> remaining = llvm::map_to_vector(
        body.without_terminator(), [](Operation &op) { return &op; });
    for (Operation *op : llvm::reverse(remaining))
      if (isOpTriviallyDead(op)) {
        invariant.erase(op);
        op->erase();
      }
    if (moved)
      remark::passed(loop.getLoc(),
                     remark::RemarkOpts::name("hoisted").category(
                         "simplify-hoist-invariants"))
          << remark::add("{0} operations that no round changes moved in front "
                         "of the loop",
                         moved);
    int64_t stayed = llvm::count_if(
        invariant, [&](Operation *op) { return op->getBlock() == &body; });
    if (stayed)
      remark::missed(loop.getLoc(), remark::RemarkOpts::name("stayed").category(
                                        "simplify-hoist-invariants"))
          << remark::add("{0} movements that no round changes stay in the loop",
                         stayed)
          << remark::reason("{0}",
                            "their users read them in place, and in front "
                            "of the loop they would take memory");
  }

  /// `value` in front of the loop: movements inside are copied out, the rest
  /// has left already.
  Value bringOut(Value value, WhileOp loop, IRMapping &copies) {
    Operation *op = value.getDefiningOp();
    if (!op || op->getBlock() != &loop.getBody().front())
      return value;
    if (Value copy = copies.lookupOrNull(value))
      return copy;
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(bringOut(operand, loop, copies));
    OpBuilder builder(loop);
    Operation *copy = builder.clone(*op);
    copy->setOperands(operands);
    copies.map(value, copy->getResult(0));
    return copy->getResult(0);
  }
};

} // namespace
