//===- TileAttentionGradientTemplate.cpp - Gradients of bf16 by tiles -----===//
//
// AttentionGradientTemplate.cpp where all that is multiplied is bf16. Weights
// and slopes of a stripe of queries lie as rows, for the gradient of queries,
// and those of a block of them as right factors as well. By these, what keys
// and values get is computed transposed, with a column per key: so queries and
// gradients are transposed instead, which are fewer numbers.
//
//===----------------------------------------------------------------------===//

#include "AttentionKernel.h"

#include "tenon/Analysis/Shapes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::codegen {
namespace {

using step::AttentionProblem;

/// Queries of a block, whole steps of products if there are more: as few as
/// possible behind the last.
int64_t queriesPerTileBlock(int64_t queries) {
  constexpr int64_t candidates[] = {64, 96};
  auto padded = [&](int64_t size) { return llvm::alignTo(queries, size); };
  int64_t best = padded(candidates[1]) < padded(candidates[0]) ? candidates[1]
                                                               : candidates[0];
  return std::min(best, queries);
}

/// Where a part keeps its copies.
struct TileGradientScratch : ScratchLayout {
  int64_t rows, keyPairs, keyColumns, valueColumns, queries, outputs, pairs,
      queryColumns, outputColumns, weights, slopes, weightRows, slopeRows,
      weightPairs, slopePairs, results, keySums, valueSums;

  explicit TileGradientScratch(const AttentionProblem &p) {
    const int64_t block = queriesPerTileBlock(p.queries);
    const int64_t features = std::max(p.features, p.valueFeatures);
    // Keys, then values, until they lie as right factors do.
    rows = addNarrow(p.keys, features);
    keyPairs = addPairs(p.keys, p.features);
    keyColumns = addPairs(p.features, p.keys);
    valueColumns = addPairs(p.valueFeatures, p.keys);
    queries = addNarrow(block, p.features);
    outputs = addNarrow(block, p.valueFeatures);
    pairs = addPairs(block, features);
    queryColumns = addNarrow(p.features, block);
    outputColumns = addNarrow(p.valueFeatures, block);
    weights = add(tileStripeRows, p.keys);
    slopes = add(tileStripeRows, p.keys);
    weightRows = addNarrow(tileStripeRows, p.keys);
    slopeRows = addNarrow(tileStripeRows, p.keys);
    weightPairs = addPairs(block, p.keys);
    slopePairs = addPairs(block, p.keys);
    results = add(tileStripeRows, features);
    // Transposed in stretches of a stripe's size.
    keySums = add(p.features, wholeSteps(p.keys));
    valueSums = add(p.valueFeatures, wholeSteps(p.keys));
  }
};

class TileGradient : AttentionKernel {
public:
  TileGradient(KernelBuilder &k, step::AttentionGradientOp op,
               const AttentionProblem &p, const TileGradientScratch &scratch)
      : AttentionKernel(k, p, scratch.bytes), op(op), scratch(scratch),
        blockSize(queriesPerTileBlock(p.queries)),
        keyPairs(pairMatrix(scratch.keyPairs, p.keys, p.features)),
        keyColumns(pairMatrix(scratch.keyColumns, p.features, p.keys)),
        valueColumns(pairMatrix(scratch.valueColumns, p.valueFeatures, p.keys)),
        queries(narrowMatrix(scratch.queries, blockSize, p.features)),
        outputs(narrowMatrix(scratch.outputs, blockSize, p.valueFeatures)),
        queryColumns(narrowMatrix(scratch.queryColumns, p.features, blockSize)),
        outputColumns(
            narrowMatrix(scratch.outputColumns, p.valueFeatures, blockSize)),
        weights(matrix(scratch.weights, tileStripeRows, p.keys)),
        slopes(matrix(scratch.slopes, tileStripeRows, p.keys)),
        weightRows(narrowMatrix(scratch.weightRows, tileStripeRows, p.keys)),
        slopeRows(narrowMatrix(scratch.slopeRows, tileStripeRows, p.keys)),
        weightPairs(pairMatrix(scratch.weightPairs, blockSize, p.keys)),
        slopePairs(pairMatrix(scratch.slopePairs, blockSize, p.keys)),
        results(matrix(scratch.results, tileStripeRows,
                       std::max(p.features, p.valueFeatures))),
        keySums(matrix(scratch.keySums, p.features, wholeSteps(p.keys))),
        valueSums(
            matrix(scratch.valueSums, p.valueFeatures, wholeSteps(p.keys))) {}

  void emitUnit(const IndexExpression &unit);

private:
  void emitBlock(const Stretch &block, Value isFirst);
  void packBlock(Value tensor, ArrayRef<int64_t> dims, const Stretch &block,
                 int64_t features, const PackedMatrix &rows,
                 int64_t columnsPlace);
  void emitStripe(const Stretch &block, const Stretch &stripe);
  void addToKeys(const PackedMatrix &columns, const PackedMatrix &pairs,
                 const PackedMatrix &sums, int64_t features,
                 const Stretch &block, Value isFirst);
  void storeSums(Value result, ArrayRef<int64_t> dims, const PackedMatrix &sums,
                 int64_t features);
  bool makes(Value result) { return k.source.indexOfResult(result) >= 0; }

  step::AttentionGradientOp op;
  const TileGradientScratch &scratch;
  int64_t blockSize;
  PackedMatrix keyPairs, keyColumns, valueColumns, queries, outputs,
      queryColumns, outputColumns, weights, slopes, weightRows, slopeRows,
      weightPairs, slopePairs, results, keySums, valueSums;
};

void TileGradient::emitUnit(const IndexExpression &unit) {
  forQueryBlocks(
      unit, blockSize,
      [&] {
        PackedMatrix rows =
            packKeyTerms(problem.key, problem.keyDims, problem.features,
                         scratch.rows, keyColumns);
        pairRows(k, {rows, 0, 0}, wholeSteps(problem.keys) / 2,
                 k.constantIndex(problem.features), {keyPairs, 0, 0});
        packKeyTerms(problem.value, problem.valueDims, problem.valueFeatures,
                     scratch.rows, valueColumns);
      },
      [&](const Stretch &block, Value isFirst) { emitBlock(block, isFirst); });
  storeSums(op.getKeyGradient(), op.getKeyGradientDims(), keySums,
            problem.features);
  storeSums(op.getValueGradient(), op.getValueGradientDims(), valueSums,
            problem.valueFeatures);
}

/// The rows of a block, and those with queries as terms.
void TileGradient::packBlock(Value tensor, ArrayRef<int64_t> dims,
                             const Stretch &block, int64_t features,
                             const PackedMatrix &rows, int64_t columnsPlace) {
  packTerms(tensor, dims, block, problem.queries, features, rows);
  PackedMatrix pairs = pairMatrix(scratch.pairs, blockSize, features);
  const int64_t count = wholeSteps(blockSize) / 2;
  pairRows(k, {rows, 0, 0}, count, k.constantIndex(features), {pairs, 0, 0});
  transposePacked(k, {pairs, 0, 0}, count, features,
                  pairsOfRows(columnsPlace, features, blockSize));
}

void TileGradient::emitBlock(const Stretch &block, Value isFirst) {
  packBlock(problem.query, problem.queryDims, block, problem.features, queries,
            scratch.queryColumns);
  packBlock(op.getOutputGradient(), op.getOutputGradientDims(), block,
            problem.valueFeatures, outputs, scratch.outputColumns);
  forStretches(block.first, block.end, problem.queries, tileStripeRows,
               [&](const Stretch &stripe) { emitStripe(block, stripe); });
  if (makes(op.getValueGradient()))
    addToKeys(outputColumns, weightPairs, valueSums, problem.valueFeatures,
              block, isFirst);
  if (makes(op.getKeyGradient()))
    addToKeys(queryColumns, slopePairs, keySums, problem.features, block,
              isFirst);
}

void TileGradient::emitStripe(const Stretch &block, const Stretch &stripe) {
  Value isTrue = k.create<arith::ConstantOp>(k.builder.getBoolAttr(true));
  Value end = endOfKeys(stripe.first, step::tileKeyGroup);
  IndexExpression row = stripe.first - block.first;
  auto steps = [&](int64_t terms) {
    return k.constantIndex(wholeSteps(terms));
  };
  addTileProduct(k, {queries, row, 0}, {keyColumns, 0, 0}, {weights, 0, 0},
                 {stripe.count, end, steps(problem.features)}, isTrue);
  addTileProduct(k, {outputs, row, 0}, {valueColumns, 0, 0}, {slopes, 0, 0},
                 {stripe.count, end, steps(problem.valueFeatures)}, isTrue);
  forEach(stripe, problem.queries, [&](const IndexExpression &query) {
    IndexExpression at = query - stripe.first;
    makeSlopes({statistic(op.getMaximum(), query),
                statistic(op.getSum(), query), weights, slopes, weightRows,
                slopeRows},
               query, at, {0, end, end});
    clearColumns(weightRows, at, problem.keys);
    clearColumns(slopeRows, at, problem.keys);
    prefetchRows(query);
    prefetchRow(op.getOutputGradient(), op.getOutputGradientDims(), query,
                problem.queries, problem.valueFeatures);
  });
  for (auto [rows, pairs] : {std::pair(&weightRows, &weightPairs),
                             std::pair(&slopeRows, &slopePairs)}) {
    clearRows(*rows, stripe.count, tileStripeRows);
    pairRows(k, {*rows, 0, 0}, tileStripeRows / 2, end,
             {*pairs, k.algebra.floorDiv(row, 2), 0});
  }
  if (!makes(op.getQueryGradient()))
    return;
  addTileProduct(
      k, {slopeRows, 0, 0}, {keyPairs, 0, 0}, {results, 0, 0},
      {stripe.count, k.constantIndex(problem.features), wholeStepsOf(end)},
      isTrue);
  storeRows(op.getQueryGradient(), op.getQueryGradientDims(), stripe,
            problem.queries, problem.features, results);
}

/// sums(feature, key) += sum over the block's queries of columns(feature,
/// query) * coefficients(query, key), which `pairs` has.
void TileGradient::addToKeys(const PackedMatrix &columns,
                             const PackedMatrix &pairs,
                             const PackedMatrix &sums, int64_t features,
                             const Stretch &block, Value isFirst) {
  forQueriesOfKeys(
      block, wholeStepsOf(block.count), wholeSteps(blockSize),
      step::tileKeyGroup,
      [&](const IndexExpression &query, Value terms, const Stretch &keys) {
        addTileProduct(k, {columns, 0, query},
                       {pairs, k.algebra.floorDiv(query, 2), keys.first},
                       {sums, 0, keys.first},
                       {k.constantIndex(features), keys.count, terms}, isFirst);
      });
}

void TileGradient::storeSums(Value result, ArrayRef<int64_t> dims,
                             const PackedMatrix &sums, int64_t features) {
  if (!makes(result))
    return;
  forStretches(0, k.constantIndex(problem.keys), problem.keys, tileStripeRows,
               [&](const Stretch &keys) {
                 transposePacked(k, {sums, 0, keys.first}, features,
                                 tileStripeRows, results);
                 storeRows(result, dims, keys, problem.keys, features, results);
               });
}

} // namespace

extern const Template tileAttentionGradientTemplate;
const Template tileAttentionGradientTemplate =
    attentionTemplateOf<step::AttentionGradientOp, TileGradientScratch,
                        TileGradient, Products::ofTiles>();

} // namespace tenon::codegen
