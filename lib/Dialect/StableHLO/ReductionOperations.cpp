//===- ReductionOperations.cpp - Operations: combining elements ----------===//
//
// Definitions of the operations of Reduction.td.
//
//===----------------------------------------------------------------------===//

#include "Assembly.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"

using namespace mlir;
using namespace tenon::stablehlo;

#define GET_OP_CLASSES
#include "tenon/Dialect/StableHLO/ReductionOperations.cpp.inc"

void StableHLODialect::registerReductionOperations() {
  addOperations<
#define GET_OP_LIST
#include "tenon/Dialect/StableHLO/ReductionOperations.cpp.inc"
      >();
}
