//===- StableHLO.cpp - The stablehlo dialect ------------------------------===//
//
// Registration of what the dialect consists of, and constants for folding.
//
//===----------------------------------------------------------------------===//

#include "tenon/Dialect/StableHLO/StableHLO.h"

#include "mlir/Dialect/Quant/IR/Quant.h"

using namespace mlir;
using namespace tenon::stablehlo;

#include "tenon/Dialect/StableHLO/StableHLODialect.cpp.inc"

void StableHLODialect::initialize() {
  // A newer version's operation is no mistake where it only passes through;
  // whoever has to understand it says that he does not.
  allowUnknownOperations();
  registerAttributes();
  registerTypes();
  registerCollectiveOperations();
  registerContractionOperations();
  registerControlOperations();
  registerElementwiseOperations();
  registerIndexingOperations();
  registerMathOperations();
  registerReductionOperations();
  registerShapeOperations();
}

Operation *StableHLODialect::materializeConstant(OpBuilder &builder,
                                                 Attribute value, Type type,
                                                 Location location) {
  auto elements = dyn_cast<ElementsAttr>(value);
  if (!elements || !areCompatibleTypes(elements.getType(), type))
    return nullptr;
  return ConstantOp::create(builder, location, type, elements);
}
