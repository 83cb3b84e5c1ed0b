//===- TransposeTemplate.cpp - Transposes that move the last dimension ----===//
//
// A transpose whose last dimension stays is an index map with contiguous
// accesses. One that moves it is done in tiles of 16 x 16: 16 vectors are
// loaded along the operand's last dimension, transposed in registers, and
// stored along the result's. Of a 2 x 2 block of a 4 x 4 matrix, for example,
//
//     a0 a1 a2 a3      a0 b0 a2 b2      then the same with distance 2 gives
//     b0 b1 b2 b3  ->  a1 b1 a3 b3      the columns as rows
//
// and for 16 rows the distances are 1, 2, 4, 8: 64 shuffles of two vectors.
// Units of work are blocks of 64 indices of the result's last dimension at one
// index of the dimensions that take no part.
//
//===----------------------------------------------------------------------===//

#include "PackedProduct.h"
#include "Templates.h"

#include "tenon/Codegen/Loops/Permutation.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tenon::codegen {
namespace {

constexpr int64_t tile = vectorLanes;
constexpr int64_t blockLength = 4 * tile;

int64_t unitsOf(const Permutation &permutation) {
  return elementCount(permutation.others()) *
         ((permutation.columns() + blockLength - 1) / blockLength);
}

class Tiles {
public:
  Tiles(KernelBuilder &k, const Permutation &permutation, Buffer from)
      : k(k), permutation(permutation), from(std::move(from)),
        to(k.results.front()) {
    this->from.shape = permutation.shape;
    to.shape = permutation.resultShape();
  }

  void emitUnit(const IndexExpression &unit);

private:
  /// `rows` x `columns` elements at an index of the operand's last dimension
  /// and one of the result's.
  void emitTile(const IndexExpression &row, int64_t rows,
                const IndexExpression &column, int64_t columns);
  IndexExpression position(const Buffer &buffer, const IndexExpression &row,
                           const IndexExpression &column);
  void withMask(int64_t count, llvm::function_ref<void()> body);
  IndexExpression asLane(const IndexExpression &first) {
    IndexRange range = k.algebra.range(first);
    return k.algebra.laneVariable(k.algebra.scalar(first),
                                  {range.low, range.high + tile - 1},
                                  k.levels.current(), tile);
  }

  KernelBuilder &k;
  const Permutation &permutation;
  Buffer from, to;
  Indices others;
};

IndexExpression Tiles::position(const Buffer &buffer,
                                const IndexExpression &row,
                                const IndexExpression &column) {
  bool isOperand = buffer.memref == from.memref;
  return k.algebra.linearize(isOperand
                                 ? permutation.inOperand(row, column, others)
                                 : permutation.inResult(row, column, others),
                             buffer.shape);
}

void Tiles::withMask(int64_t count, llvm::function_ref<void()> body) {
  if (count == tile)
    return body();
  k.tail(0, count, [&](const IndexExpression &) { body(); });
}

void Tiles::emitTile(const IndexExpression &row, int64_t rows,
                     const IndexExpression &column, int64_t columns) {
  SmallVector<Value> vectors;
  IndexExpression laneRow = asLane(row), laneColumn = asLane(column);
  withMask(rows, [&] {
    for (int64_t i = 0; i < columns; ++i)
      vectors.push_back(
          k.points.load(from, position(from, laneRow, column + i)).value);
  });
  // Rows past the end are never stored; any vector does.
  while (int64_t(vectors.size()) < tile)
    vectors.push_back(vectors.front());
  transposeVectors(k.builder, k.loc, vectors);
  withMask(columns, [&] {
    for (int64_t i = 0; i < rows; ++i)
      k.points.store(to, position(to, row + i, laneColumn),
                     {vectors[i], k.levels.current()});
  });
}

void Tiles::emitUnit(const IndexExpression &unit) {
  int64_t columns = permutation.columns();
  int64_t blocks = (columns + blockLength - 1) / blockLength;
  IndexExpression block = k.algebra.mod(unit, blocks);
  others = k.algebra.delinearize(k.algebra.floorDiv(unit, blocks),
                                 permutation.others());
  auto emitBlock = [&](const IndexExpression &first, int64_t length) {
    // Tile by tile along the rows, so that each line of the operand is read
    // where it lies, and the result's lines of a row follow one another.
    int64_t rows = permutation.rows();
    int64_t whole = rows - rows % tile;
    auto across = [&](const IndexExpression &row, int64_t count) {
      int64_t wholeLength = length - length % tile;
      if (wholeLength)
        k.forLoop(k.constantIndex(0), k.constantIndex(wholeLength), tile,
                  {0, wholeLength - tile}, tile, false,
                  [&](const IndexExpression &at) {
                    emitTile(row, count, first + at, tile);
                  });
      if (wholeLength != length)
        emitTile(row, count, first + wholeLength, length - wholeLength);
    };
    if (whole)
      k.forLoop(k.constantIndex(0), k.constantIndex(whole), tile,
                {0, whole - tile}, tile, false,
                [&](const IndexExpression &row) { across(row, tile); });
    if (whole != rows)
      across(whole, rows - whole);
  };
  k.forBlock(block, columns, blockLength, emitBlock);
}

//===----------------------------------------------------------------------===//
// The template
//===----------------------------------------------------------------------===//

bool accepts(const KernelSource &source) {
  return tiledTransposeOf(source) != nullptr;
}

Demand demandOfTranspose(const KernelSource &source) {
  return {unitsOf(Permutation(tiledTransposeOf(source))), 0};
}

void emitTranspose(KernelBuilder &k, unsigned) {
  auto op = tiledTransposeOf(k.source);
  Permutation permutation(op);
  Tiles tiles(k, permutation, k.points.bufferOf(op.getOperand()));
  k.forUnits(unitsOf(permutation),
             [&](const IndexExpression &unit) { tiles.emitUnit(unit); });
}

} // namespace

extern const Template transposeTemplate;
const Template transposeTemplate = {
    .accepts = accepts, .demand = demandOfTranspose, .emit = emitTranspose};

} // namespace tenon::codegen
