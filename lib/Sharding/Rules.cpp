//===- Rules.cpp - Which dimensions of an operation are cut together ------===//
//
// See Rules.h. One function per structure of ShardingRules.td.
//
//===----------------------------------------------------------------------===//

#include "tenon/Sharding/Rules.h"

#include "tenon/Analysis/Identity.h"
#include "tenon/Analysis/LapackCalls.h"
#include "tenon/Analysis/Shapes.h"
#include "tenon/Analysis/Windows.h"
#include "tenon/Dialect/CHLO/CHLO.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/Attention.h"
#include "tenon/Dialect/Step/StochasticRounding.h"
#include "tenon/Sharding/Propagate.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringMap.h"

#include <numeric>

namespace tenon::sharding {
#define GET_ShardingRules_IMPL
#include "tenon/Sharding/ShardingRules.h.inc"
} // namespace tenon::sharding

using namespace mlir;
using namespace tenon;
using namespace tenon::sharding;

StructureKind tenon::sharding::structureOf(Operation *op) {
  static const llvm::StringMap<StructureKind> kinds = [] {
    llvm::StringMap<StructureKind> byName;
    for (const ShardingRule &rule : ShardingRules)
      byName[rule.Operation] = rule.Kind;
    return byName;
  }();
  auto found = kinds.find(op->getName().getStringRef());
  return found == kinds.end() ? absent : found->second;
}

std::optional<Reduction> tenon::sharding::reductionOf(Region &region) {
  if (!region.hasOneBlock() || region.front().getNumArguments() != 2 ||
      std::distance(region.front().begin(), region.front().end()) != 2)
    return std::nullopt;
  Operation &op = region.front().front();
  Operation &end = region.front().back();
  if (op.getNumOperands() != 2 || op.getNumResults() != 1 ||
      end.getNumOperands() != 1 || end.getOperand(0) != op.getResult(0))
    return std::nullopt;
  for (BlockArgument argument : region.front().getArguments())
    if (!llvm::is_contained(op.getOperands(), argument))
      return std::nullopt;
  bool isBoolean = getElementTypeOrSelf(op.getResult(0)).isInteger(1);
  if (isa<stablehlo::AddOp>(op) && !isBoolean)
    return Reduction::sum;
  if (isa<stablehlo::MaximumOp>(op) || (isa<stablehlo::OrOp>(op) && isBoolean))
    return Reduction::max;
  if (isa<stablehlo::MinimumOp>(op) || (isa<stablehlo::AndOp>(op) && isBoolean))
    return Reduction::min;
  return std::nullopt;
}

libraries::Combination tenon::sharding::combinationOf(Reduction reduction) {
  switch (reduction) {
  case Reduction::sum:
    return libraries::Combination::sum;
  case Reduction::max:
    return libraries::Combination::maximum;
  case Reduction::min:
    return libraries::Combination::minimum;
  }
  return libraries::Combination::none;
}

namespace {

/// Builds the factors of one operation.
class FactorBuilder {
public:
  explicit FactorBuilder(Operation *op) : op(op) {
    for (Value operand : op->getOperands())
      rule.operands.emplace_back(shapeOf(operand).size());
    for (Value result : op->getResults())
      rule.results.emplace_back(shapeOf(result).size());
  }

  Factors build() {
    switch (structureOf(op)) {
    case pointwise:
      sameDimensions();
      break;
    case contracts:
      contract(cast<stablehlo::DotGeneralOp>(op));
      break;
    case convolves:
      convolve(cast<stablehlo::ConvolutionOp>(op));
      break;
    case attends:
      attend();
      break;
    case reduces:
      reduce(cast<stablehlo::ReduceOp>(op));
      break;
    case pools:
      pool();
      break;
    case broadcasts:
      broadcast(cast<stablehlo::BroadcastInDimOp>(op));
      break;
    case transposes:
      transpose(cast<stablehlo::TransposeOp>(op));
      break;
    case reshapes:
      reshape();
      break;
    case moves:
      move();
      break;
    case gathers:
      gather(cast<stablehlo::GatherOp>(op));
      break;
    case scatters:
      scatter(cast<stablehlo::ScatterOp>(op));
      break;
    case sorts:
      sort();
      break;
    case batches:
      batch();
      break;
    case generates:
      for (int64_t dim = 0; dim < rankOfResult(); ++dim)
        everyResult(dim);
      break;
    case flows:
      for (unsigned at = 0;
           at < op->getNumResults() && at < op->getNumOperands(); ++at)
        for (size_t dim = 0; dim < rule.results[at].size(); ++dim) {
          unsigned factor = add(shapeOf(op->getResult(at))[dim]);
          rule.operands[at][dim] = {factor};
          rule.results[at][dim] = {factor};
        }
      break;
    case rounds:
      round(cast<step::StochasticRoundOp>(op));
      break;
    case gathered:
    case absent:
      break;
    }
    finish();
    return std::move(rule);
  }

private:
  unsigned add(int64_t size, std::optional<Reduction> reduction = {}) {
    rule.factors.push_back({size, reduction});
    return rule.factors.size() - 1;
  }
  int64_t rankOfResult() const { return rule.results.front().size(); }
  void inOperand(unsigned operand, int64_t dim, unsigned factor) {
    rule.operands[operand][dim] = {factor};
  }
  void inResults(int64_t dim, unsigned factor) {
    for (TensorFactors &result : rule.results)
      result[dim] = {factor};
  }
  unsigned everyResult(int64_t dim) {
    unsigned factor = add(shapeOf(op->getResult(0))[dim]);
    inResults(dim, factor);
    return factor;
  }

  /// Dimensions of extent 1 have nothing to cut; what a reshape cuts has to
  /// come out even.
  void finish() {
    for (auto *tensors : {&rule.operands, &rule.results})
      for (TensorFactors &tensor : *tensors)
        for (auto &dim : tensor)
          if (dim.size() > 1)
            for (unsigned factor : dim)
              rule.factors[factor].isEven = true;
    for (Factor &factor : rule.factors)
      factor.isWhole |= factor.size <= 1;
  }

  /// The key is whole.
  void round(step::StochasticRoundOp op) {
    for (int64_t dim = 0; op.getIndices() && dim < rankOfResult(); ++dim) {
      unsigned factor = everyResult(dim);
      inOperand(0, dim, factor);
      inOperand(3, dim, factor);
    }
  }

  void sameDimensions() {
    for (int64_t dim = 0; dim < rankOfResult(); ++dim) {
      // bitcast_convert between widths adds or takes a last dimension.
      bool isShared = llvm::all_of(op->getOperands(), [&](Value operand) {
        ArrayRef<int64_t> shape = shapeOf(operand);
        return shape.empty() || (dim < int64_t(shape.size()) &&
                                 shape[dim] == shapeOf(op->getResult(0))[dim]);
      });
      if (!isShared)
        continue;
      unsigned factor = everyResult(dim);
      for (unsigned at = 0; at < op->getNumOperands(); ++at)
        if (!rule.operands[at].empty())
          inOperand(at, dim, factor);
    }
  }

  void contract(stablehlo::DotGeneralOp dot) {
    auto numbers = dot.getDotDimensionNumbers();
    int64_t at = 0;
    for (auto [left, right] :
         llvm::zip_equal(numbers.getLhsBatchingDimensions(),
                         numbers.getRhsBatchingDimensions())) {
      unsigned factor = everyResult(at++);
      inOperand(0, left, factor);
      inOperand(1, right, factor);
    }
    for (auto [left, right] :
         llvm::zip_equal(numbers.getLhsContractingDimensions(),
                         numbers.getRhsContractingDimensions())) {
      unsigned factor = add(shapeOf(dot.getLhs())[left], Reduction::sum);
      inOperand(0, left, factor);
      inOperand(1, right, factor);
    }
    for (unsigned operand : {0, 1})
      for (size_t dim = 0; dim < rule.operands[operand].size(); ++dim)
        if (rule.operands[operand][dim].empty())
          inOperand(operand, dim, everyResult(at++));
  }

  void convolve(stablehlo::ConvolutionOp conv) {
    auto numbers = conv.getDimensionNumbers();
    if (conv.getBatchGroupCount() == 1)
      inOperand(0, numbers.getInputBatchDimension(),
                everyResult(numbers.getOutputBatchDimension()));
    if (conv.getBatchGroupCount() == 1 && conv.getFeatureGroupCount() == 1) {
      inOperand(1, numbers.getKernelOutputFeatureDimension(),
                everyResult(numbers.getOutputFeatureDimension()));
      unsigned features =
          add(shapeOf(conv.getLhs())[numbers.getInputFeatureDimension()],
              Reduction::sum);
      inOperand(0, numbers.getInputFeatureDimension(), features);
      inOperand(1, numbers.getKernelInputFeatureDimension(), features);
    }
    for (auto [at, window] : llvm::enumerate(windowsOf(conv)))
      slide(numbers.getInputSpatialDimensions()[at],
            numbers.getOutputSpatialDimensions()[at], window,
            numbers.getKernelSpatialDimensions()[at]);
  }

  /// Windows run over a dimension of the first operand. Their places are a
  /// dimension of the kernel, if there is one. Of the results and the places,
  /// those are cut that run along the operand: in the gradient of a kernel that
  /// is the places. `whyWhole` says why neither may be.
  void slide(int64_t dim, int64_t resultDim, const Window &window,
             std::optional<int64_t> kernelDim = std::nullopt,
             const char *whyWhole = nullptr) {
    Value operand = op->getOperand(0);
    WindowedDim windowed{shapeOf(operand)[dim],
                         shapeOf(op->getResult(0))[resultDim], window};
    if (windowed.extent < 1 || windowed.results < 1 || window.size < 1)
      return;
    if (window.isTrivial()) {
      inOperand(0, dim, everyResult(resultDim));
      return;
    }
    const int64_t along = (windowed.extent - 1) * window.baseDilation + 1;
    windowed.cutsWindow =
        kernelDim && std::abs(window.size * window.windowDilation - along) <
                         std::abs(windowed.results * window.stride - along);
    unsigned factor;
    if (windowed.cutsWindow) {
      factor = add(window.size, Reduction::sum);
      inOperand(1, *kernelDim, factor);
      if (window.isReversed)
        whyWhole = "the window is reversed";
    } else {
      factor = everyResult(resultDim);
    }
    inOperand(0, dim, factor);
    if (isMadeElsewhere(operand))
      whyWhole = madeWhereRead;
    if (!elementOf(operand).isIntOrFloat())
      whyWhole = "nothing masks its elements";
    rule.factors[factor].windowed = windowed;
    rule.factors[factor].whyWhole = whyWhole;
    rule.factors[factor].isWhole = whyWhole != nullptr;
  }

  static constexpr const char *madeWhereRead =
      "its elements are made where they are read";
  /// Whether no device has the elements, so that none can send any, and they
  /// are not alike.
  static bool isMadeElsewhere(Value value) {
    DenseElementsAttr constant;
    return isMadeAnywhere(value) &&
           !(matchPattern(value, m_Constant(&constant)) && constant.isSplat());
  }

  /// Whether windows read padding in a dimension of the operand.
  bool readsPadding(int64_t dim, int64_t resultDim, const Window &window) {
    return sharding::readsPadding({shapeOf(op->getOperand(0))[dim],
                                   shapeOf(op->getResult(0))[resultDim],
                                   window});
  }

  void attend() {
    using namespace step;
    bool isGradient = isa<AttentionGradientOp>(op);
    bool isCausal = op->hasAttr("causal");
    // By what a dimension runs over.
    llvm::DenseMap<int64_t, unsigned> known;
    auto factorFor = [&](int64_t meaning, int64_t size) -> unsigned {
      if (auto found = known.find(meaning); found != known.end())
        return found->second;
      unsigned factor =
          add(size, isGradient ? std::optional(Reduction::sum) : std::nullopt);
      rule.factors[factor].isWhole =
          meaning == keyPositions || meaning == queryFeatures ||
          (meaning == AttentionDimension::valueFeatures && isGradient) ||
          (meaning == queryPositions && isCausal);
      // Sums would run over queries and batches that are none.
      rule.factors[factor].isEven = isGradient;
      return known[meaning] = factor;
    };
    auto describe = [&](TensorFactors &tensor, Value value,
                        ArrayRef<int64_t> meanings) {
      for (auto [dim, meaning] : llvm::enumerate(meanings))
        tensor[dim] = {factorFor(meaning, shapeOf(value)[dim])};
    };
    auto describeAll = [&](auto attention) {
      auto operand = [&](Value value,
                         std::optional<ArrayRef<int64_t>> meanings) {
        if (value)
          for (OpOperand &use : op->getOpOperands())
            if (use.get() == value &&
                rule.operands[use.getOperandNumber()].size() ==
                    meanings->size())
              describe(rule.operands[use.getOperandNumber()], value, *meanings);
      };
      // A tensor that is two operands would be cut in two ways.
      for (auto [at, value] : llvm::enumerate(op->getOperands()))
        if (llvm::is_contained(op->getOperands().drop_front(at + 1), value))
          return;
      operand(attention.getQuery(), attention.getQueryDims());
      operand(attention.getKey(), attention.getKeyDims());
      operand(attention.getValue(), attention.getValueDims());
      operand(attention.getBias(), attention.getBiasDims());
      operand(attention.getMask(), attention.getMaskDims());
      operand(attention.getFactor(), attention.getFactorDims());
      SmallVector<int64_t> rows; // of maxima and sums
      for (int64_t meaning : attention.getQueryDims())
        if (meaning >= 0)
          rows.push_back(meaning);
      llvm::sort(rows);
      rows.push_back(queryPositions);
      if constexpr (std::is_same_v<decltype(attention), AttentionOp>) {
        describe(rule.results[0], attention.getOutput(),
                 attention.getOutputDims());
        describe(rule.results[1], attention.getMaximum(), rows);
        describe(rule.results[2], attention.getSum(), rows);
      } else {
        operand(attention.getMaximum(), ArrayRef<int64_t>(rows));
        operand(attention.getSum(), ArrayRef<int64_t>(rows));
        operand(attention.getOutputGradient(),
                attention.getOutputGradientDims());
        describe(rule.results[0], attention.getQueryGradient(),
                 attention.getQueryGradientDims());
        describe(rule.results[1], attention.getKeyGradient(),
                 attention.getKeyGradientDims());
        describe(rule.results[2], attention.getValueGradient(),
                 attention.getValueGradientDims());
      }
    };
    if (auto forward = dyn_cast<AttentionOp>(op))
      describeAll(forward);
    else
      describeAll(cast<AttentionGradientOp>(op));
  }

  static bool isIdentity(Value value, Reduction reduction) {
    DenseElementsAttr constant;
    if (!elementOf(value).isIntOrFloat() ||
        !matchPattern(value, m_Constant(&constant)) || !constant.isSplat())
      return false;
    if (reduction == Reduction::sum && isa<FloatType>(elementOf(value)))
      return constant.getSplatValue<APFloat>().isZero();
    return constant.getSplatValue<Attribute>() ==
           identityElement(elementOf(value), combinationOf(reduction));
  }

  /// Whether a reduction that starts at `value` on every device ends with the
  /// same as one that starts there once.
  static bool isNeutral(Value value, Reduction reduction) {
    return reduction != Reduction::sum || isIdentity(value, reduction);
  }

  void reduce(stablehlo::ReduceOp op) {
    unsigned count = op.getInputs().size();
    std::optional<Reduction> kind = reductionOf(op.getBody());
    bool splits = count == 1 && kind && isNeutral(op.getInitValues()[0], *kind);
    int64_t kept = 0;
    for (size_t dim = 0; dim < rule.operands[0].size(); ++dim) {
      if (!llvm::is_contained(op.getDimensions(), int64_t(dim))) {
        unsigned factor = everyResult(kept++);
        for (unsigned at = 0; at < count; ++at)
          inOperand(at, dim, factor);
      } else if (splits) {
        inOperand(0, dim, add(shapeOf(op.getInputs()[0])[dim], kind));
      }
    }
  }

  void pool() {
    SmallVector<Window> windows;
    unsigned count = 1;
    if (auto pooling = dyn_cast<stablehlo::ReduceWindowOp>(op)) {
      windows = windowsOf(pooling);
      count = pooling.getInputs().size();
    } else {
      windows = windowsOf(cast<stablehlo::SelectAndScatterOp>(op));
      count = 2;
    }
    auto pooling = dyn_cast<stablehlo::ReduceWindowOp>(op);
    for (auto [dim, window] : llvm::enumerate(windows))
      if (window.isTrivial()) {
        unsigned factor = everyResult(dim);
        for (unsigned at = 0; at < count; ++at)
          inOperand(at, dim, factor);
      } else if (pooling) {
        slide(dim, dim, window, std::nullopt, whyPoolsWhole(dim, window));
      } else {
        unsigned factor = everyResult(dim);
        inOperand(0, dim, factor);
        inOperand(1, dim, factor);
        WindowedDim &windowed = rule.factors[factor].windowed.emplace();
        windowed.extent = shapeOf(op->getOperand(0))[dim];
        windowed.results = shapeOf(op->getOperand(1))[dim];
        windowed.window = window;
        windowed.scattersSource = true;
        for (Value operand : {op->getOperand(0), op->getOperand(1)})
          if (isMadeElsewhere(operand))
            rule.factors[factor].whyWhole = madeWhereRead;
        rule.factors[factor].isWhole = rule.factors[factor].whyWhole;
      }
  }

  const char *whyPoolsWhole(int64_t dim, const Window &window) {
    auto pooling = cast<stablehlo::ReduceWindowOp>(op);
    if (pooling.getInputs().size() != 1)
      return "windows of several operands are combined";
    std::optional<Reduction> kind = reductionOf(pooling.getBody());
    if (readsPadding(dim, dim, window) &&
        !(kind && isIdentity(pooling.getInitValues()[0], *kind)))
      return "the initial value is not neutral";
    return nullptr;
  }

  void broadcast(stablehlo::BroadcastInDimOp op) {
    for (int64_t dim = 0; dim < rankOfResult(); ++dim)
      everyResult(dim);
    for (auto [dim, to] : llvm::enumerate(op.getBroadcastDimensions()))
      if (shapeOf(op.getOperand())[dim] == shapeOf(op.getResult())[to])
        inOperand(0, dim, rule.results[0][to].front());
  }

  void transpose(stablehlo::TransposeOp op) {
    for (auto [to, from] : llvm::enumerate(op.getPermutation()))
      inOperand(0, from, everyResult(to));
  }

  /// Walks both shapes from the major end and takes common factors. Where
  /// there is none, the rest of both dimensions is one that is not cut.
  void reshape() {
    ArrayRef<int64_t> from = shapeOf(op->getOperand(0));
    ArrayRef<int64_t> to = shapeOf(op->getResult(0));
    if (elementCount(from) == 0)
      return;
    size_t i = 0, j = 0;
    int64_t restFrom = 1, restTo = 1;
    size_t dimFrom = 0, dimTo = 0;
    bool isLost = false;
    auto advance = [](ArrayRef<int64_t> shape, size_t &next, size_t &dim,
                      int64_t &rest) {
      while (rest == 1 && next < shape.size()) {
        dim = next;
        rest = shape[next++];
      }
    };
    while (true) {
      advance(from, i, dimFrom, restFrom);
      advance(to, j, dimTo, restTo);
      if (restFrom == 1 && restTo == 1)
        return;
      int64_t common = isLost ? 1 : std::gcd(restFrom, restTo);
      if (common > 1) {
        unsigned factor = add(common);
        rule.operands[0][dimFrom].push_back(factor);
        rule.results[0][dimTo].push_back(factor);
        restFrom /= common;
        restTo /= common;
        continue;
      }
      // Elements behind this lie at places that no common factor describes.
      isLost = true;
      if (restFrom > 1) {
        rule.operands[0][dimFrom].push_back(add(restFrom));
        rule.factors.back().isWhole = true;
        restFrom = 1;
      }
      if (restTo > 1) {
        rule.results[0][dimTo].push_back(add(restTo));
        rule.factors.back().isWhole = true;
        restTo = 1;
      }
    }
  }

  /// Whether every element of dimension `dim` keeps its index.
  bool keeps(int64_t dim) {
    int64_t extent = shapeOf(op->getResult(0))[dim];
    if (shapeOf(op->getOperand(0))[dim] != extent)
      return false;
    if (auto reverse = dyn_cast<stablehlo::ReverseOp>(op))
      return !llvm::is_contained(reverse.getDimensions(), dim);
    if (auto concat = dyn_cast<stablehlo::ConcatenateOp>(op))
      return int64_t(concat.getDimension()) != dim;
    if (auto pad = dyn_cast<stablehlo::PadOp>(op))
      return pad.getEdgePaddingLow()[dim] == 0 &&
             pad.getEdgePaddingHigh()[dim] == 0 &&
             pad.getInteriorPadding()[dim] == 0;
    if (auto update = dyn_cast<stablehlo::DynamicUpdateSliceOp>(op))
      return shapeOf(update.getUpdate())[dim] == extent;
    return true; // slices of the whole extent
  }

  void move() {
    unsigned tensors = isa<stablehlo::ConcatenateOp>(op) ? op->getNumOperands()
                       : isa<stablehlo::DynamicUpdateSliceOp>(op) ? 2
                                                                  : 1;
    for (int64_t dim = 0; dim < rankOfResult(); ++dim)
      if (keeps(dim)) {
        unsigned factor = everyResult(dim);
        for (unsigned at = 0; at < tensors; ++at)
          inOperand(at, dim, factor);
      } else if (auto pad = dyn_cast<stablehlo::PadOp>(op)) {
        Window window = windowsOf(pad)[dim];
        slide(dim, dim, window, std::nullopt, whyPadsWhole(dim, window));
      }
  }

  const char *whyPadsWhole(int64_t dim, const Window &window) {
    Value value = cast<stablehlo::PadOp>(op).getPaddingValue();
    for (Reduction kind : {Reduction::sum, Reduction::max, Reduction::min})
      if (isIdentity(value, kind))
        return nullptr;
    return readsPadding(dim, dim, window)
               ? "what is padded is the identity of no reduction"
               : nullptr;
  }

  /// The dimensions of an index tensor without that of the index vectors.
  static SmallVector<int64_t> batchDims(Value indices, int64_t vector) {
    SmallVector<int64_t> dims;
    for (int64_t dim = 0; dim < int64_t(shapeOf(indices).size()); ++dim)
      if (dim != vector)
        dims.push_back(dim);
    return dims;
  }

  void gather(stablehlo::GatherOp op) {
    auto numbers = op.getDimensionNumbers();
    SmallVector<int64_t> indexDims =
        batchDims(op.getStartIndices(), numbers.getIndexVectorDim());
    size_t batch = 0;
    for (int64_t dim = 0; dim < rankOfResult(); ++dim)
      if (!llvm::is_contained(numbers.getOffsetDims(), dim))
        inOperand(1, indexDims[batch++], everyResult(dim));
    size_t offset = 0;
    ArrayRef<int64_t> shape = shapeOf(op.getOperand());
    for (int64_t dim = 0; dim < int64_t(shape.size()); ++dim) {
      auto batching = llvm::find(numbers.getOperandBatchingDims(), dim);
      bool isBatching = batching != numbers.getOperandBatchingDims().end();
      bool isCollapsed =
          llvm::is_contained(numbers.getCollapsedSliceDims(), dim);
      if (isBatching) {
        size_t at = batching - numbers.getOperandBatchingDims().begin();
        rule.operands[0][dim] =
            rule.operands[1][numbers.getStartIndicesBatchingDims()[at]];
        continue;
      }
      int64_t to = isCollapsed ? -1 : numbers.getOffsetDims()[offset++];
      bool isIndexed = llvm::is_contained(numbers.getStartIndexMap(), dim);
      if (!isCollapsed && op.getSliceSizes()[dim] == shape[dim] &&
          shape[dim] > 1)
        inOperand(0, dim, everyResult(to));
      else if (isIndexed && op.getSliceSizes()[dim] == 1)
        inOperand(0, dim, add(shape[dim], Reduction::sum));
    }
  }

  void scatter(stablehlo::ScatterOp op) {
    if (op.getInputs().size() != 1)
      return;
    auto numbers = op.getScatterDimensionNumbers();
    std::optional<Reduction> kind = reductionOf(op.getUpdateComputation());
    SmallVector<int64_t> indexDims =
        batchDims(op.getScatterIndices(), numbers.getIndexVectorDim());
    constexpr unsigned indices = 1, updates = 2;
    ArrayRef<int64_t> shape = shapeOf(op.getInputs()[0]);
    ArrayRef<int64_t> updateShape = shapeOf(op.getUpdates()[0]);
    llvm::DenseMap<int64_t, unsigned> ofIndexDim;
    for (auto [dim, at] :
         llvm::zip_equal(numbers.getInputBatchingDims(),
                         numbers.getScatterIndicesBatchingDims())) {
      unsigned factor = everyResult(dim);
      inOperand(0, dim, factor);
      ofIndexDim[at] = factor;
    }
    size_t batch = 0;
    for (int64_t dim = 0; dim < int64_t(updateShape.size()); ++dim) {
      if (llvm::is_contained(numbers.getUpdateWindowDims(), dim))
        continue;
      int64_t indexDim = indexDims[batch++];
      auto [found, isNew] = ofIndexDim.try_emplace(indexDim, 0);
      if (isNew) {
        if (kind != Reduction::sum) {
          ofIndexDim.erase(found);
          continue;
        }
        found->second = add(updateShape[dim], Reduction::sum);
      }
      inOperand(indices, indexDim, found->second);
      inOperand(updates, dim, found->second);
    }
    size_t window = 0;
    for (int64_t dim = 0; dim < int64_t(shape.size()); ++dim) {
      if (llvm::is_contained(numbers.getInputBatchingDims(), dim))
        continue;
      bool isInserted =
          llvm::is_contained(numbers.getInsertedWindowDims(), dim);
      int64_t from = isInserted ? -1 : numbers.getUpdateWindowDims()[window++];
      bool isIndexed =
          llvm::is_contained(numbers.getScatterDimsToOperandDims(), dim);
      if (isIndexed && (isInserted || updateShape[from] == 1)) {
        inOperand(0, dim, everyResult(dim));
      } else if (!isIndexed && !isInserted && updateShape[from] == shape[dim]) {
        unsigned factor = everyResult(dim);
        inOperand(0, dim, factor);
        inOperand(updates, from, factor);
      }
    }
  }

  void sort() {
    int64_t rank = rankOfResult(), sorted = rank - 1;
    if (auto sort = dyn_cast<stablehlo::SortOp>(op))
      sorted = int64_t(sort.getDimension()) < 0
                   ? rank + int64_t(sort.getDimension())
                   : int64_t(sort.getDimension());
    for (int64_t dim = 0; dim < rank; ++dim)
      if (dim != sorted) {
        unsigned factor = everyResult(dim);
        for (unsigned at = 0; at < op->getNumOperands(); ++at)
          inOperand(at, dim, factor);
      }
  }

  void batch() {
    auto call = dyn_cast<stablehlo::CustomCallOp>(op);
    int64_t count = 0;
    if (call)
      count = sharedLapackDimensions(call);
    else if (auto transform = dyn_cast<stablehlo::FftOp>(op))
      count = rankOfResult() - int64_t(transform.getFftLength().size());
    else
      count = rankOfResult() - 2;
    for (int64_t dim = 0; dim < count; ++dim) {
      unsigned factor = everyResult(dim);
      // Of a matrix that is none a library may say that it has no answer.
      rule.factors[factor].isEven = call != nullptr;
      for (unsigned at = 0; at < op->getNumOperands(); ++at)
        inOperand(at, dim, factor);
    }
  }

  Operation *op;
  Factors rule;
};

} // namespace

bool tenon::sharding::mayBeCut(const Factor &factor, int64_t count) {
  if (count == 1)
    return true;
  return !factor.isWhole && (!factor.isEven || factor.size % count == 0) &&
         !whyWhole(factor, count);
}

const char *tenon::sharding::whyWhole(const Factor &factor, int64_t count) {
  const char *why = factor.whyWhole;
  if (count == 1 || !factor.windowed || why)
    return why;
  const WindowedDim &dim = *factor.windowed;
  const bool isCut = dim.scattersSource ? bool(scatterHaloOf(dim, count, &why))
                                        : bool(haloOf(dim, count, &why));
  return isCut ? nullptr : why;
}

Factors tenon::sharding::factorsOf(Operation *op) {
  return FactorBuilder(op).build();
}

void tenon::sharding::forEachHalo(
    const Factors &rule, const FactorAxes &axes,
    llvm::function_ref<void(int64_t, unsigned, const Halo &)> visit) {
  if (rule.operands.empty())
    return;
  for (auto [dim, factors] : llvm::enumerate(rule.operands[0]))
    if (factors.size() == 1 && rule.factors[factors[0]].windowed &&
        !rule.factors[factors[0]].windowed->scattersSource &&
        !axes[factors[0]].empty())
      visit(dim, factors[0],
            *haloOf(*rule.factors[factors[0]].windowed,
                    countOf(axes[factors[0]])));
}

void tenon::sharding::forEachScatterHalo(
    const Factors &rule, const FactorAxes &axes,
    llvm::function_ref<void(int64_t, unsigned, const ScatterHalo &)> visit) {
  if (rule.operands.empty())
    return;
  for (auto [dim, factors] : llvm::enumerate(rule.operands[0])) {
    if (factors.size() != 1 || axes[factors[0]].empty())
      continue;
    const auto &windowed = rule.factors[factors[0]].windowed;
    if (!windowed || !windowed->scattersSource)
      continue;
    auto halo = scatterHaloOf(*windowed, countOf(axes[factors[0]]));
    if (!halo->isOwnShard())
      visit(dim, factors[0], *halo);
  }
}

void tenon::sharding::adopt(const Factors &rule, const TensorFactors &tensor,
                            const Layout &layout, ArrayRef<int64_t> shape,
                            FactorAxes &axes) {
  for (auto [factors, parts] : llvm::zip_equal(tensor, layout.dims)) {
    AxisParts rest = parts;
    for (unsigned number : factors) {
      const Factor &factor = rule.factors[number];
      AxisParts own = rest;
      rest.clear();
      if (factors.size() > 1 || factor.isEven)
        std::tie(own, rest) = cutAt(own, factor.size);
      // Behind a factor that is not cut into single elements, a cut of the next
      // one would be of another order.
      if (countOf(own) != factor.size)
        rest.clear();
      if (factor.isWhole)
        break;
      AxisParts free;
      for (const AxisPart &part : own) {
        bool isTaken = false;
        for (auto [other, taken] : llvm::enumerate(axes))
          isTaken |=
              other != number && llvm::any_of(taken, [&](const AxisPart &one) {
                return one.overlaps(part);
              });
        if (isTaken)
          break;
        free.push_back(part);
      }
      while (factor.windowed && !mayBeCut(factor, countOf(free)))
        free.pop_back();
      if (free.size() < own.size())
        rest.clear();
      // What the factor has already may go on in this tensor, not change.
      if (cutAt(free, countOf(axes[number])).first == axes[number])
        axes[number] = free;
    }
  }
}

void tenon::sharding::restrict(const Factors &rule, FactorAxes &axes) {
  bool changed = true;
  while (changed) {
    changed = false;
    for (const auto *tensors : {&rule.operands, &rule.results})
      for (const TensorFactors &tensor : *tensors)
        for (ArrayRef<unsigned> factors : tensor) {
          bool isComplete = true;
          for (unsigned factor : factors) {
            if (!isComplete && !axes[factor].empty()) {
              axes[factor].clear();
              changed = true;
            }
            isComplete &= countOf(axes[factor]) == rule.factors[factor].size;
          }
        }
  }
}

Layout tenon::sharding::layoutOf(const Factors &rule,
                                 const TensorFactors &tensor,
                                 const FactorAxes &axes, bool isResult) {
  Layout layout = Layout::replicated(tensor.size());
  SmallVector<bool> used(axes.size());
  for (auto [parts, factors] : llvm::zip_equal(layout.dims, tensor)) {
    for (unsigned factor : factors) {
      llvm::append_range(parts, axes[factor]);
      used[factor] = true;
    }
    parts = joined(parts);
  }
  if (isResult)
    for (auto [number, factor] : llvm::enumerate(rule.factors))
      if (!used[number] && factor.reduction && !axes[number].empty()) {
        llvm::append_range(layout.pending, axes[number]);
        layout.reduction = *factor.reduction;
      }
  return layout;
}
