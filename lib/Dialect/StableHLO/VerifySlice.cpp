//===- VerifySlice.cpp - Constraints of slices ---------------------------===//
//
// The verifiers of slice, dynamic_slice and dynamic_update_slice. Labels are
// the constraint numbers of the StableHLO specification.
//
//===----------------------------------------------------------------------===//

#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/StableHLO/VerifyConditions.h"

using namespace mlir;
using namespace tenon::stablehlo;

LogicalResult SliceOp::verify() {
  // slice_c1
  if (failed(checkSameElementType(*this, "operand", getOperand().getType(),
                                  "result", getResult().getType())))
    return failure();
  ArrayRef<int64_t> shape = shapeOf(getOperand());
  ArrayRef<int64_t> start = getStartIndices(), limit = getLimitIndices();
  ArrayRef<int64_t> strides = getStrides();
  int64_t rank = shape.size();
  StringRef perDimension = "one for each dimension of 'operand'";
  // slice_c2
  if (failed(checkCount(*this, "start_indices", start.size(), rank,
                        perDimension)) ||
      failed(checkCount(*this, "limit_indices", limit.size(), rank,
                        perDimension)) ||
      failed(checkCount(*this, "strides", strides.size(), rank, perDimension)))
    return failure();
  // slice_c3
  for (int64_t i = 0; i < rank; ++i)
    if (start[i] < 0 || start[i] > limit[i] ||
        (!ShapedType::isDynamic(shape[i]) && limit[i] > shape[i]))
      return emitOpError() << "slice of dimension " << i << " goes from "
                           << start[i] << " to " << limit[i]
                           << ", expected 0 <= start <= limit <= " << shape[i];
  // slice_c4
  if (failed(checkAtLeast(*this, "strides", strides, 1)))
    return failure();
  // slice_c5
  SmallVector<int64_t> expected;
  for (int64_t i = 0; i < rank; ++i) {
    int64_t length = limit[i] - start[i];
    expected.push_back(length / strides[i] + (length % strides[i] != 0));
  }
  return checkShape(*this, "result", shapeOf(getResult()), expected,
                    "ceil((limit - start) / stride) in each dimension");
}

/// The starts of a dynamic slice: one scalar per dimension, all of one type.
static LogicalResult checkStarts(Operation *op, OperandRange starts) {
  for (int64_t i = 0, e = starts.size(); i < e; ++i) {
    Type type = starts[i].getType();
    if (failed(checkScalar(op, {"start_indices", i}, type)) ||
        failed(checkSameType(op, {"start_indices", 0}, starts[0].getType(),
                             {"start_indices", i}, type)))
      return failure();
  }
  return success();
}

/// sizes <= shape.
static LogicalResult checkFits(Operation *op, Subject what,
                               ArrayRef<int64_t> sizes,
                               ArrayRef<int64_t> shape) {
  for (auto [i, size, limit] : llvm::enumerate(sizes, shape)) {
    if (ShapedType::isDynamic(size))
      continue;
    if (!ShapedType::isDynamic(limit) && size > limit)
      return op->emitOpError()
             << what << " has size " << size << " in dimension " << i
             << ", expected at most the size " << limit
             << " of that dimension of 'operand'";
  }
  return success();
}

LogicalResult DynamicSliceOp::verify() {
  // dynamic_slice_c1
  if (failed(checkSameElementType(*this, "operand", getOperand().getType(),
                                  "result", getResult().getType())))
    return failure();
  // dynamic_slice_c2
  ArrayRef<int64_t> shape = shapeOf(getOperand());
  StringRef perDimension = "one for each dimension of 'operand'";
  if (failed(checkCount(*this, "start_indices", getStartIndices().size(),
                        shape.size(), perDimension)) ||
      failed(checkCount(*this, "slice_sizes", getSliceSizes().size(),
                        shape.size(), perDimension)))
    return failure();
  // dynamic_slice_c3
  if (failed(checkStarts(*this, getStartIndices())))
    return failure();
  // dynamic_slice_c4
  if (failed(checkAtLeast(*this, "slice_sizes", getSliceSizes(), 0)) ||
      failed(checkFits(*this, "slice_sizes", getSliceSizes(), shape)))
    return failure();
  // dynamic_slice_c5
  return checkShape(*this, "result", shapeOf(getResult()), getSliceSizes(),
                    "which is 'slice_sizes'");
}

LogicalResult DynamicUpdateSliceOp::verify() {
  Type operand = getOperand().getType(), update = getUpdate().getType();
  // dynamic_update_slice_c1
  if (failed(checkSameType(*this, "operand", operand, "result",
                           getResult().getType())))
    return failure();
  // dynamic_update_slice_c2
  if (failed(checkSameElementType(*this, "update", update, "operand", operand)))
    return failure();
  // dynamic_update_slice_c3
  ArrayRef<int64_t> shape = shapeOf(operand), updateShape = shapeOf(update);
  if (updateShape.size() != shape.size())
    return emitOpError() << "'update' has rank " << updateShape.size()
                         << ", expected the rank " << shape.size()
                         << " of 'operand'";
  // dynamic_update_slice_c4
  if (failed(checkCount(*this, "start_indices", getStartIndices().size(),
                        shape.size(), "one for each dimension of 'operand'")))
    return failure();
  // dynamic_update_slice_c5
  if (failed(checkStarts(*this, getStartIndices())))
    return failure();
  // dynamic_update_slice_c6
  return checkFits(*this, "update", updateShape, shape);
}
