//===- CollectiveOperations.cpp - Operations: communication --------------===//
//
// Definitions of the operations of Collective.td.
//
//===----------------------------------------------------------------------===//

#include "Assembly.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"

using namespace mlir;
using namespace tenon::stablehlo;

#define GET_OP_CLASSES
#include "tenon/Dialect/StableHLO/CollectiveOperations.cpp.inc"

void StableHLODialect::registerCollectiveOperations() {
  addOperations<
#define GET_OP_LIST
#include "tenon/Dialect/StableHLO/CollectiveOperations.cpp.inc"
      >();
}
