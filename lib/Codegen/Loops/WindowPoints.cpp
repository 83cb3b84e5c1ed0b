//===- WindowPoints.cpp - One window of reduce_window and its kin ---------===//
//
// See WindowPoints.h. Small windows, which is what pooling has, are written out
// place by place and stay in registers.
//
//===----------------------------------------------------------------------===//

#include "tenon/Codegen/Loops/WindowPoints.h"

#include "tenon/Analysis/FloatArithmetic.h"
#include "tenon/Analysis/Shapes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::codegen {

using Values = LoopNest::Values;

/// Carries values through all places of a window in row-major order, which are
/// constants if there are few.
static Values
forPlaces(LoopNest &k, ArrayRef<int64_t> sizes, Values carried,
          llvm::function_ref<Values(const Indices &, ValueRange)> body) {
  int64_t count = elementCount(sizes);
  if (count > mostWindowPlaces)
    return k.forSpace(sizes, carried, body);
  for (int64_t place = 0; place < count; ++place)
    carried = body(k.algebra.delinearize(place, sizes), carried);
  return carried;
}

static Combiner combinerOf(stablehlo::ReduceWindowOp op) {
  return Combiner(op.getBody(), op.getInputs(), op.getInitValues(),
                  op.getResults());
}

//===----------------------------------------------------------------------===//
// reduce_window
//===----------------------------------------------------------------------===//

WindowSums::WindowSums(KernelNest &k, stablehlo::ReduceWindowOp op)
    : k(k), op(op), windows(windowsOf(op)), combiner(combinerOf(op)) {}

std::optional<WindowSums::Running>
WindowSums::runningDim(stablehlo::ReduceWindowOp op) {
  Combiner combiner = combinerOf(op);
  if (!combiner.isSimple() || !combiner.startsAtInitialValue())
    return std::nullopt;
  std::optional<Running> running;
  ArrayRef<int64_t> shape = shapeOf(op.getInputs().front());
  for (auto [dim, window] : llvm::enumerate(windowsOf(op))) {
    if (window.isTrivial())
      continue;
    bool whole = window.size == shape[dim] && window.stride == 1 &&
                 window.baseDilation == 1 && window.windowDilation == 1;
    bool forwards = window.low == window.size - 1 && window.high == 0;
    bool backwards = window.high == window.size - 1 && window.low == 0;
    if (running || !whole || !(forwards || backwards))
      return std::nullopt;
    running = Running{dim, !forwards};
  }
  return running;
}

Values WindowSums::start() {
  Values values;
  for (Value value : combiner.start(k))
    values.push_back(k.points.asVector({value, 0}));
  return values;
}

void WindowSums::store(const Indices &output, ArrayRef<Value> results) {
  for (auto [result, value] : llvm::zip(op.getResults(), results))
    if (int i = k.source.indexOfResult(result); i >= 0)
      k.storeResult(i, output, {value, k.levels.current()});
}

void WindowSums::emitPoint(const Indices &output) {
  ArrayRef<int64_t> shape = shapeOf(op.getInputs().front());
  Type element = elementOf(op.getInputs().front());
  bool flushes = k.instructions.flushes(element) &&
                 elementCount(sizesOf(windows)) == 1 && combiner.isSimple() &&
                 hasFlushedSubnormals(element);
  Values sums = forPlaces(
      k, sizesOf(windows), start(),
      [&](const Indices &offset, ValueRange carried) {
        PointEmitter::Guard guard;
        Indices input;
        for (auto [dim, window] : llvm::enumerate(windows)) {
          IndexExpression place = output[dim] * window.stride +
                                  offset[dim] * window.windowDilation -
                                  window.low;
          // Nothing lies inside a dimension of no extent.
          int64_t dilated = (shape[dim] - 1) * window.baseDilation + 1;
          k.points.require(guard, place, std::max<int64_t>(dilated, 0));
          if (window.baseDilation > 1)
            k.points.requireZero(guard,
                                 k.algebra.mod(place, window.baseDilation));
          input.push_back(k.algebra.floorDiv(place, window.baseDilation));
        }
        SmallVector<Value> elements;
        for (auto [tensor, initial] :
             llvm::zip(op.getInputs(), op.getInitValues()))
          elements.push_back(k.points.asVector(
              k.points.guarded(guard, tensor, input, [&, initial = initial] {
                return k.points.at(initial, {});
              })));
        // A single place may be all there is to combine.
        if (flushes)
          elements.front() =
              flushSubnormals(k.builder, k.loc, elements.front());
        return combiner.combine(k, SmallVector<Value>(carried), elements);
      });
  store(output, combiner.finish(k, sums));
}

void WindowSums::emitRunning(Running running, const Indices &rest) {
  const int64_t length = shapeOf(op.getResult(0))[running.dim];
  k.forRange(
      length, start(), [&](const IndexExpression &step, ValueRange carried) {
        IndexExpression position =
            running.backwards ? IndexExpression(length - 1) - step : step;
        Indices place = rest;
        place.insert(place.begin() + running.dim, position);
        SmallVector<Value> elements;
        for (Value tensor : op.getInputs())
          elements.push_back(k.points.asVector(k.points.at(tensor, place)));
        SmallVector<Value> sums =
            combiner.combine(k, SmallVector<Value>(carried), elements);
        store(place, combiner.finish(k, sums));
        return sums;
      });
}

//===----------------------------------------------------------------------===//
// select_and_scatter
//===----------------------------------------------------------------------===//

SelectWindows::SelectWindows(stablehlo::SelectAndScatterOp op)
    : windows(windowsOf(op)), shape(shapeOf(op.getOperand())),
      sourceShape(shapeOf(op.getSource())) {
  for (auto [dim, window] : llvm::enumerate(windows))
    (window.isTrivial() ? freeDims : movedDims).push_back(dim);
}

bool SelectWindows::tile() const {
  for (auto [dim, window] : llvm::enumerate(windows))
    if (window.low || window.high || window.size != window.stride ||
        sourceShape[dim] * window.stride != shape[dim])
      return false;
  return elementCount(sizesOf(windows)) <= mostWindowPlaces;
}

Indices WindowPicks::merge(ArrayRef<IndexExpression> moved) {
  Indices all(windows.size());
  for (auto [dim, index] : llvm::zip(movedDims, moved))
    all[dim] = index;
  for (auto [dim, index] : llvm::zip(freeDims, freeIndices))
    all[dim] = index;
  return all;
}

SmallVector<int64_t> WindowPicks::extents(ArrayRef<int64_t> of) const {
  SmallVector<int64_t> picked;
  for (size_t dim : movedDims)
    picked.push_back(of[dim]);
  return picked;
}

SmallVector<int64_t> WindowPicks::sizes() const {
  SmallVector<int64_t> sizes;
  for (size_t dim : movedDims)
    sizes.push_back(windows[dim].size);
  return sizes;
}

Value WindowPicks::positionOf(const Indices &offset) {
  IndexExpression position = k.algebra.linearize(offset, sizes());
  Value index = k.algebra.scalar(position);
  Value small = k.create<arith::IndexCastOp>(k.builder.getI32Type(), index);
  return k.points.asVector({small, k.levels.current()});
}

Indices WindowPicks::placeIn(ArrayRef<IndexExpression> source,
                             ArrayRef<IndexExpression> offset,
                             PointEmitter::Guard &guard) {
  Indices moved;
  for (auto [dim, from, by] : llvm::zip(movedDims, source, offset)) {
    IndexExpression place = from * windows[dim].stride + by - windows[dim].low;
    k.points.require(guard, place, shape[dim]);
    moved.push_back(k.algebra.clamped(place, {0, shape[dim] - 1}));
  }
  return merge(moved);
}

Value WindowPicks::pick(ArrayRef<IndexExpression> source) {
  OpBuilder &b = k.builder;
  Location loc = k.loc;
  Value first = k.points.asVector(k.points.at(op.getInitValue(), {}));
  Value nowhere =
      numberOfType(b, loc, withLanesOf(b.getI32Type(), first.getType()), -1);
  // Carried: the best element, its position in the window, whether there is
  // one.
  Value none = k.create<arith::ConstantOp>(b.getBoolAttr(false));
  return forPlaces(
      k, sizes(), {first, nowhere, none},
      [&](const Indices &offset, ValueRange carried) -> Values {
        PointEmitter::Guard guard;
        Indices place = placeIn(source, offset, guard);
        if (guard.never)
          return Values(carried);
        Value element = k.points.asVector(k.points.at(op.getOperand(), place));
        Value position = positionOf(offset);
        Value keeps =
            k.points.applyRegion(op.getSelect(), {carried[0], element}).front();
        // Taken if it exists, and nothing was there or the region fails.
        auto like = [&](Value flag) -> Value {
          return k.points.asVector({flag, k.levels.current()});
        };
        Value yes = k.create<arith::ConstantOp>(b.getBoolAttr(true));
        Value had = k.create<arith::AndIOp>(like(carried[2]), keeps);
        Value take = k.create<arith::XOrIOp>(had, like(yes));
        Value exists = guard.uniform ? guard.uniform : yes;
        take = k.create<arith::AndIOp>(take, like(exists));
        Value any = k.create<arith::OrIOp>(carried[2], exists);
        return {k.create<arith::SelectOp>(take, element, carried[0]),
                k.create<arith::SelectOp>(take, position, carried[1]), any};
      })[1];
}

/// An element of the source combined into `old`.
Value WindowPicks::combined(Value old, Element moved) {
  return k.points.applyRegion(op.getScatter(), {old, k.points.asVector(moved)})
      .front();
}

void WindowPicks::emitWindow(ArrayRef<IndexExpression> source, bool alone) {
  Value picked = pick(source);
  Element moved = k.points.at(op.getSource(), merge(source));
  auto update = [&](const Indices &offset, ValueRange) -> Values {
    PointEmitter::Guard guard;
    Indices place = placeIn(source, offset, guard);
    k.where(guard, [&] {
      IndexExpression position = k.algebra.linearize(place, shape);
      Value old =
          k.points.asVector(alone ? k.points.at(op.getInitValue(), {})
                                  : k.points.load(k.results.front(), position));
      Value next = combined(old, moved);
      Value here = k.create<arith::CmpIOp>(arith::CmpIPredicate::eq, picked,
                                           positionOf(offset));
      Value value = k.create<arith::SelectOp>(here, next, old);
      k.points.store(k.results.front(), position, {value, k.levels.current()});
    });
    return {};
  };
  forPlaces(k, sizes(), {}, update);
}

void WindowPicks::emitAll(const Indices &free) {
  freeIndices = free;
  k.forSpace(extents(shape), [&](const Indices &moved) {
    k.storeResult(0, merge(moved), k.points.at(op.getInitValue(), {}));
  });
  k.forSpace(extents(sourceShape), [&](const Indices &source) {
    emitWindow(source, /*alone=*/false);
  });
}

/// The indices in the dimensions that windows move along; keeps the others.
void WindowPicks::splitFree(const Indices &indices, Indices &moved) {
  freeIndices.clear();
  for (size_t dim : freeDims)
    freeIndices.push_back(indices[dim]);
  for (size_t dim : movedDims)
    moved.push_back(indices[dim]);
}

void WindowPicks::emitWindow(const Indices &source) {
  Indices moved;
  splitFree(source, moved);
  emitWindow(moved, /*alone=*/true);
}

void WindowPicks::emitElement(const Indices &place) {
  Indices moved;
  splitFree(place, moved);
  // Along a dimension, the last window that an element at m may be in is number
  // (m + low) / stride, and as many lie in front of it as strides in a window.
  SmallVector<int64_t> candidates;
  Indices last;
  for (auto [dim, index] : llvm::zip(movedDims, moved)) {
    const Window &window = windows[dim];
    candidates.push_back(llvm::divideCeil(window.size, window.stride));
    last.push_back(k.algebra.floorDiv(index + window.low, window.stride));
  }
  Value start = k.points.asVector(k.points.at(op.getInitValue(), {}));
  Values sums = forPlaces(
      k, candidates, {start},
      [&](const Indices &candidate, ValueRange carried) -> Values {
        PointEmitter::Guard guard;
        Indices source, offset;
        for (auto [dim, end, count, back, index] :
             llvm::zip(movedDims, last, candidates, candidate, moved)) {
          IndexExpression number = end - (count - 1) + back;
          k.points.require(guard, number, sourceShape[dim]);
          source.push_back(
              k.algebra.clamped(number, {0, sourceShape[dim] - 1}));
          // Where the window does not exist, the number is of no use.
          offset.push_back(index + windows[dim].low -
                           number * windows[dim].stride);
          k.points.require(guard, offset.back(), windows[dim].size);
        }
        if (guard.never)
          return Values(carried);
        Value here = k.create<arith::CmpIOp>(arith::CmpIPredicate::eq,
                                             pick(source), positionOf(offset));
        if (guard.uniform)
          here = k.create<arith::AndIOp>(
              here, k.points.asVector({guard.uniform, k.levels.current()}));
        Value next = combined(carried.front(),
                              k.points.at(op.getSource(), merge(source)));
        return {k.create<arith::SelectOp>(here, next, carried.front())};
      });
  k.storeResult(0, place, {sums.front(), k.levels.current()});
}

} // namespace tenon::codegen
