//===- Indexing.cpp - gather, scatter, sort, top_k ------------------------===//
//
// Operations whose indices are data.
//
//===----------------------------------------------------------------------===//

#include "Evaluators.h"

#include "tenon/Dialect/CHLO/CHLO.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"

#include <algorithm>
#include <numeric>

using namespace mlir;
using namespace tenon;
using namespace tenon::reference;

namespace {

bool contains(ArrayRef<int64_t> dims, int64_t dim) {
  return llvm::is_contained(dims, dim);
}

/// The start index vector at a batch position: reads along `indexVectorDim`.
SmallVector<int64_t> startVector(const Tensor &indices, ArrayRef<int64_t> batch,
                                 int64_t indexVectorDim) {
  Index at(batch.begin(), batch.end());
  SmallVector<int64_t> vector;
  auto value = [&] {
    int64_t integer = indices.at(at).integer;
    // Unsigned values beyond 2^63 stay large.
    return isUnsigned(indices.elementType()) && integer < 0
               ? std::numeric_limits<int64_t>::max()
               : integer;
  };
  if (indexVectorDim == indices.rank()) {
    vector.push_back(value());
    return vector;
  }
  at.insert(at.begin() + indexVectorDim, 0);
  for (; at[indexVectorDim] < indices.shape()[indexVectorDim];
       ++at[indexVectorDim])
    vector.push_back(value());
  return vector;
}

/// Position in the indices' batch dimensions by dimension of the indices
/// tensor, the index vector's left out.
int64_t batchCoordinate(ArrayRef<int64_t> batch, int64_t indicesDim,
                        int64_t indexVectorDim) {
  return batch[indicesDim > indexVectorDim ? indicesDim - 1 : indicesDim];
}

LogicalResult evaluateGather(Operation *op, Interpreter &,
                             ArrayRef<Tensor> operands, Tensors &results) {
  auto gather = cast<stablehlo::GatherOp>(op);
  auto numbers = gather.getDimensionNumbers();
  const Tensor &operand = operands[0], &indices = operands[1];
  ArrayRef<int64_t> sizes = gather.getSliceSizes();
  int64_t vectorDim = numbers.getIndexVectorDim();
  Tensor result(resultType(op));
  if (result.size() == 0) {
    results.push_back(std::move(result));
    return success();
  }
  Index index(result.rank(), 0);
  do {
    Index batch, offset;
    for (int64_t dim = 0; dim < result.rank(); ++dim)
      (contains(numbers.getOffsetDims(), dim) ? offset : batch)
          .push_back(index[dim]);
    SmallVector<int64_t> start = startVector(indices, batch, vectorDim);
    Index from(operand.rank(), 0);
    for (auto [i, dim] : llvm::enumerate(numbers.getStartIndexMap()))
      from[dim] =
          std::clamp<int64_t>(start[i], 0, operand.shape()[dim] - sizes[dim]);
    for (auto [operandDim, indicesDim] :
         llvm::zip_equal(numbers.getOperandBatchingDims(),
                         numbers.getStartIndicesBatchingDims()))
      from[operandDim] = batchCoordinate(batch, indicesDim, vectorDim);
    size_t next = 0;
    for (int64_t dim = 0; dim < operand.rank(); ++dim)
      if (!contains(numbers.getCollapsedSliceDims(), dim) &&
          !contains(numbers.getOperandBatchingDims(), dim))
        from[dim] += offset[next++];
    result.at(index) = operand.at(from);
  } while (next(index, result.shape()));
  results.push_back(std::move(result));
  return success();
}

/// Updates in row-major order; an update that falls outside is left out.
LogicalResult evaluateScatter(Operation *op, Interpreter &interpreter,
                              ArrayRef<Tensor> operands, Tensors &results) {
  auto scatter = cast<stablehlo::ScatterOp>(op);
  auto numbers = scatter.getScatterDimensionNumbers();
  size_t count = scatter.getInputs().size();
  ArrayRef<Tensor> inputs = operands.take_front(count);
  const Tensor &indices = operands[count];
  ArrayRef<Tensor> updates = operands.drop_front(count + 1);
  int64_t vectorDim = numbers.getIndexVectorDim();
  results.append(inputs.begin(), inputs.end());
  if (updates[0].size() == 0)
    return success();
  Index index(updates[0].rank(), 0);
  do {
    Index batch, window;
    for (int64_t dim = 0; dim < updates[0].rank(); ++dim)
      (contains(numbers.getUpdateWindowDims(), dim) ? window : batch)
          .push_back(index[dim]);
    SmallVector<int64_t> start = startVector(indices, batch, vectorDim);
    Index to(inputs[0].rank(), 0);
    for (auto [i, dim] : llvm::enumerate(numbers.getScatterDimsToOperandDims()))
      to[dim] = start[i];
    for (auto [inputDim, indicesDim] :
         llvm::zip_equal(numbers.getInputBatchingDims(),
                         numbers.getScatterIndicesBatchingDims()))
      to[inputDim] = batchCoordinate(batch, indicesDim, vectorDim);
    size_t nextWindow = 0;
    bool overflow = false;
    for (int64_t dim = 0; dim < inputs[0].rank(); ++dim)
      if (!contains(numbers.getInsertedWindowDims(), dim) &&
          !contains(numbers.getInputBatchingDims(), dim))
        overflow |=
            __builtin_add_overflow(to[dim], window[nextWindow++], &to[dim]);
    if (overflow || !isInside(to, inputs[0].shape()))
      continue;
    SmallVector<Element> arguments;
    for (const Tensor &result : results)
      arguments.push_back(result.at(to));
    for (const Tensor &update : updates)
      arguments.push_back(update.at(index));
    auto combined =
        interpreter.reduce(scatter.getUpdateComputation(), arguments);
    if (failed(combined))
      return failure();
    // The next update to this place reads what lies there, of its own type.
    for (auto [result, element] : llvm::zip_equal(results, *combined))
      result.at(to) = roundUpdate(element, result.elementType());
  } while (next(index, updates[0].shape()));
  for (Tensor &result : results)
    for (Element &element : result.elements)
      element = round(element, result.elementType());
  return success();
}

/// The lanes of a tensor along `dim`: calls `visit` with the index of each
/// lane's first element.
template <typename Visit>
void forEachLane(ArrayRef<int64_t> shape, int64_t dim, Visit visit) {
  SmallVector<int64_t> outer(shape);
  outer[dim] = 1;
  if (llvm::is_contained(outer, 0))
    return;
  Index index(shape.size(), 0);
  do
    visit(index);
  while (next(index, outer));
}

LogicalResult evaluateSort(Operation *op, Interpreter &interpreter,
                           ArrayRef<Tensor> operands, Tensors &results) {
  auto sort = cast<stablehlo::SortOp>(op);
  ArrayRef<int64_t> shape = operands[0].shape();
  int64_t dim = sort.getDimension();
  if (dim < 0)
    dim += shape.size();
  results.append(operands.begin(), operands.end());
  bool broken = false;
  forEachLane(shape, dim, [&](Index index) {
    auto elementAt = [&](const Tensor &tensor, int64_t position) {
      Index at(index);
      at[dim] = position;
      return tensor.at(at);
    };
    std::vector<int64_t> order(shape[dim]);
    std::iota(order.begin(), order.end(), 0);
    // Merging keeps equal elements in order whatever the comparator does.
    auto before = [&](int64_t x, int64_t y) {
      SmallVector<Element> arguments;
      for (const Tensor &operand : operands) {
        arguments.push_back(elementAt(operand, x));
        arguments.push_back(elementAt(operand, y));
      }
      auto verdict = interpreter.reduce(sort.getComparator(), arguments);
      broken |= failed(verdict);
      return succeeded(verdict) && verdict->front().integer != 0;
    };
    for (size_t i = 1; i < order.size(); ++i)
      for (size_t j = i; j > 0 && before(order[j], order[j - 1]); --j)
        std::swap(order[j], order[j - 1]);
    for (auto [result, operand] : llvm::zip_equal(results, operands))
      for (auto [to, from] : llvm::enumerate(order)) {
        Index at(index);
        at[dim] = to;
        result.at(at) = elementAt(operand, from);
      }
  });
  return failure(broken);
}

LogicalResult evaluateTopK(Operation *op, Interpreter &,
                           ArrayRef<Tensor> operands, Tensors &results) {
  const Tensor &operand = operands[0];
  Tensor values(resultType(op, 0)), indices(resultType(op, 1));
  int64_t dim = operand.rank() - 1, k = values.shape()[dim];
  Type type = operand.elementType();
  forEachLane(operand.shape(), dim, [&](Index index) {
    auto elementAt = [&](int64_t position) {
      Index at(index);
      at[dim] = position;
      return operand.at(at);
    };
    std::vector<int64_t> order(operand.shape()[dim]);
    std::iota(order.begin(), order.end(), 0);
    auto larger = [&](int64_t x, int64_t y) {
      Element a = elementAt(x), b = elementAt(y);
      if (isFloat(type)) // as the compiled code and XLA's
        return totalOrderKey(a.real) > totalOrderKey(b.real);
      return isUnsigned(type) ? uint64_t(a.integer) > uint64_t(b.integer)
                              : a.integer > b.integer;
    };
    for (size_t i = 1; i < order.size(); ++i)
      for (size_t j = i; j > 0 && larger(order[j], order[j - 1]); --j)
        std::swap(order[j], order[j - 1]);
    for (int64_t i = 0; i < k; ++i) {
      Index at(index);
      at[dim] = i;
      values.at(at) = elementAt(order[i]);
      indices.at(at).integer = order[i];
    }
  });
  results.push_back(std::move(values));
  results.push_back(std::move(indices));
  return success();
}

} // namespace

ArrayRef<Evaluator> reference::indexingEvaluators() {
  static const Evaluator table[] = {
      {"stablehlo.gather", evaluateGather},
      {"stablehlo.scatter", evaluateScatter},
      {"stablehlo.sort", evaluateSort},
      {"chlo.top_k", evaluateTopK},
  };
  return table;
}
