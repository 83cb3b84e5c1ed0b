//===- LayOutInvariants.cpp - Weights laid out once for a whole loop ------===//
//
// A dot of few rows that reads its weights transposed spends a good part of its
// time turning them, and it waits for a slower cache in every round if their
// rows share sets of the faster one (StaggeredRows.h). Where the weights do not
// change in a loop, this pass makes a copy in front of it that is turned and
// whose rows are staggered. Runs before FormLibraryGroups, which reads other
// transposes through strides.
//
//===----------------------------------------------------------------------===//

#include "tenon/Fusion/Passes.h"

#include "tenon/Analysis/Shapes.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Fusion/StaggeredRows.h"

namespace tenon::fusion {
#define GEN_PASS_DEF_LAYOUTINVARIANTSPASS
#include "tenon/Fusion/Passes.h.inc"
} // namespace tenon::fusion

using namespace mlir;
using namespace tenon;
using namespace tenon::fusion;

namespace {

/// With more rows the product hides the turning: 32 rows of a recurrent layer
/// run 40 % faster from turned weights, 256 rows of a transformer's 5 %.
constexpr int64_t mostRows = 64;

/// The outermost loop around `op` that `value` comes from outside of; null if
/// there is none.
stablehlo::WhileOp outermostLoop(Operation *op, Value value) {
  stablehlo::WhileOp outermost;
  for (auto loop = op->getParentOfType<stablehlo::WhileOp>();
       loop && !loop->isAncestor(value.getParentBlock()->getParentOp());
       loop = loop->getParentOfType<stablehlo::WhileOp>())
    outermost = loop;
  return outermost;
}

struct LayOutInvariants
    : public fusion::impl::LayOutInvariantsPassBase<LayOutInvariants> {
  using LayOutInvariantsPassBase::LayOutInvariantsPassBase;

  void runOnOperation() override {
    SmallVector<stablehlo::DotGeneralOp> dots;
    getOperation().walk([&](stablehlo::DotGeneralOp dot) {
      auto dims = dot.getDotDimensionNumbers();
      auto weights = cast<RankedTensorType>(dot.getRhs().getType());
      if (dims.getLhsBatchingDimensions().empty() && weights.getRank() == 2 &&
          dims.getRhsContractingDimensions().size() == 1 &&
          weights.getElementType().isF32())
        dots.push_back(dot);
    });
    for (stablehlo::DotGeneralOp dot : dots)
      layOut(dot);
  }

private:
  void layOut(stablehlo::DotGeneralOp dot) {
    Value weights = dot.getRhs();
    auto dims = dot.getDotDimensionNumbers();
    const int64_t contracted = dims.getRhsContractingDimensions().front();
    const int64_t terms = shapeOf(weights)[contracted];
    auto loop = outermostLoop(dot, weights);
    if (!loop || elementCount(shapeOf(dot.getLhs())) > mostRows * terms)
      return;
    ImplicitLocOpBuilder inFront(dot.getLoc(), loop);
    if (contracted == 1) {
      Value &copy = turned[{weights, loop}];
      if (!copy)
        copy = stablehlo::TransposeOp::create(
            inFront,
            cast<RankedTensorType>(weights.getType())
                .clone({terms, shapeOf(weights)[0]}),
            weights, inFront.getDenseI64ArrayAttr({1, 0}));
      weights = copy;
      dot.setDotDimensionNumbersAttr(stablehlo::DotDimensionNumbersAttr::get(
          &getContext(), {}, {}, dims.getLhsContractingDimensions(), {0}));
    }
    if (stagger && shareSets(cast<RankedTensorType>(weights.getType()))) {
      Value &copy = staggered[{weights, loop}];
      if (!copy)
        copy = withStagger(inFront, weights);
      ImplicitLocOpBuilder here(dot.getLoc(), dot);
      weights = withoutStagger(here, copy);
    }
    dot.getRhsMutable().assign(weights);
  }

  /// Copies in front of a loop.
  llvm::DenseMap<std::pair<Value, Operation *>, Value> turned, staggered;
};

} // namespace
