//===- MovementRules.cpp - Computing before elements are moved ------------===//
//
// An element-wise operation whose operands all repeat one small tensor in the
// same way is computed on the small one and repeated afterwards. In the same
// way it is computed without the unit dimensions that a reshape has added to
// all of its operands: [16, 64] -> [16, 64, 1] -> [16, 64, 128] becomes one
// broadcast once nothing computes in the middle.
//
//===----------------------------------------------------------------------===//

#include "Rules.h"

#include "tenon/Dialect/StableHLO/ShapeSpelling.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"

using namespace mlir;
using namespace tenon::stablehlo;

namespace tenon::simplify {
namespace {

/// The broadcast or the reshape to more unit dimensions that makes `value`.
Operation *movementOf(Value value) {
  Operation *op = value.getDefiningOp();
  if (isa_and_present<BroadcastInDimOp>(op))
    return op;
  auto reshape = dyn_cast_if_present<ReshapeOp>(op);
  if (!reshape)
    return nullptr;
  RankedTensorType from = tensorTypeOf(reshape.getOperand());
  RankedTensorType to = reshape.getType();
  bool addsUnits = from.getRank() < to.getRank() &&
                   unitReshapeMap(from.getShape(), to.getShape());
  return addsUnits ? op : nullptr;
}

/// Whether two movements do the same to tensors of one shape.
bool moveAlike(Operation *a, Operation *b) {
  if (a->getName() != b->getName() ||
      tensorTypeOf(a->getOperand(0)).getShape() !=
          tensorTypeOf(b->getOperand(0)).getShape())
    return false;
  auto broadcast = dyn_cast<BroadcastInDimOp>(a);
  return !broadcast || broadcast.getBroadcastDimensions() ==
                           cast<BroadcastInDimOp>(b).getBroadcastDimensions();
}

LogicalResult computeBeforeMovement(Operation *op, PatternRewriter &rewriter) {
  Operation *movement = nullptr;
  for (Value operand : op->getOperands()) {
    if (splatOf(operand))
      continue;
    Operation *own = movementOf(operand);
    if (!own || (movement && !moveAlike(movement, own)))
      return failure();
    movement = own;
  }
  auto result = cast<RankedTensorType>(op->getResult(0).getType());
  if (!movement ||
      tensorTypeOf(movement->getResult(0)).getShape() != result.getShape())
    return failure();
  ArrayRef<int64_t> shape = tensorTypeOf(movement->getOperand(0)).getShape();
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    Attribute element = splatOf(operand);
    RankedTensorType type = tensorTypeOf(operand);
    if (!element)
      operands.push_back(operand.getDefiningOp()->getOperand(0));
    else if (type.getRank() == 0) // a scalar limit or predicate stays one
      operands.push_back(operand);
    else
      operands.push_back(
          makeSplat(rewriter, operand.getLoc(), type.clone(shape), element));
  }
  OperationState state(op->getLoc(), op->getName());
  state.addOperands(operands);
  state.addTypes(result.clone(shape));
  state.addAttributes(llvm::to_vector(op->getDiscardableAttrs()));
  state.propertiesAttr = op->getPropertiesAsAttribute();
  Value small = rewriter.create(state)->getResult(0);
  if (auto broadcast = dyn_cast<BroadcastInDimOp>(movement))
    rewriter.replaceOpWithNewOp<BroadcastInDimOp>(
        op, result, small, broadcast.getBroadcastDimensions());
  else
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, result, small);
  return success();
}

template <typename Op>
struct ComputeBeforeMovement : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    return computeBeforeMovement(op, rewriter);
  }
};

template <typename... Ops>
void addFor(RewritePatternSet &patterns) {
  patterns.add<ComputeBeforeMovement<Ops>...>(patterns.getContext());
}

} // namespace

void populateMovementRules(RewritePatternSet &patterns) {
  addFor<AddOp, SubtractOp, MultiplyOp, DivideOp, RemainderOp, MaximumOp,
         MinimumOp, PowerOp, Atan2Op, AndOp, OrOp, XorOp, ShiftLeftOp,
         ShiftRightLogicalOp, ShiftRightArithmeticOp, CompareOp, SelectOp,
         ClampOp>(patterns);
  addFor<ConvertOp, ReducePrecisionOp, NegateOp, AbsOp, SignOp, NotOp, FloorOp,
         CeilOp, RoundNearestEvenOp, IsFiniteOp, SqrtOp, RsqrtOp, LogOp,
         LogPlusOneOp, ExponentialOp, ExponentialMinusOneOp, TanhOp, LogisticOp,
         CosineOp, SineOp>(patterns);
}

} // namespace tenon::simplify
