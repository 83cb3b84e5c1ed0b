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

/// Where a part keeps its copies.
struct GradientScratch : ScratchLayout {
  int64_t keys, keyColumns, valueColumns, queries, outputs, weights, slopes,
      queryGradient, keySums, valueSums;

  explicit GradientScratch(const AttentionProblem &p) {
    int64_t block = queriesPerBlock(p.queries);
    keys = add(p.keys, p.features);
    keyColumns = add(p.features, p.keys);
    valueColumns = add(p.valueFeatures, p.keys);
    queries = add(block, p.features);
    outputs = add(block, p.valueFeatures);
    weights = add(block, p.keys);
    slopes = add(block, p.keys);
    queryGradient = add(stripeRows, p.features);
    keySums = add(p.keys, p.features);
    valueSums = add(p.keys, p.valueFeatures);
  }
};

class Gradient : AttentionKernel {
public:
  Gradient(KernelBuilder &k, step::AttentionGradientOp op,
           const AttentionProblem &p, const GradientScratch &scratch)
      : AttentionKernel(k, p, scratch.bytes), op(op),
        blockSize(queriesPerBlock(p.queries)),
        keys(matrix(scratch.keys, p.keys, p.features)),
        keyColumns(matrix(scratch.keyColumns, p.features, p.keys)),
        valueColumns(matrix(scratch.valueColumns, p.valueFeatures, p.keys)),
        queries(matrix(scratch.queries, blockSize, p.features)),
        outputs(matrix(scratch.outputs, blockSize, p.valueFeatures)),
        weights(matrix(scratch.weights, blockSize, p.keys)),
        slopes(matrix(scratch.slopes, blockSize, p.keys)),
        queryGradient(matrix(scratch.queryGradient, stripeRows, p.features)),
        keySums(matrix(scratch.keySums, p.keys, p.features)),
        valueSums(matrix(scratch.valueSums, p.keys, p.valueFeatures)) {}

  void emitUnit(const IndexExpression &unit);

private:
  void emitBlock(const Stretch &block, Value isFirst);
  void emitStripe(const Stretch &block, const Stretch &stripe);
  void emitSlopes(const IndexExpression &query, const IndexExpression &row,
                  const Stretch &keys);
  void addToKeys(const PackedMatrix &coefficients, const PackedMatrix &rows,
                 const PackedMatrix &sums, int64_t features,
                 const Stretch &block, Value isFirst);
  void storeSums(Value result, ArrayRef<int64_t> dims, const PackedMatrix &sums,
                 int64_t features);

  step::AttentionGradientOp op;
  int64_t blockSize;
  PackedMatrix keys, keyColumns, valueColumns, queries, outputs, weights,
      slopes, queryGradient, keySums, valueSums;
};

void Gradient::emitUnit(const IndexExpression &unit) {
  forQueryBlocks(
      unit, blockSize,
      [&] {
        packKeys(problem.key, problem.keyDims, problem.features, keys,
                 keyColumns);
        // There are no sums yet.
        packKeys(problem.value, problem.valueDims, problem.valueFeatures,
                 valueSums, valueColumns);
      },
      [&](const Stretch &block, Value isFirst) { emitBlock(block, isFirst); });
  storeSums(op.getKeyGradient(), op.getKeyGradientDims(), keySums,
            problem.features);
  storeSums(op.getValueGradient(), op.getValueGradientDims(), valueSums,
            problem.valueFeatures);
}

void Gradient::emitBlock(const Stretch &block, Value isFirst) {
  packRows(problem.query, problem.queryDims, block, problem.queries,
           problem.features, queries);
  packRows(op.getOutputGradient(), op.getOutputGradientDims(), block,
           problem.queries, problem.valueFeatures, outputs);
  forStretches(block.first, block.end, problem.queries, stripeRows,
               [&](const Stretch &stripe) { emitStripe(block, stripe); });
  if (k.source.indexOfResult(op.getValueGradient()) >= 0)
    addToKeys(weights, outputs, valueSums, problem.valueFeatures, block,
              isFirst);
  if (k.source.indexOfResult(op.getKeyGradient()) >= 0)
    addToKeys(slopes, queries, keySums, problem.features, block, isFirst);
}

void Gradient::emitStripe(const Stretch &block, const Stretch &stripe) {
  Value isTrue = k.create<arith::ConstantOp>(k.builder.getBoolAttr(true));
  Value end = endOfKeys(stripe.first);
  Value features = k.constantIndex(problem.features);
  IndexExpression row = stripe.first - block.first;
  addProduct(k, {queries, row, 0}, /*isTransposed=*/false, {keyColumns, 0, 0},
             {weights, row, 0}, {stripe.count, end, features}, isTrue);
  addProduct(k, {outputs, row, 0}, /*isTransposed=*/false, {valueColumns, 0, 0},
             {slopes, row, 0},
             {stripe.count, end, k.constantIndex(problem.valueFeatures)},
             isTrue);
  forEach(stripe, problem.queries, [&](const IndexExpression &query) {
    emitSlopes(query, query - block.first, {0, end, end});
    prefetchRows(query);
    prefetchRow(op.getOutputGradient(), op.getOutputGradientDims(), query,
                problem.queries, problem.valueFeatures);
  });
  if (k.source.indexOfResult(op.getQueryGradient()) < 0)
    return;
  addProduct(k, {slopes, row, 0}, /*isTransposed=*/false, {keys, 0, 0},
             {queryGradient, 0, 0}, {stripe.count, features, end}, isTrue);
  storeRows(op.getQueryGradient(), op.getQueryGradientDims(), stripe,
            problem.queries, problem.features, queryGradient);
}

/// From products of queries and keys, and of gradients and values, to slopes
/// and to the weights that the output's gradient is multiplied by.
void Gradient::emitSlopes(const IndexExpression &query,
                          const IndexExpression &row, const Stretch &keys) {
  makeSlopes({statistic(op.getMaximum(), query), statistic(op.getSum(), query),
              weights, slopes, weights, slopes},
             query, row, keys);
}

/// sums(key, feature) += sum over the block's queries of coefficients(query,
/// key) * rows(query, feature).
void Gradient::addToKeys(const PackedMatrix &coefficients,
                         const PackedMatrix &rows, const PackedMatrix &sums,
                         int64_t features, const Stretch &block,
                         Value isFirst) {
  forQueriesOfKeys(
      block, block.count, blockSize, step::attentionKeyGroup,
      [&](const IndexExpression &row, Value terms, const Stretch &keys) {
        addProduct(k, {coefficients, row, keys.first}, /*isTransposed=*/true,
                   {rows, row, 0}, {sums, keys.first, 0},
                   {keys.count, k.constantIndex(features), terms}, isFirst);
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

} // namespace

extern const Template attentionGradientTemplate;
const Template attentionGradientTemplate =
    attentionTemplateOf<step::AttentionGradientOp, GradientScratch, Gradient,
                        Products::ofVectors>();

} // namespace tenon::codegen
