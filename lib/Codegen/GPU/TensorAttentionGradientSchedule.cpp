//===- TensorAttentionGradientSchedule.cpp - Gradients on tensor cores ----===//
//
// `step.attention_gradient` of 16-bit operands, in two launches, since blocks
// of the second read what several blocks of the first have written:
//
//   rows of queries  a warp has 16 of them and walks the keys twice: first for
//                    the mean of the weights' gradients, which it leaves in
//                    scratch memory, then for the slopes and, with these as
//                    coefficients of the keys, the gradient of the queries
//   rows of keys     a warp has 16 of them and walks the queries of all batches
//                    that share the keys: transposed weights and slopes are the
//                    coefficients of the output's gradient and of the queries
//
// Each of the three walks computes products of queries and keys again, and from
// these the weights, by the maximum and the sum of the forward operation.
// Nothing but the means goes through memory. The order of sums is not that of
// docs/Rationale/Attention.md, and weights and slopes are rounded to 16 bits
// before they are multiplied; GpuKernels.md says how much that is.
//
//===----------------------------------------------------------------------===//

#include "TensorAttention.h"

#include "tenon/Analysis/Shapes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tenon::codegen {
namespace {

using step::AttentionProblem;

step::AttentionGradientOp gradientOf(const KernelSource &source) {
  auto op = dyn_cast_or_null<step::AttentionGradientOp>(source.root);
  if (!op)
    return nullptr;
  AttentionProblem p(op);
  return fitsTensorAttention(source, p,
                             {p.query, p.key, p.value, op.getOutputGradient()},
                             {op.getQueryGradient(), op.getKeyGradient(),
                              op.getValueGradient()})
             ? op
             : nullptr;
}

/// Maximum, reciprocal of the sum, and mean of the weights' gradients.
enum Statistic : int64_t { maximum, reciprocal, mean, statisticsOfQuery };

/// How a block's shared memory is laid out: two tiles of its rows, then twice
/// two tiles of columns and the statistics of these.
struct GradientTiles {
  int64_t warps, columns, width, valueWidth;

  explicit GradientTiles(const AttentionProblem &p)
      : width(paddedFeatures(p.features)),
        valueWidth(paddedFeatures(p.valueFeatures)) {
    // Shared memory whose extent is known to the assembler.
    constexpr int64_t mostBytes = 48 * 1024;
    for (auto [w, c] : {std::pair(4, 32), std::pair(4, 16), std::pair(3, 16)}) {
      warps = w, columns = c;
      if (bytes() <= mostBytes)
        break;
    }
  }
  int64_t rows() const { return warps * rowsOfWarp; }
  int64_t blocksOf(int64_t extent) const {
    return llvm::divideCeil(extent, rows());
  }
  TileShape tile(int64_t rows, bool isOfValues) const {
    return {rows, isOfValues ? valueWidth : width};
  }
  /// Of a tile of rows and the one of values behind it.
  int64_t pairBytes(int64_t rows) const {
    return tile(rows, false).bytes() + tile(rows, true).bytes();
  }
  int64_t stageBytes() const {
    return pairBytes(columns) + statisticsOfQuery * columns * 4;
  }
  int64_t bytes() const {
    const int64_t resultBytes = rows() * std::max(width, valueWidth) * 4;
    return std::max(pairBytes(rows()) + stagesOfAttention * stageBytes(),
                    resultBytes);
  }
  /// Whether a warp's rows stay in registers, next to what it adds up.
  bool keepsRows() const { return width + valueWidth <= 128; }
};

class GradientOnTensorCores : protected TensorAttentionKernel {
protected:
  GradientOnTensorCores(const KernelSource &source, func::FuncOp function,
                        const LaunchShape &launch,
                        const GpuInstructions &instructions)
      : TensorAttentionKernel(source, function, launch, instructions,
                              AttentionProblem(gradientOf(source))),
        op(gradientOf(source)), layout(problem),
        query(operandOf(problem.query, problem.queryDims, problem.queries,
                        problem.features)),
        key(operandOf(problem.key, problem.keyDims, problem.keys,
                      problem.features)),
        value(operandOf(problem.value, problem.valueDims, problem.keys,
                        problem.valueFeatures)),
        outputGradient(operandOf(op.getOutputGradient(),
                                 op.getOutputGradientDims(), problem.queries,
                                 problem.valueFeatures)),
        makesQueries(source.indexOfResult(op.getQueryGradient()) >= 0),
        makesKeys(source.indexOfResult(op.getKeyGradient()) >= 0),
        makesValues(source.indexOfResult(op.getValueGradient()) >= 0),
        rowColumns(layout.tile(layout.columns, false)),
        valueColumns(layout.tile(layout.columns, true)),
        rowMemory(tiles.sharedMemory(layout.bytes())),
        stageMemory(tiles.addressAt(
            rowMemory, IndexExpression(layout.pairBytes(layout.rows())))) {
    function->setAttr(takesRegistersAttribute, builder.getUnitAttr());
  }

  void fetchPair(const TensorOperand &operand, const TensorOperand &ofValues,
                 int64_t rows, const IndexExpression &first, Value to,
                 SmallVectorImpl<TensorTiles::Held> &held);
  /// Begins with the tiles of a block's rows, or of its first columns, and
  /// waits for them.
  void fetchRows(const TensorOperand &operand, const TensorOperand &ofValues,
                 const IndexExpression &first);

  /// What both parts compute of a block of columns: weights, and gradients of
  /// the weights times the factors.
  struct Coefficients {
    Values weights, gradients;
  };
  Coefficients coefficientsOf(Value stage);
  using ElementIndex = llvm::function_ref<IndexExpression(int64_t)>;
  using ElementStatistic = llvm::function_ref<Value(int64_t, Statistic)>;
  void finishWeights(Coefficients &c, ElementIndex queryOf, ElementIndex keyOf,
                     ElementStatistic statistic);
  Value slopeOf(Value weight, Value gradient, Value mean,
                const IndexExpression &query, const IndexExpression &key);

  Value reciprocalOf(const IndexExpression &query) {
    return create<arith::DivFOp>(number(1), statisticOf(op.getSum(), query));
  }
  Value valuesBehind(Value pair, int64_t rows) {
    return tiles.addressAt(pair,
                           IndexExpression(layout.tile(rows, false).bytes()));
  }

  step::AttentionGradientOp op;
  const GradientTiles layout;
  const TensorOperand query, key, value, outputGradient;
  const bool makesQueries, makesKeys, makesValues;
  const TileShape rowColumns, valueColumns; // of a block of columns
  const Value rowMemory, stageMemory;
  /// If they are kept.
  SmallVector<Values> rowRegisters, valueRegisters;
};

class QueriesOnTensorCores : GradientOnTensorCores {
public:
  QueriesOnTensorCores(const KernelSource &source, func::FuncOp function,
                       const LaunchShape &launch,
                       const GpuInstructions &instructions)
      : GradientOnTensorCores(source, function, launch, instructions) {
    Indices place = algebra.delinearize(
        block, {elementCount(problem.batch), layout.blocksOf(problem.queries)});
    batch = algebra.delinearize(place[0], problem.batch);
    emit(place[1] * layout.rows());
  }

private:
  void emit(const IndexExpression &first);
};

class KeysOnTensorCores : GradientOnTensorCores {
public:
  KeysOnTensorCores(const KernelSource &source, func::FuncOp function,
                    const LaunchShape &launch,
                    const GpuInstructions &instructions)
      : GradientOnTensorCores(source, function, launch, instructions) {
    SmallVector<int64_t> own = batchExtents(/*areShared=*/false);
    Indices place = algebra.delinearize(
        block, {elementCount(own), layout.blocksOf(problem.keys)});
    emit(algebra.delinearize(place[0], own), place[1] * layout.rows());
  }

private:
  void emit(const Indices &own, const IndexExpression &first);
};

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

void GradientOnTensorCores::fetchPair(
    const TensorOperand &operand, const TensorOperand &ofValues, int64_t rows,
    const IndexExpression &first, Value to,
    SmallVectorImpl<TensorTiles::Held> &held) {
  const TileShape shape = layout.tile(rows, false);
  tiles.begin(operand, shape, first, 0, to, 0, held);
  tiles.begin(ofValues, layout.tile(rows, true), first, 0, to, shape.bytes(),
              held);
}

void GradientOnTensorCores::fetchRows(const TensorOperand &operand,
                                      const TensorOperand &ofValues,
                                      const IndexExpression &first) {
  SmallVector<TensorTiles::Held> held;
  fetchPair(operand, ofValues, layout.rows(), first, rowMemory, held);
  tiles.store(rowMemory, held);
  tiles.endGroup();
  if (!layout.keepsRows())
    return; // The first block of columns is waited for, too.
  tiles.awaitGroups(0);
  awaitBlock();
  rowRegisters = loadRows(rowMemory, layout.tile(layout.rows(), false));
  valueRegisters = loadRows(valuesBehind(rowMemory, layout.rows()),
                            layout.tile(layout.rows(), true));
}

//===----------------------------------------------------------------------===//
// Weights and slopes
//===----------------------------------------------------------------------===//

GradientOnTensorCores::Coefficients
GradientOnTensorCores::coefficientsOf(Value stage) {
  auto product = [&](bool isOfValues) {
    const TileShape rows = layout.tile(layout.rows(), isOfValues);
    Value rowTile =
        isOfValues ? valuesBehind(rowMemory, layout.rows()) : rowMemory;
    Value columnTile = isOfValues ? valuesBehind(stage, layout.columns) : stage;
    auto rowsAt = [&](int64_t s) {
      if (layout.keepsRows())
        return (isOfValues ? valueRegisters : rowRegisters)[s / sumsAtOnce];
      return tiles.loadMatrices(
          tiles.addressAt(rowTile, tiles.placeOfLeft(
                                       rows, true, tiles.warp * rowsOfWarp, s)),
          true);
    };
    return productsOf(rowsAt, columnTile,
                      isOfValues ? valueColumns : rowColumns);
  };
  return {product(false), product(true)};
}

void GradientOnTensorCores::finishWeights(Coefficients &c, ElementIndex queryOf,
                                          ElementIndex keyOf,
                                          ElementStatistic statistic) {
  for (int64_t i = 0; i < int64_t(c.weights.size()); ++i) {
    IndexExpression query = queryOf(i), key = keyOf(i);
    Value weight = exponential(scoreAt(c.weights[i], query, key),
                               statistic(i, Statistic::maximum));
    weight = multiply(weight, statistic(i, Statistic::reciprocal));
    c.weights[i] = whereTaken(weight, query, key, 0);
    Value &gradient = c.gradients[i];
    gradient = rounded(gradient, problem.roundsWeightGradients, problem.value);
    if (problem.factor)
      gradient = multiply(
          gradient, besides(problem.factor, problem.factorDims, query, key));
  }
}

Value GradientOnTensorCores::slopeOf(Value weight, Value gradient, Value mean,
                                     const IndexExpression &query,
                                     const IndexExpression &key) {
  Value slope =
      multiply(weight, create<arith::SubFOp>(gradient, mean).getResult());
  if (problem.scale != 1)
    slope = multiply(slope, number(problem.scale));
  if (problem.mask)
    slope = create<arith::SelectOp>(
        besides(problem.mask, problem.maskDims, query, key), slope, number(0));
  return slope;
}

//===----------------------------------------------------------------------===//
// Both launches
//===----------------------------------------------------------------------===//

void QueriesOnTensorCores::emit(const IndexExpression &first) {
  const int64_t blocks = llvm::divideCeil(problem.keys, layout.columns);
  Value begin = constantIndex(0), end = constantIndex(blocks);
  if (problem.causal) {
    IndexExpression behind = algebra.floorDiv(
        first + (layout.rows() + layout.columns - 1), layout.columns);
    end = create<arith::MinUIOp>(algebra.scalar(behind), end);
  }
  const IndexExpression firstQuery = first + tiles.warp * rowsOfWarp;
  auto queryOf = [&](int64_t i) { return firstQuery + rowOf(i); };
  Value statistics[2][2];
  for (int64_t half = 0; half < 2; ++half) {
    statistics[half][Statistic::maximum] =
        statisticOf(op.getMaximum(), queryOf(2 * half));
    statistics[half][Statistic::reciprocal] = reciprocalOf(queryOf(2 * half));
  }
  auto statistic = [&](int64_t i, Statistic which) {
    return statistics[i / 2 % 2][which];
  };
  auto fetch = [&](const IndexExpression &index, Value stage,
                   SmallVectorImpl<TensorTiles::Held> &held) {
    fetchPair(key, value, layout.columns, index * layout.columns, stage, held);
  };
  auto walkKeys = [&](Values state, auto take) {
    SmallVector<TensorTiles::Held> held;
    fetch(0, stageMemory, held);
    tiles.store(stageMemory, held);
    tiles.endGroup();
    return walk(begin, end, blocks, stageMemory, layout.stageBytes(), state,
                fetch,
                [&](const IndexExpression &index, Value stage, Values &state) {
                  auto keyOf = [&](int64_t i) {
                    return index * layout.columns + columnOf(i);
                  };
                  Coefficients c = coefficientsOf(stage);
                  finishWeights(c, queryOf, keyOf, statistic);
                  take(c, keyOf, stage, state);
                });
  };

  fetchRows(query, outputGradient, first);
  Values means =
      walkKeys({number(0), number(0)},
               [&](Coefficients &c, ElementIndex, Value, Values &state) {
                 for (auto [i, weight] : llvm::enumerate(c.weights)) {
                   Value &mean = state[i / 2 % 2];
                   mean = add(mean, multiply(weight, c.gradients[i]));
                 }
               });
  for (int64_t half = 0; half < 2; ++half) {
    means[half] =
        overRow(means[half], [&](Value a, Value b) { return add(a, b); });
    if (makesKeys)
      ifBelow(queryOf(2 * half), problem.queries,
              [&](const IndexExpression &query) {
                ifBelow(column, 2, [&](const IndexExpression &) {
                  tiles.store(addressOfMean(query), means[half]);
                });
              });
  }
  if (!makesQueries)
    return;
  Values sums = walkKeys(
      Values(4 * layout.width / columnsAtOnce, number(0)),
      [&](Coefficients &c, ElementIndex keyOf, Value stage, Values &state) {
        for (int64_t i = 0; i < int64_t(c.weights.size()); ++i)
          c.weights[i] =
              whereTaken(slopeOf(c.weights[i], c.gradients[i], means[i / 2 % 2],
                                 queryOf(i), keyOf(i)),
                         queryOf(i), keyOf(i), 0);
        addWeighted(state, c.weights, stage, rowColumns);
      });
  storeRows(op.getQueryGradient(), op.getQueryGradientDims(), sums,
            problem.features, firstQuery, problem.queries, rowMemory);
}

void KeysOnTensorCores::emit(const Indices &own, const IndexExpression &first) {
  setBatch(own, {});
  const int64_t blocks = llvm::divideCeil(problem.queries, layout.columns);
  // Queries in front of the block's first key leave all of it out.
  const IndexExpression begin =
      problem.causal ? algebra.floorDiv(first, layout.columns) : 0;
  const IndexExpression firstKey = first + tiles.warp * rowsOfWarp;
  auto keyOf = [&](int64_t i) { return firstKey + rowOf(i); };
  auto placeOf = [&](const IndexExpression &query, Statistic which) {
    return query * 4 +
           (layout.pairBytes(layout.columns) + which * layout.columns * 4);
  };
  auto fetch = [&](const IndexExpression &index, Value stage,
                   SmallVectorImpl<TensorTiles::Held> &held) {
    const IndexExpression firstQuery = index * layout.columns;
    fetchPair(query, outputGradient, layout.columns, firstQuery, stage, held);
    ifBelow(thread, layout.columns, [&](const IndexExpression &column) {
      const IndexExpression query = firstQuery + column;
      auto put = [&](Statistic which, Value value) {
        tiles.store(tiles.addressAt(stage, placeOf(column, which)), value);
      };
      put(Statistic::maximum, statisticOf(op.getMaximum(), query));
      put(Statistic::reciprocal, reciprocalOf(query));
      if (makesKeys)
        put(Statistic::mean,
            tiles.load(addressOfMean(query), builder.getF32Type()));
    });
  };
  const size_t keySums = makesKeys ? 4 * layout.width / columnsAtOnce : 0,
               valueSums =
                   makesValues ? 4 * layout.valueWidth / columnsAtOnce : 0;
  auto take = [&](const IndexExpression &index, Value stage, Values &state) {
    auto queryOf = [&](int64_t i) {
      return index * layout.columns + columnOf(i);
    };
    // Neighbours lie side by side.
    SmallVector<Value> pairs(layout.columns / columnsAtOnce *
                             statisticsOfQuery);
    auto statistic = [&](int64_t i, Statistic which) -> Value {
      Value &pair = pairs[i / 4 * statisticsOfQuery + which];
      if (!pair)
        pair = tiles.load(
            tiles.addressAt(stage, placeOf(columnOf(i / 4 * 4), which)),
            VectorType::get({2}, builder.getF32Type()));
      return create<vector::ExtractOp>(pair, i % 2);
    };
    auto whereQuery = [&](Value value, int64_t i) {
      return whereBelow(whereTaken(value, queryOf(i), keyOf(i), 0), queryOf(i),
                        problem.queries, 0);
    };
    Coefficients c = coefficientsOf(stage);
    finishWeights(c, queryOf, keyOf, statistic);
    Values slopes;
    for (int64_t i = 0; i < int64_t(c.weights.size()); ++i) {
      Value &weight = c.weights[i];
      if (makesKeys)
        slopes.push_back(whereQuery(slopeOf(weight, c.gradients[i],
                                            statistic(i, Statistic::mean),
                                            queryOf(i), keyOf(i)),
                                    i));
      if (problem.factor)
        weight = multiply(weight, besides(problem.factor, problem.factorDims,
                                          queryOf(i), keyOf(i)));
      weight = whereQuery(weight, i);
    }
    if (makesKeys)
      addWeighted(MutableArrayRef(state).take_front(keySums), slopes, stage,
                  rowColumns);
    if (makesValues)
      addWeighted(MutableArrayRef(state).drop_front(keySums), c.weights,
                  valuesBehind(stage, layout.columns), valueColumns);
  };

  fetchRows(key, value, first);
  Values sums = forSpace(
      batchExtents(/*areShared=*/true), Values(keySums + valueSums, number(0)),
      [&](const Indices &sharedBatch, ValueRange carried) {
        setBatch(own, sharedBatch);
        SmallVector<TensorTiles::Held> held;
        fetch(begin, stageMemory, held);
        tiles.store(stageMemory, held);
        tiles.endGroup();
        return walk(algebra.scalar(begin), constantIndex(blocks), blocks,
                    stageMemory, layout.stageBytes(), Values(carried), fetch,
                    take);
      });
  if (makesKeys)
    storeRows(op.getKeyGradient(), op.getKeyGradientDims(),
              ArrayRef(sums).take_front(keySums), problem.features, firstKey,
              problem.keys, rowMemory);
  if (makesKeys && makesValues)
    awaitBlock(); // Where a warp's rows lie depends on their length.
  if (makesValues)
    storeRows(op.getValueGradient(), op.getValueGradientDims(),
              ArrayRef(sums).drop_front(keySums), problem.valueFeatures,
              firstKey, problem.keys, rowMemory);
}

} // namespace

bool TensorAttentionGradientSchedule::accepts(
    const KernelSource &source) const {
  return gradientOf(source) != nullptr;
}

SmallVector<GpuLaunch>
TensorAttentionGradientSchedule::launches(const KernelSource &source) const {
  step::AttentionGradientOp op = gradientOf(source);
  const AttentionProblem problem(op);
  const GradientTiles layout(problem);
  return launchesOfGradient<QueriesOnTensorCores, KeysOnTensorCores>(
      source, op, layout.warps * threadsOfWarp,
      elementCount(problem.batch) * layout.blocksOf(problem.queries),
      step::attentionUnits(op) * layout.blocksOf(problem.keys));
}

} // namespace tenon::codegen
