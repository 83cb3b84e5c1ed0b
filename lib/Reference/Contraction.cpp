//===- Contraction.cpp - dot_general and convolution ----------------------===//
//
// Sums of products in row-major order of the contracted indices, accumulated in
// f32 for f32 and narrower types, in f64 for f64, wrapping for integers; of
// booleans, whether any product holds.
//
//===----------------------------------------------------------------------===//

#include "Evaluators.h"

#include "tenon/Dialect/StableHLO/StableHLO.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::reference;

namespace {

/// A running sum of products.
class Accumulator {
public:
  explicit Accumulator(Type result)
      : result(result), complex(isComplex(result)), real(isFloat(result)),
        wide((complex ? cast<ComplexType>(result).getElementType() : result)
                 .isF64()) {}

  void add(const Element &x, const Element &y) {
    if (complex) {
      addTo(sum, x.real, y.real, 1);
      addTo(sum, x.imaginary, y.imaginary, -1);
      addTo(imaginary, x.real, y.imaginary, 1);
      addTo(imaginary, x.imaginary, y.real, 1);
    } else if (result.isInteger(1)) {
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
  bool complex, real, wide;
  double sum = 0, imaginary = 0;
  uint64_t integer = 0;
};

LogicalResult evaluateDot(Operation *op, Interpreter &,
                          ArrayRef<Tensor> operands, Tensors &results) {
  auto dims = cast<stablehlo::DotGeneralOp>(op).getDotDimensionNumbers();
  const Tensor &lhs = operands[0], &rhs = operands[1];
  Tensor result(resultType(op));
  SmallVector<int64_t> lhsFree, rhsFree, extents;
  for (int64_t dim = 0; dim < lhs.rank(); ++dim)
    if (!llvm::is_contained(dims.getLhsBatchingDimensions(), dim) &&
        !llvm::is_contained(dims.getLhsContractingDimensions(), dim))
      lhsFree.push_back(dim);
  for (int64_t dim = 0; dim < rhs.rank(); ++dim)
    if (!llvm::is_contained(dims.getRhsBatchingDimensions(), dim) &&
        !llvm::is_contained(dims.getRhsContractingDimensions(), dim))
      rhsFree.push_back(dim);
  for (int64_t dim : dims.getLhsContractingDimensions())
    extents.push_back(lhs.shape()[dim]);
  bool empty = llvm::is_contained(extents, 0);
  if (result.size() != 0) {
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
      Index inner(extents.size(), 0);
      if (!empty)
        do {
          for (auto [i, l, r] :
               llvm::zip_equal(inner, dims.getLhsContractingDimensions(),
                               dims.getRhsContractingDimensions())) {
            left[l] = i;
            right[r] = i;
          }
          sum.add(lhs.at(left), rhs.at(right));
        } while (next(inner, extents));
      result.at(index) = sum.value();
    } while (next(index, result.shape()));
  }
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
