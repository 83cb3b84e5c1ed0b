//===- VerifyGatherScatter.cpp - Constraints of gather and scatter -------===//
//
// The verifiers of the two operations with index tensors. Labels are the
// constraint numbers of the StableHLO specification.
//
//===----------------------------------------------------------------------===//

#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/StableHLO/VerifyConditions.h"

using namespace mlir;
using namespace tenon::stablehlo;

/// `shape` without the dimensions listed in `dropped`.
static SmallVector<int64_t> without(ArrayRef<int64_t> shape,
                                    ArrayRef<int64_t> dropped,
                                    ArrayRef<int64_t> alsoDropped = {}) {
  SmallVector<int64_t> kept;
  for (auto [i, size] : llvm::enumerate(shape))
    if (!llvm::is_contained(dropped, int64_t(i)) &&
        !llvm::is_contained(alsoDropped, int64_t(i)))
      kept.push_back(size);
  return kept;
}

/// A shape of the given rank: `inside` at the dimensions `places`, `outside` at
/// the others in order. The sizes must add up (`combine` in the specification).
static SmallVector<int64_t> combine(int64_t rank, ArrayRef<int64_t> places,
                                    ArrayRef<int64_t> inside,
                                    ArrayRef<int64_t> outside) {
  SmallVector<int64_t> shape;
  for (int64_t i = 0; i < rank; ++i) {
    bool isInside = llvm::is_contained(places, i);
    ArrayRef<int64_t> &source = isInside ? inside : outside;
    shape.push_back(source.front());
    source = source.drop_front();
  }
  return shape;
}

/// Every list of sizes at `dims` is at most one.
static LogicalResult checkAtMostOne(Operation *op, Subject list,
                                    ArrayRef<int64_t> dims,
                                    ArrayRef<int64_t> sliceSizes) {
  for (int64_t dimension : dims)
    if (sliceSizes[dimension] > 1)
      return op->emitOpError()
             << "'slice_sizes' is " << sliceSizes[dimension] << " in dimension "
             << dimension << ", expected at most 1 because " << list
             << " holds that dimension";
  return success();
}

/// Batching dimensions of operand and indices pair up with equal sizes.
static LogicalResult checkBatching(Operation *op, Subject tensor,
                                   ArrayRef<int64_t> shape,
                                   ArrayRef<int64_t> dims, Subject indices,
                                   ArrayRef<int64_t> indicesShape,
                                   ArrayRef<int64_t> indicesDims) {
  for (auto [dimension, indexDimension] : llvm::zip(dims, indicesDims))
    if (!agree(shape[dimension], indicesShape[indexDimension]))
      return op->emitOpError()
             << "batching dimension " << dimension << " of " << tensor
             << " has size " << shape[dimension] << " but batching dimension "
             << indexDimension << " of " << indices << " has size "
             << indicesShape[indexDimension] << ", expected equal sizes";
  return success();
}

/// Number of components of an index: the size of the index vector dimension, 1
/// if that is implied.
static int64_t indexVectorSize(ArrayRef<int64_t> indicesShape,
                               int64_t indexVectorDim) {
  return indexVectorDim < int64_t(indicesShape.size())
             ? indicesShape[indexVectorDim]
             : 1;
}

static LogicalResult checkIndexVectorSize(Operation *op, Subject map,
                                          int64_t found, int64_t expected) {
  if (agree(found, expected))
    return success();
  return checkCount(op, map, found, expected, "one for each index component");
}

static LogicalResult checkRankSum(Operation *op, Subject tensor, int64_t rank,
                                  int64_t windows, int64_t dropped,
                                  int64_t batching) {
  if (rank == windows + dropped + batching)
    return success();
  return op->emitOpError()
         << tensor << " has rank " << rank << ", expected "
         << windows + dropped + batching << ": "
         << counted(windows, "window dimension", "window dimensions") << ", "
         << counted(dropped, "collapsed or inserted dimension",
                    "collapsed or inserted dimensions")
         << " and "
         << counted(batching, "batching dimension", "batching dimensions");
}

static LogicalResult checkIndexVectorDim(Operation *op, Subject indices,
                                         int64_t indexVectorDim, int64_t rank) {
  if (indexVectorDim >= 0 && indexVectorDim <= rank)
    return success();
  return op->emitOpError() << "'index_vector_dim' is " << indexVectorDim
                           << ", expected at least 0 and at most the rank "
                           << rank << " of " << indices;
}

//===----------------------------------------------------------------------===//
// gather
//===----------------------------------------------------------------------===//

static LogicalResult checkGatherOperandDims(GatherOp op,
                                            GatherDimensionNumbersAttr numbers,
                                            ArrayRef<int64_t> shape,
                                            ArrayRef<int64_t> sliceSizes) {
  int64_t rank = shape.size();
  ArrayRef<int64_t> collapsed = numbers.getCollapsedSliceDims();
  ArrayRef<int64_t> batching = numbers.getOperandBatchingDims();
  // gather_c1
  if (failed(checkRankSum(op, "operand", rank, numbers.getOffsetDims().size(),
                          collapsed.size(), batching.size())))
    return failure();
  // gather_c6
  if (failed(checkUnique(op, "collapsed_slice_dims", collapsed,
                         "operand_batching_dims", batching)))
    return failure();
  // gather_c7
  if (failed(checkSorted(op, "collapsed_slice_dims", collapsed)))
    return failure();
  // gather_c8
  if (failed(checkDimensions(op, "collapsed_slice_dims", collapsed, "operand",
                             rank)))
    return failure();
  // gather_c10
  if (failed(checkSorted(op, "operand_batching_dims", batching)))
    return failure();
  // gather_c11
  if (failed(checkDimensions(op, "operand_batching_dims", batching, "operand",
                             rank)))
    return failure();
  // gather_c20
  if (failed(checkCount(op, "slice_sizes", sliceSizes.size(), rank,
                        "one for each dimension of 'operand'")))
    return failure();
  // gather_c9
  if (failed(checkAtMostOne(op, "collapsed_slice_dims", collapsed, sliceSizes)))
    return failure();
  // gather_c12
  if (failed(checkAtMostOne(op, "operand_batching_dims", batching, sliceSizes)))
    return failure();
  // gather_c21
  for (auto [i, size, limit] : llvm::enumerate(sliceSizes, shape))
    if (size < 0 || (!ShapedType::isDynamic(limit) && size > limit))
      return op.emitOpError()
             << "'slice_sizes' is " << size << " in dimension " << i
             << ", expected at least 0 and at most the size " << limit
             << " of that dimension of 'operand'";
  // gather_c18
  if (failed(checkUnique(op, "start_index_map", numbers.getStartIndexMap(),
                         "operand_batching_dims", batching)))
    return failure();
  // gather_c19
  return checkDimensions(op, "start_index_map", numbers.getStartIndexMap(),
                         "operand", rank);
}

static LogicalResult checkGatherIndexDims(GatherOp op,
                                          GatherDimensionNumbersAttr numbers,
                                          ArrayRef<int64_t> shape,
                                          ArrayRef<int64_t> indices) {
  int64_t indexVectorDim = numbers.getIndexVectorDim();
  ArrayRef<int64_t> batching = numbers.getStartIndicesBatchingDims();
  // gather_c2
  if (failed(checkIndexVectorDim(op, "start_indices", indexVectorDim,
                                 indices.size())))
    return failure();
  // gather_c3
  if (failed(checkIndexVectorSize(op, "start_index_map",
                                  numbers.getStartIndexMap().size(),
                                  indexVectorSize(indices, indexVectorDim))))
    return failure();
  // gather_c13
  if (failed(checkUnique(op, "start_indices_batching_dims", batching)))
    return failure();
  // gather_c14
  if (failed(checkDimensions(op, "start_indices_batching_dims", batching,
                             "start_indices", indices.size())))
    return failure();
  // gather_c15
  if (llvm::is_contained(batching, indexVectorDim))
    return op.emitOpError()
           << "'start_indices_batching_dims' holds " << indexVectorDim
           << ", which is 'index_vector_dim'";
  // gather_c16
  if (failed(checkCount(op, "start_indices_batching_dims", batching.size(),
                        numbers.getOperandBatchingDims().size(),
                        "one for each of 'operand_batching_dims'")))
    return failure();
  // gather_c17
  return checkBatching(op, "operand", shape, numbers.getOperandBatchingDims(),
                       "start_indices", indices, batching);
}

LogicalResult GatherOp::verify() {
  GatherDimensionNumbersAttr numbers = getDimensionNumbers();
  ArrayRef<int64_t> shape = shapeOf(getOperand());
  ArrayRef<int64_t> indices = shapeOf(getStartIndices());
  ArrayRef<int64_t> result = shapeOf(getResult());
  if (failed(checkGatherOperandDims(*this, numbers, shape, getSliceSizes())) ||
      failed(checkGatherIndexDims(*this, numbers, shape, indices)))
    return failure();
  ArrayRef<int64_t> offsetDims = numbers.getOffsetDims();
  // gather_c4
  if (failed(checkUnique(*this, "offset_dims", offsetDims)) ||
      failed(checkSorted(*this, "offset_dims", offsetDims)))
    return failure();
  SmallVector<int64_t> batchSizes =
      without(indices, {numbers.getIndexVectorDim()});
  SmallVector<int64_t> offsetSizes =
      without(getSliceSizes(), numbers.getCollapsedSliceDims(),
              numbers.getOperandBatchingDims());
  // gather_c5
  int64_t rank = batchSizes.size() + offsetSizes.size();
  if (failed(checkDimensions(*this, "offset_dims", offsetDims, "result", rank)))
    return failure();
  // gather_c22
  if (failed(checkShape(*this, "result", result,
                        combine(rank, offsetDims, offsetSizes, batchSizes),
                        "slice sizes at 'offset_dims' and the dimensions of "
                        "'start_indices' at the others")))
    return failure();
  // gather_c23
  return checkSameElementType(*this, "operand", getOperand().getType(),
                              "result", getResult().getType());
}

//===----------------------------------------------------------------------===//
// scatter
//===----------------------------------------------------------------------===//

static LogicalResult checkScatterTensors(ScatterOp op) {
  // scatter_c5
  int64_t count = op.getInputs().size();
  if (count == 0)
    return op.emitOpError("has no inputs, expected at least one");
  // Inputs and updates are cut from one list of operands around the indices.
  if (failed(checkCount(op, "operands", op->getNumOperands(), 2 * count + 1,
                        "the indices and as many 'updates' as 'inputs'")) ||
      failed(checkCount(op, "results", op.getNumResults(), count,
                        "one for each of 'inputs'")))
    return failure();
  for (int64_t i = 0; i < count; ++i) {
    Type input = op.getInputs()[i].getType();
    Type update = op.getUpdates()[i].getType();
    // scatter_c1
    if (failed(checkSameShape(op, {"inputs", 0}, op.getInputs()[0].getType(),
                              {"inputs", i}, input)))
      return failure();
    // scatter_c3
    if (failed(checkSameShape(op, {"updates", 0}, op.getUpdates()[0].getType(),
                              {"updates", i}, update)))
      return failure();
    // scatter_c6
    if (failed(checkSameElementType(op, {"inputs", i}, input, {"updates", i},
                                    update)))
      return failure();
  }
  return success();
}

static LogicalResult checkScatterInputDims(ScatterOp op,
                                           ScatterDimensionNumbersAttr numbers,
                                           int64_t rank) {
  ArrayRef<int64_t> inserted = numbers.getInsertedWindowDims();
  ArrayRef<int64_t> batching = numbers.getInputBatchingDims();
  // scatter_c2
  if (failed(checkRankSum(op, {"inputs", 0}, rank,
                          numbers.getUpdateWindowDims().size(), inserted.size(),
                          batching.size())))
    return failure();
  // scatter_c9
  if (failed(checkUnique(op, "inserted_window_dims", inserted,
                         "input_batching_dims", batching)))
    return failure();
  // scatter_c10
  if (failed(checkSorted(op, "inserted_window_dims", inserted)))
    return failure();
  // scatter_c11
  if (failed(checkDimensions(op, "inserted_window_dims", inserted,
                             {"inputs", 0}, rank)))
    return failure();
  // scatter_c12
  if (failed(checkSorted(op, "input_batching_dims", batching)))
    return failure();
  // scatter_c13
  if (failed(checkDimensions(op, "input_batching_dims", batching, {"inputs", 0},
                             rank)))
    return failure();
  // scatter_c20
  ArrayRef<int64_t> map = numbers.getScatterDimsToOperandDims();
  if (failed(checkUnique(op, "scatter_dims_to_operand_dims", map,
                         "input_batching_dims", batching)))
    return failure();
  // scatter_c21
  return checkDimensions(op, "scatter_dims_to_operand_dims", map, {"inputs", 0},
                         rank);
}

static LogicalResult checkScatterIndexDims(ScatterOp op,
                                           ScatterDimensionNumbersAttr numbers,
                                           ArrayRef<int64_t> shape,
                                           ArrayRef<int64_t> indices) {
  int64_t indexVectorDim = numbers.getIndexVectorDim();
  ArrayRef<int64_t> batching = numbers.getScatterIndicesBatchingDims();
  // scatter_c22
  if (failed(checkIndexVectorDim(op, "scatter_indices", indexVectorDim,
                                 indices.size())))
    return failure();
  // scatter_c19
  if (failed(checkIndexVectorSize(op, "scatter_dims_to_operand_dims",
                                  numbers.getScatterDimsToOperandDims().size(),
                                  indexVectorSize(indices, indexVectorDim))))
    return failure();
  // scatter_c14
  if (failed(checkUnique(op, "scatter_indices_batching_dims", batching)))
    return failure();
  // scatter_c15
  if (failed(checkDimensions(op, "scatter_indices_batching_dims", batching,
                             "scatter_indices", indices.size())))
    return failure();
  // scatter_c16
  if (llvm::is_contained(batching, indexVectorDim))
    return op.emitOpError()
           << "'scatter_indices_batching_dims' holds " << indexVectorDim
           << ", which is 'index_vector_dim'";
  // scatter_c17
  if (failed(checkCount(op, "scatter_indices_batching_dims", batching.size(),
                        numbers.getInputBatchingDims().size(),
                        "one for each of 'input_batching_dims'")))
    return failure();
  // scatter_c18
  return checkBatching(op, {"inputs", 0}, shape, numbers.getInputBatchingDims(),
                       "scatter_indices", indices, batching);
}

/// Window sizes of the updates may be smaller than the input's, so the shape is
/// checked in two halves.
static LogicalResult checkScatterUpdates(ScatterOp op,
                                         ScatterDimensionNumbersAttr numbers,
                                         ArrayRef<int64_t> shape,
                                         ArrayRef<int64_t> indices) {
  ArrayRef<int64_t> update = shapeOf(op.getUpdates()[0]);
  ArrayRef<int64_t> windowDims = numbers.getUpdateWindowDims();
  // scatter_c7
  if (failed(checkUnique(op, "update_window_dims", windowDims)) ||
      failed(checkSorted(op, "update_window_dims", windowDims)))
    return failure();
  // scatter_c8
  if (failed(checkDimensions(op, "update_window_dims", windowDims,
                             {"updates", 0}, update.size())))
    return failure();
  // scatter_c4
  SmallVector<int64_t> scatterSizes =
      without(indices, {numbers.getIndexVectorDim()});
  SmallVector<int64_t> windowLimits = without(
      shape, numbers.getInsertedWindowDims(), numbers.getInputBatchingDims());
  if (update.size() != scatterSizes.size() + windowLimits.size())
    return op.emitOpError()
           << "'updates' #0 has rank " << update.size() << ", expected "
           << scatterSizes.size() + windowLimits.size() << ": "
           << counted(scatterSizes.size(), "dimension", "dimensions")
           << " of 'scatter_indices' and "
           << counted(windowLimits.size(), "window dimension",
                      "window dimensions");
  SmallVector<int64_t> expected =
      combine(update.size(), windowDims, windowLimits, scatterSizes);
  for (auto [i, size, limit] : llvm::enumerate(update, expected)) {
    if (agree(size, limit))
      continue;
    bool isWindow = llvm::is_contained(windowDims, int64_t(i));
    if (isWindow && size <= limit)
      continue;
    return op.emitOpError()
           << "dimension " << i << " of 'updates' #0 has size " << size
           << ", expected " << (isWindow ? "at most " : "") << limit
           << (isWindow ? ", the size of the window's dimension of 'inputs' #0"
                        : ", the size of a dimension of 'scatter_indices'");
  }
  return success();
}

LogicalResult ScatterOp::verify() {
  if (failed(checkScatterTensors(*this)))
    return failure();
  ScatterDimensionNumbersAttr numbers = getScatterDimensionNumbers();
  ArrayRef<int64_t> shape = shapeOf(getInputs()[0]);
  ArrayRef<int64_t> indices = shapeOf(getScatterIndices());
  if (failed(checkScatterInputDims(*this, numbers, shape.size())) ||
      failed(checkScatterIndexDims(*this, numbers, shape, indices)) ||
      failed(checkScatterUpdates(*this, numbers, shape, indices)))
    return failure();
  // scatter_c23
  SmallVector<Type> elementTypes, accumulators;
  for (Value input : getInputs())
    elementTypes.push_back(elementTypeOf(input.getType()));
  if (failed(checkReducer(*this, "update_computation", getUpdateComputation(),
                          elementTypes, accumulators)))
    return failure();
  for (int64_t i = 0, e = getNumResults(); i < e; ++i) {
    // scatter_c24
    Type result = getResult(i).getType();
    if (failed(checkSameShape(*this, {"inputs", i}, getInputs()[i].getType(),
                              {"results", i}, result)))
      return failure();
    // scatter_c25
    if (failed(checkAccumulated(*this, {"results", i}, result, accumulators[i],
                                "update_computation")))
      return failure();
  }
  return success();
}
