//===- ScatterSchedule.cpp - Scatters by what they write ------------------===//
//
// No two threads write one element, so updates of one place are combined in
// their order, without atomic operations.
//
// With few scatter indices, a thread has a few neighbouring elements of the
// result and looks at every window that may meet them (those of its batch
// element, where the scatter has batching dimensions). Its elements stay in
// registers in between.
//
// With many scatter indices whose windows are whole rows (the gradient of an
// embedding), a block of threads has a few rows. Its threads look at the
// indices side by side and put those that meet the rows, in their order, into a
// list in shared memory: within a warp by a ballot, and behind those of the
// warps in front of it. Then groups of threads have a row each, walk the list,
// and combine the updates of their row in registers.
//
//===----------------------------------------------------------------------===//

#include "GpuSchedule.h"

#include "tenon/Analysis/Shapes.h"
#include "tenon/Codegen/Loops/ScatterPoints.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tenon::codegen {
namespace {

constexpr int64_t threadsPerBlock = 256;
constexpr int64_t warps = threadsPerBlock / threadsOfWarp;
/// Scatter indices that each thread of the first form looks at.
constexpr int64_t fewIndices = 16;
/// Elements of the list, and indices that a thread looks at in a round.
constexpr int64_t mostListed = 4096, mostPerRound = 8;
/// Vectors of a row that a thread has.
constexpr int64_t mostVectors = 4;
/// Blocks that keep a GPU busy, and so many that looking at all indices in
/// each of them counts.
constexpr int64_t manyBlocks = 512, mostBlocks = 4096;

stablehlo::ScatterOp scatterOf(const KernelSource &source) {
  return cast<stablehlo::ScatterOp>(source.root);
}

/// Whether neighbours along the last dimension of the operand are neighbours of
/// one window, which fills that dimension.
bool hasLanes(const ScatterShape &s) {
  if (s.windowDims.empty() || s.windowDims.back() + 1 != s.shape.size() ||
      llvm::is_contained(s.numbers.getScatterDimsToOperandDims(),
                         int64_t(s.shape.size()) - 1))
    return false;
  return s.isWindowDim(s.updateShape.size() - 1) &&
         s.updateShape.back() == s.shape.back();
}

/// Scatter indices whose windows may meet one element: for each dimension of a
/// scatter index its extent, or 1 if the element's batch says which it is.
SmallVector<int64_t> freeScatterShape(const ScatterShape &s) {
  SmallVector<int64_t> free = s.scatterShape();
  for (int64_t dim : s.numbers.getScatterIndicesBatchingDims())
    free[s.scatterDimOf(dim)] = 1;
  return free;
}

/// Extents of the operand's dimensions that are not in windows.
SmallVector<int64_t> placedShape(const ScatterShape &s) {
  SmallVector<int64_t> placed;
  for (auto [dim, extent] : llvm::enumerate(s.shape))
    if (!llvm::is_contained(s.windowDims, dim))
      placed.push_back(extent);
  return placed;
}

/// Whether windows are whole rows.
bool hasRows(const ScatterShape &s) {
  if (!s.numbers.getInputBatchingDims().empty())
    return false;
  SmallVector<int64_t> window = s.windowShape();
  return llvm::all_of(llvm::zip(s.windowDims, window), [&](auto pair) {
    auto [dim, extent] = pair;
    return extent == s.shape[dim] &&
           !llvm::is_contained(s.numbers.getScatterDimsToOperandDims(),
                               int64_t(dim));
  });
}

int64_t vectorOf(const KernelSource &source, const ScatterShape &s) {
  int64_t lanes = longestVector(source, elementCount(s.shape));
  while (!s.shape.empty() && s.shape.back() % lanes)
    lanes /= 2;
  return s.shape.empty() ? 1 : lanes;
}

/// What both forms share.
class ScatterBuilder : public GpuKernelBuilder, public ScatterShape {
public:
  ScatterBuilder(const KernelSource &source, func::FuncOp function,
                 const LaunchShape &launch, const GpuInstructions &instructions)
      : GpuKernelBuilder(source, function, launch, instructions),
        ScatterShape(scatterOf(source)) {}

  /// Sums of 16-bit floats are rounded after each term, as the operation says,
  /// but held in f32.
  Value held(Value value) {
    return isa<FloatType>(getElementTypeOrSelf(value.getType()))
               ? convertFloat(
                     builder, loc, value,
                     computeType(getElementTypeOrSelf(value.getType())))
               : value;
  }
  Value released(Value value, unsigned result) {
    Type element = results[result].elementType;
    return isa<FloatType>(element) ? convertFloat(builder, loc, value, element)
                                   : value;
  }

  /// Elements of the results, held, with those of one update combined into
  /// them.
  Values combined(ValueRange old, const Indices &update) {
    SmallVector<Value> elements, updates;
    for (auto [i, value] : llvm::enumerate(old))
      elements.push_back(released(value, i));
    for (Value tensor : op.getUpdates())
      updates.push_back(points.asVector(points.at(tensor, update)));
    Values next;
    for (Value value : combine(*this, elements, updates))
      next.push_back(held(value));
    return next;
  }
};

//===----------------------------------------------------------------------===//
// Few scatter indices
//===----------------------------------------------------------------------===//

class ElementScatterKernel : ScatterBuilder {
public:
  ElementScatterKernel(const KernelSource &source, func::FuncOp function,
                       const LaunchShape &launch,
                       const GpuInstructions &instructions)
      : ScatterBuilder(source, function, launch, instructions),
        vector(vectorOf(source, *this)), alongWindow(hasLanes(*this)) {
    ifBelow(block * threadsPerBlock + thread, elementCount(shape) / vector,
            [&](const IndexExpression &own) { emitVector(own * vector); });
  }

private:
  void emitVector(const IndexExpression &first) {
    algebra.lanes = vector;
    Indices all =
        algebra.delinearize(vectorAt(first, elementCount(shape)), shape);
    Values elements; // by place, then by result
    SmallVector<Indices, 4> places;
    SmallVector<Value> read;
    for (Value input : op.getInputs())
      read.push_back(points.asVector(points.at(input, all)));
    if (alongWindow) {
      places.push_back(all);
      for (Value value : read)
        elements.push_back(held(value));
    } else {
      algebra.lanes = 1;
      for (int64_t i = 0; i < vector; ++i) {
        places.push_back(algebra.delinearize(first + i, shape));
        for (Value value : read)
          elements.push_back(
              held(vector == 1 ? value
                               : Value(create<vector::ExtractOp>(value, i))));
      }
    }
    const size_t count = results.size();
    elements = forSpace(
        freeScatterShape(*this), elements,
        [&](const Indices &free, ValueRange carried) {
          Values next;
          for (auto [i, place] : llvm::enumerate(places))
            llvm::append_range(
                next, meet(place, free, carried.slice(i * count, count)));
          return next;
        });
    algebra.lanes = vector;
    for (unsigned result = 0; result < count; ++result) {
      SmallVector<Value> own;
      for (size_t i = 0; i < places.size(); ++i)
        own.push_back(released(elements[i * count + result], result));
      Value value = own.front();
      if (own.size() > 1)
        value = create<vector::FromElementsOp>(
            VectorType::get({vector}, value.getType()), own);
      storeResult(result, all, {value, levels.current()});
    }
    algebra.lanes = 1;
  }

  /// Elements at a place, with the update of a window combined into them if it
  /// meets the place.
  Values meet(const Indices &place, Indices scatterIndex, ValueRange old) {
    for (auto [inputDim, indexDim] :
         llvm::zip(numbers.getInputBatchingDims(),
                   numbers.getScatterIndicesBatchingDims()))
      scatterIndex[scatterDimOf(indexDim)] = place[inputDim];
    Indices start = startOf(*this, scatterIndex), window;
    PointEmitter::Guard guard;
    SmallVector<int64_t> extents = windowShape();
    for (size_t dim = 0, next = 0; dim < shape.size(); ++dim) {
      IndexExpression inWindow = place[dim] - start[dim];
      if (!llvm::is_contained(windowDims, dim)) {
        points.requireZero(guard, inWindow);
        continue;
      }
      const int64_t extent = extents[next++];
      points.require(guard, inWindow, extent);
      window.push_back(algebra.laneForm(inWindow).isUniform()
                           ? algebra.clamped(inWindow, {0, extent - 1})
                           : inWindow);
    }
    if (guard.never)
      return Values(old);
    Values next = combined(old, updateAt(scatterIndex, window));
    if (guard.uniform)
      for (auto [value, before] : llvm::zip(next, old))
        value = create<arith::SelectOp>(guard.uniform, value, before);
    return next;
  }

  const int64_t vector;
  /// Whether the vector is of one window; else its elements are computed one by
  /// one.
  const bool alongWindow;
};

//===----------------------------------------------------------------------===//
// Many scatter indices
//===----------------------------------------------------------------------===//

/// How rows are dealt out.
struct RowScatterTiling {
  int64_t rows, columns, indices;
  int64_t lanes = 1;
  int64_t group;       // threads that have a row
  int64_t vectors;     // of a row, that a thread of it has
  int64_t columnTiles; // blocks for one row
  int64_t rounds;      // rows that a group has, one after the other
  int64_t perRound;    // indices that a thread looks at at once

  RowScatterTiling(const KernelSource &source, const ScatterShape &s)
      : rows(elementCount(placedShape(s))),
        columns(elementCount(s.windowShape())),
        indices(elementCount(s.scatterShape())) {
    if (hasLanes(s))
      lanes = vectorOf(source, s);
    const int64_t whole = columns / lanes;
    // Few rows have a block each. Of many, a group has as few threads as may
    // be: the fewer blocks there are, the fewer look at all indices.
    group = threadsPerBlock;
    auto mayHalve = [&] {
      return group > 1 && llvm::divideCeil(whole, group / 2) <= mostVectors &&
             (group > threadsOfWarp || whole <= group / 2) &&
             rows / (threadsPerBlock / (group / 2)) >= manyBlocks;
    };
    while (mayHalve())
      group /= 2;
    vectors = std::min<int64_t>(llvm::divideCeil(whole, group), mostVectors);
    columnTiles = llvm::divideCeil(whole, group * vectors);
    rounds = std::max<int64_t>(
        llvm::divideCeil(rows * columnTiles, rowsAtOnce() * mostBlocks), 1);
    perRound = std::min<int64_t>(llvm::divideCeil(indices, threadsPerBlock),
                                 mostPerRound);
  }

  int64_t rowsAtOnce() const { return threadsPerBlock / group; }
  int64_t rowsOfBlock() const { return rowsAtOnce() * rounds; }
  int64_t indicesAtOnce() const { return threadsPerBlock * perRound; }
  int64_t blocks() const {
    return llvm::divideCeil(rows, rowsOfBlock()) * columnTiles;
  }
};

class RowScatterKernel : ScatterBuilder {
public:
  RowScatterKernel(const KernelSource &source, func::FuncOp function,
                   const LaunchShape &launch,
                   const GpuInstructions &instructions)
      : ScatterBuilder(source, function, launch, instructions),
        tiling(source, *this), placed(placedShape(*this)) {
    emit();
  }

private:
  void emit() {
    Type i32 = builder.getI32Type();
    listedRow = sharedMemory(mostListed, i32);
    listedIndex = sharedMemory(mostListed, i32);
    ofWarp = sharedMemory(warps, i32);
    firstRow =
        algebra.floorDiv(block, tiling.columnTiles) * tiling.rowsOfBlock();
    firstVector = algebra.mod(block, tiling.columnTiles) *
                  (tiling.group * tiling.vectors);
    rowOfThread = algebra.floorDiv(thread, tiling.group);
    vectorOfThread = algebra.mod(thread, tiling.group);
    const int64_t rounds =
        llvm::divideCeil(tiling.indices, tiling.indicesAtOnce());
    // Updates are combined when the next round might overflow the list, which
    // it does for no block as a rule, and at the end.
    const int64_t room = mostListed - tiling.indicesAtOnce();
    const bool mayOverflow = rounds * tiling.indicesAtOnce() > mostListed;
    Value isTrue = create<arith::ConstantOp>(builder.getBoolAttr(true));
    Values state = forRange(
        rounds, {constantIndex(0), isTrue},
        [&](const IndexExpression &round, ValueRange carried) -> Values {
          Value length = list(round, carried[0]), isFirst = carried[1];
          if (!mayOverflow)
            return {length, isFirst};
          Value isFull = create<arith::CmpIOp>(arith::CmpIPredicate::ugt,
                                               length, constantIndex(room));
          ifThen(isFull, [&] { combineListed(length, isFirst); });
          Value isFalse = create<arith::ConstantOp>(builder.getBoolAttr(false));
          return {create<arith::SelectOp>(isFull, constantIndex(0), length),
                  create<arith::SelectOp>(isFull, isFalse, isFirst)};
        });
    combineListed(state[0], mayOverflow ? state[1] : isTrue);
  }

  /// Calls the body for all vectors of this thread, with the number of the row
  /// among the block's.
  void forVectors(
      llvm::function_ref<void(const IndexExpression &row, const Indices &place,
                              const Indices &window)>
          body) {
    forRange(tiling.rounds, [&](const IndexExpression &round) {
      IndexExpression inBlock = round * tiling.rowsAtOnce() + rowOfThread;
      ifBelow(firstRow + inBlock, tiling.rows, [&](const IndexExpression &row) {
        for (int64_t i = 0; i < tiling.vectors; ++i)
          ifBelow(firstVector + vectorOfThread + i * tiling.group,
                  tiling.columns / tiling.lanes,
                  [&](const IndexExpression &own) {
                    algebra.lanes = tiling.lanes;
                    Indices window = algebra.delinearize(
                        vectorAt(own * tiling.lanes, tiling.columns),
                        windowShape());
                    body(inBlock, placeOf(row, window), window);
                    algebra.lanes = 1;
                  });
      });
    });
  }

  Indices placeOf(const IndexExpression &row, const Indices &window) {
    Indices outer = algebra.delinearize(row, placed), place;
    size_t nextOuter = 0, nextWindow = 0;
    for (size_t dim = 0; dim < shape.size(); ++dim)
      place.push_back(llvm::is_contained(windowDims, dim) ? window[nextWindow++]
                                                          : outer[nextOuter++]);
    return place;
  }

  /// The elements that updates are combined into: at first the operand's, and
  /// then what is in the results.
  Values elementsBefore(const Indices &place, Value isFirst) {
    const IndexExpression position = algebra.linearize(place, shape);
    auto stored = [&](unsigned i) {
      return held(points.asVector(points.load(results[i], position)));
    };
    Values before;
    for (unsigned i = 0; i < results.size(); ++i) {
      if (source.inPlace[i] >= 0) {
        before.push_back(stored(i));
        continue;
      }
      Value first = held(points.asVector(points.at(op.getInputs()[i], place)));
      Value isLater = create<arith::XOrIOp>(
          isFirst, create<arith::ConstantOp>(builder.getBoolAttr(true)));
      before.push_back(ifThen(isLater, {first}, [&]() -> Values {
                         return {stored(i)};
                       }).front());
    }
    return before;
  }

  Value number(int64_t value) {
    return create<arith::ConstantOp>(builder.getI32IntegerAttr(int32_t(value)));
  }
  Value add(Value a, Value b) { return create<arith::AddIOp>(a, b); }
  Value asIndex(Value small) {
    return create<arith::IndexCastUIOp>(builder.getIndexType(), small);
  }
  Value asNumber(const IndexExpression &index) {
    return create<arith::IndexCastOp>(builder.getI32Type(),
                                      algebra.scalar(index));
  }

  /// Appends the scatter indices of a round that meet the block's rows to the
  /// list, which has `length` elements; returns how many it has then.
  Value list(const IndexExpression &round, Value length) {
    IndexExpression warp = algebra.floorDiv(thread, threadsOfWarp);
    IndexExpression lane = algebra.mod(thread, threadsOfWarp);
    Value below = create<arith::SubIOp>(
        create<arith::ShLIOp>(number(1), asNumber(lane)).getResult(),
        number(1));
    struct Found {
      IndexExpression index, row;
      Value meets, position; // in those of the warp
    };
    SmallVector<Found, 8> all;
    Value inWarp = number(0);
    for (int64_t i = 0; i < tiling.perRound; ++i) {
      IndexExpression given = round * tiling.indicesAtOnce() +
                              warp * (tiling.perRound * threadsOfWarp) + lane +
                              i * threadsOfWarp;
      Found found;
      found.index = algebra.clamped(given, {0, tiling.indices - 1});
      Indices start =
          startOf(*this, algebra.delinearize(found.index, scatterShape()));
      Indices outer;
      PointEmitter::Guard guard;
      points.require(guard, given, tiling.indices);
      for (auto [dim, extent] : llvm::enumerate(shape))
        if (!llvm::is_contained(windowDims, dim)) {
          points.require(guard, start[dim], extent);
          outer.push_back(start[dim]);
        }
      found.row = algebra.linearize(outer, placed) - firstRow;
      points.require(guard, found.row, tiling.rowsOfBlock());
      found.meets =
          guard.uniform
              ? guard.uniform
              : Value(create<arith::ConstantOp>(builder.getBoolAttr(true)));
      Value votes =
          create<NVVM::VoteSyncOp>(builder.getI32Type(), number(-1),
                                   found.meets, NVVM::VoteSyncKind::ballot);
      Value before = create<math::CtPopOp>(
          create<arith::AndIOp>(votes, below).getResult());
      found.position = add(inWarp, before);
      inWarp = add(inWarp, create<math::CtPopOp>(votes));
      all.push_back(found);
    }
    unsigned level = levels.current();
    ifBelow(lane, 1, [&](const IndexExpression &) {
      points.store(ofWarp, warp, {inWarp, level});
    });
    awaitBlock();
    Value first = number(0), total = number(0);
    for (int64_t other = 0; other < warps; ++other) {
      Value count = points.load(ofWarp, other).value;
      Value isBefore = create<arith::CmpIOp>(arith::CmpIPredicate::ugt,
                                             asNumber(warp), number(other));
      first = add(first, create<arith::SelectOp>(isBefore, count, number(0)));
      total = add(total, count);
    }
    for (const Found &found : all)
      ifThen(found.meets, [&] {
        Value position = add(length, asIndex(add(first, found.position)));
        IndexExpression place =
            algebra.uniform(position, {0, mostListed - 1}, levels.current());
        unsigned level = levels.current();
        points.store(listedRow, place, {asNumber(found.row), level});
        points.store(listedIndex, place, {asNumber(found.index), level});
      });
    awaitBlock();
    return add(length, asIndex(total));
  }

  /// Combines the updates of the list into the results. The first time all of
  /// what is not in place is written.
  void combineListed(Value length, Value isFirst) {
    Value isNeeded = create<arith::CmpIOp>(arith::CmpIPredicate::ugt, length,
                                           constantIndex(0));
    if (llvm::is_contained(source.inPlace, -1))
      isNeeded = create<arith::OrIOp>(isNeeded, isFirst);
    ifThen(isNeeded, [&] {
      forVectors([&](const IndexExpression &row, const Indices &place,
                     const Indices &window) {
        Value own = asNumber(row);
        Values elements = elementsBefore(place, isFirst);
        elements = forLoop(
            constantIndex(0), length, 1, {0, mostListed - 1}, 1,
            /*isLane=*/false, elements,
            [&](const IndexExpression &entry, ValueRange old) -> Values {
              auto next = [&]() -> Values {
                Value listed = points.load(listedIndex, entry).value;
                IndexExpression index = algebra.uniform(
                    asIndex(listed), {0, tiling.indices - 1}, levels.current());
                return combined(
                    old, updateAt(algebra.delinearize(index, scatterShape()),
                                  window));
              };
              if (tiling.rowsOfBlock() == 1)
                return next();
              Value isOwn = create<arith::CmpIOp>(
                  arith::CmpIPredicate::eq, points.load(listedRow, entry).value,
                  own);
              return ifThen(isOwn, old, next);
            },
            double(tiling.perRound));
        for (auto [i, value] : llvm::enumerate(elements))
          storeResult(i, place, {released(value, i), levels.current()});
      });
    });
  }

  const RowScatterTiling tiling;
  const SmallVector<int64_t> placed;
  Buffer listedRow, listedIndex, ofWarp;
  IndexExpression firstRow, firstVector, rowOfThread, vectorOfThread;
};

bool isByElements(const ScatterShape &s) {
  return elementCount(freeScatterShape(s)) <= fewIndices || !hasRows(s);
}

} // namespace

bool ScatterSchedule::accepts(const KernelSource &source) const {
  auto op = dyn_cast_or_null<stablehlo::ScatterOp>(source.root);
  // All results are updated together, so all must have a place.
  if (!op || !llvm::equal(op.getResults(), source.results()))
    return false;
  ScatterShape s(op);
  return elementCount(s.shape) > 0 && elementCount(s.updateShape) > 0;
}

LaunchShape ScatterSchedule::launchShape(const KernelSource &source) const {
  ScatterShape s(scatterOf(source));
  if (!isByElements(s))
    return {.parts = RowScatterTiling(source, s).blocks(),
            .threads = threadsPerBlock};
  const int64_t vectors = elementCount(s.shape) / vectorOf(source, s);
  return {.parts = int64_t(llvm::divideCeil(vectors, threadsPerBlock)),
          .threads = threadsPerBlock};
}

EmittedLoops ScatterSchedule::emit(const KernelSource &source, ModuleOp module,
                                   StringRef name, unsigned) const {
  if (isByElements(ScatterShape(scatterOf(source))))
    return emitAs<ElementScatterKernel>(source, module, name);
  return emitAs<RowScatterKernel>(source, module, name);
}

} // namespace tenon::codegen
