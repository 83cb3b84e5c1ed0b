//===- AttentionTemplate.cpp - Attention without scores in memory ---------===//
//
// A unit of work is one index of the query's batch dimensions. It copies its
// keys, features as rows, and its values into scratch memory once, and then
// goes through the queries in stripes of 8. Of a stripe, in blocks of keys:
//
//   scores     a tile of registers at a time, kept for one block of keys
//   weights    exp(score - maximum) in place of the scores, and their sum
//   output     weights times values, tile by tile
//
// With several blocks, what there is so far is multiplied by exp(old maximum -
// new maximum). The order of sums is that of docs/Rationale/Attention.md.
//
//===----------------------------------------------------------------------===//

#include "AttentionKernel.h"
#include "Templates.h"

#include "tenon/Analysis/Shapes.h"
#include "tenon/Codegen/Loops/MathExpansions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <limits>

using namespace mlir;

namespace tenon::codegen {
namespace {

using Values = KernelBuilder::Values;
using step::AttentionProblem;

/// Where a part keeps its copies.
struct ForwardScratch : ScratchLayout {
  int64_t keys, values, queries, weights, output, statistics;

  explicit ForwardScratch(const AttentionProblem &p) {
    int64_t block = p.keysPerBlock();
    keys = add(p.features * packedStride(p.keys));
    values = add(AttentionKernel::isReadDirectly(p.value, p.valueDims)
                     ? 0
                     : p.keys * packedStride(p.valueFeatures));
    queries = add(mostStripeRows * packedStride(p.features));
    weights = add(mostStripeRows * packedStride(block));
    output = add(mostStripeRows * packedStride(p.valueFeatures));
    statistics = add(3 * vectorLanes);
  }
};

class Forward : AttentionKernel {
public:
  Forward(KernelBuilder &k, step::AttentionOp op,
          const AttentionProblem &problem, const ForwardScratch &scratch)
      : AttentionKernel(k, problem, scratch.bytes), op(op),
        keys(matrix(scratch.keys, problem.features, problem.keys)),
        values(matrix(scratch.values, problem.keys, problem.valueFeatures)),
        queries(matrix(scratch.queries, mostStripeRows, problem.features)),
        weights(
            matrix(scratch.weights, mostStripeRows, problem.keysPerBlock())),
        output(matrix(scratch.output, mostStripeRows, problem.valueFeatures)),
        statistics(matrix(scratch.statistics, 3, vectorLanes)) {}

  void emitUnit(const IndexExpression &unit);

private:
  bool isOneBlock() const { return problem.keysPerBlock() == problem.keys; }
  bool makesOutput() { return k.source.indexOfResult(op.getOutput()) >= 0; }
  void emitStripe(const IndexExpression &first, int64_t rows);
  void emitBlock(const IndexExpression &first, int64_t rows,
                 const IndexExpression &firstKey, int64_t count);
  void emitWeights(const IndexExpression &first, const IndexExpression &row,
                   const IndexExpression &firstKey, int64_t count, Value end);
  void addValues(const IndexExpression &first, int64_t rows,
                 const IndexExpression &firstKey, Value endOfKeys,
                 int64_t count, Value correction, Value reciprocal);
  void finish(const IndexExpression &first, int64_t rows, Value sum,
              Value maximum);

  Value lane(Value vector, int64_t row) {
    return k.create<vector::ExtractOp>(vector, row);
  }
  Value larger(Value a, Value b) {
    Value isLarger = k.create<arith::CmpFOp>(arith::CmpFPredicate::OGT, a, b);
    return k.create<arith::SelectOp>(isLarger, a, b);
  }

  step::AttentionOp op;
  PackedMatrix keys, values, queries, weights, output, statistics;
};

void Forward::emitUnit(const IndexExpression &unit) {
  batch = k.algebra.delinearize(unit, problem.batch);
  packTransposed(problem.key, problem.keyDims, problem.features, keys);
  if (!isReadDirectly(problem.value, problem.valueDims))
    packRows(problem.value, problem.valueDims, 0, problem.keys,
             problem.valueFeatures, values);
  forStripes(k, problem.queries, !problem.causal,
             [&](const IndexExpression &first, int64_t rows) {
               emitStripe(first, rows);
             });
}

void Forward::emitStripe(const IndexExpression &first, int64_t rows) {
  packRows(problem.query, problem.queryDims, first, rows, problem.features,
           queries);
  if (isOneBlock())
    return emitBlock(first, rows, 0, problem.keys);

  // Maxima and sums so far.
  Value none = access.constant(-std::numeric_limits<float>::infinity());
  access.store(statistics, 0, 0, none);
  access.store(statistics, 1, 0, access.constant(0));
  auto clear = [&](const IndexExpression &row) {
    for (int64_t column = 0; column < output.rowStride; column += vectorLanes)
      access.store(output, row, column, access.constant(0));
  };
  k.forRange(rows, clear);
  auto block = [&](const IndexExpression &firstKey, int64_t count) {
    if (!problem.causal)
      return emitBlock(first, rows, firstKey, count);
    // Nothing is left of blocks behind the stripe's last group.
    Value isNeeded =
        k.create<arith::CmpIOp>(arith::CmpIPredicate::ult,
                                k.algebra.scalar(firstKey), columnsOf(first));
    k.ifThen(isNeeded, [&] { emitBlock(first, rows, firstKey, count); });
  };
  forBlocks(k, problem.keys, problem.keysPerBlock(), block);

  Value sum = access.vector(statistics, 1, 0);
  Value maximum = access.vector(statistics, 0, 0);
  Value reciprocal = k.create<arith::DivFOp>(access.constant(1), sum);
  for (int64_t row = 0; makesOutput() && row < rows; ++row) {
    Value factor = access.broadcast(lane(reciprocal, row));
    forColumns(k, problem.valueFeatures, 1, nullptr,
               [&](const IndexExpression &column, int64_t) {
                 Value number = access.vector(output, row, column);
                 storeResult(
                     op.getOutput(),
                     indices(op.getOutputDims(), first + row, 0, column),
                     multiply(number, factor));
               });
  }
  finish(first, rows, sum, maximum);
}

/// A stripe with the keys from `firstKey`.
void Forward::emitBlock(const IndexExpression &first, int64_t rows,
                        const IndexExpression &firstKey, int64_t count) {
  // How far the block's keys are needed, from its first.
  Value end;
  Value endOfKeys = k.constantIndex(count);
  if (problem.causal) {
    Value needed =
        k.create<arith::SubIOp>(columnsOf(first), k.algebra.scalar(firstKey));
    end = k.create<arith::MinUIOp>(
        needed, k.constantIndex(llvm::alignTo(count, vectorLanes)));
    endOfKeys = k.create<arith::MinUIOp>(needed, endOfKeys);
  }

  SummedRange features{k.constantIndex(0),
                       k.constantIndex(problem.features),
                       {0, problem.features - 1}};
  forColumns(k, count, vectorsPerTile(k.processor), end,
             [&](const IndexExpression &column, int64_t vectors) {
               Values products = addProduct(
                   k, queries, keys, 0, rows, firstKey + column, vectors,
                   features, Values(rows * vectors, access.constant(0)));
               for (int64_t row = 0; row < rows; ++row)
                 for (int64_t vector = 0; vector < vectors; ++vector)
                   access.store(weights, row, column + vector * vectorLanes,
                                products[row * vectors + vector]);
             });
  // A loop over rows: there is no tile to hold, and exponentials are long.
  k.forRange(rows, [&](const IndexExpression &row) {
    emitWeights(first, row, firstKey, count, end);
  });
  if (!isOneBlock())
    return addValues(first, rows, firstKey, endOfKeys, count,
                     access.vector(statistics, 2, 0), nullptr);
  Value maximum = access.vector(statistics, 0, 0);
  Value sum = access.vector(statistics, 1, 0);
  Value reciprocal;
  if (!problem.roundsWeights)
    reciprocal = k.create<arith::DivFOp>(access.constant(1), sum);
  addValues(first, rows, firstKey, endOfKeys, count, nullptr, reciprocal);
  finish(first, rows, sum, maximum);
}

/// The weights of a row from its products with a block of keys, and its maximum
/// and sum so far.
void Forward::emitWeights(const IndexExpression &first,
                          const IndexExpression &row,
                          const IndexExpression &firstKey, int64_t count,
                          Value end) {
  IndexExpression query = first + row;
  // What a short last vector lacks becomes -infinity.
  forColumns(k, count, 1, end, [&](const IndexExpression &column, int64_t) {
    access.store(
        weights, row, column,
        score(access.vector(weights, row, column), query, firstKey + column));
  });
  int64_t columns = llvm::alignTo(count, vectorLanes);
  auto alongRow =
      [&](float start,
          llvm::function_ref<Value(const IndexExpression &, Value)> body) {
        Values result =
            k.forLoop(k.constantIndex(0), end ? end : k.constantIndex(columns),
                      vectorLanes, {0, columns - 1}, vectorLanes,
                      /*isLane=*/true, {access.constant(start)},
                      [&](const IndexExpression &column, ValueRange carried) {
                        return Values{body(column, carried.front())};
                      });
        return result.front();
      };
  constexpr float nothing = -std::numeric_limits<float>::infinity();
  Value maximum =
      alongRow(nothing, [&](const IndexExpression &column, Value carried) {
        return larger(access.vector(weights, row, column), carried);
      });
  maximum = access.broadcast(
      collapse(k, {maximum}, [&](Value a, Value b) { return larger(a, b); }));
  Value old;
  if (!isOneBlock()) {
    old = access.broadcast(access.scalar(statistics, 0, row));
    maximum = larger(maximum, old);
  }
  // Where there is nothing but -infinity, all weights are 0.
  Value isNothing = k.create<arith::CmpFOp>(arith::CmpFPredicate::OEQ, maximum,
                                            access.constant(nothing));
  Value reference =
      k.create<arith::SelectOp>(isNothing, access.constant(0), maximum);
  auto add = [&](Value a, Value b) -> Value {
    return k.create<arith::AddFOp>(a, b);
  };
  Value sum = alongRow(0, [&](const IndexExpression &column, Value carried) {
    Value numbers = weight(access.vector(weights, row, column), reference);
    access.store(weights, row, column, numbers);
    return add(carried, numbers);
  });
  sum = access.broadcast(collapse(k, {sum}, add));
  if (problem.factor || problem.roundsWeights) {
    // What is rounded is divided by the sum first.
    Value reciprocal;
    if (problem.roundsWeights)
      reciprocal = k.create<arith::DivFOp>(access.constant(1), sum);
    forColumns(k, count, 1, end, [&](const IndexExpression &column, int64_t) {
      Value numbers = access.vector(weights, row, column);
      if (reciprocal)
        numbers = multiply(numbers, reciprocal);
      access.store(weights, row, column,
                   multiplied(numbers, query, firstKey + column));
    });
  }
  if (!isOneBlock()) {
    Value correction = weight(old, reference);
    Value before = access.broadcast(access.scalar(statistics, 1, row));
    sum = add(multiply(before, correction), sum);
    access.store(statistics, 2, row, lane(correction, 0));
  }
  access.store(statistics, 0, row, lane(maximum, 0));
  access.store(statistics, 1, row, lane(sum, 0));
}

/// The weights times the values: to the output, times `reciprocal` if there is
/// one, or to what there is so far times `correction`.
void Forward::addValues(const IndexExpression &first, int64_t rows,
                        const IndexExpression &firstKey, Value endOfKeys,
                        int64_t count, Value correction, Value reciprocal) {
  if (!makesOutput())
    return;
  SummedRange range{k.constantIndex(0), endOfKeys, {0, count - 1}};
  auto blockOfValues = [&](const IndexExpression &key,
                           const IndexExpression &feature) {
    return row(problem.value, problem.valueDims, values, firstKey + key,
               feature);
  };
  forColumns(
      k, problem.valueFeatures, vectorsPerTile(k.processor), nullptr,
      [&](const IndexExpression &column, int64_t vectors) {
        Values sums;
        for (int64_t row = 0; row < rows; ++row)
          for (int64_t vector = 0; vector < vectors; ++vector)
            sums.push_back(
                correction
                    ? multiply(access.vector(output, row,
                                             column + vector * vectorLanes),
                               access.broadcast(lane(correction, row)))
                    : access.constant(0));
        sums = addProduct(k, weights, blockOfValues, 0, rows, column, vectors,
                          range, sums);
        for (int64_t row = 0; row < rows; ++row)
          for (int64_t vector = 0; vector < vectors; ++vector) {
            IndexExpression at = column + vector * vectorLanes;
            Value number = sums[row * vectors + vector];
            if (correction) {
              access.store(output, row, at, number);
              continue;
            }
            if (reciprocal)
              number =
                  multiply(number, access.broadcast(lane(reciprocal, row)));
            storeResult(op.getOutput(),
                        indices(op.getOutputDims(), first + row, 0, at),
                        number);
          }
      });
}

/// Maxima and sums.
void Forward::finish(const IndexExpression &first, int64_t rows, Value sum,
                     Value maximum) {
  Indices at = batch;
  for (int64_t row = 0; row < rows; ++row) {
    at.push_back(first + row);
    storeResult(op.getMaximum(), at, lane(maximum, row));
    storeResult(op.getSum(), at, lane(sum, row));
    at.pop_back();
  }
}

//===----------------------------------------------------------------------===//
// The template
//===----------------------------------------------------------------------===//

step::AttentionOp attentionOf(const KernelSource &source) {
  return cast<step::AttentionOp>(source.root);
}

Demand demand(const KernelSource &source) {
  AttentionProblem problem(attentionOf(source));
  return {step::attentionUnits(source.root), ForwardScratch(problem).bytes};
}

void emit(KernelBuilder &k, unsigned) {
  step::AttentionOp op = attentionOf(k.source);
  AttentionProblem problem(op);
  ForwardScratch scratch(problem);
  Forward forward(k, op, problem, scratch);
  k.forUnits(step::attentionUnits(op),
             [&](const IndexExpression &unit) { forward.emitUnit(unit); });
}

} // namespace

extern const Template attentionTemplate;
const Template attentionTemplate = {
    .accepts = acceptsOp<step::AttentionOp>, .demand = demand, .emit = emit};

} // namespace tenon::codegen
