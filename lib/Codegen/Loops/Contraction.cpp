//===- Contraction.cpp - dot_general and convolution as one loop nest -----===//
//
// The index maps of the two operations.
//
//===----------------------------------------------------------------------===//

#include "tenon/Codegen/Loops/Contraction.h"

#include "tenon/Analysis/ReductionTree.h"
#include "tenon/Analysis/Shapes.h"
#include "tenon/Codegen/Loops/PointwiseOperations.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace tenon::codegen {

/// 16-bit products are summed in f32, everything else in the result's type or
/// in f64 if an operand is.
static Type sumTypeOf(Value left, Value right, Value result) {
  Type element = computeType(elementOf(result));
  for (Value operand : {left, right})
    if (elementOf(operand).isF64())
      element = elementOf(operand);
  return element;
}

/// What both operations say alike.
template <typename Op>
static Contraction withoutIndices(Op op) {
  Contraction c;
  c.left = op.getLhs();
  c.right = op.getRhs();
  c.output = llvm::to_vector(shapeOf(op.getResult()));
  c.sumType = sumTypeOf(c.left, c.right, op.getResult());
  return c;
}

static Contraction ofDot(stablehlo::DotGeneralOp dot) {
  auto numbers = dot.getDotDimensionNumbers();
  Contraction c = withoutIndices(dot);
  c.mayTurn = elementOf(c.left).isF32() && elementOf(c.right).isF32() &&
              c.sumType.isF32();
  for (int64_t dim : numbers.getLhsContractingDimensions())
    c.sums.push_back(shapeOf(c.left)[dim]);

  // The result has the batching dimensions, the left operand's others, the
  // right operand's others.
  auto mapOf = [](ArrayRef<int64_t> shape, ArrayRef<int64_t> batching,
                  ArrayRef<int64_t> contracting, size_t firstFree) {
    size_t rank = shape.size();
    auto batchDims = llvm::to_vector(batching);
    auto sumDims = llvm::to_vector(contracting);
    return [=](IndexAlgebra &, ArrayRef<IndexExpression> output,
               ArrayRef<IndexExpression> sums) {
      OperandElement element;
      element.indices.resize(rank);
      SmallVector<bool> taken(rank, false);
      for (auto [i, dim] : llvm::enumerate(batchDims)) {
        element.indices[dim] = output[i];
        taken[dim] = true;
      }
      for (auto [i, dim] : llvm::enumerate(sumDims)) {
        element.indices[dim] = sums[i];
        taken[dim] = true;
      }
      size_t next = firstFree;
      for (size_t dim = 0; dim < rank; ++dim)
        if (!taken[dim])
          element.indices[dim] = output[next++];
      return element;
    };
  };
  size_t batches = numbers.getLhsBatchingDimensions().size();
  size_t leftFree = shapeOf(c.left).size() - batches -
                    numbers.getLhsContractingDimensions().size();
  c.leftAt = mapOf(shapeOf(c.left), numbers.getLhsBatchingDimensions(),
                   numbers.getLhsContractingDimensions(), batches);
  c.rightAt = mapOf(shapeOf(c.right), numbers.getRhsBatchingDimensions(),
                    numbers.getRhsContractingDimensions(), batches + leftFree);
  return c;
}

static Contraction ofConvolution(stablehlo::ConvolutionOp convolution) {
  auto numbers = convolution.getDimensionNumbers();
  Contraction c = withoutIndices(convolution);

  ArrayRef<int64_t> input = shapeOf(c.left), kernel = shapeOf(c.right);
  size_t spatial = numbers.getInputSpatialDimensions().size();
  struct Window {
    int64_t stride = 1, low = 0, inputDilation = 1, kernelDilation = 1;
    bool reversed = false;
    int64_t extent, inputExtent;
  };
  SmallVector<Window> windows(spatial);
  auto strides = convolution.getWindowStrides();
  auto inputDilation = convolution.getLhsDilation();
  auto kernelDilation = convolution.getRhsDilation();
  auto reversal = convolution.getWindowReversal();
  for (auto [i, window] : llvm::enumerate(windows)) {
    if (strides)
      window.stride = (*strides)[i];
    if (inputDilation)
      window.inputDilation = (*inputDilation)[i];
    if (kernelDilation)
      window.kernelDilation = (*kernelDilation)[i];
    if (reversal)
      window.reversed = (*reversal)[i];
    if (auto padding = convolution.getPadding())
      window.low = *(padding->getValues<int64_t>().begin() + 2 * i);
    window.extent = kernel[numbers.getKernelSpatialDimensions()[i]];
    window.inputExtent = input[numbers.getInputSpatialDimensions()[i]];
    c.sums.push_back(window.extent);
  }
  int64_t inputFeatures = kernel[numbers.getKernelInputFeatureDimension()];
  c.sums.push_back(inputFeatures);
  int64_t outputFeatures = kernel[numbers.getKernelOutputFeatureDimension()];
  int64_t featureGroup =
      outputFeatures / int64_t(convolution.getFeatureGroupCount());
  int64_t batchGroups = convolution.getBatchGroupCount();
  int64_t batchGroup = outputFeatures / batchGroups;
  int64_t outputBatches = c.output[numbers.getOutputBatchDimension()];
  bool hasFeatureGroups = convolution.getFeatureGroupCount() > 1;

  c.leftAt = [=](IndexAlgebra &algebra, ArrayRef<IndexExpression> output,
                 ArrayRef<IndexExpression> sums) {
    OperandElement element;
    element.indices.resize(spatial + 2);
    const IndexExpression &feature =
        output[numbers.getOutputFeatureDimension()];
    IndexExpression batch = output[numbers.getOutputBatchDimension()];
    if (batchGroups > 1)
      batch = batch + algebra.floorDiv(feature, batchGroup) * outputBatches;
    element.indices[numbers.getInputBatchDimension()] = batch;
    IndexExpression inputFeature = sums.back();
    if (hasFeatureGroups)
      inputFeature = inputFeature +
                     algebra.floorDiv(feature, featureGroup) * inputFeatures;
    element.indices[numbers.getInputFeatureDimension()] = inputFeature;
    for (auto [i, window] : llvm::enumerate(windows)) {
      IndexExpression tap = window.reversed
                                ? IndexExpression(window.extent - 1) - sums[i]
                                : sums[i];
      IndexExpression place =
          output[numbers.getOutputSpatialDimensions()[i]] * window.stride +
          tap * window.kernelDilation - window.low;
      int64_t dilation = window.inputDilation;
      element.inside.emplace_back(place,
                                  (window.inputExtent - 1) * dilation + 1);
      if (dilation > 1)
        element.zero.push_back(algebra.mod(place, dilation));
      element.indices[numbers.getInputSpatialDimensions()[i]] =
          algebra.floorDiv(place, dilation);
    }
    return element;
  };
  c.rightAt = [=](IndexAlgebra &, ArrayRef<IndexExpression> output,
                  ArrayRef<IndexExpression> sums) {
    OperandElement element;
    element.indices.resize(spatial + 2);
    element.indices[numbers.getKernelOutputFeatureDimension()] =
        output[numbers.getOutputFeatureDimension()];
    element.indices[numbers.getKernelInputFeatureDimension()] = sums.back();
    for (size_t i = 0; i < spatial; ++i)
      element.indices[numbers.getKernelSpatialDimensions()[i]] = sums[i];
    return element;
  };
  return c;
}

std::optional<Contraction> Contraction::of(Operation *op) {
  if (auto dot = dyn_cast_or_null<stablehlo::DotGeneralOp>(op))
    return ofDot(dot);
  if (auto convolution = dyn_cast_or_null<stablehlo::ConvolutionOp>(op))
    return ofConvolution(convolution);
  return std::nullopt;
}

LogicalResult checkContraction(Operation *op) {
  if (auto dot = dyn_cast<stablehlo::DotGeneralOp>(op);
      dot && dot.getAlgorithm())
    return op->emitOpError() << "has no code for an algorithm, which import "
                                "writes as plain dots";
  for (Value value :
       {op->getOperand(0), op->getOperand(1), Value(op->getResult(0))}) {
    Type element = elementOf(value);
    if (!element.isIntOrFloat() ||
        (isa<FloatType>(element) && element.getIntOrFloatBitWidth() < 16))
      return op->emitOpError()
             << "has no code for elements of type " << element;
  }
  return success();
}

/// How far the element moves per lane.
static int64_t stepOf(IndexAlgebra &algebra, Value operand,
                      const OperandElement &element) {
  for (auto &[expression, extent] : element.inside)
    if (!algebra.laneForm(expression).isUniform())
      return ContractionSteps::scattered;
  LaneForm form =
      algebra.laneForm(algebra.linearize(element.indices, shapeOf(operand)));
  return form.isUniform()                ? 0
         : form.kind == LaneForm::linear ? form.step
                                         : ContractionSteps::scattered;
}

ContractionAccess Contraction::access() const {
  // A throw-away algebra, in which nothing is ever evaluated.
  OpBuilder builder(left.getContext());
  Block block;
  LoopLevels levels(builder, &block);
  IndexAlgebra algebra(builder, UnknownLoc::get(left.getContext()), levels);
  algebra.lanes = reductionChunk;
  auto variable = [&](int64_t extent, bool isLane) -> IndexExpression {
    if (extent == 1)
      return 0;
    return isLane ? algebra.laneVariable({}, {0, extent - 1}, 0, reductionChunk)
                  : algebra.uniform({}, {0, extent - 1}, 0);
  };
  ContractionAccess access;
  access.shape = withoutUnits(output);
  access.lastSum = sums.empty() ? 1 : sums.back();
  auto stepsAlong = [&](ContractionLanes lanes) {
    const size_t lane =
        access.shape.size() - (lanes == ContractionLanes::rows ? 2 : 1);
    Indices outputAt, sumsAt;
    size_t seen = 0;
    for (int64_t extent : output)
      outputAt.push_back(variable(extent, extent != 1 && seen++ == lane &&
                                              lanes != ContractionLanes::sums));
    for (auto [i, extent] : llvm::enumerate(sums))
      sumsAt.push_back(variable(extent, i + 1 == sums.size() &&
                                            lanes == ContractionLanes::sums));
    auto step = [&](Value operand, const Map &map) {
      int64_t found = stepOf(algebra, operand, map(algebra, outputAt, sumsAt));
      bool isNear = found == 0 || found == 1;
      return isNear || mayTurn ? found : ContractionSteps::scattered;
    };
    return std::pair(step(left, leftAt), step(right, rightAt));
  };
  std::tie(access.left.sum, access.right.sum) =
      stepsAlong(ContractionLanes::sums);
  if (!access.shape.empty())
    std::tie(access.left.column, access.right.column) =
        stepsAlong(ContractionLanes::columns);
  if (!mayTurn)
    access.left.row = access.right.row = ContractionSteps::scattered;
  else if (access.shape.size() > 1)
    std::tie(access.left.row, access.right.row) =
        stepsAlong(ContractionLanes::rows);
  return access;
}

int64_t Contraction::sumsPerElement() const {
  return chooseLanes(access()) == ContractionLanes::sums ? reductionChunk : 1;
}

Element Contraction::operand(LoopNest &k, Value tensor, const Map &map,
                             ArrayRef<IndexExpression> output,
                             ArrayRef<IndexExpression> sums) const {
  OperandElement wanted = map(k.algebra, output, sums);
  PointEmitter::Guard guard;
  for (auto &[expression, extent] : wanted.inside)
    k.points.require(guard, expression, extent);
  for (const IndexExpression &expression : wanted.zero)
    k.points.requireZero(guard, expression);
  Element element =
      k.points.guarded(guard, tensor, wanted.indices, [&]() -> Element {
        Type type = valueType(elementOf(tensor));
        return {k.levels.emitAt(0,
                                [&](OpBuilder &b) {
                                  return numberOfType(b, k.loc, type, 0);
                                }),
                0};
      });
  Type from = elementOf(tensor);
  Value value = element.value;
  Value converted =
      k.levels.emitAt(k.levels.placed(element.level), [&](OpBuilder &b) {
        if (isa<FloatType>(from))
          return convertFloat(b, k.loc, value, sumType);
        unsigned have = from.getIntOrFloatBitWidth();
        unsigned want = sumType.getIntOrFloatBitWidth();
        Type type = withLanesOf(valueType(sumType), value.getType());
        if (have >= want)
          return value;
        if (from.isUnsignedInteger() || have == 1)
          return Value(arith::ExtUIOp::create(b, k.loc, type, value));
        return Value(arith::ExtSIOp::create(b, k.loc, type, value));
      });
  return {converted, element.level};
}

Value Contraction::multiplyAdd(LoopNest &k, Value a, Value b, Value sum) const {
  if (isa<FloatType>(sumType))
    return k.create<math::FmaOp>(a, b, sum);
  if (sumType.isInteger(1))
    return add(k, sum, k.create<arith::AndIOp>(a, b));
  return add(k, sum, k.create<arith::MulIOp>(a, b));
}

Value Contraction::add(LoopNest &k, Value a, Value b) const {
  if (isa<FloatType>(sumType))
    return k.create<arith::AddFOp>(a, b);
  if (sumType.isInteger(1))
    return k.create<arith::OrIOp>(a, b);
  return k.create<arith::AddIOp>(a, b);
}

} // namespace tenon::codegen
