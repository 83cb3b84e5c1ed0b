//===- ContractionOperations.cpp - Operations: products and linear algebra ===//
//
// Definitions of the operations of Contraction.td.
//
//===----------------------------------------------------------------------===//

#include "Assembly.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"

using namespace mlir;
using namespace tenon::stablehlo;

#define GET_OP_CLASSES
#include "tenon/Dialect/StableHLO/ContractionOperations.cpp.inc"

void StableHLODialect::registerContractionOperations() {
  addOperations<
#define GET_OP_LIST
#include "tenon/Dialect/StableHLO/ContractionOperations.cpp.inc"
      >();
}
