//===- Contraction.cpp - dot_general and convolution ----------------------===//
//
// Sums of products in row-major order of the contracted indices, accumulated in
// f32 for f32 and narrower types, in f64 for f64, wrapping for integers; of
// booleans, whether any product holds. A dot with an algorithm is several of
// these, see Analysis/DotAlgorithm.h.
//
//===----------------------------------------------------------------------===//

#include "Evaluators.h"

#include "tenon/Analysis/DotAlgorithm.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"

#include <cmath>

using namespace mlir;
using namespace tenon;
using namespace tenon::reference;

namespace {

/// A running sum of products.
class Accumulator {
public:
  explicit Accumulator(Type result)
      : result(result), complex(isComplex(result)),
        boolean(result.isInteger(1)), real(isFloat(result)),
        wide((complex ? cast<ComplexType>(result).getElementType() : result)
                 .isF64()) {}

  void add(const Element &x, const Element &y) {
    if (complex) {
      addTo(sum, x.real, y.real, 1);
      addTo(sum, x.imaginary, y.imaginary, -1);
      addTo(imaginary, x.real, y.imaginary, 1);
      addTo(imaginary, x.imaginary, y.real, 1);
    } else if (boolean) {
      integer |= uint64_t(x.integer & y.integer);
    } else if (!real)
      integer += uint64_t(x.integer) * uint64_t(y.integer);
    else
      addTo(sum, x.real, y.real, 1);
  }
  Element value() const {
    return round({sum, int64_t(integer), imaginary}, result);
  }

private:
  void addTo(double &total, double x, double y, int sign) const {
    total = wide ? total + sign * (x * y)
                 : float(total + sign * double(float(x * y)));
  }

  Type result;
  bool complex, boolean, real, wide;
  double sum = 0, imaginary = 0;
  uint64_t integer = 0;
};

/// How far the elements that a result sums lie behind the first of them: for
/// all indices of `dims`, the last of which varies fastest.
SmallVector<int64_t> distances(const Tensor &operand, ArrayRef<int64_t> dims) {
  SmallVector<int64_t> found;
  Index index(operand.rank(), 0), inner(dims.size(), 0), extents;
  for (int64_t dim : dims)
    extents.push_back(operand.shape()[dim]);
  if (llvm::is_contained(extents, 0))
    return found;
  do {
    for (auto [dim, i] : llvm::zip_equal(dims, inner))
      index[dim] = i;
    found.push_back(operand.offsetOf(index));
  } while (next(inner, extents));
  return found;
}

/// A plain dot, with a result of `type`.
Tensor multiply(stablehlo::DotDimensionNumbersAttr dims, const Tensor &lhs,
                const Tensor &rhs, RankedTensorType type) {
  Tensor result(type);
  SmallVector<int64_t> lhsFree, rhsFree;
  for (int64_t dim = 0; dim < lhs.rank(); ++dim)
    if (!llvm::is_contained(dims.getLhsBatchingDimensions(), dim) &&
        !llvm::is_contained(dims.getLhsContractingDimensions(), dim))
      lhsFree.push_back(dim);
  for (int64_t dim = 0; dim < rhs.rank(); ++dim)
    if (!llvm::is_contained(dims.getRhsBatchingDimensions(), dim) &&
        !llvm::is_contained(dims.getRhsContractingDimensions(), dim))
      rhsFree.push_back(dim);
  if (result.size() != 0) {
    const SmallVector<int64_t> lhsDistances =
        distances(lhs, dims.getLhsContractingDimensions());
    const SmallVector<int64_t> rhsDistances =
        distances(rhs, dims.getRhsContractingDimensions());
    Index index(result.rank(), 0);
    do {
      Index left(lhs.rank(), 0), right(rhs.rank(), 0);
      size_t at = 0;
      for (auto [l, r] : llvm::zip_equal(dims.getLhsBatchingDimensions(),
                                         dims.getRhsBatchingDimensions()))
        left[l] = right[r] = index[at++];
      for (int64_t dim : lhsFree)
        left[dim] = index[at++];
      for (int64_t dim : rhsFree)
        right[dim] = index[at++];
      Accumulator sum(result.elementType());
      if (!lhsDistances.empty()) {
        const Element *x = &lhs.at(left), *y = &rhs.at(right);
        for (auto [l, r] : llvm::zip_equal(lhsDistances, rhsDistances))
          sum.add(x[l], y[r]);
      }
      result.at(index) = sum.value();
    } while (next(index, result.shape()));
  }
  return result;
}

/// The components of an operand: each is what the ones before left, rounded.
SmallVector<Tensor> componentsOf(const Tensor &operand, FloatType precision,
                                 int64_t count,
                                 const Interpreter &interpreter) {
  Type single = Float32Type::get(operand.type.getContext());
  SmallVector<Tensor> parts;
  Tensor rest = operand;
  for (int64_t i = 0; i < count; ++i) {
    Tensor &part = parts.emplace_back(rest);
    for (auto [element, left] : llvm::zip_equal(part.elements, rest.elements)) {
      element = interpreter.roundTo(left, precision);
      left = std::isfinite(element.real)
                 ? interpreter.roundTo({left.real - element.real}, single)
                 : Element{};
    }
  }
  return parts;
}

LogicalResult evaluateDot(Operation *op, Interpreter &interpreter,
                          ArrayRef<Tensor> operands, Tensors &results) {
  auto dot = cast<stablehlo::DotGeneralOp>(op);
  auto dims = dot.getDotDimensionNumbers();
  if (!dot.getAlgorithm()) {
    results.push_back(multiply(dims, operands[0], operands[1], resultType(op)));
    return success();
  }
  std::string whyNot;
  auto algorithm = DotAlgorithm::of(dot, whyNot);
  if (!algorithm)
    return interpreter.unsupported(op, "asks for an algorithm, " + whyNot +
                                           ", which");
  SmallVector<Tensor> lhs = componentsOf(operands[0], algorithm->lhs,
                                         algorithm->lhsComponents, interpreter),
                      rhs = componentsOf(operands[1], algorithm->rhs,
                                         algorithm->rhsComponents, interpreter);
  RankedTensorType sums = resultType(op).clone(algorithm->sum);
  auto add = [&](Tensor &to, const Tensor &from) {
    for (auto [sum, term] : llvm::zip_equal(to.elements, from.elements))
      sum = interpreter.roundTo({sum.real + term.real}, algorithm->sum);
  };
  Tensor total(sums);
  for (auto [l, r] : ArrayRef(algorithm->products).drop_back())
    add(total, multiply(dims, lhs[l], rhs[r], sums));
  // An infinite factor makes NaN of small products, not of the large one.
  for (Element &element : total.elements)
    if (std::isnan(element.real))
      element.real = 0;
  auto [l, r] = algorithm->products.back();
  Tensor large = multiply(dims, lhs[l], rhs[r], sums);
  if (algorithm->products.size() > 1)
    add(total, large);
  else
    total = std::move(large);
  Tensor result(resultType(op));
  for (auto [element, sum] : llvm::zip_equal(result.elements, total.elements))
    element =
        interpreter.roundTo(interpreter.roundTo(sum, algorithm->accumulation),
                            result.elementType());
  results.push_back(std::move(result));
  return success();
}

struct Window {
  int64_t size, stride = 1, lhsDilation = 1, rhsDilation = 1, low = 0;
  bool reversed = false;
};

LogicalResult evaluateConvolution(Operation *op, Interpreter &,
                                  ArrayRef<Tensor> operands, Tensors &results) {
  auto convolution = cast<stablehlo::ConvolutionOp>(op);
  auto numbers = convolution.getDimensionNumbers();
  const Tensor &lhs = operands[0], &rhs = operands[1];
  Tensor result(resultType(op));
  ArrayRef<int64_t> lhsSpatial = numbers.getInputSpatialDimensions();
  ArrayRef<int64_t> rhsSpatial = numbers.getKernelSpatialDimensions();
  ArrayRef<int64_t> resultSpatial = numbers.getOutputSpatialDimensions();
  SmallVector<Window> windows;
  SmallVector<int64_t> sizes;
  for (size_t i = 0; i < rhsSpatial.size(); ++i) {
    Window window{rhs.shape()[rhsSpatial[i]]};
    if (auto strides = convolution.getWindowStrides())
      window.stride = (*strides)[i];
    if (auto dilation = convolution.getLhsDilation())
      window.lhsDilation = (*dilation)[i];
    if (auto dilation = convolution.getRhsDilation())
      window.rhsDilation = (*dilation)[i];
    if (auto reversal = convolution.getWindowReversal())
      window.reversed = (*reversal)[i];
    if (auto padding = convolution.getPadding())
      window.low = padding->getValues<int64_t>()[{uint64_t(i), 0}];
    windows.push_back(window);
    sizes.push_back(window.size);
  }
  int64_t featureGroups = convolution.getFeatureGroupCount();
  int64_t batchGroups = convolution.getBatchGroupCount();
  int64_t inputs = rhs.shape()[numbers.getKernelInputFeatureDimension()];
  int64_t outputs = result.shape()[numbers.getOutputFeatureDimension()];
  int64_t batches = result.shape()[numbers.getOutputBatchDimension()];
  sizes.push_back(inputs);
  if (result.size() != 0) {
    Index index(result.rank(), 0);
    do {
      int64_t batch = index[numbers.getOutputBatchDimension()];
      int64_t feature = index[numbers.getOutputFeatureDimension()];
      Index left(lhs.rank(), 0), right(rhs.rank(), 0);
      // A group of output features reads its group of input features, or of
      // batches.
      int64_t featureGroup = feature / (outputs / featureGroups);
      int64_t batchGroup = feature / (outputs / batchGroups);
      left[numbers.getInputBatchDimension()] = batch + batchGroup * batches;
      right[numbers.getKernelOutputFeatureDimension()] = feature;
      Accumulator sum(result.elementType());
      Index inner(sizes.size(), 0);
      if (!llvm::is_contained(sizes, 0))
        do {
          bool inside = true;
          for (auto [i, window] : llvm::enumerate(windows)) {
            int64_t position = index[resultSpatial[i]] * window.stride +
                               inner[i] * window.rhsDilation - window.low;
            inside &=
                position >= 0 && position % window.lhsDilation == 0 &&
                position / window.lhsDilation < lhs.shape()[lhsSpatial[i]];
            left[lhsSpatial[i]] = position / window.lhsDilation;
            right[rhsSpatial[i]] =
                window.reversed ? window.size - 1 - inner[i] : inner[i];
          }
          if (!inside)
            continue;
          left[numbers.getInputFeatureDimension()] =
              featureGroup * inputs + inner.back();
          right[numbers.getKernelInputFeatureDimension()] = inner.back();
          sum.add(lhs.at(left), rhs.at(right));
        } while (next(inner, sizes));
      result.at(index) = sum.value();
    } while (next(index, result.shape()));
  }
  results.push_back(std::move(result));
  return success();
}

} // namespace

ArrayRef<Evaluator> reference::contractionEvaluators() {
  static const Evaluator table[] = {
      {"stablehlo.convolution", evaluateConvolution},
      {"stablehlo.dot_general", evaluateDot},
  };
  return table;
}
