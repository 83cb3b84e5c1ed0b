//===- NarrowAttention.cpp - Attention that multiplies bf16 ---------------===//
//
// See Passes.td.
//
//===----------------------------------------------------------------------===//

#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/Attention.h"
#include "tenon/Precision/FormatPolicy.h"
#include "tenon/Precision/Passes.h"

namespace tenon::precision {
#define GEN_PASS_DEF_NARROWATTENTIONPASS
#include "tenon/Precision/Passes.h.inc"
} // namespace tenon::precision

using namespace mlir;
using namespace tenon;
using namespace tenon::precision;

/// The bf16 that a value is or is widened from; null if there is none.
static Value bf16Of(Value value) {
  auto isBf16 = [](Value value) {
    return getElementTypeOrSelf(value.getType()).isBF16();
  };
  if (isBf16(value))
    return value;
  auto widened = value.getDefiningOp<stablehlo::ConvertOp>();
  return widened && isBf16(widened.getOperand()) ? widened.getOperand()
                                                 : Value();
}

/// Has the operation read what these operands are widened from, if all are.
static bool readNarrow(Operation *op, ArrayRef<OpOperand *> factors) {
  if (!llvm::all_of(factors,
                    [](OpOperand *factor) { return bf16Of(factor->get()); }))
    return false;
  for (OpOperand *factor : factors) {
    Operation *widened = factor->get().getDefiningOp();
    factor->set(bf16Of(factor->get()));
    if (widened && widened->use_empty())
      widened->erase();
  }
  return true;
}

static void narrow(step::AttentionOp op) {
  if (step::AttentionProblem(op).fillsTiles() &&
      readNarrow(op, {&op.getQueryMutable(), &op.getKeyMutable(),
                      &op.getValueMutable()}))
    op.setRoundsWeights(true);
}

static void narrow(step::AttentionGradientOp op) {
  if (!step::AttentionProblem(op).fillsTiles() ||
      !readNarrow(op, {&op.getQueryMutable(), &op.getKeyMutable(),
                       &op.getValueMutable(), &op.getOutputGradientMutable()}))
    return;
  op.setRoundsWeights(true);
  op.setRoundsSlopes(true);
}

namespace {

struct NarrowAttention
    : public precision::impl::NarrowAttentionPassBase<NarrowAttention> {
  using NarrowAttentionPassBase::NarrowAttentionPassBase;

  void runOnOperation() override {
    std::string error;
    auto said =
        FormatPolicy::parse(policy, "the policy", NarrowFormat::bf16, error);
    if (!said) {
      getOperation().emitError() << error;
      return signalPassFailure();
    }
    SmallVector<Operation *> found;
    getOperation().walk([&](Operation *op) {
      if (step::isAttention(op) && said->of(op) != Wish::f32)
        found.push_back(op);
    });
    for (Operation *op : found)
      if (auto forward = dyn_cast<step::AttentionOp>(op))
        narrow(forward);
      else
        narrow(cast<step::AttentionGradientOp>(op));
  }
};

} // namespace
