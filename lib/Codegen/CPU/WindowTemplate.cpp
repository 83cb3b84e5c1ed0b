//===- WindowTemplate.cpp - reduce_window and select_and_scatter ----------===//
//
// Pooling, its gradient, and cumulative sums. A window's elements are combined
// in row-major order starting at the initial value, places in the padding
// counting as the initial value. A window that covers everything up to its own
// position along one dimension (a cumulative sum or product) is a running
// value; if it covers everything from its position on, it runs backwards from
// the end. 16-bit floats are accumulated in f32 as in other reductions.
//
// select_and_scatter: for each window in row-major order the first region picks
// an element (the earlier one stays while the region holds), then the second
// combines the source into the result there. Dimensions that the window does
// not move along are independent: they are the units, and the lanes. If the
// windows cover the operand exactly, without overlap, every window is
// independent and writes its elements once.
//
// Small windows, which is what pooling has, are written out place by place and
// stay in registers; only what is not covered by that, or has no dimension for
// the lanes, counts as the fallback.
//
//===----------------------------------------------------------------------===//

#include "Templates.h"

#include "tenon/Analysis/FloatArithmetic.h"
#include "tenon/Analysis/Windows.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::codegen {
namespace {

using Values = KernelBuilder::Values;

/// Carries values through all places of a window in row-major order, which are
/// constants if there are few.
Values forPlaces(KernelBuilder &k, ArrayRef<int64_t> sizes, Values carried,
                 llvm::function_ref<Values(const Indices &, ValueRange)> body) {
  int64_t count = elementCount(sizes);
  if (count > mostWindowPlaces)
    return k.forSpace(sizes, carried, body);
  for (int64_t place = 0; place < count; ++place)
    carried = body(k.algebra.delinearize(place, sizes), carried);
  return carried;
}

Combiner combinerOf(stablehlo::ReduceWindowOp op) {
  return Combiner(op.getBody(), op.getInputs(), op.getInitValues(),
                  op.getResults());
}

struct Running {
  size_t dim;
  bool backwards;
};

/// The dimension along which windows are prefixes or suffixes, if the others
/// are trivial and the initial value is neutral.
std::optional<Running> runningDim(stablehlo::ReduceWindowOp op) {
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

/// A space with one dimension walked by lanes: the last one if it may be, and
/// the others as units; where that leaves enough units, one is a row of places.
struct LaneSpace {
  SmallVector<int64_t> outer;
  std::optional<int64_t> row;
  int64_t lanes = 1;

  LaneSpace(ArrayRef<int64_t> shape, bool lastMayBeLanes)
      : outer(shape.begin(), shape.end()) {
    if (lastMayBeLanes && !outer.empty())
      lanes = outer.pop_back_val();
    if (!outer.empty() && units() >= maximumParts * outer.back())
      row = outer.pop_back_val();
  }
  int64_t units() const { return elementCount(outer); }

  void forEach(KernelBuilder &k,
               llvm::function_ref<void(const Indices &)> body) const {
    if (lanes == 1)
      k.algebra.lanes = 1;
    k.forUnits(units(), [&](const IndexExpression &unit) {
      Indices indices = k.algebra.delinearize(unit, outer);
      if (!row)
        return forLanes(k, indices, body);
      k.forRange(*row, [&](const IndexExpression &place) {
        indices.push_back(place);
        forLanes(k, indices, body);
        indices.pop_back();
      });
    });
  }

private:
  void forLanes(KernelBuilder &k, Indices indices,
                llvm::function_ref<void(const Indices &)> body) const {
    auto atLane = [&](const IndexExpression &lane) {
      indices.push_back(lane);
      body(indices);
      indices.pop_back();
    };
    if (lanes == 1)
      return atLane(0);
    k.forLanes(lanes, atLane);
  }
};

//===----------------------------------------------------------------------===//
// reduce_window
//===----------------------------------------------------------------------===//

class ReduceWindow {
public:
  ReduceWindow(KernelBuilder &k, stablehlo::ReduceWindowOp op)
      : k(k), op(op), windows(windowsOf(op)), combiner(combinerOf(op)) {}

  void emit() {
    if (auto running = runningDim(op))
      return emitRunning(*running);
    LaneSpace(shapeOf(op.getResult(0)), true)
        .forEach(k, [&](const Indices &indices) {
          Indices place = indices;
          place.truncate(windows.size());
          emitPoint(place);
        });
  }

private:
  void emitPoint(const Indices &output);
  void emitRunning(Running running);
  Values start() {
    Values values;
    for (Value value : combiner.start(k))
      values.push_back(k.points.asVector({value, 0}));
    return values;
  }
  void store(const Indices &output, ArrayRef<Value> results) {
    for (auto [result, value] : llvm::zip(op.getResults(), results))
      if (int i = k.source.indexOfResult(result); i >= 0)
        k.storeResult(i, output, {value, k.levels.current()});
  }

  KernelBuilder &k;
  stablehlo::ReduceWindowOp op;
  SmallVector<Window> windows;
  Combiner combiner;
};

void ReduceWindow::emitPoint(const Indices &output) {
  ArrayRef<int64_t> shape = shapeOf(op.getInputs().front());
  bool flushes = k.instructions.subnormals == Subnormals::flush &&
                 elementCount(sizesOf(windows)) == 1 && combiner.isSimple() &&
                 hasFlushedSubnormals(elementOf(op.getInputs().front()));
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

void ReduceWindow::emitRunning(Running running) {
  // Everything but the running dimension; lanes along the last of the rest.
  SmallVector<int64_t> rest = llvm::to_vector(shapeOf(op.getResult(0)));
  int64_t length = rest[running.dim];
  rest.erase(rest.begin() + running.dim);
  bool lastIsRunning = running.dim == rest.size();
  LaneSpace(rest, !lastIsRunning).forEach(k, [&](Indices indices) {
    indices.truncate(rest.size());
    k.forRange(
        length, start(), [&](const IndexExpression &step, ValueRange carried) {
          IndexExpression position =
              running.backwards ? IndexExpression(length - 1) - step : step;
          Indices place = indices;
          place.insert(place.begin() + running.dim, position);
          SmallVector<Value> elements;
          for (Value tensor : op.getInputs())
            elements.push_back(k.points.asVector(k.points.at(tensor, place)));
          SmallVector<Value> sums =
              combiner.combine(k, SmallVector<Value>(carried), elements);
          store(place, combiner.finish(k, sums));
          return sums;
        });
  });
}

//===----------------------------------------------------------------------===//
// select_and_scatter
//===----------------------------------------------------------------------===//

/// The windows of a select_and_scatter and what is independent of what.
struct SelectWindows {
  explicit SelectWindows(stablehlo::SelectAndScatterOp op)
      : windows(windowsOf(op)), shape(shapeOf(op.getOperand())),
        sourceShape(shapeOf(op.getSource())) {
    for (auto [dim, window] : llvm::enumerate(windows))
      (window.isTrivial() ? freeDims : movedDims).push_back(dim);
  }

  SmallVector<Window> windows;
  ArrayRef<int64_t> shape, sourceShape;
  SmallVector<size_t> freeDims, movedDims;

  /// Whether every element of the operand is in exactly one window.
  bool tile() const {
    for (auto [dim, window] : llvm::enumerate(windows))
      if (window.low || window.high || window.size != window.stride ||
          sourceShape[dim] * window.stride != shape[dim])
        return false;
    return elementCount(sizesOf(windows)) <= mostWindowPlaces;
  }
  /// The windows if they tile, else the dimensions they do not move along.
  LaneSpace space() const {
    bool lastIsFree = !freeDims.empty() && freeDims.back() + 1 == shape.size();
    if (tile())
      return LaneSpace(sourceShape, lastIsFree);
    SmallVector<int64_t> free;
    for (size_t dim : freeDims)
      free.push_back(shape[dim]);
    return LaneSpace(free, lastIsFree);
  }
};

class SelectAndScatter : SelectWindows {
public:
  SelectAndScatter(KernelBuilder &k, stablehlo::SelectAndScatterOp op)
      : SelectWindows(op), k(k), op(op) {}

  void emit();

private:
  Indices merge(ArrayRef<IndexExpression> moved) {
    Indices all(windows.size());
    for (auto [dim, index] : llvm::zip(movedDims, moved))
      all[dim] = index;
    for (auto [dim, index] : llvm::zip(freeDims, freeIndices))
      all[dim] = index;
    return all;
  }
  SmallVector<int64_t> extents(ArrayRef<int64_t> of) {
    SmallVector<int64_t> picked;
    for (size_t dim : movedDims)
      picked.push_back(of[dim]);
    return picked;
  }
  /// The operand's index at an offset in a window, and whether it exists.
  Indices placeIn(ArrayRef<IndexExpression> source,
                  ArrayRef<IndexExpression> offset, PointEmitter::Guard &guard);
  /// The position of the picked element in the window at `source`, as an i32
  /// per lane.
  Value pick(ArrayRef<IndexExpression> source);
  /// Combines the source into the picked element; `alone` if no other window
  /// does so with the window's elements.
  void emitWindow(ArrayRef<IndexExpression> source, bool alone);
  void emitAll();
  SmallVector<int64_t> sizes() const {
    SmallVector<int64_t> sizes;
    for (size_t dim : movedDims)
      sizes.push_back(windows[dim].size);
    return sizes;
  }
  Value positionOf(const Indices &offset) {
    IndexExpression position = k.algebra.linearize(offset, sizes());
    Value index = k.algebra.scalar(position);
    Value small = k.create<arith::IndexCastOp>(k.builder.getI32Type(), index);
    return k.points.asVector({small, k.levels.current()});
  }

  KernelBuilder &k;
  stablehlo::SelectAndScatterOp op;
  Indices freeIndices;
};

Indices SelectAndScatter::placeIn(ArrayRef<IndexExpression> source,
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

Value SelectAndScatter::pick(ArrayRef<IndexExpression> source) {
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

void SelectAndScatter::emitWindow(ArrayRef<IndexExpression> source,
                                  bool alone) {
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
      Value combined =
          k.points.applyRegion(op.getScatter(), {old, k.points.asVector(moved)})
              .front();
      Value here = k.create<arith::CmpIOp>(arith::CmpIPredicate::eq, picked,
                                           positionOf(offset));
      Value value = k.create<arith::SelectOp>(here, combined, old);
      k.points.store(k.results.front(), position, {value, k.levels.current()});
    });
    return {};
  };
  forPlaces(k, sizes(), {}, update);
}

void SelectAndScatter::emitAll() {
  k.forSpace(extents(shape), [&](const Indices &moved) {
    k.storeResult(0, merge(moved), k.points.at(op.getInitValue(), {}));
  });
  k.forSpace(extents(sourceShape), [&](const Indices &source) {
    emitWindow(source, /*alone=*/false);
  });
}

void SelectAndScatter::emit() {
  space().forEach(k, [&](const Indices &indices) {
    if (!tile()) {
      freeIndices = indices;
      freeIndices.truncate(freeDims.size());
      return emitAll();
    }
    Indices moved;
    freeIndices.clear();
    for (size_t dim : freeDims)
      freeIndices.push_back(indices[dim]);
    for (size_t dim : movedDims)
      moved.push_back(indices[dim]);
    emitWindow(moved, /*alone=*/true);
  });
}

//===----------------------------------------------------------------------===//
// The templates
//===----------------------------------------------------------------------===//

Demand demandOfReduceWindow(const KernelSource &source) {
  auto op = cast<stablehlo::ReduceWindowOp>(source.root);
  SmallVector<int64_t> shape = llvm::to_vector(shapeOf(op.getResult(0)));
  if (auto running = runningDim(op)) {
    bool last = running->dim + 1 == shape.size();
    shape.erase(shape.begin() + running->dim);
    return {LaneSpace(shape, !last).units(), 0};
  }
  return {LaneSpace(shape, true).units(), 0};
}

void emitReduceWindow(KernelBuilder &k, unsigned) {
  ReduceWindow(k, cast<stablehlo::ReduceWindowOp>(k.source.root)).emit();
}

Demand demandOfSelectAndScatter(const KernelSource &source) {
  auto op = cast<stablehlo::SelectAndScatterOp>(source.root);
  return {SelectWindows(op).space().units(), 0};
}

void emitSelectAndScatter(KernelBuilder &k, unsigned) {
  SelectAndScatter(k, cast<stablehlo::SelectAndScatterOp>(k.source.root))
      .emit();
}

} // namespace

extern const Template reduceWindowTemplate, selectAndScatterTemplate;
const Template reduceWindowTemplate = {.accepts =
                                           acceptsOp<stablehlo::ReduceWindowOp>,
                                       .demand = demandOfReduceWindow,
                                       .emit = emitReduceWindow};
const Template selectAndScatterTemplate = {
    .accepts = acceptsOp<stablehlo::SelectAndScatterOp>,
    .demand = demandOfSelectAndScatter,
    .emit = emitSelectAndScatter};

} // namespace tenon::codegen
