//===- AttentionGradientTemplate.cpp - Gradients without scores in memory -===//
//
// A unit of work is one index of the batch dimensions that the keys have. It
// copies keys and values into scratch memory once, and then goes through blocks
// of queries, and through the batch dimensions that the keys lack:
//
//   weights        computed again from maximum and sum, one block's
//   slopes         beside them, from the gradients of the weights
//   query gradient of the block, from the slopes and all keys
//   key and value  gradients, to which the block's share is added
//
// An element of a gradient is one chain of multiply-adds, whatever the blocks.
//
//===----------------------------------------------------------------------===//

#include "AttentionKernel.h"
#include "Templates.h"

#include "tenon/Analysis/Shapes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::codegen {
namespace {

using Values = KernelBuilder::Values;
using step::AttentionProblem;

/// Queries of a block, a multiple of what keys are grouped by, if there are
/// more: as few as possible behind the last.
int64_t queriesPerBlock(int64_t queries) {
  constexpr int64_t candidates[] = {64, 80, 96};
  int64_t best = candidates[0];
  auto padded = [&](int64_t size) { return llvm::alignTo(queries, size); };
  for (int64_t size : candidates)
    if (padded(size) < padded(best))
      best = size;
  return std::min(best, queries);
}

/// Whether each sum for a key or value is complete after one block.
bool isOneBlock(const AttentionProblem &p) {
  bool isShared = false;
  for (auto [number, extent] : llvm::enumerate(p.batch))
    isShared |= p.isShared(number) && extent > 1;
  return !isShared && queriesPerBlock(p.queries) == p.queries;
}

struct GradientScratch : ScratchLayout {
  int64_t keyColumns, keys, valueColumns, queries, outputs, weights, slopes,
      keySums, valueSums;

  explicit GradientScratch(const AttentionProblem &p) {
    int64_t block = queriesPerBlock(p.queries);
    int64_t stride = packedStride(p.keys);
    keyColumns = add(p.features * stride);
    keys = add(AttentionKernel::isReadDirectly(p.key, p.keyDims)
                   ? 0
                   : p.keys * packedStride(p.features));
    valueColumns = add(p.valueFeatures * stride);
    queries = add(block * packedStride(p.features));
    outputs = add(block * packedStride(p.valueFeatures));
    weights = add(block * stride);
    slopes = add(block * stride);
    keySums = add(isOneBlock(p) ? 0 : p.keys * packedStride(p.features));
    valueSums = add(isOneBlock(p) ? 0 : p.keys * packedStride(p.valueFeatures));
  }
};

class Gradient : AttentionKernel {
public:
  Gradient(KernelBuilder &k, step::AttentionGradientOp op,
           const AttentionProblem &p, const GradientScratch &scratch)
      : AttentionKernel(k, p, scratch.bytes), op(op),
        block(queriesPerBlock(p.queries)),
        keyColumns(matrix(scratch.keyColumns, p.features, p.keys)),
        keys(matrix(scratch.keys, p.keys, p.features)),
        valueColumns(matrix(scratch.valueColumns, p.valueFeatures, p.keys)),
        queries(matrix(scratch.queries, block, p.features)),
        outputs(matrix(scratch.outputs, block, p.valueFeatures)),
        weights(matrix(scratch.weights, block, p.keys)),
        slopes(matrix(scratch.slopes, block, p.keys)),
        keySums(matrix(scratch.keySums, p.keys, p.features)),
        valueSums(matrix(scratch.valueSums, p.keys, p.valueFeatures)) {}

  /// Extents of the batch dimensions that the keys have, and of the others.
  SmallVector<int64_t> extents(bool shared) const {
    SmallVector<int64_t> extents;
    for (auto [number, extent] : llvm::enumerate(problem.batch))
      if (problem.isShared(number) == shared)
        extents.push_back(extent);
    return extents;
  }
  void emitUnit(const IndexExpression &unit);

private:
  void setBatch(const Indices &own, const Indices &shared);
  void emitBlock(const IndexExpression &first, int64_t count);
  void emitProducts(const PackedMatrix &left, const PackedMatrix &right,
                    const PackedMatrix &to, int64_t terms,
                    const IndexExpression &first, const IndexExpression &row,
                    int64_t rows);
  void emitSlopes(const IndexExpression &first, const IndexExpression &row);
  void emitQueryGradient(const IndexExpression &first,
                         const IndexExpression &row, int64_t rows);
  void addToKeys(const PackedMatrix &coefficients, const PackedMatrix &rows,
                 const PackedMatrix &sums, Value result, ArrayRef<int64_t> dims,
                 int64_t features, const IndexExpression &first, int64_t count);
  void clear(const PackedMatrix &sums);
  void storeSums(Value result, ArrayRef<int64_t> dims, const PackedMatrix &sums,
                 int64_t features);

  step::AttentionGradientOp op;
  int64_t block;
  PackedMatrix keyColumns, keys, valueColumns, queries, outputs, weights,
      slopes, keySums, valueSums;
};

void Gradient::setBatch(const Indices &own, const Indices &shared) {
  batch.clear();
  size_t nextOwn = 0, nextShared = 0;
  for (size_t number = 0; number < problem.batch.size(); ++number)
    if (!problem.isShared(number))
      batch.push_back(own[nextOwn++]);
    else
      batch.push_back(shared.empty() ? IndexExpression(0)
                                     : shared[nextShared++]);
}

void Gradient::clear(const PackedMatrix &sums) {
  k.forRange(problem.keys, [&](const IndexExpression &row) {
    for (int64_t column = 0; column < sums.rowStride; column += vectorLanes)
      access.store(sums, row, column, access.constant(0));
  });
}

void Gradient::emitUnit(const IndexExpression &unit) {
  Indices own = k.algebra.delinearize(unit, extents(/*shared=*/false));
  setBatch(own, {});
  packTransposed(problem.key, problem.keyDims, problem.features, keyColumns);
  packTransposed(problem.value, problem.valueDims, problem.valueFeatures,
                 valueColumns);
  if (!isReadDirectly(problem.key, problem.keyDims))
    packRows(problem.key, problem.keyDims, 0, problem.keys, problem.features,
             keys);
  if (!isOneBlock(problem)) {
    clear(keySums);
    clear(valueSums);
  }
  k.forSpace(extents(/*shared=*/true), [&](const Indices &shared) {
    setBatch(own, shared);
    forBlocks(k, problem.queries, block,
              [&](const IndexExpression &first, int64_t count) {
                emitBlock(first, count);
              });
  });
  if (isOneBlock(problem))
    return;
  setBatch(own, {});
  storeSums(op.getKeyGradient(), op.getKeyGradientDims(), keySums,
            problem.features);
  storeSums(op.getValueGradient(), op.getValueGradientDims(), valueSums,
            problem.valueFeatures);
}

void Gradient::emitBlock(const IndexExpression &first, int64_t count) {
  packRows(problem.query, problem.queryDims, first, count, problem.features,
           queries);
  packRows(op.getOutputGradient(), op.getOutputGradientDims(), first, count,
           problem.valueFeatures, outputs);
  forStripes(k, count, !problem.causal,
             [&](const IndexExpression &row, int64_t rows) {
               emitProducts(queries, keyColumns, weights, problem.features,
                            first, row, rows);
               emitProducts(outputs, valueColumns, slopes,
                            problem.valueFeatures, first, row, rows);
               // There is no tile to hold, and exponentials are long.
               k.forRange(rows, [&](const IndexExpression &next) {
                 emitSlopes(first, row + next);
               });
               emitQueryGradient(first, row, rows);
             });
  addToKeys(weights, outputs, valueSums, op.getValueGradient(),
            op.getValueGradientDims(), problem.valueFeatures, first, count);
  addToKeys(slopes, queries, keySums, op.getKeyGradient(),
            op.getKeyGradientDims(), problem.features, first, count);
}

/// to(row, key) = sum over s of left(row, s) right(s, key) for a stripe.
void Gradient::emitProducts(const PackedMatrix &left, const PackedMatrix &right,
                            const PackedMatrix &to, int64_t terms,
                            const IndexExpression &first,
                            const IndexExpression &row, int64_t rows) {
  SummedRange range{k.constantIndex(0), k.constantIndex(terms), {0, terms - 1}};
  forColumns(k, problem.keys, vectorsPerTile(k.processor),
             columnsOf(first + row),
             [&](const IndexExpression &column, int64_t vectors) {
               Values products =
                   addProduct(k, left, right, row, rows, column, vectors, range,
                              Values(rows * vectors, access.constant(0)));
               for (int64_t i = 0; i < rows; ++i)
                 for (int64_t vector = 0; vector < vectors; ++vector)
                   access.store(to, row + i, column + vector * vectorLanes,
                                products[i * vectors + vector]);
             });
}

/// From products of queries and keys, and of gradients and values, to slopes
/// and to the weights that the output's gradient is multiplied by.
void Gradient::emitSlopes(const IndexExpression &first,
                          const IndexExpression &row) {
  IndexExpression query = first + row;
  Indices at = batch;
  at.push_back(query);
  Value maximum = k.points.asVector(k.points.at(op.getMaximum(), at));
  Value sum = k.points.asVector(k.points.at(op.getSum(), at));
  Value reciprocal = k.create<arith::DivFOp>(access.constant(1), sum);
  forColumns(
      k, problem.keys, 1, columnsOf(query),
      [&](const IndexExpression &key, int64_t) {
        Value scores = score(access.vector(weights, row, key), query, key);
        access.store(weights, row, key,
                     multiply(weight(scores, maximum), reciprocal));
        if (!problem.factor && !problem.roundsWeightGradients)
          return;
        Value gradient = rounded(access.vector(slopes, row, key),
                                 problem.roundsWeightGradients, problem.value);
        if (problem.factor)
          gradient = multiply(
              gradient, beside(problem.factor, problem.factorDims, query, key));
        access.store(slopes, row, key, gradient);
      });

  // Behind the last key, weights are 0.
  int64_t columns = packedStride(problem.keys);
  Value end = k.constantIndex(columns);
  if (problem.causal)
    end = k.create<arith::MinUIOp>(end, columnsOf(query));
  auto add = [&](Value a, Value b) -> Value {
    return k.create<arith::AddFOp>(a, b);
  };
  Values mean = k.forLoop(
      k.constantIndex(0), end, vectorLanes, {0, columns - 1}, vectorLanes,
      /*isLane=*/true, {access.constant(0)},
      [&](const IndexExpression &key, ValueRange carried) {
        return Values{
            add(carried.front(), multiply(access.vector(weights, row, key),
                                          access.vector(slopes, row, key)))};
      });
  Value center = access.broadcast(collapse(k, mean, add));

  forColumns(
      k, problem.keys, 1, columnsOf(query),
      [&](const IndexExpression &key, int64_t) {
        Value weight = access.vector(weights, row, key);
        Value slope = multiply(
            weight,
            k.create<arith::SubFOp>(access.vector(slopes, row, key), center));
        if (problem.scale != 1)
          slope = multiply(slope, access.constant(problem.scale));
        if (problem.mask)
          slope = k.create<arith::SelectOp>(
              beside(problem.mask, problem.maskDims, query, key), slope,
              access.constant(0));
        access.store(slopes, row, key,
                     rounded(slope, problem.roundsSlopes, problem.key));
        if (problem.factor || problem.roundsWeights)
          access.store(weights, row, key, multiplied(weight, query, key));
      });
}

void Gradient::emitQueryGradient(const IndexExpression &first,
                                 const IndexExpression &row, int64_t rows) {
  SummedRange range = keysOf(first + row);
  auto rowsOfKeys = [&](const IndexExpression &key,
                        const IndexExpression &feature) {
    return this->row(problem.key, problem.keyDims, keys, key, feature);
  };
  forColumns(
      k, problem.features, vectorsPerTile(k.processor), nullptr,
      [&](const IndexExpression &column, int64_t vectors) {
        Values sums =
            addProduct(k, slopes, rowsOfKeys, row, rows, column, vectors, range,
                       Values(rows * vectors, access.constant(0)));
        for (int64_t i = 0; i < rows; ++i)
          for (int64_t vector = 0; vector < vectors; ++vector) {
            storeResult(op.getQueryGradient(),
                        indices(op.getQueryGradientDims(), first + row + i, 0,
                                column + vector * vectorLanes),
                        sums[i * vectors + vector]);
          }
      });
}

/// sums(key, feature), or the result itself if there is one block, += sum over
/// the block's queries of coefficients(query, key) * rows(query, feature).
void Gradient::addToKeys(const PackedMatrix &coefficients,
                         const PackedMatrix &rows, const PackedMatrix &sums,
                         Value result, ArrayRef<int64_t> dims, int64_t features,
                         const IndexExpression &first, int64_t count) {
  bool isComplete = isOneBlock(problem);
  constexpr int64_t group = step::attentionKeyGroup;
  forStripes(
      k, problem.keys, !problem.causal,
      [&](const IndexExpression &key, int64_t keysOfTile) {
        SummedRange range{
            k.constantIndex(0), k.constantIndex(count), {0, count - 1}};
        if (problem.causal) {
          // Queries in front of the keys' group leave them out.
          IndexExpression from = k.algebra.floorDiv(key, group) * group - first;
          range.low = k.algebra.scalar(k.algebra.clamped(from, {0, count}));
        }
        forColumns(
            k, features, vectorsPerTile(k.processor), nullptr,
            [&](const IndexExpression &column, int64_t vectors) {
              Values held;
              for (int64_t i = 0; i < keysOfTile; ++i)
                for (int64_t vector = 0; vector < vectors; ++vector)
                  held.push_back(
                      isComplete
                          ? access.constant(0)
                          : access.vector(sums, key + i,
                                          column + vector * vectorLanes));
              held = addProduct(k, coefficients.transposed(), rows, key,
                                keysOfTile, column, vectors, range, held);
              for (int64_t i = 0; i < keysOfTile; ++i)
                for (int64_t vector = 0; vector < vectors; ++vector) {
                  IndexExpression at = column + vector * vectorLanes;
                  Value number = held[i * vectors + vector];
                  if (isComplete)
                    storeResult(result, indices(dims, 0, key + i, at), number);
                  else
                    access.store(sums, key + i, at, number);
                }
            });
      });
}

void Gradient::storeSums(Value result, ArrayRef<int64_t> dims,
                         const PackedMatrix &sums, int64_t features) {
  k.forRange(problem.keys, [&](const IndexExpression &key) {
    k.forLanes(features, [&](const IndexExpression &feature) {
      storeResult(result, indices(dims, 0, key, feature),
                  access.vector(sums, key, feature));
    });
  });
}

//===----------------------------------------------------------------------===//
// The template
//===----------------------------------------------------------------------===//

step::AttentionGradientOp gradientOf(const KernelSource &source) {
  return cast<step::AttentionGradientOp>(source.root);
}

Demand demand(const KernelSource &source) {
  AttentionProblem problem(gradientOf(source));
  return {step::attentionUnits(source.root), GradientScratch(problem).bytes};
}

void emit(KernelBuilder &k, unsigned) {
  step::AttentionGradientOp op = gradientOf(k.source);
  AttentionProblem problem(op);
  GradientScratch scratch(problem);
  Gradient gradient(k, op, problem, scratch);
  k.forUnits(step::attentionUnits(op),
             [&](const IndexExpression &unit) { gradient.emitUnit(unit); });
}

} // namespace

extern const Template attentionGradientTemplate;
const Template attentionGradientTemplate = {
    .accepts = acceptsOp<step::AttentionGradientOp>,
    .demand = demand,
    .emit = emit};

} // namespace tenon::codegen
