//===- ElementRegions.cpp - Regions that work on elements ----------------===//
//
// Constants that a reducer captures are cloned into it.
//
//===----------------------------------------------------------------------===//

#include "tenon/Dialect/StableHLO/ElementRegions.h"

#include "tenon/Dialect/StableHLO/StableHLO.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace tenon::stablehlo {

bool hasElementRegions(Operation *op) {
  return isa<ReduceOp, ReduceWindowOp, SelectAndScatterOp, ScatterOp, SortOp,
             MapOp, AllReduceOp, ReduceScatterOp>(op);
}

void closeElementRegions(Operation *root) {
  root->walk([](Operation *op) {
    if (!hasElementRegions(op))
      return;
    for (Region &region : op->getRegions()) {
      DenseMap<Operation *, Value> inside;
      region.walk([&](Operation *user) {
        for (OpOperand &operand : user->getOpOperands()) {
          auto constant = operand.get().getDefiningOp<ConstantOp>();
          if (!constant || region.isAncestor(constant->getParentRegion()))
            continue;
          Value &clone = inside[constant];
          if (!clone) {
            OpBuilder builder = OpBuilder::atBlockBegin(&region.front());
            clone = builder.clone(*constant)->getResult(0);
          }
          operand.set(clone);
        }
      });
    }
  });
}

} // namespace tenon::stablehlo
