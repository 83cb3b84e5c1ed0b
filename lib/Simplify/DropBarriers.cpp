//===- DropBarriers.cpp - A user's recomputation is decided anew ---------===//
//
// A framework's checkpoint is a second copy of operations behind a barrier.
// Without the barriers the copies are duplicates, which MergeDuplicates makes
// one; what to compute again is then for planning under a budget to say. Runs
// first in the stage, and only when asked to.
//
//===----------------------------------------------------------------------===//

#include "tenon/Simplify/Passes.h"

#include "tenon/Dialect/StableHLO/StableHLO.h"

#include "mlir/IR/Remarks.h"

namespace tenon::simplify {
#define GEN_PASS_DEF_DROPBARRIERSPASS
#include "tenon/Simplify/Passes.h.inc"
} // namespace tenon::simplify

using namespace mlir;
using tenon::stablehlo::OptimizationBarrierOp;

namespace {

struct DropBarriers
    : public tenon::simplify::impl::DropBarriersPassBase<DropBarriers> {
  void runOnOperation() override {
    getOperation()->walk([](OptimizationBarrierOp barrier) {
      remark::passed(barrier.getLoc(),
                     remark::RemarkOpts::name("Dropped").category(
                         "simplify-drop-barriers"))
          << "what is recomputed behind this barrier is decided anew";
      barrier->replaceAllUsesWith(barrier.getOperands());
      barrier->erase();
    });
  }
};

} // namespace
