//===- VerifyAccumulators.cpp - Sums are held in f32 ----------------------===//
//
// Looks for operations whose sum lies in 16 bits between two additions.
//
//===----------------------------------------------------------------------===//

#include "tenon/Precision/Passes.h"

#include "tenon/Analysis/Windows.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"

#include "mlir/IR/BuiltinOps.h"

namespace tenon::precision {
#define GEN_PASS_DEF_VERIFYACCUMULATORSPASS
#include "tenon/Precision/Passes.h.inc"
} // namespace tenon::precision

using namespace mlir;
using namespace tenon;
using namespace tenon::precision;

namespace {

bool isNarrowFloat(Value value) {
  Type element = getElementTypeOrSelf(value);
  return element.isBF16() || element.isF16();
}

/// Whether one of the operation's regions adds.
bool adds(Operation *op) {
  return op->walk([](stablehlo::AddOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

/// What lies behind conversions and movements of elements.
Value source(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<stablehlo::ConvertOp, stablehlo::ReshapeOp, stablehlo::TransposeOp,
             stablehlo::OptimizationBarrierOp>(op) ||
        op->getNumOperands() != 1)
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// Whether a value was a number of 16 bits on the way from its source.
bool isRounded(Value value) {
  for (;;) {
    if (isNarrowFloat(value))
      return true;
    Operation *op = value.getDefiningOp();
    if (!op || value == source(value))
      return false;
    value = op->getOperand(0);
  }
}

/// Partial sums that were rounded, added up once more.
bool addsRoundedSums(stablehlo::ReduceOp reduce) {
  return adds(reduce) && llvm::any_of(reduce.getInputs(), [](Value input) {
           auto partial = source(input).getDefiningOp<stablehlo::ReduceOp>();
           return partial && adds(partial) && isRounded(input);
         });
}

/// Whether a round adds something to a 16-bit value that the loop carries.
bool carriesNarrowSum(stablehlo::WhileOp loop) {
  Block &body = loop.getBody().front();
  for (auto [argument, next] : llvm::zip_equal(
           body.getArguments(), body.getTerminator()->getOperands()))
    if (isNarrowFloat(argument))
      if (auto add = source(next).getDefiningOp<stablehlo::AddOp>())
        if (source(add.getLhs()) == argument ||
            source(add.getRhs()) == argument)
          return true;
  return false;
}

bool isNarrowSum(Operation *op) {
  if (auto pool = dyn_cast<stablehlo::SelectAndScatterOp>(op))
    return isNarrowFloat(pool.getResult()) && adds(op) && !placesElements(pool);
  if (isa<stablehlo::ScatterOp>(op))
    return llvm::any_of(op->getResults(), isNarrowFloat) && adds(op);
  if (auto reduce = dyn_cast<stablehlo::ReduceOp>(op))
    return addsRoundedSums(reduce);
  if (auto loop = dyn_cast<stablehlo::WhileOp>(op))
    return carriesNarrowSum(loop);
  return false;
}

struct VerifyAccumulators
    : public precision::impl::VerifyAccumulatorsPassBase<VerifyAccumulators> {
  void runOnOperation() override {
    if (Operation *op = narrowSum(getOperation())) {
      op->emitError() << "'" << op->getName()
                      << "' adds up in 16 bits, expected a sum in f32 or "
                         "wider that is rounded once";
      return signalPassFailure();
    }
    markAllAnalysesPreserved();
  }
};

} // namespace

Operation *precision::narrowSum(Operation *root) {
  Operation *found = nullptr;
  root->walk([&](Operation *op) {
    if (!isNarrowSum(op))
      return WalkResult::advance();
    found = op;
    return WalkResult::interrupt();
  });
  return found;
}
