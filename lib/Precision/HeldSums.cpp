//===- HeldSums.cpp - What lies in memory between two additions -----------===//
//
// See HeldSums.h.
//
//===----------------------------------------------------------------------===//

#include "HeldSums.h"

#include "tenon/Analysis/Windows.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/ShardingConstraint.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::precision;

bool precision::adds(Operation *op) {
  return op->walk([](stablehlo::AddOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

Value precision::behindMovement(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<stablehlo::ConvertOp, stablehlo::ReshapeOp, stablehlo::TransposeOp,
             stablehlo::OptimizationBarrierOp, step::ShardingConstraintOp>(
            op) ||
        op->getNumOperands() != 1)
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// Results of a loop that in every round are what they were plus something.
static SmallVector<Value> carriedSums(stablehlo::WhileOp loop) {
  Block &body = loop.getBody().front();
  SmallVector<Value> sums;
  for (auto [argument, next, result] :
       llvm::zip_equal(body.getArguments(), body.getTerminator()->getOperands(),
                       loop->getResults()))
    if (auto add = behindMovement(next).getDefiningOp<stablehlo::AddOp>())
      if (behindMovement(add.getLhs()) == argument ||
          behindMovement(add.getRhs()) == argument)
        sums.push_back(result);
  return sums;
}

SmallVector<Value> precision::heldSums(Operation *op) {
  if (auto loop = dyn_cast<stablehlo::WhileOp>(op))
    return carriedSums(loop);
  if (auto reduce = dyn_cast<stablehlo::ReduceOp>(op); reduce && adds(op))
    return llvm::to_vector(llvm::make_filter_range(
        ValueRange(reduce.getInputs()), [](Value input) {
          auto partial =
              behindMovement(input).getDefiningOp<stablehlo::ReduceOp>();
          return partial && adds(partial);
        }));
  auto pool = dyn_cast<stablehlo::SelectAndScatterOp>(op);
  if (isa<stablehlo::ScatterOp>(op) || (pool && !placesElements(pool)))
    if (adds(op))
      return llvm::to_vector_of<Value>(op->getResults());
  return {};
}
