//===- ApplyRules.cpp - Run the library of rewrites -----------------------===//
//
// All rules to their common fixed point, in one worklist, because they feed
// each other: a folded index makes a gather a slice, whose neighbours then
// compose.
//
//===----------------------------------------------------------------------===//

#include "tenon/Simplify/Passes.h"

#include "Rules.h"

#include "tenon/Dialect/StableHLO/ElementRegions.h"
#include "tenon/Dialect/StableHLO/ShapeSpelling.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"

#include "mlir/IR/Remarks.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace tenon::simplify {
#define GEN_PASS_DEF_APPLYRULESPASS
#include "tenon/Simplify/Passes.h.inc"
} // namespace tenon::simplify

using namespace mlir;
using namespace tenon::simplify;

namespace {

class ApplyRules
    : public tenon::simplify::impl::ApplyRulesPassBase<ApplyRules> {
public:
  using ApplyRulesPassBase::ApplyRulesPassBase;

private:
  LogicalResult initialize(MLIRContext *context) override {
    auto mode = tenon::fromName<tenon::Subnormals>(subnormals);
    if (!mode)
      return emitError(UnknownLoc::get(context))
             << "unknown way '" << subnormals
             << "' to treat subnormal numbers, expected flush or keep";
    RewritePatternSet set(context);
    tenon::stablehlo::populateShapeSpelling(set);
    populateConstantRules(set, *mode);
    populateAlgebraRules(set, *mode);
    populateMovementRules(set);
    populateShapeRules(set);
    populateIndexingRules(set);
    populateReductionRules(set);
    populateContractionRules(set);
    populateControlRules(set);
    rules = std::move(set);
    return success();
  }

  void runOnOperation() override {
    Operation *root = getOperation();
    int64_t before = count(root);
    GreedyRewriteConfig config;
    config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
    // From the front, operands are simple before their users are looked at.
    config.setUseTopDownTraversal(true);
    for (Region &region : root->getRegions())
      if (failed(applyPatternsGreedily(region, rules, config)))
        root->emitWarning("rules were still applying at the limit of rounds");
    tenon::stablehlo::closeElementRegions(root);
    int64_t after = count(root);
    if (after != before)
      remark::passed(root->getLoc(), remark::RemarkOpts::name("rules").category(
                                         "simplify-apply-rules"))
          << remark::add("{0} operations became {1}", before, after)
          << remark::metric("before", before) << remark::metric("after", after);
  }

  static int64_t count(Operation *root) {
    int64_t operations = 0;
    root->walk([&](Operation *) { ++operations; });
    return operations;
  }

  FrozenRewritePatternSet rules;
};

} // namespace
