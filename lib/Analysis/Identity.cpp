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

Value tenon::identityOf(ImplicitLocOpBuilder &builder, RankedTensorType type,
                        Combination combination) {
  Type element = type.getElementType();
  if (combination == Combination::sum)
    return stablehlo::zeros(builder, type);
  bool isMax = combination == Combination::maximum;
  Attribute value;
  if (auto floating = dyn_cast<FloatType>(element)) {
    const auto &semantics = floating.getFloatSemantics();
    value =
        FloatAttr::get(element, APFloat::semanticsHasInf(semantics)
                                    ? APFloat::getInf(semantics, isMax)
                                    : APFloat::getLargest(semantics, isMax));
  } else {
    unsigned width = element.getIntOrFloatBitWidth();
    bool isUnsigned = element.isUnsignedInteger() || width == 1;
    APInt bits = isUnsigned ? (isMax ? APInt::getMinValue(width)
                                     : APInt::getMaxValue(width))
                            : (isMax ? APInt::getSignedMinValue(width)
                                     : APInt::getSignedMaxValue(width));
    value = IntegerAttr::get(element, bits);
  }
  return stablehlo::ConstantOp::create(
      builder, cast<ElementsAttr>(DenseElementsAttr::get(type, value)));
}
