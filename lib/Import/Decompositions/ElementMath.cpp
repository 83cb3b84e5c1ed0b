//===- ElementMath.cpp - Formulas over tensors ----------------------------===//
//
// Constants and comparisons of the formula builder.
//
//===----------------------------------------------------------------------===//

#include "ElementMath.h"

using namespace mlir;
using namespace tenon::stablehlo;

namespace tenon::importer {

static Value splat(const ElementMath &math, Attribute element) {
  return ConstantOp::create(
      math.builder,
      cast<ElementsAttr>(DenseElementsAttr::get(math.type, element)));
}

Value ElementMath::constant(double value) const {
  return splat(*this, builder.getFloatAttr(type.getElementType(), value));
}

Value ElementMath::integer(int64_t value) const {
  unsigned width = type.getElementTypeBitWidth();
  return splat(*this, builder.getIntegerAttr(type.getElementType(),
                                             APInt(width, uint64_t(value),
                                                   /*isSigned=*/true,
                                                   /*implicitTrunc=*/true)));
}

Value ElementMath::infinity() const {
  auto element = cast<FloatType>(type.getElementType());
  return splat(*this,
               builder.getFloatAttr(
                   element, APFloat::getInf(element.getFloatSemantics())));
}

Value ElementMath::nan() const {
  auto element = cast<FloatType>(type.getElementType());
  return splat(*this,
               builder.getFloatAttr(
                   element, APFloat::getNaN(element.getFloatSemantics())));
}

Value ElementMath::compare(Value a, ComparisonDirection direction,
                           Value b) const {
  Type element = getElementTypeOrSelf(a.getType());
  ComparisonType kind = isa<FloatType, ComplexType>(element)
                            ? ComparisonType::FLOAT
                        : element.isUnsignedInteger() || element.isInteger(1)
                            ? ComparisonType::UNSIGNED
                            : ComparisonType::SIGNED;
  return CompareOp::create(builder, a, b, direction, kind);
}

Value ElementMath::convert(Value x) const {
  return ConvertOp::create(builder, x, type.getElementType());
}

Value ElementMath::bitcast(Value x) const {
  return BitcastConvertOp::create(builder, type, x);
}

} // namespace tenon::importer
