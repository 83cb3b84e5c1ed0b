//===- FormAttentionGroups.cpp - Attention with what it reads -------------===//
//
// Makes a `generic` group of every attention operation, together with the
// slices, transposes, reshapes and widenings in front of its operands, and the
// factors of dropout: its kernel reads operands element by element anyway, and
// needs no copy of them in memory. Results that are needed in 16 bits alone are
// rounded as they are stored. Where queries, keys and values are parts of one
// tensor, their gradients are joined to one, and each is stored where it is in
// that.
//
//===----------------------------------------------------------------------===//

#include "tenon/Fusion/Passes.h"

#include "tenon/Analysis/Shapes.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/Attention.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"

namespace tenon::fusion {
#define GEN_PASS_DEF_FORMATTENTIONGROUPSPASS
#include "tenon/Fusion/Passes.h.inc"
} // namespace tenon::fusion

using namespace mlir;
using namespace tenon;

namespace {

bool isNumber(Value value) {
  DenseElementsAttr constant;
  return matchPattern(value, m_Constant(&constant)) && constant.isSplat();
}

/// What only says which element is read, what widens 16 bits to the f32 that
/// the kernel computes in, and the choice between two numbers that makes the
/// factors of dropout from booleans, of which a byte each is in memory.
bool isPartOfReading(Operation *op) {
  if (auto convert = dyn_cast<stablehlo::ConvertOp>(op))
    return elementOf(convert.getResult()).isF32() &&
           isa<BFloat16Type, Float16Type>(elementOf(convert.getOperand()));
  if (auto select = dyn_cast<stablehlo::SelectOp>(op))
    return isNumber(select.getOnTrue()) && isNumber(select.getOnFalse());
  return isa<stablehlo::ReshapeOp, stablehlo::TransposeOp, stablehlo::SliceOp,
             stablehlo::BroadcastInDimOp>(op) ||
         (op->getNumResults() == 1 && isNumber(op->getResult(0)));
}

/// What rounds a result to 16 bits, if nothing reads it before: the kernel
/// stores it so.
Operation *roundingOf(Value result) {
  if (!result.hasOneUse() || !elementOf(result).isF32())
    return nullptr;
  auto convert = dyn_cast<stablehlo::ConvertOp>(*result.user_begin());
  return convert && convert->getBlock() == result.getParentBlock() &&
                 isa<BFloat16Type, Float16Type>(elementOf(convert.getResult()))
             ? convert
             : nullptr;
}

/// The operations that join values, in order, if nothing else reads any of
/// them. All parts begin at whole accesses of a GPU, so that they can be stored
/// wide.
SmallVector<Operation *> joiningOf(ArrayRef<Value> values) {
  constexpr int64_t elementsOfAccess = 8;
  SmallVector<Operation *> moves;
  stablehlo::ConcatenateOp joined;
  for (Value value : values) {
    Operation *user = nullptr;
    while (value.hasOneUse()) {
      user = *value.user_begin();
      if (!isa<stablehlo::ReshapeOp>(user))
        break;
      moves.push_back(user);
      value = user->getResult(0);
    }
    auto own = dyn_cast_or_null<stablehlo::ConcatenateOp>(user);
    if (!value.hasOneUse() || !own || (joined && joined != own))
      return {};
    joined = own;
    if (elementCount(shapeOf(value).drop_front(joined.getDimension())) %
            elementsOfAccess !=
        0)
      return {};
  }
  if (!joined || joined->getNumOperands() != values.size())
    return {};
  moves.push_back(joined);
  return moves;
}

struct FormAttentionGroups
    : public fusion::impl::FormAttentionGroupsPassBase<FormAttentionGroups> {
  void runOnOperation() override {
    SmallVector<Operation *> found;
    getOperation().walk([&](Operation *op) {
      if (step::isAttention(op) && !op->getParentOfType<step::GroupOp>())
        found.push_back(op);
    });
    for (Operation *op : found)
      formGroup(op);
  }

private:
  void formGroup(Operation *op) {
    // Those in front of a loop run once.
    llvm::SetVector<Operation *> moving;
    SmallVector<Value> look(op->getOperands());
    llvm::SetVector<Value> inputs;
    while (!look.empty()) {
      Value value = look.pop_back_val();
      Operation *writer = value.getDefiningOp();
      if (writer && writer->getBlock() == op->getBlock() &&
          isPartOfReading(writer)) {
        if (moving.insert(writer))
          llvm::append_range(look, writer->getOperands());
        continue;
      }
      inputs.insert(value);
    }
    SmallVector<Operation *> members(moving.begin(), moving.end());
    llvm::sort(members, [](Operation *a, Operation *b) {
      return a->isBeforeInBlock(b);
    });

    // Results that nobody reads are none of the group's.
    SmallVector<OpResult> made;
    SmallVector<Value> results; // as they are stored
    for (OpResult result : op->getResults()) {
      if (result.use_empty())
        continue;
      Operation *rounding = roundingOf(result);
      made.push_back(result);
      results.push_back(rounding ? rounding->getResult(0) : Value(result));
    }
    SmallVector<Operation *> moves;
    if (isa<step::AttentionGradientOp>(op))
      moves = joiningOf(results);
    SmallVector<Value> stored =
        moves.empty() ? results
                      : SmallVector<Value>{moves.back()->getResult(0)};
    OpBuilder builder(op);
    auto group = step::GroupOp::create(
        builder, op->getLoc(), TypeRange(ValueRange(stored)),
        inputs.getArrayRef(), step::GroupKind::generic);
    Block *body = builder.createBlock(&group.getBody());
    IRMapping mapping;
    for (Value input : inputs)
      mapping.map(input, body->addArgument(input.getType(), input.getLoc()));
    for (Operation *member : members)
      builder.clone(*member, mapping);
    Operation *copy = builder.clone(*op, mapping);
    for (auto [result, rounded] : llvm::zip_equal(made, results)) {
      Value value = copy->getResult(result.getResultNumber());
      value.setType(rounded.getType());
      mapping.map(rounded, value);
    }
    for (Operation *move : moves)
      builder.clone(*move, mapping);
    step::YieldOp::create(builder, op->getLoc(),
                          llvm::map_to_vector(stored, [&](Value value) {
                            return mapping.lookup(value);
                          }));
    for (auto [from, to] : llvm::zip_equal(stored, group.getOutputs()))
      from.replaceAllUsesWith(to);
    for (Operation *move : llvm::reverse(moves))
      move->erase();
    for (Value result : results)
      if (result.getDefiningOp() != op)
        result.getDefiningOp()->erase();
    op->erase();
    for (Operation *member : llvm::reverse(members))
      if (member->use_empty())
        member->erase();
  }
};

} // namespace
