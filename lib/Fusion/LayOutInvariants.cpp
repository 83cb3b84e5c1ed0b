//===- LayOutInvariants.cpp - Weights laid out once for a whole loop ------===//
//
// A dot of few rows that reads its weights transposed spends a good part of its
// time turning them, and it waits for a slower cache in every round if their
// rows share sets of the faster one (StaggeredRows.h). Of bf16, the library
// packs them anew in every call, for longer than it multiplies
// (PackedWeights.h). Where the weights do not change in a loop, this pass makes
// a copy in front of it that is turned, and packed or staggered. Runs before
// FormLibraryGroups, which reads other transposes through strides.
//
//===----------------------------------------------------------------------===//

#include "tenon/Fusion/Passes.h"

#include "tenon/Analysis/Shapes.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Fusion/LibraryCandidates.h"
#include "tenon/Fusion/PackedWeights.h"
#include "tenon/Fusion/StaggeredRows.h"
#include "tenon/Libraries/Library.h"

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
    if (!cpu.empty()) {
      auto named = isaOfOption(getOperation(), cpu);
      if (failed(named))
        return signalPassFailure();
      isa = *named;
    }
    SmallVector<stablehlo::DotGeneralOp> dots;
    getOperation().walk([&](stablehlo::DotGeneralOp dot) {
      auto dims = dot.getDotDimensionNumbers();
      auto weights = cast<RankedTensorType>(dot.getRhs().getType());
      if (dims.getLhsBatchingDimensions().empty() && weights.getRank() == 2 &&
          dims.getRhsContractingDimensions().size() == 1 &&
          (weights.getElementType().isF32() ||
           weights.getElementType().isBF16()))
        dots.push_back(dot);
    });
    for (stablehlo::DotGeneralOp dot : dots)
      layOut(dot);
  }

private:
  /// Whether the library multiplies what `dot` does with packed weights.
  bool takesPacked(stablehlo::DotGeneralOp dot) {
    std::string ignored;
    auto candidate =
        isa ? describeDot(dot, {}, ignored) : std::nullopt;
    auto *plain =
        candidate
            ? std::get_if<libraries::MatmulDescription>(&candidate->description)
            : nullptr;
    if (!plain || plain->n * plain->k != elementCount(shapeOf(dot.getRhs())))
      return false;
    libraries::PackedMatmulDescription packed(*plain);
    packed.rhsStrideK = packed.n;
    packed.rhsStrideN = 1;
    packed.computeType = packed.rhsType;
    packed.pieces = libraries::preferredPieces(packed);
    return libraries::whyInvalid(packed).empty() &&
           libraries::whyNotSupported(packed, *isa).empty();
  }

  void layOut(stablehlo::DotGeneralOp dot) {
    Value weights = dot.getRhs();
    auto dims = dot.getDotDimensionNumbers();
    const int64_t contracted = dims.getRhsContractingDimensions().front();
    const int64_t terms = shapeOf(weights)[contracted];
    auto loop = outermostLoop(dot, weights);
    if (!loop || elementCount(shapeOf(dot.getLhs())) > mostRows * terms)
      return;
    const bool isNarrow = elementOf(weights).isBF16();
    if (isNarrow && !takesPacked(dot))
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
    auto type = cast<RankedTensorType>(weights.getType());
    if (isNarrow) {
      Value &copy = packed[{weights, loop}];
      if (!copy)
        copy = pack(inFront, weights);
      ImplicitLocOpBuilder here(dot.getLoc(), dot);
      weights = unpack(here, copy, type);
    } else if (stagger && shareSets(type)) {
      Value &copy = staggered[{weights, loop}];
      if (!copy)
        copy = withStagger(inFront, weights);
      ImplicitLocOpBuilder here(dot.getLoc(), dot);
      weights = withoutStagger(here, copy);
    }
    dot.getRhsMutable().assign(weights);
  }

  /// Nothing without libraries' calls to ask about.
  std::optional<target::Isa> isa;
  /// Copies in front of a loop.
  llvm::DenseMap<std::pair<Value, Operation *>, Value> turned, packed,
      staggered;
};

} // namespace
