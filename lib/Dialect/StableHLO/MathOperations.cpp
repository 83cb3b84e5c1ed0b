//===- MathOperations.cpp - Operations: elementary functions -------------===//
//
// Definitions of the operations of Math.td.
//
//===----------------------------------------------------------------------===//

#include "Assembly.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"

using namespace mlir;
using namespace tenon::stablehlo;

#define GET_OP_CLASSES
#include "tenon/Dialect/StableHLO/MathOperations.cpp.inc"

void StableHLODialect::registerMathOperations() {
  addOperations<
#define GET_OP_LIST
#include "tenon/Dialect/StableHLO/MathOperations.cpp.inc"
      >();
}
