//===- TensorTiles.h - Tiles of 16-bit numbers for tensor cores -----------===//
//
// What schedules for tensor cores share: tiles in shared memory, copies into
// them, and the matrix instructions that read them (PTX: cp.async, ldmatrix,
// mma.sync.m16n8k16 with sums in f32).
//
// A tile is a matrix of 16-bit numbers. What ldmatrix reads is 8 rows of one
// chunk, a matrix of 8 x 8, from different banks (SharedTiles.h).
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_GPU_TENSORTILES_H
#define TENON_LIB_CODEGEN_GPU_TENSORTILES_H

#include "SharedTiles.h"

#include "tenon/Codegen/Loops/Contraction.h"

#include <functional>

namespace tenon::codegen {

/// A tile's rows, in memory one behind the other.
struct TileShape {
  int64_t rows, width; // the width in elements of 2 bytes, a power of two
  static constexpr int64_t elementsOfChunk = 8;

  int64_t bytesOfRow() const { return 2 * width; }
  int64_t bytes() const { return rows * bytesOfRow(); }
};

/// One operand of a product.
struct TensorOperand {
  mlir::Value tensor;
  /// Its rows: those of the result, or for the right operand its columns; and
  /// the indices of the sum.
  int64_t rows, sum;
  /// The element at a row and an index of the sum.
  std::function<OperandElement(const IndexExpression &row,
                               const IndexExpression &sum)>
      at;
  /// Whether neighbours along the sum are neighbours in memory, or else those
  /// along the rows; how many of them, a power of two up to 8, are there or not
  /// together and begin at a multiple of that number.
  bool isAlongSum;
  int64_t neighbours;
};

class TensorTiles : public SharedTiles {
public:
  using SharedTiles::store;

  /// Numbers are bf16 or f16.
  TensorTiles(GpuKernelBuilder &k, mlir::FloatType type);

  mlir::FloatType elementType() const { return type; }

  /// The number of the warp in its block, and of the thread in its warp.
  IndexExpression warp, lane;

  /// Where an element stands in a tile, in bytes from its beginning.
  IndexExpression placeIn(const TileShape &tile, const IndexExpression &row,
                          const IndexExpression &column);

  /// Where this thread's address for ldmatrix lies, for the 16 x 16 numbers
  /// from a place of the tile on. Both operands of the product have rows and
  /// indices of the sum, and a tile has one of these as its rows.
  IndexExpression placeOfLeft(const TileShape &tile, bool isAlongSum,
                              const IndexExpression &row,
                              const IndexExpression &sum);
  IndexExpression placeOfRight(const TileShape &tile, bool isAlongSum,
                               const IndexExpression &row,
                               const IndexExpression &sum);
  /// The four registers of 16 x 16 numbers: of the left operand for one
  /// product, of the right one two for each of two products.
  Values loadMatrices(mlir::Value address, bool isAlongSum);
  /// c + a b, of 16 x 16, 16 x 8 and 16 x 8 numbers: 4, 2 and 4 registers.
  Values multiplyAdd(mlir::ValueRange a, mlir::ValueRange b,
                     mlir::ValueRange c);
  /// Two f32 as one register of an operand.
  mlir::Value pack(mlir::Value low, mlir::Value high);

  void awaitWarp();

  /// What a thread has computed for a tile and not yet stored there.
  struct Held {
    mlir::Value value;
    IndexExpression place;
  };
  /// The tile of an operand, which has those along the sum as its rows'
  /// elements or else the rows.
  static TileShape shapeOf(const TensorOperand &operand, int64_t rows,
                           int64_t sum);
  /// Begins to fetch a tile of an operand to `offset` bytes behind `to`, with
  /// zeros where there is no such row or index. What is computed for it goes to
  /// `held`.
  void begin(const TensorOperand &operand, const TileShape &shape,
             const IndexExpression &firstRow, const IndexExpression &firstSum,
             mlir::Value to, int64_t offset, llvm::SmallVectorImpl<Held> &held);
  void store(mlir::Value to, llvm::ArrayRef<Held> held);

  /// Hands 16 rows of `width` results, 4 registers for each 8 columns, over in
  /// vectors of `lanes` neighbours along a row, of `type`. They go by `memory`,
  /// which the warp has for itself.
  void forVectors(mlir::Value memory, llvm::ArrayRef<mlir::Value> sums,
                  int64_t width, mlir::Type type, int64_t lanes,
                  llvm::function_ref<void(const IndexExpression &row,
                                          const IndexExpression &column,
                                          mlir::Value vector)>
                      body);

private:
  std::pair<mlir::Value, IndexExpression> placeInArgument(mlir::Value tensor,
                                                          Indices indices);
  IndexExpression bounded(const IndexExpression &index, int64_t extent,
                          int64_t multiple);

  /// `row` and `column` of a 8 x 8 matrix's first element, and which of its
  /// rows and of the four matrices this lane has the address of.
  IndexExpression matrixRow, matrixLow, matrixHigh;

  mlir::FloatType type;
};

} // namespace tenon::codegen

#endif // TENON_LIB_CODEGEN_GPU_TENSORTILES_H
