//===- FloatAttentionGradientSchedule.cpp - Gradients of f32 --------------===//
//
// `step.attention_gradient` in the order of sums of
// docs/Rationale/Attention.md, in two launches:
//
//   rows of queries  walk the keys twice: for the mean of the weights'
//                    gradients (GradientCenter.h), by key mod 16, which is left
//                    in scratch memory, and for the slopes, which the gradient
//                    of the queries takes times the keys
//   rows of keys     walk the queries of all batches that share the keys: the
//                    gradients of values and of keys take weights and slopes
//                    times the output's gradient and the queries
//
// Up to 64 keys are one tile, whose weights stay in registers. Of more than 128
// features, blocks share those of the results.
//
//===----------------------------------------------------------------------===//

#include "FloatAttention.h"

#include "tenon/Analysis/GradientSums.h"
#include "tenon/Analysis/Shapes.h"
#include "tenon/Codegen/Loops/GradientCenter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::codegen {
namespace {

using step::AttentionProblem;
using Tiles = FloatAttentionTiles;

step::AttentionGradientOp gradientOf(const KernelSource &source) {
  auto op = dyn_cast_or_null<step::AttentionGradientOp>(source.root);
  return op && !llvm::any_of(source.results(), summedGradients) &&
                 fitsFloatAttention(
                     source, {op.getQuery(), op.getKey(), op.getValue(),
                              op.getOutputGradient(), op.getQueryGradient(),
                              op.getKeyGradient(), op.getValueGradient()})
             ? op
             : nullptr;
}

/// Sums of `width` features have to fit in registers, and steps that are not
/// copied.
int64_t mostRows(step::AttentionGradientOp op, const AttentionProblem &p,
                 int64_t width) {
  const AttentionRows operands[] = {
      {p.query, p.queryDims},
      {p.key, p.keyDims},
      {p.value, p.valueDims},
      {op.getOutputGradient(), op.getOutputGradientDims()}};
  const bool areCopied = llvm::all_of(
      operands, [](const AttentionRows &rows) { return rows.isCopied(); });
  return areCopied && width <= 128 ? 8 : 4;
}

Tiles queryTiles(step::AttentionGradientOp op, const AttentionProblem &p) {
  return {mostRows(op, p, Tiles::widthOf(p.features)), elementCount(p.batch),
          p.queries};
}

Tiles keyTiles(step::AttentionGradientOp op, const AttentionProblem &p) {
  return {
      mostRows(op, p,
               Tiles::widthOf(p.features) + Tiles::widthOf(p.valueFeatures)),
      step::attentionUnits(op), p.keys};
}

/// What both launches share.
class FloatGradient : protected FloatAttentionKernel {
protected:
  FloatGradient(const KernelSource &source, func::FuncOp function,
                const LaunchShape &launch, const GpuInstructions &instructions,
                step::AttentionGradientOp op, const AttentionProblem &p,
                const Tiles &layout, bool rowsAreQueries)
      : FloatAttentionKernel(source, function, launch, instructions, p, layout,
                             rowsAreQueries),
        op(op), query(p.query, p.queryDims), key(p.key, p.keyDims),
        value(p.value, p.valueDims),
        outputGradient(op.getOutputGradient(), op.getOutputGradientDims()),
        width(Tiles::widthOf(p.features)),
        valueWidth(Tiles::widthOf(p.valueFeatures)) {}

  bool makes(Value result) { return source.indexOfResult(result) >= 0; }
  IndexExpression queryOf(const IndexExpression &firstColumn, int64_t e) {
    return rowsAreQueries ? firstRow + rowOf(rowOfElement(e))
                          : firstColumn + columnOf(columnOfElement(e));
  }
  IndexExpression keyOf(const IndexExpression &firstColumn, int64_t e) {
    return rowsAreQueries ? firstColumn + columnOf(columnOfElement(e))
                          : firstRow + rowOf(rowOfElement(e));
  }
  /// The element's of what there is per query, which rows or columns are.
  template <typename T>
  const T &perQuery(const SmallVector<T> &values, int64_t e) {
    return values[rowsAreQueries ? rowOfElement(e) : columnOfElement(e)];
  }
  Value reciprocalOf(const IndexExpression &query) {
    return create<arith::DivFOp>(number(1), statisticOf(op.getSum(), query));
  }

  /// Of the block's rows and a tile of columns: weights, gradients of the
  /// weights times the factors, and slopes.
  Values weightsOf(const IndexExpression &firstColumn, const Values &maxima,
                   const Values &reciprocals);
  Values gradientsOf(const IndexExpression &firstColumn);
  using Centers = SmallVector<GradientCenter>;
  Values slopesOf(const Values &weights, const Values &gradients,
                  const IndexExpression &firstColumn, const Centers &centers);

  step::AttentionGradientOp op;
  const Rows query, key, value, outputGradient;
  const int64_t width, valueWidth;
};

FloatGradient::Values
FloatGradient::weightsOf(const IndexExpression &firstColumn,
                         const Values &maxima, const Values &reciprocals) {
  Values weights = products(rowsAreQueries ? query : key,
                            rowsAreQueries ? key : query, firstColumn);
  for (int64_t e = 0; e < elements(); ++e) {
    IndexExpression query = queryOf(firstColumn, e),
                    key = keyOf(firstColumn, e);
    Value score =
        whereTaken(scoreAt(weights[e], query, key), query, key, nothing);
    weights[e] = multiply(exponential(score, perQuery(maxima, e)),
                          perQuery(reciprocals, e));
  }
  return weights;
}

FloatGradient::Values
FloatGradient::gradientsOf(const IndexExpression &firstColumn) {
  Values gradients =
      products(rowsAreQueries ? outputGradient : value,
               rowsAreQueries ? value : outputGradient, firstColumn);
  for (int64_t e = 0; e < elements(); ++e) {
    IndexExpression query = queryOf(firstColumn, e),
                    key = keyOf(firstColumn, e);
    Value &gradient = gradients[e];
    gradient = rounded(gradient, problem.roundsWeightGradients, problem.value);
    if (problem.factor)
      gradient = multiply(
          gradient, besides(problem.factor, problem.factorDims, query, key));
    gradient = whereBelow(gradient, key, problem.keys, 0);
  }
  return gradients;
}

FloatGradient::Values
FloatGradient::slopesOf(const Values &weights, const Values &gradients,
                        const IndexExpression &firstColumn,
                        const Centers &centers) {
  Values slopes;
  for (int64_t e = 0; e < elements(); ++e) {
    Value slope = multiply(weights[e], fromCenter(builder, loc, gradients[e],
                                                  perQuery(centers, e)));
    if (problem.scale != 1)
      slope = multiply(slope, number(problem.scale));
    if (problem.mask)
      slope = create<arith::SelectOp>(besides(problem.mask, problem.maskDims,
                                              queryOf(firstColumn, e),
                                              keyOf(firstColumn, e)),
                                      slope, number(0));
    slopes.push_back(rounded(slope, problem.roundsSlopes, problem.key));
  }
  return slopes;
}

//===----------------------------------------------------------------------===//
// Rows of queries
//===----------------------------------------------------------------------===//

class FloatQueryGradient : FloatGradient {
public:
  FloatQueryGradient(const KernelSource &source, func::FuncOp function,
                     const LaunchShape &launch,
                     const GpuInstructions &instructions)
      : FloatQueryGradient(source, function, launch, instructions,
                           gradientOf(source),
                           AttentionProblem(gradientOf(source))) {}

private:
  FloatQueryGradient(const KernelSource &source, func::FuncOp function,
                     const LaunchShape &launch,
                     const GpuInstructions &instructions,
                     step::AttentionGradientOp op, const AttentionProblem &p)
      : FloatGradient(source, function, launch, instructions, op, p,
                      queryTiles(op, p), /*rowsAreQueries=*/true) {
    emit();
  }
  void emit();
  void storeCenters(const Centers &centers);
  /// Whether the sum over keys has a term there, up to the end of a group.
  Value isInSum(const IndexExpression &query, const IndexExpression &key);
};

Value FloatQueryGradient::isInSum(const IndexExpression &query,
                                  const IndexExpression &key) {
  constexpr int64_t group = step::attentionKeyGroup;
  const int64_t end = llvm::alignTo(problem.keys, group);
  Value isIn;
  auto require = [&](arith::CmpIPredicate predicate, Value a, Value b) {
    Value next = create<arith::CmpIOp>(predicate, a, b);
    isIn = isIn ? Value(create<arith::AndIOp>(isIn, next)) : next;
  };
  if (algebra.range(key).high >= end)
    require(arith::CmpIPredicate::ult, algebra.scalar(key), constantIndex(end));
  if (problem.causal)
    require(arith::CmpIPredicate::ule,
            algebra.scalar(algebra.floorDiv(key, group)),
            algebra.scalar(algebra.floorDiv(query, group)));
  return isIn;
}

void FloatQueryGradient::emit() {
  const int64_t rows = layout.rowsOfThread;
  Indices place = algebra.delinearize(
      block, {elementCount(problem.batch), layout.blocksOf(problem.queries),
              Tiles::blocksOfFeatures(problem.features)});
  batch = algebra.delinearize(place[0], problem.batch);
  firstRow = place[1] * layout.rows();
  const IndexExpression firstFeature = place[2] * Tiles::mostFeatures;

  Values maxima, reciprocals, largest;
  for (int64_t i = 0; i < rows; ++i) {
    maxima.push_back(statisticOf(op.getMaximum(), firstRow + rowOf(i)));
    reciprocals.push_back(reciprocalOf(firstRow + rowOf(i)));
    largest.push_back(largestWeight(builder, loc, reciprocals.back()));
  }
  struct Coefficients {
    Values weights, gradients;
  };
  auto coefficientsOf = [&](const IndexExpression &firstKey) -> Coefficients {
    return {weightsOf(firstKey, maxima, reciprocals), gradientsOf(firstKey)};
  };
  std::optional<Coefficients> kept;
  if (tilesOfColumns() == 1)
    kept = coefficientsOf(0);
  auto forKeys = [&](Values state, auto take) {
    auto body = [&](const IndexExpression &tile, ValueRange held) {
      Values next(held);
      const IndexExpression firstKey = tile * Tiles::columns;
      take(kept ? *kept : coefficientsOf(firstKey), firstKey, next);
      return next;
    };
    return kept ? body(0, state)
                : forLoop(firstTile(), endOfTiles(), 1,
                          {0, tilesOfColumns() - 1}, 1, /*isLane=*/false, state,
                          body);
  };

  Values sums = forKeys(
      Values(rows * centerSumCount, number(0)),
      [&](const Coefficients &c, const IndexExpression &firstKey,
          Values &sums) {
        for (int64_t e = 0; e < elements(); ++e) {
          MutableArrayRef<Value> ofRow = MutableArrayRef(sums).slice(
              rowOfElement(e) * centerSumCount, centerSumCount);
          Value isIn = isInSum(queryOf(firstKey, e), keyOf(firstKey, e));
          auto ifIn = [&](Value value) -> Value {
            return isIn ? Value(create<arith::SelectOp>(isIn, value, number(0)))
                        : value;
          };
          llvm::copy(addToCenter(builder, loc, ofRow, ifIn(c.weights[e]),
                                 largest[rowOfElement(e)],
                                 ifIn(c.gradients[e])),
                     ofRow.begin());
        }
      });
  for (Value &sum : sums)
    sum = overRow(sum, [&](Value a, Value b) { return add(a, b); });
  Centers centers;
  for (int64_t i = 0; i < rows; ++i)
    centers.push_back(
        centerOf(builder, loc,
                 ArrayRef(sums).slice(i * centerSumCount, centerSumCount)));
  if (makes(op.getKeyGradient()))
    ifBelow(place[2], 1, [&](const IndexExpression &) {
      ifBelow(lane, 1, [&](const IndexExpression &) { storeCenters(centers); });
    });
  if (!makes(op.getQueryGradient()))
    return;
  sums = forKeys(Values(sumsOf(width), number(0)),
                 [&](const Coefficients &c, const IndexExpression &firstKey,
                     Values &sums) {
                   share(slopesOf(c.weights, c.gradients, firstKey, centers),
                         firstKey);
                   addWeighted(sums, key, firstKey, firstFeature, width);
                 });
  storeRows(op.getQueryGradient(), op.getQueryGradientDims(), sums, query,
            firstFeature, width);
}

void FloatQueryGradient::storeCenters(const Centers &centers) {
  for (int64_t i = 0; i < layout.rowsOfThread; ++i)
    ifBelow(firstRow + rowOf(i), problem.queries,
            [&](const IndexExpression &query) {
              tiles.store(addressInScratch(query, 2, 0), centers[i].pivot);
              tiles.store(addressInScratch(query, 2, 1), centers[i].rest);
            });
}

//===----------------------------------------------------------------------===//
// Rows of keys
//===----------------------------------------------------------------------===//

class FloatKeyGradient : FloatGradient {
public:
  FloatKeyGradient(const KernelSource &source, func::FuncOp function,
                   const LaunchShape &launch,
                   const GpuInstructions &instructions)
      : FloatKeyGradient(source, function, launch, instructions,
                         gradientOf(source),
                         AttentionProblem(gradientOf(source))) {}

private:
  FloatKeyGradient(const KernelSource &source, func::FuncOp function,
                   const LaunchShape &launch,
                   const GpuInstructions &instructions,
                   step::AttentionGradientOp op, const AttentionProblem &p)
      : FloatGradient(source, function, launch, instructions, op, p,
                      keyTiles(op, p), /*rowsAreQueries=*/false) {
    emit();
  }
  void emit();
  void takeQueries(const IndexExpression &firstQuery, Values &sums);

  const bool makesKeys = makes(op.getKeyGradient()),
             makesValues = makes(op.getValueGradient());
  IndexExpression firstFeature;
};

void FloatKeyGradient::emit() {
  SmallVector<int64_t> own = batchExtents(/*areShared=*/false);
  Indices place = algebra.delinearize(
      block, {elementCount(own), layout.blocksOf(problem.keys),
              Tiles::blocksOfFeatures(
                  std::max(problem.features, problem.valueFeatures))});
  Indices ownBatch = algebra.delinearize(place[0], own);
  firstRow = place[1] * layout.rows();
  firstFeature = place[2] * Tiles::mostFeatures;

  const size_t keySums = makesKeys ? sumsOf(width) : 0,
               valueSums = makesValues ? sumsOf(valueWidth) : 0;
  Values sums = forSpace(
      batchExtents(/*areShared=*/true), Values(keySums + valueSums, number(0)),
      [&](const Indices &shared, ValueRange carried) {
        setBatch(ownBatch, shared);
        return forLoop(firstTile(), endOfTiles(), 1, {0, tilesOfColumns() - 1},
                       1, /*isLane=*/false, carried,
                       [&](const IndexExpression &tile, ValueRange carried) {
                         Values next(carried);
                         takeQueries(tile * Tiles::columns, next);
                         return next;
                       });
      });
  setBatch(ownBatch, {});
  if (makesKeys)
    storeRows(op.getKeyGradient(), op.getKeyGradientDims(),
              ArrayRef(sums).take_front(keySums), key, firstFeature, width);
  if (makesValues)
    storeRows(op.getValueGradient(), op.getValueGradientDims(),
              ArrayRef(sums).drop_front(keySums), value, firstFeature,
              valueWidth);
}

void FloatKeyGradient::takeQueries(const IndexExpression &firstQuery,
                                   Values &sums) {
  auto perColumn = [&](auto valueOf) {
    SmallVector<decltype(valueOf(firstQuery))> values;
    for (int64_t j = 0; j < Tiles::columnsOfThread; ++j)
      values.push_back(valueOf(firstQuery + columnOf(j)));
    return values;
  };
  Values maxima = perColumn([&](const IndexExpression &query) {
    return statisticOf(op.getMaximum(), query);
  });
  Values reciprocals = perColumn(
      [&](const IndexExpression &query) { return reciprocalOf(query); });
  const size_t keySums = makesKeys ? sumsOf(width) : 0;
  const Values weights = weightsOf(firstQuery, maxima, reciprocals);
  if (makesValues) {
    Values coefficients = weights;
    for (int64_t e = 0; e < elements(); ++e) {
      Value &weight = coefficients[e];
      if (problem.factor)
        weight = multiply(weight, besides(problem.factor, problem.factorDims,
                                          queryOf(firstQuery, e),
                                          keyOf(firstQuery, e)));
      weight = rounded(weight, problem.roundsWeights, problem.value);
    }
    share(coefficients, firstQuery);
    addWeighted(MutableArrayRef(sums).drop_front(keySums), outputGradient,
                firstQuery, firstFeature, valueWidth);
  }
  if (!makesKeys)
    return;
  const Values gradients = gradientsOf(firstQuery);
  Centers centers = perColumn([&](const IndexExpression &query) {
    Type f32 = builder.getF32Type();
    return GradientCenter{tiles.load(addressInScratch(query, 2, 0), f32),
                          tiles.load(addressInScratch(query, 2, 1), f32)};
  });
  share(slopesOf(weights, gradients, firstQuery, centers), firstQuery);
  addWeighted(MutableArrayRef(sums).take_front(keySums), query, firstQuery,
              firstFeature, width);
}

} // namespace

bool FloatAttentionGradientSchedule::accepts(const KernelSource &source) const {
  return gradientOf(source) != nullptr;
}

SmallVector<GpuLaunch>
FloatAttentionGradientSchedule::launches(const KernelSource &source) const {
  step::AttentionGradientOp op = gradientOf(source);
  const AttentionProblem p(op);
  return launchesOfGradient<FloatQueryGradient, FloatKeyGradient>(
      source, op,
      {.parts = elementCount(p.batch) * queryTiles(op, p).blocksOf(p.queries) *
                Tiles::blocksOfFeatures(p.features),
       .threads = Tiles::threads},
      {.parts = step::attentionUnits(op) * keyTiles(op, p).blocksOf(p.keys) *
                Tiles::blocksOfFeatures(std::max(p.features, p.valueFeatures)),
       .threads = Tiles::threads},
      /*numbersOfQuery=*/2, /*ofValues=*/false);
}

} // namespace tenon::codegen
