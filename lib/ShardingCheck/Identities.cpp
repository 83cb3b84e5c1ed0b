//===- Identities.cpp - Elements that combining leaves alone --------------===//
//
// Which element a tensor repeats, and which ways to combine it leaves alone.
//
//===----------------------------------------------------------------------===//

#include "Identities.h"
#include "PartitionChecker.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::shardingcheck;

Attribute shardingcheck::splatOf(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (auto constant = dyn_cast<stablehlo::ConstantOp>(op)) {
      auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
      return dense && dense.isSplat() && !isa<ComplexType>(elementOf(value))
                 ? dense.getSplatValue<Attribute>()
                 : Attribute();
    }
    if (!isView(op) || isa<stablehlo::OptimizationBarrierOp>(op))
      return {};
    value = op->getOperand(0);
  }
  return {};
}

unsigned shardingcheck::identitiesOf(Attribute element) {
  unsigned bits = 0;
  if (auto floating = dyn_cast_if_present<FloatAttr>(element)) {
    APFloat value = floating.getValue();
    const llvm::fltSemantics &semantics = value.getSemantics();
    bool hasInf = APFloat::semanticsHasInf(semantics);
    auto isEnd = [&](bool isNegative) {
      return hasInf ? value.isInfinity() && value.isNegative() == isNegative
                    : value == APFloat::getLargest(semantics, isNegative);
    };
    if (value.isZero())
      bits |= bitOf(Combine::sum);
    if (isEnd(true))
      bits |= bitOf(Combine::max);
    if (isEnd(false))
      bits |= bitOf(Combine::min);
  } else if (auto integer = dyn_cast_if_present<IntegerAttr>(element)) {
    APInt value = integer.getValue();
    bool isUnsigned =
        integer.getType().isUnsignedInteger() || integer.getType().isInteger(1);
    if (value.isZero())
      bits |= bitOf(Combine::sum);
    if (isUnsigned ? value.isMinValue() : value.isMinSignedValue())
      bits |= bitOf(Combine::max);
    if (isUnsigned ? value.isMaxValue() : value.isMaxSignedValue())
      bits |= bitOf(Combine::min);
  }
  return bits;
}
