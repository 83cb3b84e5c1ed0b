//===- Reduction.cpp - Operations that combine elements -------------------===//
//
// reduce, reduce_window, select_and_scatter: elements are combined in row-major
// order by the operation's region.
//
//===----------------------------------------------------------------------===//

#include "Evaluators.h"

#include "tenon/Dialect/StableHLO/StableHLO.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::reference;

namespace {

/// Combines running values with one element of each operand.
LogicalResult combine(Interpreter &interpreter, Region &region,
                      SmallVector<Element> &running,
                      ArrayRef<Element> elements) {
  SmallVector<Element> arguments(running);
  arguments.append(elements.begin(), elements.end());
  auto combined = interpreter.reduce(region, arguments);
  if (failed(combined))
    return failure();
  running = std::move(*combined);
  return success();
}

LogicalResult evaluateReduce(Operation *op, Interpreter &interpreter,
                             ArrayRef<Tensor> operands, Tensors &results) {
  auto reduce = cast<stablehlo::ReduceOp>(op);
  size_t count = operands.size() / 2;
  ArrayRef<Tensor> inputs = operands.take_front(count);
  for (size_t i = 0; i < count; ++i) {
    Tensor result(resultType(op, i));
    for (Element &element : result.elements)
      element = operands[count + i].elements.front();
    results.push_back(std::move(result));
  }
  if (inputs[0].size() == 0)
    return success();
  Index index(inputs[0].rank(), 0);
  do {
    Index kept;
    for (int64_t dim = 0; dim < inputs[0].rank(); ++dim)
      if (!llvm::is_contained(reduce.getDimensions(), dim))
        kept.push_back(index[dim]);
    SmallVector<Element> running, elements;
    for (auto [result, input] : llvm::zip_equal(results, inputs)) {
      running.push_back(result.at(kept));
      elements.push_back(input.at(index));
    }
    if (failed(combine(interpreter, reduce.getBody(), running, elements)))
      return failure();
    for (auto [result, element] : llvm::zip_equal(results, running))
      result.at(kept) = element;
  } while (next(index, inputs[0].shape()));
  for (Tensor &result : results)
    for (Element &element : result.elements)
      element = round(element, result.elementType());
  return success();
}

/// One dimension of a sliding window.
struct WindowDim {
  int64_t size = 1, stride = 1, baseDilation = 1, windowDilation = 1, low = 0;
};

template <typename WindowOp>
SmallVector<WindowDim> windowOf(WindowOp op, int64_t rank) {
  SmallVector<WindowDim> window(rank);
  for (int64_t dim = 0; dim < rank; ++dim) {
    if (auto strides = op.getWindowStrides())
      window[dim].stride = (*strides)[dim];
    if (auto padding = op.getPadding())
      window[dim].low =
          padding->template getValues<int64_t>()[{uint64_t(dim), 0}];
  }
  return window;
}

/// The base position of a window's element; nothing between dilated elements or
/// in the padding.
std::optional<Index> basePosition(ArrayRef<WindowDim> window,
                                  ArrayRef<int64_t> at,
                                  ArrayRef<int64_t> inside,
                                  ArrayRef<int64_t> shape) {
  Index base;
  for (auto [dim, i, w] : llvm::zip_equal(window, at, inside)) {
    int64_t position = i * dim.stride + w * dim.windowDilation - dim.low;
    if (position < 0 || position % dim.baseDilation)
      return std::nullopt;
    base.push_back(position / dim.baseDilation);
  }
  if (!isInside(base, shape))
    return std::nullopt;
  return base;
}

LogicalResult evaluateReduceWindow(Operation *op, Interpreter &interpreter,
                                   ArrayRef<Tensor> operands,
                                   Tensors &results) {
  auto reduce = cast<stablehlo::ReduceWindowOp>(op);
  size_t count = operands.size() / 2;
  ArrayRef<Tensor> inputs = operands.take_front(count);
  int64_t rank = inputs[0].rank();
  SmallVector<WindowDim> window = windowOf(reduce, rank);
  SmallVector<int64_t> sizes;
  for (int64_t dim = 0; dim < rank; ++dim) {
    window[dim].size = reduce.getWindowDimensions()[dim];
    sizes.push_back(window[dim].size);
    if (auto dilations = reduce.getBaseDilations())
      window[dim].baseDilation = (*dilations)[dim];
    if (auto dilations = reduce.getWindowDilations())
      window[dim].windowDilation = (*dilations)[dim];
  }
  for (size_t i = 0; i < count; ++i)
    results.push_back(Tensor(resultType(op, i)));
  if (results[0].size() == 0)
    return success();
  Index index(rank, 0);
  do {
    SmallVector<Element> running;
    for (size_t i = 0; i < count; ++i)
      running.push_back(operands[count + i].elements.front());
    Index inside(rank, 0);
    do {
      auto base = basePosition(window, index, inside, inputs[0].shape());
      SmallVector<Element> elements;
      for (size_t i = 0; i < count; ++i)
        elements.push_back(base ? inputs[i].at(*base)
                                : operands[count + i].elements.front());
      if (failed(combine(interpreter, reduce.getBody(), running, elements)))
        return failure();
    } while (next(inside, sizes));
    for (auto [result, element] : llvm::zip_equal(results, running))
      result.at(index) = round(element, result.elementType());
  } while (next(index, results[0].shape()));
  return success();
}

/// Each source element goes to the operand element its window selects.
LogicalResult evaluateSelectAndScatter(Operation *op, Interpreter &interpreter,
                                       ArrayRef<Tensor> operands,
                                       Tensors &results) {
  auto select = cast<stablehlo::SelectAndScatterOp>(op);
  const Tensor &operand = operands[0], &source = operands[1];
  int64_t rank = operand.rank();
  SmallVector<WindowDim> window = windowOf(select, rank);
  SmallVector<int64_t> sizes(rank, 1);
  if (auto dimensions = select.getWindowDimensions())
    sizes.assign(dimensions->begin(), dimensions->end());
  Tensor result(resultType(op));
  for (Element &element : result.elements)
    element = operands[2].elements.front();
  if (source.size() != 0) {
    Index index(rank, 0);
    do {
      std::optional<Index> selected;
      Index inside(rank, 0);
      do {
        auto base = basePosition(window, index, inside, operand.shape());
        if (!base)
          continue;
        if (!selected) {
          selected = base;
          continue;
        }
        auto keeps = interpreter.reduce(
            select.getSelect(), {operand.at(*selected), operand.at(*base)});
        if (failed(keeps))
          return failure();
        if (keeps->front().integer == 0)
          selected = base;
      } while (next(inside, sizes));
      if (!selected)
        continue;
      auto combined = interpreter.reduce(
          select.getScatter(), {result.at(*selected), source.at(index)});
      if (failed(combined))
        return failure();
      // As in a scatter, what lies there has the type of the result.
      result.at(*selected) =
          roundUpdate(combined->front(), result.elementType());
    } while (next(index, source.shape()));
  }
  for (Element &element : result.elements)
    element = round(element, result.elementType());
  results.push_back(std::move(result));
  return success();
}

} // namespace

ArrayRef<Evaluator> reference::reductionEvaluators() {
  static const Evaluator table[] = {
      {"stablehlo.reduce", evaluateReduce},
      {"stablehlo.reduce_window", evaluateReduceWindow},
      {"stablehlo.select_and_scatter", evaluateSelectAndScatter},
  };
  return table;
}
