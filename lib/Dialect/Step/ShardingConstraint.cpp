//===- ShardingConstraint.cpp - Where an author wants a value to lie ------===//
//
// See ShardingConstraint.h. What a sharding says is read where there is a mesh.
//
//===----------------------------------------------------------------------===//

#include "tenon/Dialect/Step/ShardingConstraint.h"

#include "mlir/IR/OpImplementation.h"

#define GET_OP_CLASSES
#include "tenon/Dialect/Step/ShardingConstraintOps.cpp.inc"

using namespace mlir;
using namespace tenon::step;

LogicalResult ShardingConstraintOp::verify() {
  if (!getSharding() && !getGroup() && !getPasses())
    return emitOpError("says nothing: expected a 'sharding', a 'group' or "
                       "'passes'");
  if (auto passes = getPasses();
      passes && !llvm::is_contained({"none", "forward", "backward"}, *passes))
    return emitOpError() << "passes '" << *passes
                         << "', expected none, forward or backward";
  const int64_t rank = cast<RankedTensorType>(getType()).getRank();
  for (int64_t dim : getOpenDims().value_or(ArrayRef<int64_t>()))
    if (dim < 0 || dim >= rank)
      return emitOpError() << "has the open dimension " << dim
                           << ", expected one of " << rank;
  return success();
}

int64_t tenon::step::dropShardingConstraints(Operation *within) {
  int64_t count = 0;
  within->walk([&](ShardingConstraintOp constraint) {
    constraint.getResult().replaceAllUsesWith(constraint.getInput());
    constraint.erase();
    ++count;
  });
  return count;
}
