//===- TensorTiles.cpp - Tiles of 16-bit numbers for tensor cores ---------===//
//
// See TensorTiles.h. Which element lies in which register of which lane is in
// the PTX ISA, section "Matrix Fragments for mma.m16n8k16".
//
//===----------------------------------------------------------------------===//

#include "TensorTiles.h"

#include "tenon/Analysis/Shapes.h"
#include "tenon/Codegen/Loops/IndexMaps.h"
#include "tenon/Codegen/Loops/PointwiseOperations.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tenon::codegen {

static constexpr int64_t edge = 8; // of a matrix

TensorTiles::TensorTiles(GpuKernelBuilder &k, FloatType type)
    : SharedTiles(k), warp(k.algebra.floorDiv(k.thread, threadsOfWarp)),
      lane(k.algebra.mod(k.thread, threadsOfWarp)),
      matrixRow(k.algebra.mod(lane, edge)),
      matrixLow(k.algebra.mod(k.algebra.floorDiv(lane, edge), 2)),
      matrixHigh(k.algebra.floorDiv(lane, 2 * edge)), type(type) {}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

IndexExpression TensorTiles::placeIn(const TileShape &tile,
                                     const IndexExpression &row,
                                     const IndexExpression &column) {
  constexpr int64_t perChunk = TileShape::elementsOfChunk;
  IndexExpression chunk = swizzled(row, k.algebra.floorDiv(column, perChunk),
                                   tile.width / perChunk);
  return row * tile.bytesOfRow() + chunk * bytesOfAccess +
         k.algebra.mod(column, perChunk) * 2;
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

void TensorTiles::awaitWarp() {
  k.create<NVVM::SyncWarpOp>(numberOfType(k.builder, k.loc, i32, -1));
}

TileShape TensorTiles::shapeOf(const TensorOperand &operand, int64_t rows,
                               int64_t sum) {
  return operand.isAlongSum ? TileShape{rows, sum} : TileShape{sum, rows};
}

IndexExpression TensorTiles::bounded(const IndexExpression &index,
                                     int64_t extent, int64_t multiple) {
  auto [low, high] = k.algebra.range(index);
  if (high < extent)
    return index;
  const unsigned level = k.algebra.level(index);
  Value at = k.algebra.scalar(index), last = k.constantIndex(extent - multiple);
  Value value = k.levels.createAt<arith::MinUIOp>(level, k.loc, at, last);
  return k.algebra.uniform(value, {0, extent - multiple}, level, multiple);
}

/// Whether all elements are elements of an argument of the kernel.
static bool isOfArgument(Value tensor) {
  while (Operation *op = tensor.getDefiningOp()) {
    if (!renamesIndices(op))
      return false;
    tensor = op->getOperand(0);
  }
  return true;
}

/// Which argument, and where it has the element.
std::pair<Value, IndexExpression>
TensorTiles::placeInArgument(Value tensor, Indices indices) {
  while (Operation *op = tensor.getDefiningOp()) {
    indices = renamedIndices(k.algebra, op, indices);
    tensor = op->getOperand(0);
  }
  return {tensor, k.algebra.linearize(indices, tenon::shapeOf(tensor))};
}

void TensorTiles::begin(const TensorOperand &operand, const TileShape &shape,
                        const IndexExpression &firstRow,
                        const IndexExpression &firstSum, Value to,
                        int64_t offset, SmallVectorImpl<Held> &held) {
  const int64_t threads = k.launch.threads;
  const int64_t lanes = operand.neighbours, bytes = 2 * lanes;
  const int64_t perRow = shape.width / lanes;
  const int64_t vectors = shape.rows * perRow;
  const bool mayBeCopied = bytes >= 4 && isOfArgument(operand.tensor);
  // Where all threads have a vector, what they compute waits in registers.
  const bool isEven = vectors % threads == 0;
  auto fetch = [&](const IndexExpression &vector) {
    IndexExpression down = k.algebra.floorDiv(vector, perRow),
                    along = k.algebra.mod(vector, perRow) * lanes;
    IndexExpression place = placeIn(shape, down, along) + offset;
    IndexExpression row = firstRow + (operand.isAlongSum ? down : along),
                    s = firstSum + (operand.isAlongSum ? along : down);

    // Zero where there is no such row or index.
    PointEmitter::Guard guard;
    k.points.require(guard, row, operand.rows);
    k.points.require(guard, s, operand.sum);
    const bool hasRows = operand.isAlongSum;
    row = bounded(row, operand.rows, hasRows ? 1 : lanes);
    s = bounded(s, operand.sum, hasRows ? lanes : 1);
    k.algebra.lanes = lanes;
    if (lanes > 1) {
      IndexExpression &fast = operand.isAlongSum ? s : row;
      fast = k.algebra.laneVariable(
          k.algebra.scalar(fast),
          {0, (operand.isAlongSum ? operand.sum : operand.rows) - 1},
          k.algebra.level(fast), lanes);
    }
    OperandElement element = operand.at(row, s);
    for (auto &[expression, extent] : element.inside)
      k.points.require(guard, expression, extent);
    for (const IndexExpression &expression : element.zero)
      k.points.requireZero(guard, expression);
    assert(!guard.lanes && "neighbours are there together");
    if (mayBeCopied) {
      auto [argument, position] =
          placeInArgument(operand.tensor, element.indices);
      if (lanes == 1 || (k.algebra.laneForm(position).isContiguous() &&
                         k.algebra.knownMultiple(position) % lanes == 0)) {
        k.algebra.lanes = 1;
        Value condition = guard.uniform;
        if (guard.never)
          condition = k.create<arith::ConstantOp>(k.builder.getBoolAttr(false));
        beginCopy(addressAt(to, place), k.points.bufferOf(argument), position,
                  bytes, condition);
        return;
      }
    }
    Type number = type;
    if (lanes > 1)
      number = VectorType::get({lanes}, type);
    Element zero{numberOfType(k.builder, k.loc, number, 0), k.levels.current()};
    Element value = k.points.guarded(guard, operand.tensor, element.indices,
                                     [&] { return zero; });
    Held computed{k.points.asVector(value), place};
    k.algebra.lanes = 1;
    if (isEven)
      held.push_back(computed);
    else
      store(to, computed);
  };
  for (int64_t done = 0; done < vectors; done += threads)
    k.ifBelow(k.thread + done, vectors, fetch);
}

void TensorTiles::store(Value to, ArrayRef<Held> held) {
  for (const Held &one : held)
    store(addressAt(to, one.place), one.value);
}

//===----------------------------------------------------------------------===//
// Matrices
//===----------------------------------------------------------------------===//

// The four matrices of an operand's 16 x 16 numbers are, in the order of the
// registers: of the left operand rows 0 to 7 and 8 to 15 with indices 0 to 7 of
// the sum, then with 8 to 15; of the right operand rows 0 to 7 with both halves
// of the sum, then rows 8 to 15. Lane 8 m + r has the address of row r of
// matrix m. A tile whose rows are indices of the sum is read transposed.

IndexExpression TensorTiles::placeOfLeft(const TileShape &tile, bool isAlongSum,
                                         const IndexExpression &row,
                                         const IndexExpression &sum) {
  return isAlongSum ? placeIn(tile, row + matrixLow * edge + matrixRow,
                              sum + matrixHigh * edge)
                    : placeIn(tile, sum + matrixHigh * edge + matrixRow,
                              row + matrixLow * edge);
}

IndexExpression TensorTiles::placeOfRight(const TileShape &tile,
                                          bool isAlongSum,
                                          const IndexExpression &row,
                                          const IndexExpression &sum) {
  return isAlongSum ? placeIn(tile, row + matrixHigh * edge + matrixRow,
                              sum + matrixLow * edge)
                    : placeIn(tile, sum + matrixLow * edge + matrixRow,
                              row + matrixHigh * edge);
}

TensorTiles::Values TensorTiles::loadMatrices(Value address, bool isAlongSum) {
  MLIRContext *context = k.builder.getContext();
  Type registers =
      LLVM::LLVMStructType::getLiteral(context, SmallVector<Type>(4, i32));
  Value all = k.create<NVVM::LdMatrixOp>(
      registers, address, 4u,
      isAlongSum ? NVVM::MMALayout::row : NVVM::MMALayout::col,
      NVVM::LdStMatrixShapeAttr::get(context, edge, edge),
      NVVM::LdStMatrixEltType::B16);
  Values values;
  for (int64_t i = 0; i < 4; ++i)
    values.push_back(k.create<LLVM::ExtractValueOp>(all, i));
  return values;
}

TensorTiles::Values TensorTiles::multiplyAdd(ValueRange a, ValueRange b,
                                             ValueRange c) {
  // LLVM takes bf16 as integers and f16 as vectors.
  Type pair = VectorType::get({2}, type);
  auto operand = [&](ValueRange registers) {
    Values values(registers);
    if (type.isF16())
      for (Value &value : values)
        value = k.create<LLVM::BitcastOp>(pair, value);
    return values;
  };
  auto format = type.isF16() ? NVVM::MMATypes::f16 : NVVM::MMATypes::bf16;
  Type result = LLVM::LLVMStructType::getLiteral(
      k.builder.getContext(), SmallVector<Type>(4, k.builder.getF32Type()));
  Value all = k.create<NVVM::MmaOp>(
      result, operand(a), operand(b), c, ArrayRef<int64_t>{16, 8, 16},
      std::nullopt, std::nullopt, std::array{format, format},
      std::array{NVVM::MMALayout::row, NVVM::MMALayout::col});
  Values values;
  for (int64_t i = 0; i < 4; ++i)
    values.push_back(k.create<LLVM::ExtractValueOp>(all, i));
  return values;
}

Value TensorTiles::pack(Value low, Value high) {
  Value both = k.create<vector::FromElementsOp>(
      VectorType::get({2}, k.builder.getF32Type()), ValueRange{low, high});
  return k.create<LLVM::BitcastOp>(i32,
                                   convertFloat(k.builder, k.loc, both, type));
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

// Lane 4 g + t has the elements 2 t and 2 t + 1 of the rows g and g + 8 of each
// 16 x 8 results.
void TensorTiles::forVectors(
    Value memory, ArrayRef<Value> sums, int64_t width, Type result,
    int64_t lanes,
    llvm::function_ref<void(const IndexExpression &, const IndexExpression &,
                            Value)>
        body) {
  const int64_t bytes = bytesOf(result), bytesOfRow = width * bytes,
                chunks = bytesOfRow / bytesOfAccess;
  auto placeOf = [&](const IndexExpression &row,
                     const IndexExpression &column) {
    const int64_t perChunk = bytesOfAccess / bytes;
    IndexExpression chunk =
        swizzled(row, k.algebra.floorDiv(column, perChunk), chunks,
                 /*pairs=*/bytes == 4);
    return row * bytesOfRow + chunk * bytesOfAccess +
           k.algebra.mod(column, perChunk) * bytes;
  };
  IndexExpression group = k.algebra.floorDiv(lane, 4),
                  pair = k.algebra.mod(lane, 4) * 2;
  for (int64_t j = 0; j < width / edge; ++j)
    for (int64_t half = 0; half < 2; ++half) {
      ArrayRef<Value> two = sums.slice(4 * j + 2 * half, 2);
      Value both = k.create<vector::FromElementsOp>(
          VectorType::get({2}, two.front().getType()), two);
      store(addressAt(memory, placeOf(group + half * edge, pair + j * edge)),
            convertFloat(k.builder, k.loc, both, result));
    }
  awaitWarp();
  const int64_t perRow = width / lanes;
  for (int64_t done = 0; done < 2 * edge * perRow; done += threadsOfWarp) {
    IndexExpression vector = lane + done;
    IndexExpression row = k.algebra.floorDiv(vector, perRow),
                    column = k.algebra.mod(vector, perRow) * lanes;
    Type type = result;
    if (lanes > 1)
      type = VectorType::get({lanes}, result);
    body(row, column, load(addressAt(memory, placeOf(row, column)), type));
  }
}

} // namespace tenon::codegen
