//===- ReduceOnce.cpp - Sum over ranks what is summed already -------------===//
//
// The sum of two sums over the same ranks is one sum over the ranks, of what
// each rank adds up by itself:
//
//   all_reduce(a) + all_reduce(b)  =  all_reduce(a + b)
//
// So it is with what a loop adds up over its rounds, such as the gradients of
// microbatches: it is summed over the ranks once, behind the loop. A value that
// the loop starts with is added then, since all ranks have it already.
//
//   while s = s + all_reduce(g)    from s0
//   r = all_reduce(while s = s + g from 0) + s0
//
//===----------------------------------------------------------------------===//

#include "tenon/Collectives/Passes.h"

#include "tenon/Analysis/Collectives.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"

#include "mlir/IR/Matchers.h"

namespace tenon::collectives {
#define GEN_PASS_DEF_REDUCEONCEPASS
#include "tenon/Collectives/Passes.h.inc"
} // namespace tenon::collectives

using namespace mlir;
using namespace tenon;

/// The sum over ranks that a value is, perhaps in another order of elements, if
/// nobody else reads it.
static stablehlo::AllReduceOp sumOverRanks(Value value) {
  while (value.hasOneUse() &&
         isa_and_nonnull<stablehlo::TransposeOp, stablehlo::ReshapeOp>(
             value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  auto sum = value.getDefiningOp<stablehlo::AllReduceOp>();
  std::string whyNot;
  if (!sum || !value.hasOneUse() || sum->getNumOperands() != 1)
    return {};
  auto described = describeCollective(sum, whyNot);
  return described && described->combination == libraries::Combination::sum &&
                 isa<FloatType>(getElementTypeOrSelf(value.getType()))
             ? sum
             : stablehlo::AllReduceOp();
}

/// Has whoever reads the sum read what this rank adds to it.
static void takeAway(stablehlo::AllReduceOp sum) {
  sum->getResult(0).replaceAllUsesWith(sum->getOperand(0));
  sum.erase();
}

/// The same sum over ranks of a value, which all who read the value read.
static Value sumInstead(stablehlo::AllReduceOp sum, Value of,
                        OpBuilder &builder) {
  IRMapping mapping;
  mapping.map(sum->getOperand(0), of);
  Operation *instead = builder.clone(*sum, mapping);
  instead->getResult(0).setType(of.getType());
  of.replaceAllUsesExcept(instead->getResult(0), instead);
  return instead->getResult(0);
}

static void sumBoth(stablehlo::AddOp add) {
  auto first = sumOverRanks(add.getLhs()), second = sumOverRanks(add.getRhs());
  if (!first || !second ||
      first.getReplicaGroups() != second.getReplicaGroups())
    return;
  OpBuilder builder(add->getContext());
  builder.setInsertionPointAfter(add);
  sumInstead(first, add.getResult(), builder);
  takeAway(first);
  takeAway(second);
}

static Value zerosOf(Value like, OpBuilder &builder) {
  auto type = cast<RankedTensorType>(like.getType());
  return stablehlo::ConstantOp::create(
      builder, like.getLoc(),
      DenseElementsAttr::get(type, builder.getZeroAttr(type.getElementType())));
}

/// Moves the sum over ranks of what the loop adds to a carried value behind it.
static void sumBehind(stablehlo::WhileOp loop, unsigned at) {
  Block &body = loop.getBody().front();
  BlockArgument carried = body.getArgument(at);
  Operation *yield = body.getTerminator();
  auto add = yield->getOperand(at).getDefiningOp<stablehlo::AddOp>();
  if (!add || add->getBlock() != &body || !add->hasOneUse() ||
      !carried.hasOneUse() || !loop.getCond().getArgument(at).use_empty())
    return;
  Value added = add.getLhs() == carried   ? add.getRhs()
                : add.getRhs() == carried ? add.getLhs()
                                          : Value();
  auto sum = added ? sumOverRanks(added) : stablehlo::AllReduceOp();
  if (!sum || sum->getBlock() != &body)
    return;
  Value start = loop->getOperand(at);
  const bool startsWithZeros = matchPattern(start, m_AnyZeroFloat());
  OpBuilder builder(loop);
  if (!startsWithZeros)
    loop->setOperand(at, zerosOf(start, builder));
  builder.setInsertionPointAfter(loop);
  Value total = sumInstead(sum, loop->getResult(at), builder);
  if (!startsWithZeros) {
    auto whole = stablehlo::AddOp::create(builder, loop.getLoc(), start, total);
    total.replaceAllUsesExcept(whole.getResult(), whole);
  }
  takeAway(sum);
}

namespace {

struct ReduceOnce : public collectives::impl::ReduceOncePassBase<ReduceOnce> {
  void runOnOperation() override {
    // Inner loops come first, so that a sum leaves all that it can.
    getOperation().walk([](stablehlo::WhileOp loop) {
      for (unsigned at = 0; at < loop->getNumOperands(); ++at)
        sumBehind(loop, at);
    });
    getOperation().walk([](stablehlo::AddOp add) { sumBoth(add); });
  }
};

} // namespace
