//===- ReduceTree.cpp - Code that combines the elements of a reduction ----===//
//
// See ReduceTree.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Codegen/Loops/ReduceTree.h"

#include "tenon/Analysis/Shapes.h"
#include "tenon/Codegen/Loops/KernelNest.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <functional>

using namespace mlir;

namespace tenon::codegen {

Indices mergeIndices(const ReductionSpace &space,
                     ArrayRef<IndexExpression> kept,
                     ArrayRef<IndexExpression> reduced) {
  Indices indices;
  for (bool isReduced : space.reduced) {
    ArrayRef<IndexExpression> &from = isReduced ? reduced : kept;
    indices.push_back(from.front());
    from = from.drop_front();
  }
  return indices;
}

Indices withUnitDimensions(ArrayRef<int64_t> shape,
                           ArrayRef<IndexExpression> indices) {
  Indices full;
  for (int64_t extent : shape) {
    if (extent == 1) {
      full.push_back(0);
      continue;
    }
    full.push_back(indices.front());
    indices = indices.drop_front();
  }
  return full;
}

using Values = LoopNest::Values;

BlockRows::BlockRows(LoopNest &k, const ReductionBlocks &blocks, Indices before,
                     const IndexExpression &run)
    : k(k), blocks(blocks), before(std::move(before)), begin(run * blocks.run),
      low(k.algebra.scalar(begin)),
      high(k.create<arith::AddIOp>(low, k.constantIndex(blocks.run))) {
  if (blocks.extent % blocks.run != 0)
    high = k.create<arith::MinUIOp>(high, k.constantIndex(blocks.extent));
}

BlockRows::BlockRows(LoopNest &k, const ReductionBlocks &blocks,
                     const IndexExpression &number)
    : BlockRows(k, blocks,
                k.algebra.delinearize(k.algebra.floorDiv(number, blocks.runs()),
                                      blocks.before),
                k.algebra.mod(number, blocks.runs())) {}

Values BlockRows::forPositions(Value low, int64_t lanes, ValueRange carried,
                               RowBody row) const {
  return k.forLoop(
      low, high, lanes, {0, blocks.extent - 1}, lanes, lanes > 1, carried,
      [&](const IndexExpression &position, ValueRange carried) {
        return k.forSpace(blocks.within, carried,
                          [&](const Indices &rest, ValueRange carried) {
                            Indices indices = before;
                            indices.push_back(position);
                            llvm::append_range(indices, rest);
                            return row(indices, carried);
                          });
      },
      double(llvm::divideCeil(blocks.run, lanes)));
}

Values BlockRows::forEach(ValueRange carried, RowBody row) const {
  return forPositions(low, 1, carried, row);
}

Values BlockRows::fromFirst(llvm::function_ref<Values(const Indices &)> first,
                            RowBody row, int64_t lanes) const {
  assert((lanes == 1 || blocks.within.empty()) && "runs are not neighbours");
  Indices at = before;
  at.push_back(lanes == 1 ? begin
                          : k.algebra.laneVariable(low, {0, blocks.extent - 1},
                                                   k.levels.current(), lanes));
  // All rows at the first position that have index 0 in the dimensions of
  // `within` in front of `dim`: those of index 0 in that one come first.
  std::function<Values(size_t)> atFirst = [&](size_t dim) -> Values {
    if (dim == blocks.within.size())
      return first(at);
    at.push_back(0);
    Values values = atFirst(dim + 1);
    at.pop_back();
    const int64_t extent = blocks.within[dim];
    return k.forLoop(k.constantIndex(1), k.constantIndex(extent), 1,
                     {1, extent - 1}, 1,
                     /*isLane=*/false, values,
                     [&](const IndexExpression &index, ValueRange carried) {
                       return k.forSpace(
                           ArrayRef(blocks.within).drop_front(dim + 1), carried,
                           [&](const Indices &rest, ValueRange carried) {
                             Indices indices = at;
                             indices.push_back(index);
                             llvm::append_range(indices, rest);
                             return row(indices, carried);
                           });
                     });
  };
  Values values = atFirst(0);
  if (blocks.run == lanes)
    return values;
  Value second = k.create<arith::AddIOp>(low, k.constantIndex(lanes));
  return forPositions(second, lanes, values, row);
}

Values
forBlocks(LoopNest &k, const ReductionBlocks &blocks, ValueRange carried,
          llvm::function_ref<Values(ValueRange, const BlockRows &)> block) {
  return k.forSpace(
      blocks.before, carried, [&](const Indices &outer, ValueRange values) {
        return k.forRange(blocks.runs(), values,
                          [&](const IndexExpression &run, ValueRange values) {
                            return block(values,
                                         BlockRows(k, blocks, outer, run));
                          });
      });
}

/// Values next to each other, in pairs and pairs of those.
static Value collapsePairs(SmallVector<Value> values,
                           llvm::function_ref<Value(Value, Value)> join) {
  while (values.size() > 1) {
    SmallVector<Value> next;
    for (size_t i = 0; i + 1 < values.size(); i += 2)
      next.push_back(join(values[i], values[i + 1]));
    if (values.size() % 2)
      next.push_back(values.back());
    values = next;
  }
  return values.front();
}

Value collapse(LoopNest &k, ArrayRef<Value> accumulators,
               llvm::function_ref<Value(Value, Value)> join) {
  auto type = dyn_cast<VectorType>(accumulators.front().getType());
  int64_t lanes = type ? type.getNumElements() : 1;
  size_t pieces = reductionChunk / lanes;
  assert(reductionChunk % lanes == 0 && accumulators.size() % pieces == 0 &&
         "accumulators of whole chunks");
  SmallVector<Value> places;
  for (size_t piece = 0; piece < pieces; ++piece) {
    SmallVector<Value> same;
    for (size_t i = piece; i < accumulators.size(); i += pieces)
      same.push_back(accumulators[i]);
    places.push_back(collapsePairs(same, join));
  }
  for (size_t half = pieces / 2; half > 0; half /= 2)
    for (size_t i = 0; i < half; ++i)
      places[i] = join(places[i], places[i + half]);
  Value sum = places.front();
  if (!type)
    return sum;
  for (int64_t half = lanes / 2; half > 0; half /= 2) {
    auto part = [&](int64_t offset) -> Value {
      return k.create<vector::ExtractStridedSliceOp>(
          sum, ArrayRef<int64_t>{offset}, ArrayRef<int64_t>{half},
          ArrayRef<int64_t>{1});
    };
    Value low = part(0), high = part(half);
    sum = join(low, high);
  }
  return k.create<vector::ExtractOp>(sum, 0);
}

//===----------------------------------------------------------------------===//
// Combiner
//===----------------------------------------------------------------------===//

Combiner::Combiner(Region &region, ValueRange inputs, ValueRange initialValues,
                   ValueRange results)
    : inputs(inputs), initialValues(initialValues), results(results),
      region(&region), operation(commutativeOperation(region)) {}

bool areSimple(ArrayRef<stablehlo::ReduceOp> reductions) {
  return llvm::all_of(reductions, [](stablehlo::ReduceOp reduce) {
    return Combiner(reduce).isSimple();
  });
}

bool Combiner::isOrderFree() const {
  return isSimple() &&
         (!isa<FloatType>(accumulatorType(0)) ||
          isa<stablehlo::MaximumOp, stablehlo::MinimumOp>(operation));
}

Type Combiner::accumulatorType(unsigned i) const {
  Type element = elementOf(inputs[i]);
  return isSimple() ? computeType(element) : valueType(element);
}

int64_t Combiner::accumulatorBytes() const {
  int64_t bytes = 0;
  for (unsigned i = 0; i < inputs.size(); ++i)
    bytes += bytesOf(accumulatorType(i));
  return bytes;
}

/// The value that changes nothing, in the accumulator's type; for a sum of
/// floats, -0.
static Attribute neutralOf(Operation *op, Type element) {
  Type type = computeType(element);
  Builder b(op->getContext());
  if (auto floats = dyn_cast<FloatType>(type)) {
    auto infinity = [&](bool negative) {
      return b.getFloatAttr(
          type, APFloat::getInf(floats.getFloatSemantics(), negative));
    };
    if (isa<stablehlo::AddOp>(op))
      return b.getFloatAttr(type,
                            APFloat::getZero(floats.getFloatSemantics(), true));
    if (isa<stablehlo::MultiplyOp>(op))
      return b.getFloatAttr(type, 1.0);
    return infinity(/*negative=*/isa<stablehlo::MaximumOp>(op));
  }
  unsigned width = type.getIntOrFloatBitWidth();
  bool isUnsigned = element.isUnsignedInteger() || width == 1;
  auto integer = [&](const APInt &value) {
    return b.getIntegerAttr(valueType(type), value);
  };
  if (isa<stablehlo::MultiplyOp>(op))
    return integer(APInt(width, 1));
  if (isa<stablehlo::AndOp>(op))
    return integer(APInt::getAllOnes(width));
  if (isa<stablehlo::MaximumOp>(op))
    return integer(isUnsigned ? APInt::getZero(width)
                              : APInt::getSignedMinValue(width));
  if (isa<stablehlo::MinimumOp>(op))
    return integer(isUnsigned ? APInt::getAllOnes(width)
                              : APInt::getSignedMaxValue(width));
  return integer(APInt::getZero(width));
}

/// Whether the initial value is a constant that is as good as the neutral one.
bool Combiner::startsAtInitialValue() const {
  if (!isSimple())
    return true;
  DenseElementsAttr initial;
  if (!matchPattern(initialValues.front(), m_Constant(&initial)))
    return false;
  Attribute neutral = neutralOf(operation, elementOf(inputs.front()));
  if (auto number = dyn_cast<FloatAttr>(neutral)) {
    APFloat value = initial.getSplatValue<APFloat>();
    bool lost = false;
    value.convert(number.getValue().getSemantics(),
                  APFloat::rmNearestTiesToEven, &lost);
    return value == number.getValue(); // both zeros
  }
  return initial.getSplatValue<APInt>() ==
         cast<IntegerAttr>(neutral).getValue();
}

SmallVector<Value> Combiner::start(LoopNest &k) const {
  SmallVector<Value> values;
  if (!startsAtInitialValue()) {
    Attribute neutral = neutralOf(operation, elementOf(inputs.front()));
    values.push_back(k.levels.createAt<arith::ConstantOp>(
        0, k.loc, cast<TypedAttr>(neutral)));
    return values;
  }
  for (auto [i, initial] : llvm::enumerate(initialValues)) {
    Element element = k.points.at(initial, {});
    Value value = element.value;
    if (isa<FloatType>(value.getType()))
      value = k.levels.emitAt(element.level, [&](OpBuilder &b) {
        return convertFloat(b, k.loc, value, accumulatorType(i));
      });
    values.push_back(value);
  }
  return values;
}

SmallVector<Value> Combiner::combine(LoopNest &k, ArrayRef<Value> accumulators,
                                     ArrayRef<Value> elements) const {
  if (isSimple()) {
    Value element = elements.front();
    if (isa<FloatType>(getElementTypeOrSelf(element.getType())))
      element = widenOperand(k.builder, k.loc, operation, element,
                             accumulatorType(0), k.instructions);
    return {join(k, accumulators.front(), element)};
  }
  SmallVector<Value> arguments(accumulators.begin(), accumulators.end());
  arguments.append(elements.begin(), elements.end());
  return k.points.applyRegion(*region, arguments);
}

SmallVector<Value> Combiner::first(LoopNest &k,
                                   ArrayRef<Value> elements) const {
  if (!isSimple())
    return SmallVector<Value>(elements);
  Value zero = start(k).front();
  if (isa<VectorType>(elements.front().getType()))
    zero = k.points.asVector({zero, 0});
  return combine(k, {zero}, elements);
}

SmallVector<Value> Combiner::joinAll(LoopNest &k, ArrayRef<Value> before,
                                     ArrayRef<Value> behind) const {
  if (isSimple())
    return {join(k, before.front(), behind.front())};
  return combine(k, before, behind);
}

Value Combiner::join(LoopNest &k, Value a, Value b) const {
  return emitPointwise(k.builder, k.loc, operation, {a, b}, k.instructions);
}

Value Combiner::collapse(LoopNest &k, ArrayRef<Value> accumulators) const {
  return codegen::collapse(k, accumulators,
                           [&](Value a, Value b) { return join(k, a, b); });
}

SmallVector<Value> Combiner::finish(LoopNest &k,
                                    ArrayRef<Value> accumulators) const {
  SmallVector<Value> results(accumulators.begin(), accumulators.end());
  if (!isSimple())
    return results;
  Value &result = results.front();
  Type element = elementOf(inputs.front());
  if (!startsAtInitialValue()) {
    Element initial = k.points.at(initialValues.front(), {});
    Value first = initial.value;
    if (isa<FloatType>(first.getType()))
      first = convertFloat(k.builder, k.loc, first, accumulatorType(0));
    if (auto type = dyn_cast<VectorType>(result.getType()))
      first = k.create<vector::BroadcastOp>(type, first);
    result = join(k, first, result);
  }
  if (isa<FloatType>(element))
    result = convertFloat(k.builder, k.loc, result, element);
  return results;
}

void Combiner::provide(LoopNest &k, ArrayRef<Value> accumulators) const {
  unsigned level = k.levels.current();
  for (auto [result, value] : llvm::zip(results, finish(k, accumulators)))
    k.points.provide(result, [value = value, level](ArrayRef<IndexExpression>) {
      return Element{value, level};
    });
}

} // namespace tenon::codegen
