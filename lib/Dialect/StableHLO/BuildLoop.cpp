//===- BuildLoop.cpp - Builds loops over tensors --------------------------===//
//
// stablehlo.while with a counter in front of the carried values.
//
//===----------------------------------------------------------------------===//

#include "tenon/Dialect/StableHLO/BuildLoop.h"

using namespace mlir;

namespace tenon::stablehlo {

Value scalarConstant(ImplicitLocOpBuilder &builder, int64_t value) {
  auto type = RankedTensorType::get({}, builder.getI32Type());
  return ConstantOp::create(
      builder, cast<ElementsAttr>(DenseElementsAttr::get(
                   type, builder.getI32IntegerAttr(int32_t(value)))));
}

Value zeros(ImplicitLocOpBuilder &builder, RankedTensorType type) {
  if (auto complex = dyn_cast<ComplexType>(type.getElementType())) {
    auto part = cast<FloatType>(complex.getElementType());
    APFloat zero = APFloat::getZero(part.getFloatSemantics());
    return ConstantOp::create(builder,
                              cast<ElementsAttr>(DenseElementsAttr::get(
                                  type, std::complex<APFloat>(zero, zero))));
  }
  return ConstantOp::create(
      builder, cast<ElementsAttr>(DenseElementsAttr::get(
                   type, builder.getZeroAttr(type.getElementType()))));
}

SmallVector<Value>
buildLoop(ImplicitLocOpBuilder &builder, ValueRange starts,
          llvm::function_ref<Value(ValueRange)> condition,
          llvm::function_ref<SmallVector<Value>(ValueRange)> body) {
  SmallVector<Type> types(starts.getTypes());
  SmallVector<Location> locations(types.size(), builder.getLoc());
  auto loop = WhileOp::create(builder, types, starts);
  OpBuilder::InsertionGuard guard(builder);
  Block *test = builder.createBlock(&loop.getCond(), {}, types, locations);
  ReturnOp::create(builder, condition(test->getArguments()));
  Block *round = builder.createBlock(&loop.getBody(), {}, types, locations);
  ReturnOp::create(builder, body(round->getArguments()));
  return llvm::to_vector_of<Value>(loop.getResults());
}

SmallVector<Value> buildCountedLoop(
    ImplicitLocOpBuilder &builder, int64_t rounds, ValueRange starts,
    llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  if (rounds == 0)
    return starts;
  SmallVector<Value> operands{scalarConstant(builder, 0)};
  llvm::append_range(operands, starts);
  SmallVector<Value> results = buildLoop(
      builder, operands,
      [&](ValueRange carried) -> Value {
        return CompareOp::create(
            builder, carried[0], scalarConstant(builder, rounds),
            ComparisonDirection::LT, ComparisonType::SIGNED);
      },
      [&](ValueRange carried) {
        SmallVector<Value> next = body(carried[0], carried.drop_front());
        next.insert(next.begin(), AddOp::create(builder, carried[0],
                                                scalarConstant(builder, 1)));
        return next;
      });
  results.erase(results.begin());
  return results;
}

SmallVector<Value> startAt(ImplicitLocOpBuilder &builder, int64_t rank,
                           int64_t dimension, Value index) {
  SmallVector<Value> starts(
      size_t(rank), zeros(builder, cast<RankedTensorType>(index.getType())));
  starts[size_t(dimension)] = index;
  return starts;
}

Value sliceAt(ImplicitLocOpBuilder &builder, Value tensor, int64_t dimension,
              Value index) {
  auto type = cast<RankedTensorType>(tensor.getType());
  SmallVector<int64_t> sizes(type.getShape());
  sizes[size_t(dimension)] = 1;
  Value slice = DynamicSliceOp::create(
      builder, type.clone(sizes), tensor,
      startAt(builder, type.getRank(), dimension, index), sizes);
  sizes.erase(sizes.begin() + dimension);
  return ReshapeOp::create(builder, type.clone(sizes), slice);
}

Value updateAt(ImplicitLocOpBuilder &builder, Value tensor, int64_t dimension,
               Value index, Value slice) {
  auto type = cast<RankedTensorType>(slice.getType());
  SmallVector<int64_t> sizes(type.getShape());
  sizes.insert(sizes.begin() + dimension, 1);
  Value box = ReshapeOp::create(builder, type.clone(sizes), slice);
  return DynamicUpdateSliceOp::create(
      builder, tensor, box,
      startAt(builder, int64_t(sizes.size()), dimension, index));
}

SmallVector<Value> cloneBody(ImplicitLocOpBuilder &builder, Region &region,
                             ValueRange arguments) {
  Block &block = region.front();
  IRMapping mapping;
  mapping.map(block.getArguments(), arguments);
  for (Operation &op : block.without_terminator())
    builder.clone(op, mapping);
  SmallVector<Value> results;
  for (Value value : block.getTerminator()->getOperands())
    results.push_back(mapping.lookupOrDefault(value));
  return results;
}

} // namespace tenon::stablehlo
