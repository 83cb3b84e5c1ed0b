//===- ElementCode.cpp - Operations that element regions may hold ---------===//
//
// Element-wise operations, and shape operations that move one element.
//
//===----------------------------------------------------------------------===//

#include "ElementCode.h"

#include "tenon/Dialect/CHLO/CHLO.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"

using namespace mlir;
using namespace tenon::stablehlo;

namespace tenon::importer {

bool hasSingleElements(Operation *op) {
  return llvm::all_of(op->getResultTypes(), [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.hasStaticShape() && tensor.getNumElements() == 1;
  });
}

bool isOnElements(Operation *op) {
  bool known =
      op->hasTrait<OpTrait::Elementwise>() ||
      isa<chlo::CHLODialect>(op->getDialect()) ||
      isa<ConstantOp, SelectOp, ClampOp, BitcastConvertOp, ReshapeOp,
          BroadcastInDimOp, TransposeOp, OptimizationBarrierOp, ReturnOp>(op);
  return known && hasSingleElements(op);
}

} // namespace tenon::importer
