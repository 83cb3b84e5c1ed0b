//===- Identity.cpp - What changes nothing it is combined with ------------===//
//
// See Identity.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Analysis/Identity.h"

#include "tenon/Dialect/StableHLO/BuildLoop.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"

using namespace mlir;
using namespace tenon;
using libraries::Combination;

Attribute tenon::identityElement(Type element, Combination combination) {
  if (combination == Combination::sum)
    return Builder(element.getContext()).getZeroAttr(element);
  bool isMax = combination == Combination::maximum;
  if (auto floating = dyn_cast<FloatType>(element)) {
    const auto &semantics = floating.getFloatSemantics();
    return FloatAttr::get(element, APFloat::semanticsHasInf(semantics)
                                       ? APFloat::getInf(semantics, isMax)
                                       : APFloat::getLargest(semantics, isMax));
  }
  unsigned width = element.getIntOrFloatBitWidth();
  bool isUnsigned = element.isUnsignedInteger() || width == 1;
  APInt bits = isUnsigned ? (isMax ? APInt::getMinValue(width)
                                   : APInt::getMaxValue(width))
                          : (isMax ? APInt::getSignedMinValue(width)
                                   : APInt::getSignedMaxValue(width));
  return IntegerAttr::get(element, bits);
}

Value tenon::identityOf(ImplicitLocOpBuilder &builder, RankedTensorType type,
                        Combination combination) {
  if (combination == Combination::sum)
    return stablehlo::zeros(builder, type);
  Attribute value = identityElement(type.getElementType(), combination);
  return stablehlo::ConstantOp::create(
      builder, cast<ElementsAttr>(DenseElementsAttr::get(type, value)));
}
