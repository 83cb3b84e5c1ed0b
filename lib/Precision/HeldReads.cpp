//===- HeldReads.cpp - Reading state that is held in another form ---------===//
//
// See HeldReads.h.
//
//===----------------------------------------------------------------------===//

#include "HeldReads.h"

#include "ReadPerBlock.h"

#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/Step/Casts.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::precision;

RankedTensorType precision::withElements(Value value, Type element) {
  return mlir::cast<RankedTensorType>(value.getType()).clone(element);
}

bool precision::roundsToBf16(Operation *op) {
  return isa<stablehlo::ConvertOp>(op) && step::isCompilerCast(op) &&
         getElementTypeOrSelf(op->getResult(0)).isBF16();
}

bool precision::movesHeld(OpOperand &use) {
  return use.getOperandNumber() == 0 &&
         isa<stablehlo::TransposeOp, stablehlo::ReshapeOp, stablehlo::SliceOp,
             stablehlo::DynamicSliceOp, stablehlo::GatherOp,
             stablehlo::ReverseOp>(use.getOwner());
}

Type BitOperations::bits(unsigned width) {
  return IntegerType::get(builder.getContext(), width, IntegerType::Unsigned);
}

template <typename Op>
Value BitOperations::convert(Value value, Type element) {
  return Op::create(builder, at, withElements(value, element), value);
}

Value BitOperations::constant(Value like, uint64_t number) {
  auto type = withElements(like, bits(32));
  return stablehlo::ConstantOp::create(
      builder, at, DenseElementsAttr::get(type, APInt(32, number)));
}

Parts BitOperations::split(Value whole) {
  using namespace stablehlo;
  Value all = convert<BitcastConvertOp>(whole, bits(32));
  Value rounded = AddOp::create(builder, at, all, constant(whole, 0x8000));
  Value upper =
      ShiftRightLogicalOp::create(builder, at, rounded, constant(whole, 16));
  Value lower = AndOp::create(builder, at, all, constant(whole, 0xffff));
  auto half = [&](Value value, Type element) {
    return convert<BitcastConvertOp>(convert<ConvertOp>(value, bits(16)),
                                     element);
  };
  return {half(upper, builder.getBF16Type()),
          half(lower, builder.getIntegerType(16))};
}

Value BitOperations::join(Parts parts) {
  using namespace stablehlo;
  Value upper = convert<ConvertOp>(
      convert<BitcastConvertOp>(parts.high, bits(16)), bits(32));
  upper = ShiftLeftOp::create(builder, at, upper, constant(parts.high, 16));
  Value lower = convert<BitcastConvertOp>(
      convert<ConvertOp>(parts.low, builder.getI32Type()), bits(32));
  return convert<BitcastConvertOp>(AddOp::create(builder, at, upper, lower),
                                   builder.getF32Type());
}

/// Moves parts as an operation moves the f32, whose uses read them.
static void moveParts(OpBuilder &builder, Operation *op, Parts parts) {
  builder.setInsertionPoint(op);
  Value result = op->getResult(0);
  auto moved = [&](Value part) {
    Operation *copy = builder.clone(*op);
    copy->setOperand(0, part);
    copy->getResult(0).setType(withElements(
        result, mlir::cast<RankedTensorType>(part.getType()).getElementType()));
    return copy->getResult(0);
  };
  SmallVector<OpOperand *> uses = usesOf(result);
  Parts both = {moved(parts.high), moved(parts.low)};
  readInParts(builder, uses, both);
  op->erase();
  if (both.low.use_empty())
    both.low.getDefiningOp()->erase();
  if (both.high.use_empty())
    both.high.getDefiningOp()->erase();
}

void precision::readInParts(OpBuilder &builder, ArrayRef<OpOperand *> uses,
                            Parts parts) {
  SmallVector<OpOperand *> readers;
  for (OpOperand *use : uses) {
    Operation *op = use->getOwner();
    if (roundsToBf16(op)) {
      op->getResult(0).replaceAllUsesWith(parts.high);
      op->erase();
    } else if (movesHeld(*use)) {
      moveParts(builder, op, parts);
    } else {
      readers.push_back(use);
    }
  }
  readPerBlock(builder, readers, [&] {
    return BitOperations(builder, parts.high.getLoc()).join(parts);
  });
}

void precision::readNarrow(OpBuilder &builder, ArrayRef<OpOperand *> uses,
                           Value narrow) {
  SmallVector<OpOperand *> readers;
  for (OpOperand *use : uses) {
    Operation *op = use->getOwner();
    if (roundsToBf16(op)) {
      op->getResult(0).replaceAllUsesWith(narrow);
      op->erase();
    } else if (movesHeld(*use)) {
      use->set(narrow);
      Value moved = op->getResult(0);
      moved.setType(withElements(moved, builder.getBF16Type()));
      readNarrow(builder, usesOf(moved), moved);
    } else {
      readers.push_back(use);
    }
  }
  readPerBlock(builder, readers, [&]() -> Value {
    auto wide = stablehlo::ConvertOp::create(
        builder, narrow.getLoc(), withElements(narrow, builder.getF32Type()),
        narrow);
    wide->setAttr(step::castAttrName, builder.getUnitAttr());
    return wide;
  });
}
