//===- FloatAttentionSchedule.cpp - Attention of f32 ----------------------===//
//
// `step.attention` in the order of sums of docs/Rationale/Attention.md, which
// needs the maximum of 512 keys before the first of their weights. So a block
// of threads, which has a tile of queries of one batch, walks each 512 keys
// twice, and computes their products again:
//
//   maxima   of the scores; what was summed before is multiplied by
//            exp(old maximum - new maximum)
//   weights  exp(score - maximum), summed by key mod 16, times the factors; the
//            output takes them times the values
//
// Up to 64 keys are one tile, whose scores stay in registers. Weights that are
// rounded are divided by their sum before, so the keys are walked once more.
//
//===----------------------------------------------------------------------===//

#include "FloatAttention.h"

#include "tenon/Analysis/Shapes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::codegen {
namespace {

using step::AttentionProblem;
using Tiles = FloatAttentionTiles;

step::AttentionOp attentionOf(const KernelSource &source) {
  auto op = dyn_cast_or_null<step::AttentionOp>(source.root);
  return op && fitsFloatAttention(source, {op.getQuery(), op.getKey(),
                                           op.getValue(), op.getOutput()})
             ? op
             : nullptr;
}

Tiles tilesOf(const AttentionProblem &p) {
  constexpr int64_t mostRows = 8;
  return {mostRows, elementCount(p.batch), p.queries};
}

class FloatAttention : FloatAttentionKernel {
public:
  FloatAttention(const KernelSource &source, func::FuncOp function,
                 const LaunchShape &launch, const GpuInstructions &instructions)
      : FloatAttention(source, function, launch, instructions,
                       AttentionProblem(attentionOf(source))) {}

private:
  FloatAttention(const KernelSource &source, func::FuncOp function,
                 const LaunchShape &launch, const GpuInstructions &instructions,
                 const AttentionProblem &p)
      : FloatAttentionKernel(source, function, launch, instructions, p,
                             tilesOf(p), /*rowsAreQueries=*/true),
        op(attentionOf(source)), query(p.query, p.queryDims),
        key(p.key, p.keyDims), value(p.value, p.valueDims),
        makesOutput(source.indexOfResult(op.getOutput()) >= 0),
        width(Tiles::widthOf(p.valueFeatures)) {
    emit();
  }

  void emit();
  Values takeKeys(Value firstTile, Value endOfTiles, ValueRange state);
  void storeStatistics(const Values &state);

  /// Masked products, -infinity where the key does not take part.
  Values scoresOf(const IndexExpression &tile);
  Values forTiles(
      Value first, Value end, Values state,
      llvm::function_ref<Values(const IndexExpression &tile, ValueRange state)>
          body) {
    return forLoop(
        first, end, 1, {0, tilesOfColumns() - 1}, 1,
        /*isLane=*/false, state, body,
        double(llvm::divideCeil(problem.keysPerBlock(), Tiles::columns)));
  }

  IndexExpression queryOf(int64_t e) {
    return firstRow + rowOf(rowOfElement(e));
  }
  IndexExpression keyOf(const IndexExpression &tile, int64_t e) {
    return tile * Tiles::columns + columnOf(columnOfElement(e));
  }

  step::AttentionOp op;
  const Rows query, key, value;
  const bool makesOutput;
  const int64_t width;
  IndexExpression firstFeature;
};

void FloatAttention::emit() {
  Indices place = algebra.delinearize(
      block, {elementCount(problem.batch), layout.blocksOf(problem.queries),
              Tiles::blocksOfFeatures(problem.valueFeatures)});
  batch = algebra.delinearize(place[0], problem.batch);
  firstRow = place[1] * layout.rows();
  firstFeature = place[2] * Tiles::mostFeatures;

  // Per row its maximum and its sum, then the output.
  Values state(layout.rowsOfThread, number(nothing));
  state.append(layout.rowsOfThread, number(0));
  if (makesOutput)
    state.append(sumsOf(width), number(0));
  const int64_t tilesPerBlock =
      llvm::divideCeil(problem.keysPerBlock(), Tiles::columns);
  const int64_t blocks = llvm::divideCeil(problem.keys, problem.keysPerBlock());
  Value end = endOfTiles();
  if (blocks == 1) {
    state = takeKeys(constantIndex(0), end, state);
  } else {
    state = forLoop(
        constantIndex(0), end, tilesPerBlock, {0, tilesOfColumns() - 1},
        tilesPerBlock, /*isLane=*/false, state,
        [&](const IndexExpression &first, ValueRange carried) {
          Value begin = algebra.scalar(first);
          Value behind = algebra.scalar(first + tilesPerBlock);
          return takeKeys(begin, create<arith::MinUIOp>(behind, end), carried);
        });
  }

  ifBelow(place[2], 1, [&](const IndexExpression &) {
    ifBelow(lane, 1, [&](const IndexExpression &) { storeStatistics(state); });
  });
  if (!makesOutput)
    return;
  MutableArrayRef<Value> output =
      MutableArrayRef(state).drop_front(2 * layout.rowsOfThread);
  if (!problem.roundsWeights)
    for (int64_t i = 0; i < layout.rowsOfThread; ++i) {
      Value factor =
          create<arith::DivFOp>(number(1), state[layout.rowsOfThread + i]);
      const auto perRow = int64_t(output.size()) / layout.rowsOfThread;
      for (Value &sum : output.slice(i * perRow, perRow))
        sum = multiply(sum, factor);
    }
  storeRows(op.getOutput(), op.getOutputDims(), output,
            {op.getOutput(), op.getOutputDims()}, firstFeature, width);
}

FloatAttention::Values FloatAttention::scoresOf(const IndexExpression &tile) {
  Values scores = products(query, key, tile * Tiles::columns);
  for (int64_t e = 0; e < elements(); ++e)
    scores[e] = whereTaken(scoreAt(scores[e], queryOf(e), keyOf(tile, e)),
                           queryOf(e), keyOf(tile, e), nothing);
  return scores;
}

/// Takes tiles of keys that have a maximum of their own.
FloatAttention::Values FloatAttention::takeKeys(Value first, Value end,
                                                ValueRange carried) {
  const int64_t rows = layout.rowsOfThread;
  Values state(carried);
  MutableArrayRef<Value> maxima = MutableArrayRef(state).take_front(rows),
                         sums = MutableArrayRef(state).slice(rows, rows),
                         output = MutableArrayRef(state).drop_front(2 * rows);
  // Of a single tile, they are computed once.
  Values kept;
  if (tilesOfColumns() == 1)
    kept = scoresOf(0);
  auto forScores = [&](Values state, auto take) {
    auto body = [&](const IndexExpression &tile, ValueRange held) {
      Values next(held);
      take(kept.empty() ? scoresOf(tile) : kept, tile, next);
      return next;
    };
    return kept.empty() ? forTiles(first, end, state, body) : body(0, state);
  };

  Values largest = forScores(
      Values(rows, number(nothing)),
      [&](const Values &scores, const IndexExpression &, Values &largest) {
        for (int64_t e = 0; e < elements(); ++e) {
          Value &most = largest[rowOfElement(e)];
          most = larger(scores[e], most);
        }
      });
  const bool isOnlyBlock = problem.keysPerBlock() == problem.keys;
  Values references, corrections;
  for (int64_t i = 0; i < rows; ++i) {
    Value maximum =
        overRow(largest[i], [&](Value a, Value b) { return larger(a, b); });
    if (!isOnlyBlock)
      maximum = larger(maximum, maxima[i]);
    // Where there is nothing but -infinity, all weights are 0.
    Value isNothing = create<arith::CmpFOp>(arith::CmpFPredicate::OEQ, maximum,
                                            number(nothing));
    references.push_back(
        create<arith::SelectOp>(isNothing, number(0), maximum));
    if (!isOnlyBlock) {
      corrections.push_back(exponential(maxima[i], references[i]));
      const auto perRow = int64_t(output.size()) / rows;
      for (Value &sum : output.slice(i * perRow, perRow))
        sum = multiply(sum, corrections[i]);
    }
    maxima[i] = maximum;
  }

  auto addUp = [&](const Values &weights, MutableArrayRef<Value> sums) {
    for (int64_t e = 0; e < elements(); ++e) {
      Value &sum = sums[rowOfElement(e)];
      sum = add(sum, weights[e]);
    }
  };
  auto weightsOf = [&](const Values &scores) {
    Values weights;
    for (int64_t e = 0; e < elements(); ++e)
      weights.push_back(exponential(scores[e], references[rowOfElement(e)]));
    return weights;
  };
  auto finishSums = [&](ArrayRef<Value> ofLanes) {
    for (int64_t i = 0; i < rows; ++i) {
      Value sum =
          overRow(ofLanes[i], [&](Value a, Value b) { return add(a, b); });
      sums[i] = isOnlyBlock ? sum : add(multiply(sums[i], corrections[i]), sum);
    }
  };
  Values factors;
  if (problem.roundsWeights) {
    finishSums(
        forScores(Values(rows, number(0)),
                  [&](const Values &scores, const IndexExpression &,
                      Values &sums) { addUp(weightsOf(scores), sums); }));
    for (Value sum : sums)
      factors.push_back(create<arith::DivFOp>(number(1), sum));
    if (!makesOutput)
      return state;
  }
  Values both(rows, number(0));
  llvm::append_range(both, output);
  both = forScores(both, [&](const Values &scores, const IndexExpression &tile,
                             Values &both) {
    Values weights = weightsOf(scores);
    addUp(weights, MutableArrayRef(both).take_front(rows));
    if (!makesOutput)
      return;
    for (int64_t e = 0; e < elements(); ++e) {
      Value &weight = weights[e];
      if (!factors.empty())
        weight = multiply(weight, factors[rowOfElement(e)]);
      if (problem.factor)
        weight = multiply(weight, besides(problem.factor, problem.factorDims,
                                          queryOf(e), keyOf(tile, e)));
      weight = rounded(weight, problem.roundsWeights, problem.value);
    }
    share(weights, tile * Tiles::columns);
    addWeighted(MutableArrayRef(both).drop_front(rows), value,
                tile * Tiles::columns, firstFeature, width);
  });
  if (factors.empty())
    finishSums(ArrayRef(both).take_front(rows));
  llvm::copy(ArrayRef(both).drop_front(rows), output.begin());
  return state;
}

void FloatAttention::storeStatistics(const Values &state) {
  for (int64_t i = 0; i < layout.rowsOfThread; ++i)
    ifBelow(firstRow + rowOf(i), problem.queries,
            [&](const IndexExpression &query) {
              Indices at = batch;
              at.push_back(query);
              for (auto [result, value] :
                   {std::pair(op.getMaximum(), state[i]),
                    std::pair(op.getSum(), state[layout.rowsOfThread + i])})
                if (int number = source.indexOfResult(result); number >= 0)
                  storeResult(
                      unsigned(number), at,
                      {convertFloat(builder, loc, value, elementOf(result)),
                       levels.current()});
            });
}

} // namespace

bool FloatAttentionSchedule::accepts(const KernelSource &source) const {
  return attentionOf(source) != nullptr;
}

LaunchShape
FloatAttentionSchedule::launchShape(const KernelSource &source) const {
  const AttentionProblem problem(attentionOf(source));
  return {.parts = elementCount(problem.batch) *
                   tilesOf(problem).blocksOf(problem.queries) *
                   Tiles::blocksOfFeatures(problem.valueFeatures),
          .threads = Tiles::threads};
}

EmittedLoops FloatAttentionSchedule::emit(const KernelSource &source,
                                          ModuleOp module, StringRef name,
                                          unsigned) const {
  return emitAs<FloatAttention>(source, module, name);
}

} // namespace tenon::codegen
