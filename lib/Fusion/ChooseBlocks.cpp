//===- ChooseBlocks.cpp - How many rounds make one product ----------------===//
//
// Marks the sums over rounds (RoundSums.h) that are worth being made of several
// rounds at once, before any other pass changes loops: what is added in which
// order then follows from the program as it is written, not from what a budget
// has computed again or cut into segments. BlockLoops does what is marked.
//
// Of T rounds, a block has s, the largest divisor of T for which
//  - a product has at most `mostTerms` terms to a sum,
//  - what the rounds of a block are kept for takes at most twice what the sums
//    take, so that a loop over microbatches of many rows stays as it is,
//  - and there are two blocks at least, of `leastRounds` rounds at least.
//
// Reductions and stacked products of what is kept for these are marked, too.
//
//===----------------------------------------------------------------------===//

#include "tenon/Fusion/Passes.h"

#include "tenon/Analysis/ElementTypes.h"
#include "tenon/Dialect/Step/Step.h"
#include "tenon/Fusion/RoundSums.h"

#include "mlir/IR/Remarks.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

#include <algorithm>

namespace tenon::fusion {
#define GEN_PASS_DEF_CHOOSEBLOCKSPASS
#include "tenon/Fusion/Passes.h.inc"
} // namespace tenon::fusion

using namespace mlir;
using namespace tenon;
using namespace tenon::fusion;
using namespace tenon::stablehlo;

namespace {

/// With as many terms a product runs at the library's full rate.
constexpr int64_t mostTerms = 256;
constexpr int64_t leastRounds = 4;

/// The rounds of a block of this loop; 1 if none are worth it.
int64_t chooseRounds(const CountedLoop &loop, ArrayRef<RoundSum> sums) {
  int64_t terms = 0, ofSums = 0, ofRound = 0;
  llvm::SmallSetVector<Value, 8> kept;
  for (const RoundSum &sum : sums) {
    if (isa<DotGeneralOp>(sum.product))
      terms = std::max(terms, sum.terms());
    for (unsigned position : sum.positions)
      ofSums += storedBytes(loop.body().getArgument(position).getType());
    kept.insert_range(sum.operands());
  }
  if (!terms)
    return 1;
  for (Value value : kept)
    ofRound += storedBytes(value.getType());
  for (int64_t rounds = loop.trips() / 2; rounds >= leastRounds; --rounds)
    if (loop.trips() % rounds == 0 && rounds * terms <= mostTerms &&
        rounds * ofRound <= 2 * ofSums)
      return rounds;
  return 1;
}

struct ChooseBlocks : public fusion::impl::ChooseBlocksPassBase<ChooseBlocks> {
  using ChooseBlocksPassBase::ChooseBlocksPassBase;

  void runOnOperation() override {
    SmallVector<WhileOp> loops;
    getOperation().walk([&](WhileOp loop) { loops.push_back(loop); });
    for (WhileOp loop : loops)
      if (std::optional<CountedLoop> counted = CountedLoop::recognize(loop))
        choose(*counted);
  }

  void choose(const CountedLoop &loop) {
    SmallVector<RoundSum> sums;
    for (Operation &op : loop.body())
      if (std::optional<RoundSum> sum = RoundSum::of(loop, &op))
        sums.push_back(*std::move(sum));
    if (sums.empty())
      return;
    // A reduction gains nothing that its numbers would have to be kept for.
    llvm::DenseSet<Value> factors;
    for (const RoundSum &sum : sums)
      if (isa<DotGeneralOp>(sum.product))
        factors.insert_range(sum.operands());
    llvm::erase_if(sums, [&](const RoundSum &sum) {
      return isa<ReduceOp>(sum.product) &&
             !factors.contains(sum.operands().front());
    });
    int64_t rounds = chooseRounds(loop, sums);
    Location location = loop.loop().getLoc();
    if (rounds == 1) {
      remark::missed(
          location,
          remark::RemarkOpts::name("NoBlocks").category("fusion-choose-blocks"))
          << "a product of several rounds would keep more than twice its sums, "
             "or has terms enough already, or no number of rounds divides all";
      return;
    }
    IntegerAttr mark = Builder(&getContext()).getI64IntegerAttr(rounds);
    llvm::DenseSet<Value> kept;
    for (const RoundSum &sum : sums) {
      sum.product->setAttr(step::blockRoundsAttrName, mark);
      kept.insert_range(sum.operands());
    }
    int64_t stacked = 0;
    for (Operation &op : loop.body())
      if (std::optional<StackedProduct> product = StackedProduct::of(loop, &op);
          product && kept.contains(product->product.getLhs()) &&
          loop.directionOf(product->index())) {
        op.setAttr(step::blockRoundsAttrName, mark);
        ++stacked;
      }
    remark::passed(location, remark::RemarkOpts::name("Blocks").category(
                                 "fusion-choose-blocks"))
        << remark::metric("Sums", int64_t(sums.size()))
        << remark::metric("Stacked", stacked)
        << remark::metric("Rounds", rounds);
  }
};

} // namespace
