//===- VerifyWindow.cpp - Constraints of windowed reductions -------------===//
//
// The window arithmetic of VerifyWindow.h and the verifiers of reduce_window
// and select_and_scatter. Labels are the constraint numbers of the StableHLO
// specification.
//
//===----------------------------------------------------------------------===//

#include "tenon/Dialect/StableHLO/VerifyWindow.h"

#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Support/CheckedArithmetic.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::stablehlo;

/// (size - 1) * dilation + 1, 0 for an empty dimension.
static std::optional<int64_t> dilate(int64_t size, int64_t dilation) {
  if (size == 0)
    return 0;
  std::optional<int64_t> product = mulChecked(size - 1, dilation);
  return product ? addChecked(*product, 1) : std::nullopt;
}

std::optional<int64_t>
tenon::stablehlo::countWindows(const WindowDimension &dimension) {
  if (ShapedType::isDynamic(dimension.size) ||
      ShapedType::isDynamic(dimension.window))
    return ShapedType::kDynamic;
  std::optional<int64_t> padded =
      dilate(dimension.size, dimension.baseDilation);
  if (padded)
    padded = addChecked(*padded, dimension.low);
  if (padded)
    padded = addChecked(*padded, dimension.high);
  std::optional<int64_t> window =
      dilate(dimension.window, dimension.windowDilation);
  if (!padded || !window)
    return std::nullopt;
  if (*padded == 0 || *window > *padded)
    return 0;
  return (*padded - *window) / dimension.stride + 1;
}

LogicalResult tenon::stablehlo::readPadding(
    Operation *op, DenseIntElementsAttr padding, int64_t rows,
    SmallVectorImpl<std::pair<int64_t, int64_t>> &pairs) {
  if (!padding) {
    pairs.assign(rows, {0, 0});
    return success();
  }
  if (failed(checkShape(op, "padding", padding.getType().getShape(), {rows, 2},
                        "low and high padding of each dimension")))
    return failure();
  if (!padding.getElementType().isInteger(64))
    return op->emitOpError() << "'padding' has element type "
                             << padding.getElementType() << ", expected i64";
  auto values = padding.getValues<int64_t>();
  for (int64_t row = 0; row < rows; ++row)
    pairs.push_back({values[2 * row], values[2 * row + 1]});
  return success();
}

SmallVector<int64_t>
tenon::stablehlo::readEntries(std::optional<ArrayRef<int64_t>> entries,
                              int64_t count, int64_t missing) {
  return entries ? SmallVector<int64_t>(*entries)
                 : SmallVector<int64_t>(count, missing);
}

LogicalResult tenon::stablehlo::checkExtents(Operation *op, Subject list,
                                             ArrayRef<int64_t> entries,
                                             int64_t count, StringRef reason) {
  if (failed(checkCount(op, list, entries.size(), count, reason)))
    return failure();
  return checkAtLeast(op, list, entries, 1);
}

/// The shape [countWindows(...), ...], or an error that names the dimension
/// whose numbers leave the 64-bit range.
static LogicalResult windowShape(Operation *op,
                                 ArrayRef<WindowDimension> dimensions,
                                 SmallVectorImpl<int64_t> &shape) {
  for (auto [i, dimension] : llvm::enumerate(dimensions)) {
    std::optional<int64_t> count = countWindows(dimension);
    if (!count)
      return op->emitOpError()
             << "window of dimension " << i
             << " overflows 64-bit arithmetic after padding and dilation";
    shape.push_back(*count);
  }
  return success();
}

LogicalResult ReduceWindowOp::verify() {
  // reduce_window_c1, reduce_window_c2, reduce_window_c3, reduce_window_i2
  if (failed(checkReducedOperands(*this, getInputs(), getInitValues())))
    return failure();
  ArrayRef<int64_t> shape = shapeOf(getInputs()[0]);
  int64_t rank = shape.size();

  StringRef perDimension = "one for each dimension of 'inputs'";
  ArrayRef<int64_t> window = getWindowDimensions();
  // reduce_window_c4, reduce_window_c5
  if (failed(
          checkExtents(*this, "window_dimensions", window, rank, perDimension)))
    return failure();
  SmallVector<int64_t> strides = readEntries(getWindowStrides(), rank);
  // reduce_window_c6, reduce_window_c7
  if (failed(
          checkExtents(*this, "window_strides", strides, rank, perDimension)))
    return failure();
  SmallVector<int64_t> baseDilations = readEntries(getBaseDilations(), rank);
  // reduce_window_c8, reduce_window_c9
  if (failed(checkExtents(*this, "base_dilations", baseDilations, rank,
                          perDimension)))
    return failure();
  SmallVector<int64_t> windowDilations =
      readEntries(getWindowDilations(), rank);
  // reduce_window_c10, reduce_window_c11
  if (failed(checkExtents(*this, "window_dilations", windowDilations, rank,
                          perDimension)))
    return failure();
  // reduce_window_c12
  SmallVector<std::pair<int64_t, int64_t>> padding;
  if (failed(readPadding(*this, getPaddingAttr(), rank, padding)))
    return failure();
  // reduce_window_c13
  SmallVector<Type> elementTypes, accumulators;
  for (Value input : getInputs())
    elementTypes.push_back(elementTypeOf(input.getType()));
  if (failed(
          checkReducer(*this, "body", getBody(), elementTypes, accumulators)))
    return failure();

  SmallVector<WindowDimension> dimensions;
  for (int64_t i = 0; i < rank; ++i)
    dimensions.push_back({shape[i], window[i], strides[i], padding[i].first,
                          padding[i].second, baseDilations[i],
                          windowDilations[i]});
  SmallVector<int64_t> expected;
  if (failed(windowShape(*this, dimensions, expected)))
    return failure();
  for (int64_t i = 0, count = getInputs().size(); i < count; ++i) {
    Type result = getResult(i).getType();
    // reduce_window_c14
    if (failed(checkSameShape(*this, {"results", 0}, getResult(0).getType(),
                              {"results", i}, result)))
      return failure();
    // reduce_window_c15
    if (failed(checkShape(*this, {"results", i}, shapeOf(result), expected,
                          "the number of windows in each dimension")))
      return failure();
    // reduce_window_c16
    if (failed(checkAccumulated(*this, {"results", i}, result, accumulators[i],
                                "body")))
      return failure();
  }
  return success();
}

LogicalResult SelectAndScatterOp::verify() {
  Type operand = getOperand().getType();
  Type element = elementTypeOf(operand);
  ArrayRef<int64_t> shape = shapeOf(operand);
  int64_t rank = shape.size();
  // select_and_scatter_c1
  if (failed(checkSameElementType(*this, "operand", operand, "source",
                                  getSource().getType())))
    return failure();
  // select_and_scatter_c3
  if (failed(checkSameElementType(*this, "operand", operand, "init_value",
                                  getInitValue().getType())))
    return failure();
  // select_and_scatter_i3
  if (failed(checkScalar(*this, "init_value", getInitValue().getType())))
    return failure();

  StringRef perDimension = "one for each dimension of 'operand'";
  SmallVector<int64_t> window = readEntries(getWindowDimensions(), rank);
  // select_and_scatter_c4, select_and_scatter_c5
  if (failed(
          checkExtents(*this, "window_dimensions", window, rank, perDimension)))
    return failure();
  SmallVector<int64_t> strides = readEntries(getWindowStrides(), rank);
  // select_and_scatter_c6, select_and_scatter_c7
  if (failed(
          checkExtents(*this, "window_strides", strides, rank, perDimension)))
    return failure();
  // select_and_scatter_c8
  SmallVector<std::pair<int64_t, int64_t>> padding;
  if (failed(readPadding(*this, getPaddingAttr(), rank, padding)))
    return failure();

  SmallVector<WindowDimension> dimensions;
  for (int64_t i = 0; i < rank; ++i)
    dimensions.push_back(
        {shape[i], window[i], strides[i], padding[i].first, padding[i].second});
  SmallVector<int64_t> windows;
  if (failed(windowShape(*this, dimensions, windows)))
    return failure();
  // select_and_scatter_c2
  if (failed(checkShape(*this, "source", shapeOf(getSource()), windows,
                        "the number of windows in each dimension")))
    return failure();

  // select_and_scatter_c9
  Type scalar = RankedTensorType::get({}, element);
  Type predicate = RankedTensorType::get({}, IntegerType::get(getContext(), 1));
  if (failed(checkRegionArguments(*this, "select", getSelect(),
                                  {scalar, scalar})) ||
      failed(checkRegionResults(*this, "select", getSelect(), {predicate})))
    return failure();
  // select_and_scatter_c10
  SmallVector<Type> accumulators;
  if (failed(checkReducer(*this, "scatter", getScatter(), {element},
                          accumulators)))
    return failure();
  // select_and_scatter_c11
  Type result = getResult().getType();
  if (failed(checkSameShape(*this, "operand", operand, "result", result)))
    return failure();
  // select_and_scatter_c12
  return checkAccumulated(*this, "result", result, accumulators[0], "scatter");
}
