//===- CountedLoop.cpp - Loops over a known number of rounds --------------===//
//
// stablehlo.while with a counter in front of the carried values.
//
//===----------------------------------------------------------------------===//

#include "CountedLoop.h"

using namespace mlir;
using namespace tenon::stablehlo;

namespace tenon::importer {

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

SmallVector<Value> buildCountedLoop(
    ImplicitLocOpBuilder &builder, int64_t rounds, ValueRange starts,
    llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  SmallVector<Value> operands{scalarConstant(builder, 0)};
  llvm::append_range(operands, starts);
  SmallVector<Type> types(ValueRange(operands).getTypes());
  SmallVector<Location> locations(types.size(), builder.getLoc());
  auto loop = WhileOp::create(builder, types, operands);

  OpBuilder::InsertionGuard guard(builder);
  Block *condition = builder.createBlock(&loop.getCond(), {}, types, locations);
  Value test = CompareOp::create(
      builder, condition->getArgument(0), scalarConstant(builder, rounds),
      ComparisonDirection::LT, ComparisonType::SIGNED);
  ReturnOp::create(builder, test);

  Block *block = builder.createBlock(&loop.getBody(), {}, types, locations);
  Value round = block->getArgument(0);
  SmallVector<Value> carried = body(round, block->getArguments().drop_front());
  SmallVector<Value> next{
      AddOp::create(builder, round, scalarConstant(builder, 1))};
  llvm::append_range(next, carried);
  ReturnOp::create(builder, next);
  return llvm::to_vector_of<Value>(loop.getResults().drop_front());
}

/// The start of the slice at `index` of `dimension`.
static SmallVector<Value> startAt(ImplicitLocOpBuilder &builder, int64_t rank,
                                  int64_t dimension, Value index) {
  SmallVector<Value> starts(size_t(rank), scalarConstant(builder, 0));
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
  auto type = cast<RankedTensorType>(tensor.getType());
  SmallVector<int64_t> sizes(type.getShape());
  sizes[size_t(dimension)] = 1;
  Value box = ReshapeOp::create(builder, type.clone(sizes), slice);
  return DynamicUpdateSliceOp::create(
      builder, tensor, box, startAt(builder, type.getRank(), dimension, index));
}

void expandScan(chlo::ScanOp op) {
  ImplicitLocOpBuilder builder(op.getLoc(), op);
  auto dimension = int64_t(op.getDimension());
  int64_t rounds = op.getScanDimSize() ? int64_t(*op.getScanDimSize()) : 0;
  for (Value value : op.getInputs())
    rounds = cast<RankedTensorType>(value.getType()).getDimSize(dimension);
  for (Value value : op.getOutputs())
    rounds = cast<RankedTensorType>(value.getType()).getDimSize(dimension);

  // Carried: the operation's own carries, then the outputs filled so far.
  SmallVector<Value> starts(op.getInits());
  for (Value output : op.getOutputs())
    starts.push_back(zeros(builder, cast<RankedTensorType>(output.getType())));
  size_t carries = op.getInits().size();
  SmallVector<Value> results = buildCountedLoop(
      builder, rounds, starts, [&](Value round, ValueRange carried) {
        Value index = round;
        if (op.getIsReverse())
          index = SubtractOp::create(
              builder, scalarConstant(builder, rounds - 1), round);
        SmallVector<Value> arguments;
        for (Value input : op.getInputs())
          arguments.push_back(sliceAt(builder, input, dimension, index));
        llvm::append_range(arguments, carried.take_front(carries));
        Block &body = op.getBody().front();
        IRMapping mapping;
        mapping.map(body.getArguments(), arguments);
        for (Operation &inner : body.without_terminator())
          builder.clone(inner, mapping);
        SmallVector<Value> computed;
        for (Value value : body.getTerminator()->getOperands())
          computed.push_back(mapping.lookupOrDefault(value));
        size_t outputs = op.getOutputs().size();
        SmallVector<Value> next(ArrayRef(computed).drop_front(outputs));
        for (size_t i = 0; i < outputs; ++i)
          next.push_back(updateAt(builder, carried[carries + i], dimension,
                                  index, computed[i]));
        return next;
      });
  for (auto [i, carry] : llvm::enumerate(op.getCarries()))
    carry.replaceAllUsesWith(results[i]);
  for (auto [i, output] : llvm::enumerate(op.getOutputs()))
    output.replaceAllUsesWith(results[carries + i]);
  op.erase();
}

} // namespace tenon::importer
