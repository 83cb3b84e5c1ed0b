//===- IndexingRules.cpp - Indices that are known -------------------------===//
//
// Exporters guard every index (negative ones count from the end, those out of
// range read NaN) and express every access as a gather or scatter. Where ranges
// decide the guards they go; where the place is a constant, the access is a
// slice.
//
//===----------------------------------------------------------------------===//

#include "IndexRange.h"
#include "Rules.h"

#include "tenon/Analysis/OperationClass.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"

using namespace mlir;
using namespace tenon::stablehlo;

namespace tenon::simplify {
namespace {

//===----------------------------------------------------------------------===//
// Guards
//===----------------------------------------------------------------------===//

struct DecidedCompare : OpRewritePattern<CompareOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(CompareOp op,
                                PatternRewriter &rewriter) const override {
    std::optional<bool> truth = decidedTruth(op.getResult());
    if (!truth)
      return failure();
    rewriter.replaceOp(
        op, makeSplat(
                rewriter, op.getLoc(), cast<RankedTensorType>(op.getType()),
                rewriter.getIntegerAttr(rewriter.getI1Type(), *truth ? 1 : 0)));
    return success();
  }
};

/// A limit to a range that the operand keeps anyway.
struct IdleClamp : OpRewritePattern<ClampOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ClampOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getMin() == op.getOperand() || op.getMax() == op.getOperand())
      return failure();
    std::optional<IndexRange> value = indexRange(op.getOperand());
    std::optional<IndexRange> low = indexRange(op.getMin());
    std::optional<IndexRange> high = indexRange(op.getMax());
    if (!value || !low || !high || low->high > value->low ||
        value->high > high->low)
      return failure();
    rewriter.replaceOp(op, op.getOperand());
    return success();
  }
};

/// The larger (smaller) of two integers whose order ranges decide.
template <typename Op, bool larger>
struct DecidedExtreme : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    std::optional<IndexRange> a = indexRange(op.getLhs());
    if (!a)
      return failure();
    std::optional<IndexRange> b = indexRange(op.getRhs());
    if (!b)
      return failure();
    if (a->low >= b->high)
      rewriter.replaceOp(op, larger ? op.getLhs() : op.getRhs());
    else if (b->low >= a->high)
      rewriter.replaceOp(op, larger ? op.getRhs() : op.getLhs());
    else
      return failure();
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Dynamic slices
//===----------------------------------------------------------------------===//

/// The constant start of a box along each dimension, moved inside.
std::optional<SmallVector<int64_t>> constantStarts(ValueRange starts,
                                                   ArrayRef<int64_t> shape,
                                                   ArrayRef<int64_t> sizes) {
  SmallVector<int64_t> result;
  for (auto [dim, start] : llvm::enumerate(starts)) {
    int64_t last = shape[dim] - sizes[dim];
    if (last == 0) {
      result.push_back(0);
      continue;
    }
    std::optional<IndexRange> range = indexRange(start);
    if (!range || !range->isPoint())
      return std::nullopt;
    result.push_back(std::clamp<int64_t>(range->low, 0, last));
  }
  return result;
}

struct SliceAtConstant : OpRewritePattern<DynamicSliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(DynamicSliceOp op,
                                PatternRewriter &rewriter) const override {
    ArrayRef<int64_t> shape = tensorTypeOf(op.getOperand()).getShape();
    auto starts =
        constantStarts(op.getStartIndices(), shape, op.getSliceSizes());
    if (!starts)
      return failure();
    SmallVector<int64_t> limits;
    for (auto [start, size] : llvm::zip_equal(*starts, op.getSliceSizes()))
      limits.push_back(start + size);
    rewriter.replaceOpWithNewOp<SliceOp>(
        op, op.getType(), op.getOperand(), *starts, limits,
        SmallVector<int64_t>(limits.size(), 1));
    return success();
  }
};

struct UpdateOfWhole : OpRewritePattern<DynamicUpdateSliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(DynamicUpdateSliceOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getUpdate().getType() != op.getType())
      return failure();
    rewriter.replaceOp(op, op.getUpdate());
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Gather and scatter at one known place
//===----------------------------------------------------------------------===//

/// The single index vector of a gather or scatter, spread to the operand's
/// dimensions; nothing if there are several or their elements are unknown.
std::optional<SmallVector<int64_t>>
singleIndex(Value indices, int64_t indexVectorDim, ArrayRef<int64_t> map,
            ArrayRef<int64_t> batching, int64_t rank) {
  DenseElementsAttr constant = constantOf(indices);
  if (!constant || !batching.empty())
    return std::nullopt;
  RankedTensorType type = tensorTypeOf(indices);
  int64_t vectors = type.getNumElements();
  if (indexVectorDim < type.getRank() && type.getDimSize(indexVectorDim) > 0)
    vectors /= type.getDimSize(indexVectorDim);
  if (vectors != 1 || type.getNumElements() != int64_t(map.size()))
    return std::nullopt;
  SmallVector<int64_t> start(size_t(rank), 0);
  bool isUnsigned = type.getElementType().isUnsignedInteger();
  for (auto [dim, element] :
       llvm::zip_equal(map, constant.getValues<APInt>())) {
    if (element.getActiveBits() > 62 && isUnsigned)
      return std::nullopt;
    start[size_t(dim)] =
        isUnsigned ? int64_t(element.getZExtValue()) : element.getSExtValue();
  }
  return start;
}

struct GatherAtConstant : OpRewritePattern<GatherOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(GatherOp op,
                                PatternRewriter &rewriter) const override {
    GatherDimensionNumbersAttr numbers = op.getDimensionNumbers();
    RankedTensorType type = tensorTypeOf(op.getOperand());
    auto starts = singleIndex(op.getStartIndices(), numbers.getIndexVectorDim(),
                              numbers.getStartIndexMap(),
                              numbers.getOperandBatchingDims(), type.getRank());
    if (!starts)
      return failure();
    SmallVector<int64_t> limits;
    for (auto [dim, size] : llvm::enumerate(op.getSliceSizes())) {
      int64_t last = type.getDimSize(int64_t(dim)) - size;
      (*starts)[dim] = std::clamp<int64_t>((*starts)[dim], 0, last);
      limits.push_back((*starts)[dim] + size);
    }
    // Batch and collapsed dimensions have one element, so that the slice holds
    // the result's elements in order.
    Value slice = SliceOp::create(
        rewriter, op.getLoc(), type.clone(op.getSliceSizes()), op.getOperand(),
        *starts, limits, SmallVector<int64_t>(limits.size(), 1));
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), slice);
    return success();
  }
};

/// A scatter of one slice: the slice of the input there, combined, put back.
/// The region runs once per element with the input's element first.
struct ScatterAtConstant : OpRewritePattern<ScatterOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ScatterOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getInputs().size() != 1)
      return failure();
    ScatterDimensionNumbersAttr numbers = op.getScatterDimensionNumbers();
    Value input = op.getInputs()[0], update = op.getUpdates()[0];
    RankedTensorType type = tensorTypeOf(input);
    auto starts =
        singleIndex(op.getScatterIndices(), numbers.getIndexVectorDim(),
                    numbers.getScatterDimsToOperandDims(),
                    numbers.getInputBatchingDims(), type.getRank());
    if (!starts)
      return failure();
    Block &body = op.getUpdateComputation().front();
    Operation *combine = nullptr;
    Value combined = body.getTerminator()->getOperand(0);
    if (combined != body.getArgument(1)) {
      combine = combined.getDefiningOp();
      if (!combine || !isa<AddOp, MultiplyOp, MaximumOp, MinimumOp>(combine) ||
          !llvm::hasSingleElement(body.without_terminator()) ||
          !llvm::equal(combine->getOperands(), body.getArguments()))
        return failure();
    }

    // The window in the input's dimensions; inserted ones have one element.
    SmallVector<int64_t> sizes, limits;
    size_t window = 0;
    RankedTensorType updateType = tensorTypeOf(update);
    for (int64_t dim = 0; dim < type.getRank(); ++dim) {
      bool inserted = llvm::is_contained(numbers.getInsertedWindowDims(), dim);
      sizes.push_back(inserted ? 1
                               : updateType.getDimSize(
                                     numbers.getUpdateWindowDims()[window++]));
      limits.push_back((*starts)[size_t(dim)] + sizes.back());
      // A window that does not fit is dropped; leave that to the operation.
      if ((*starts)[size_t(dim)] < 0 || limits.back() > type.getDimSize(dim))
        return failure();
    }
    Location location = op.getLoc();
    RankedTensorType box = type.clone(sizes);
    Value value = update;
    if (update.getType() != box)
      value = ReshapeOp::create(rewriter, location, box, update);
    if (combine) {
      Value there =
          SliceOp::create(rewriter, location, box, input, *starts, limits,
                          SmallVector<int64_t>(sizes.size(), 1));
      OperationState state(location, combine->getName().getStringRef(),
                           {there, value}, {box});
      value = rewriter.create(state)->getResult(0);
    }
    if (box == type) {
      rewriter.replaceOp(op, value);
      return success();
    }
    // Around the window the input stays; a constant one is padding.
    if (Attribute element = splatOf(input)) {
      Value padding =
          makeSplat(rewriter, location,
                    RankedTensorType::get({}, type.getElementType()), element);
      SmallVector<int64_t> high;
      for (auto [dim, limit] : llvm::enumerate(limits))
        high.push_back(type.getDimSize(int64_t(dim)) - limit);
      rewriter.replaceOpWithNewOp<PadOp>(op, type, value, padding, *starts,
                                         high,
                                         SmallVector<int64_t>(high.size(), 0));
      return success();
    }
    SmallVector<Value> positions;
    for (int64_t start : *starts)
      positions.push_back(makeSplat(
          rewriter, location, RankedTensorType::get({}, rewriter.getI32Type()),
          rewriter.getI32IntegerAttr(int32_t(start))));
    rewriter.replaceOpWithNewOp<DynamicUpdateSliceOp>(op, input, value,
                                                      positions);
    return success();
  }
};

/// One element per row, added to zeros: the gradient of picking an element. As
/// a comparison of positions it joins the kernel that makes the rest of the
/// row. Indices outside of the row match no position, as a scatter drops them.
struct ScatterOnePerRow : OpRewritePattern<ScatterOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ScatterOp op,
                                PatternRewriter &rewriter) const override {
    ScatterDimensionNumbersAttr numbers = op.getScatterDimensionNumbers();
    if (!addsUp(op) || !isSplat(op.getInputs()[0], 0) ||
        numbers.getScatterDimsToOperandDims().size() != 1)
      return failure();
    Value indices = op.getScatterIndices(), update = op.getUpdates()[0];
    RankedTensorType type = tensorTypeOf(op.getInputs()[0]);
    const int64_t axis = numbers.getScatterDimsToOperandDims()[0];
    // The rows: in the order of the indices, further dimensions of extent 1.
    ArrayRef<int64_t> batching = numbers.getInputBatchingDims();
    SmallVector<int64_t> kept, extents;
    for (int64_t dim = 0; dim < type.getRank(); ++dim) {
      if (dim == axis)
        continue;
      if (!llvm::is_contained(batching, dim) && type.getDimSize(dim) != 1)
        return failure();
      kept.push_back(dim);
      extents.push_back(type.getDimSize(dim));
    }
    if (!llvm::is_contained(numbers.getInsertedWindowDims(), axis) ||
        !llvm::is_sorted(batching) ||
        !llvm::is_sorted(numbers.getScatterIndicesBatchingDims()) ||
        tensorTypeOf(update).getNumElements() !=
            ShapedType::getNumElements(extents))
      return failure();
    auto indexType = cast<IntegerType>(tensorTypeOf(indices).getElementType());
    const unsigned bits = indexType.getWidth() - !indexType.isUnsigned();
    if (bits < 63 && type.getDimSize(axis) > int64_t(1) << bits)
      return failure();

    Location location = op.getLoc();
    auto perRow = [&](Value value) {
      return ReshapeOp::create(rewriter, location,
                               tensorTypeOf(value).clone(extents), value);
    };
    auto spread = [&](Value value) {
      return BroadcastInDimOp::create(
          rewriter, location, type.clone(tensorTypeOf(value).getElementType()),
          value, kept);
    };
    Value rowUpdate = perRow(update);
    // A sum of zero and -0 is +0.
    Value zeros = makeSplat(rewriter, location, tensorTypeOf(rowUpdate),
                            splatOf(op.getInputs()[0]));
    rowUpdate = AddOp::create(rewriter, location, zeros, rowUpdate);
    Value position =
        IotaOp::create(rewriter, location, type.clone(indexType), axis);
    Value isThere =
        CompareOp::create(rewriter, location, position, spread(perRow(indices)),
                          ComparisonDirection::EQ);
    rewriter.replaceOpWithNewOp<SelectOp>(op, isThere, spread(rowUpdate),
                                          op.getInputs()[0]);
    return success();
  }
};

/// Few rows of a table whose other rows all repeat one element, as those of an
/// embedding's gradient are zero. What is combined lies in a table of its own,
/// a row per update and one more that nobody changes; which of them a row of
/// the result is stands in a list, so that who computes with the result looks
/// its rows up and the large table never lies in memory:
///
///   list = scatter count into [rows] at indices <- 0, 1, 2, ...
///   few = scatter element into [count + 1, ...] at list[indices] <- updates
///   result = few[list]
///
/// Of updates to one place the last one stands in the list, whichever that is.
/// Those to one row come in the order in which they came.
struct ScatterFewRows : OpRewritePattern<ScatterOp> {
  using OpRewritePattern::OpRewritePattern;

  /// Tables that are smaller are not worth three kernels more.
  static constexpr int64_t leastElements = 1 << 14;

  LogicalResult matchAndRewrite(ScatterOp op,
                                PatternRewriter &rewriter) const override {
    ScatterDimensionNumbersAttr numbers = op.getScatterDimensionNumbers();
    if (op.getInputs().size() != 1 || !changesWholeRows(op) ||
        !llvm::all_of(op->getUsers(), isPointwise))
      return failure();
    Attribute element = splatOf(op.getInputs()[0]);
    Value indices = op.getScatterIndices();
    RankedTensorType type = tensorTypeOf(op.getInputs()[0]);
    const int64_t axis = numbers.getInsertedWindowDims()[0],
                  rows = type.getDimSize(axis),
                  count = tensorTypeOf(indices).getNumElements();
    if (!element || type.getNumElements() < leastElements || count == 0 ||
        2 * (count + 1) > rows || !fits(tensorTypeOf(indices), rows))
      return failure();

    Location location = op.getLoc();
    auto listType = [&](int64_t extent) {
      return RankedTensorType::get({extent}, rewriter.getI32Type());
    };
    auto number = [&](RankedTensorType of, int64_t value) {
      return makeSplat(rewriter, location, of,
                       rewriter.getIntegerAttr(of.getElementType(), value));
    };
    Value places = ReshapeOp::create(
        rewriter, location, tensorTypeOf(indices).clone({count}), indices);
    Value list = listOf(rewriter, location, places, rows);

    // A place outside of the table has no row among the few, either.
    RankedTensorType placesType = tensorTypeOf(places);
    auto inside = [&](ComparisonDirection direction, int64_t limit) {
      return CompareOp::create(rewriter, location, places,
                               number(placesType, limit), direction);
    };
    Value isInside =
        AndOp::create(rewriter, location, inside(ComparisonDirection::GE, 0),
                      inside(ComparisonDirection::LT, rows));
    Value found =
        SelectOp::create(rewriter, location, isInside,
                         lookUp(rewriter, location, list, places, /*axis=*/0),
                         number(listType(count), count + 1));
    SmallVector<int64_t> shape(type.getShape());
    shape[axis] = count + 1;
    auto few = ScatterOp::create(
        rewriter, location, type.clone(shape),
        makeSplat(rewriter, location, type.clone(shape), element),
        ReshapeOp::create(rewriter, location,
                          tensorTypeOf(indices).clone(rewriter.getI32Type()),
                          found),
        op.getUpdates(), numbers, /*indices_are_sorted=*/false,
        op.getUniqueIndices());
    rewriter.inlineRegionBefore(op.getUpdateComputation(),
                                few.getUpdateComputation(),
                                few.getUpdateComputation().end());
    rewriter.replaceOp(
        op, lookUp(rewriter, location, few.getResult(0), list, axis));
    return success();
  }

private:
  static bool isPointwise(Operation *op) {
    return classify(op) == OperationClass::pointwise;
  }

  /// Whether each index names a row, and its update is all of that.
  static bool changesWholeRows(ScatterOp op) {
    ScatterDimensionNumbersAttr numbers = op.getScatterDimensionNumbers();
    ArrayRef<int64_t> named = numbers.getScatterDimsToOperandDims();
    if (named.size() != 1 || numbers.getInsertedWindowDims() != named ||
        !numbers.getInputBatchingDims().empty())
      return false;
    SmallVector<int64_t> row(tensorTypeOf(op.getInputs()[0]).getShape()), given;
    row.erase(row.begin() + named[0]);
    for (int64_t dim : numbers.getUpdateWindowDims())
      given.push_back(tensorTypeOf(op.getUpdates()[0]).getDimSize(dim));
    return row == given;
  }

  /// Whether indices of that type, and a list of i32, reach all rows.
  static bool fits(RankedTensorType indices, int64_t rows) {
    auto type = cast<IntegerType>(indices.getElementType());
    const unsigned bits = std::min(type.getWidth() - !type.isUnsigned(), 31u);
    return rows < int64_t(1) << bits;
  }

  /// Which of the places each row has, or their number if it has none.
  static Value listOf(PatternRewriter &rewriter, Location location,
                      Value places, int64_t rows) {
    const int64_t count = tensorTypeOf(places).getNumElements();
    auto type = RankedTensorType::get({rows}, rewriter.getI32Type());
    auto numbers = ScatterDimensionNumbersAttr::get(
        rewriter.getContext(), /*updateWindowDims=*/{},
        /*insertedWindowDims=*/{0}, /*inputBatchingDims=*/{},
        /*scatterIndicesBatchingDims=*/{}, /*scatterDimsToOperandDims=*/{0},
        /*indexVectorDim=*/1);
    Value numbered = IotaOp::create(rewriter, location, type.clone({count}), 0);
    auto list = ScatterOp::create(
        rewriter, location, type,
        makeSplat(rewriter, location, type,
                  rewriter.getI32IntegerAttr(int32_t(count))),
        places, numbered, numbers, /*indices_are_sorted=*/false,
        /*unique_indices=*/false);
    OpBuilder::InsertionGuard guard(rewriter);
    auto scalar = RankedTensorType::get({}, rewriter.getI32Type());
    Block *body = rewriter.createBlock(&list.getUpdateComputation(), {},
                                       {scalar, scalar}, {location, location});
    ReturnOp::create(rewriter, location, body->getArgument(1));
    return list.getResult(0);
  }

  /// The rows of a table along `axis`, one per element of a list.
  static Value lookUp(PatternRewriter &rewriter, Location location, Value table,
                      Value list, int64_t axis) {
    RankedTensorType type = tensorTypeOf(table);
    SmallVector<int64_t> shape(type.getShape()), sizes(shape), others;
    shape[axis] = tensorTypeOf(list).getNumElements();
    sizes[axis] = 1;
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      if (dim != axis)
        others.push_back(dim);
    auto numbers = GatherDimensionNumbersAttr::get(
        rewriter.getContext(), /*offsetDims=*/others,
        /*collapsedSliceDims=*/{axis}, /*operandBatchingDims=*/{},
        /*startIndicesBatchingDims=*/{}, /*startIndexMap=*/{axis},
        /*indexVectorDim=*/1);
    return GatherOp::create(rewriter, location, type.clone(shape), table, list,
                            numbers, sizes, /*indices_are_sorted=*/false);
  }
};

/// Rows 0, 1, 2, ... of a table: its first rows.
struct GatherOfCount : OpRewritePattern<GatherOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(GatherOp op,
                                PatternRewriter &rewriter) const override {
    GatherDimensionNumbersAttr numbers = op.getDimensionNumbers();
    RankedTensorType type = tensorTypeOf(op.getOperand());
    Value indices = op.getStartIndices();
    if (auto reshape = indices.getDefiningOp<ReshapeOp>())
      indices = reshape.getOperand();
    auto count = indices.getDefiningOp<IotaOp>();
    if (!count || !numbers.getOperandBatchingDims().empty() ||
        numbers.getStartIndexMap().size() != 1 ||
        numbers.getCollapsedSliceDims() != numbers.getStartIndexMap() ||
        tensorTypeOf(count).getNumElements() !=
            tensorTypeOf(count).getDimSize(int64_t(count.getIotaDimension())))
      return failure();
    int64_t dim = numbers.getStartIndexMap()[0];
    int64_t rows = tensorTypeOf(count).getNumElements();
    auto result = cast<RankedTensorType>(op.getType());
    // The batch dimension must stand where the table's rows stand, and nothing
    // else may be cut.
    SmallVector<int64_t> expected(type.getShape());
    expected[size_t(dim)] = rows;
    SmallVector<int64_t> sizes(type.getShape());
    sizes[size_t(dim)] = 1;
    if (rows > type.getDimSize(dim) ||
        result.getShape() != ArrayRef(expected) ||
        op.getSliceSizes() != ArrayRef(sizes) ||
        llvm::is_contained(numbers.getOffsetDims(), dim))
      return failure();
    rewriter.replaceOpWithNewOp<SliceOp>(
        op, result, op.getOperand(), SmallVector<int64_t>(expected.size(), 0),
        expected, SmallVector<int64_t>(expected.size(), 1));
    return success();
  }
};

/// Single elements of what is computed element by element: what it is computed
/// from is picked instead, and repeated less often. A loss that reads one
/// logarithm of a probability per row then needs no tensor of all of them.
struct PickBeforeComputing : OpRewritePattern<GatherOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(GatherOp op,
                                PatternRewriter &rewriter) const override {
    constexpr int64_t leastLeftOut = 8; // elements for one that is picked
    Operation *computed = op.getOperand().getDefiningOp();
    // What is outside of a loop is computed once.
    if (!computed || computed->getBlock() != op->getBlock() ||
        !computed->hasTrait<OpTrait::Elementwise>() ||
        !isa<StableHLODialect>(computed->getDialect()) ||
        !op.getDimensionNumbers().getOffsetDims().empty() ||
        leastLeftOut * op.getType().getNumElements() >
            tensorTypeOf(op.getOperand()).getNumElements())
      return failure();
    auto isPicked = [&](Value operand) {
      return !splatOf(operand) && tensorTypeOf(operand).getRank() != 0 &&
             !isRepeated(operand, op);
    };
    // Picking twice takes a kernel more.
    if (llvm::count_if(computed->getOperands(), isPicked) > 1)
      return failure();
    SmallVector<Value> operands;
    for (Value operand : computed->getOperands()) {
      RankedTensorType type =
          op.getType().clone(tensorTypeOf(operand).getElementType());
      if (tensorTypeOf(operand).getRank() == 0)
        operands.push_back(operand); // a limit or predicate
      else if (Attribute element = splatOf(operand))
        operands.push_back(
            makeSplat(rewriter, operand.getLoc(), type, element));
      else if (isRepeated(operand, op))
        operands.push_back(repeated(operand, op, type, rewriter));
      else
        operands.push_back(
            GatherOp::create(rewriter, op.getLoc(), type, operand,
                             op.getStartIndices(), op.getDimensionNumbers(),
                             op.getSliceSizes(), op.getIndicesAreSorted()));
    }
    OperationState state(computed->getLoc(), computed->getName());
    state.addOperands(operands);
    state.addTypes(op.getType());
    state.addAttributes(llvm::to_vector(computed->getDiscardableAttrs()));
    state.propertiesAttr = computed->getPropertiesAsAttribute();
    rewriter.replaceOp(op, rewriter.create(state));
    return success();
  }

private:
  /// The dimension of the result for one of the operand that no index picks
  /// along.
  static std::optional<int64_t> resultDimension(int64_t dim, GatherOp op) {
    GatherDimensionNumbersAttr numbers = op.getDimensionNumbers();
    for (auto [ofOperand, ofIndices] :
         llvm::zip_equal(numbers.getOperandBatchingDims(),
                         numbers.getStartIndicesBatchingDims()))
      if (ofOperand == dim)
        return ofIndices - (ofIndices > numbers.getIndexVectorDim());
    return std::nullopt;
  }
  /// Whether the value is the same wherever an index picks.
  static bool isRepeated(Value value, GatherOp op) {
    auto broadcast = value.getDefiningOp<BroadcastInDimOp>();
    return broadcast &&
           llvm::all_of(broadcast.getBroadcastDimensions(), [&](int64_t dim) {
             return resultDimension(dim, op).has_value();
           });
  }
  static Value repeated(Value value, GatherOp op, RankedTensorType type,
                        PatternRewriter &rewriter) {
    auto broadcast = value.getDefiningOp<BroadcastInDimOp>();
    SmallVector<int64_t> dims;
    for (int64_t dim : broadcast.getBroadcastDimensions())
      dims.push_back(*resultDimension(dim, op));
    return BroadcastInDimOp::create(rewriter, value.getLoc(), type,
                                    broadcast.getOperand(), dims);
  }
};

} // namespace

void populateIndexingRules(RewritePatternSet &patterns) {
  patterns.add<DecidedCompare, IdleClamp, DecidedExtreme<MaximumOp, true>,
               DecidedExtreme<MinimumOp, false>, SliceAtConstant, UpdateOfWhole,
               GatherAtConstant, ScatterAtConstant, ScatterOnePerRow,
               ScatterFewRows, GatherOfCount, PickBeforeComputing>(
      patterns.getContext());
}

} // namespace tenon::simplify
