//===- TensorAttentionGradientSchedule.cpp - Gradients on tensor cores ----===//
//
// `step.attention_gradient` of 16-bit operands, in two launches, since blocks
// of the second read what several blocks of the first have written:
//
//   rows of queries  a warp has 16 of them and walks the keys for the gradient
//                    of the queries and the mean of the weights' gradients,
//                    which it leaves in scratch memory
//   rows of keys     a warp has 16 of them and walks the queries of all batches
//                    that share the keys: transposed weights and slopes are the
//                    coefficients of the output's gradient and of the queries
//
// Both compute products of queries and keys again, and from these the weights,
// by the maximum and the sum of the forward operation. Nothing but the means
// goes through memory.
//
// A slope is a weight times what its gradient is above the mean, which is known
// behind the last key. So slopes are above the mean of the keys so far. What
// weights alone sum to with the keys as rows is there, too; times what the mean
// has changed by, it is what the sums so far have too much.
//
// The order of sums is not that of docs/Rationale/Attention.md, and weights and
// slopes are rounded to 16 bits before they are multiplied; GpuKernels.md says
// how much that is.
//
//===----------------------------------------------------------------------===//

#include "TensorAttention.h"

#include "tenon/Analysis/Shapes.h"
#include "tenon/Codegen/Loops/MathExpansions.h"

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

/// Maximum, logarithm of the sum in base 2, and the scaled mean of the weights'
/// gradients.
enum Statistic : int64_t { maximum, logarithm, mean, statisticsOfQuery };

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
  bool areNarrow() const { return width + valueWidth <= 128; }
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
            rowMemory, IndexExpression(layout.pairBytes(layout.rows())))) {}

  void fetchPair(const TensorOperand &operand, const TensorOperand &ofValues,
                 int64_t rows, const IndexExpression &first, Value to,
                 SmallVectorImpl<TensorTiles::Held> &held);
  /// Begins to fetch the tiles of a block's rows.
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
  /// Where `isWhole`, each key takes part for each query.
  void finishWeights(Coefficients &c, bool isWhole, ElementIndex queryOf,
                     ElementIndex keyOf, ElementStatistic statistic);
  /// `mean` is scaled.
  Value slopeOf(Value weight, Value gradient, Value mean,
                const IndexExpression &query, const IndexExpression &key);
  /// The weight as far as it has a slope: 0 where a number stands in place of
  /// the score.
  Value whereScored(Value weight, const IndexExpression &query,
                    const IndexExpression &key);
  /// exp(score - maximum) / sum.
  Value weightOf(Value product, const IndexExpression &query,
                 const IndexExpression &key, Value maximum, Value logarithm);

  Value logarithmOf(const IndexExpression &query) {
    Value natural = emitMath(builder, loc, MathFunction::log,
                             {statisticOf(op.getSum(), query)}, instructions);
    return multiply(natural, number(llvm::numbers::log2e));
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
    setBlocksAtOnce(layout.areNarrow() ? 2 : 1);
    emit(place[1] * layout.rows());
  }

private:
  void emit(const IndexExpression &first);
  void takeBlock(const IndexExpression &firstKey, Value stage, Values &state,
                 bool isWhole);
  /// Changes the mean that a row's slopes so far are above.
  void moveMean(int64_t half, Value mean, Values &state);

  /// The first query of the warp, and of both rows of the lane what is known
  /// from the forward operation.
  IndexExpression firstQuery;
  Value statistics[2][2];
  /// What a loop over blocks of keys carries, in this order: of both rows the
  /// sums of weights and of weights times gradients, and the scaled mean so
  /// far; then what slopes sum to, and what weights do.
  static constexpr int64_t weightsAt = 0, gradientsAt = 2, meansAt = 4,
                           slopeSumsAt = 6;
  int64_t sumsOfRows() const {
    return makesQueries ? 4 * layout.width / columnsAtOnce : 0;
  }
  MutableArrayRef<Value> slopeSums(Values &state) const {
    return MutableArrayRef(state).slice(slopeSumsAt, sumsOfRows());
  }
  MutableArrayRef<Value> weightSums(Values &state) const {
    return MutableArrayRef(state).drop_front(slopeSumsAt + sumsOfRows());
  }
};

class KeysOnTensorCores : GradientOnTensorCores {
public:
  KeysOnTensorCores(const KernelSource &source, func::FuncOp function,
                    const LaunchShape &launch,
                    const GpuInstructions &instructions)
      : GradientOnTensorCores(source, function, launch, instructions) {
    // So many threads hide latencies; the gradient of queries, which sums
    // weights as well, has no registers for them.
    setBlocksAtOnce(layout.areNarrow() ? 3 : 1);
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
}

//===----------------------------------------------------------------------===//
// Weights and slopes
//===----------------------------------------------------------------------===//

GradientOnTensorCores::Coefficients
GradientOnTensorCores::coefficientsOf(Value stage) {
  // A warp's rows are read anew for each block of columns: in registers they
  // would leave room for fewer threads.
  auto product = [&](bool isOfValues) {
    const TileShape rows = layout.tile(layout.rows(), isOfValues);
    Value rowTile =
        isOfValues ? valuesBehind(rowMemory, layout.rows()) : rowMemory;
    Value columnTile = isOfValues ? valuesBehind(stage, layout.columns) : stage;
    return productsOf([&](int64_t s) { return loadRows(rowTile, rows, s); },
                      columnTile, isOfValues ? valueColumns : rowColumns);
  };
  return {product(false), product(true)};
}

Value GradientOnTensorCores::weightOf(Value product,
                                      const IndexExpression &query,
                                      const IndexExpression &key, Value maximum,
                                      Value logarithm) {
  Value difference;
  const double scale = problem.scale;
  int exponent;
  if (const bool isPowerOfTwo = std::frexp(scale, &exponent) == 0.5;
      isPlain && isPowerOfTwo)
    // The scaled product is exact, so this is rounded where a difference is.
    difference = multiplyAdd(product, number(scale), negative(maximum));
  else
    difference = create<arith::SubFOp>(scoreAt(product, query, key), maximum);
  return coarseExp2(multiplyAdd(difference, number(llvm::numbers::log2e),
                                negative(logarithm)));
}

void GradientOnTensorCores::finishWeights(Coefficients &c, bool isWhole,
                                          ElementIndex queryOf,
                                          ElementIndex keyOf,
                                          ElementStatistic statistic) {
  for (auto [i, weight] : llvm::enumerate(c.weights)) {
    IndexExpression query = queryOf(i), key = keyOf(i);
    weight = weightOf(weight, query, key, statistic(i, Statistic::maximum),
                      statistic(i, Statistic::logarithm));
    if (!isWhole)
      weight = whereTaken(weight, query, key, 0);
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
  Value difference =
      problem.scale == 1
          ? create<arith::SubFOp>(gradient, mean).getResult()
          : multiplyAdd(gradient, number(problem.scale), negative(mean));
  return whereScored(multiply(weight, difference), query, key);
}

Value GradientOnTensorCores::whereScored(Value weight,
                                         const IndexExpression &query,
                                         const IndexExpression &key) {
  if (!problem.mask)
    return weight;
  return create<arith::SelectOp>(
      besides(problem.mask, problem.maskDims, query, key), weight, number(0));
}

//===----------------------------------------------------------------------===//
// Both launches
//===----------------------------------------------------------------------===//

void QueriesOnTensorCores::emit(const IndexExpression &first) {
  const SmallVector<Stretch> stretches =
      stretchesOfKeys(first, layout.rows(), layout.columns);
  firstQuery = first + tiles.warp * rowsOfWarp;
  for (int64_t half = 0; half < 2; ++half) {
    const IndexExpression query = firstQuery + rowOf(2 * half);
    statistics[half][Statistic::maximum] = statisticOf(op.getMaximum(), query);
    statistics[half][Statistic::logarithm] = logarithmOf(query);
  }
  auto fetch = [&](const IndexExpression &index, Value stage,
                   SmallVectorImpl<TensorTiles::Held> &held) {
    fetchPair(key, value, layout.columns, index * layout.columns, stage, held);
  };
  fetchRows(query, outputGradient, first);
  SmallVector<TensorTiles::Held> held;
  fetch(0, stageMemory, held);
  tiles.store(stageMemory, held);
  tiles.endGroup();
  Values state =
      walk(constantIndex(0), stretches,
           llvm::divideCeil(problem.keys, layout.columns), stageMemory,
           layout.stageBytes(),
           Values(slopeSumsAt + 2 * sumsOfRows(), number(0)), fetch,
           [&](const IndexExpression &index, Value stage, Values &state,
               bool isWhole) {
             takeBlock(index * layout.columns, stage, state, isWhole);
           });

  for (int64_t half = 0; half < 2; ++half) {
    Value mean = state[gradientsAt + half];
    if (!makesQueries)
      mean = overRow(mean, [&](Value a, Value b) { return add(a, b); });
    if (problem.scale != 1)
      mean = multiply(mean, number(problem.scale));
    if (makesQueries)
      moveMean(half, mean, state);
    if (makesKeys)
      ifBelow(firstQuery + rowOf(2 * half), problem.queries,
              [&](const IndexExpression &query) {
                ifBelow(column, 2, [&](const IndexExpression &) {
                  tiles.store(addressOfMean(query), mean);
                });
              });
  }
  if (makesQueries)
    storeRows(op.getQueryGradient(), op.getQueryGradientDims(),
              slopeSums(state), problem.features, firstQuery, problem.queries,
              rowMemory);
}

void QueriesOnTensorCores::takeBlock(const IndexExpression &firstKey,
                                     Value stage, Values &state, bool isWhole) {
  auto queryOf = [&](int64_t i) { return firstQuery + rowOf(i); };
  auto keyOf = [&](int64_t i) { return firstKey + columnOf(i); };
  Coefficients c = coefficientsOf(stage);
  finishWeights(c, isWhole, queryOf, keyOf, [&](int64_t i, Statistic which) {
    return statistics[i / 2 % 2][which];
  });
  auto sumOf = [&](Values values) {
    auto sum = [&](Value a, Value b) { return add(a, b); };
    Value own = joined(std::move(values), sum);
    return makesQueries ? overRow(own, sum) : own;
  };
  Values products;
  for (auto [weight, gradient] : llvm::zip_equal(c.weights, c.gradients))
    products.push_back(multiply(weight, gradient));
  for (int64_t half = 0; half < 2; ++half) {
    Value &gradients = state[gradientsAt + half];
    gradients = add(gradients, sumOf(ofRow(products, half)));
    if (!makesQueries)
      continue;
    Value &weights = state[weightsAt + half];
    weights = add(weights, sumOf(ofRow(c.weights, half)));
    // Any number would do that is near the mean; with next to no weights so far
    // the slopes are next to nothing, too.
    constexpr float fewWeights = 0x1p-60f;
    Value mean = instructions.divideInRange(
        builder, loc, gradients, largerOrNaN(weights, number(fewWeights)));
    if (problem.scale != 1)
      mean = multiply(mean, number(problem.scale));
    moveMean(half, mean, state);
  }
  if (!makesQueries)
    return;
  Values slopes;
  for (auto [i, weight] : llvm::enumerate(c.weights)) {
    const IndexExpression query = queryOf(i), key = keyOf(i);
    slopes.push_back(slopeOf(weight, c.gradients[i], state[meansAt + i / 2 % 2],
                             query, key));
    if (!isWhole)
      slopes.back() = whereTaken(slopes.back(), query, key, 0);
    weight = whereScored(weight, query, key);
  }
  addWeighted({{slopeSums(state), slopes}, {weightSums(state), c.weights}},
              stage, rowColumns);
}

void QueriesOnTensorCores::moveMean(int64_t half, Value mean, Values &state) {
  Value &before = state[meansAt + half];
  Value difference = create<arith::SubFOp>(before, mean);
  for (auto [i, sums] :
       llvm::enumerate(llvm::zip_equal(slopeSums(state), weightSums(state))))
    if (auto [slopes, weights] = sums; int64_t(i) / 2 % 2 == half)
      slopes = multiplyAdd(weights, difference, slopes);
  before = mean;
}

void KeysOnTensorCores::emit(const Indices &own, const IndexExpression &first) {
  setBatch(own, {});
  const int64_t blocks = llvm::divideCeil(problem.queries, layout.columns);
  const int64_t wholeBlocks = problem.queries / layout.columns;
  // Queries in front of the block's first key leave all of it out, those behind
  // its last key none.
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
      put(Statistic::logarithm, logarithmOf(query));
      if (makesKeys)
        put(Statistic::mean,
            tiles.load(addressOfMean(query), builder.getF32Type()));
    });
  };
  const int64_t keySums = makesKeys ? 4 * layout.width / columnsAtOnce : 0,
                valueSums =
                    makesValues ? 4 * layout.valueWidth / columnsAtOnce : 0;
  auto take = [&](const IndexExpression &index, Value stage, Values &state,
                  bool isWhole) {
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
    auto whereQuery = [&](Value value, const IndexExpression &query,
                          const IndexExpression &key) {
      if (isWhole)
        return value;
      return whereBelow(whereTaken(value, query, key, 0), query,
                        problem.queries, 0);
    };
    Coefficients c = coefficientsOf(stage);
    finishWeights(c, isWhole, queryOf, keyOf, statistic);
    Values slopes;
    for (auto [i, weight] : llvm::enumerate(c.weights)) {
      const IndexExpression query = queryOf(i), key = keyOf(i);
      if (makesKeys)
        slopes.push_back(
            whereQuery(slopeOf(weight, c.gradients[i],
                               statistic(i, Statistic::mean), query, key),
                       query, key));
      if (problem.factor)
        weight = multiply(
            weight, besides(problem.factor, problem.factorDims, query, key));
      weight = whereQuery(weight, query, key);
    }
    if (makesKeys)
      addWeighted({{MutableArrayRef(state).take_front(keySums), slopes}}, stage,
                  rowColumns);
    if (makesValues)
      addWeighted({{MutableArrayRef(state).drop_front(keySums), c.weights}},
                  valuesBehind(stage, layout.columns), valueColumns);
  };
  Value beginAt = algebra.scalar(begin), end = constantIndex(blocks);
  SmallVector<Stretch> stretches;
  if (problem.causal) {
    Value firstWhole = algebra.scalar(algebra.floorDiv(
        first + (layout.rows() + layout.columns - 2), layout.columns));
    stretches.push_back(
        {create<arith::MinUIOp>(firstWhole, end), /*isWhole=*/false});
  }
  if (wholeBlocks > 0) {
    Value wholeEnd = constantIndex(wholeBlocks);
    // Of which there are none where the first stretch goes on behind them.
    if (problem.causal)
      wholeEnd = create<arith::MaxUIOp>(wholeEnd, stretches.front().end);
    stretches.push_back({wholeEnd, /*isWhole=*/true});
  }
  if (wholeBlocks < blocks)
    stretches.push_back({end, /*isWhole=*/false});

  fetchRows(key, value, first);
  Values sums = forSpace(
      batchExtents(/*areShared=*/true), Values(keySums + valueSums, number(0)),
      [&](const Indices &sharedBatch, ValueRange carried) {
        setBatch(own, sharedBatch);
        SmallVector<TensorTiles::Held> held;
        fetch(begin, stageMemory, held);
        tiles.store(stageMemory, held);
        tiles.endGroup();
        return walk(beginAt, stretches, blocks, stageMemory,
                    layout.stageBytes(), Values(carried), fetch, take);
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
  const int64_t threads = layout.warps * threadsOfWarp;
  return launchesOfGradient<QueriesOnTensorCores, KeysOnTensorCores>(
      source, op, threads,
      elementCount(problem.batch) * layout.blocksOf(problem.queries),
      step::attentionUnits(op) * layout.blocksOf(problem.keys));
}

} // namespace tenon::codegen
