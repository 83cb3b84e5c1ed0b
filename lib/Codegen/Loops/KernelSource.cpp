//===- KernelSource.cpp - What a kernel computes, as schedules see it -----===//
//
// See KernelSource.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Codegen/Loops/KernelSource.h"

#include "tenon/Codegen/Loops/PointEmitter.h"
#include "tenon/Dialect/Exec/Exec.h"

using namespace mlir;

namespace tenon::codegen {

KernelSource::KernelSource(func::FuncOp function)
    : body(&function.front()), loc(function.getLoc()),
      inPlace(function.getNumResults(), -1) {
  if (auto given =
          function->getAttrOfType<DenseI64ArrayAttr>(exec::inPlaceAttrName))
    for (auto [result, operand] : llvm::enumerate(given.asArrayRef()))
      if (result < inPlace.size())
        inPlace[result] = operand;
}

KernelSource::KernelSource(step::GroupOp group)
    : body(&group.getBody().front()), loc(group.getLoc()),
      inPlace(group.getNumResults(), -1) {}

Operation *KernelSource::rootOperation() const {
  if (results().empty())
    return nullptr;
  Operation *root = results().front().getDefiningOp();
  llvm::SmallDenseSet<Value> seen;
  for (Value result : results())
    if (!root || result.getDefiningOp() != root || !seen.insert(result).second)
      return nullptr;
  for (Operation &op : operations())
    if (&op != root && !isPointOperation(&op))
      return nullptr;
  return root;
}

int KernelSource::indexOfResult(Value value) const {
  for (auto [index, result] : llvm::enumerate(results()))
    if (result == value)
      return index;
  return -1;
}

} // namespace tenon::codegen
