//===- AttentionKernel.cpp - What attention and its gradient share --------===//
//
// See AttentionKernel.h.
//
//===----------------------------------------------------------------------===//

#include "AttentionKernel.h"

#include "tenon/Analysis/Shapes.h"
#include "tenon/Codegen/Loops/GradientCenter.h"
#include "tenon/Codegen/Loops/MathExpansions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <limits>

using namespace mlir;

namespace tenon::codegen {

using Values = KernelBuilder::Values;
using step::AttentionProblem;

/// The score of a key that takes no part.
static constexpr float nothing = -std::numeric_limits<float>::infinity();

Value AttentionKernel::memory(int64_t place, int64_t elements, Type type) {
  Value start = k.create<arith::MulIOp>(k.part, k.constantIndex(bytesPerPart));
  Value offset = k.create<arith::AddIOp>(start, k.constantIndex(place));
  return k.scratchBuffer(offset, {elements}, type).memref;
}

PackedMatrix AttentionKernel::matrix(int64_t place, int64_t rows,
                                     int64_t columns) {
  int64_t stride = packedStride(columns);
  return {memory(place, packedRows(rows) * stride, k.builder.getF32Type()),
          stride};
}

PackedMatrix AttentionKernel::narrowMatrix(int64_t place, int64_t rows,
                                           int64_t columns) {
  int64_t stride = narrowStride(columns);
  return {memory(place, wholeSteps(rows) * stride, k.builder.getBF16Type()),
          stride};
}

PackedMatrix AttentionKernel::pairsOfRows(int64_t place, int64_t rows,
                                          int64_t columns) {
  int64_t stride = narrowStride(columns) / 2;
  return {memory(place, wholeSteps(rows) * stride, k.builder.getF32Type()),
          stride};
}

Stretch AttentionKernel::all(int64_t extent) {
  return {0, k.constantIndex(extent), k.constantIndex(extent)};
}

Indices AttentionKernel::indices(ArrayRef<int64_t> dims,
                                 const IndexExpression &query,
                                 const IndexExpression &key,
                                 const IndexExpression &feature) const {
  Indices all;
  for (int64_t dimension : dims)
    all.push_back(dimension >= 0                      ? batch[dimension]
                  : dimension == step::queryPositions ? query
                  : dimension == step::keyPositions   ? key
                                                      : feature);
  return all;
}

Value AttentionKernel::wide(Value tensor, ArrayRef<IndexExpression> at) {
  Value value = k.points.asVector(k.points.at(tensor, at));
  if (elementOf(tensor).isF32())
    return value;
  return convertFloat(k.builder, k.loc, value, k.builder.getF32Type());
}

void AttentionKernel::forStretches(
    const IndexExpression &low, Value high, int64_t extent, int64_t size,
    llvm::function_ref<void(const Stretch &)> body) {
  if (extent <= size)
    return body({low, high, high});
  k.forLoop(k.algebra.scalar(low), high, size, {0, extent - 1}, vectorLanes,
            /*isLane=*/false, [&](const IndexExpression &first) {
              Value start = k.algebra.scalar(first);
              Value end = k.create<arith::MinUIOp>(
                  k.create<arith::AddIOp>(start, k.constantIndex(size)), high);
              body({first, end, k.create<arith::SubIOp>(end, start)});
            });
}

void AttentionKernel::forEach(const Stretch &stretch, int64_t extent,
                              KernelBuilder::Body body) {
  k.forLoop(k.algebra.scalar(stretch.first), stretch.end, 1, {0, extent - 1}, 1,
            /*isLane=*/false, body);
}

Values AttentionKernel::forKeys(const Stretch &keys, ValueRange carried,
                                KernelBuilder::CarryingBody body) {
  return k.forLoop(k.algebra.scalar(keys.first), keys.end, vectorLanes,
                   {0, problem.keys - 1}, vectorLanes, /*isLane=*/true, carried,
                   [&](const IndexExpression &key, ValueRange values) {
                     if (problem.keys % vectorLanes == 0)
                       return body(key, values);
                     Value left = k.create<arith::SubIOp>(
                         k.constantIndex(problem.keys), k.algebra.scalar(key));
                     k.points.mask = k.create<arith::CmpIOp>(
                         arith::CmpIPredicate::slt, lanes(),
                         access.broadcast(narrow(left)));
                     k.points.maskLevel = k.levels.current();
                     Values results = body(key, values);
                     k.points.mask = nullptr;
                     return results;
                   });
}

void AttentionKernel::forKeys(const Stretch &keys, KernelBuilder::Body body) {
  forKeys(keys, {}, [&](const IndexExpression &key, ValueRange) {
    body(key);
    return Values();
  });
}

void AttentionKernel::packRows(Value tensor, ArrayRef<int64_t> dims,
                               const Stretch &rows, int64_t extent,
                               int64_t features, const PackedMatrix &to) {
  forEach(rows, extent, [&](const IndexExpression &row) {
    k.forLanes(features, [&](const IndexExpression &feature) {
      // A row is one of queries or of keys, never both.
      Value value = wide(tensor, indices(dims, row, row, feature));
      if (k.points.mask)
        value =
            k.create<arith::SelectOp>(k.points.mask, value, access.constant(0));
      access.store(to, row - rows.first, feature, value);
    });
  });
}

Indices AttentionKernel::behind(const IndexExpression &unit,
                                ArrayRef<int64_t> extents) {
  return k.algebra.delinearize(
      k.algebra.clamped(unit + 1, {0, elementCount(extents) - 1}), extents);
}

void AttentionKernel::beginUnit(const IndexExpression &unit, bool isOneBlock) {
  batch = k.algebra.delinearize(unit, problem.batch);
  if (isOneBlock)
    nextBatch = behind(unit, problem.batch);
}

void AttentionKernel::prefetchRow(Value tensor, ArrayRef<int64_t> dims,
                                  const IndexExpression &row, int64_t extent,
                                  int64_t features) {
  constexpr int64_t lineBytes = 64;
  // Features that lie apart would be as many lines.
  if (nextBatch.empty() || (dims.back() != step::queryFeatures &&
                            dims.back() != step::valueFeatures))
    return;
  const int64_t perLine = lineBytes / bytesOf(elementOf(tensor));
  IndexExpression existing = k.algebra.clamped(row, {0, extent - 1});
  std::swap(batch, nextBatch);
  k.forRange((features + perLine - 1) / perLine,
             [&](const IndexExpression &line) {
               k.points.prefetch(
                   tensor, indices(dims, existing, existing, line * perLine));
             });
  std::swap(batch, nextBatch);
}

void AttentionKernel::prefetchRows(const IndexExpression &row) {
  prefetchRow(problem.query, problem.queryDims, row, problem.queries,
              problem.features);
  prefetchRow(problem.key, problem.keyDims, row, problem.keys,
              problem.features);
  prefetchRow(problem.value, problem.valueDims, row, problem.keys,
              problem.valueFeatures);
}

void AttentionKernel::storeRows(Value result, ArrayRef<int64_t> dims,
                                const Stretch &rows, int64_t extent,
                                int64_t features, const PackedMatrix &from) {
  forEach(rows, extent, [&](const IndexExpression &row) {
    k.forLanes(features, [&](const IndexExpression &feature) {
      storeResult(result, indices(dims, row, row, feature),
                  access.vector(from, row - rows.first, feature));
    });
  });
}

void AttentionKernel::forQueriesOfKeys(
    const Stretch &block, Value count, int64_t most, int64_t group,
    function_ref<void(const IndexExpression &first, Value count,
                      const Stretch &keys)>
        body) {
  if (!problem.causal)
    return body(0, count, all(problem.keys));
  const IndexRange range{0, most};
  forStretches(0, k.constantIndex(problem.keys), problem.keys, group,
               [&](const Stretch &keys) {
                 // Queries in front of the keys' group leave them out.
                 Value from = k.create<arith::MinUIOp>(
                     k.algebra.scalar(
                         k.algebra.clamped(keys.first - block.first, range)),
                     count);
                 body(k.algebra.uniform(from, range, k.levels.current()),
                      k.create<arith::SubIOp>(count, from), keys);
               });
}

void AttentionKernel::packKeys(Value tensor, ArrayRef<int64_t> dims,
                               int64_t features, const PackedMatrix &rows,
                               const PackedMatrix &columns) {
  packRows(tensor, dims, all(problem.keys), problem.keys, features, rows);
  int64_t missing = packedRows(problem.keys) - problem.keys;
  if (missing)
    k.forRange(missing, [&](const IndexExpression &row) {
      k.forLoop(k.constantIndex(0), k.constantIndex(rows.stride), vectorLanes,
                {0, rows.stride - 1}, vectorLanes, /*isLane=*/true,
                [&](const IndexExpression &column) {
                  access.store(rows, row + problem.keys, column,
                               access.constant(0));
                });
    });
  transposePacked(k, {rows, 0, 0}, problem.keys, features, columns);
}

void AttentionKernel::clearColumns(const PackedMatrix &narrow,
                                   const IndexExpression &row,
                                   int64_t columns) {
  int64_t first = llvm::alignTo(columns, vectorLanes);
  if (first != wholeSteps(columns))
    access.store(narrow, row, first, access.constant(0));
}

void AttentionKernel::clearRows(const PackedMatrix &narrow, Value rows,
                                int64_t most) {
  Value end = wholeStepsOf(rows);
  k.forLoop(rows, end, 1, {0, wholeSteps(most) - 1}, 1, /*isLane=*/false,
            [&](const IndexExpression &row) {
              k.forLoop(k.constantIndex(0), k.constantIndex(narrow.stride),
                        vectorLanes, {0, narrow.stride - 1}, vectorLanes,
                        /*isLane=*/true, [&](const IndexExpression &column) {
                          access.store(narrow, row, column, access.constant(0));
                        });
            });
}

Value AttentionKernel::wholeStepsOf(Value count) {
  Value more = k.create<arith::AddIOp>(count, k.constantIndex(tileTerms - 1));
  return k.create<arith::AndIOp>(more, k.constantIndex(-tileTerms));
}

void AttentionKernel::packTerms(Value tensor, ArrayRef<int64_t> dims,
                                const Stretch &rows, int64_t extent,
                                int64_t features, const PackedMatrix &to) {
  packRows(tensor, dims, rows, extent, features, to);
  forEach(rows, extent, [&](const IndexExpression &row) {
    clearColumns(to, row - rows.first, features);
  });
  clearRows(to, rows.count, extent);
}

PackedMatrix AttentionKernel::packKeyTerms(Value tensor, ArrayRef<int64_t> dims,
                                           int64_t features, int64_t place,
                                           const PackedMatrix &columns) {
  PackedMatrix rows = narrowMatrix(place, problem.keys, features);
  packTerms(tensor, dims, all(problem.keys), problem.keys, features, rows);
  transposePacked(k, {pairsOfRows(place, problem.keys, features), 0, 0},
                  problem.keys, wholeSteps(features) / 2, columns);
  return rows;
}

Value AttentionKernel::beside(Value tensor, ArrayRef<int64_t> dims,
                              const IndexExpression &query,
                              const IndexExpression &key) {
  Element element = k.points.at(tensor, indices(dims, query, key, 0));
  Value value = k.points.asVector(element);
  if (!isa<FloatType>(elementOf(tensor)) || elementOf(tensor).isF32())
    return value;
  return convertFloat(k.builder, k.loc, value, k.builder.getF32Type());
}

Value AttentionKernel::lanes() {
  auto type = VectorType::get({vectorLanes}, k.builder.getI32Type());
  SmallVector<int32_t> numbers(vectorLanes);
  std::iota(numbers.begin(), numbers.end(), 0);
  return k.levels.createAt<arith::ConstantOp>(
      0, k.loc, DenseElementsAttr::get(type, ArrayRef(numbers)));
}

Value AttentionKernel::narrow(Value index) {
  return k.create<arith::IndexCastOp>(k.builder.getI32Type(), index);
}

Value AttentionKernel::score(Value product, const IndexExpression &query,
                             const IndexExpression &key) {
  Value score = product;
  if (problem.scale != 1)
    score = multiply(score, access.constant(problem.scale));
  if (problem.bias)
    score = k.create<arith::AddFOp>(
        score, beside(problem.bias, problem.biasDims, query, key));
  if (problem.mask)
    score = k.create<arith::SelectOp>(
        beside(problem.mask, problem.maskDims, query, key), score,
        access.constant(*problem.fill));
  Value nothing = access.constant(codegen::nothing);
  if (problem.causal) {
    // Lanes up to query - key.
    Value distance =
        k.create<arith::SubIOp>(k.algebra.scalar(query), k.algebra.scalar(key));
    Value last = access.broadcast(narrow(distance));
    Value isIncluded =
        k.create<arith::CmpIOp>(arith::CmpIPredicate::sle, lanes(), last);
    score = k.create<arith::SelectOp>(isIncluded, score, nothing);
  }
  if (k.points.mask)
    score = k.create<arith::SelectOp>(k.points.mask, score, nothing);
  return score;
}

Value AttentionKernel::makeScores(const PackedMatrix &products,
                                  const IndexExpression &query,
                                  const IndexExpression &row,
                                  const Stretch &block) {
  Values maxima =
      forKeys(block, {access.constant(nothing)},
              [&](const IndexExpression &key, ValueRange carried) {
                IndexExpression column = key - block.first;
                Value scores =
                    score(access.vector(products, row, column), query, key);
                access.store(products, row, column, scores);
                return Values{larger(scores, carried.front())};
              });
  return access.broadcast(
      collapse(k, maxima, [&](Value a, Value b) { return larger(a, b); }));
}

Value AttentionKernel::referenceOf(Value maximum) {
  Value isNothing = k.create<arith::CmpFOp>(arith::CmpFPredicate::OEQ, maximum,
                                            access.constant(nothing));
  return k.create<arith::SelectOp>(isNothing, access.constant(0), maximum);
}

Value AttentionKernel::makeWeights(const PackedMatrix &scores,
                                   const IndexExpression &query,
                                   const IndexExpression &row,
                                   const Stretch &block, Value reference,
                                   bool multiplies) {
  Values sums = forKeys(block, {access.constant(0)},
                        [&](const IndexExpression &key, ValueRange carried) {
                          IndexExpression column = key - block.first;
                          Value numbers = weight(
                              access.vector(scores, row, column), reference);
                          Value sum = add(carried.front(), numbers);
                          if (multiplies)
                            numbers = multiplied(numbers, query, key);
                          access.store(scores, row, column, numbers);
                          return Values{sum};
                        });
  return access.broadcast(
      collapse(k, sums, [&](Value a, Value b) { return add(a, b); }));
}

void AttentionKernel::divideWeights(const PackedMatrix &weights,
                                    const PackedMatrix &to,
                                    const IndexExpression &query,
                                    const IndexExpression &row,
                                    const Stretch &block, Value sum) {
  Value factor = reciprocal(sum);
  forKeys(block, [&](const IndexExpression &key) {
    IndexExpression column = key - block.first;
    Value numbers = multiply(access.vector(weights, row, column), factor);
    access.store(to, row, column, multiplied(numbers, query, key));
  });
}

SmallVector<int64_t> AttentionKernel::extents(bool shared) const {
  SmallVector<int64_t> extents;
  for (auto [number, extent] : llvm::enumerate(problem.batch))
    if (problem.isShared(number) == shared)
      extents.push_back(extent);
  return extents;
}

void AttentionKernel::setBatch(const Indices &own, const Indices &shared) {
  batch.clear();
  size_t nextOwn = 0, nextShared = 0;
  for (size_t number = 0; number < problem.batch.size(); ++number)
    if (!problem.isShared(number))
      batch.push_back(own[nextOwn++]);
    else
      batch.push_back(shared.empty() ? IndexExpression(0)
                                     : shared[nextShared++]);
}

void AttentionKernel::forQueryBlocks(
    const IndexExpression &unit, int64_t blockSize,
    llvm::function_ref<void()> pack,
    llvm::function_ref<void(const Stretch &, Value)> body) {
  const SmallVector<int64_t> ownExtents = extents(/*shared=*/false);
  Indices own = k.algebra.delinearize(unit, ownExtents);
  if (ownExtents.size() == problem.batch.size() &&
      problem.queries <= blockSize) {
    setBatch(behind(unit, ownExtents), {});
    nextBatch = batch;
  }
  setBatch(own, {});
  pack();
  k.forSpace(extents(/*shared=*/true), [&](const Indices &shared) {
    setBatch(own, shared);
    forStretches(0, k.constantIndex(problem.queries), problem.queries,
                 blockSize, [&](const Stretch &block) {
                   IndexExpression before = block.first;
                   for (const IndexExpression &index : shared)
                     before = before + index;
                   Value isFirst = k.create<arith::CmpIOp>(
                       arith::CmpIPredicate::eq, k.algebra.scalar(before),
                       k.constantIndex(0));
                   body(block, isFirst);
                 });
  });
  setBatch(own, {});
}

Value AttentionKernel::statistic(Value tensor, const IndexExpression &query) {
  Indices at = batch;
  at.push_back(query);
  return k.points.asVector(k.points.at(tensor, at));
}

void AttentionKernel::makeSlopes(const GradientRow &m,
                                 const IndexExpression &query,
                                 const IndexExpression &row,
                                 const Stretch &keys) {
  Value reciprocal = this->reciprocal(m.sum);
  Value largest = largestWeight(k.builder, k.loc, reciprocal);
  Values sums = forKeys(
      keys, Values(centerSumCount, access.constant(0)),
      [&](const IndexExpression &key, ValueRange carried) {
        Value scores = score(access.vector(m.weights, row, key), query, key);
        Value numbers = multiply(weight(scores, m.maximum), reciprocal);
        access.store(m.weights, row, key, numbers);
        Value gradient = rounded(access.vector(m.slopes, row, key),
                                 problem.roundsWeightGradients, problem.value);
        if (problem.factor)
          gradient = multiply(
              gradient, beside(problem.factor, problem.factorDims, query, key));
        if (k.points.mask)
          gradient = k.create<arith::SelectOp>(k.points.mask, gradient,
                                               access.constant(0));
        if (problem.factor || problem.roundsWeightGradients || k.points.mask)
          access.store(m.slopes, row, key, gradient);
        return addToCenter(k.builder, k.loc, carried, numbers, largest,
                           gradient);
      });
  for (Value &sum : sums)
    sum = collapse(k, sum, [&](Value a, Value b) { return add(a, b); });
  GradientCenter center = centerOf(k.builder, k.loc, sums);
  center = {access.broadcast(center.pivot), access.broadcast(center.rest)};

  const bool movesWeights = m.weightsTo.memref != m.weights.memref;
  forKeys(keys, [&](const IndexExpression &key) {
    Value weight = access.vector(m.weights, row, key);
    Value slope =
        multiply(weight, fromCenter(k.builder, k.loc,
                                    access.vector(m.slopes, row, key), center));
    if (problem.scale != 1)
      slope = multiply(slope, access.constant(problem.scale));
    if (problem.mask)
      slope = k.create<arith::SelectOp>(
          beside(problem.mask, problem.maskDims, query, key), slope,
          access.constant(0));
    access.store(m.slopesTo, row, key,
                 rounded(slope, problem.roundsSlopes, problem.key));
    if (problem.factor || problem.roundsWeights || movesWeights)
      access.store(m.weightsTo, row, key, multiplied(weight, query, key));
  });
}

Value AttentionKernel::larger(Value a, Value b) {
  Value isLarger = k.create<arith::CmpFOp>(arith::CmpFPredicate::OGT, a, b);
  return k.create<arith::SelectOp>(isLarger, a, b);
}

Value AttentionKernel::add(Value a, Value b) {
  return k.create<arith::AddFOp>(a, b);
}

Value AttentionKernel::reciprocal(Value number) {
  return k.create<arith::DivFOp>(access.constant(1), number);
}

Value AttentionKernel::weight(Value score, Value reference) {
  Value difference = k.create<arith::SubFOp>(score, reference);
  return emitMath(k.builder, k.loc, MathFunction::exp, {difference},
                  k.instructions);
}

Value AttentionKernel::multiplied(Value weights, const IndexExpression &query,
                                  const IndexExpression &key) {
  if (problem.factor)
    weights = multiply(weights,
                       beside(problem.factor, problem.factorDims, query, key));
  return rounded(weights, problem.roundsWeights, problem.value);
}

Value AttentionKernel::rounded(Value numbers, bool isRounded, Value like) {
  Type narrow = elementOf(like);
  if (!isRounded || narrow.isF32())
    return numbers;
  Value less = convertFloat(k.builder, k.loc, numbers, narrow);
  return convertFloat(k.builder, k.loc, less, k.builder.getF32Type());
}

Value AttentionKernel::multiply(Value a, Value b) {
  return k.create<arith::MulFOp>(a, b);
}

void AttentionKernel::storeResult(Value result, ArrayRef<IndexExpression> at,
                                  Value number) {
  if (k.source.indexOfResult(result) < 0)
    return;
  if (Type element = elementOf(result); !element.isF32())
    number = convertFloat(k.builder, k.loc, number, element);
  k.storePart(result, at, {number, k.levels.current()});
}

Value AttentionKernel::endOfKeys(const IndexExpression &query, int64_t group) {
  Value all = k.constantIndex(problem.keys);
  if (!problem.causal)
    return all;
  Value end =
      k.algebra.scalar(k.algebra.floorDiv(query, group) * group + group);
  return k.create<arith::MinUIOp>(end, all);
}

} // namespace tenon::codegen
