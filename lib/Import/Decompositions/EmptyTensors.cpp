//===- EmptyTensors.cpp - Operations on no elements -----------------------===//
//
// One rewrite per way in which a tensor without elements takes part: as the
// result, as what is reduced, joined, padded or written.
//
//===----------------------------------------------------------------------===//

#include "EmptyTensors.h"

#include "tenon/Dialect/CHLO/CHLO.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace tenon::stablehlo;

namespace tenon::importer {
namespace {

bool isEmpty(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.hasStaticShape() && tensor.getNumElements() == 0;
}
bool isEmpty(Value value) { return isEmpty(value.getType()); }

/// A scalar for every element of a type.
Value spread(PatternRewriter &rewriter, Location loc, Type type, Value scalar) {
  if (scalar.getType() == type)
    return scalar;
  return BroadcastInDimOp::create(rewriter, loc, type, scalar,
                                  ArrayRef<int64_t>());
}

/// Nothing is computed where there is no element, nor is one repeated.
struct EmptyResult : RewritePattern {
  explicit EmptyResult(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/4, context) {}
  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    auto constant = dyn_cast<ConstantOp>(op);
    bool isDone = constant && !constant.getValue().isSplat();
    if (op->getNumResults() == 0 || isDone ||
        !isa<StableHLODialect, chlo::CHLODialect>(op->getDialect()) ||
        !isMemoryEffectFree(op) ||
        !llvm::all_of(op->getResultTypes(), [](Type t) {
          return isEmpty(t) && getElementTypeOrSelf(t).isIntOrFloat();
        }))
      return failure();
    SmallVector<Value> constants;
    for (Type type : op->getResultTypes())
      constants.push_back(ConstantOp::create(
          rewriter, op->getLoc(),
          cast<ElementsAttr>(DenseElementsAttr::get(
              cast<RankedTensorType>(type), ArrayRef<Attribute>()))));
    rewriter.replaceOp(op, constants);
    return success();
  }
};

/// What is reduced over nothing is the start value.
struct ReduceNothing : OpRewritePattern<ReduceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReduceOp op,
                                PatternRewriter &rewriter) const override {
    if (!isEmpty(op.getInputs().front()))
      return failure();
    SmallVector<Value> results;
    for (auto [type, start] :
         llvm::zip_equal(op->getResultTypes(), op.getInitValues()))
      results.push_back(spread(rewriter, op.getLoc(), type, start));
    rewriter.replaceOp(op, results);
    return success();
  }
};

/// A sum of no products is zero.
template <typename Op>
struct ContractNothing : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    if (!isEmpty(op.getLhs()) && !isEmpty(op.getRhs()))
      return failure();
    rewriter.replaceOpWithNewOp<ConstantOp>(
        op, cast<ElementsAttr>(rewriter.getZeroAttr(op.getType())));
    return success();
  }
};

struct JoinNothing : OpRewritePattern<ConcatenateOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ConcatenateOp op,
                                PatternRewriter &rewriter) const override {
    SmallVector<Value> some = llvm::filter_to_vector(
        op->getOperands(), [](Value value) { return !isEmpty(value); });
    if (some.empty() || some.size() == op->getNumOperands())
      return failure();
    if (some.size() == 1) {
      rewriter.replaceOp(op, some.front());
      return success();
    }
    rewriter.replaceOpWithNewOp<ConcatenateOp>(op, op.getType(), some,
                                               op.getDimension());
    return success();
  }
};

struct PadNothing : OpRewritePattern<PadOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(PadOp op,
                                PatternRewriter &rewriter) const override {
    if (!isEmpty(op.getOperand()))
      return failure();
    rewriter.replaceOp(
        op, spread(rewriter, op.getLoc(), op.getType(), op.getPaddingValue()));
    return success();
  }
};

struct UpdateNothing : OpRewritePattern<DynamicUpdateSliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(DynamicUpdateSliceOp op,
                                PatternRewriter &rewriter) const override {
    if (!isEmpty(op.getUpdate()))
      return failure();
    rewriter.replaceOp(op, op.getOperand());
    return success();
  }
};

struct ScatterNothing : OpRewritePattern<ScatterOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ScatterOp op,
                                PatternRewriter &rewriter) const override {
    if (!isEmpty(op.getUpdates().front()))
      return failure();
    rewriter.replaceOp(op, op.getInputs());
    return success();
  }
};

/// A matrix without elements has nothing to decompose, and no reason to fail.
struct DecomposeNothing : OpRewritePattern<CustomCallOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(CustomCallOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.getCallTargetName().starts_with("lapack_") ||
        op->getNumOperands() == 0 || !isEmpty(op->getOperand(0)) ||
        !llvm::all_of(op->getResultTypes(), [](Type type) {
          return getElementTypeOrSelf(type).isIntOrFloat();
        }))
      return failure();
    SmallVector<Value> zeros;
    for (Type type : op->getResultTypes())
      zeros.push_back(
          ConstantOp::create(rewriter, op.getLoc(),
                             cast<ElementsAttr>(rewriter.getZeroAttr(type))));
    rewriter.replaceOp(op, zeros);
    return success();
  }
};

/// Of a source without elements nothing is scattered.
struct SelectNothing : OpRewritePattern<SelectAndScatterOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SelectAndScatterOp op,
                                PatternRewriter &rewriter) const override {
    if (!isEmpty(op.getSource()))
      return failure();
    rewriter.replaceOp(
        op, spread(rewriter, op.getLoc(), op.getType(), op.getInitValue()));
    return success();
  }
};

} // namespace

void populateEmptyTensors(RewritePatternSet &patterns) {
  patterns.add<EmptyResult, ReduceNothing, ContractNothing<DotGeneralOp>,
               ContractNothing<ConvolutionOp>, JoinNothing, PadNothing,
               UpdateNothing, ScatterNothing, DecomposeNothing, SelectNothing>(
      patterns.getContext());
}

} // namespace tenon::importer
