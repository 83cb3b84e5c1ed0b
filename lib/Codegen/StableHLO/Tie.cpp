//===- Tie.cpp - Make a value wait for another one ------------------------===//
//
// See Tie.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Codegen/StableHLO/Tie.h"

#include "tenon/Dialect/StableHLO/StableHLO.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::codegen;

bool codegen::canBeTied(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.hasStaticShape() && type.getNumElements() >= 2 &&
         type.getElementType().isIntOrFloat();
}

bool codegen::canBeWaitedFor(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || !type.hasStaticShape() || type.getNumElements() < 1 ||
      !type.getElementType().isIntOrFloat())
    return false;
  unsigned width = type.getElementTypeBitWidth();
  return isa<IntegerType>(type.getElementType()) || width == 16 ||
         width == 32 || width == 64;
}

/// The first element of a tensor as a scalar.
static Value firstElement(OpBuilder &builder, Location location, Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  if (!type.getRank())
    return value;
  Type element = type.getElementType();
  SmallVector<int64_t> zeros(type.getRank(), 0), ones(type.getRank(), 1);
  Value first = stablehlo::SliceOp::create(
      builder, location, RankedTensorType::get(ones, element), value,
      builder.getDenseI64ArrayAttr(zeros), builder.getDenseI64ArrayAttr(ones),
      builder.getDenseI64ArrayAttr(ones));
  return stablehlo::ReshapeOp::create(
      builder, location, RankedTensorType::get({}, element), first);
}

/// The bits of the first element of a tensor as a number.
static Value position(OpBuilder &builder, Location location, Value late) {
  Type element = cast<RankedTensorType>(late.getType()).getElementType();
  late = firstElement(builder, location, late);
  if (auto real = dyn_cast<FloatType>(element)) {
    element = builder.getIntegerType(real.getWidth());
    late = stablehlo::BitcastConvertOp::create(
        builder, location, RankedTensorType::get({}, element), late);
  }
  Type wanted = builder.getI32Type();
  return element == wanted
             ? late
             : Value(stablehlo::ConvertOp::create(
                   builder, location, RankedTensorType::get({}, wanted), late));
}

Value codegen::tie(OpBuilder &builder, Location location, Value value,
                   Value late) {
  auto type = cast<RankedTensorType>(value.getType());
  Value index = position(builder, location, late);
  auto barrier = stablehlo::OptimizationBarrierOp::create(
      builder, location, ValueRange{value, index});
  value = barrier->getResult(0);
  Value zero;
  SmallVector<Value> indices;
  for (int64_t extent : type.getShape()) {
    // A position along an extent of 1 would be known.
    if (extent == 1 && !zero)
      zero = stablehlo::ConstantOp::create(
          builder, location,
          cast<ElementsAttr>(Attribute(DenseElementsAttr::get(
              RankedTensorType::get({}, builder.getI32Type()),
              builder.getI32IntegerAttr(0)))));
    indices.push_back(extent == 1 ? zero : barrier->getResult(1));
  }
  SmallVector<int64_t> ones(type.getRank(), 1);
  Value element = stablehlo::DynamicSliceOp::create(
      builder, location, RankedTensorType::get(ones, type.getElementType()),
      value, indices, builder.getDenseI64ArrayAttr(ones));
  return stablehlo::DynamicUpdateSliceOp::create(builder, location, value,
                                                 element, indices);
}

bool codegen::isTieableConstant(Value value) {
  SplatElementsAttr number;
  return matchPattern(value, m_Constant(&number)) &&
         number.getElementType().isIntOrFloat();
}

Value codegen::tieConstant(OpBuilder &builder, Location location,
                           Value constant, Value late) {
  auto type = cast<RankedTensorType>(constant.getType());
  Type element = type.getElementType();
  SplatElementsAttr number;
  matchPattern(constant, m_Constant(&number));
  auto first = number.getSplatValue<TypedAttr>();
  TypedAttr other = first == builder.getZeroAttr(element)
                        ? builder.getOneAttr(element)
                        : builder.getZeroAttr(element);
  auto pair = DenseElementsAttr::get(RankedTensorType::get({2}, element),
                                     {Attribute(first), Attribute(other)});
  Value both = stablehlo::ConstantOp::create(
      builder, location, cast<ElementsAttr>(Attribute(pair)));
  Value scalar =
      firstElement(builder, location, tie(builder, location, both, late));
  return type.getRank() ? Value(stablehlo::BroadcastInDimOp::create(
                              builder, location, type, scalar,
                              builder.getDenseI64ArrayAttr({})))
                        : scalar;
}
