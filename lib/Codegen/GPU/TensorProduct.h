//===- TensorProduct.h - A tile of a product on tensor cores --------------===//
//
// A block of threads computes a tile of a matrix of results:
//
//   result(row, column) = sum over s of left(row, s) right(column, s)
//
// What the operands are is said by index functions, so that a product may be a
// dot with dimensions in any order, or a convolution. Tiles of both go to
// shared memory, 32 indices of the sum deep and several of them ahead of the
// one that is multiplied: by copies that the threads do not wait for where an
// operand lies in memory as it is, else computed by the threads.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_GPU_TENSORPRODUCT_H
#define TENON_LIB_CODEGEN_GPU_TENSORPRODUCT_H

#include "TensorTiles.h"

namespace tenon::codegen {

/// How a block cuts its tile. Each warp has a part of it.
struct TensorTile {
  int64_t rows, columns;
  int64_t warpRows, warpColumns; // warps along both
  int64_t stages;                // tiles of operands in shared memory

  static constexpr int64_t depth = 32; // indices of the sum
  int64_t threads() const { return threadsOfWarp * warpRows * warpColumns; }

  /// The largest that makes enough blocks to fill a GPU and is not mostly
  /// empty, else the smallest. A block may have a part of a long sum.
  static TensorTile of(int64_t batch, int64_t rows, int64_t columns,
                       int64_t terms);
};

/// The part of the sum that a block adds up, in tiles of the tile's depth.
/// Indices behind the end count as zero.
struct SumPart {
  IndexExpression first;
  int64_t tiles;
};

/// How a sum of so many terms is cut, of which there are `blocks`: in parts of
/// so many tiles, which is one part if the blocks fill a GPU or the sum is
/// short.
struct SumCut {
  int64_t parts, tilesOfPart;

  static SumCut of(int64_t blocks, int64_t terms);
};

class TensorProduct {
public:
  using Values = GpuKernelBuilder::Values;

  /// The operands' elements are of `type`, bf16 or f16.
  TensorProduct(GpuKernelBuilder &k, mlir::FloatType type,
                const TensorTile &tile, const TensorOperand &left,
                const TensorOperand &right, const IndexExpression &firstRow,
                const IndexExpression &firstColumn, const SumPart &part);

  /// Computes the tile and keeps its sums, in f32, in registers.
  void multiply();

  /// Hands the tile over in vectors of `lanes` neighbours along a row, of
  /// `type`. The result has so many rows and columns, of which the latter are a
  /// multiple of `lanes`.
  void forResults(mlir::Type type, int64_t lanes,
                  llvm::function_ref<void(const IndexExpression &row,
                                          const IndexExpression &column,
                                          mlir::Value vector)>
                      body);

private:
  using Value = mlir::Value;
  struct Side {
    const TensorOperand &operand;
    TileShape shape;
    IndexExpression first;
    int64_t offset; // in a stage, bytes
  };

  int64_t bytesOfStage() const;
  /// The product of two tiles in shared memory.
  void multiplyTile(Value stage, Values &sums);
  /// Begins to fetch both operands' tiles number `index`.
  llvm::SmallVector<TensorTiles::Held> begin(Value stage,
                                             const IndexExpression &index);

  GpuKernelBuilder &k;
  const mlir::FloatType type;
  const TensorTile tile;
  TensorTiles tiles;
  const TensorOperand &left, &right;
  Side leftSide, rightSide;
  IndexExpression warpRow, warpColumn; // the first ones of this warp's part
  const SumPart part;
  Value memory;
  Values sums;
};

} // namespace tenon::codegen

#endif // TENON_LIB_CODEGEN_GPU_TENSORPRODUCT_H
