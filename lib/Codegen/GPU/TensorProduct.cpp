//===- TensorProduct.cpp - A tile of a product on tensor cores ------------===//
//
// See TensorProduct.h.
//
//===----------------------------------------------------------------------===//

#include "TensorProduct.h"

#include "tenon/Analysis/Shapes.h"
#include "tenon/Codegen/Loops/PointwiseOperations.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tenon::codegen {

/// One instruction's result, and the indices of the sum it takes.
static constexpr int64_t rowsAtOnce = 16, columnsAtOnce = 8, sumsAtOnce = 16;

TensorTile TensorTile::of(int64_t batch, int64_t rows, int64_t columns) {
  // About as many as the multiprocessors of the GPUs that there are.
  constexpr int64_t enoughBlocks = 128;
  // The tiles of all stages fit 48 KiB, which every GPU has without asking.
  constexpr TensorTile large{128, 128, 2, 4, 3}, middle{64, 64, 2, 2, 4},
      small{32, 32, 2, 2, 4};
  for (const TensorTile &tile : {large, middle}) {
    int64_t blocks = batch * int64_t(llvm::divideCeil(rows, tile.rows)) *
                     int64_t(llvm::divideCeil(columns, tile.columns));
    if (blocks >= enoughBlocks && 2 * rows > tile.rows &&
        2 * columns > tile.columns)
      return tile;
  }
  return small;
}

TensorProduct::TensorProduct(GpuKernelBuilder &k, FloatType type,
                             const TensorTile &tile, const TensorOperand &left,
                             const TensorOperand &right, int64_t sum,
                             const IndexExpression &firstRow,
                             const IndexExpression &firstColumn)
    : k(k), type(type), tile(tile), tiles(k, type), left(left), right(right),
      leftSide{left, shapeOf(left, tile.rows), firstRow, 0},
      rightSide{right, shapeOf(right, tile.columns), firstColumn,
                leftSide.shape.bytes()},
      sum(sum), warpRow(k.algebra.floorDiv(tiles.warp, tile.warpColumns) *
                        (tile.rows / tile.warpRows)),
      warpColumn(k.algebra.mod(tiles.warp, tile.warpColumns) *
                 (tile.columns / tile.warpColumns)) {}

TileShape TensorProduct::shapeOf(const TensorOperand &operand,
                                 int64_t rows) const {
  return operand.isAlongSum ? TileShape{rows, TensorTile::depth}
                            : TileShape{TensorTile::depth, rows};
}

int64_t TensorProduct::bytesOfStage() const {
  return leftSide.shape.bytes() + rightSide.shape.bytes();
}

//===----------------------------------------------------------------------===//
// The sum
//===----------------------------------------------------------------------===//

void TensorProduct::multiply() {
  const int64_t stage = bytesOfStage(), all = tile.stages * stage;
  const int64_t count = llvm::divideCeil(sum, TensorTile::depth);
  memory = tiles.sharedMemory(all);
  auto store = [&](Value to, ArrayRef<Held> held) {
    for (const Held &one : held)
      tiles.store(tiles.addressAt(to, one.place), one.value);
  };
  for (int64_t i = 0; i + 1 < tile.stages; ++i) {
    Value to = tiles.addressAt(memory, IndexExpression(i * stage));
    store(to, begin(to, i));
    tiles.endGroup();
  }

  Value zero = numberOfType(k.builder, k.loc, k.builder.getF32Type(), 0);
  const int64_t perThread =
      tile.rows * tile.columns / tile.threads(); // f32 of the result
  Values carried(perThread, zero);
  carried.push_back(k.constantIndex(0));           // the stage to multiply
  carried.push_back(k.constantIndex(all - stage)); // the stage to fill
  carried = k.forRange(
      count, carried, [&](const IndexExpression &index, ValueRange held) {
        Values next(held.begin(), held.begin() + perThread);
        Value read = held[perThread], write = held[perThread + 1];
        // All but the last groups begun have arrived, of all threads; and
        // nobody reads the stage that is filled next any more.
        tiles.awaitGroups(uint32_t(tile.stages - 2));
        k.awaitBlock();
        Value to = tiles.addressAt(memory, write);
        SmallVector<Held> computed = begin(to, index + (tile.stages - 1));
        tiles.endGroup();
        multiplyTile(tiles.addressAt(memory, read), next);
        store(to, computed);
        auto following = [&](Value at) -> Value {
          Value behind = k.create<arith::AddIOp>(at, k.constantIndex(stage));
          Value isEnd = k.create<arith::CmpIOp>(arith::CmpIPredicate::eq,
                                                behind, k.constantIndex(all));
          return k.create<arith::SelectOp>(isEnd, k.constantIndex(0), behind);
        };
        next.push_back(following(read));
        next.push_back(following(write));
        return next;
      });
  sums.assign(carried.begin(), carried.begin() + perThread);
}

void TensorProduct::multiplyTile(Value stage, Values &sums) {
  const int64_t rows = tile.rows / tile.warpRows / rowsAtOnce,
                columns = tile.columns / tile.warpColumns / columnsAtOnce;
  for (int64_t s = 0; s < TensorTile::depth; s += sumsAtOnce) {
    SmallVector<Values> a, b;
    for (int64_t i = 0; i < rows; ++i)
      a.push_back(tiles.loadMatrices(
          tiles.addressAt(stage,
                          tiles.placeOfLeft(leftSide.shape, left.isAlongSum,
                                            warpRow + i * rowsAtOnce, s)),
          left.isAlongSum));
    for (int64_t j = 0; j < columns; j += 2) {
      Values both = tiles.loadMatrices(
          tiles.addressAt(
              stage, tiles.placeOfRight(rightSide.shape, right.isAlongSum,
                                        warpColumn + j * columnsAtOnce, s) +
                         rightSide.offset),
          right.isAlongSum);
      b.push_back({both[0], both[1]});
      b.push_back({both[2], both[3]});
    }
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j) {
        MutableArrayRef<Value> c =
            MutableArrayRef(sums).slice(4 * (i * columns + j), 4);
        llvm::copy(tiles.multiplyAdd(a[i], b[j], c), c.begin());
      }
  }
}

//===----------------------------------------------------------------------===//
// The operands
//===----------------------------------------------------------------------===//

IndexExpression TensorProduct::bounded(const IndexExpression &index,
                                       int64_t extent, int64_t multiple) {
  auto [low, high] = k.algebra.range(index);
  if (high < extent)
    return index;
  const unsigned level = k.algebra.level(index);
  Value at = k.algebra.scalar(index), last = k.constantIndex(extent - multiple);
  Value value = k.levels.createAt<arith::MinUIOp>(level, k.loc, at, last);
  return k.algebra.uniform(value, {0, extent - multiple}, level, multiple);
}

SmallVector<TensorProduct::Held>
TensorProduct::begin(Value stage, const IndexExpression &index) {
  SmallVector<Held> held;
  begin(leftSide, stage, index, held);
  begin(rightSide, stage, index, held);
  return held;
}

void TensorProduct::begin(const Side &side, Value stage,
                          const IndexExpression &index,
                          SmallVector<Held> &held) {
  const TensorOperand &operand = side.operand;
  const int64_t lanes = operand.neighbours, bytes = 2 * lanes;
  const int64_t perRow = side.shape.width / lanes;
  const int64_t vectors = side.shape.rows * perRow;
  auto argument = dyn_cast<BlockArgument>(operand.tensor);
  const bool isCopied = argument && bytes >= 4;
  for (int64_t done = 0; done < vectors; done += tile.threads()) {
    IndexExpression vector = k.thread + done;
    IndexExpression down = k.algebra.floorDiv(vector, perRow),
                    along = k.algebra.mod(vector, perRow) * lanes;
    IndexExpression place =
        tiles.placeIn(side.shape, down, along) + side.offset;
    IndexExpression row = side.first + (operand.isAlongSum ? down : along),
                    s = index * TensorTile::depth +
                        (operand.isAlongSum ? along : down);

    // Zero where there is no such row or index.
    PointEmitter::Guard guard;
    k.points.require(guard, row, operand.rows);
    k.points.require(guard, s, sum);
    const bool hasRows = operand.isAlongSum;
    row = bounded(row, operand.rows, hasRows ? 1 : lanes);
    s = bounded(s, sum, hasRows ? lanes : 1);
    k.algebra.lanes = lanes;
    if (lanes > 1) {
      IndexExpression &fast = operand.isAlongSum ? s : row;
      fast = k.algebra.laneVariable(
          k.algebra.scalar(fast),
          {0, (operand.isAlongSum ? sum : operand.rows) - 1},
          k.algebra.level(fast), lanes);
    }
    OperandElement element = operand.at(row, s);
    for (auto &[expression, extent] : element.inside)
      k.points.require(guard, expression, extent);
    for (const IndexExpression &expression : element.zero)
      k.points.requireZero(guard, expression);
    assert(!guard.lanes && "neighbours are there together");
    if (isCopied) {
      IndexExpression position =
          k.algebra.linearize(element.indices, tenon::shapeOf(operand.tensor));
      k.algebra.lanes = 1;
      Value condition = guard.uniform;
      if (guard.never)
        condition = k.create<arith::ConstantOp>(k.builder.getBoolAttr(false));
      tiles.beginCopy(tiles.addressAt(stage, place),
                      k.points.bufferOf(argument), position, bytes, condition);
      continue;
    }
    Type number = type;
    if (lanes > 1)
      number = VectorType::get({lanes}, type);
    Element zero{numberOfType(k.builder, k.loc, number, 0), k.levels.current()};
    Element value = k.points.guarded(guard, operand.tensor, element.indices,
                                     [&] { return zero; });
    held.push_back({k.points.asVector(value), place});
    k.algebra.lanes = 1;
  }
}

//===----------------------------------------------------------------------===//
// The results
//===----------------------------------------------------------------------===//

// Lane 4 g + t has the elements 2 t and 2 t + 1 of the rows g and g + 8 of each
// 16 x 8 results. A warp puts 16 of its rows into shared memory, as they will
// be stored, and takes whole vectors of them out.
void TensorProduct::forResults(
    Type result, int64_t lanes,
    llvm::function_ref<void(const IndexExpression &, const IndexExpression &,
                            Value)>
        body) {
  const int64_t bytes = bytesOf(result);
  const int64_t rows = tile.rows / tile.warpRows / rowsAtOnce,
                width = tile.columns / tile.warpColumns,
                columns = width / columnsAtOnce;
  const int64_t bytesOfRow = width * bytes, chunks = bytesOfRow / bytesOfAccess,
                bytesOfWarp = rowsAtOnce * bytesOfRow;
  assert(tile.threads() / threadsOfWarp * bytesOfWarp <=
             tile.stages * bytesOfStage() &&
         "the operands' tiles make room for the results'");
  tiles.awaitGroups(0);
  k.awaitBlock();
  auto placeOf = [&](const IndexExpression &row,
                     const IndexExpression &column) {
    const int64_t perChunk = bytesOfAccess / bytes;
    IndexExpression chunk =
        tiles.swizzled(row, k.algebra.floorDiv(column, perChunk), chunks,
                       /*pairs=*/bytes == 4);
    return tiles.warp * bytesOfWarp + row * bytesOfRow + chunk * bytesOfAccess +
           k.algebra.mod(column, perChunk) * bytes;
  };
  IndexExpression group = k.algebra.floorDiv(tiles.lane, 4),
                  pair = k.algebra.mod(tiles.lane, 4) * 2;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j)
      for (int64_t half = 0; half < 2; ++half) {
        ArrayRef<Value> two =
            ArrayRef(sums).slice(4 * (i * columns + j) + 2 * half, 2);
        Value both = k.create<vector::FromElementsOp>(
            VectorType::get({2}, two.front().getType()), two);
        tiles.store(tiles.addressAt(memory, placeOf(group + 8 * half,
                                                    pair + j * columnsAtOnce)),
                    convertFloat(k.builder, k.loc, both, result));
      }
    tiles.awaitWarp();
    const int64_t perRow = width / lanes;
    for (int64_t done = 0; done < rowsAtOnce * perRow; done += threadsOfWarp) {
      IndexExpression vector = tiles.lane + done;
      IndexExpression row = k.algebra.floorDiv(vector, perRow),
                      column = k.algebra.mod(vector, perRow) * lanes;
      Type type = result;
      if (lanes > 1)
        type = VectorType::get({lanes}, result);
      Value value =
          tiles.load(tiles.addressAt(memory, placeOf(row, column)), type);
      k.ifBelow(leftSide.first + warpRow + i * rowsAtOnce + row, left.rows,
                [&](const IndexExpression &row) {
                  k.ifBelow(rightSide.first + warpColumn + column, right.rows,
                            [&](const IndexExpression &column) {
                              body(row, column, value);
                            });
                });
    }
    if (i + 1 < rows)
      tiles.awaitWarp();
  }
}

} // namespace tenon::codegen
