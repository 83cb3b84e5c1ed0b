//===- DescribeConvolution.cpp - A convolution and its gradients ---------===//
//
// StableHLO has one convolution; a training step uses it in three ways, which
// libraries treat apart. With x the input, w the kernel and y the output of a
// forward convolution of stride s and kernel dilation d:
//
//   forward          conv(x, w)                       strides s, rhs dilation d
//   data gradient    conv(dy, mirrored w)             lhs dilation s, rhs
//   dilation d weight gradient  conv(x, dy), batch as feature    strides d, rhs
//   dilation s
//
// All three are the same sum, so reading one as another changes no value; the
// choice only decides which code runs.
//
//===----------------------------------------------------------------------===//

#include "tenon/Fusion/LibraryCandidates.h"

#include "tenon/Analysis/ElementTypes.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Fusion/StridedView.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::fusion;
using libraries::ConvolutionDescription;
using libraries::ConvolutionKind;

namespace {

/// The window along one spatial dimension, as the operation states it.
struct Window {
  int64_t stride = 1, lhsDilation = 1, rhsDilation = 1;
  int64_t padLow = 0, padHigh = 0;
  bool reversed = false;
};

SmallVector<Window> windowsOf(stablehlo::ConvolutionOp op, size_t count) {
  SmallVector<Window> windows(count);
  for (size_t i = 0; i < count; ++i) {
    Window &window = windows[i];
    if (auto strides = op.getWindowStrides())
      window.stride = (*strides)[i];
    if (auto dilation = op.getLhsDilation())
      window.lhsDilation = (*dilation)[i];
    if (auto dilation = op.getRhsDilation())
      window.rhsDilation = (*dilation)[i];
    if (auto reversal = op.getWindowReversal())
      window.reversed = (*reversal)[i];
    if (auto padding = op.getPadding()) {
      window.padLow = padding->getValues<int64_t>()[{i, 0}];
      window.padHigh = padding->getValues<int64_t>()[{i, 1}];
    }
  }
  return windows;
}

int64_t product(ArrayRef<int64_t> shape, ArrayRef<int64_t> dims) {
  int64_t total = 1;
  for (int64_t dim : dims)
    total *= shape[dim];
  return total;
}

/// Whether the program leaves open how exactly a convolution is computed, which
/// is what precision DEFAULT says.
bool mayTransform(stablehlo::ConvolutionOp op) {
  std::optional<ArrayAttr> precisions = op.getPrecisionConfig();
  return !precisions ||
         llvm::all_of(
             precisions->getAsRange<stablehlo::PrecisionAttr>(),
             [](stablehlo::PrecisionAttr precision) {
               return precision.getValue() == stablehlo::Precision::DEFAULT;
             });
}

} // namespace

std::optional<LibraryCandidate>
fusion::describeConvolution(Operation *op, std::string &whyNot) {
  auto convolution = cast<stablehlo::ConvolutionOp>(op);
  auto numbers = convolution.getDimensionNumbers();
  auto resultType = cast<RankedTensorType>(convolution.getType());
  ArrayRef<int64_t> lhsSpatial = numbers.getInputSpatialDimensions();
  ArrayRef<int64_t> rhsSpatial = numbers.getKernelSpatialDimensions();
  ArrayRef<int64_t> resultSpatial = numbers.getOutputSpatialDimensions();
  size_t rank = lhsSpatial.size();
  if (rank < 1 || rank > 3) {
    whyNot = "other than one to three spatial dimensions";
    return std::nullopt;
  }
  if (convolution.getBatchGroupCount() != 1) {
    whyNot = "batch groups";
    return std::nullopt;
  }
  auto lhsElement =
      cast<RankedTensorType>(convolution.getLhs().getType()).getElementType();
  auto rhsElement =
      cast<RankedTensorType>(convolution.getRhs().getType()).getElementType();
  auto type = elementTypeOf(lhsElement);
  auto resultElement = elementTypeOf(resultType.getElementType());
  if (!type || !resultElement || lhsElement != rhsElement) {
    whyNot = "operands of different element types";
    return std::nullopt;
  }
  SmallVector<Window> windows = windowsOf(convolution, rank);
  int64_t groups = convolution.getFeatureGroupCount();

  // A mirrored kernel is a `reverse` of all its spatial dimensions, or a
  // reversed window; both together cancel.
  Value kernel = convolution.getRhs();
  SmallVector<Operation *> absorbed;
  bool mirrored =
      llvm::all_of(windows, [](const Window &w) { return w.reversed; });
  if (!mirrored &&
      llvm::any_of(windows, [](const Window &w) { return w.reversed; })) {
    whyNot = "a window reversed along some dimensions only";
    return std::nullopt;
  }
  if (auto reverse = kernel.getDefiningOp<stablehlo::ReverseOp>()) {
    SmallVector<int64_t> dims = llvm::to_vector(reverse.getDimensions());
    SmallVector<int64_t> spatial = llvm::to_vector(rhsSpatial);
    llvm::sort(dims);
    llvm::sort(spatial);
    if (dims == spatial) {
      mirrored = !mirrored;
      absorbed.push_back(reverse);
      kernel = reverse.getOperand();
    }
  }
  StridedView lhs = stridedView(op, convolution.getLhs()),
              rhs = stridedView(op, kernel);
  SmallVector<int64_t> resultStrides = rowMajorStrides(resultType.getShape());
  ArrayRef<int64_t> resultShape = resultType.getShape();

  bool dilatedInput =
      llvm::any_of(windows, [](const Window &w) { return w.lhsDilation != 1; });
  bool unitStrides =
      llvm::all_of(windows, [](const Window &w) { return w.stride == 1; });
  ConvolutionKind kind = ConvolutionKind::forward;
  if (dilatedInput || (mirrored && unitStrides))
    kind = ConvolutionKind::dataGradient;
  else if (product(rhs.shape, rhsSpatial) > product(resultShape, resultSpatial))
    kind = ConvolutionKind::weightGradient;
  if (kind != ConvolutionKind::forward && groups != 1) {
    whyNot = "a gradient with feature groups";
    return std::nullopt;
  }
  if (kind == ConvolutionKind::dataGradient && !unitStrides) {
    whyNot = "a dilated input with window strides";
    return std::nullopt;
  }
  if (kind == ConvolutionKind::weightGradient && mirrored) {
    whyNot = "a mirrored weight gradient";
    return std::nullopt;
  }

  int64_t lhsBatch = numbers.getInputBatchDimension();
  int64_t lhsFeature = numbers.getInputFeatureDimension();
  int64_t rhsInput = numbers.getKernelInputFeatureDimension();
  int64_t rhsOutput = numbers.getKernelOutputFeatureDimension();
  int64_t resultBatch = numbers.getOutputBatchDimension();
  int64_t resultFeature = numbers.getOutputFeatureDimension();

  ConvolutionDescription description;
  description.kind = kind;
  description.type = *type;
  description.resultType = *resultElement;
  description.groups = groups;
  description.mayTransform = mayTransform(convolution);
  switch (kind) {
  case ConvolutionKind::forward:
    description.batch = lhs.shape[lhsBatch];
    description.inputChannels = lhs.shape[lhsFeature];
    description.outputChannels = resultShape[resultFeature];
    description.inputStrideBatch = lhs.strides[lhsBatch];
    description.inputStrideChannel = lhs.strides[lhsFeature];
    description.outputStrideBatch = resultStrides[resultBatch];
    description.outputStrideChannel = resultStrides[resultFeature];
    description.kernelStrideInput = rhs.strides[rhsInput];
    description.kernelStrideOutput = rhs.strides[rhsOutput];
    description.kernelStrideGroup =
        rhs.strides[rhsOutput] * (rhs.shape[rhsOutput] / groups);
    description.mirroredKernel = mirrored;
    break;
  case ConvolutionKind::dataGradient:
    description.batch = lhs.shape[lhsBatch];
    description.outputChannels = lhs.shape[lhsFeature];
    description.inputChannels = resultShape[resultFeature];
    description.outputStrideBatch = lhs.strides[lhsBatch];
    description.outputStrideChannel = lhs.strides[lhsFeature];
    description.inputStrideBatch = resultStrides[resultBatch];
    description.inputStrideChannel = resultStrides[resultFeature];
    description.kernelStrideOutput = rhs.strides[rhsInput];
    description.kernelStrideInput = rhs.strides[rhsOutput];
    description.kernelStrideGroup = 0;
    description.mirroredKernel = !mirrored;
    break;
  case ConvolutionKind::weightGradient:
    description.batch = lhs.shape[lhsFeature];
    description.inputChannels = lhs.shape[lhsBatch];
    description.outputChannels = rhs.shape[rhsOutput];
    description.inputStrideBatch = lhs.strides[lhsFeature];
    description.inputStrideChannel = lhs.strides[lhsBatch];
    description.outputStrideBatch = rhs.strides[rhsInput];
    description.outputStrideChannel = rhs.strides[rhsOutput];
    description.kernelStrideInput = resultStrides[resultBatch];
    description.kernelStrideOutput = resultStrides[resultFeature];
    description.kernelStrideGroup = 0;
    break;
  }

  for (size_t i = 0; i < rank; ++i) {
    const Window &window = windows[i];
    int64_t l = lhsSpatial[i], r = rhsSpatial[i], o = resultSpatial[i];
    ConvolutionDescription::Spatial dim;
    switch (kind) {
    case ConvolutionKind::forward:
      dim = {lhs.shape[l],
             rhs.shape[r],
             resultShape[o],
             window.stride,
             window.rhsDilation,
             window.padLow,
             0,
             lhs.strides[l],
             rhs.strides[r],
             resultStrides[o]};
      break;
    case ConvolutionKind::dataGradient:
      dim = {resultShape[o],
             rhs.shape[r],
             lhs.shape[l],
             window.lhsDilation,
             window.rhsDilation,
             (rhs.shape[r] - 1) * window.rhsDilation - window.padLow,
             0,
             resultStrides[o],
             rhs.strides[r],
             lhs.strides[l]};
      break;
    case ConvolutionKind::weightGradient:
      dim = {lhs.shape[l],
             resultShape[o],
             rhs.shape[r],
             window.rhsDilation,
             window.stride,
             window.padLow,
             0,
             lhs.strides[l],
             resultStrides[o],
             rhs.strides[r]};
      break;
    }
    // The least high padding that gives this output. Where the stride skips a
    // remainder of the input it comes out negative, and none says the same.
    dim.padHigh = (dim.output - 1) * dim.stride +
                  (dim.kernel - 1) * dim.dilation + 1 - dim.input - dim.padLow;
    if (dim.padHigh < 0 && dim.padHigh + dim.stride > 0)
      dim.padHigh = 0;
    description.spatial.push_back(dim);
  }

  LibraryCandidate candidate;
  candidate.operations.append(lhs.operations);
  for (Operation *through : rhs.operations)
    if (!llvm::is_contained(candidate.operations, through))
      candidate.operations.push_back(through);
  candidate.operations.append(absorbed);
  candidate.operations.push_back(op);
  candidate.operands = {lhs.source, rhs.source};
  if (kind == ConvolutionKind::dataGradient)
    candidate.operands = {lhs.source, rhs.source}; // output, kernel
  candidate.description = std::move(description);
  return candidate;
}
