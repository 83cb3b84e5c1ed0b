//===- IndexMaps.cpp - Operations that move elements ----------------------===//
//
// For each operation whose result element is an element of an operand, or a
// function of the index: which element, and under which condition.
//
//===----------------------------------------------------------------------===//

#include "tenon/Codegen/Loops/IndexMaps.h"
#include "tenon/Codegen/Loops/PointEmitter.h"

#include "tenon/Analysis/Shapes.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tenon::codegen {

//===----------------------------------------------------------------------===//
// Conditions
//===----------------------------------------------------------------------===//

void PointEmitter::combine(Guard &guard, Value condition, unsigned level) {
  bool isVector = isa<VectorType>(condition.getType());
  Value &held = isVector ? guard.lanes : guard.uniform;
  unsigned &heldLevel = isVector ? guard.lanesLevel : guard.uniformLevel;
  heldLevel = std::max(heldLevel, level);
  if (!held) {
    held = condition;
    return;
  }
  Value left = held;
  held = levels.createAt<arith::AndIOp>(heldLevel, loc, left, condition);
}

void PointEmitter::require(Guard &guard, const IndexExpression &expression,
                           int64_t extent) {
  IndexRange range = algebra.range(expression);
  if (range.low >= 0 && range.high < extent)
    return;
  if (range.high < 0 || range.low >= extent) {
    guard.never = true;
    return;
  }
  conditions.emplace_back(expression, extent);
  // As unsigned numbers, negative ones are large.
  bool uniform = algebra.laneForm(expression).isUniform();
  Value value =
      uniform ? algebra.scalar(expression) : algebra.vector(expression);
  if (!uniform)
    ++gathers;
  unsigned level = algebra.level(expression);
  Value condition = levels.emitAt(level, [&](OpBuilder &b) -> Value {
    Value limit;
    if (uniform)
      limit = arith::ConstantIndexOp::create(b, loc, extent);
    else
      limit = numberOfType(b, loc, value.getType(), extent);
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, value,
                                 limit);
  });
  combine(guard, condition, level);
}

void PointEmitter::requireZero(Guard &guard,
                               const IndexExpression &expression) {
  IndexRange range = algebra.range(expression);
  if (range.low == 0 && range.high == 0)
    return;
  bool uniform = algebra.laneForm(expression).isUniform();
  Value value =
      uniform ? algebra.scalar(expression) : algebra.vector(expression);
  unsigned level = algebra.level(expression);
  Value condition = levels.emitAt(level, [&](OpBuilder &b) -> Value {
    Value zero = uniform ? Value(arith::ConstantIndexOp::create(b, loc, 0))
                         : numberOfType(b, loc, value.getType(), 0);
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, value, zero);
  });
  combine(guard, condition, level);
}

Element PointEmitter::choose(Value condition, unsigned level, Element a,
                             Element b) {
  bool vector =
      isa<VectorType>(condition.getType()) || a.isVector() || b.isVector();
  Value x = vector ? asVector(a) : a.value;
  Value y = vector ? asVector(b) : b.value;
  level = std::max({level, a.level, b.level});
  Value value = levels.createAt<arith::SelectOp>(level, loc, condition, x, y);
  return {value, level};
}

Element PointEmitter::guarded(Guard guard, Value operand, Indices indices,
                              llvm::function_ref<Element()> other) {
  // The last part of a concatenation has no alternative. Where no lane is in
  // it, its elements need not exist, so nothing is read.
  auto nothing = [&](OpBuilder &b) {
    return numberOfType(b, loc, valueType(elementOf(operand)), 0);
  };
  if (guard.never)
    return other ? other() : Element{levels.emitAt(0, nothing), 0};
  if (!guard.uniform && !guard.lanes)
    return at(operand, indices);

  // Where the condition fails, uniform indices are moved to an element that
  // exists, and lanes are not loaded.
  for (auto [index, extent] : llvm::zip(indices, shapeOf(operand)))
    if (algebra.laneForm(index).isUniform())
      index = algebra.clamped(index, {0, std::max<int64_t>(extent - 1, 0)});
  Value outerMask = mask;
  unsigned outerLevel = maskLevel;
  if (guard.lanes) {
    maskLevel = std::max(guard.lanesLevel, mask ? maskLevel : 0);
    if (mask)
      mask = levels.createAt<arith::AndIOp>(maskLevel, loc, outerMask,
                                            guard.lanes);
    else
      mask = guard.lanes;
  }
  Element inside = at(operand, indices);
  mask = outerMask;
  maskLevel = outerLevel;
  if (!other)
    return inside;
  Element outside = other();
  if (guard.lanes)
    inside = choose(guard.lanes, guard.lanesLevel, inside, outside);
  if (guard.uniform)
    inside = choose(guard.uniform, guard.uniformLevel, inside, outside);
  return inside;
}

//===----------------------------------------------------------------------===//
// Indices from memory
//===----------------------------------------------------------------------===//

IndexExpression PointEmitter::clampedIndex(Value tensor, const Indices &indices,
                                           int64_t high) {
  if (high <= 0)
    return 0;
  Element element = at(tensor, indices);
  auto key = std::pair(element.value, high);
  auto found = clampedIndices.find(key);
  if (found != clampedIndices.end())
    return found->second;
  bool isUnsigned = elementOf(tensor).isUnsignedInteger();
  Type from = getElementTypeOrSelf(element.value.getType());
  unsigned width = from.getIntOrFloatBitWidth();
  // Clamp in the given width, or in 64 bits if the limit does not fit.
  unsigned usable = isUnsigned ? width : width - 1;
  bool widen = usable < 63 && high >= (int64_t(1) << usable);
  Value clamped = levels.emitAt(element.level, [&](OpBuilder &b) -> Value {
    Value value = element.value;
    Type type = value.getType();
    if (widen) {
      type = withLanesOf(b.getI64Type(), type);
      value = isUnsigned ? Value(arith::ExtUIOp::create(b, loc, type, value))
                         : Value(arith::ExtSIOp::create(b, loc, type, value));
    }
    Value limit = numberOfType(b, loc, type, high);
    if (isUnsigned) {
      value = arith::MinUIOp::create(b, loc, value, limit);
    } else {
      Value zero = numberOfType(b, loc, type, 0);
      value = arith::MaxSIOp::create(b, loc, value, zero);
      value = arith::MinSIOp::create(b, loc, value, limit);
    }
    if (!element.isVector())
      return isUnsigned
                 ? Value(arith::IndexCastUIOp::create(b, loc, b.getIndexType(),
                                                      value))
                 : Value(arith::IndexCastOp::create(b, loc, b.getIndexType(),
                                                    value));
    unsigned have = getElementTypeOrSelf(type).getIntOrFloatBitWidth();
    if (have < 32)
      return arith::ExtUIOp::create(b, loc, withLanesOf(b.getI32Type(), type),
                                    value);
    if (have == 64 && high < std::numeric_limits<int32_t>::max())
      return arith::TruncIOp::create(b, loc, withLanesOf(b.getI32Type(), type),
                                     value);
    return value;
  });
  IndexRange range{0, high};
  IndexExpression expression =
      element.isVector() ? algebra.perLane(clamped, range, element.level)
                         : algebra.uniform(clamped, range, element.level);
  clampedIndices.try_emplace(key, expression);
  return expression;
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

Buffer PointEmitter::constantBuffer(ElementsAttr value) {
  auto found = constants.find(value);
  if (found != constants.end())
    return found->second;
  auto tensor = cast<RankedTensorType>(value.getType());
  Type storage = storageType(tensor.getElementType());
  int64_t count = std::max<int64_t>(tensor.getNumElements(), 1);
  SmallVector<Attribute> elements;
  for (Attribute element : value.getValues<Attribute>()) {
    if (auto integer = dyn_cast<IntegerAttr>(element))
      element = IntegerAttr::get(storage, integer.getValue().zextOrTrunc(
                                              storage.getIntOrFloatBitWidth()));
    elements.push_back(element);
  }
  auto memrefType = MemRefType::get({count}, storage);
  auto dense =
      DenseElementsAttr::get(RankedTensorType::get({count}, storage), elements);
  auto module =
      builder.getInsertionBlock()->getParentOp()->getParentOfType<ModuleOp>();
  std::string name;
  for (unsigned n = 0; name.empty() || module.lookupSymbol(name); ++n)
    name = "constant_" + std::to_string(n);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(module.getBody());
    memref::GlobalOp::create(
        builder, loc, name, builder.getStringAttr("private"), memrefType, dense,
        /*constant=*/true, builder.getI64IntegerAttr(64));
  }
  Buffer buffer;
  buffer.memref =
      levels.createAt<memref::GetGlobalOp>(0, loc, memrefType, name);
  buffer.shape.assign(tensor.getShape().begin(), tensor.getShape().end());
  buffer.elementType = tensor.getElementType();
  constants[value] = buffer;
  return buffer;
}

Element PointEmitter::constant(Operation *op, const Indices &indices) {
  ElementsAttr value;
  matchPattern(op, m_Constant(&value));
  if (!value.isSplat()) {
    Buffer buffer = constantBuffer(value);
    return load(buffer, algebra.linearize(indices, buffer.shape));
  }
  Attribute element = value.getSplatValue<Attribute>();
  Type type = valueType(value.getElementType());
  if (auto integer = dyn_cast<IntegerAttr>(element))
    element = IntegerAttr::get(type, integer.getValue());
  Value made =
      levels.createAt<arith::ConstantOp>(0, loc, cast<TypedAttr>(element));
  return {made, 0};
}

Element PointEmitter::iota(Operation *op, const Indices &indices) {
  auto iotaOp = cast<stablehlo::IotaOp>(op);
  Type element = elementOf(iotaOp.getOutput());
  const IndexExpression &index = indices[iotaOp.getIotaDimension()];
  unsigned level = algebra.level(index);
  bool uniform = algebra.laneForm(index).isUniform();
  Value position = uniform ? algebra.scalar(index) : algebra.vector(index);
  Value value = levels.emitAt(level, [&](OpBuilder &b) -> Value {
    Value integer = position;
    if (uniform)
      integer = arith::IndexCastOp::create(b, loc, b.getI64Type(), position);
    Type from = integer.getType();
    if (isa<FloatType>(element)) {
      Type type = withLanesOf(computeType(element), from);
      Value number = arith::SIToFPOp::create(b, loc, type, integer);
      return convertFloat(b, loc, number, element);
    }
    Type type = withLanesOf(valueType(element), from);
    unsigned have = getElementTypeOrSelf(from).getIntOrFloatBitWidth();
    unsigned want = element.getIntOrFloatBitWidth();
    if (have == want)
      return integer;
    if (have > want)
      return arith::TruncIOp::create(b, loc, type, integer);
    return arith::ExtSIOp::create(b, loc, type, integer);
  });
  return {value, level};
}

//===----------------------------------------------------------------------===//
// Pieces
//===----------------------------------------------------------------------===//

Element PointEmitter::pad(Operation *op, const Indices &indices) {
  auto padOp = cast<stablehlo::PadOp>(op);
  ArrayRef<int64_t> shape = shapeOf(padOp.getOperand());
  Guard guard;
  Indices inner;
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    int64_t spacing = padOp.getInteriorPadding()[dim] + 1;
    IndexExpression place = indices[dim] - padOp.getEdgePaddingLow()[dim];
    require(guard, place, (shape[dim] - 1) * spacing + 1);
    if (spacing > 1)
      requireZero(guard, algebra.mod(place, spacing));
    inner.push_back(algebra.floorDiv(place, spacing));
  }
  return guarded(guard, padOp.getOperand(), inner,
                 [&] { return at(padOp.getPaddingValue(), {}); });
}

Element PointEmitter::concatenate(Operation *op, const Indices &indices,
                                  unsigned first, int64_t offset) {
  auto concatenateOp = cast<stablehlo::ConcatenateOp>(op);
  int64_t dimension = concatenateOp.getDimension();
  Value input = concatenateOp.getInputs()[first];
  int64_t extent = shapeOf(input)[dimension];
  Indices inner = indices;
  inner[dimension] = indices[dimension] - offset;
  Guard guard;
  require(guard, inner[dimension], extent);
  if (first + 1 == concatenateOp.getInputs().size())
    return guarded(guard, input, inner, nullptr);
  return guarded(guard, input, inner, [&] {
    return concatenate(op, indices, first + 1, offset + extent);
  });
}

Element PointEmitter::gather(Operation *op, const Indices &indices) {
  auto gatherOp = cast<stablehlo::GatherOp>(op);
  auto numbers = gatherOp.getDimensionNumbers();
  ArrayRef<int64_t> shape = shapeOf(gatherOp.getOperand());
  Value starts = gatherOp.getStartIndices();
  ArrayRef<int64_t> sizes = gatherOp.getSliceSizes();

  Indices batch, offset;
  for (size_t dim = 0; dim < indices.size(); ++dim)
    (llvm::is_contained(numbers.getOffsetDims(), int64_t(dim)) ? offset : batch)
        .push_back(indices[dim]);

  Indices inner(shape.size());
  // Dimensions of the operand that a slice has.
  size_t nextOffset = 0;
  for (size_t dim = 0; dim < shape.size(); ++dim)
    if (!llvm::is_contained(numbers.getCollapsedSliceDims(), int64_t(dim)) &&
        !llvm::is_contained(numbers.getOperandBatchingDims(), int64_t(dim)))
      inner[dim] = offset[nextOffset++];

  int64_t vectorDim = numbers.getIndexVectorDim();
  int64_t startsRank = shapeOf(starts).size();
  // A dimension of the start indices as one of the batch index.
  auto batchPosition = [&](int64_t startsDim) {
    return startsDim > vectorDim ? startsDim - 1 : startsDim;
  };
  for (auto [operandDim, startsDim] :
       llvm::zip(numbers.getOperandBatchingDims(),
                 numbers.getStartIndicesBatchingDims()))
    inner[operandDim] = batch[batchPosition(startsDim)];

  for (auto [component, operandDim] :
       llvm::enumerate(numbers.getStartIndexMap())) {
    Indices place;
    for (int64_t dim = 0; dim < startsRank; ++dim)
      place.push_back(dim == vectorDim ? IndexExpression(component)
                                       : batch[batchPosition(dim)]);
    inner[operandDim] =
        inner[operandDim] +
        clampedIndex(starts, place, shape[operandDim] - sizes[operandDim]);
  }
  return at(gatherOp.getOperand(), inner);
}

Element PointEmitter::dynamicSlice(Operation *op, const Indices &indices) {
  auto sliceOp = cast<stablehlo::DynamicSliceOp>(op);
  ArrayRef<int64_t> shape = shapeOf(sliceOp.getOperand());
  Indices inner;
  for (size_t dim = 0; dim < shape.size(); ++dim)
    inner.push_back(indices[dim] +
                    clampedIndex(sliceOp.getStartIndices()[dim], {},
                                 shape[dim] - sliceOp.getSliceSizes()[dim]));
  return at(sliceOp.getOperand(), inner);
}

Element PointEmitter::dynamicUpdateSlice(Operation *op,
                                         const Indices &indices) {
  auto updateOp = cast<stablehlo::DynamicUpdateSliceOp>(op);
  ArrayRef<int64_t> shape = shapeOf(updateOp.getOperand());
  ArrayRef<int64_t> updateShape = shapeOf(updateOp.getUpdate());
  Guard guard;
  Indices inner;
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    inner.push_back(indices[dim] - clampedIndex(updateOp.getStartIndices()[dim],
                                                {},
                                                shape[dim] - updateShape[dim]));
    require(guard, inner.back(), updateShape[dim]);
  }
  return guarded(guard, updateOp.getUpdate(), inner,
                 [&] { return at(updateOp.getOperand(), indices); });
}

/// A reduction over dimensions of extent 1: one application of its region.
Element PointEmitter::unitReduce(OpResult result, const Indices &indices) {
  auto reduce = cast<stablehlo::ReduceOp>(result.getOwner());
  size_t inputs = reduce.getInputs().size();
  Indices full;
  size_t next = 0;
  for (size_t dim = 0; dim < shapeOf(reduce.getInputs().front()).size(); ++dim)
    full.push_back(llvm::is_contained(reduce.getDimensions(), int64_t(dim))
                       ? IndexExpression(0)
                       : indices[next++]);
  SmallVector<Element> elements;
  bool anyVector = false;
  unsigned level = 0;
  for (size_t i = 0; i < 2 * inputs; ++i) {
    elements.push_back(i < inputs ? at(reduce.getInitValues()[i], {})
                                  : at(reduce.getInputs()[i - inputs], full));
    anyVector |= elements.back().isVector();
    level = std::max(level, elements.back().level);
  }
  SmallVector<Value> values;
  for (Element element : elements)
    values.push_back(anyVector ? asVector(element) : element.value);
  Value value = applyRegion(reduce.getBody(), values)[result.getResultNumber()];
  return {value, levels.current()};
}

/// Elements cut into several narrower ones along a new last dimension, or the
/// reverse; the first of them holds the lowest bits.
Element PointEmitter::bitcastOfOtherWidth(Operation *op,
                                          const Indices &indices) {
  Value operand = op->getOperand(0);
  Type from = elementOf(operand), to = elementOf(op->getResult(0));
  unsigned fromWidth = from.getIntOrFloatBitWidth();
  unsigned toWidth = to.getIntOrFloatBitWidth();
  auto bitsOf = [&](OpBuilder &b, Value value, unsigned width) -> Value {
    Type type = withLanesOf(b.getIntegerType(width), value.getType());
    return type == value.getType()
               ? value
               : Value(arith::BitcastOp::create(b, loc, type, value));
  };
  auto asResult = [&](OpBuilder &b, Value bits) -> Value {
    Type type = withLanesOf(valueType(to), bits.getType());
    return type == bits.getType()
               ? bits
               : Value(arith::BitcastOp::create(b, loc, type, bits));
  };
  if (fromWidth > toWidth) {
    Indices outer(indices.begin(), indices.end() - 1);
    Element whole = at(operand, outer);
    IndexExpression shift = indices.back() * toWidth;
    bool uniform = algebra.laneForm(shift).isUniform();
    Value amount = uniform ? algebra.scalar(shift) : algebra.vector(shift);
    unsigned level = std::max(whole.level, algebra.level(shift));
    Value wide = uniform ? whole.value : asVector(whole);
    Value value = levels.emitAt(level, [&](OpBuilder &b) {
      Value bits = bitsOf(b, wide, fromWidth);
      Value by = amount;
      Type integer = b.getIntegerType(fromWidth);
      if (uniform) {
        by = arith::IndexCastOp::create(b, loc, integer, by);
        if (auto type = dyn_cast<VectorType>(bits.getType()))
          by = vector::BroadcastOp::create(b, loc, type, by);
      } else {
        unsigned have =
            getElementTypeOrSelf(by.getType()).getIntOrFloatBitWidth();
        Type type = withLanesOf(integer, by.getType());
        if (have < fromWidth)
          by = arith::ExtUIOp::create(b, loc, type, by);
        else if (have > fromWidth)
          by = arith::TruncIOp::create(b, loc, type, by);
      }
      Value low = arith::ShRUIOp::create(b, loc, bits, by);
      Type narrow = withLanesOf(b.getIntegerType(toWidth), bits.getType());
      return asResult(b, arith::TruncIOp::create(b, loc, narrow, low));
    });
    return {value, level};
  }
  Element sum;
  for (unsigned part = 0; part < toWidth / fromWidth; ++part) {
    Indices inner = indices;
    inner.push_back(part);
    Element piece = at(operand, inner);
    unsigned level = std::max(piece.level, sum.value ? sum.level : 0);
    Value value = levels.emitAt(level, [&](OpBuilder &b) {
      Value bits = bitsOf(b, piece.value, fromWidth);
      Type wide = withLanesOf(b.getIntegerType(toWidth), bits.getType());
      Value extended = arith::ExtUIOp::create(b, loc, wide, bits);
      if (part == 0)
        return extended;
      Value shift = numberOfType(b, loc, wide, part * fromWidth);
      Value shifted = arith::ShLIOp::create(b, loc, extended, shift);
      return Value(arith::OrIOp::create(b, loc, sum.value, shifted));
    });
    sum = {value, level};
  }
  Value value = levels.emitAt(
      sum.level, [&](OpBuilder &b) { return asResult(b, sum.value); });
  return {value, sum.level};
}

//===----------------------------------------------------------------------===//
// Other names of elements
//===----------------------------------------------------------------------===//

bool renamesIndices(Operation *op) {
  return isa<stablehlo::BroadcastInDimOp, stablehlo::TransposeOp,
             stablehlo::SliceOp, stablehlo::ReverseOp, stablehlo::ReshapeOp>(
      op);
}

Indices renamedIndices(IndexAlgebra &algebra, Operation *op,
                       ArrayRef<IndexExpression> indices) {
  ArrayRef<int64_t> shape = shapeOf(op->getOperand(0));
  Indices inner(shape.size());
  if (auto broadcast = dyn_cast<stablehlo::BroadcastInDimOp>(op)) {
    for (auto [dim, target] :
         llvm::enumerate(broadcast.getBroadcastDimensions()))
      inner[dim] = shape[dim] == 1 ? IndexExpression(0) : indices[target];
  } else if (auto transpose = dyn_cast<stablehlo::TransposeOp>(op)) {
    for (auto [dim, source] : llvm::enumerate(transpose.getPermutation()))
      inner[source] = indices[dim];
  } else if (auto slice = dyn_cast<stablehlo::SliceOp>(op)) {
    for (size_t dim = 0; dim < shape.size(); ++dim)
      inner[dim] =
          indices[dim] * slice.getStrides()[dim] + slice.getStartIndices()[dim];
  } else if (auto reverse = dyn_cast<stablehlo::ReverseOp>(op)) {
    inner.assign(indices.begin(), indices.end());
    for (int64_t dim : reverse.getDimensions())
      inner[dim] = IndexExpression(shape[dim] - 1) - indices[dim];
  } else {
    inner = algebra.delinearize(
        algebra.linearize(indices, shapeOf(op->getResult(0))), shape);
  }
  return inner;
}

//===----------------------------------------------------------------------===//
// Dispatch
//===----------------------------------------------------------------------===//

static bool changesWidth(Operation *op) {
  auto cast = dyn_cast<stablehlo::BitcastConvertOp>(op);
  return cast && elementOf(cast.getOperand()).getIntOrFloatBitWidth() !=
                     elementOf(cast.getResult()).getIntOrFloatBitWidth();
}

Element PointEmitter::compute(Value tensor, const Indices &indices) {
  if (auto buffer = buffers.find(tensor); buffer != buffers.end())
    return load(buffer->second,
                algebra.linearize(indices, buffer->second.shape));
  Operation *op = tensor.getDefiningOp();
  assert(op && "an argument without memory");
  if (op->hasTrait<OpTrait::ConstantLike>())
    return constant(op, indices);
  if (changesWidth(op))
    return bitcastOfOtherWidth(op, indices);
  if (isPointwise(op))
    return pointwise(op, indices);

  using Emit = Element (PointEmitter::*)(Operation *, const Indices &);
  static const llvm::StringMap<Emit> table = {
      {"stablehlo.iota", &PointEmitter::iota},
      {"stablehlo.pad", &PointEmitter::pad},
      {"stablehlo.gather", &PointEmitter::gather},
      {"stablehlo.dynamic_slice", &PointEmitter::dynamicSlice},
      {"stablehlo.dynamic_update_slice", &PointEmitter::dynamicUpdateSlice},
      {"step.stochastic_round", &PointEmitter::stochasticRound},
  };
  auto found = table.find(op->getName().getStringRef());
  if (found != table.end())
    return (this->*found->second)(op, indices);
  if (isa<stablehlo::ConcatenateOp>(op))
    return concatenate(op, indices, 0, 0);
  if (isa<stablehlo::ReduceOp>(op))
    return unitReduce(cast<OpResult>(tensor), indices);

  assert(renamesIndices(op) && "checkPointOperation was not asked");
  return at(op->getOperand(0), renamedIndices(algebra, op, indices));
}

LogicalResult checkPointOperation(Operation *op) {
  if (isPointwise(op) && !changesWidth(op))
    return checkPointwise(op);
  return success();
}

} // namespace tenon::codegen
