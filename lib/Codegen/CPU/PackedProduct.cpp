//===- PackedProduct.cpp - Products of matrices that a kernel keeps -------===//
//
// See PackedProduct.h.
//
//===----------------------------------------------------------------------===//

#include "PackedProduct.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tenon::codegen {

using Values = KernelBuilder::Values;

//===----------------------------------------------------------------------===//
// Access
//===----------------------------------------------------------------------===//

Value PackedAccess::position(const PackedMatrix &matrix,
                             const IndexExpression &row,
                             const IndexExpression &column) const {
  return k.algebra.scalar(row * matrix.rowStride +
                          column * matrix.columnStride);
}

Value PackedAccess::scalar(const PackedMatrix &matrix,
                           const IndexExpression &row,
                           const IndexExpression &column) const {
  Value at = position(matrix, row, column);
  return k.create<memref::LoadOp>(matrix.memref, at);
}

Value PackedAccess::vector(const PackedMatrix &matrix,
                           const IndexExpression &row,
                           const IndexExpression &column) const {
  Value at = position(matrix, row, column);
  auto type = VectorType::get({vectorLanes}, k.builder.getF32Type());
  return k.create<vector::LoadOp>(type, matrix.memref, at);
}

void PackedAccess::store(const PackedMatrix &matrix, const IndexExpression &row,
                         const IndexExpression &column, Value value) const {
  Value at = position(matrix, row, column);
  if (isa<VectorType>(value.getType()))
    k.create<vector::StoreOp>(value, matrix.memref, at);
  else
    k.create<memref::StoreOp>(value, matrix.memref, at);
}

Value PackedAccess::broadcast(Value number) const {
  auto type = VectorType::get({vectorLanes}, number.getType());
  return k.create<vector::BroadcastOp>(type, number);
}

Value PackedAccess::constant(float number) const {
  auto type = VectorType::get({vectorLanes}, k.builder.getF32Type());
  return k.levels.createAt<arith::ConstantOp>(
      0, k.loc, DenseElementsAttr::get(type, APFloat(number)));
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// One tile that the registers hold.
static Values addTile(KernelBuilder &k, const PackedMatrix &left,
                      RightSide right, const IndexExpression &row, int64_t rows,
                      const IndexExpression &column, int64_t vectors,
                      const SummedRange &sum, ValueRange sums) {
  PackedAccess access(k);
  return k.forLoop(
      sum.low, sum.high, 1, sum.range, 1, /*isLane=*/false, sums,
      [&](const IndexExpression &s, ValueRange carried) {
        Values next(carried.begin(), carried.end());
        Values columns;
        for (int64_t vector = 0; vector < vectors; ++vector)
          columns.push_back(right(s, column + vector * vectorLanes));
        for (int64_t i = 0; i < rows; ++i) {
          Value factor = access.broadcast(access.scalar(left, row + i, s));
          for (int64_t vector = 0; vector < vectors; ++vector) {
            Value &held = next[i * vectors + vector];
            held = k.create<math::FmaOp>(factor, columns[vector], held);
          }
        }
        return next;
      });
}

Values addProduct(KernelBuilder &k, const PackedMatrix &left,
                  const PackedMatrix &right, const IndexExpression &firstRow,
                  int64_t rows, const IndexExpression &firstColumn,
                  int64_t vectors, const SummedRange &sum, Values sums) {
  PackedAccess access(k);
  return addProduct(
      k, left,
      [&](const IndexExpression &row, const IndexExpression &column) {
        return access.vector(right, row, column);
      },
      firstRow, rows, firstColumn, vectors, sum, sums);
}

Values addProduct(KernelBuilder &k, const PackedMatrix &left, RightSide right,
                  const IndexExpression &firstRow, int64_t rows,
                  const IndexExpression &firstColumn, int64_t vectors,
                  const SummedRange &sum, Values sums) {
  int64_t most = k.processor.hasAvx512 ? mostStripeRows : stripeRows / 2;
  Values result;
  for (int64_t row = 0; row < rows; row += most) {
    int64_t count = std::min(most, rows - row);
    llvm::append_range(
        result,
        addTile(k, left, right, firstRow + row, count, firstColumn, vectors,
                sum, ArrayRef(sums).slice(row * vectors, count * vectors)));
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

void forBlocks(
    KernelBuilder &k, int64_t count, int64_t size,
    llvm::function_ref<void(const IndexExpression &, int64_t)> body) {
  int64_t whole = count - count % size;
  if (whole == size)
    body(0, size);
  else if (whole)
    k.forLoop(k.constantIndex(0), k.constantIndex(whole), size,
              {0, whole - size}, size, /*isLane=*/false,
              [&](const IndexExpression &first) { body(first, size); });
  if (whole != count)
    body(whole, count - whole);
}

void forStripes(
    KernelBuilder &k, int64_t count, bool alike,
    llvm::function_ref<void(const IndexExpression &, int64_t)> body) {
  int64_t rest = count % stripeRows;
  bool isJoined = alike && rest > 0 && count > stripeRows &&
                  stripeRows + rest <= mostStripeRows;
  if (!isJoined)
    return forBlocks(k, count, stripeRows, body);
  int64_t last = stripeRows + rest;
  if (count > last)
    forBlocks(k, count - last, stripeRows, body);
  body(count - last, last);
}

void forColumns(
    KernelBuilder &k, int64_t columns, int64_t most, Value end,
    llvm::function_ref<void(const IndexExpression &, int64_t)> body) {
  int64_t step = most * vectorLanes;
  int64_t inTiles = columns - columns % step;
  if (inTiles) {
    Value high = k.constantIndex(inTiles);
    if (end)
      high = k.create<arith::MinUIOp>(high, end);
    k.forLoop(k.constantIndex(0), high, step,
              {0, inTiles - step + vectorLanes - 1}, step, /*isLane=*/true,
              [&](const IndexExpression &first) { body(first, most); });
  }
  auto alone = [&](int64_t first, llvm::function_ref<void()> emit) {
    if (!end)
      return emit();
    Value isNeeded = k.create<arith::CmpIOp>(arith::CmpIPredicate::ult,
                                             k.constantIndex(first), end);
    k.ifThen(isNeeded, emit);
  };
  for (; inTiles + vectorLanes <= columns; inTiles += vectorLanes)
    alone(inTiles, [&] {
      body(k.algebra.laneVariable(
               k.constantIndex(inTiles), {inTiles, inTiles + vectorLanes - 1},
               k.levels.current(), inTiles ? inTiles : vectorLanes),
           1);
    });
  if (inTiles != columns)
    alone(inTiles, [&] {
      k.tail(inTiles, columns,
             [&](const IndexExpression &first) { body(first, 1); });
    });
}

void transposeVectors(KernelBuilder &k, MutableArrayRef<Value> vectors) {
  for (int64_t distance = 1; distance < vectorLanes; distance *= 2)
    for (int64_t i = 0; i < vectorLanes; ++i) {
      if (i & distance)
        continue;
      SmallVector<int64_t> low, high;
      for (int64_t lane = 0; lane < vectorLanes; ++lane) {
        bool own = (lane & distance) == 0;
        low.push_back(own ? lane : vectorLanes + lane - distance);
        high.push_back(own ? lane + distance : vectorLanes + lane);
      }
      Value a = vectors[i], b = vectors[i + distance];
      vectors[i] = k.create<vector::ShuffleOp>(a, b, low);
      vectors[i + distance] = k.create<vector::ShuffleOp>(a, b, high);
    }
}

} // namespace tenon::codegen
