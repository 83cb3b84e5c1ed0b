//===- OperationCount.cpp - FLOPs and bytes of operations -----------------===//
//
// See OperationCount.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Analysis/OperationCount.h"

#include "tenon/Analysis/ElementTypes.h"
#include "tenon/Analysis/Shapes.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/Attention.h"
#include "tenon/Dialect/Step/Step.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tenon;

namespace {

double flopsOfDot(stablehlo::DotGeneralOp dot) {
  double flops = 2;
  for (int64_t extent : shapeOf(dot.getResult()))
    flops *= double(extent);
  ArrayRef<int64_t> lhs = shapeOf(dot.getLhs());
  for (int64_t dim : dot.getDotDimensionNumbers().getLhsContractingDimensions())
    flops *= double(lhs[dim]);
  return flops;
}

/// How many pairs of an output position and a kernel position meet an element
/// of the dilated input or its padding, rather than a hole between elements.
/// With o * stride + k * kernelDilation as the place in the padded input, that
/// are those with a remainder of padLow modulo the input's dilation.
double pairsWithoutHoles(int64_t outputs, int64_t kernel, int64_t stride,
                         int64_t inputDilation, int64_t kernelDilation,
                         int64_t padLow) {
  if (inputDilation <= 1)
    return double(outputs) * double(kernel);
  if (inputDilation > 1 << 16) // on average, rather than a table of that size
    return double(outputs) * double(kernel) / double(inputDilation);
  // Counted by remainder, so that the time does not depend on the extents.
  auto remainders = [&](int64_t count, int64_t step, int64_t offset) {
    SmallVector<double> histogram(inputDilation, 0.0);
    int64_t period = std::min(count, inputDilation);
    for (int64_t i = 0; i < period; ++i) {
      int64_t place = (i % inputDilation) * (step % inputDilation) + offset;
      int64_t remainder =
          (place % inputDilation + inputDilation) % inputDilation;
      // i, i + period, i + 2 * period, ... share a remainder.
      histogram[remainder] += double((count - i + period - 1) / period);
    }
    return histogram;
  };
  SmallVector<double> ofOutput = remainders(outputs, stride, 0);
  SmallVector<double> ofKernel = remainders(kernel, kernelDilation, -padLow);
  double pairs = 0;
  for (int64_t i = 0; i < inputDilation; ++i)
    pairs += ofOutput[i] * ofKernel[(inputDilation - i) % inputDilation];
  return pairs;
}

double flopsOfConvolution(stablehlo::ConvolutionOp op) {
  stablehlo::ConvDimensionNumbersAttr numbers = op.getDimensionNumbers();
  ArrayRef<int64_t> result = shapeOf(op.getResult());
  ArrayRef<int64_t> kernel = shapeOf(op.getRhs());
  double flops = 2.0 * double(result[numbers.getOutputBatchDimension()]) *
                 double(result[numbers.getOutputFeatureDimension()]) *
                 double(kernel[numbers.getKernelInputFeatureDimension()]);
  auto entry = [](std::optional<ArrayRef<int64_t>> values, size_t i) {
    return values ? (*values)[i] : int64_t(1);
  };
  for (size_t i = 0; i < numbers.getOutputSpatialDimensions().size(); ++i)
    flops *= pairsWithoutHoles(
        result[numbers.getOutputSpatialDimensions()[i]],
        kernel[numbers.getKernelSpatialDimensions()[i]],
        entry(op.getWindowStrides(), i), entry(op.getLhsDilation(), i),
        entry(op.getRhsDilation(), i),
        op.getPadding() ? op.getPadding()->getValues<int64_t>()[{i, 0}] : 0);
  return flops;
}

/// The value that a result or argument of a group stands for.
Value throughGroups(Value value) {
  while (true) {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      auto group =
          dyn_cast_or_null<step::GroupOp>(argument.getOwner()->getParentOp());
      if (!group)
        return value;
      value = group.getInputs()[argument.getArgNumber()];
    } else if (auto group = value.getDefiningOp<step::GroupOp>()) {
      value = group.getBody().front().getTerminator()->getOperand(
          cast<OpResult>(value).getResultNumber());
    } else {
      return value;
    }
  }
}

std::optional<int64_t> constantOf(Value value) {
  DenseIntElementsAttr elements;
  if (!matchPattern(throughGroups(value), m_Constant(&elements)) ||
      elements.getNumElements() != 1)
    return std::nullopt;
  APInt number = *elements.value_begin<APInt>();
  bool isUnsigned = elements.getElementType().isUnsignedInteger();
  if (number.getBitWidth() > 64 || (isUnsigned && number.getActiveBits() > 63))
    return std::nullopt;
  return isUnsigned ? int64_t(number.getZExtValue()) : number.getSExtValue();
}

/// Rounds of `for (i = start; i <direction> limit; i += step)`; nothing if it
/// does not end.
std::optional<int64_t> rounds(int64_t start, int64_t limit, int64_t step,
                              stablehlo::ComparisonDirection direction) {
  using enum stablehlo::ComparisonDirection;
  __int128 distance = __int128(limit) - start, by = step;
  switch (direction) {
  case LE:
    distance += 1;
    break;
  case LT:
    break;
  case GE:
    distance = -distance + 1;
    by = -by;
    break;
  case GT:
    distance = -distance;
    by = -by;
    break;
  case NE:
    if (by == 0 || distance % by != 0)
      return std::nullopt;
    if (by < 0)
      distance = -distance, by = -by;
    if (distance < 0)
      return std::nullopt;
    break;
  case EQ:
    return std::nullopt;
  }
  if (distance <= 0)
    return 0;
  __int128 count = by > 0 ? (distance + by - 1) / by : 0;
  if (count <= 0 || count > INT64_MAX)
    return std::nullopt;
  return int64_t(count);
}

/// Whether a counter of the type reaches the end without wrapping around.
bool holdsAll(Type type, int64_t start, int64_t step, int64_t trips) {
  auto integer = cast<IntegerType>(getElementTypeOrSelf(type));
  unsigned bits = integer.getWidth() - !integer.isUnsigned();
  __int128 end = start + __int128(step) * trips, most = __int128(1) << bits;
  return end < most && end >= (integer.isUnsigned() ? 0 : -most);
}

stablehlo::ComparisonDirection
mirrored(stablehlo::ComparisonDirection direction) {
  using enum stablehlo::ComparisonDirection;
  switch (direction) {
  case LT:
    return GT;
  case LE:
    return GE;
  case GT:
    return LT;
  case GE:
    return LE;
  default:
    return direction;
  }
}

} // namespace

double tenon::contractionFlops(Operation *op) {
  if (auto dot = dyn_cast<stablehlo::DotGeneralOp>(op))
    return flopsOfDot(dot);
  if (auto convolution = dyn_cast<stablehlo::ConvolutionOp>(op))
    return flopsOfConvolution(convolution);
  return step::attentionFlops(op);
}

double tenon::operandAndResultBytes(Operation *op) {
  double bytes = 0;
  for (Type type : op->getOperandTypes())
    bytes += double(storedBytes(type));
  for (Type type : op->getResultTypes())
    bytes += double(storedBytes(type));
  return bytes;
}

std::optional<int64_t> tenon::tripCount(Operation *op) {
  auto loop = dyn_cast<stablehlo::WhileOp>(op);
  if (!loop)
    return std::nullopt;
  Block &condition = loop.getCond().front(), &body = loop.getBody().front();
  auto compare = throughGroups(condition.getTerminator()->getOperand(0))
                     .getDefiningOp<stablehlo::CompareOp>();
  if (!compare)
    return std::nullopt;
  Value counter = throughGroups(compare.getLhs());
  Value bound = throughGroups(compare.getRhs());
  stablehlo::ComparisonDirection direction = compare.getComparisonDirection();
  if (constantOf(counter)) {
    std::swap(counter, bound);
    direction = mirrored(direction);
  }
  auto carried = [](Value value, Block &block) {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument && argument.getOwner() == &block
               ? std::optional(argument.getArgNumber())
               : std::nullopt;
  };
  auto number = carried(counter, condition);
  auto limit = constantOf(bound);
  if (auto position = carried(bound, condition)) {
    // A limit that the loop carries along unchanged.
    if (throughGroups(body.getTerminator()->getOperand(*position)) ==
        body.getArgument(*position))
      limit = constantOf(loop->getOperand(*position));
  }
  if (!number || !limit)
    return std::nullopt;
  auto start = constantOf(loop->getOperand(*number));
  Operation *next =
      throughGroups(body.getTerminator()->getOperand(*number)).getDefiningOp();
  if (!start || !isa_and_nonnull<stablehlo::AddOp, stablehlo::SubtractOp>(next))
    return std::nullopt;
  Value from = throughGroups(next->getOperand(0));
  Value by = throughGroups(next->getOperand(1));
  if (isa<stablehlo::AddOp>(next) && by == body.getArgument(*number))
    std::swap(from, by);
  auto step = constantOf(by);
  if (from != body.getArgument(*number) || !step)
    return std::nullopt;
  if (isa<stablehlo::SubtractOp>(next)) {
    if (*step == INT64_MIN)
      return std::nullopt;
    step = -*step;
  }
  auto trips = rounds(*start, *limit, *step, direction);
  return trips && holdsAll(counter.getType(), *start, *step, *trips)
             ? trips
             : std::nullopt;
}

namespace {

/// Takes sums over the runs of operations, several at once.
class SumsOverRuns {
public:
  using Amounts =
      llvm::function_ref<void(Operation *, MutableArrayRef<double>)>;

  SumsOverRuns(size_t count, Amounts amounts,
               llvm::function_ref<void(Operation *)> unknown)
      : count(count), amounts(amounts), unknown(unknown) {}

  SmallVector<double> of(Region &region) {
    SmallVector<double> sums(count, 0);
    for (Operation &op : region.getOps())
      add(of(&op), sums);
    return sums;
  }

  SmallVector<double> of(Operation *op) {
    SmallVector<double> sums(count, 0);
    amounts(op, sums);
    if (isa<stablehlo::WhileOp>(op)) {
      SmallVector<double> inside(count, 0);
      for (Region &inner : op->getRegions())
        add(of(inner), inside);
      auto trips = tripCount(op);
      if (!trips)
        unknown(op);
      for (double &sum : inside)
        sum *= double(trips.value_or(1));
      add(inside, sums);
    } else if (isa<stablehlo::CaseOp, stablehlo::IfOp>(op)) {
      SmallVector<double> most(count, 0);
      for (Region &inner : op->getRegions())
        for (auto [largest, sum] : llvm::zip_equal(most, of(inner)))
          largest = std::max(largest, sum);
      add(most, sums);
    } else if (isa<step::GroupOp>(op)) {
      add(of(op->getRegion(0)), sums);
    }
    return sums;
  }

private:
  static void add(ArrayRef<double> amounts, MutableArrayRef<double> sums) {
    for (auto [sum, amount] : llvm::zip_equal(sums, amounts))
      sum += amount;
  }

  size_t count;
  Amounts amounts;
  llvm::function_ref<void(Operation *)> unknown;
};

} // namespace

double tenon::sumOverRuns(Region &region,
                          llvm::function_ref<double(Operation *)> amount,
                          llvm::function_ref<void(Operation *)> unknown) {
  auto only = [&](Operation *op, MutableArrayRef<double> amounts) {
    amounts.front() = amount(op);
  };
  return SumsOverRuns(1, only, unknown).of(region).front();
}

double tenon::sumOverRuns(Operation *op,
                          llvm::function_ref<double(Operation *)> amount,
                          llvm::function_ref<void(Operation *)> unknown) {
  auto only = [&](Operation *each, MutableArrayRef<double> amounts) {
    amounts.front() = amount(each);
  };
  return SumsOverRuns(1, only, unknown).of(op).front();
}

SmallVector<double> tenon::sumsOverRuns(
    Region &region, size_t count,
    llvm::function_ref<void(Operation *, MutableArrayRef<double>)> amounts) {
  return SumsOverRuns(count, amounts, [](Operation *) {}).of(region);
}

OperationCount tenon::countOperations(Region &region) {
  OperationCount count;
  count.flops = sumOverRuns(
      region,
      [&](Operation *op) {
        count.dots += isa<stablehlo::DotGeneralOp>(op);
        count.convolutions += isa<stablehlo::ConvolutionOp>(op);
        return contractionFlops(op);
      },
      [&](Operation *loop) {
        count.loopsCountedOnce.push_back(loop->getLoc());
      });
  count.bytes = sumOverRuns(region, [](Operation *op) {
    return isa<stablehlo::DotGeneralOp, stablehlo::ConvolutionOp>(op)
               ? operandAndResultBytes(op)
               : 0.0;
  });
  return count;
}
