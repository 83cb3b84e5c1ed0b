//===- ElementRows.cpp - Tensors as rows of elements ----------------------===//
//
// See ElementRows.h.
//
//===----------------------------------------------------------------------===//

#include "ElementRows.h"

using namespace mlir;
using namespace tenon::importer;
using namespace tenon::importer::elements;
using namespace tenon::stablehlo;

//===----------------------------------------------------------------------===//
// Numbers of elements
//===----------------------------------------------------------------------===//

Value elements::number(CodeBuilder &builder, int64_t value) {
  auto type = RankedTensorType::get({}, builder.getI64Type());
  return ConstantOp::create(builder,
                            cast<ElementsAttr>(DenseElementsAttr::get(
                                type, builder.getI64IntegerAttr(value))));
}

Value elements::plus(CodeBuilder &builder, Value value, int64_t term) {
  return AddOp::create(builder, value, number(builder, term));
}

Value elements::times(CodeBuilder &builder, Value value, int64_t factor) {
  return MultiplyOp::create(builder, value, number(builder, factor));
}

Value elements::isBelow(CodeBuilder &builder, Value value, int64_t bound) {
  return CompareOp::create(builder, value, number(builder, bound),
                           ComparisonDirection::LT, ComparisonType::SIGNED);
}

Value elements::always(CodeBuilder &builder) {
  auto type = RankedTensorType::get({}, builder.getI1Type());
  return ConstantOp::create(
      builder, cast<ElementsAttr>(DenseElementsAttr::get(type, true)));
}

Value elements::isWithin(CodeBuilder &builder, Value value, int64_t bound) {
  Value isNegative = isBelow(builder, value, 0);
  return AndOp::create(builder, NotOp::create(builder, isNegative),
                       isBelow(builder, value, bound));
}

Value elements::converted(CodeBuilder &builder, Value value, Type element) {
  RankedTensorType type = typeOf(value);
  if (type.getElementType() == element)
    return value;
  return ConvertOp::create(builder, type.clone(element), value);
}

Value elements::wide(CodeBuilder &builder, Value round) {
  return converted(builder, round, builder.getI64Type());
}

Place elements::placeOf(CodeBuilder &builder, Value at,
                        ArrayRef<int64_t> shape) {
  Place place(shape.size());
  for (size_t dim = shape.size(); dim-- > 0;) {
    Value extent = number(builder, shape[dim]);
    place[dim] = RemainderOp::create(builder, at, extent);
    at = DivideOp::create(builder, at, extent);
  }
  return place;
}

Value elements::numberOf(CodeBuilder &builder, ArrayRef<Value> place,
                         ArrayRef<int64_t> shape) {
  Value at = number(builder, 0);
  for (auto [coordinate, extent] : llvm::zip_equal(place, shape))
    at = AddOp::create(builder, times(builder, at, extent), coordinate);
  return at;
}

//===----------------------------------------------------------------------===//
// Rows of elements
//===----------------------------------------------------------------------===//

Value elements::row(CodeBuilder &builder, Value tensor) {
  RankedTensorType type = typeOf(tensor);
  return ReshapeOp::create(builder, type.clone({type.getNumElements()}),
                           tensor);
}

SmallVector<Value> elements::rows(CodeBuilder &builder, ValueRange tensors) {
  return llvm::map_to_vector(
      tensors, [&](Value tensor) { return row(builder, tensor); });
}

Value elements::repeated(CodeBuilder &builder, Value value,
                         RankedTensorType type) {
  value = converted(builder, value, type.getElementType());
  return BroadcastInDimOp::create(builder, type.clone({type.getNumElements()}),
                                  value, ArrayRef<int64_t>());
}

SmallVector<Value> elements::elementsAt(CodeBuilder &builder, ValueRange rows,
                                        Value at) {
  return llvm::map_to_vector(
      rows, [&](Value row) { return sliceAt(builder, row, 0, at); });
}

SmallVector<Value> elements::updatedAt(CodeBuilder &builder, ValueRange rows,
                                       Value at, ValueRange elements) {
  SmallVector<Value> updated;
  for (auto [row, element] : llvm::zip_equal(rows, elements))
    updated.push_back(updateAt(builder, row, 0, at, element));
  return updated;
}

SmallVector<Value> elements::computed(CodeBuilder &builder, Region &region,
                                      ArrayRef<Value> elements) {
  SmallVector<Value> arguments;
  for (auto [element, argument] :
       llvm::zip_equal(elements, region.getArguments()))
    arguments.push_back(
        converted(builder, element, typeOf(argument).getElementType()));
  return cloneBody(builder, region, arguments);
}

SmallVector<Value>
elements::whereTrue(CodeBuilder &builder, Value condition, ValueRange otherwise,
                    llvm::function_ref<SmallVector<Value>()> compute) {
  auto op = IfOp::create(builder, otherwise.getTypes(), condition);
  OpBuilder::InsertionGuard guard(builder);
  builder.createBlock(&op.getTrueBranch());
  ReturnOp::create(builder, compute());
  builder.createBlock(&op.getFalseBranch());
  ReturnOp::create(builder, otherwise);
  return llvm::to_vector_of<Value>(op.getResults());
}
