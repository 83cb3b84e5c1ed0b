//===- Labels.cpp - Which dimensions of an operation run together ---------===//
//
// See Labels.h. Written from what the operations mean, with no look at the
// rules of the partitioner, so that an error in these is found.
//
//===----------------------------------------------------------------------===//

#include "Labels.h"

#include "tenon/Analysis/LapackCalls.h"
#include "tenon/Analysis/Shapes.h"
#include "tenon/Analysis/Windows.h"
#include "tenon/Dialect/CHLO/CHLO.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/Attention.h"
#include "tenon/Dialect/Step/StochasticRounding.h"

using namespace mlir;
using namespace tenon;

namespace tenon::shardingcheck {

std::optional<Combine> combineOf(Region &region) {
  if (!region.hasOneBlock() || region.getNumArguments() != 2)
    return std::nullopt;
  Block &block = region.front();
  Operation &first = block.front();
  if (&first == &block.back() || first.getNextNode() != &block.back() ||
      first.getNumOperands() != 2 || block.back().getNumOperands() != 1 ||
      block.back().getOperand(0).getDefiningOp() != &first)
    return std::nullopt;
  Value a = first.getOperand(0), b = first.getOperand(1);
  if (a == b || a.getParentBlock() != &block || b.getParentBlock() != &block ||
      !isa<BlockArgument>(a) || !isa<BlockArgument>(b))
    return std::nullopt;
  bool isBoolean = getElementTypeOrSelf(a).isInteger(1);
  if (isa<stablehlo::AddOp>(first))
    return isBoolean ? std::nullopt : std::optional(Combine::sum);
  if (isa<stablehlo::MaximumOp>(first) ||
      (isBoolean && isa<stablehlo::OrOp>(first)))
    return Combine::max;
  if (isa<stablehlo::MinimumOp>(first) ||
      (isBoolean && isa<stablehlo::AndOp>(first)))
    return Combine::min;
  return std::nullopt;
}

namespace {

class Labeler {
public:
  explicit Labeler(Operation *op) : op(op) {
    for (Value operand : op->getOperands())
      found.operands.emplace_back(shapeOf(operand).size(), whole);
    for (Value result : op->getResults())
      found.results.emplace_back(shapeOf(result).size(), whole);
  }

  int add(Label label = {}) {
    found.labels.push_back(label);
    return int(found.labels.size()) - 1;
  }
  int inAllResults(int64_t dim) {
    int label = add();
    for (TensorLabels &result : found.results)
      result[dim] = label;
    return label;
  }
  /// Dimension `dim` of every result and of the first operands alike.
  void shared(int64_t dim, size_t operands) {
    int label = inAllResults(dim);
    for (size_t at = 0; at < operands; ++at)
      found.operands[at][dim] = label;
  }
  int64_t rank() const { return shapeOf(op->getResult(0)).size(); }

  void elementwise() {
    for (int64_t dim = 0; dim < rank(); ++dim) {
      int label = whole;
      bool isShared = true;
      for (Value operand : op->getOperands()) {
        ArrayRef<int64_t> shape = shapeOf(operand);
        isShared &=
            shape.empty() || (dim < int64_t(shape.size()) &&
                              shape[dim] == shapeOf(op->getResult(0))[dim]);
      }
      if (!isShared)
        continue;
      label = inAllResults(dim);
      for (TensorLabels &operand : found.operands)
        if (!operand.empty())
          operand[dim] = label;
    }
  }

  void dot(stablehlo::DotGeneralOp dot) {
    auto numbers = dot.getDotDimensionNumbers();
    auto &left = found.operands[0], &right = found.operands[1];
    int64_t next = 0;
    for (auto [l, r] : llvm::zip_equal(numbers.getLhsBatchingDimensions(),
                                       numbers.getRhsBatchingDimensions()))
      left[l] = right[r] = inAllResults(next++);
    for (auto [l, r] : llvm::zip_equal(numbers.getLhsContractingDimensions(),
                                       numbers.getRhsContractingDimensions()))
      left[l] = right[r] = add({Combine::sum});
    for (TensorLabels *operand : {&left, &right})
      for (int &label : *operand)
        if (label == whole)
          label = inAllResults(next++);
  }

  void slidingWindows() {
    for (const SlidingWindow &along : slidingWindowsOf(op)) {
      if (along.window.isTrivial()) {
        found.operands[0][along.operandDim] = inAllResults(along.resultDim);
        continue;
      }
      found.operands[0][along.operandDim] = add();
      if (along.kernelDim)
        found.operands[1][*along.kernelDim] = add({Combine::sum});
      inAllResults(along.resultDim);
    }
  }

  void convolution(stablehlo::ConvolutionOp conv) {
    slidingWindows();
    auto numbers = conv.getDimensionNumbers();
    if (conv.getBatchGroupCount() != 1)
      return;
    found.operands[0][numbers.getInputBatchDimension()] =
        inAllResults(numbers.getOutputBatchDimension());
    if (conv.getFeatureGroupCount() != 1)
      return;
    found.operands[1][numbers.getKernelOutputFeatureDimension()] =
        inAllResults(numbers.getOutputFeatureDimension());
    found.operands[0][numbers.getInputFeatureDimension()] =
        found.operands[1][numbers.getKernelInputFeatureDimension()] =
            add({Combine::sum});
  }

  void reduce(stablehlo::ReduceOp reduce) {
    size_t count = reduce.getInputs().size();
    auto combine = combineOf(reduce.getBody());
    int64_t kept = 0;
    for (int64_t dim = 0; dim < int64_t(found.operands[0].size()); ++dim) {
      int label = whole;
      if (!llvm::is_contained(reduce.getDimensions(), dim))
        label = inAllResults(kept++);
      else if (count == 1 && combine)
        label = add({combine});
      for (size_t at = 0; at < count; ++at)
        found.operands[at][dim] = label;
    }
  }

  void windows(ArrayRef<Window> windows, size_t operands) {
    for (auto [dim, window] : llvm::enumerate(windows))
      if (window.isTrivial())
        shared(dim, operands);
  }

  void scatterWindows(stablehlo::SelectAndScatterOp op) {
    for (auto [dim, window] : llvm::enumerate(windowsOf(op)))
      if (window.isTrivial()) {
        shared(dim, 2);
      } else {
        shared(dim, 1);
        found.operands[1][dim] = add();
      }
  }

  template <typename Op>
  void attention(Op attention) {
    constexpr bool isGradient = std::is_same_v<Op, step::AttentionGradientOp>;
    llvm::DenseMap<int64_t, int> byMeaning;
    auto labelFor = [&](int64_t meaning) {
      bool isCut =
          meaning >= 0 ||
          (meaning == step::queryPositions && !op->hasAttr("causal")) ||
          (meaning == step::valueFeatures && !isGradient);
      if (!isCut)
        return whole;
      auto [known, isNew] = byMeaning.try_emplace(meaning, 0);
      if (isNew)
        known->second =
            add({isGradient ? std::optional(Combine::sum) : std::nullopt, true,
                 isGradient});
      return known->second;
    };
    auto describe = [&](TensorLabels &labels, ArrayRef<int64_t> meanings) {
      for (auto [dim, meaning] : llvm::enumerate(meanings))
        labels[dim] = labelFor(meaning);
    };
    size_t next = 0;
    auto operand = [&](Value value, std::optional<ArrayRef<int64_t>> meanings) {
      if (value)
        describe(found.operands[next++], *meanings);
    };
    SmallVector<int64_t> rows;
    for (int64_t meaning : attention.getQueryDims())
      if (meaning >= 0)
        rows.push_back(meaning);
    llvm::sort(rows);
    rows.push_back(step::queryPositions);
    // In the order of the operands.
    SmallVector<std::pair<Value, std::optional<ArrayRef<int64_t>>>> all{
        {attention.getQuery(), attention.getQueryDims()},
        {attention.getKey(), attention.getKeyDims()},
        {attention.getValue(), attention.getValueDims()},
        {attention.getBias(), attention.getBiasDims()},
        {attention.getMask(), attention.getMaskDims()},
        {attention.getFactor(), attention.getFactorDims()}};
    if constexpr (isGradient) {
      all.push_back({attention.getMaximum(), ArrayRef<int64_t>(rows)});
      all.push_back({attention.getSum(), ArrayRef<int64_t>(rows)});
      all.push_back(
          {attention.getOutputGradient(), attention.getOutputGradientDims()});
    }
    for (auto &[value, meanings] : all)
      operand(value, meanings);
    if constexpr (isGradient) {
      describe(found.results[0], attention.getQueryGradientDims());
      describe(found.results[1], attention.getKeyGradientDims());
      describe(found.results[2], attention.getValueGradientDims());
    } else {
      describe(found.results[0], attention.getOutputDims());
      describe(found.results[1], rows);
      describe(found.results[2], rows);
    }
  }

  /// Dimensions of which every element stays where it is.
  void moves(size_t operands, llvm::function_ref<bool(int64_t)> stays) {
    for (int64_t dim = 0; dim < rank(); ++dim)
      if (stays(dim))
        shared(dim, operands);
  }

  void gather(stablehlo::GatherOp gather, bool isMasked) {
    auto numbers = gather.getDimensionNumbers();
    int64_t vector = numbers.getIndexVectorDim();
    int64_t indexDim = 0;
    for (int64_t dim = 0; dim < rank(); ++dim)
      if (!llvm::is_contained(numbers.getOffsetDims(), dim)) {
        indexDim += indexDim == vector;
        found.operands[1][indexDim++] = inAllResults(dim);
      }
    ArrayRef<int64_t> shape = shapeOf(gather.getOperand());
    size_t offset = 0;
    for (int64_t dim = 0; dim < int64_t(shape.size()); ++dim) {
      ArrayRef<int64_t> batching = numbers.getOperandBatchingDims();
      if (auto at = llvm::find(batching, dim); at != batching.end()) {
        found.operands[0][dim] =
            found.operands[1][numbers.getStartIndicesBatchingDims()
                                  [at - batching.begin()]];
        continue;
      }
      bool isCollapsed =
          llvm::is_contained(numbers.getCollapsedSliceDims(), dim);
      int64_t to = isCollapsed ? -1 : numbers.getOffsetDims()[offset++];
      bool isIndexed = llvm::is_contained(numbers.getStartIndexMap(), dim);
      int64_t size = gather.getSliceSizes()[dim];
      if (isMasked && isIndexed && size == 1)
        found.operands[0][dim] = add({Combine::sum, false});
      // An index into a slice of everything is moved to 0.
      else if (!isCollapsed && size == shape[dim] && !(isMasked && isIndexed))
        found.operands[0][dim] = inAllResults(to);
    }
  }

  void scatter(stablehlo::ScatterOp scatter) {
    if (scatter.getInputs().size() != 1)
      return;
    auto numbers = scatter.getScatterDimensionNumbers();
    bool adds = combineOf(scatter.getUpdateComputation()) == Combine::sum;
    auto &input = found.operands[0], &indices = found.operands[1],
         &updates = found.operands[2];
    ArrayRef<int64_t> shape = shapeOf(scatter.getInputs()[0]);
    ArrayRef<int64_t> updateShape = shapeOf(scatter.getUpdates()[0]);
    for (auto [dim, indexDim] :
         llvm::zip_equal(numbers.getInputBatchingDims(),
                         numbers.getScatterIndicesBatchingDims()))
      input[dim] = indices[indexDim] = inAllResults(dim);
    int64_t indexDim = 0;
    for (int64_t dim = 0; dim < int64_t(updateShape.size()); ++dim) {
      if (llvm::is_contained(numbers.getUpdateWindowDims(), dim))
        continue;
      indexDim += indexDim == int64_t(numbers.getIndexVectorDim());
      if (indices[indexDim] == whole && adds)
        indices[indexDim] = add({Combine::sum});
      updates[dim] = indices[indexDim++];
    }
    size_t window = 0;
    for (int64_t dim = 0; dim < int64_t(shape.size()); ++dim) {
      if (input[dim] != whole)
        continue;
      bool isInserted =
          llvm::is_contained(numbers.getInsertedWindowDims(), dim);
      bool isIndexed =
          llvm::is_contained(numbers.getScatterDimsToOperandDims(), dim);
      int64_t from = isInserted ? -1 : numbers.getUpdateWindowDims()[window++];
      if (isIndexed && (isInserted || updateShape[from] == 1))
        input[dim] = inAllResults(dim);
      else if (!isIndexed && !isInserted && updateShape[from] == shape[dim])
        input[dim] = updates[from] = inAllResults(dim);
    }
  }

  Operation *op;
  Labels found;
};

} // namespace

std::vector<SlidingWindow> slidingWindowsOf(Operation *op) {
  std::vector<SlidingWindow> found;
  if (auto conv = dyn_cast<stablehlo::ConvolutionOp>(op)) {
    auto numbers = conv.getDimensionNumbers();
    for (auto [at, window] : llvm::enumerate(windowsOf(conv)))
      found.push_back({numbers.getInputSpatialDimensions()[at],
                       numbers.getOutputSpatialDimensions()[at],
                       numbers.getKernelSpatialDimensions()[at], window});
    return found;
  }
  SmallVector<Window> windows;
  if (auto pool = dyn_cast<stablehlo::ReduceWindowOp>(op))
    windows = windowsOf(pool);
  else if (auto pad = dyn_cast<stablehlo::PadOp>(op))
    windows = windowsOf(pad);
  for (auto [dim, window] : llvm::enumerate(windows))
    found.push_back({int64_t(dim), int64_t(dim), std::nullopt, window});
  return found;
}

Labels labelsOfGather(Operation *op, bool isMasked) {
  Labeler labeler(op);
  labeler.gather(cast<stablehlo::GatherOp>(op), isMasked);
  return std::move(labeler.found);
}

std::optional<Labels> labelsOf(Operation *op) {
  for (Type type :
       llvm::concat<const Type>(SmallVector<Type>(op->getOperandTypes()),
                                SmallVector<Type>(op->getResultTypes())))
    if (!isa<RankedTensorType>(type))
      return std::nullopt;
  if (op->getNumResults() == 0)
    return std::nullopt;
  Labeler labeler(op);
  ArrayRef<int64_t> first =
      op->getNumOperands() ? shapeOf(op->getOperand(0)) : ArrayRef<int64_t>();
  ArrayRef<int64_t> shape = shapeOf(op->getResult(0));
  size_t rank = shape.size();
  if (op->hasTrait<OpTrait::Elementwise>() ||
      isa<stablehlo::ClampOp, stablehlo::SelectOp, stablehlo::ConvertOp,
          stablehlo::BitcastConvertOp>(op)) {
    labeler.elementwise();
  } else if (auto dot = dyn_cast<stablehlo::DotGeneralOp>(op)) {
    labeler.dot(dot);
  } else if (auto conv = dyn_cast<stablehlo::ConvolutionOp>(op)) {
    labeler.convolution(conv);
  } else if (auto attention = dyn_cast<step::AttentionOp>(op)) {
    labeler.attention(attention);
  } else if (auto gradient = dyn_cast<step::AttentionGradientOp>(op)) {
    labeler.attention(gradient);
  } else if (auto reduce = dyn_cast<stablehlo::ReduceOp>(op)) {
    labeler.reduce(reduce);
  } else if (auto pool = dyn_cast<stablehlo::ReduceWindowOp>(op)) {
    if (pool.getInputs().size() == 1)
      labeler.slidingWindows();
    else
      labeler.windows(windowsOf(pool), pool.getInputs().size());
  } else if (auto pool = dyn_cast<stablehlo::SelectAndScatterOp>(op)) {
    labeler.scatterWindows(pool);
  } else if (isa<stablehlo::PadOp>(op)) {
    labeler.slidingWindows();
  } else if (isa<stablehlo::ReshapeOp>(op)) {
    // Behind the first dimension that changes, elements take other places.
    labeler.moves(1, [&](int64_t dim) {
      return dim < int64_t(first.size()) &&
             first.take_front(dim + 1) == shape.take_front(dim + 1);
    });
  } else if (auto join = dyn_cast<stablehlo::ConcatenateOp>(op)) {
    labeler.moves(op->getNumOperands(), [&](int64_t dim) {
      return dim != int64_t(join.getDimension());
    });
  } else if (auto reverse = dyn_cast<stablehlo::ReverseOp>(op)) {
    labeler.moves(1, [&](int64_t dim) {
      return !llvm::is_contained(reverse.getDimensions(), dim);
    });
  } else if (isa<stablehlo::DynamicSliceOp>(op)) {
    labeler.moves(1, [&](int64_t dim) { return first[dim] == shape[dim]; });
  } else if (isa<stablehlo::DynamicUpdateSliceOp>(op)) {
    labeler.moves(2, [&](int64_t dim) {
      return shapeOf(op->getOperand(1))[dim] == shape[dim];
    });
  } else if (auto sort = dyn_cast<stablehlo::SortOp>(op)) {
    int64_t along = int64_t(sort.getDimension());
    along += along < 0 ? int64_t(rank) : 0;
    labeler.moves(op->getNumOperands(),
                  [&](int64_t dim) { return dim != along; });
  } else if (isa<chlo::TopKOp>(op)) {
    labeler.moves(1, [&](int64_t dim) { return dim + 1 != int64_t(rank); });
  } else if (isa<stablehlo::CholeskyOp, stablehlo::TriangularSolveOp>(op)) {
    labeler.moves(op->getNumOperands(),
                  [&](int64_t dim) { return dim + 2 < int64_t(rank); });
  } else if (auto fft = dyn_cast<stablehlo::FftOp>(op)) {
    labeler.moves(1, [&](int64_t dim) {
      return dim < int64_t(rank) - int64_t(fft.getFftLength().size());
    });
  } else if (isa<stablehlo::GatherOp>(op)) {
    return labelsOfGather(op, false);
  } else if (auto scatter = dyn_cast<stablehlo::ScatterOp>(op)) {
    labeler.scatter(scatter);
  } else if (isa<step::StochasticRoundOp>(op)) {
    // Which way an element is rounded depends on its index, if that is given.
    for (int64_t dim = 0; op->getNumOperands() == 4 && dim < labeler.rank();
         ++dim) {
      labeler.shared(dim, 1);
      labeler.found.operands[3][dim] = labeler.found.operands[0][dim];
    }
  } else if (auto call = dyn_cast<stablehlo::CustomCallOp>(op)) {
    // A library may refuse the matrices of a tail.
    const int64_t shared = sharedLapackDimensions(call);
    for (int64_t dim = 0; dim < shared; ++dim) {
      labeler.shared(dim, op->getNumOperands());
      labeler.found.labels.back().isEven = true;
    }
  } else if (op->getName().getStringRef() != "stablehlo.rng_bit_generator") {
    return std::nullopt;
  }
  return std::move(labeler.found);
}

} // namespace tenon::shardingcheck
