//===- IndexingOperations.cpp - Operations: gathers and scatters ---------===//
//
// Definitions of the operations of Indexing.td.
//
//===----------------------------------------------------------------------===//

#include "Assembly.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"

using namespace mlir;
using namespace tenon::stablehlo;

#define GET_OP_CLASSES
#include "tenon/Dialect/StableHLO/IndexingOperations.cpp.inc"

void DynamicSliceOp::build(OpBuilder &builder, OperationState &state,
                           Value operand, ValueRange startIndices,
                           ArrayRef<int64_t> sliceSizes) {
  auto type = cast<RankedTensorType>(operand.getType()).clone(sliceSizes);
  build(builder, state, type, operand, startIndices, sliceSizes);
}

void StableHLODialect::registerIndexingOperations() {
  addOperations<
#define GET_OP_LIST
#include "tenon/Dialect/StableHLO/IndexingOperations.cpp.inc"
      >();
}
