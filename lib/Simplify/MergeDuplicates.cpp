//===- MergeDuplicates.cpp - Equal operations are one ---------------------===//
//
// MLIR's elimination of common subexpressions, which leaves barriers alone
// because they are not free of effects, and the regions of reducers closed
// afterwards.
//
//===----------------------------------------------------------------------===//

#include "tenon/Simplify/Passes.h"

#include "tenon/Dialect/StableHLO/ElementRegions.h"

#include "mlir/IR/Dominance.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Transforms/CSE.h"

namespace tenon::simplify {
#define GEN_PASS_DEF_MERGEDUPLICATESPASS
#include "tenon/Simplify/Passes.h.inc"
} // namespace tenon::simplify

using namespace mlir;

namespace {

class MergeDuplicates
    : public tenon::simplify::impl::MergeDuplicatesPassBase<MergeDuplicates> {
  void runOnOperation() override {
    int64_t before = count();
    bool changed = false;
    IRRewriter rewriter(&getContext());
    auto &dominance = getAnalysis<DominanceInfo>();
    eliminateCommonSubExpressions(rewriter, dominance, getOperation(),
                                  &changed);
    if (!changed)
      return markAllAnalysesPreserved();
    tenon::stablehlo::closeElementRegions(getOperation());
    remark::passed(getOperation()->getLoc(),
                   remark::RemarkOpts::name("merged").category(
                       "simplify-merge-duplicates"))
        << remark::add("{0} operations became {1}", before, count());
  }

  int64_t count() {
    int64_t operations = 0;
    getOperation()->walk([&](Operation *) { ++operations; });
    return operations;
  }
};

} // namespace
