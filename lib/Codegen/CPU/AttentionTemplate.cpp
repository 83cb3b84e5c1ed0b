//===- AttentionTemplate.cpp - Attention without scores in memory ---------===//
//
// A unit of work is one index of the query's batch dimensions. It copies its
// keys, features as rows, and its values into scratch memory once, and then
// goes through the queries in stripes of 16. Of a stripe, in blocks of keys:
//
//   scores     one product, kept for one block of keys
//   weights    exp(score - maximum) in place of the scores, and their sum
//   output     weights times values, added to what there is
//
// With several blocks, what there is so far is multiplied by exp(old maximum -
// new maximum). The order of sums is that of docs/Rationale/Attention.md.
//
//===----------------------------------------------------------------------===//

#include "AttentionKernel.h"

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
  int64_t keyColumns, values, queries, weights, output, statistics;

  explicit ForwardScratch(const AttentionProblem &p) {
    keyColumns = add(p.features, p.keys);
    // The keys are here until they have been transposed.
    values = add(p.keys, std::max(p.features, p.valueFeatures));
    queries = add(stripeRows, p.features);
    weights = add(stripeRows, p.keysPerBlock());
    output = add(stripeRows, p.valueFeatures);
    statistics = add(2, stripeRows);
  }
};

class Forward : AttentionKernel {
public:
  Forward(KernelBuilder &k, step::AttentionOp op,
          const AttentionProblem &problem, const ForwardScratch &scratch)
      : AttentionKernel(k, problem, scratch.bytes), op(op),
        keyColumns(matrix(scratch.keyColumns, problem.features, problem.keys)),
        keys(matrix(scratch.values, problem.keys, problem.features)),
        values(matrix(scratch.values, problem.keys, problem.valueFeatures)),
        queries(matrix(scratch.queries, stripeRows, problem.features)),
        weights(matrix(scratch.weights, stripeRows, problem.keysPerBlock())),
        output(matrix(scratch.output, stripeRows, problem.valueFeatures)),
        statistics(matrix(scratch.statistics, 2, stripeRows)) {}

  void emitUnit(const IndexExpression &unit);

private:
  bool isOneBlock() const { return problem.keysPerBlock() == problem.keys; }
  bool makesOutput() { return k.source.indexOfResult(op.getOutput()) >= 0; }
  void emitStripe(const Stretch &stripe);
  void emitBlock(const Stretch &stripe, const Stretch &block);
  void emitWeights(const IndexExpression &query, const IndexExpression &row,
                   const Stretch &block);
  void rescale(const IndexExpression &row, Value correction);
  void finish(const IndexExpression &query, const IndexExpression &row);

  /// Maximum and sum of a row so far, in all lanes.
  Value maximum(const IndexExpression &row) {
    return access.broadcast(access.scalar(statistics, 0, row));
  }
  Value sum(const IndexExpression &row) {
    return access.broadcast(access.scalar(statistics, 1, row));
  }
  void setStatistics(const IndexExpression &row, Value maximum, Value sum) {
    access.store(statistics, 0, row, k.create<vector::ExtractOp>(maximum, 0));
    access.store(statistics, 1, row, k.create<vector::ExtractOp>(sum, 0));
  }

  step::AttentionOp op;
  PackedMatrix keyColumns, keys, values, queries, weights, output, statistics;
};

void Forward::emitUnit(const IndexExpression &unit) {
  beginUnit(unit, isOneBlock());
  packKeys(problem.key, problem.keyDims, problem.features, keys, keyColumns);
  if (makesOutput())
    packRows(problem.value, problem.valueDims, all(problem.keys), problem.keys,
             problem.valueFeatures, values);
  forStretches(0, k.constantIndex(problem.queries), problem.queries, stripeRows,
               [&](const Stretch &stripe) { emitStripe(stripe); });
}

void Forward::emitStripe(const Stretch &stripe) {
  packRows(problem.query, problem.queryDims, stripe, problem.queries,
           problem.features, queries);
  if (!isOneBlock())
    forEach(stripe, problem.queries, [&](const IndexExpression &query) {
      constexpr float nothing = -std::numeric_limits<float>::infinity();
      setStatistics(query - stripe.first, access.constant(nothing),
                    access.constant(0));
    });
  forStretches(0, endOfKeys(stripe.first), problem.keys, problem.keysPerBlock(),
               [&](const Stretch &block) { emitBlock(stripe, block); });
  forEach(stripe, problem.queries, [&](const IndexExpression &query) {
    finish(query, query - stripe.first);
  });
}

void Forward::emitBlock(const Stretch &stripe, const Stretch &block) {
  Value isTrue = k.create<arith::ConstantOp>(k.builder.getBoolAttr(true));
  addProduct(k, {queries, 0, 0}, /*isTransposed=*/false,
             {keyColumns, 0, block.first}, {weights, 0, 0},
             {stripe.count, block.count, k.constantIndex(problem.features)},
             isTrue);
  forEach(stripe, problem.queries, [&](const IndexExpression &query) {
    emitWeights(query, query - stripe.first, block);
    prefetchRows(query);
  });
  if (!makesOutput())
    return;
  Value isFirst = k.create<arith::CmpIOp>(arith::CmpIPredicate::eq,
                                          k.algebra.scalar(block.first),
                                          k.constantIndex(0));
  addProduct(
      k, {weights, 0, 0}, /*isTransposed=*/false, {values, block.first, 0},
      {output, 0, 0},
      {stripe.count, k.constantIndex(problem.valueFeatures), block.count},
      isFirst);
}

/// The weights of a row from its products with a block of keys, and its maximum
/// and sum so far.
void Forward::emitWeights(const IndexExpression &query,
                          const IndexExpression &row, const Stretch &block) {
  Value maximum = makeScores(weights, query, row, block);
  Value old;
  if (!isOneBlock()) {
    old = this->maximum(row);
    maximum = larger(maximum, old);
  }
  Value reference = referenceOf(maximum);
  // Factors are multiplied along the way, if nothing has to wait for the sum.
  bool isRounded = problem.roundsWeights;
  Value sum = makeWeights(weights, query, row, block, reference, !isRounded);
  // What is rounded is divided by the sum first.
  if (isRounded)
    divideWeights(weights, weights, query, row, block, sum);
  if (!isOneBlock()) {
    Value correction = weight(old, reference);
    sum = add(multiply(this->sum(row), correction), sum);
    if (makesOutput())
      rescale(row, correction);
  }
  setStatistics(row, maximum, sum);
}

/// Multiplies the output so far; before the first block that is nothing, and
/// nothing reads it.
void Forward::rescale(const IndexExpression &row, Value correction) {
  k.forLoop(k.constantIndex(0), k.constantIndex(output.stride), vectorLanes,
            {0, output.stride - 1}, vectorLanes, /*isLane=*/true,
            [&](const IndexExpression &column) {
              access.store(
                  output, row, column,
                  multiply(access.vector(output, row, column), correction));
            });
}

/// The results of a row.
void Forward::finish(const IndexExpression &query, const IndexExpression &row) {
  if (makesOutput()) {
    Value factor;
    if (!problem.roundsWeights)
      factor = reciprocal(sum(row));
    k.forLanes(problem.valueFeatures, [&](const IndexExpression &column) {
      Value number = access.vector(output, row, column);
      storeResult(op.getOutput(), indices(op.getOutputDims(), query, 0, column),
                  factor ? multiply(number, factor) : number);
    });
  }
  Indices at = batch;
  at.push_back(query);
  storeResult(op.getMaximum(), at, access.scalar(statistics, 0, row));
  storeResult(op.getSum(), at, access.scalar(statistics, 1, row));
}

} // namespace

extern const Template attentionTemplate;
const Template attentionTemplate =
    attentionTemplateOf<step::AttentionOp, ForwardScratch, Forward,
                        Products::ofVectors>();

} // namespace tenon::codegen
