//===- VerifyConvolution.cpp - Constraints of convolution ----------------===//
//
// The verifier of convolution. Labels are the constraint numbers of the
// StableHLO specification.
//
//===----------------------------------------------------------------------===//

#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/StableHLO/VerifyQuantized.h"
#include "tenon/Dialect/StableHLO/VerifyWindow.h"

#include "mlir/Dialect/Quant/IR/QuantTypes.h"

using namespace mlir;
using namespace tenon::stablehlo;

namespace {

/// The window of every spatial dimension; the attributes hold one entry each or
/// are missing.
struct Window {
  SmallVector<int64_t> strides, lhsDilation, rhsDilation;
  SmallVector<std::pair<int64_t, int64_t>> padding;
};

} // namespace

static LogicalResult readWindow(ConvolutionOp op, int64_t spatialRank,
                                Window &window) {
  StringRef perDimension = "one for each spatial dimension";
  window.strides = readEntries(op.getWindowStrides(), spatialRank);
  // convolution_c2, convolution_c3
  if (failed(checkExtents(op, "window_strides", window.strides, spatialRank,
                          perDimension)))
    return failure();
  // convolution_c4
  if (failed(readPadding(op, op.getPaddingAttr(), spatialRank, window.padding)))
    return failure();
  window.lhsDilation = readEntries(op.getLhsDilation(), spatialRank);
  // convolution_c5, convolution_c6
  if (failed(checkExtents(op, "lhs_dilation", window.lhsDilation, spatialRank,
                          perDimension)))
    return failure();
  window.rhsDilation = readEntries(op.getRhsDilation(), spatialRank);
  // convolution_c7, convolution_c8
  if (failed(checkExtents(op, "rhs_dilation", window.rhsDilation, spatialRank,
                          perDimension)))
    return failure();
  // convolution_c9
  std::optional<ArrayRef<bool>> reversal = op.getWindowReversal();
  return reversal ? checkCount(op, "window_reversal", reversal->size(),
                               spatialRank, perDimension)
                  : success();
}

/// One side's dimension numbers: as many spatial ones as the operation has, all
/// of them distinct dimensions of `tensor`.
static LogicalResult checkSide(Operation *op, Subject all, Subject tensor,
                               int64_t rank, int64_t batch, int64_t feature,
                               ArrayRef<int64_t> spatial) {
  SmallVector<int64_t> dims{batch, feature};
  dims.append(spatial.begin(), spatial.end());
  if (failed(checkDimensions(op, all, dims, tensor, rank)))
    return failure();
  return checkUnique(op, all, dims);
}

static LogicalResult checkDimensionNumbers(ConvolutionOp op,
                                           ConvDimensionNumbersAttr numbers,
                                           int64_t rank) {
  StringRef perDimension = "one for each spatial dimension";
  // convolution_c12
  if (failed(checkCount(op, "input_spatial_dimensions",
                        numbers.getInputSpatialDimensions().size(), rank - 2,
                        perDimension)))
    return failure();
  // convolution_c13
  if (failed(checkSide(op, "input_dimensions", "lhs", rank,
                       numbers.getInputBatchDimension(),
                       numbers.getInputFeatureDimension(),
                       numbers.getInputSpatialDimensions())))
    return failure();
  // convolution_c17
  if (failed(checkCount(op, "kernel_spatial_dimensions",
                        numbers.getKernelSpatialDimensions().size(), rank - 2,
                        perDimension)))
    return failure();
  // convolution_c18
  if (failed(checkSide(op, "kernel_dimensions", "rhs", rank,
                       numbers.getKernelInputFeatureDimension(),
                       numbers.getKernelOutputFeatureDimension(),
                       numbers.getKernelSpatialDimensions())))
    return failure();
  // convolution_c19
  if (failed(checkCount(op, "output_spatial_dimensions",
                        numbers.getOutputSpatialDimensions().size(), rank - 2,
                        perDimension)))
    return failure();
  // convolution_c20
  return checkSide(op, "output_dimensions", "result", rank,
                   numbers.getOutputBatchDimension(),
                   numbers.getOutputFeatureDimension(),
                   numbers.getOutputSpatialDimensions());
}

static LogicalResult checkDivisible(Operation *op, Subject tensor,
                                    ArrayRef<int64_t> shape, int64_t dimension,
                                    Subject by, int64_t count) {
  if (ShapedType::isDynamic(shape[dimension]) || shape[dimension] % count == 0)
    return success();
  return op->emitOpError() << "dimension " << dimension << " of " << tensor
                           << " has size " << shape[dimension]
                           << ", expected a multiple of " << by << " = "
                           << count;
}

static LogicalResult checkFeatureGroups(ConvolutionOp op,
                                        ConvDimensionNumbersAttr numbers) {
  ArrayRef<int64_t> lhs = shapeOf(op.getLhs()), rhs = shapeOf(op.getRhs());
  int64_t featureGroups = op.getFeatureGroupCount();
  int64_t batchGroups = op.getBatchGroupCount();
  // convolution_c21
  if (failed(checkAtLeast(op, "feature_group_count", featureGroups, 1)))
    return failure();
  // convolution_c22
  if (failed(checkAtLeast(op, "batch_group_count", batchGroups, 1)))
    return failure();
  // convolution_c23
  if (featureGroups != 1 && batchGroups != 1)
    return op.emitOpError() << "'feature_group_count' is " << featureGroups
                            << " and 'batch_group_count' is " << batchGroups
                            << ", expected one of them to be 1";
  // convolution_c10
  if (failed(checkDivisible(op, "lhs", lhs, numbers.getInputBatchDimension(),
                            "batch_group_count", batchGroups)))
    return failure();
  // convolution_c11
  if (failed(checkDivisible(op, "lhs", lhs, numbers.getInputFeatureDimension(),
                            "feature_group_count", featureGroups)))
    return failure();
  // convolution_c14
  int64_t inputFeatures = lhs[numbers.getInputFeatureDimension()];
  int64_t kernelDimension = numbers.getKernelInputFeatureDimension();
  if (!ShapedType::isDynamic(inputFeatures) &&
      !agree(rhs[kernelDimension], inputFeatures / featureGroups))
    return op.emitOpError()
           << "dimension " << kernelDimension << " of 'rhs' has size "
           << rhs[kernelDimension] << ", expected "
           << inputFeatures / featureGroups << ", the size " << inputFeatures
           << " of dimension " << numbers.getInputFeatureDimension()
           << " of 'lhs' divided by 'feature_group_count' = " << featureGroups;
  // convolution_c15
  int64_t outputFeature = numbers.getKernelOutputFeatureDimension();
  if (failed(checkDivisible(op, "rhs", rhs, outputFeature, "batch_group_count",
                            batchGroups)))
    return failure();
  // convolution_c16
  return checkDivisible(op, "rhs", rhs, outputFeature, "feature_group_count",
                        featureGroups);
}

static LogicalResult checkResult(ConvolutionOp op,
                                 ConvDimensionNumbersAttr numbers,
                                 const Window &window) {
  ArrayRef<int64_t> lhs = shapeOf(op.getLhs()), rhs = shapeOf(op.getRhs());
  SmallVector<int64_t> expected(lhs.size());
  int64_t batch = lhs[numbers.getInputBatchDimension()];
  expected[numbers.getOutputBatchDimension()] =
      ShapedType::isDynamic(batch) ? batch
                                   : batch / int64_t(op.getBatchGroupCount());
  expected[numbers.getOutputFeatureDimension()] =
      rhs[numbers.getKernelOutputFeatureDimension()];
  for (size_t i = 0, e = window.strides.size(); i < e; ++i) {
    std::optional<int64_t> count = countWindows(
        {lhs[numbers.getInputSpatialDimensions()[i]],
         rhs[numbers.getKernelSpatialDimensions()[i]], window.strides[i],
         window.padding[i].first, window.padding[i].second,
         window.lhsDilation[i], window.rhsDilation[i]});
    if (!count)
      return op.emitOpError()
             << "window of spatial dimension " << i
             << " overflows 64-bit arithmetic after padding and dilation";
    expected[numbers.getOutputSpatialDimensions()[i]] = *count;
  }
  // convolution_c25, convolution_c26
  return checkShape(op, "result", shapeOf(op.getResult()), expected,
                    "batch, features and number of windows");
}

/// Element types of a convolution of quantized operands.
static LogicalResult checkQuantized(ConvolutionOp op,
                                    ConvDimensionNumbersAttr numbers, Type lhs,
                                    Type rhs, Type result) {
  // convolution_c28
  if (!isa<quant::QuantizedType>(rhs) ||
      isa<quant::QuantizedType>(lhs) != isa<quant::QuantizedType>(result))
    return op.emitOpError()
           << "element types are " << lhs << ", " << rhs << " and " << result
           << ", expected 'rhs' to be quantized, and 'lhs' if and only if "
              "'result' is";
  // convolution_c29
  if (failed(checkQuantizedAlong(op, "rhs", rhs,
                                 numbers.getKernelOutputFeatureDimension(),
                                 "the kernel's output feature dimension")))
    return failure();
  // convolution_c30
  if (failed(checkQuantizedAlong(op, "result", result,
                                 numbers.getOutputFeatureDimension(),
                                 "the output feature dimension")))
    return failure();
  if (!isa<quant::QuantizedType>(lhs))
    // convolution_c34
    return checkExpressedTypes(op, lhs, rhs, result);
  // convolution_c31
  if (failed(checkStorageTypes(op, lhs, rhs)))
    return failure();
  // convolution_c32
  if (failed(checkExpressedTypes(op, lhs, rhs, result)))
    return failure();
  // convolution_c33
  return checkPerTensorResult(op, rhs, result);
}

static LogicalResult checkElementTypes(ConvolutionOp op,
                                       ConvDimensionNumbersAttr numbers) {
  Type lhs = elementTypeOf(op.getLhs().getType());
  Type rhs = elementTypeOf(op.getRhs().getType());
  Type result = elementTypeOf(op.getResult().getType());
  if (isa<quant::QuantizedType>(lhs) || isa<quant::QuantizedType>(rhs) ||
      isa<quant::QuantizedType>(result))
    return checkQuantized(op, numbers, lhs, rhs, result);
  // convolution_c27. Exporters ask for sums in a wider type by the result's
  // type, floating-point sums of integers included, which is more than the
  // constraint allows.
  if (failed(checkSameElementType(op, "lhs", lhs, "rhs", rhs)))
    return failure();
  bool isFloatSum = isa<IntegerType>(lhs) && isa<FloatType>(result);
  if (!isFloatSum && !isPromotable(lhs, result))
    return op.emitOpError()
           << "'result' has element type " << result << ", expected one that "
           << lhs << " can be promoted to";
  return success();
}

LogicalResult ConvolutionOp::verify() {
  // convolution_c1
  int64_t rank = shapeOf(getLhs()).size();
  int64_t rhsRank = shapeOf(getRhs()).size();
  if (rank != rhsRank || rank < 2)
    return emitOpError() << "'lhs' has rank " << rank << " and 'rhs' has rank "
                         << rhsRank << ", expected equal ranks of at least 2";
  ConvDimensionNumbersAttr numbers = getDimensionNumbers();
  Window window;
  if (failed(readWindow(*this, rank - 2, window)) ||
      failed(checkDimensionNumbers(*this, numbers, rank)) ||
      failed(checkFeatureGroups(*this, numbers)))
    return failure();
  // convolution_c24
  std::optional<ArrayAttr> precision = getPrecisionConfig();
  if (precision && !precision->empty() &&
      failed(checkCount(*this, "precision_config", precision->size(), 2,
                        "one for each operand")))
    return failure();
  if (failed(checkResult(*this, numbers, window)))
    return failure();
  return checkElementTypes(*this, numbers);
}
