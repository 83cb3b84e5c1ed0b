//===- Tie.cpp - Make a value wait for another one ------------------------===//
//
// See Tie.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Codegen/StableHLO/Tie.h"

#include "tenon/Dialect/StableHLO/StableHLO.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

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

/// The bits of the first element of a tensor as a number.
static Value position(OpBuilder &builder, Location location, Value late) {
  auto type = cast<RankedTensorType>(late.getType());
  Type element = type.getElementType();
  if (type.getRank()) {
    SmallVector<int64_t> zeros(type.getRank(), 0), ones(type.getRank(), 1);
    Value first = stablehlo::SliceOp::create(
        builder, location, RankedTensorType::get(ones, element), late,
        builder.getDenseI64ArrayAttr(zeros), builder.getDenseI64ArrayAttr(ones),
        builder.getDenseI64ArrayAttr(ones));
    late = stablehlo::ReshapeOp::create(
        builder, location, RankedTensorType::get({}, element), first);
  }
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
