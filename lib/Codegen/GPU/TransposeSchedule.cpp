//===- TransposeSchedule.cpp - Transposes through shared memory -----------===//
//
// A block of threads moves a tile of 32 x 32 elements: it reads vectors along
// the operand's last dimension, writes their elements into shared memory, and
// writes vectors along the result's last dimension. An element has a slot of 4
// bytes (8 for types that are as wide), row c of the tile starts at slot 33 c.
//
// No two threads of a warp meet in a bank. With vectors of V elements, a warp
// takes V rows c, c + 1, ... and in each of them 32 / V vectors, so the slots
// of one element of all vectors are 33 c + V v + i, which is c + V v + i modulo
// 32: V neighbours for c, and a distance of V from each v to the next. The
// other way it reads slots 33 (V v + i) + c, the same numbers modulo 32.
//
//===----------------------------------------------------------------------===//

#include "GpuSchedule.h"

#include "tenon/Analysis/Shapes.h"
#include "tenon/Codegen/Loops/Permutation.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tenon::codegen {
namespace {

constexpr int64_t threadsPerBlock = 128;
constexpr int64_t edge = 32; // of a tile
constexpr int64_t slotsOfRow = edge + 1;

int64_t tilesAlong(int64_t extent) { return llvm::divideCeil(extent, edge); }

class TransposeKernel : GpuKernelBuilder {
public:
  TransposeKernel(const KernelSource &source, func::FuncOp function,
                  const LaunchShape &launch,
                  const GpuInstructions &instructions)
      : GpuKernelBuilder(source, function, launch, instructions),
        op(tiledTransposeOf(source)), permutation(op),
        element(elementOf(op.getResult())),
        slot(builder.getIntegerType(bytesOf(element) == 8 ? 64 : 32)),
        from(points.bufferOf(op.getOperand())), to(results.front()) {
    from.shape = permutation.shape;
    to.shape = permutation.resultShape();
    emit();
  }

private:
  void emit() {
    tile = sharedMemory(edge * slotsOfRow, slot);
    Indices tiles =
        algebra.delinearize(block, {elementCount(permutation.others()),
                                    tilesAlong(permutation.columns()),
                                    tilesAlong(permutation.rows())});
    others = algebra.delinearize(tiles[0], permutation.others());
    IndexExpression firstColumn = tiles[1] * edge, firstRow = tiles[2] * edge;
    forVectors(permutation.rows(), firstRow, permutation.columns(), firstColumn,
               [&](const IndexExpression &row, const IndexExpression &column) {
                 readVector(row, column,
                            (column - firstColumn) * slotsOfRow +
                                (row - firstRow));
               });
    awaitBlock();
    forVectors(permutation.columns(), firstColumn, permutation.rows(), firstRow,
               [&](const IndexExpression &column, const IndexExpression &row) {
                 writeVector(row, column,
                             (column - firstColumn) * slotsOfRow +
                                 (row - firstRow));
               });
  }

  /// The elements that fill an access and never reach over the end.
  int64_t lanesAlong(int64_t extent) const {
    int64_t bytes = bytesOf(element);
    // Elements of 8 bytes would meet in the banks, two by two.
    int64_t lanes = bytes == 8 ? 1 : bytesOfAccess / bytes;
    while (extent % lanes)
      lanes /= 2;
    return lanes;
  }

  /// This thread's vectors along one dimension of the tile.
  void forVectors(
      int64_t extent, const IndexExpression &first, int64_t acrossExtent,
      const IndexExpression &acrossFirst,
      llvm::function_ref<void(const IndexExpression &, const IndexExpression &)>
          body) {
    algebra.lanes = lanesAlong(extent);
    const int64_t perRow = edge / algebra.lanes, vectors = edge * perRow;
    for (int64_t done = 0; done < vectors; done += threadsPerBlock)
      ifBelow(thread + done, vectors, [&](const IndexExpression &vector) {
        IndexExpression along =
            first + algebra.mod(vector, perRow) * algebra.lanes;
        IndexExpression across = acrossFirst + algebra.floorDiv(vector, perRow);
        ifBelow(along, extent, [&](const IndexExpression &) {
          ifBelow(across, acrossExtent,
                  [&](const IndexExpression &) { body(along, across); });
        });
      });
    algebra.lanes = 1;
  }

  Type bitsOf(Type type) {
    return builder.getIntegerType(type.getIntOrFloatBitWidth());
  }

  void readVector(const IndexExpression &row, const IndexExpression &column,
                  const IndexExpression &place) {
    IndexExpression lane = vectorAt(row, permutation.rows());
    Value read =
        points
            .load(from,
                  algebra.linearize(permutation.inOperand(lane, column, others),
                                    from.shape))
            .value;
    for (int64_t i = 0; i < algebra.lanes; ++i) {
      Value one =
          algebra.lanes == 1 ? read : create<vector::ExtractOp>(read, i);
      Type bits = bitsOf(one.getType());
      if (one.getType() != bits)
        one = create<arith::BitcastOp>(bits, one);
      if (bits != slot)
        one = create<arith::ExtUIOp>(slot, one);
      points.store(tile, place + i, {one, levels.current()});
    }
  }

  void writeVector(const IndexExpression &row, const IndexExpression &column,
                   const IndexExpression &place) {
    IndexExpression lane = vectorAt(column, permutation.columns());
    Type type = valueType(element);
    SmallVector<Value> values;
    for (int64_t i = 0; i < algebra.lanes; ++i) {
      Value one = points.load(tile, place + i * slotsOfRow).value;
      Type bits = bitsOf(type);
      if (bits != slot)
        one = create<arith::TruncIOp>(bits, one);
      if (type != bits)
        one = create<arith::BitcastOp>(type, one);
      values.push_back(one);
    }
    Value all = values.front();
    if (algebra.lanes > 1)
      all = create<vector::FromElementsOp>(
          VectorType::get({algebra.lanes}, type), values);
    points.store(
        to,
        algebra.linearize(permutation.inResult(row, lane, others), to.shape),
        {all, levels.current()});
  }

  stablehlo::TransposeOp op;
  Permutation permutation;
  Type element, slot;
  Buffer from, to, tile;
  Indices others;
};

} // namespace

bool TransposeSchedule::accepts(const KernelSource &source) const {
  return tiledTransposeOf(source) && source.results().size() == 1;
}

LaunchShape TransposeSchedule::launchShape(const KernelSource &source) const {
  Permutation permutation(tiledTransposeOf(source));
  return {.parts = elementCount(permutation.others()) *
                   tilesAlong(permutation.columns()) *
                   tilesAlong(permutation.rows()),
          .threads = threadsPerBlock};
}

EmittedLoops TransposeSchedule::emit(const KernelSource &source,
                                     ModuleOp module, StringRef name,
                                     unsigned) const {
  return emitAs<TransposeKernel>(source, module, name);
}

} // namespace tenon::codegen
