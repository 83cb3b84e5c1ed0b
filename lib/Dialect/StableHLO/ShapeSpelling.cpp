//===- ShapeSpelling.cpp - One spelling for operations that move elements -===//
//
// Exporters add unit dimensions one at a time and broadcast in two steps
// ([64] -> [1, 64] -> [32, 64]). The rewrites here compose neighbours until
// each movement of elements is one operation from its source.
//
//===----------------------------------------------------------------------===//

#include "tenon/Dialect/StableHLO/ShapeSpelling.h"

#include "tenon/Dialect/StableHLO/StableHLO.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;

namespace tenon::stablehlo {

std::optional<SmallVector<int64_t>> unitReshapeMap(ArrayRef<int64_t> from,
                                                   ArrayRef<int64_t> to) {
  SmallVector<int64_t> map(from.size(), -1);
  size_t next = 0;
  auto skipUnits = [&] {
    while (next < to.size() && to[next] == 1)
      ++next;
  };
  for (auto [index, extent] : llvm::enumerate(from)) {
    if (extent == 1)
      continue;
    skipUnits();
    if (next == to.size() || to[next] != extent)
      return std::nullopt;
    map[index] = int64_t(next++);
  }
  skipUnits();
  if (next != to.size())
    return std::nullopt;
  return map;
}

namespace {

/// The splat that `value` is, if it is a constant one.
SplatElementsAttr splatOf(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  return constant ? dyn_cast<SplatElementsAttr>(constant.getValue())
                  : SplatElementsAttr();
}

/// Movement of a splat constant.
template <typename Op>
struct MoveOfSplat : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    SplatElementsAttr splat = splatOf(op.getOperand());
    if (!splat)
      return failure();
    rewriter.replaceOpWithNewOp<ConstantOp>(
        op, cast<ElementsAttr>(splat.resizeSplat(op.getType())));
    return success();
  }
};

struct ReshapeChain : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReshapeOp op,
                                PatternRewriter &rewriter) const override {
    Value source = op.getOperand();
    if (source.getType() == op.getType()) {
      rewriter.replaceOp(op, source);
      return success();
    }
    auto inner = source.getDefiningOp<ReshapeOp>();
    if (!inner)
      return failure();
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(),
                                           inner.getOperand());
    return success();
  }
};

struct BroadcastChain : OpRewritePattern<BroadcastInDimOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(BroadcastInDimOp op,
                                PatternRewriter &rewriter) const override {
    Value source = op.getOperand();
    ArrayRef<int64_t> dims = op.getBroadcastDimensions();
    if (source.getType() == op.getType() && llvm::is_sorted(dims)) {
      rewriter.replaceOp(op, source);
      return success();
    }
    auto inner = source.getDefiningOp<BroadcastInDimOp>();
    if (!inner)
      return failure();
    SmallVector<int64_t> composed;
    for (int64_t dim : inner.getBroadcastDimensions())
      composed.push_back(dims[dim]);
    rewriter.replaceOpWithNewOp<BroadcastInDimOp>(op, op.getType(),
                                                  inner.getOperand(), composed);
    return success();
  }
};

/// A broadcast that also permutes becomes a transpose of the (smaller) operand
/// and a broadcast.
struct PermutingBroadcast : OpRewritePattern<BroadcastInDimOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(BroadcastInDimOp op,
                                PatternRewriter &rewriter) const override {
    ArrayRef<int64_t> dims = op.getBroadcastDimensions();
    if (llvm::is_sorted(dims))
      return failure();
    auto order = llvm::to_vector(llvm::seq<int64_t>(dims.size()));
    llvm::sort(order, [&](int64_t a, int64_t b) { return dims[a] < dims[b]; });
    Value transposed =
        TransposeOp::create(rewriter, op.getLoc(), op.getOperand(), order);
    SmallVector<int64_t> sorted(dims);
    llvm::sort(sorted);
    rewriter.replaceOpWithNewOp<BroadcastInDimOp>(op, op.getType(), transposed,
                                                  sorted);
    return success();
  }
};

/// A broadcast that repeats nothing only adds unit dimensions.
struct UnitBroadcast : OpRewritePattern<BroadcastInDimOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(BroadcastInDimOp op,
                                PatternRewriter &rewriter) const override {
    if (!llvm::is_sorted(op.getBroadcastDimensions()) ||
        typeOf(op.getOperand()).getNumElements() !=
            op.getType().getNumElements())
      return failure();
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), op.getOperand());
    return success();
  }
};

/// Broadcast of a reshape that only adds or removes unit dimensions: broadcast
/// of the reshape's operand, if its unit dimensions find room between the
/// others.
struct BroadcastOfReshape : OpRewritePattern<BroadcastInDimOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(BroadcastInDimOp op,
                                PatternRewriter &rewriter) const override {
    ArrayRef<int64_t> dims = op.getBroadcastDimensions();
    auto reshape = op.getOperand().getDefiningOp<ReshapeOp>();
    if (!reshape || !llvm::is_sorted(dims))
      return failure();
    Value source = reshape.getOperand();
    ArrayRef<int64_t> shape = typeOf(source).getShape();
    auto map = unitReshapeMap(shape, reshape.getType().getShape());
    if (!map)
      return failure();
    SmallVector<int64_t> composed(shape.size());
    int64_t free = 0; // the first result dimension not used so far
    for (size_t dim = 0; dim < shape.size(); ++dim) {
      int64_t at = (*map)[dim] < 0 ? free : dims[(*map)[dim]];
      if (at < free || at >= op.getType().getRank())
        return failure();
      composed[dim] = at;
      free = at + 1;
    }
    rewriter.replaceOpWithNewOp<BroadcastInDimOp>(op, op.getType(), source,
                                                  composed);
    return success();
  }
};

/// Reshape of a broadcast that only adds or removes unit dimensions, or of a
/// broadcast scalar.
struct ReshapeOfBroadcast : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReshapeOp op,
                                PatternRewriter &rewriter) const override {
    auto broadcast = op.getOperand().getDefiningOp<BroadcastInDimOp>();
    if (!broadcast)
      return failure();
    SmallVector<int64_t> composed;
    if (typeOf(broadcast.getOperand()).getRank() > 0) {
      auto map = unitReshapeMap(broadcast.getType().getShape(),
                                op.getType().getShape());
      if (!map)
        return failure();
      for (int64_t dim : broadcast.getBroadcastDimensions()) {
        if ((*map)[dim] < 0)
          return failure();
        composed.push_back((*map)[dim]);
      }
    }
    rewriter.replaceOpWithNewOp<BroadcastInDimOp>(
        op, op.getType(), broadcast.getOperand(), composed);
    return success();
  }
};

struct TransposeChain : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(TransposeOp op,
                                PatternRewriter &rewriter) const override {
    ArrayRef<int64_t> permutation = op.getPermutation();
    Value source = op.getOperand();
    if (llvm::equal(permutation, llvm::seq<int64_t>(permutation.size()))) {
      rewriter.replaceOp(op, source);
      return success();
    }
    // Dimensions that move past unit dimensions only do not move any element.
    ArrayRef<int64_t> shape = typeOf(source).getShape();
    SmallVector<int64_t> moving;
    for (int64_t dim : permutation)
      if (shape[dim] != 1)
        moving.push_back(dim);
    if (llvm::is_sorted(moving)) {
      rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), source);
      return success();
    }
    auto inner = source.getDefiningOp<TransposeOp>();
    if (!inner)
      return failure();
    SmallVector<int64_t> composed;
    for (int64_t dim : permutation)
      composed.push_back(inner.getPermutation()[dim]);
    rewriter.replaceOpWithNewOp<TransposeOp>(op, op.getType(),
                                             inner.getOperand(), composed);
    return success();
  }
};

struct TransposeOfBroadcast : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(TransposeOp op,
                                PatternRewriter &rewriter) const override {
    auto broadcast = op.getOperand().getDefiningOp<BroadcastInDimOp>();
    if (!broadcast)
      return failure();
    SmallVector<int64_t> position(op.getPermutation().size());
    for (auto [index, dim] : llvm::enumerate(op.getPermutation()))
      position[dim] = int64_t(index);
    SmallVector<int64_t> composed;
    for (int64_t dim : broadcast.getBroadcastDimensions())
      composed.push_back(position[dim]);
    rewriter.replaceOpWithNewOp<BroadcastInDimOp>(
        op, op.getType(), broadcast.getOperand(), composed);
    return success();
  }
};

} // namespace

void populateShapeSpelling(RewritePatternSet &patterns) {
  patterns.add<MoveOfSplat<BroadcastInDimOp>, MoveOfSplat<ReshapeOp>,
               MoveOfSplat<TransposeOp>, ReshapeChain, BroadcastChain,
               PermutingBroadcast, UnitBroadcast, BroadcastOfReshape,
               ReshapeOfBroadcast, TransposeChain, TransposeOfBroadcast>(
      patterns.getContext());
}

} // namespace tenon::stablehlo
