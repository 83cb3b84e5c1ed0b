//===- TileAttentionTemplate.cpp - Attention of bf16 by tiles -------------===//
//
// AttentionTemplate.cpp where all that is multiplied is bf16: queries, keys and
// values, and the weights, which are rounded once they are divided by their
// sum. So all keys are one block, and a stripe has the queries of two tiles.
//
//===----------------------------------------------------------------------===//

#include "AttentionKernel.h"

#include "tenon/Analysis/Shapes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tenon::codegen {
namespace {

using step::AttentionProblem;

/// Where a part keeps its copies.
struct TileScratch : ScratchLayout {
  int64_t rows, keyColumns, values, queries, scores, weights, output;

  explicit TileScratch(const AttentionProblem &p) {
    // Keys, then values, until they lie as right factors do.
    rows = addNarrow(p.keys, std::max(p.features, p.valueFeatures));
    keyColumns = addPairs(p.features, p.keys);
    values = addPairs(p.keys, p.valueFeatures);
    queries = addNarrow(tileStripeRows, p.features);
    scores = add(tileStripeRows, p.keys);
    weights = addNarrow(tileStripeRows, p.keys);
    output = add(tileStripeRows, p.valueFeatures);
  }
};

class TileForward : AttentionKernel {
public:
  TileForward(KernelBuilder &k, step::AttentionOp op, const AttentionProblem &p,
              const TileScratch &scratch)
      : AttentionKernel(k, p, scratch.bytes), op(op), scratch(scratch),
        keyColumns(pairMatrix(scratch.keyColumns, p.features, p.keys)),
        values(pairMatrix(scratch.values, p.keys, p.valueFeatures)),
        queries(narrowMatrix(scratch.queries, tileStripeRows, p.features)),
        scores(matrix(scratch.scores, tileStripeRows, p.keys)),
        weights(narrowMatrix(scratch.weights, tileStripeRows, p.keys)),
        output(matrix(scratch.output, tileStripeRows, p.valueFeatures)) {}

  void emitUnit(const IndexExpression &unit);

private:
  bool makesOutput() { return k.source.indexOfResult(op.getOutput()) >= 0; }
  void emitStripe(const Stretch &stripe);
  void emitWeights(const IndexExpression &query, const IndexExpression &row,
                   const Stretch &keys);

  step::AttentionOp op;
  const TileScratch &scratch;
  PackedMatrix keyColumns, values, queries, scores, weights, output;
};

void TileForward::emitUnit(const IndexExpression &unit) {
  beginUnit(unit, /*isOneBlock=*/true);
  packKeyTerms(problem.key, problem.keyDims, problem.features, scratch.rows,
               keyColumns);
  if (makesOutput()) {
    PackedMatrix rows =
        narrowMatrix(scratch.rows, problem.keys, problem.valueFeatures);
    packTerms(problem.value, problem.valueDims, all(problem.keys), problem.keys,
              problem.valueFeatures, rows);
    pairRows(k, {rows, 0, 0}, wholeSteps(problem.keys) / 2,
             k.constantIndex(problem.valueFeatures), {values, 0, 0});
  }
  forStretches(0, k.constantIndex(problem.queries), problem.queries,
               tileStripeRows,
               [&](const Stretch &stripe) { emitStripe(stripe); });
}

void TileForward::emitStripe(const Stretch &stripe) {
  Value isTrue = k.create<arith::ConstantOp>(k.builder.getBoolAttr(true));
  packTerms(problem.query, problem.queryDims, stripe, problem.queries,
            problem.features, queries);
  Value end = endOfKeys(stripe.first, step::tileKeyGroup);
  addTileProduct(
      k, {queries, 0, 0}, {keyColumns, 0, 0}, {scores, 0, 0},
      {stripe.count, end, k.constantIndex(wholeSteps(problem.features))},
      isTrue);
  forEach(stripe, problem.queries, [&](const IndexExpression &query) {
    emitWeights(query, query - stripe.first, {0, end, end});
    prefetchRows(query);
  });
  if (!makesOutput())
    return;
  addTileProduct(
      k, {weights, 0, 0}, {values, 0, 0}, {output, 0, 0},
      {stripe.count, k.constantIndex(problem.valueFeatures), wholeStepsOf(end)},
      isTrue);
  storeRows(op.getOutput(), op.getOutputDims(), stripe, problem.queries,
            problem.valueFeatures, output);
}

/// The weights of a row from its products with the keys, and its statistics.
void TileForward::emitWeights(const IndexExpression &query,
                              const IndexExpression &row, const Stretch &keys) {
  Value maximum = makeScores(scores, query, row, keys);
  Value sum = makeWeights(scores, query, row, keys, referenceOf(maximum),
                          /*multiplies=*/false);
  if (makesOutput()) {
    divideWeights(scores, weights, query, row, keys, sum);
    clearColumns(weights, row, problem.keys);
  }
  Indices at = batch;
  at.push_back(query);
  storeResult(op.getMaximum(), at, k.create<vector::ExtractOp>(maximum, 0));
  storeResult(op.getSum(), at, k.create<vector::ExtractOp>(sum, 0));
}

} // namespace

extern const Template tileAttentionTemplate;
const Template tileAttentionTemplate =
    attentionTemplateOf<step::AttentionOp, TileScratch, TileForward,
                        Products::ofTiles>();

} // namespace tenon::codegen
