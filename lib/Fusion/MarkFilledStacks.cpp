//===- MarkFilledStacks.cpp - Stacks that start from nothing --------------===//
//
// A scan stacks what its rounds compute, and the exporter has it start from
// zeros. Of a counted loop it is known that every slice is written, and that
// the loop reads none of them: what the stack starts from is never seen.
//
//===----------------------------------------------------------------------===//

#include "tenon/Fusion/Passes.h"

#include "tenon/Analysis/CountedLoop.h"
#include "tenon/Dialect/Step/FilledStacks.h"
#include "tenon/Dialect/Step/Step.h"

namespace tenon::fusion {
#define GEN_PASS_DEF_MARKFILLEDSTACKSPASS
#include "tenon/Fusion/Passes.h.inc"
} // namespace tenon::fusion

using namespace mlir;
using namespace tenon;

namespace {

struct MarkFilledStacks
    : public fusion::impl::MarkFilledStacksPassBase<MarkFilledStacks> {
  void runOnOperation() override {
    getOperation().walk([](stablehlo::WhileOp loop) {
      SmallVector<int64_t> filled;
      if (std::optional<CountedLoop> counted = CountedLoop::recognize(loop))
        for (const CountedLoop::Stack &stack : counted->stacks())
          filled.push_back(stack.position);
      step::setFilledStacks(loop, std::move(filled));
    });
  }
};

} // namespace
