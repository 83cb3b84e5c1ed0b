//===- ReadPerBlock.cpp - A value made where it is first read -------------===//
//
// See ReadPerBlock.h.
//
//===----------------------------------------------------------------------===//

#include "ReadPerBlock.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace tenon;

void precision::readPerBlock(OpBuilder &builder, ArrayRef<OpOperand *> uses,
                             llvm::function_ref<Value()> make) {
  llvm::MapVector<Block *, SmallVector<OpOperand *>> readers;
  for (OpOperand *use : uses)
    readers[use->getOwner()->getBlock()].push_back(use);
  for (auto &[block, reading] : readers) {
    Operation *first = reading.front()->getOwner();
    for (OpOperand *use : reading)
      if (use->getOwner()->isBeforeInBlock(first))
        first = use->getOwner();
    builder.setInsertionPoint(first);
    Value made = make();
    for (OpOperand *use : reading)
      use->set(made);
  }
}
