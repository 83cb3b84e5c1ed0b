//===- ReductionRules.cpp - Reductions of one element ---------------------===//
//
// A reduction along dimensions of extent one combines the initial value with
// each element once. Written as that element-wise operation it meets the rules
// of algebra, which know when the initial value changes nothing: a sum that
// starts at +0 turns -0 into +0, so the addition stays where -0 is possible.
//
//===----------------------------------------------------------------------===//

#include "Rules.h"

#include "tenon/Dialect/StableHLO/StableHLO.h"

using namespace mlir;
using namespace tenon::stablehlo;

namespace tenon::simplify {
namespace {

struct ReduceOfOne : OpRewritePattern<ReduceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReduceOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getInputs().size() != 1)
      return failure();
    Value input = op.getInputs()[0];
    ArrayRef<int64_t> shape = tensorTypeOf(input).getShape();
    for (int64_t dim : op.getDimensions())
      if (shape[size_t(dim)] != 1)
        return failure();
    Block &body = op.getBody().front();
    if (!llvm::hasSingleElement(body.without_terminator()))
      return failure();
    Operation &combine = body.front();
    auto result = cast<RankedTensorType>(op.getResult(0).getType());
    bool simple =
        isa<AddOp, MultiplyOp, MaximumOp, MinimumOp, AndOp, OrOp>(combine) &&
        llvm::equal(combine.getOperands(), body.getArguments()) &&
        body.getTerminator()->getOperand(0) == combine.getResult(0);
    if (!simple ||
        tensorTypeOf(input).getElementType() != result.getElementType())
      return failure();
    Value element = input;
    if (input.getType() != result)
      element = ReshapeOp::create(rewriter, op.getLoc(), result, input);
    Value initial =
        BroadcastInDimOp::create(rewriter, op.getLoc(), result,
                                 op.getInitValues()[0], ArrayRef<int64_t>());
    OperationState state(op.getLoc(), combine.getName().getStringRef(),
                         {element, initial}, {result});
    rewriter.replaceOp(op, rewriter.create(state));
    return success();
  }
};

/// A reduction of booleans or integers whose elements are all the same number
/// and that does not depend on how many there are.
struct ReduceOfSplat : OpRewritePattern<ReduceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReduceOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getInputs().size() != 1 ||
        op.getInputs()[0].getType() == op.getResult(0).getType())
      return failure();
    Attribute element = splatOf(op.getInputs()[0]);
    Attribute initial = splatOf(op.getInitValues()[0]);
    if (!element || element != initial ||
        tensorTypeOf(op.getInputs()[0]).getNumElements() == 0)
      return failure();
    Block &body = op.getBody().front();
    if (!llvm::hasSingleElement(body.without_terminator()) ||
        !isa<MaximumOp, MinimumOp, AndOp, OrOp>(body.front()) ||
        !llvm::equal(body.front().getOperands(), body.getArguments()))
      return failure();
    rewriter.replaceOp(
        op,
        makeSplat(rewriter, op.getLoc(),
                  cast<RankedTensorType>(op.getResult(0).getType()), element));
    return success();
  }
};

} // namespace

void populateReductionRules(RewritePatternSet &patterns) {
  patterns.add<ReduceOfOne, ReduceOfSplat>(patterns.getContext());
}

} // namespace tenon::simplify
