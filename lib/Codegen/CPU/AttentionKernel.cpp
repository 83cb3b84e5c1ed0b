//===- AttentionKernel.cpp - What attention and its gradient share --------===//
//
// See AttentionKernel.h.
//
//===----------------------------------------------------------------------===//

#include "AttentionKernel.h"

#include "tenon/Analysis/Shapes.h"
#include "tenon/Codegen/Loops/MathExpansions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <limits>

using namespace mlir;

namespace tenon::codegen {

using step::AttentionProblem;

PackedMatrix AttentionKernel::matrix(int64_t place, int64_t rows,
                                     int64_t columns) {
  Value start = k.create<arith::MulIOp>(k.part, k.constantIndex(bytesPerPart));
  Value offset = k.create<arith::AddIOp>(start, k.constantIndex(place));
  int64_t stride = packedStride(columns);
  Buffer buffer =
      k.scratchBuffer(offset, {rows * stride}, k.builder.getF32Type());
  return {buffer.memref, stride, 1};
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

void AttentionKernel::packRows(Value tensor, ArrayRef<int64_t> dims,
                               const IndexExpression &first, int64_t rows,
                               int64_t features, const PackedMatrix &to) {
  k.forRange(rows, [&](const IndexExpression &row) {
    k.forLanes(features, [&](const IndexExpression &feature) {
      // A row is one of queries or of keys, never both.
      Value value =
          wide(tensor, indices(dims, first + row, first + row, feature));
      if (k.points.mask)
        value =
            k.create<arith::SelectOp>(k.points.mask, value, access.constant(0));
      access.store(to, row, feature, value);
    });
  });
}

void AttentionKernel::packTransposed(Value tensor, ArrayRef<int64_t> dims,
                                     int64_t features, const PackedMatrix &to) {
  forBlocks(k, problem.keys, vectorLanes,
            [&](const IndexExpression &first, int64_t count) {
              auto pack = [&](const IndexExpression &feature, int64_t rows) {
                SmallVector<Value> vectors;
                for (int64_t key = 0; key < count; ++key)
                  vectors.push_back(
                      wide(tensor, indices(dims, 0, first + key, feature)));
                vectors.resize(vectorLanes, access.constant(0));
                transposeVectors(k, vectors);
                // Rows are the lanes of `feature`; the expression stands for
                // the first.
                for (int64_t row = 0; row < rows; ++row)
                  access.store(to, feature + row, first, vectors[row]);
              };
              int64_t whole = features - features % vectorLanes;
              if (whole)
                k.forLoop(k.constantIndex(0), k.constantIndex(whole),
                          vectorLanes, {0, whole - 1}, vectorLanes,
                          /*isLane=*/true, [&](const IndexExpression &feature) {
                            pack(feature, vectorLanes);
                          });
              if (whole != features)
                k.tail(whole, features, [&](const IndexExpression &feature) {
                  pack(feature, features - whole);
                });
            });
}

bool AttentionKernel::isReadDirectly(Value tensor, ArrayRef<int64_t> dims) {
  return elementOf(tensor).isF32() && dims.back() != step::keyPositions &&
         dims.back() < 0;
}

Value AttentionKernel::row(Value tensor, ArrayRef<int64_t> dims,
                           const PackedMatrix &copy, const IndexExpression &key,
                           const IndexExpression &feature) {
  return isReadDirectly(tensor, dims)
             ? wide(tensor, indices(dims, key, key, feature))
             : access.vector(copy, key, feature);
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
  Value nothing = access.constant(-std::numeric_limits<float>::infinity());
  if (problem.causal) {
    // Lanes up to query - key.
    Type i32 = k.builder.getI32Type();
    auto type = VectorType::get({vectorLanes}, i32);
    SmallVector<int32_t> numbers(vectorLanes);
    std::iota(numbers.begin(), numbers.end(), 0);
    Value lanes = k.levels.createAt<arith::ConstantOp>(
        0, k.loc, DenseElementsAttr::get(type, ArrayRef(numbers)));
    Value distance =
        k.create<arith::SubIOp>(k.algebra.scalar(query), k.algebra.scalar(key));
    Value narrow = k.create<arith::IndexCastOp>(i32, distance);
    Value last = access.broadcast(narrow);
    Value isIncluded =
        k.create<arith::CmpIOp>(arith::CmpIPredicate::sle, lanes, last);
    score = k.create<arith::SelectOp>(isIncluded, score, nothing);
  }
  if (k.points.mask)
    score = k.create<arith::SelectOp>(k.points.mask, score, nothing);
  return score;
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
  int index = k.source.indexOfResult(result);
  if (index < 0)
    return;
  if (Type element = elementOf(result); !element.isF32())
    number = convertFloat(k.builder, k.loc, number, element);
  k.storeResult(index, at, {number, k.levels.current()});
}

SummedRange AttentionKernel::keysOf(const IndexExpression &query) {
  Value all = k.constantIndex(problem.keys);
  IndexRange range{0, problem.keys - 1};
  Value zero = k.constantIndex(0);
  if (!problem.causal)
    return {zero, all, range};
  return {zero, k.create<arith::MinUIOp>(columnsOf(query), all), range};
}

Value AttentionKernel::columnsOf(const IndexExpression &query) {
  if (!problem.causal)
    return nullptr;
  constexpr int64_t group = step::attentionKeyGroup;
  return k.algebra.scalar(k.algebra.floorDiv(query, group) * group + group);
}

} // namespace tenon::codegen
