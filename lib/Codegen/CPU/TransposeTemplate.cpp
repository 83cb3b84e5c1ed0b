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

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tenon::codegen {
namespace {

constexpr int64_t tile = vectorLanes;
constexpr int64_t blockLength = 4 * tile;

/// A transpose with dimensions of extent 1 dropped and neighbours that stay
/// neighbours merged.
struct Permutation {
  SmallVector<int64_t> shape; // of the operand
  SmallVector<size_t> order; // the operand's dimension of each result dimension

  explicit Permutation(stablehlo::TransposeOp op) {
    ArrayRef<int64_t> full = shapeOf(op.getOperand());
    // Runs of the result's dimensions that are consecutive in the operand.
    SmallVector<std::pair<int64_t, int64_t>> runs; // first dimension, extent
    int64_t previous = -2;
    auto nextNonUnit = [&](int64_t dim) {
      do
        ++dim;
      while (dim < int64_t(full.size()) && full[dim] == 1);
      return dim;
    };
    for (int64_t dim : op.getPermutation()) {
      if (full[dim] == 1)
        continue;
      if (!runs.empty() && previous >= 0 && nextNonUnit(previous) == dim)
        runs.back().second *= full[dim];
      else
        runs.emplace_back(dim, full[dim]);
      previous = dim;
    }
    SmallVector<size_t> inOperand(runs.size());
    for (size_t i = 0; i < runs.size(); ++i)
      inOperand[i] = i;
    llvm::sort(inOperand, [&](size_t a, size_t b) {
      return runs[a].first < runs[b].first;
    });
    order.resize(runs.size());
    for (auto [dim, run] : llvm::enumerate(inOperand)) {
      shape.push_back(runs[run].second);
      order[run] = dim;
    }
  }

  bool movesLast() const {
    return !order.empty() && order.back() + 1 != order.size();
  }
  SmallVector<int64_t> resultShape() const {
    SmallVector<int64_t> result;
    for (size_t dim : order)
      result.push_back(shape[dim]);
    return result;
  }
  /// Extents of the result's dimensions other than its last and the operand's
  /// last.
  SmallVector<int64_t> others() const {
    SmallVector<int64_t> extents;
    for (size_t dim : order)
      if (dim + 1 != shape.size() && dim != order.back())
        extents.push_back(shape[dim]);
    return extents;
  }
  int64_t columns() const { return shape[order.back()]; } // along the result
  int64_t rows() const { return shape.back(); }           // along the operand
  int64_t units() const {
    return elementCount(others()) *
           ((columns() + blockLength - 1) / blockLength);
  }
};

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
  // By operand dimension.
  Indices indices(permutation.shape.size());
  size_t next = 0;
  for (size_t dim : permutation.order) {
    if (dim + 1 == indices.size())
      indices[dim] = row;
    else if (dim == permutation.order.back())
      indices[dim] = column;
    else
      indices[dim] = others[next++];
  }
  if (buffer.memref == from.memref)
    return k.algebra.linearize(indices, buffer.shape);
  Indices result;
  for (size_t dim : permutation.order)
    result.push_back(indices[dim]);
  return k.algebra.linearize(result, buffer.shape);
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

stablehlo::TransposeOp transposeOf(const KernelSource &source) {
  auto op = dyn_cast_or_null<stablehlo::TransposeOp>(source.root);
  if (!op || !isa<BlockArgument>(op.getOperand()) || source.inPlace[0] >= 0)
    return nullptr;
  Permutation permutation(op);
  // Of a narrow matrix most of a tile would be padding.
  if (!permutation.movesLast() || permutation.rows() < 4 ||
      permutation.columns() < 4)
    return nullptr;
  return op;
}

bool accepts(const KernelSource &source) {
  return transposeOf(source) != nullptr;
}

Demand demand(const KernelSource &source) {
  return {Permutation(transposeOf(source)).units(), 0};
}

void emit(KernelBuilder &k, unsigned) {
  auto op = transposeOf(k.source);
  Permutation permutation(op);
  Tiles tiles(k, permutation, k.points.bufferOf(op.getOperand()));
  k.forUnits(permutation.units(),
             [&](const IndexExpression &unit) { tiles.emitUnit(unit); });
}

} // namespace

extern const Template transposeTemplate;
const Template transposeTemplate = {
    .accepts = accepts, .demand = demand, .emit = emit};

} // namespace tenon::codegen
