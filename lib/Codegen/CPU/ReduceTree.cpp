//===- ReduceTree.cpp - In which order a reduction combines its elements --===//
//
// See ReduceTree.h.
//
//===----------------------------------------------------------------------===//

#include "ReduceTree.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tenon::codegen {

//===----------------------------------------------------------------------===//
// Space
//===----------------------------------------------------------------------===//

ReductionSpace::ReductionSpace(stablehlo::ReduceOp reduce) {
  for (auto [dim, extent] :
       llvm::enumerate(shapeOf(reduce.getInputs().front()))) {
    if (extent == 1)
      continue;
    extents.push_back(extent);
    reduced.push_back(llvm::is_contained(reduce.getDimensions(), int64_t(dim)));
  }
}

static size_t trailingRun(ArrayRef<bool> reduced, bool value) {
  size_t run = 0;
  while (run < reduced.size() && reduced[reduced.size() - 1 - run] == value)
    ++run;
  return run;
}

static SmallVector<int64_t> pick(const ReductionSpace &space, bool reduced,
                                 size_t begin, size_t end) {
  SmallVector<int64_t> extents;
  for (size_t dim = begin; dim < end; ++dim)
    if (space.reduced[dim] == reduced)
      extents.push_back(space.extents[dim]);
  return extents;
}

SmallVector<int64_t> ReductionSpace::kept() const {
  return pick(*this, false, 0, extents.size());
}
SmallVector<int64_t> ReductionSpace::outerReduced() const {
  return pick(*this, true, 0, extents.size() - trailingRun(reduced, true));
}
SmallVector<int64_t> ReductionSpace::trailingReduced() const {
  return pick(*this, true, extents.size() - trailingRun(reduced, true),
              extents.size());
}
SmallVector<int64_t> ReductionSpace::outerKept() const {
  return pick(*this, false, 0, extents.size() - trailingRun(reduced, false));
}
SmallVector<int64_t> ReductionSpace::trailingKept() const {
  return pick(*this, false, extents.size() - trailingRun(reduced, false),
              extents.size());
}

Indices ReductionSpace::merge(ArrayRef<IndexExpression> keptIndices,
                              ArrayRef<IndexExpression> reducedIndices) const {
  Indices indices;
  for (bool isReduced : reduced) {
    ArrayRef<IndexExpression> &from = isReduced ? reducedIndices : keptIndices;
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

SmallVector<int64_t> withoutUnitExtents(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> extents;
  for (int64_t extent : shape)
    if (extent != 1)
      extents.push_back(extent);
  return extents;
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

std::optional<RowBlocks> RowBlocks::of(ArrayRef<int64_t> reduced) {
  constexpr int64_t fewest = 16;
  int64_t elements = elementCount(reduced);
  if (elements < fewest)
    return std::nullopt;
  int64_t size = 1;
  while (size * size < elements)
    size *= 2;
  RowBlocks blocks;
  while (reduced.back() <= size) {
    size /= reduced.back();
    blocks.within.insert(blocks.within.begin(), reduced.back());
    reduced = reduced.drop_back();
  }
  blocks.extent = reduced.back();
  blocks.run = size;
  blocks.before.append(reduced.begin(), reduced.end() - 1);
  return blocks;
}

KernelBuilder::Values RowBlocks::forBlocks(
    KernelBuilder &k, ValueRange carried,
    llvm::function_ref<Values(ValueRange, ForRows)> block) const {
  auto forRuns = [&](const Indices &outer, ValueRange values) {
    int64_t runs = (extent + run - 1) / run;
    return k.forRange(
        runs, values, [&](const IndexExpression &index, ValueRange values) {
          OpBuilder &b = k.builder;
          Value low = k.algebra.scalar(index * run);
          Value high =
              arith::AddIOp::create(b, k.loc, low, k.constantIndex(run));
          if (extent % run != 0)
            high =
                arith::MinUIOp::create(b, k.loc, high, k.constantIndex(extent));
          return block(values, [&](ValueRange inner, Row row) {
            return k.forLoop(
                low, high, 1, {0, extent - 1}, 1, false, inner,
                [&](const IndexExpression &position, ValueRange inner) {
                  return k.forSpace(within, inner,
                                    [&](const Indices &rest, ValueRange v) {
                                      Indices indices = outer;
                                      indices.push_back(position);
                                      llvm::append_range(indices, rest);
                                      return row(indices, v);
                                    });
                },
                double(run));
          });
        });
  };
  return k.forSpace(before, carried, forRuns);
}

//===----------------------------------------------------------------------===//
// Combiner
//===----------------------------------------------------------------------===//

static bool isCommutative(Operation *op) {
  return isa<stablehlo::AddOp, stablehlo::MultiplyOp, stablehlo::MaximumOp,
             stablehlo::MinimumOp, stablehlo::AndOp, stablehlo::OrOp,
             stablehlo::XorOp>(op);
}

Combiner::Combiner(Region &region, ValueRange inputs, ValueRange initialValues,
                   ValueRange results)
    : inputs(inputs), initialValues(initialValues), results(results),
      region(&region) {
  Block &body = region.front();
  if (body.getNumArguments() != 2 || body.getOperations().size() != 2)
    return;
  Operation *op = &body.front();
  if (!isCommutative(op) ||
      body.getTerminator()->getOperand(0) != op->getResult(0))
    return;
  Value a = body.getArgument(0), b = body.getArgument(1);
  bool inOrder = op->getOperand(0) == a && op->getOperand(1) == b;
  bool swapped = op->getOperand(0) == b && op->getOperand(1) == a;
  if (inOrder || swapped)
    operation = op;
}

Type Combiner::accumulatorType(unsigned i) const {
  Type element = elementOf(inputs[i]);
  return isSimple() ? computeType(element) : valueType(element);
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

SmallVector<Value> Combiner::start(KernelBuilder &k) const {
  SmallVector<Value> values;
  if (!startsAtInitialValue()) {
    Attribute neutral = neutralOf(operation, elementOf(inputs.front()));
    values.push_back(k.levels.emitAt(0, [&](OpBuilder &b) -> Value {
      return arith::ConstantOp::create(b, k.loc, cast<TypedAttr>(neutral));
    }));
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

SmallVector<Value> Combiner::combine(KernelBuilder &k,
                                     ArrayRef<Value> accumulators,
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

Value Combiner::join(KernelBuilder &k, Value a, Value b) const {
  return emitPointwise(k.builder, k.loc, operation, {a, b}, k.instructions);
}

Value Combiner::collapse(KernelBuilder &k, ArrayRef<Value> accumulators) const {
  SmallVector<Value> values(accumulators.begin(), accumulators.end());
  while (values.size() > 1) {
    SmallVector<Value> next;
    for (size_t i = 0; i + 1 < values.size(); i += 2)
      next.push_back(join(k, values[i], values[i + 1]));
    if (values.size() % 2)
      next.push_back(values.back());
    values = next;
  }
  Value sum = values.front();
  for (int64_t half = vectorLanes / 2; half > 0; half /= 2) {
    auto part = [&](int64_t offset) -> Value {
      return vector::ExtractStridedSliceOp::create(
          k.builder, k.loc, sum, ArrayRef<int64_t>{offset},
          ArrayRef<int64_t>{half}, ArrayRef<int64_t>{1});
    };
    Value low = part(0), high = part(half);
    sum = join(k, low, high);
  }
  return vector::ExtractOp::create(k.builder, k.loc, sum, 0);
}

SmallVector<Value> Combiner::finish(KernelBuilder &k,
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
      first = vector::BroadcastOp::create(k.builder, k.loc, type, first);
    result = join(k, first, result);
  }
  if (isa<FloatType>(element))
    result = convertFloat(k.builder, k.loc, result, element);
  return results;
}

} // namespace tenon::codegen
