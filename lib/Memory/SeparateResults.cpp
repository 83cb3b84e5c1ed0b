//===- SeparateResults.cpp - Values that leave a block are their own -----===//
//
// Copies what leaves @main, a loop body or a branch unless a group of that
// block computed it and it leaves once. PlanOffsets then may write every such
// value straight to the place it leaves for. A constant that several carried
// values of loops start from, the zeros of stacks, is made again for each,
// where that starts: half of a copy's traffic, and it lives in no place of its
// own.
//
//===----------------------------------------------------------------------===//

#include "tenon/Memory/Passes.h"

#include "ReplacedState.h"
#include "Views.h"

#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/Step.h"

namespace tenon::memory {
#define GEN_PASS_DEF_SEPARATERESULTSPASS
#include "tenon/Memory/Passes.h.inc"
} // namespace tenon::memory

using namespace mlir;
using namespace tenon;
using namespace tenon::memory;

namespace {

struct SeparateResults
    : public memory::impl::SeparateResultsPassBase<SeparateResults> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isDeclaration())
      return;
    Block &body = function.getBody().front();
    // A state argument may leave as its own successor.
    SmallVector<Value> own(body.getTerminator()->getNumOperands());
    for (BlockArgument argument : body.getArguments())
      if (auto successor = function.getArgAttrOfType<IntegerAttr>(
              argument.getArgNumber(), step::successorAttrName))
        own[successor.getInt()] = argument;
    separate(body.getTerminator(), own);
    SmallVector<stablehlo::WhileOp> loops;
    function.getBody().walk(
        [&](stablehlo::WhileOp loop) { loops.push_back(loop); });
    for (stablehlo::WhileOp loop : loops)
      separateStarts(loop);
    function.getBody().walk([&](Operation *op) {
      if (auto loop = dyn_cast<stablehlo::WhileOp>(op)) {
        Block &loopBody = loop.getBody().front();
        separate(loopBody.getTerminator(),
                 SmallVector<Value>(loopBody.getArguments()));
      } else if (isa<stablehlo::CaseOp, stablehlo::IfOp>(op)) {
        for (Region &region : op->getRegions())
          separate(region.front().getTerminator(), {});
      }
    });
  }

private:
  void separateStarts(stablehlo::WhileOp loop) {
    SmallVector<OpOperand *> shared;
    for (OpOperand &start : loop->getOpOperands())
      if (auto made = start.get().getDefiningOp<step::GroupOp>();
          made && made.getInputs().empty() && made->getNumResults() == 1 &&
          !start.get().hasOneUse())
        shared.push_back(&start);
    OpBuilder builder(loop);
    for (OpOperand *start : shared) {
      Operation *made = start->get().getDefiningOp();
      start->set(builder.clone(*made)->getResult(0));
      if (made->use_empty())
        made->erase();
    }
  }

  void separate(Operation *terminator, ArrayRef<Value> own) {
    llvm::SmallDenseSet<Value> left;
    for (OpOperand &operand : terminator->getOpOperands()) {
      Value owner = storageOf(operand.get());
      unsigned index = operand.getOperandNumber();
      bool isOwn = index < own.size() && own[index] && owner == own[index];
      Operation *writer = owner.getDefiningOp();
      bool computedHere = writer &&
                          writer->getBlock() == terminator->getBlock() &&
                          isa<step::GroupOp, stablehlo::WhileOp,
                              stablehlo::CaseOp, stablehlo::IfOp>(writer);
      if ((isOwn || computedHere) && left.insert(owner).second)
        continue;
      operand.set(copyBefore(terminator, operand.get()));
    }
  }
};

} // namespace
