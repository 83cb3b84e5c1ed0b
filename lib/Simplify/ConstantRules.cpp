//===- ConstantRules.cpp - Operations on constants ------------------------===//
//
// Element-wise operations whose operands are constants, and movements of
// constants that are no splats (movements of splats are ShapeSpelling's).
//
//===----------------------------------------------------------------------===//

#include "ConstantArithmetic.h"
#include "Rules.h"

#include "tenon/Dialect/StableHLO/StableHLO.h"

#include "mlir/IR/Remarks.h"

using namespace mlir;
using namespace tenon::stablehlo;

namespace tenon::simplify {
namespace {

/// One rule per operation of the table of arithmetic.
struct FoldElementwise : RewritePattern {
  FoldElementwise(StringRef operation, MLIRContext *context,
                  Subnormals subnormals)
      : RewritePattern(operation, /*benefit=*/2, context),
        subnormals(subnormals) {}

  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    SmallVector<DenseElementsAttr, 3> operands;
    for (Value operand : op->getOperands()) {
      DenseElementsAttr constant = constantOf(operand);
      if (!constant)
        return failure();
      operands.push_back(constant);
    }
    DenseElementsAttr result = foldElementwise(op, operands, subnormals);
    if (!result) {
      remark::missed(
          op->getLoc(),
          remark::RemarkOpts::name("constant").category("simplify-apply-rules"))
          << remark::add("{0} of constants stays an operation",
                         op->getName().getStringRef().str())
          << remark::reason("the result is NaN, subnormal or decided by the "
                            "machine, or has more than {0} elements",
                            foldedElements);
      return failure();
    }
    rewriter.replaceOpWithNewOp<ConstantOp>(op, cast<ElementsAttr>(result));
    return success();
  }

  Subnormals subnormals;
};

/// Walks all indices of `shape` in row-major order.
template <typename Visit>
void forEachIndex(ArrayRef<int64_t> shape, Visit visit) {
  SmallVector<int64_t> index(shape.size(), 0);
  if (llvm::is_contained(shape, 0))
    return;
  while (true) {
    visit(ArrayRef<int64_t>(index));
    size_t dim = shape.size();
    while (dim > 0 && ++index[dim - 1] == shape[dim - 1])
      index[--dim] = 0;
    if (dim == 0)
      return;
  }
}

int64_t linear(ArrayRef<int64_t> shape, ArrayRef<int64_t> index) {
  int64_t offset = 0;
  for (auto [extent, position] : llvm::zip_equal(shape, index))
    offset = offset * extent + position;
  return offset;
}

/// The constant that `collect` makes, called with the type that elements of
/// `type` are read as.
template <typename Collect>
DenseElementsAttr collectElements(RankedTensorType type, Collect collect) {
  if (isa<FloatType>(type.getElementType()))
    return collect.template operator()<APFloat>();
  return collect.template operator()<APInt>();
}

/// The constant behind the operand of a movement, if moving it is worth it: it
/// is no splat, small, and not much smaller than the result.
template <typename Op>
DenseElementsAttr movable(Op op) {
  DenseElementsAttr source = constantOf(op->getOperand(0));
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  if (!source || source.isSplat() || !type.getElementType().isIntOrFloat() ||
      type.getNumElements() == 0 || type.getNumElements() > foldedElements ||
      source.getNumElements() > foldedElements)
    return {};
  return source;
}

/// Replaces a movement of `source`: the element at an index of the result is
/// the one of `source` at the place that `find` writes, which has an entry for
/// each dimension of `source`.
template <typename Op, typename Find>
LogicalResult foldMovement(Op op, DenseElementsAttr source,
                           PatternRewriter &rewriter, Find find) {
  if (!source)
    return failure();
  auto type = cast<RankedTensorType>(op.getType());
  ArrayRef<int64_t> shape = source.getType().getShape();
  auto moved = collectElements(type, [&]<typename Element>() {
    SmallVector<Element> all(source.getValues<Element>()), moved;
    moved.reserve(size_t(type.getNumElements()));
    SmallVector<int64_t> place(shape.size());
    forEachIndex(type.getShape(), [&](ArrayRef<int64_t> index) {
      find(index, MutableArrayRef<int64_t>(place));
      moved.push_back(all[size_t(linear(shape, place))]);
    });
    return DenseElementsAttr::get(type, moved);
  });
  rewriter.replaceOpWithNewOp<ConstantOp>(op, cast<ElementsAttr>(moved));
  return success();
}

struct FoldReshape : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReshapeOp op,
                                PatternRewriter &rewriter) const override {
    DenseElementsAttr source = constantOf(op.getOperand());
    if (!source || source.isSplat())
      return failure();
    rewriter.replaceOpWithNewOp<ConstantOp>(
        op, cast<ElementsAttr>(source.reshape(op.getType())));
    return success();
  }
};

struct FoldTranspose : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(TransposeOp op,
                                PatternRewriter &rewriter) const override {
    return foldMovement(
        op, movable(op), rewriter,
        [&](ArrayRef<int64_t> index, MutableArrayRef<int64_t> place) {
          for (auto [position, dim] : llvm::enumerate(op.getPermutation()))
            place[dim] = index[position];
        });
  }
};

struct FoldSlice : OpRewritePattern<SliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SliceOp op,
                                PatternRewriter &rewriter) const override {
    auto type = cast<RankedTensorType>(op.getType());
    if (Attribute element = splatOf(op.getOperand())) {
      rewriter.replaceOp(op, makeSplat(rewriter, op.getLoc(), type, element));
      return success();
    }
    return foldMovement(
        op, movable(op), rewriter,
        [&](ArrayRef<int64_t> index, MutableArrayRef<int64_t> place) {
          for (size_t dim = 0; dim < place.size(); ++dim)
            place[dim] =
                op.getStartIndices()[dim] + index[dim] * op.getStrides()[dim];
        });
  }
};

/// A broadcast of a constant that is no splat stays a broadcast unless it is
/// small: the constants segment would grow by what it repeats.
struct FoldBroadcast : OpRewritePattern<BroadcastInDimOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(BroadcastInDimOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getType().getNumElements() > 64)
      return failure();
    ArrayRef<int64_t> shape =
        cast<RankedTensorType>(op.getOperand().getType()).getShape();
    return foldMovement(
        op, movable(op), rewriter,
        [&](ArrayRef<int64_t> index, MutableArrayRef<int64_t> place) {
          for (auto [dim, to] : llvm::enumerate(op.getBroadcastDimensions()))
            place[dim] = shape[dim] == 1 ? 0 : index[to];
        });
  }
};

struct FoldConcatenate : OpRewritePattern<ConcatenateOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ConcatenateOp op,
                                PatternRewriter &rewriter) const override {
    auto type = cast<RankedTensorType>(op.getType());
    if (!type.getElementType().isIntOrFloat() || type.getNumElements() == 0 ||
        type.getNumElements() > foldedElements)
      return failure();
    SmallVector<DenseElementsAttr> sources;
    for (Value input : op.getInputs()) {
      sources.push_back(constantOf(input));
      if (!sources.back())
        return failure();
    }
    auto joined = collectElements(type, [&]<typename Element>() {
      SmallVector<SmallVector<Element>> values;
      for (DenseElementsAttr source : sources)
        values.emplace_back(source.getValues<Element>());
      SmallVector<Element> joined;
      auto dimension = size_t(op.getDimension());
      SmallVector<int64_t> at;
      forEachIndex(type.getShape(), [&](ArrayRef<int64_t> index) {
        at.assign(index.begin(), index.end());
        size_t part = 0;
        while (at[dimension] >= sources[part].getType().getShape()[dimension])
          at[dimension] -= sources[part++].getType().getShape()[dimension];
        joined.push_back(values[part][size_t(
            linear(sources[part].getType().getShape(), at))]);
      });
      return DenseElementsAttr::get(type, joined);
    });
    rewriter.replaceOpWithNewOp<ConstantOp>(op, cast<ElementsAttr>(joined));
    return success();
  }
};

/// Counting along a dimension of one element.
struct IotaOfOne : OpRewritePattern<IotaOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(IotaOp op,
                                PatternRewriter &rewriter) const override {
    auto type = cast<RankedTensorType>(op.getType());
    if (type.getDimSize(int64_t(op.getIotaDimension())) != 1 ||
        !type.getElementType().isIntOrFloat())
      return failure();
    rewriter.replaceOp(op,
                       makeSplat(rewriter, op.getLoc(), type,
                                 rewriter.getZeroAttr(type.getElementType())));
    return success();
  }
};

} // namespace

void populateConstantRules(RewritePatternSet &patterns, Subnormals subnormals) {
  MLIRContext *context = patterns.getContext();
  for (StringRef operation : foldedOperations())
    patterns.add(
        std::make_unique<FoldElementwise>(operation, context, subnormals));
  patterns.add<FoldReshape, FoldTranspose, FoldSlice, FoldBroadcast,
               FoldConcatenate, IotaOfOne>(context);
}

} // namespace tenon::simplify
