//===- VerifySums.cpp - Emitted code adds up in f32 or wider --------------===//
//
// See VerifySums.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Codegen/Loops/VerifySums.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;

namespace tenon::codegen {

static bool isNarrowFloat(Value value) {
  auto type = dyn_cast<FloatType>(getElementTypeOrSelf(value.getType()));
  return type && type.getWidth() <= 16;
}

/// Whether the operation adds floats, as one of several things that it does.
static bool adds(Operation *op) {
  if (auto reduction = dyn_cast<vector::ReductionOp>(op))
    return reduction.getKind() == vector::CombiningKind::ADD;
  if (auto reduction = dyn_cast<vector::MultiDimReductionOp>(op))
    return reduction.getKind() == vector::CombiningKind::ADD;
  return isa<arith::AddFOp, math::FmaOp, vector::FMAOp, vector::ContractionOp,
             vector::OuterProductOp>(op);
}

/// What lies behind conversions between formats.
static Value unconverted(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<arith::ExtFOp, arith::TruncFOp, vector::BroadcastOp,
             vector::ShapeCastOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// Whether a round adds something to a 16-bit float that the loop carries.
static bool carriesNarrowSum(LoopLikeOpInterface loop) {
  auto next = loop.getYieldedValuesMutable();
  if (!next)
    return false;
  return llvm::any_of(
      llvm::zip(loop.getRegionIterArgs(), *next), [](auto pair) {
        auto &[carried, yielded] = pair;
        Operation *sum = unconverted(yielded.get()).getDefiningOp();
        return isNarrowFloat(carried) && sum && adds(sum) &&
               llvm::any_of(sum->getOperands(), [&](Value term) {
                 return unconverted(term) == carried;
               });
      });
}

LogicalResult verifySums(func::FuncOp emitted, func::FuncOp kernel) {
  WalkResult result = emitted.walk([&](Operation *op) {
    auto loop = dyn_cast<LoopLikeOpInterface>(op);
    bool isNarrow = loop ? carriesNarrowSum(loop)
                         : adds(op) && isNarrowFloat(op->getResult(0));
    if (!isNarrow)
      return WalkResult::advance();
    kernel.emitError() << "the code of kernel '" << kernel.getName()
                       << "' holds a sum in 16 bits ('" << op->getName()
                       << "'), expected f32 or wider; this is a fault of the "
                          "schedule that emitted it";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

} // namespace tenon::codegen
