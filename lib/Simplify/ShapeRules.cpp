//===- ShapeRules.cpp - Slices, pads and concatenations -------------------===//
//
// Movements of elements that compose or change nothing. Broadcasts, reshapes
// and transposes among themselves are ShapeSpelling's.
//
//===----------------------------------------------------------------------===//

#include "Rules.h"

#include "tenon/Analysis/ElementTypes.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"

using namespace mlir;
using namespace tenon::stablehlo;

namespace tenon::simplify {
namespace {

struct SliceOfWhole : OpRewritePattern<SliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SliceOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getOperand().getType() != op.getType() ||
        !allAre(op.getStrides(), 1))
      return failure();
    rewriter.replaceOp(op, op.getOperand());
    return success();
  }
};

struct SliceOfSlice : OpRewritePattern<SliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SliceOp op,
                                PatternRewriter &rewriter) const override {
    auto inner = op.getOperand().getDefiningOp<SliceOp>();
    if (!inner)
      return failure();
    SmallVector<int64_t> starts, limits, strides;
    for (size_t dim = 0; dim < op.getStrides().size(); ++dim) {
      int64_t step = inner.getStrides()[dim];
      int64_t base = inner.getStartIndices()[dim];
      starts.push_back(base + op.getStartIndices()[dim] * step);
      // The inner limit may end between two of its elements.
      limits.push_back(std::min(base + op.getLimitIndices()[dim] * step,
                                inner.getLimitIndices()[dim]));
      strides.push_back(op.getStrides()[dim] * step);
    }
    rewriter.replaceOpWithNewOp<SliceOp>(op, op.getType(), inner.getOperand(),
                                         starts, limits, strides);
    return success();
  }
};

/// A slice that lies in one part of a concatenation.
struct SliceOfConcatenate : OpRewritePattern<SliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SliceOp op,
                                PatternRewriter &rewriter) const override {
    auto concatenate = op.getOperand().getDefiningOp<ConcatenateOp>();
    if (!concatenate)
      return failure();
    auto dimension = size_t(concatenate.getDimension());
    int64_t start = op.getStartIndices()[dimension];
    int64_t limit = op.getLimitIndices()[dimension], offset = 0;
    for (Value input : concatenate.getInputs()) {
      int64_t extent = tensorTypeOf(input).getShape()[dimension];
      if (start >= offset && limit <= offset + extent) {
        SmallVector<int64_t> starts(op.getStartIndices());
        SmallVector<int64_t> limits(op.getLimitIndices());
        starts[dimension] -= offset;
        limits[dimension] -= offset;
        rewriter.replaceOpWithNewOp<SliceOp>(op, op.getType(), input, starts,
                                             limits, op.getStrides());
        return success();
      }
      offset += extent;
    }
    return failure();
  }
};

/// A slice of a broadcast: a smaller broadcast of a slice.
struct SliceOfBroadcast : OpRewritePattern<SliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SliceOp op,
                                PatternRewriter &rewriter) const override {
    auto broadcast = op.getOperand().getDefiningOp<BroadcastInDimOp>();
    if (!broadcast)
      return failure();
    Value source = broadcast.getOperand();
    RankedTensorType type = tensorTypeOf(source);
    SmallVector<int64_t> starts, limits, strides, shape;
    for (auto [dim, to] : llvm::enumerate(broadcast.getBroadcastDimensions())) {
      bool repeats = type.getDimSize(int64_t(dim)) == 1;
      starts.push_back(repeats ? 0 : op.getStartIndices()[to]);
      limits.push_back(repeats ? 1 : op.getLimitIndices()[to]);
      strides.push_back(repeats ? 1 : op.getStrides()[to]);
      shape.push_back(
          repeats ? 1 : cast<RankedTensorType>(op.getType()).getDimSize(to));
    }
    Value slice = source;
    if (shape != type.getShape())
      slice = SliceOp::create(rewriter, op.getLoc(), type.clone(shape), source,
                              starts, limits, strides);
    rewriter.replaceOpWithNewOp<BroadcastInDimOp>(
        op, op.getType(), slice, broadcast.getBroadcastDimensions());
    return success();
  }
};

/// A slice of a conversion to a wider type: a conversion of a slice, if all
/// that is read of the conversion are slices. They join the kernels that read
/// them, which the whole in the wider type would have to lie in memory for.
struct SliceOfWidening : OpRewritePattern<SliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SliceOp op,
                                PatternRewriter &rewriter) const override {
    auto convert = op.getOperand().getDefiningOp<ConvertOp>();
    if (!convert || !llvm::all_of(convert->getUsers(), [](Operation *user) {
          return isa<SliceOp>(user);
        }))
      return failure();
    RankedTensorType from = tensorTypeOf(convert.getOperand());
    if (storedBytes(from) >= storedBytes(convert.getType()))
      return failure();
    auto type = cast<RankedTensorType>(op.getType());
    Value slice =
        SliceOp::create(rewriter, op.getLoc(), from.clone(type.getShape()),
                        convert.getOperand(), op.getStartIndices(),
                        op.getLimitIndices(), op.getStrides());
    auto result = ConvertOp::create(rewriter, op.getLoc(), type, slice);
    result->setDiscardableAttrs(convert->getDiscardableAttrDictionary());
    rewriter.replaceOp(op, result);
    return success();
  }
};

struct PadOfNothing : OpRewritePattern<PadOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(PadOp op,
                                PatternRewriter &rewriter) const override {
    if (allAre(op.getEdgePaddingLow(), 0) &&
        allAre(op.getEdgePaddingHigh(), 0) &&
        allAre(op.getInteriorPadding(), 0)) {
      rewriter.replaceOp(op, op.getOperand());
      return success();
    }
    // A constant padded with itself. Equal attributes have equal bits.
    Attribute element = splatOf(op.getOperand());
    if (!element || element != splatOf(op.getPaddingValue()))
      return failure();
    rewriter.replaceOp(op, makeSplat(rewriter, op.getLoc(),
                                     cast<RankedTensorType>(op.getType()),
                                     element));
    return success();
  }
};

/// The sum of two tensors that zeros surround, and that lie side by side in
/// them, as gradients of slices of one tensor do: their concatenation. Where an
/// element meets a zero, it stays a sum, which makes +0 of -0.
struct SumOfPads : OpRewritePattern<AddOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AddOp op,
                                PatternRewriter &rewriter) const override {
    auto left = op.getLhs().getDefiningOp<PadOp>();
    auto right = op.getRhs().getDefiningOp<PadOp>();
    if (!left || !right || !isFramed(left) || !isFramed(right))
      return failure();
    const int64_t rank = op.getType().getRank();
    for (int64_t dim = 0; dim < rank; ++dim)
      for (auto [first, second] : {std::pair(left, right), {right, left}})
        if (first.getEdgePaddingLow()[dim] +
                tensorTypeOf(first.getOperand()).getDimSize(dim) ==
            second.getEdgePaddingLow()[dim]) {
          join(op, first, second, dim, rewriter);
          return success();
        }
    return failure();
  }

private:
  /// By zeros at the edges alone, and for this sum alone.
  static bool isFramed(PadOp op) {
    auto isNegative = [](int64_t padding) { return padding < 0; };
    return op->hasOneUse() && isSplat(op.getPaddingValue(), 0) &&
           allAre(op.getInteriorPadding(), 0) &&
           llvm::none_of(op.getEdgePaddingLow(), isNegative) &&
           llvm::none_of(op.getEdgePaddingHigh(), isNegative);
  }

  static void join(AddOp op, PadOp first, PadOp second, int64_t dimension,
                   PatternRewriter &rewriter) {
    // Zeros around both stand around the whole, others around one of them.
    SmallVector<int64_t> low, high;
    for (auto [a, b] :
         llvm::zip(first.getEdgePaddingLow(), second.getEdgePaddingLow()))
      low.push_back(std::min(a, b));
    for (auto [a, b] :
         llvm::zip(first.getEdgePaddingHigh(), second.getEdgePaddingHigh()))
      high.push_back(std::min(a, b));
    SmallVector<Value> parts;
    for (PadOp each : {first, second}) {
      SmallVector<int64_t> before, behind;
      for (size_t dim = 0; dim < low.size(); ++dim) {
        const bool joins = int64_t(dim) == dimension;
        before.push_back(joins ? 0 : each.getEdgePaddingLow()[dim] - low[dim]);
        behind.push_back(joins ? 0
                               : each.getEdgePaddingHigh()[dim] - high[dim]);
      }
      RankedTensorType type = tensorTypeOf(each.getOperand());
      Value zeros = makeSplat(rewriter, op.getLoc(), type,
                              rewriter.getZeroAttr(type.getElementType()));
      Value part =
          AddOp::create(rewriter, op.getLoc(), each.getOperand(), zeros);
      parts.push_back(padded(rewriter, op.getLoc(), part, before, behind,
                             each.getPaddingValue()));
    }
    SmallVector<int64_t> shape(tensorTypeOf(parts[0]).getShape());
    shape[dimension] += tensorTypeOf(parts[1]).getDimSize(dimension);
    Value whole =
        ConcatenateOp::create(rewriter, op.getLoc(), op.getType().clone(shape),
                              parts, rewriter.getI64IntegerAttr(dimension));
    rewriter.replaceOp(op, padded(rewriter, op.getLoc(), whole, low, high,
                                  first.getPaddingValue()));
  }

  static Value padded(PatternRewriter &rewriter, Location location, Value value,
                      ArrayRef<int64_t> low, ArrayRef<int64_t> high,
                      Value padding) {
    if (allAre(low, 0) && allAre(high, 0))
      return value;
    RankedTensorType type = tensorTypeOf(value);
    SmallVector<int64_t> shape(type.getShape()), interior(shape.size(), 0);
    for (size_t dim = 0; dim < shape.size(); ++dim)
      shape[dim] += low[dim] + high[dim];
    return PadOp::create(rewriter, location, type.clone(shape), value, padding,
                         low, high, interior);
  }
};

struct SimplifyConcatenate : OpRewritePattern<ConcatenateOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ConcatenateOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getInputs().size() == 1) {
      rewriter.replaceOp(op, op.getInputs()[0]);
      return success();
    }
    // Parts that are concatenations along the same dimension, and empty parts.
    auto dimension = int64_t(op.getDimension());
    SmallVector<Value> parts;
    bool changed = false;
    for (Value input : op.getInputs()) {
      auto inner = input.getDefiningOp<ConcatenateOp>();
      if (inner && int64_t(inner.getDimension()) == dimension) {
        llvm::append_range(parts, inner.getInputs());
        changed = true;
      } else if (tensorTypeOf(input).getDimSize(dimension) == 0) {
        changed = true;
      } else if (!parts.empty() &&
                 join(parts.back(), input, dimension, op.getLoc(), rewriter)) {
        changed = true;
      } else {
        parts.push_back(input);
      }
    }
    if (!changed || parts.empty())
      return failure();
    if (parts.size() == 1 && parts[0].getType() == op.getType())
      rewriter.replaceOp(op, parts[0]);
    else
      rewriter.replaceOpWithNewOp<ConcatenateOp>(
          op, op.getType(), parts, rewriter.getI64IntegerAttr(dimension));
    return success();
  }

  /// Replaces `left` by one slice that covers `left` and `right`, if they are
  /// neighbouring slices of one tensor.
  static bool join(Value &left, Value right, int64_t dimension,
                   Location location, PatternRewriter &rewriter) {
    auto a = left.getDefiningOp<SliceOp>(), b = right.getDefiningOp<SliceOp>();
    if (!a || !b || a.getOperand() != b.getOperand() ||
        !allAre(a.getStrides(), 1) || !allAre(b.getStrides(), 1))
      return false;
    for (size_t dim = 0; dim < a.getStrides().size(); ++dim) {
      if (int64_t(dim) == dimension
              ? a.getLimitIndices()[dim] != b.getStartIndices()[dim]
              : a.getStartIndices()[dim] != b.getStartIndices()[dim] ||
                    a.getLimitIndices()[dim] != b.getLimitIndices()[dim])
        return false;
    }
    SmallVector<int64_t> limits(a.getLimitIndices());
    limits[size_t(dimension)] = b.getLimitIndices()[size_t(dimension)];
    left = SliceOp::create(rewriter, location, a.getOperand(),
                           a.getStartIndices(), limits, a.getStrides());
    return true;
  }
};

struct SimplifyReverse : OpRewritePattern<ReverseOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReverseOp op,
                                PatternRewriter &rewriter) const override {
    Value source = op.getOperand();
    RankedTensorType type = tensorTypeOf(source);
    if (splatOf(source)) {
      rewriter.replaceOp(op, source);
      return success();
    }
    SmallVector<int64_t> dims;
    for (int64_t dim : op.getDimensions())
      if (type.getDimSize(dim) != 1)
        dims.push_back(dim);
    // A dimension that is reversed twice is not reversed.
    if (auto inner = source.getDefiningOp<ReverseOp>()) {
      for (int64_t dim : inner.getDimensions()) {
        if (auto *twice = llvm::find(dims, dim); twice != dims.end())
          dims.erase(twice);
        else
          dims.push_back(dim);
      }
      source = inner.getOperand();
      llvm::sort(dims);
    } else if (dims.size() == op.getDimensions().size()) {
      return failure();
    }
    if (dims.empty())
      rewriter.replaceOp(op, source);
    else
      rewriter.replaceOpWithNewOp<ReverseOp>(op, source, dims);
    return success();
  }
};

} // namespace

void populateShapeRules(RewritePatternSet &patterns) {
  patterns.add<SliceOfWhole, SliceOfSlice, SliceOfConcatenate, SliceOfBroadcast,
               SliceOfWidening, PadOfNothing, SumOfPads, SimplifyConcatenate,
               SimplifyReverse>(patterns.getContext());
}

} // namespace tenon::simplify
