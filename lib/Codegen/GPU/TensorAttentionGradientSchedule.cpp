//===- TensorAttentionGradientSchedule.cpp - Gradients on tensor cores ----===//
//
// `step.attention_gradient` of 16-bit operands, in two launches, since blocks
// of the second read what several blocks of the first have written:
//
//   rows of queries  a warp has some of them and walks the keys for the gradient
//                    of the queries and the mean of the weights' gradients,
//                    which it leaves in scratch memory
//   rows of keys     a warp has some of them and walks the queries of all batches
//                    that share the keys: transposed weights and slopes are the
//                    coefficients of the output's gradient and of the queries
//
// Both compute products of queries and keys again, and from these the weights,
// by the maximum and the sum of the forward operation. Nothing goes through
// memory but two numbers of each query, or four (Statistic).
//
// A slope is a weight times what its gradient is above the mean, which is known
// behind the last key. So slopes are above a mean of keys so far, of those that
// there were when weights had last doubled. What weights alone sum to with the
// keys as rows is there, too; times what the mean has changed by, it is what the
// sums so far have too much.
//
// The order of sums is not that of docs/Rationale/Attention.md, and weights and
// slopes are rounded to 16 bits before they are multiplied; GpuKernels.md says
// how much that is.
//
//===----------------------------------------------------------------------===//

#include "TensorAttention.h"

#include "tenon/Analysis/GradientSums.h"
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

/// Whether blocks of so many rows have whole sums of the gradients that make up
/// `summed`: what follows a row in memory are the columns of the sum.
bool haveWholeSums(const KernelSource &source, const GradientSum &sum,
                   Value gradient, ArrayRef<int64_t> dims, int64_t blockRows) {
  const int result = source.indexOfResult(gradient);
  if (result < 0 || source.results()[result] != sum.summed)
    return true;
  const auto *row = llvm::find_if(dims, [](int64_t dim) {
    return dim == step::queryPositions || dim == step::keyPositions;
  });
  const size_t at = size_t(row - dims.begin());
  ArrayRef<int64_t> shape = shapeOf(gradient);
  const int64_t columns = elementCount(shape.drop_front(at + 1));
  if (blockRows != rowsOfGradientSum || shape[at] % rowsOfGradientSum != 0)
    return false;
  if (gradient == sum.summed)
    return columns == sum.columns();
  while (gradient != sum.summed) {
    Operation *mover = *gradient.user_begin();
    auto joined = dyn_cast<stablehlo::ConcatenateOp>(mover);
    if (joined && (shapeOf(gradient).back() != columns ||
                   joined.getDimension() + 1 != shapeOf(gradient).size()))
      return false;
    gradient = mover->getResult(0);
  }
  return shapeOf(gradient).back() == sum.columns();
}

/// What both launches know of a query, in scratch memory between them: of plain
/// scores what their scaled product is added to for the argument of coarseExp2,
/// or else the maximum and the logarithm of the sum in base 2; and the scaled
/// mean of the weights' gradients.
enum Statistic : int64_t { reference, mean, logarithm };

int64_t statisticsOfQuery(bool isPlain) { return isPlain ? 2 : 4; }

bool areNarrow(const AttentionProblem &p) {
  return paddedFeatures(p.features) + paddedFeatures(p.valueFeatures) <= 128;
}

/// Warps of a block with one strip of rows each.
constexpr BlockShape oneStrip = {4, 1, 32};

/// How a block's shared memory is laid out: two tiles of its rows, then twice
/// two tiles of columns and the statistics of these.
struct GradientTiles : BlockShape {
  int64_t width, valueWidth, bytesOfStatistics;

  /// Of the shape, or of a smaller one where that takes too much memory.
  GradientTiles(const AttentionProblem &p, int64_t statistics,
                const BlockShape &largest)
      : width(paddedFeatures(p.features)),
        valueWidth(paddedFeatures(p.valueFeatures)),
        bytesOfStatistics(4 * statistics) {
    // Shared memory whose extent is known to the assembler.
    constexpr int64_t mostBytes = 48 * 1024;
    for (BlockShape shape :
         {largest, BlockShape{4, 1, 16}, BlockShape{3, 1, 16}}) {
      static_cast<BlockShape &>(*this) = shape;
      if (bytes() <= mostBytes)
        break;
    }
  }
  TileShape tile(int64_t rows, bool isOfValues) const {
    return {rows, isOfValues ? valueWidth : width};
  }
  /// Of a tile of rows and the one of values behind it.
  int64_t pairBytes(int64_t rows) const {
    return tile(rows, false).bytes() + tile(rows, true).bytes();
  }
  int64_t stageBytes() const {
    return pairBytes(columns) + columns * bytesOfStatistics;
  }
  int64_t bytes() const {
    const int64_t resultBytes = rows() * std::max(width, valueWidth) * 4;
    return std::max(pairBytes(rows()) + stagesOfAttention * stageBytes(),
                    resultBytes);
  }
};

class GradientOnTensorCores : protected TensorAttentionKernel {
protected:
  GradientOnTensorCores(const KernelSource &source, func::FuncOp function,
                        const LaunchShape &launch,
                        const GpuInstructions &instructions,
                        const GradientTiles &layout)
      : TensorAttentionKernel(source, function, launch, instructions,
                              AttentionProblem(gradientOf(source)), layout),
        op(gradientOf(source)), layout(layout),
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

  /// Stores what the block's rows of a gradient add up to, where that is a
  /// result: as they are stored, first in a lane, then in its warp, then in the
  /// block.
  void storeSums(Value gradient, ArrayRef<int64_t> dims, ArrayRef<Value> sums,
                 int64_t features, const IndexExpression &firstOfBlock);
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
                 const IndexExpression &key, ElementStatistic statistic,
                 int64_t i);
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
      : GradientOnTensorCores(source, function, launch, instructions,
                              layoutOf(source)) {
    Indices place = algebra.delinearize(
        block, {elementCount(problem.batch), layout.blocksOf(problem.queries)});
    batch = algebra.delinearize(place[0], problem.batch);
    setBlocksAtOnce(areNarrow(problem) ? 2 : 1);
    emit(place[1] * layout.rows());
  }

  static GradientTiles layoutOf(const KernelSource &source) {
    return {AttentionProblem(gradientOf(source)), /*statistics=*/0, oneStrip};
  }

private:
  void emit(const IndexExpression &first);
  void takeBlock(const IndexExpression &index, Value stage, Values &state,
                 bool isWhole);
  /// Changes the mean that a row's slopes so far are above.
  void moveMean(int64_t row, Value mean, Values &state);
  /// To that of the keys so far.
  void moveMeans(Values &state);
  Value ofRow(Value sumOfLane) {
    return overRow(sumOfLane, [&](Value a, Value b) { return add(a, b); });
  }

  /// The first query of the warp, and of each row of the lane what is known
  /// from the forward operation.
  IndexExpression firstQuery;
  SmallVector<std::array<Value, 3>> statistics;
  /// What a loop over blocks of keys carries, in this order: of each row the
  /// lane's sums of weights and of weights times gradients, and the scaled mean
  /// that slopes are above; then what slopes sum to, and what weights do.
  Value &weightsOf(Values &state, int64_t row) const { return state[row]; }
  Value &gradientsOf(Values &state, int64_t row) const {
    return state[rowsOfLane() + row];
  }
  Value &meanOf(Values &state, int64_t row) const {
    return state[2 * rowsOfLane() + row];
  }
  /// The lane's sum of weights when the mean was moved.
  Value &weightsBefore(Values &state, int64_t row) const {
    return state[3 * rowsOfLane() + row];
  }
  int64_t sumsOfRows() const {
    return makesQueries ? elementsOfLane(layout.width) : 0;
  }
  MutableArrayRef<Value> slopeSums(Values &state) const {
    return MutableArrayRef(state).slice(4 * rowsOfLane(), sumsOfRows());
  }
  MutableArrayRef<Value> weightSums(Values &state) const {
    return MutableArrayRef(state).drop_front(4 * rowsOfLane() + sumsOfRows());
  }
};

class KeysOnTensorCores : GradientOnTensorCores {
public:
  KeysOnTensorCores(const KernelSource &source, func::FuncOp function,
                    const LaunchShape &launch,
                    const GpuInstructions &instructions)
      : GradientOnTensorCores(source, function, launch, instructions,
                              layoutOf(source)) {
    // So many threads hide latencies; the gradient of queries, which sums
    // weights as well, has no registers for them.
    setBlocksAtOnce(!areNarrow(problem) ? 1 : layout.strips > 1 ? 4 : 3);
    SmallVector<int64_t> own = batchExtents(/*areShared=*/false);
    Indices place = algebra.delinearize(
        block, {elementCount(own), layout.blocksOf(problem.keys)});
    emit(algebra.delinearize(place[0], own), place[1] * layout.rows());
  }

  static GradientTiles layoutOf(const KernelSource &source) {
    const AttentionProblem problem(gradientOf(source));
    // What is loaded of the columns then serves twice as many rows.
    const bool hasRegisters =
        areNarrow(problem) && arePlain(problem) && !problem.factor;
    return {problem, statisticsOfQuery(arePlain(problem)),
            hasRegisters ? BlockShape{2, 2, 32} : oneStrip};
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
    return productsOf(
        [&](int64_t strip, int64_t s) {
          return loadRows(rowTile, rows, strip, s);
        },
        columnTile, isOfValues ? valueColumns : rowColumns);
  };
  return {product(false), product(true)};
}

Value GradientOnTensorCores::weightOf(Value product,
                                      const IndexExpression &query,
                                      const IndexExpression &key,
                                      ElementStatistic statistic, int64_t i) {
  constexpr double exponentOfScore = llvm::numbers::log2e;
  Value before = statistic(i, Statistic::reference);
  if (isPlain)
    return coarseExp2(
        multiplyAdd(product, number(problem.scale * exponentOfScore), before));
  Value difference =
      create<arith::SubFOp>(scoreAt(product, query, key), before);
  Value logarithm = statistic(i, Statistic::logarithm);
  return coarseExp2(
      multiplyAdd(difference, number(exponentOfScore),
                  create<arith::SubFOp>(number(coarseExp2Shift), logarithm)));
}

void GradientOnTensorCores::finishWeights(Coefficients &c, bool isWhole,
                                          ElementIndex queryOf,
                                          ElementIndex keyOf,
                                          ElementStatistic statistic) {
  for (auto [i, weight] : llvm::enumerate(c.weights)) {
    IndexExpression query = queryOf(i), key = keyOf(i);
    weight = weightOf(weight, query, key, statistic, int64_t(i));
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
// Sums
//===----------------------------------------------------------------------===//

void GradientOnTensorCores::storeSums(Value gradient, ArrayRef<int64_t> dims,
                                      ArrayRef<Value> sums, int64_t features,
                                      const IndexExpression &firstOfBlock) {
  const int summed = source.indexOfResult(gradient);
  for (auto [result, value] : llvm::enumerate(source.results())) {
    auto sum = GradientSum::of(value);
    if (!sum || source.results()[summed] != sum->summed)
      continue;
    Type f32 = builder.getF32Type(), type = elementOf(gradient);
    const int64_t groups = int64_t(sums.size()) / 4 / layout.strips,
                  width = groups * columnsAtOnce;
    for (int64_t group = 0; group < groups; ++group) {
      Values ofColumns;
      for (int64_t column = 0; column < 2; ++column) {
        Value total;
        for (int64_t i = column; i < 4 * layout.strips; i += 2) {
          Value term = sums[group * 4 * layout.strips + i];
          if (type != f32)
            term = convertFloat(builder, loc,
                                convertFloat(builder, loc, term, type), f32);
          total = total ? add(total, term) : term;
        }
        ofColumns.push_back(overLanes(
            total, {4, 8, 16}, [&](Value a, Value b) { return add(a, b); }));
      }
      ifBelow(tiles.lane, 4, [&](const IndexExpression &lane) {
        const IndexExpression place =
            tiles.warp * width + lane * 2 + group * columnsAtOnce;
        tiles.store(tiles.addressAt(rowMemory, place * 4),
                    create<vector::FromElementsOp>(VectorType::get({2}, f32),
                                                   ofColumns));
      });
    }
    awaitBlock();
    for (int64_t done = 0; done < features; done += layout.threads())
      ifBelow(thread + done, features, [&](const IndexExpression &feature) {
        Value total;
        for (int64_t warp = 0; warp < layout.warps; ++warp) {
          Value term = tiles.load(
              tiles.addressAt(rowMemory, (feature + warp * width) * 4), f32);
          total = total ? add(total, term) : term;
        }
        Indices place = algebra.delinearize(
            algebra.linearize(
                placeInResult(gradient, indices(dims, firstOfBlock,
                                                firstOfBlock, feature)),
                shapeOf(sum->summed)),
            shapeOf(sum->reduce.getInputs().front()));
        storeResult(unsigned(result), {place[0], place[2]},
                    {total, levels.current()});
      });
    awaitBlock();
  }
}

//===----------------------------------------------------------------------===//
// Both launches
//===----------------------------------------------------------------------===//

void QueriesOnTensorCores::emit(const IndexExpression &first) {
  firstQuery = first + tiles.warp * layout.rowsOfWarp();
  for (int64_t row = 0; row < rowsOfLane(); ++row) {
    const IndexExpression query = firstQuery + rowAt(row);
    Value maximum = statisticOf(op.getMaximum(), query);
    Value natural = emitMath(builder, loc, MathFunction::log,
                             {statisticOf(op.getSum(), query)}, instructions);
    const double log2e = llvm::numbers::log2e;
    Value logarithm = multiply(natural, number(log2e));
    if (isPlain)
      maximum = add(multiplyAdd(maximum, number(-log2e), negative(logarithm)),
                    number(coarseExp2Shift));
    statistics.push_back({maximum, number(0), logarithm});
  }
  Values state(4 * rowsOfLane() + 2 * sumsOfRows(), number(0));
  if (makesQueries || makesKeys) {
    auto fetch = [&](const IndexExpression &index, Value stage,
                     SmallVectorImpl<TensorTiles::Held> &held) {
      fetchPair(key, value, layout.columns, index * layout.columns, stage,
                held);
    };
    fetchRows(query, outputGradient, first);
    SmallVector<TensorTiles::Held> held;
    fetch(0, stageMemory, held);
    tiles.store(stageMemory, held);
    tiles.endGroup();
    state = walk(
        constantIndex(0), stretchesOfKeys(first, layout.rows(), layout.columns),
        llvm::divideCeil(problem.keys, layout.columns), stageMemory,
        layout.stageBytes(), state, fetch,
        [&](const IndexExpression &index, Value stage, Values &state,
            bool isWhole) { takeBlock(index, stage, state, isWhole); });
  }

  for (int64_t row = 0; row < rowsOfLane(); ++row) {
    Value mean = ofRow(gradientsOf(state, row));
    if (problem.scale != 1)
      mean = multiply(mean, number(problem.scale));
    if (makesQueries)
      moveMean(row, mean, state);
    statistics[row][Statistic::mean] = mean;
    if (makesKeys || makesValues)
      ifBelow(firstQuery + rowAt(row), problem.queries,
              [&](const IndexExpression &query) {
                ifBelow(column, 2, [&](const IndexExpression &) {
                  Values all(statistics[row].begin(), statistics[row].end());
                  all.resize(statisticsOfQuery(isPlain), number(0));
                  tiles.store(addressInScratch(query, int64_t(all.size())),
                              create<vector::FromElementsOp>(
                                  VectorType::get({int64_t(all.size())},
                                                  builder.getF32Type()),
                                  all));
                });
              });
  }
  if (makesQueries) {
    storeSums(op.getQueryGradient(), op.getQueryGradientDims(),
              slopeSums(state), problem.features, first);
    storeRows(op.getQueryGradient(), op.getQueryGradientDims(),
              slopeSums(state), problem.features, firstQuery, problem.queries,
              rowMemory);
  }
}

void QueriesOnTensorCores::takeBlock(const IndexExpression &index, Value stage,
                                     Values &state, bool isWhole) {
  auto queryOf = [&](int64_t i) { return firstQuery + rowOf(i); };
  auto keyOf = [&](int64_t i) { return index * layout.columns + columnOf(i); };
  Coefficients c = coefficientsOf(stage);
  finishWeights(c, isWhole, queryOf, keyOf, [&](int64_t i, Statistic which) {
    return statistics[rowNumber(i)][which];
  });
  for (auto [i, weight] : llvm::enumerate(c.weights)) {
    const int64_t row = rowNumber(i);
    Value &gradients = gradientsOf(state, row),
          &weights = weightsOf(state, row);
    gradients = multiplyAdd(weight, c.gradients[i], gradients);
    if (makesQueries)
      weights = add(weights, weight);
  }
  if (!makesQueries)
    return;
  // Any number would do that is near the mean. It is moved when a lane has
  // twice the weights that it had; so has a lane of a row that has twice its.
  Value isDoubled;
  for (int64_t row = 0; row < rowsOfLane(); ++row) {
    Value before = weightsBefore(state, row);
    Value doubled = create<arith::CmpFOp>(
        arith::CmpFPredicate::OGT, weightsOf(state, row), add(before, before));
    isDoubled = isDoubled ? create<arith::OrIOp>(isDoubled, doubled) : doubled;
  }
  state = ifThen(isAnyOfWarp(isDoubled), state, [&] {
    Values moved = state;
    moveMeans(moved);
    return moved;
  });
  Values slopes;
  for (auto [i, weight] : llvm::enumerate(c.weights)) {
    const IndexExpression query = queryOf(i), key = keyOf(i);
    slopes.push_back(slopeOf(weight, c.gradients[i],
                             meanOf(state, rowNumber(i)), query, key));
    if (!isWhole)
      slopes.back() = whereTaken(slopes.back(), query, key, 0);
    weight = whereScored(weight, query, key);
  }
  addWeighted({{slopeSums(state), slopes}, {weightSums(state), c.weights}},
              stage, rowColumns);
}

void QueriesOnTensorCores::moveMeans(Values &state) {
  for (int64_t row = 0; row < rowsOfLane(); ++row) {
    // With next to no weights so far the slopes are next to nothing, too.
    constexpr float fewWeights = 0x1p-60f;
    Value weights =
        largerOrNaN(ofRow(weightsOf(state, row)), number(fewWeights));
    Value mean = instructions.divideInRange(
        builder, loc, ofRow(gradientsOf(state, row)), weights);
    if (problem.scale != 1)
      mean = multiply(mean, number(problem.scale));
    moveMean(row, mean, state);
    weightsBefore(state, row) = weightsOf(state, row);
  }
}

void QueriesOnTensorCores::moveMean(int64_t row, Value mean, Values &state) {
  Value &before = meanOf(state, row);
  Value difference = create<arith::SubFOp>(before, mean);
  for (auto [i, sums] :
       llvm::enumerate(llvm::zip_equal(slopeSums(state), weightSums(state))))
    if (auto [slopes, weights] = sums; rowNumber(int64_t(i)) == row)
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
  const IndexExpression firstKey = first + tiles.warp * layout.rowsOfWarp();
  auto keyOf = [&](int64_t i) { return firstKey + rowOf(i); };
  const int64_t statistics = statisticsOfQuery(isPlain),
                bytesOfStatistics = statistics * 4;
  auto placeOf = [&](const IndexExpression &query) {
    return query * bytesOfStatistics + layout.pairBytes(layout.columns);
  };
  auto fetch = [&](const IndexExpression &index, Value stage,
                   SmallVectorImpl<TensorTiles::Held> &held) {
    const IndexExpression firstQuery = index * layout.columns;
    fetchPair(query, outputGradient, layout.columns, firstQuery, stage, held);
    ifBelow(thread, layout.columns, [&](const IndexExpression &column) {
      tiles.beginCopy(tiles.addressAt(stage, placeOf(column)),
                      addressInScratch(firstQuery + column, statistics),
                      bytesOfStatistics, /*condition=*/nullptr);
    });
  };
  const int64_t keySums = makesKeys ? elementsOfLane(layout.width) : 0,
                valueSums = makesValues ? elementsOfLane(layout.valueWidth) : 0;
  auto take = [&](const IndexExpression &index, Value stage, Values &state,
                  bool isWhole) {
    auto queryOf = [&](int64_t i) {
      return index * layout.columns + columnOf(i);
    };
    // Of neighbours in one access, as far as they fit in it.
    const int64_t atOnce = 4 / statistics;
    llvm::SmallDenseMap<int64_t, Value> loaded;
    auto statistic = [&](int64_t i, Statistic which) -> Value {
      const int64_t j = i / 4 / layout.strips * 4 * layout.strips + i % 2;
      const int64_t first = j - i % 2 % atOnce;
      Value &vector = loaded[first];
      if (!vector)
        vector = tiles.load(tiles.addressAt(stage, placeOf(columnOf(first))),
                            VectorType::get({4}, builder.getF32Type()));
      return create<vector::ExtractOp>(vector,
                                       (j - first) * statistics + which);
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
  if (makesKeys) {
    storeSums(op.getKeyGradient(), op.getKeyGradientDims(),
              ArrayRef(sums).take_front(keySums), problem.features, first);
    storeRows(op.getKeyGradient(), op.getKeyGradientDims(),
              ArrayRef(sums).take_front(keySums), problem.features, firstKey,
              problem.keys, rowMemory);
  }
  if (makesKeys && makesValues)
    awaitBlock(); // Where a warp's rows lie depends on their length.
  if (makesValues) {
    storeSums(op.getValueGradient(), op.getValueGradientDims(),
              ArrayRef(sums).drop_front(keySums), problem.valueFeatures, first);
    storeRows(op.getValueGradient(), op.getValueGradientDims(),
              ArrayRef(sums).drop_front(keySums), problem.valueFeatures,
              firstKey, problem.keys, rowMemory);
  }
}

} // namespace

bool TensorAttentionGradientSchedule::accepts(
    const KernelSource &source) const {
  step::AttentionGradientOp op = gradientOf(source);
  if (!op)
    return false;
  const int64_t ofQueries = QueriesOnTensorCores::layoutOf(source).rows(),
                ofKeys = KeysOnTensorCores::layoutOf(source).rows();
  return llvm::all_of(source.results(), [&](Value result) {
    auto sum = GradientSum::of(result);
    return !sum || (llvm::is_contained(source.results(), sum->summed) &&
                    haveWholeSums(source, *sum, op.getQueryGradient(),
                                  op.getQueryGradientDims(), ofQueries) &&
                    haveWholeSums(source, *sum, op.getKeyGradient(),
                                  op.getKeyGradientDims(), ofKeys) &&
                    haveWholeSums(source, *sum, op.getValueGradient(),
                                  op.getValueGradientDims(), ofKeys));
  });
}

SmallVector<GpuLaunch>
TensorAttentionGradientSchedule::launches(const KernelSource &source) const {
  step::AttentionGradientOp op = gradientOf(source);
  const AttentionProblem problem(op);
  const GradientTiles queries = QueriesOnTensorCores::layoutOf(source),
                      keys = KeysOnTensorCores::layoutOf(source);
  const LaunchShape ofQueries = {.parts = elementCount(problem.batch) *
                                          queries.blocksOf(problem.queries),
                                 .threads = queries.threads()};
  const LaunchShape ofKeys = {.parts = step::attentionUnits(op) *
                                       keys.blocksOf(problem.keys),
                              .threads = keys.threads()};
  return launchesOfGradient<QueriesOnTensorCores, KeysOnTensorCores>(
      source, op, ofQueries, ofKeys, statisticsOfQuery(arePlain(problem)),
      /*ofValues=*/true);
}

} // namespace tenon::codegen
