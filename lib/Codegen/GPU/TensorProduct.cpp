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

/// About as many blocks as the multiprocessors of the GPUs that there are.
static constexpr int64_t enoughBlocks = 128;
/// Parts of a sum are long next to what it takes to add them up.
static constexpr int64_t leastTilesOfPart = 16;

static int64_t mostParts(int64_t terms) {
  return std::max<int64_t>(terms / (leastTilesOfPart * TensorTile::depth), 1);
}

TensorTile TensorTile::of(int64_t batch, int64_t rows, int64_t columns,
                          int64_t terms) {
  // The tiles of all stages fit 48 KiB, which every GPU has without asking.
  constexpr TensorTile large{128, 128, 2, 4, 3}, middle{64, 64, 2, 2, 4},
      small{32, 32, 2, 2, 4};
  auto fills = [&](const TensorTile &tile, int64_t parts) {
    int64_t blocks = batch * int64_t(llvm::divideCeil(rows, tile.rows)) *
                     int64_t(llvm::divideCeil(columns, tile.columns));
    return blocks * parts >= enoughBlocks && 2 * rows > tile.rows &&
           2 * columns > tile.columns;
  };
  if (fills(large, 1))
    return large;
  // Parts take scratch memory. They are better than small tiles, which read an
  // operand twice as often.
  if (fills(middle, mostParts(terms)))
    return middle;
  return small;
}

SumCut SumCut::of(int64_t blocks, int64_t terms) {
  const int64_t tiles = llvm::divideCeil(terms, TensorTile::depth);
  if (blocks >= enoughBlocks)
    return {1, tiles};
  // Two blocks at a time hide each other's waiting.
  const int64_t parts = std::min<int64_t>(
                    llvm::divideCeil(2 * enoughBlocks, blocks),
                    mostParts(terms)),
                tilesOfPart = llvm::divideCeil(tiles, parts);
  return {int64_t(llvm::divideCeil(tiles, tilesOfPart)), tilesOfPart};
}

TensorProduct::TensorProduct(GpuKernelBuilder &k, FloatType type,
                             const TensorTile &tile, const TensorOperand &left,
                             const TensorOperand &right,
                             const IndexExpression &firstRow,
                             const IndexExpression &firstColumn,
                             const SumPart &part)
    : k(k), type(type), tile(tile), tiles(k, type), left(left),
      right(right), leftSide{left,
                             TensorTiles::shapeOf(left, tile.rows,
                                                  TensorTile::depth),
                             firstRow, 0},
      rightSide{right,
                TensorTiles::shapeOf(right, tile.columns, TensorTile::depth),
                firstColumn, leftSide.shape.bytes()},
      warpRow(k.algebra.floorDiv(tiles.warp, tile.warpColumns) *
              (tile.rows / tile.warpRows)),
      warpColumn(k.algebra.mod(tiles.warp, tile.warpColumns) *
                 (tile.columns / tile.warpColumns)),
      part(part) {}

int64_t TensorProduct::bytesOfStage() const {
  return leftSide.shape.bytes() + rightSide.shape.bytes();
}

//===----------------------------------------------------------------------===//
// The sum
//===----------------------------------------------------------------------===//

void TensorProduct::multiply() {
  const int64_t stage = bytesOfStage(), all = tile.stages * stage;
  memory = tiles.sharedMemory(all);
  for (int64_t i = 0; i + 1 < tile.stages; ++i) {
    Value to = tiles.addressAt(memory, IndexExpression(i * stage));
    tiles.store(to, begin(to, part.first + i));
    tiles.endGroup();
  }

  Value zero = numberOfType(k.builder, k.loc, k.builder.getF32Type(), 0);
  const int64_t perThread =
      tile.rows * tile.columns / tile.threads(); // f32 of the result
  Values carried(perThread, zero);
  carried.push_back(k.constantIndex(0));           // the stage to multiply
  carried.push_back(k.constantIndex(all - stage)); // the stage to fill
  carried = k.forRange(
      part.tiles, carried, [&](const IndexExpression &index, ValueRange held) {
        Values next(held.begin(), held.begin() + perThread);
        Value read = held[perThread], write = held[perThread + 1];
        // All but the last groups begun have arrived, of all threads; and
        // nobody reads the stage that is filled next any more.
        tiles.awaitGroups(uint32_t(tile.stages - 2));
        k.awaitBlock();
        Value to = tiles.addressAt(memory, write);
        SmallVector<TensorTiles::Held> computed =
            begin(to, part.first + index + (tile.stages - 1));
        tiles.endGroup();
        multiplyTile(tiles.addressAt(memory, read), next);
        tiles.store(to, computed);
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

SmallVector<TensorTiles::Held>
TensorProduct::begin(Value stage, const IndexExpression &index) {
  SmallVector<TensorTiles::Held> held;
  for (const Side *side : {&leftSide, &rightSide})
    tiles.begin(side->operand, side->shape, side->first,
                index * TensorTile::depth, stage, side->offset, held);
  return held;
}

//===----------------------------------------------------------------------===//
// The results
//===----------------------------------------------------------------------===//

void TensorProduct::forResults(
    Type result, int64_t lanes,
    llvm::function_ref<void(const IndexExpression &, const IndexExpression &,
                            Value)>
        body) {
  const int64_t rows = tile.rows / tile.warpRows / rowsAtOnce,
                width = tile.columns / tile.warpColumns;
  const int64_t bytesOfWarp = rowsAtOnce * width * bytesOf(result);
  assert(tile.threads() / threadsOfWarp * bytesOfWarp <=
             tile.stages * bytesOfStage() &&
         "the operands' tiles make room for the results'");
  tiles.awaitGroups(0);
  k.awaitBlock();
  Value own = tiles.addressAt(memory, tiles.warp * bytesOfWarp);
  const int64_t perRows = sums.size() / rows;
  for (int64_t i = 0; i < rows; ++i) {
    if (i)
      tiles.awaitWarp();
    tiles.forVectors(
        own, ArrayRef(sums).slice(i * perRows, perRows), width, result, lanes,
        [&](const IndexExpression &row, const IndexExpression &column,
            Value vector) {
          k.ifBelow(leftSide.first + warpRow + i * rowsAtOnce + row, left.rows,
                    [&](const IndexExpression &row) {
                      k.ifBelow(rightSide.first + warpColumn + column,
                                right.rows, [&](const IndexExpression &column) {
                                  body(row, column, vector);
                                });
                    });
        });
  }
}

} // namespace tenon::codegen
