//===- Rules.cpp - Facts that several groups of rules ask for -------------===//
//
// Constants behind values, and where a negative zero cannot be.
//
//===----------------------------------------------------------------------===//

#include "Rules.h"

#include "tenon/Analysis/FloatArithmetic.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tenon::stablehlo;

namespace tenon::simplify {

DenseElementsAttr constantOf(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  return constant ? dyn_cast<DenseElementsAttr>(constant.getValue())
                  : DenseElementsAttr();
}

Attribute splatOf(Value value) {
  DenseElementsAttr constant = constantOf(value);
  return constant && constant.isSplat() ? constant.getSplatValue<Attribute>()
                                        : Attribute();
}

bool isSplat(Value value, double number) {
  Attribute element = splatOf(value);
  if (auto real = dyn_cast_if_present<FloatAttr>(element)) {
    if (real.getValue().isZero())
      return number == 0 && !real.getValue().isNegative();
    return real.getValueAsDouble() == number;
  }
  if (auto integer = dyn_cast_if_present<IntegerAttr>(element)) {
    APInt value = integer.getValue();
    if (value.getBitWidth() == 1)
      return value.getZExtValue() == number;
    bool isUnsigned = integer.getType().isUnsignedInteger();
    return isUnsigned ? double(value.getZExtValue()) == number
                      : double(value.getSExtValue()) == number;
  }
  return false;
}

bool isNegativeZeroSplat(Value value) {
  auto real = dyn_cast_if_present<FloatAttr>(splatOf(value));
  return real && real.getValue().isNegZero();
}

Value makeSplat(OpBuilder &builder, Location location, RankedTensorType type,
                Attribute element) {
  return ConstantOp::create(
      builder, location,
      cast<ElementsAttr>(DenseElementsAttr::get(type, element)));
}

bool addsUp(ScatterOp op) {
  Block &body = op.getUpdateComputation().front();
  auto sum = body.getTerminator()->getOperand(0).getDefiningOp<AddOp>();
  return op.getInputs().size() == 1 && sum &&
         llvm::equal(sum->getOperands(), body.getArguments());
}

/// A sum of floats that starts at +0 stays +0 or becomes something else,
/// because +0 + -0 is +0.
static bool isSumFromZero(ReduceOp op, unsigned result) {
  if (op.getInputs().size() != 1 || !isSplat(op.getInitValues()[0], 0))
    return false;
  Block &body = op.getBody().front();
  auto sum = body.getTerminator()->getOperand(result).getDefiningOp<AddOp>();
  return sum && llvm::equal(sum->getOperands(), body.getArguments());
}

static bool neverNegativeZero(Value value, Subnormals subnormals, int depth) {
  if (depth > 6 || !isa<FloatType>(getElementTypeOrSelf(value.getType())))
    return false;
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  bool flushes = subnormals == Subnormals::flush &&
                 hasFlushedSubnormals(getElementTypeOrSelf(value.getType()));
  auto operandNever = [&](Value operand) {
    return neverNegativeZero(operand, subnormals, depth + 1);
  };
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<ConstantOp>([&](auto) {
        auto real = dyn_cast_if_present<FloatAttr>(splatOf(value));
        return real && !real.getValue().isNegZero();
      })
      .Case<ReduceOp>([&](ReduceOp reduce) {
        return !flushes &&
               isSumFromZero(reduce, cast<OpResult>(value).getResultNumber());
      })
      .Case<AbsOp, ExponentialOp>([](auto) { return true; })
      .Case<MultiplyOp>([](MultiplyOp product) {
        return product.getLhs() == product.getRhs();
      })
      .Case<AddOp>([&](AddOp sum) {
        // Only -0 + -0 is -0. A number plus +0 is not flushed.
        return isSplat(sum.getRhs(), 0) ||
               (!flushes &&
                (operandNever(sum.getLhs()) || operandNever(sum.getRhs())));
      })
      .Case<ConvertOp>([&](ConvertOp convert) {
        Type from = getElementTypeOrSelf(convert.getOperand().getType());
        if (isa<IntegerType>(from))
          return true;
        // Narrowing may round a negative number to -0, widening may not.
        auto source = dyn_cast<FloatType>(from);
        auto target =
            dyn_cast<FloatType>(getElementTypeOrSelf(convert.getType()));
        return source && target && target.getWidth() > source.getWidth() &&
               operandNever(convert.getOperand()) &&
               (!flushes || isNeverSubnormal(convert.getOperand()));
      })
      .Case<ReshapeOp, BroadcastInDimOp, TransposeOp, SliceOp, ReverseOp>(
          [&](auto) { return operandNever(op->getOperand(0)); })
      .Case<ConcatenateOp>([&](ConcatenateOp joined) {
        return llvm::all_of(joined.getInputs(), operandNever);
      })
      .Default([](Operation *) { return false; });
}

bool isNeverNegativeZero(Value value, Subnormals subnormals) {
  return neverNegativeZero(value, subnormals, 0);
}

} // namespace tenon::simplify
