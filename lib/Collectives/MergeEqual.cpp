//===- MergeEqual.cpp - One collective for equal ones ---------------------===//
//
// Collectives of one block that exchange the same value in the same way give
// the same. They differ at most in the number of their channel.
//
//===----------------------------------------------------------------------===//

#include "tenon/Collectives/Passes.h"

#include "tenon/Analysis/Collectives.h"

#include "mlir/IR/OperationSupport.h"

namespace tenon::collectives {
#define GEN_PASS_DEF_MERGEEQUALPASS
#include "tenon/Collectives/Passes.h.inc"
} // namespace tenon::collectives

using namespace mlir;
using namespace tenon;

/// Whether two collectives are alike but for their channel.
static bool areEqual(Operation *first, Operation *second) {
  if (first->getName() != second->getName() ||
      first->getOperands() != second->getOperands() ||
      first->getResultTypes() != second->getResultTypes())
    return false;
  Operation *copy = second->clone();
  constexpr StringLiteral channel = "channel_handle";
  if (auto handle = first->getAttr(channel))
    copy->setAttr(channel, handle);
  const bool isEqual = OperationEquivalence::isEquivalentTo(
      first, copy, OperationEquivalence::Flags::IgnoreLocations);
  copy->destroy();
  return isEqual;
}

namespace {

struct MergeEqual : public collectives::impl::MergeEqualPassBase<MergeEqual> {
  void runOnOperation() override {
    SmallVector<Operation *> all;
    getOperation().walk([&](Operation *op) {
      if (exchanges(op))
        all.push_back(op);
    });
    for (Operation *op : all) {
      // Its earlier twins read what it reads.
      auto twin = llvm::find_if(op->getOperand(0).getUsers(), [&](auto *other) {
        return other != op && other->getBlock() == op->getBlock() &&
               isCollective(other) && other->isBeforeInBlock(op) &&
               areEqual(other, op);
      });
      if (twin == op->getOperand(0).getUsers().end())
        continue;
      op->replaceAllUsesWith((*twin)->getResults());
      op->erase();
    }
  }
};

} // namespace
