//===- PackedProduct.cpp - Products of matrices that a kernel keeps -------===//
//
// See PackedProduct.h.
//
//===----------------------------------------------------------------------===//

#include "PackedProduct.h"

#include "PackedRoutine.h"

#include "tenon/Codegen/Loops/PointwiseOperations.h"

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
  return k.algebra.scalar(row * matrix.stride + column);
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
  value = convertFloat(k.builder, k.loc, value,
                       getElementTypeOrSelf(matrix.memref.getType()));
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

namespace {

/// The code of a product for one processor.
class ProductRoutine : RoutineBuilder {
public:
  ProductRoutine(OpBuilder &b, Location loc, ValueRange arguments)
      : RoutineBuilder(b, loc), left(arguments[0]), leftRow(arguments[1]),
        leftTerm(arguments[2]), right(arguments[3]), rightRow(arguments[4]),
        to(arguments[5]), toRow(arguments[6]), rows(arguments[7]),
        columns(arguments[8]), terms(arguments[9]), isFresh(arguments[10]) {}

  void emit(bool hasWideRegisters);

private:
  void emitColumns(Value low, Value high, int64_t vectors, int64_t rowsOfTile);
  void emitTile(Value row, int64_t count, Value column, int64_t vectors);
  Values start(ArrayRef<Value> addresses);

  /// Pointers, distances between neighbours in elements, and extents.
  Value left, leftRow, leftTerm, right, rightRow, to, toRow, rows, columns,
      terms, isFresh;
  /// Rows in front of this one are taken in whole tiles.
  Value rowsInTiles;
};

} // namespace

/// A tile is 8 rows of 2 vectors with 32 registers, 4 rows of 1 otherwise. Up
/// to two rows that are left take a small tile, more of them a whole one.
void ProductRoutine::emit(bool hasWideRegisters) {
  constexpr int64_t rowsOfSmallTile = 2;
  int64_t rowsOfTile = hasWideRegisters ? 8 : 4;
  Value rest = create<arith::AndIOp>(rows, constant(rowsOfTile - 1));
  Value isSmall = create<arith::CmpIOp>(arith::CmpIPredicate::ule, rest,
                                        constant(rowsOfSmallTile));
  Value whole = create<arith::SubIOp>(rows, rest);
  rowsInTiles = create<arith::SelectOp>(isSmall, whole, rows);
  Value low = constant(0);
  if (hasWideRegisters) {
    // Of an odd number of vectors the last one is alone.
    Value padded = add(columns, constant(vectorLanes - 1));
    Value high = create<arith::AndIOp>(padded, constant(-2 * vectorLanes));
    emitColumns(low, high, 2, rowsOfTile);
    low = high;
  }
  emitColumns(low, columns, 1, rowsOfTile);
}

void ProductRoutine::emitColumns(Value low, Value high, int64_t vectors,
                                 int64_t rowsOfTile) {
  constexpr int64_t rowsOfSmallTile = 2;
  forLoop(low, high, vectors * vectorLanes, [&](Value column) {
    forLoop(constant(0), rowsInTiles, rowsOfTile,
            [&](Value row) { emitTile(row, rowsOfTile, column, vectors); });
    forLoop(rowsInTiles, rows, rowsOfSmallTile, [&](Value row) {
      emitTile(row, rowsOfSmallTile, column, vectors);
    });
  });
}

/// Zeros, or what is there.
Values ProductRoutine::start(ArrayRef<Value> addresses) {
  SmallVector<Type> types(addresses.size(), vectorType());
  auto choice = create<scf::IfOp>(types, isFresh, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(choice.thenBlock());
  Value zero = create<arith::ConstantOp>(b.getZeroAttr(vectorType()));
  create<scf::YieldOp>(Values(addresses.size(), zero));
  b.setInsertionPointToEnd(choice.elseBlock());
  Values present;
  for (Value address : addresses)
    present.push_back(load(address, vectorType()));
  create<scf::YieldOp>(present);
  return Values(choice.getResults());
}

void ProductRoutine::emitTile(Value row, int64_t count, Value column,
                              int64_t vectors) {
  Values factors, addresses;
  Value factor = behind(left, multiply(row, leftRow));
  Value address = behind(behind(to, multiply(row, toRow)), column);
  for (int64_t i = 0; i < count; ++i) {
    factors.push_back(factor);
    factor = behind(factor, leftRow);
    for (int64_t vector = 0; vector < vectors; ++vector)
      addresses.push_back(behind(address, vector * vectorLanes));
    address = behind(address, toRow);
  }
  Values carried = start(addresses);
  carried.push_back(behind(right, column));
  ValueRange sums = forLoop(
      constant(0), multiply(terms, leftTerm), leftTerm, carried,
      [&](Value offset, ValueRange held) {
        Values next(held);
        Value &rightOfTerm = next.back();
        Values numbers;
        for (int64_t vector = 0; vector < vectors; ++vector)
          numbers.push_back(
              load(behind(rightOfTerm, vector * vectorLanes), vectorType()));
        for (int64_t i = 0; i < count; ++i) {
          Value number = create<vector::BroadcastOp>(
              vectorType(), load(behind(factors[i], offset), b.getF32Type()));
          for (int64_t vector = 0; vector < vectors; ++vector) {
            Value &sum = next[i * vectors + vector];
            sum = create<math::FmaOp>(number, numbers[vector], sum);
          }
        }
        rightOfTerm = behind(rightOfTerm, rightRow);
        return next;
      });
  for (auto [place, sum] : llvm::zip(addresses, sums))
    store(sum, place);
}

void addProduct(KernelBuilder &k, const PackedPlace &left, bool isTransposed,
                const PackedPlace &right, const PackedPlace &to,
                const ProductExtents &extents, Value isFresh) {
  Type pointer = pointerType(k);
  Type i64 = k.builder.getI64Type(), i1 = k.builder.getI1Type();
  func::FuncOp callee = packedRoutine(
      k, "packed_product",
      {pointer, i64, i64, pointer, i64, pointer, i64, i64, i64, i64, i1},
      [&](OpBuilder &b, ValueRange arguments) {
        ProductRoutine(b, k.loc, arguments)
            .emit(k.instructions.hasWideRegisters);
      });
  auto constant = [&](int64_t value) {
    return asInteger(k, k.constantIndex(value));
  };
  int64_t along = left.matrix.stride;
  Values arguments = {addressOf(k, left),
                      constant(isTransposed ? 1 : along),
                      constant(isTransposed ? along : 1),
                      addressOf(k, right),
                      constant(right.matrix.stride),
                      addressOf(k, to),
                      constant(to.matrix.stride),
                      asInteger(k, extents.rows),
                      asInteger(k, extents.columns),
                      asInteger(k, extents.terms),
                      isFresh};
  k.create<func::CallOp>(callee, arguments);
}

//===----------------------------------------------------------------------===//
// Transposition
//===----------------------------------------------------------------------===//

namespace {

class TransposeRoutine : RoutineBuilder {
public:
  /// Larger tiles take fewer shuffles, and registers for all of their rows.
  TransposeRoutine(OpBuilder &b, Location loc, bool hasWideRegisters)
      : RoutineBuilder(b, loc), tile(hasWideRegisters ? vectorLanes : 4) {}

  /// Pointers, row strides, and extents in elements.
  void emit(ValueRange arguments) {
    Value from = arguments[0], fromRow = arguments[1], to = arguments[2],
          toRow = arguments[3], rows = arguments[4], columns = arguments[5];
    forLoop(constant(0), rows, tile, [&](Value row) {
      forLoop(constant(0), columns, tile, [&](Value column) {
        emitTile(behind(behind(from, multiply(row, fromRow)), column), fromRow,
                 behind(behind(to, multiply(column, toRow)), row), toRow);
      });
    });
  }

private:
  const int64_t tile;

  void emitTile(Value from, Value fromRow, Value to, Value toRow) {
    auto type = VectorType::get({tile}, b.getF32Type());
    Values vectors;
    for (int64_t i = 0; i < tile; ++i) {
      vectors.push_back(load(from, type));
      from = behind(from, fromRow);
    }
    transposeVectors(b, loc, vectors);
    for (Value vector : vectors) {
      store(vector, to);
      to = behind(to, toRow);
    }
  }
};

} // namespace

void transposePacked(KernelBuilder &k, const PackedPlace &from, int64_t rows,
                     int64_t columns, const PackedMatrix &to) {
  Type pointer = pointerType(k);
  Type i64 = k.builder.getI64Type();
  func::FuncOp callee = packedRoutine(
      k, "packed_transpose", {pointer, i64, pointer, i64, i64, i64},
      [&](OpBuilder &b, ValueRange arguments) {
        TransposeRoutine(b, k.loc, k.instructions.hasWideRegisters)
            .emit(arguments);
      });
  auto constant = [&](int64_t value) {
    return asInteger(k, k.constantIndex(value));
  };
  Values arguments = {addressOf(k, from),       constant(from.matrix.stride),
                      addressOf(k, {to, 0, 0}), constant(to.stride),
                      constant(rows),           constant(columns)};
  k.create<func::CallOp>(callee, arguments);
}

void transposeVectors(OpBuilder &builder, Location loc,
                      MutableArrayRef<Value> vectors) {
  int64_t lanes = vectors.size();
  for (int64_t distance = 1; distance < lanes; distance *= 2)
    for (int64_t i = 0; i < lanes; ++i) {
      if (i & distance)
        continue;
      SmallVector<int64_t> low, high;
      for (int64_t lane = 0; lane < lanes; ++lane) {
        bool own = (lane & distance) == 0;
        low.push_back(own ? lane : lanes + lane - distance);
        high.push_back(own ? lane + distance : lanes + lane);
      }
      Value a = vectors[i], b = vectors[i + distance];
      vectors[i] = vector::ShuffleOp::create(builder, loc, a, b, low);
      vectors[i + distance] =
          vector::ShuffleOp::create(builder, loc, a, b, high);
    }
}

} // namespace tenon::codegen
