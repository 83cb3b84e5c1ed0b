//===- FloatAttention.cpp - What attention without tensor cores shares ----===//
//
// See FloatAttention.h.
//
//===----------------------------------------------------------------------===//

#include "FloatAttention.h"

#include "tenon/Analysis/Shapes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tenon::codegen {

using Tiles = FloatAttentionTiles;

// Steps of products are rows of 16 features, 4 chunks, whose places are swapped
// (SharedTiles.h). Coefficients are rows of 64 columns that lie 80 apart, so
// that the two rows of a warp, which are neighbours, begin at different halves
// of the banks.
static constexpr int64_t chunk = 4; // elements of 16 bytes
static constexpr int64_t bytesOfStep = Tiles::step * 4;
static constexpr int64_t strideOfShared = Tiles::columns + 16;
static constexpr int64_t stagesOfWalk = 2;

bool fitsFloatAttention(const KernelSource &source, ArrayRef<Value> tensors) {
  return llvm::none_of(source.inPlace, [](int64_t i) { return i >= 0; }) &&
         llvm::all_of(tensors, [](Value tensor) {
           Type type = elementOf(tensor);
           return type.isF32() || stablehlo::isFloatOf16Bits(type);
         });
}

Tiles::FloatAttentionTiles(int64_t most, int64_t batches, int64_t extent)
    : rowsOfThread(most) {
  // Enough to keep a GPU busy; pairs of rows are told apart by `causal`.
  constexpr int64_t manyBlocks = 128;
  while (rowsOfThread > 2 && batches * blocksOf(extent) < manyBlocks)
    rowsOfThread /= 2;
}

int64_t Tiles::widthOf(int64_t features) {
  return std::clamp<int64_t>(int64_t(llvm::PowerOf2Ceil(uint64_t(features))),
                             lanes, mostFeatures);
}

static int64_t bytesOfStage(const Tiles &layout, int64_t width) {
  return std::max((layout.rows() + Tiles::columns) * bytesOfStep,
                  Tiles::step * width * 4);
}

FloatAttentionKernel::FloatAttentionKernel(
    const KernelSource &source, func::FuncOp function,
    const LaunchShape &launch, const GpuInstructions &instructions,
    const step::AttentionProblem &problem, const Tiles &layout,
    bool rowsAreQueries)
    : GpuAttentionKernel(source, function, launch, instructions, problem),
      layout(layout), rowsAreQueries(rowsAreQueries),
      rowCount(rowsAreQueries ? problem.queries : problem.keys),
      columnCount(rowsAreQueries ? problem.keys : problem.queries),
      tiles(*this), group(algebra.floorDiv(thread, Tiles::lanes)),
      lane(algebra.mod(thread, Tiles::lanes)) {
  setBlocksAtOnce(1);
  const int64_t bytes =
      stagesOfWalk *
      bytesOfStage(layout, std::max(Tiles::widthOf(problem.features),
                                    Tiles::widthOf(problem.valueFeatures)));
  stages = tiles.sharedMemory(bytes + layout.rows() * strideOfShared * chunk);
  shared = tiles.addressAt(stages, IndexExpression(bytes));
}

AttentionRows::AttentionRows(Value tensor, ArrayRef<int64_t> dims)
    : tensor(tensor), dims(dims) {
  for (auto [dimension, extent] : llvm::zip(dims, shapeOf(tensor)))
    if (dimension == step::queryPositions || dimension == step::keyPositions)
      count = extent;
    else if (dimension < 0)
      features = extent;
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

/// Zero, or what is as good, where there is no such row or feature: -0 times 0
/// changes no sum, not even one that is -0.
Value FloatAttentionKernel::fourFeatures(const Rows &of,
                                         const IndexExpression &row,
                                         const IndexExpression &feature,
                                         double padding) {
  Type f32 = builder.getF32Type();
  auto four = VectorType::get({chunk}, f32);
  const IndexExpression some = algebra.clamped(row, {0, of.count - 1});
  Value value;
  if (of.isWide()) {
    const int64_t last = of.features - chunk;
    const unsigned level = algebra.level(feature);
    Value first = algebra.scalar(feature);
    if (algebra.range(feature).high > last) {
      Value limit = constantIndex(last);
      first = levels.createAt<arith::MinUIOp>(level, loc, first, limit);
    }
    algebra.lanes = chunk;
    IndexExpression along =
        algebra.laneVariable(first, {0, of.features - 1}, level, chunk);
    value = convertFloat(builder, loc,
                         points.asVector(points.at(
                             of.tensor, indices(of.dims, some, some, along))),
                         f32);
    algebra.lanes = 1;
    Value pad = create<vector::BroadcastOp>(four, number(padding));
    value = whereBelow(value, feature, of.features, pad);
  } else {
    Values each;
    for (int64_t i = 0; i < chunk; ++i) {
      IndexExpression one = algebra.clamped(feature + i, {0, of.features - 1});
      Value element = convertFloat(
          builder, loc,
          points.at(of.tensor, indices(of.dims, some, some, one)).value, f32);
      each.push_back(whereBelow(element, feature + i, of.features, padding));
    }
    value = create<vector::FromElementsOp>(four, each);
  }
  if (algebra.range(row).high < of.count)
    return value;
  Value pad = create<vector::BroadcastOp>(four, number(padding));
  return whereBelow(value, row, of.count, pad);
}

IndexExpression
FloatAttentionKernel::placeInProduct(const IndexExpression &row,
                                     const IndexExpression &chunkOfRow) {
  return row * bytesOfStep +
         tiles.swizzled(row, chunkOfRow, Tiles::step / chunk) * bytesOfAccess;
}

void FloatAttentionKernel::fetch(const Rows &of,
                                 const IndexExpression &firstOfTile,
                                 const IndexExpression &firstFeature,
                                 int64_t rows, int64_t width, double padding,
                                 Value stage, Place place,
                                 SmallVectorImpl<Held> &held) {
  const int64_t perRow = width / chunk, vectors = rows * perRow;
  for (int64_t done = 0; done < vectors; done += Tiles::threads) {
    IndexExpression vector = thread + done;
    // Neighbouring threads read neighbours.
    IndexExpression row = algebra.floorDiv(vector, perRow),
                    along = algebra.mod(vector, perRow);
    if (!hasFeaturesLast(of.dims)) {
      along = algebra.floorDiv(vector, rows);
      row = algebra.mod(vector, rows);
    }
    const IndexExpression ofTensor = firstOfTile + row,
                          feature = firstFeature + along * chunk;
    if (!of.isCopied()) {
      held.push_back({fourFeatures(of, ofTensor, feature, padding),
                      place(row, along), vector, vectors});
      continue;
    }
    PointEmitter::Guard guard;
    points.require(guard, ofTensor, of.count);
    points.require(guard, feature, of.features);
    const IndexExpression someRow =
                              algebra.clamped(ofTensor, {0, of.count - 1}),
                          someFeature = algebra.clamped(
                              feature, {0, of.features - chunk});
    ifBelow(vector, vectors, [&](const IndexExpression &) {
      tiles.beginCopy(
          tiles.addressAt(stage, place(row, along)), points.bufferOf(of.tensor),
          algebra.linearize(indices(of.dims, someRow, someRow, someFeature),
                            shapeOf(of.tensor)),
          bytesOfAccess, guard.uniform);
    });
  }
}

void FloatAttentionKernel::store(Value stage, ArrayRef<Held> held) {
  for (const Held &one : held)
    ifBelow(one.vector, one.vectors, [&](const IndexExpression &) {
      tiles.store(tiles.addressAt(stage, one.place), one.value);
    });
}

Value FloatAttentionKernel::loadFour(Value base, const IndexExpression &place) {
  return tiles.load(tiles.addressAt(base, place),
                    VectorType::get({chunk}, builder.getF32Type()));
}

FloatAttentionKernel::Values
FloatAttentionKernel::walk(Value end, int64_t count, Values state, Fetch fetch,
                           Take take) {
  awaitBlock(); // Whoever reads what lies there is done.
  SmallVector<Held> first;
  fetch(0, stages, first);
  store(stages, first);
  tiles.endGroup();
  if (count == 1) {
    tiles.awaitGroups(0);
    awaitBlock();
    take(0, stages, state);
    return state;
  }
  const int64_t bytes =
      bytesOfStage(layout, std::max(Tiles::widthOf(problem.features),
                                    Tiles::widthOf(problem.valueFeatures)));
  const size_t carriedState = state.size();
  state.push_back(constantIndex(0));
  state =
      forLoop(constantIndex(0), end, 1, {0, count - 1}, 1, /*isLane=*/false,
              state, [&](const IndexExpression &step, ValueRange carried) {
                Values next(carried.begin(), carried.begin() + carriedState);
                Value read = carried[carriedState];
                tiles.awaitGroups(0);
                awaitBlock();
                // Behind the last one it is fetched again, and never taken.
                Value write = create<arith::SubIOp>(constantIndex(bytes), read);
                Value to = tiles.addressAt(stages, write);
                SmallVector<Held> held;
                fetch(algebra.clamped(step + 1, {0, count - 1}), to, held);
                tiles.endGroup();
                take(step, tiles.addressAt(stages, read), next);
                store(to, held);
                next.push_back(write);
                return next;
              });
  tiles.awaitGroups(0);
  state.pop_back();
  return state;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

FloatAttentionKernel::Values
FloatAttentionKernel::products(const Rows &rows, const Rows &columns,
                               const IndexExpression &firstColumn) {
  const int64_t steps = llvm::divideCeil(rows.features, Tiles::step);
  auto placeOfRow = [&](const IndexExpression &row,
                        const IndexExpression &chunkOfRow) {
    return placeInProduct(row, chunkOfRow);
  };
  auto placeOfColumn = [&](const IndexExpression &column,
                           const IndexExpression &chunkOfColumn) {
    return placeInProduct(column, chunkOfColumn) + layout.rows() * bytesOfStep;
  };
  auto fetchBoth = [&](const IndexExpression &step, Value stage,
                       SmallVectorImpl<Held> &held) {
    fetch(rows, firstRow, step * Tiles::step, layout.rows(), Tiles::step, -0.0,
          stage, placeOfRow, held);
    fetch(columns, firstColumn, step * Tiles::step, Tiles::columns, Tiles::step,
          0, stage, placeOfColumn, held);
  };
  auto take = [&](const IndexExpression &, Value stage, Values &sums) {
    for (int64_t c = 0; c < Tiles::step / chunk; ++c) {
      Values b;
      for (int64_t j = 0; j < Tiles::columnsOfThread; ++j)
        b.push_back(loadFour(stage, placeOfColumn(columnOf(j), c)));
      for (int64_t i = 0; i < layout.rowsOfThread; ++i) {
        Value a = loadFour(stage, placeOfRow(rowOf(i), c));
        for (int64_t f = 0; f < chunk; ++f)
          for (int64_t j = 0; j < Tiles::columnsOfThread; ++j) {
            Value &sum = sums[i * Tiles::columnsOfThread + j];
            sum = create<math::FmaOp>(
                create<vector::ExtractOp>(a, f).getResult(),
                create<vector::ExtractOp>(b[j], f).getResult(), sum);
          }
      }
    }
  };
  return walk(constantIndex(steps), steps, Values(elements(), number(0)),
              fetchBoth, take);
}

void FloatAttentionKernel::share(ArrayRef<Value> coefficients,
                                 const IndexExpression &firstColumn) {
  for (int64_t e = 0; e < elements(); ++e) {
    IndexExpression column = columnOf(columnOfElement(e));
    tiles.store(
        tiles.addressAt(shared, rowOf(rowOfElement(e)) * (strideOfShared * 4) +
                                    column * 4),
        whereBelow(coefficients[e], firstColumn + column, columnCount, -0.0));
  }
}

Value FloatAttentionKernel::takesPart(int64_t pair,
                                      const IndexExpression &firstColumn) {
  return create<arith::CmpIOp>(
      rowsAreQueries ? arith::CmpIPredicate::uge : arith::CmpIPredicate::ule,
      algebra.scalar(firstRow + pair * step::attentionKeyGroup),
      algebra.scalar(firstColumn));
}

// A lane has neighbours of features, 4 of each 64 if there are so many.
static int64_t featureOfLane(int64_t i, int64_t width) {
  return width < chunk * Tiles::lanes
             ? i
             : i / chunk * (chunk * Tiles::lanes) + i % chunk;
}
static int64_t neighboursOf(int64_t width) {
  return std::min(width / Tiles::lanes, chunk);
}

void FloatAttentionKernel::addWeighted(MutableArrayRef<Value> sums,
                                       const Rows &columns,
                                       const IndexExpression &firstColumn,
                                       const IndexExpression &firstFeature,
                                       int64_t width) {
  static_assert(Tiles::step == step::attentionKeyGroup &&
                2 * Tiles::groups == step::attentionKeyGroup);
  const int64_t perLane = width / Tiles::lanes,
                neighbours = neighboursOf(width);
  Type f32 = builder.getF32Type();
  Type several =
      neighbours > 1 ? Type(VectorType::get({neighbours}, f32)) : f32;
  auto fetchStep = [&](const IndexExpression &step, Value stage,
                       SmallVectorImpl<Held> &held) {
    fetch(
        columns, firstColumn + step * Tiles::step, firstFeature, Tiles::step,
        width, 0, stage,
        [&](const IndexExpression &row, const IndexExpression &chunkOfRow) {
          return row * (width * 4) + chunkOfRow * bytesOfAccess;
        },
        held);
  };
  auto take = [&](const IndexExpression &step, Value stage, Values &state) {
    auto takeRows = [&](int64_t first, int64_t count, Values &state) {
      for (int64_t c = 0; c < Tiles::step; c += chunk) {
        Values a;
        for (int64_t i = first; i < first + count; ++i)
          a.push_back(loadFour(shared, rowOf(i) * (strideOfShared * 4) +
                                           step * (Tiles::step * 4) + c * 4));
        for (int64_t u = 0; u < chunk; ++u) {
          Values b;
          for (int64_t n = 0; n < perLane; n += neighbours) {
            Value some = tiles.load(
                tiles.addressAt(
                    stage, lane * (neighbours * 4) +
                               ((c + u) * width + featureOfLane(n, width)) * 4),
                several);
            for (int64_t i = 0; i < neighbours; ++i)
              b.push_back(neighbours > 1
                              ? Value(create<vector::ExtractOp>(some, i))
                              : some);
          }
          for (int64_t i = 0; i < count; ++i)
            for (int64_t n = 0; n < perLane; ++n) {
              Value &sum = state[(first + i) * perLane + n];
              sum = create<math::FmaOp>(
                  create<vector::ExtractOp>(a[i], u).getResult(), b[n], sum);
            }
        }
      }
    };
    if (!problem.causal)
      return takeRows(0, layout.rowsOfThread, state);
    // Only 16 rows that take part with the 16 columns look at them.
    const IndexExpression first = firstColumn + step * Tiles::step;
    const int64_t pairs = layout.rowsOfThread / 2;
    Value all = takesPart(rowsAreQueries ? 0 : pairs - 1, first);
    state = ifThen(all, state, [&] {
      Values next = state;
      takeRows(0, layout.rowsOfThread, next);
      return next;
    });
    if (pairs == 1)
      return;
    Value isTrue = create<arith::ConstantOp>(builder.getBoolAttr(true));
    Value notAll = create<arith::XOrIOp>(all, isTrue);
    state = ifThen(notAll, state, [&] {
      Values next = state;
      for (int64_t pair = 0; pair < pairs; ++pair)
        next = ifThen(takesPart(pair, first), next, [&] {
          Values ofPair = next;
          takeRows(2 * pair, 2, ofPair);
          return ofPair;
        });
      return next;
    });
  };
  constexpr int64_t steps = Tiles::columns / Tiles::step;
  Value end = constantIndex(steps);
  if (algebra.range(firstColumn).high + Tiles::columns > columnCount) {
    IndexExpression left = algebra.floorDiv(
        IndexExpression(columnCount + Tiles::step - 1) - firstColumn,
        Tiles::step);
    end = create<arith::MinUIOp>(algebra.scalar(left), end);
  }
  Values state = walk(end, steps, Values(sums), fetchStep, take);
  llvm::copy(state, sums.begin());
}

void FloatAttentionKernel::storeRows(Value result, ArrayRef<int64_t> dims,
                                     ArrayRef<Value> sums, const Rows &rows,
                                     const IndexExpression &firstFeature,
                                     int64_t width) {
  Type type = elementOf(result);
  const int64_t perLane = width / Tiles::lanes,
                neighbours = neighboursOf(width);
  const bool isWide = neighbours > 1 && hasFeaturesLast(dims) &&
                      rows.features % neighbours == 0;
  for (int64_t i = 0; i < layout.rowsOfThread; ++i)
    ifBelow(firstRow + rowOf(i), rows.count, [&](const IndexExpression &row) {
      for (int64_t n = 0; n < perLane; n += neighbours) {
        ArrayRef<Value> some = sums.slice(i * perLane + n, neighbours);
        IndexExpression first =
            firstFeature + lane * neighbours + featureOfLane(n, width);
        auto put = [&](const IndexExpression &feature, Value value,
                       int64_t lanes) {
          ifBelow(feature, rows.features, [&](const IndexExpression &feature) {
            algebra.lanes = lanes;
            storePart(
                result,
                indices(dims, row, row, vectorAt(feature, rows.features)),
                {convertFloat(builder, loc, value, type), levels.current()});
            algebra.lanes = 1;
          });
        };
        if (isWide)
          put(first,
              create<vector::FromElementsOp>(
                  VectorType::get({neighbours}, builder.getF32Type()), some),
              neighbours);
        else
          for (int64_t k = 0; k < neighbours; ++k)
            put(first + k, some[k], 1);
      }
    });
}

Value FloatAttentionKernel::overRow(
    Value value, llvm::function_ref<Value(Value, Value)> join) {
  for (int64_t half = Tiles::lanes / 2; half > 0; half /= 2)
    value = join(value, fromLane(value, half, Tiles::lanes));
  return fromLane(value, 0, Tiles::lanes);
}

//===----------------------------------------------------------------------===//
// Columns
//===----------------------------------------------------------------------===//

Value FloatAttentionKernel::firstTile() {
  return rowsAreQueries || !problem.causal
             ? constantIndex(0)
             : algebra.scalar(algebra.floorDiv(firstRow, Tiles::columns));
}

Value FloatAttentionKernel::endOfTiles() {
  Value end = constantIndex(tilesOfColumns());
  if (!rowsAreQueries || !problem.causal)
    return end;
  IndexExpression behind = algebra.floorDiv(
      firstRow + (layout.rows() + Tiles::columns - 1), Tiles::columns);
  return create<arith::MinUIOp>(algebra.scalar(behind), end);
}

} // namespace tenon::codegen
