//===- KernelSource.cpp - What a kernel computes, as schedules see it -----===//
//
// See KernelSource.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Codegen/Loops/KernelSource.h"

#include "tenon/Dialect/Exec/Exec.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"

using namespace mlir;

namespace tenon::codegen {

KernelSource::KernelSource(Block *body, Location loc, size_t results)
    : body(body), loc(loc), inPlace(results, -1), kernel(*body),
      kernelClass(kernel.kernelClass()), root(kernel.root()) {}

KernelSource::KernelSource(step::GroupOp group)
    : KernelSource(&group.getBody().front(), group.getLoc(),
                   group.getNumResults()) {}

KernelSource::KernelSource(func::FuncOp function)
    : KernelSource(&function.front(), function.getLoc(),
                   function.getNumResults()) {
  if (auto given =
          function->getAttrOfType<DenseI64ArrayAttr>(exec::inPlaceAttrName))
    for (auto [result, operand] : llvm::enumerate(given.asArrayRef()))
      if (result < inPlace.size())
        inPlace[result] = operand;
}

int KernelSource::indexOfResult(Value value) const {
  while (true) {
    for (auto [index, result] : llvm::enumerate(results()))
      if (result == value)
        return index;
    Operation *mover = value.hasOneUse() ? *value.user_begin() : nullptr;
    if (!isa_and_nonnull<stablehlo::ReshapeOp, stablehlo::ConcatenateOp>(mover))
      return -1;
    value = mover->getResult(0);
  }
}

} // namespace tenon::codegen
