//===- ControlRules.cpp - Branches that are known, barriers nobody reads --===//
//
// A branch chosen by a constant replaces its conditional. A barrier keeps what
// a user wraps apart from its copies, so nothing moves across it; only values
// that nobody reads on the far side leave it.
//
//===----------------------------------------------------------------------===//

#include "IndexRange.h"
#include "Rules.h"

#include "tenon/Dialect/StableHLO/StableHLO.h"

using namespace mlir;
using namespace tenon::stablehlo;

namespace tenon::simplify {
namespace {

void replaceByRegion(Operation *op, Region &region, PatternRewriter &rewriter) {
  Block &block = region.front();
  Operation *terminator = block.getTerminator();
  SmallVector<Value> results(terminator->getOperands());
  rewriter.eraseOp(terminator);
  rewriter.inlineBlockBefore(&block, op);
  rewriter.replaceOp(op, results);
}

struct KnownCase : OpRewritePattern<CaseOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(CaseOp op,
                                PatternRewriter &rewriter) const override {
    std::optional<IndexRange> index = indexRange(op.getIndex());
    auto branches = int64_t(op.getBranches().size());
    if (branches == 1)
      index = IndexRange{0, 0};
    if (!index || !index->isPoint())
      return failure();
    // Any index without a branch means the last one.
    int64_t chosen = index->low;
    if (chosen < 0 || chosen >= branches)
      chosen = branches - 1;
    replaceByRegion(op, op.getBranches()[size_t(chosen)], rewriter);
    return success();
  }
};

struct KnownIf : OpRewritePattern<IfOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(IfOp op,
                                PatternRewriter &rewriter) const override {
    std::optional<bool> truth = decidedTruth(op.getPred());
    if (!truth)
      return failure();
    replaceByRegion(op, *truth ? op.getTrueBranch() : op.getFalseBranch(),
                    rewriter);
    return success();
  }
};

struct UnreadBehindBarrier : OpRewritePattern<OptimizationBarrierOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(OptimizationBarrierOp op,
                                PatternRewriter &rewriter) const override {
    SmallVector<Value> operands, kept;
    for (auto [operand, result] :
         llvm::zip_equal(op.getOperands(), op.getResults()))
      if (!result.use_empty()) {
        operands.push_back(operand);
        kept.push_back(result);
      }
    if (kept.size() == op.getNumResults())
      return failure();
    if (!kept.empty()) {
      auto smaller =
          OptimizationBarrierOp::create(rewriter, op.getLoc(), operands);
      smaller->setDiscardableAttrs(op->getDiscardableAttrDictionary());
      for (auto [result, replacement] :
           llvm::zip_equal(kept, smaller.getResults()))
        rewriter.replaceAllUsesWith(result, replacement);
    }
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

void populateControlRules(RewritePatternSet &patterns) {
  patterns.add<KnownCase, KnownIf, UnreadBehindBarrier>(patterns.getContext());
}

} // namespace tenon::simplify
