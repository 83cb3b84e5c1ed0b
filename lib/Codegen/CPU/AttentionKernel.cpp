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

using Values = KernelBuilder::Values;
using step::AttentionProblem;

PackedMatrix AttentionKernel::matrix(int64_t place, int64_t rows,
                                     int64_t columns) {
  Value start = k.create<arith::MulIOp>(k.part, k.constantIndex(bytesPerPart));
  Value offset = k.create<arith::AddIOp>(start, k.constantIndex(place));
  int64_t stride = packedStride(columns);
  Buffer buffer = k.scratchBuffer(offset, {packedRows(rows) * stride},
                                  k.builder.getF32Type());
  return {buffer.memref, stride};
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
  transposePacked(k, rows, problem.keys, features, columns);
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
  Value nothing = access.constant(-std::numeric_limits<float>::infinity());
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

Value AttentionKernel::endOfKeys(const IndexExpression &query) {
  Value all = k.constantIndex(problem.keys);
  if (!problem.causal)
    return all;
  constexpr int64_t group = step::attentionKeyGroup;
  Value end =
      k.algebra.scalar(k.algebra.floorDiv(query, group) * group + group);
  return k.create<arith::MinUIOp>(end, all);
}

} // namespace tenon::codegen
