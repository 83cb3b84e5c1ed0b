//===- PointEmitter.cpp - The value of a tensor at one index --------------===//
//
// Loads, stores, masks, element-wise operations and the memory of what is
// already computed. The index maps are in IndexMaps.cpp.
//
//===----------------------------------------------------------------------===//

#include "tenon/Codegen/Loops/PointEmitter.h"

#include "tenon/Analysis/Shapes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace tenon::codegen {

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// What was loaded, as the language's value: a stored boolean is a byte.
static Value afterLoad(OpBuilder &b, Location loc, Value value, Type element) {
  if (!element.isInteger(1))
    return value;
  Value zero = numberOfType(b, loc, value.getType(), 0);
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, value, zero);
}

static Value beforeStore(OpBuilder &b, Location loc, Value value,
                         Type element) {
  if (!element.isInteger(1))
    return value;
  Type bytes = withLanesOf(b.getI8Type(), value.getType());
  return arith::ExtUIOp::create(b, loc, bytes, value);
}

llvm::MaybeAlign
PointEmitter::alignment(const Buffer &buffer,
                        const IndexExpression &position) const {
  if (!instructions.statesAlignment)
    return {};
  int64_t bytes = storageType(buffer.elementType).getIntOrFloatBitWidth() / 8 *
                  algebra.knownMultiple(position);
  // The largest power of two that divides it.
  return llvm::Align(std::min(bytes & -bytes, kernelArgumentAlignment));
}

Element PointEmitter::load(const Buffer &buffer,
                           const IndexExpression &position) {
  Type storage = storageType(buffer.elementType);
  LaneForm form = algebra.laneForm(position);
  if (isPrefetching) {
    memref::PrefetchOp::create(builder, loc, buffer.memref,
                               algebra.scalar(position), /*isWrite=*/false,
                               /*localityHint=*/2, /*isDataCache=*/true);
    return {numberOfType(builder, loc, buffer.elementType, 0),
            levels.current()};
  }
  unsigned level = levels.placed(algebra.level(position));
  if (buffer.isWritten)
    level = levels.current();
  if (form.isUniform()) {
    Value index = algebra.scalar(position);
    Value value = levels.emitAt(level, [&](OpBuilder &b) {
      Value loaded = memref::LoadOp::create(b, loc, buffer.memref, index);
      return afterLoad(b, loc, loaded, buffer.elementType);
    });
    return {value, level};
  }
  if (mask)
    level = std::max(level, maskLevel);
  auto type = VectorType::get({algebra.lanes}, storage);
  auto passThrough = [&](OpBuilder &b) {
    return numberOfType(b, loc, type, 0);
  };
  if (form.isContiguous()) {
    Value index = algebra.scalar(position);
    Value value = levels.emitAt(level, [&](OpBuilder &b) {
      Value loaded =
          mask
              ? Value(vector::MaskedLoadOp::create(b, loc, type, buffer.memref,
                                                   index, mask, passThrough(b)))
              : Value(vector::LoadOp::create(b, loc, type, buffer.memref, index,
                                             /*nontemporal=*/false,
                                             alignment(buffer, position)));
      return afterLoad(b, loc, loaded, buffer.elementType);
    });
    return {value, level};
  }
  // A few neighbours, each repeated. All lanes must exist.
  if (form.isStairs() && !mask) {
    Value index = algebra.scalar(position);
    SmallVector<int64_t> picks;
    for (int64_t lane = 0; lane < algebra.lanes; ++lane)
      picks.push_back(lane / form.width);
    Value value = levels.emitAt(level, [&](OpBuilder &b) {
      auto few = VectorType::get({algebra.lanes / form.width}, storage);
      Value loaded = vector::LoadOp::create(b, loc, few, buffer.memref, index,
                                            /*nontemporal=*/false,
                                            alignment(buffer, position));
      Value repeated = vector::ShuffleOp::create(b, loc, loaded, loaded, picks);
      return afterLoad(b, loc, repeated, buffer.elementType);
    });
    return {value, level};
  }
  ++gathers;
  Value offsets = algebra.vector(position);
  Value zero = algebra.scalar(0);
  Value value = levels.emitAt(level, [&](OpBuilder &b) {
    auto maskType = VectorType::get({algebra.lanes}, b.getI1Type());
    Value lanes = mask ? mask : numberOfType(b, loc, maskType, -1);
    Value loaded = vector::GatherOp::create(b, loc, type, buffer.memref, zero,
                                            offsets, lanes, passThrough(b));
    return afterLoad(b, loc, loaded, buffer.elementType);
  });
  return {value, level};
}

Value PointEmitter::asVector(Element element) {
  if (algebra.lanes == 1 || element.isVector())
    return element.value;
  return levels.emitAt(levels.placed(element.level), [&](OpBuilder &b) {
    auto type = VectorType::get({algebra.lanes}, element.value.getType());
    return Value(vector::BroadcastOp::create(b, loc, type, element.value));
  });
}

void PointEmitter::store(const Buffer &buffer, const IndexExpression &position,
                         Element element) {
  LaneForm form = algebra.laneForm(position);
  if (form.isUniform()) {
    Value index = algebra.scalar(position);
    // All lanes have one place, which belongs to the first of them.
    if (isa<VectorType>(element.value.getType()))
      element.value = vector::ExtractOp::create(builder, loc, element.value, 0);
    Value value = beforeStore(builder, loc, element.value, buffer.elementType);
    memref::StoreOp::create(builder, loc, value, buffer.memref, index);
    return;
  }
  Value value =
      beforeStore(builder, loc, asVector(element), buffer.elementType);
  if (form.isContiguous()) {
    Value index = algebra.scalar(position);
    if (mask)
      vector::MaskedStoreOp::create(builder, loc, buffer.memref, index, mask,
                                    value);
    else
      vector::StoreOp::create(builder, loc, value, buffer.memref, index,
                              /*nontemporal=*/false,
                              alignment(buffer, position));
    return;
  }
  ++gathers;
  Value offsets = algebra.vector(position);
  auto maskType = VectorType::get({algebra.lanes}, builder.getI1Type());
  Value lanes = mask ? mask : numberOfType(builder, loc, maskType, -1);
  vector::ScatterOp::create(builder, loc, /*resultType=*/Type(), buffer.memref,
                            ValueRange(algebra.scalar(0)), offsets, lanes,
                            value);
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

Element PointEmitter::at(Value tensor, ArrayRef<IndexExpression> given) {
  // Along an extent of 1 there is one index.
  Indices indices(given.begin(), given.end());
  ArrayRef<int64_t> shape = shapeOf(tensor);
  assert(indices.size() == shape.size() && "one index per dimension");
  for (auto [index, extent] : llvm::zip(indices, shape))
    if (extent == 1)
      index = 0;
  if (auto provider = providers.find(tensor); provider != providers.end())
    return provider->second(indices);
  if (isPrefetching)
    return compute(tensor, indices);
  for (const Known &entry : known[tensor])
    if (entry.mask == mask && entry.indices == indices)
      return entry.element;
  Element element = compute(tensor, indices);
  known[tensor].push_back({indices, mask, element});
  return element;
}

void PointEmitter::prefetch(Value tensor, ArrayRef<IndexExpression> indices) {
  isPrefetching = true;
  at(tensor, indices);
  isPrefetching = false;
}

void PointEmitter::levelPopped() {
  unsigned current = levels.current();
  for (auto &entry : known)
    llvm::erase_if(entry.second, [&](const Known &value) {
      return value.element.level > current;
    });
}

/// What a comparison of places with a number gives at all points that `indices`
/// may be; nothing if it is not known.
static std::optional<bool> knownComparison(Value predicate,
                                           const Indices &indices,
                                           IndexAlgebra &algebra) {
  auto compare = predicate.getDefiningOp<stablehlo::CompareOp>();
  auto places = compare ? compare.getLhs().getDefiningOp<stablehlo::IotaOp>()
                        : stablehlo::IotaOp();
  DenseElementsAttr numbers;
  if (!places || !matchPattern(compare.getRhs(), m_Constant(&numbers)) ||
      !numbers.isSplat())
    return std::nullopt;
  auto type = dyn_cast<IntegerType>(elementOf(places.getOutput()));
  if (!type || type.getWidth() > 64)
    return std::nullopt;
  const auto [low, high] = algebra.range(indices[places.getIotaDimension()]);
  const APInt splat = numbers.getSplatValue<APInt>();
  // Nobody has to know whether there is a sign.
  if (splat.isNegative() || !llvm::isUIntN(type.getWidth() - 1, high))
    return std::nullopt;
  const auto number = int64_t(splat.getZExtValue());
  auto unless = [](bool holds, bool never) -> std::optional<bool> {
    return holds || never ? std::optional(holds) : std::nullopt;
  };
  using Direction = stablehlo::ComparisonDirection;
  switch (compare.getComparisonDirection()) {
  case Direction::LT:
    return unless(high < number, low >= number);
  case Direction::LE:
    return unless(high <= number, low > number);
  case Direction::GT:
    return unless(low > number, high <= number);
  case Direction::GE:
    return unless(low >= number, high < number);
  case Direction::EQ:
    return unless(low == number && high == number,
                  number < low || number > high);
  case Direction::NE:
    return unless(number < low || number > high,
                  low == number && high == number);
  }
  return std::nullopt;
}

Element PointEmitter::pointwise(Operation *op, const Indices &indices) {
  if (std::optional<bool> known =
          knownComparison(op->getResult(0), indices, algebra))
    return {levels.emitAt(0,
                          [&](OpBuilder &b) {
                            return numberOfType(b, loc, b.getI1Type(), *known);
                          }),
            0};
  if (auto select = dyn_cast<stablehlo::SelectOp>(op))
    if (std::optional<bool> known =
            knownComparison(select.getPred(), indices, algebra))
      return at(*known ? select.getOnTrue() : select.getOnFalse(), indices);
  SmallVector<Element> operands;
  bool anyVector = false;
  unsigned level = 0;
  for (Value operand : op->getOperands()) {
    // Predicates and limits may be scalars beside tensors.
    bool isScalar = shapeOf(operand).empty();
    operands.push_back(
        at(operand, isScalar ? ArrayRef<IndexExpression>() : indices));
    anyVector |= operands.back().isVector();
    level = std::max(level, operands.back().level);
  }
  SmallVector<Value> values;
  for (Element element : operands)
    values.push_back(anyVector ? asVector(element) : element.value);
  Value value = levels.emitAt(level, [&](OpBuilder &b) {
    return emitPointwise(b, loc, op, values, instructions);
  });
  return {value, level};
}

SmallVector<Value> PointEmitter::applyRegion(Region &region,
                                             ValueRange arguments) {
  Block &block = region.front();
  DenseMap<Value, Value> values;
  for (auto [argument, value] : llvm::zip(block.getArguments(), arguments))
    values[argument] = value;
  Type like = arguments.front().getType();
  auto lookUp = [&](Value value) -> Value {
    auto found = values.find(value);
    if (found != values.end())
      return found->second;
    // From outside of the region: a scalar of the kernel's body.
    Element element = at(value, {});
    Value scalar = element.value;
    if (auto vector = dyn_cast<VectorType>(like);
        vector && !isa<VectorType>(scalar.getType()))
      scalar = vector::BroadcastOp::create(
          builder, loc, vector.clone(scalar.getType()), scalar);
    return scalar;
  };
  for (Operation &op : block.without_terminator()) {
    if (op.hasTrait<OpTrait::ConstantLike>()) {
      ElementsAttr attribute;
      matchPattern(&op, m_Constant(&attribute));
      Type type = withLanesOf(valueType(elementOf(op.getResult(0))), like);
      Attribute element = attribute.getValues<Attribute>()[0];
      if (auto integer = dyn_cast<IntegerAttr>(element))
        element = builder.getIntegerAttr(getElementTypeOrSelf(type),
                                         integer.getValue());
      if (auto vector = dyn_cast<VectorType>(type))
        element = DenseElementsAttr::get(vector, element);
      values[op.getResult(0)] =
          arith::ConstantOp::create(builder, loc, cast<TypedAttr>(element));
      continue;
    }
    SmallVector<Value> operands;
    for (Value operand : op.getOperands())
      operands.push_back(lookUp(operand));
    if (isPointwise(&op))
      values[op.getResult(0)] =
          emitPointwise(builder, loc, &op, operands, instructions);
    else // shape operations on single elements
      values[op.getResult(0)] = operands.front();
  }
  SmallVector<Value> results;
  for (Value result : block.getTerminator()->getOperands())
    results.push_back(lookUp(result));
  return results;
}

} // namespace tenon::codegen
