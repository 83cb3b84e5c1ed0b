//===- TensorAttention.h - What attention on tensor cores shares ----------===//
//
// Attention and its gradient, of 16-bit operands. Each warp of a block has one
// or more strips of 16 rows, of queries or of keys, and walks blocks of columns,
// of the other kind.
// Tiles of what the columns have go to shared memory, one block ahead.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_GPU_TENSORATTENTION_H
#define TENON_LIB_CODEGEN_GPU_TENSORATTENTION_H

#include "GpuAttention.h"
#include "TensorTiles.h"

namespace tenon::codegen {

/// Rows and columns of one instruction's result, and terms of its sum. A warp
/// has one or more strips of so many rows.
inline constexpr int64_t rowsOfStrip = 16, columnsAtOnce = 8, sumsAtOnce = 16;
inline constexpr int64_t stagesOfAttention = 2;

/// The rows that a block of threads has, and how many columns it takes at once.
struct BlockShape {
  int64_t warps, strips, columns;

  int64_t rowsOfWarp() const { return strips * rowsOfStrip; }
  int64_t rows() const { return warps * rowsOfWarp(); }
  int64_t threads() const { return warps * threadsOfWarp; }
  /// Blocks for so many rows.
  int64_t blocksOf(int64_t extent) const {
    return llvm::divideCeil(extent, rows());
  }
};

/// Whether the tensors are of one 16-bit type, or widened from it in the
/// kernel, and the results of floats; and whether the extents use most of each
/// instruction and fit in registers.
bool fitsTensorAttention(const KernelSource &source,
                         const step::AttentionProblem &problem,
                         llvm::ArrayRef<mlir::Value> tensors,
                         llvm::ArrayRef<mlir::Value> results);

/// Whether a score is a product times a positive number and nothing else.
bool arePlain(const step::AttentionProblem &problem);

/// A power of two, of at least one instruction's sum.
int64_t paddedFeatures(int64_t features);

class TensorAttentionKernel : protected GpuAttentionKernel {
protected:
  TensorAttentionKernel(const KernelSource &source, mlir::func::FuncOp function,
                        const LaunchShape &launch,
                        const GpuInstructions &instructions,
                        const step::AttentionProblem &problem,
                        const BlockShape &shape);

  using Combine = llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)>;
  /// Of lanes so far apart, powers of two, in all of them.
  mlir::Value overLanes(mlir::Value value, llvm::ArrayRef<int64_t> distances,
                        Combine combine);
  /// Of the four lanes that have a row, in all of them.
  mlir::Value overRow(mlir::Value value, Combine combine) {
    return overLanes(value, {1, 2}, combine);
  }
  /// Whether it holds in any lane of the warp, all of whose lanes come by.
  mlir::Value isAnyOfWarp(mlir::Value condition);
  mlir::Value largerOrNaN(mlir::Value a, mlir::Value b);
  mlir::Value multiplyAdd(mlir::Value a, mlir::Value b, mlir::Value c);
  /// See emitCoarseExp2.
  mlir::Value coarseExp2(mlir::Value shifted);

  /// Rows of queries or keys with their features as the sum.
  TensorOperand operandOf(mlir::Value tensor, llvm::ArrayRef<int64_t> dims,
                          int64_t rows, int64_t features);

  /// Of this lane's elements of a result, four for each 8 columns and strip,
  /// the strips of 8 columns one behind the other: in which of the lane's rows
  /// element `i` is; which row of the warp's rows that is; and which column.
  int64_t rowNumber(int64_t i) const {
    return i / 2 % 2 + 2 * (i / 4 % shape.strips);
  }
  IndexExpression rowAt(int64_t number) const { return row + 8 * number; }
  IndexExpression rowOf(int64_t i) const { return rowAt(rowNumber(i)); }
  IndexExpression columnOf(int64_t i) const {
    return column + (i / 4 / shape.strips * columnsAtOnce + i % 2);
  }
  int64_t rowsOfLane() const { return 2 * shape.strips; }
  /// How many elements of a result with so many columns a lane has.
  int64_t elementsOfLane(int64_t columns) const {
    return 4 * shape.strips * columns / columnsAtOnce;
  }
  /// The registers of a strip of the warp's rows of a tile, 16 features from
  /// `sum` on.
  Values loadRows(mlir::Value tile, const TileShape &tileShape, int64_t strip,
                  int64_t sum);
  /// Products of rows, 16 features of which `rowsAt` gives, and the columns of
  /// a tile.
  Values
  productsOf(llvm::function_ref<Values(int64_t strip, int64_t sum)> rowsAt,
             mlir::Value tile, const TileShape &tileShape);
  /// sums += coefficients, rounded to 16 bits, times the rows of a tile.
  struct Weighted {
    llvm::MutableArrayRef<mlir::Value> sums;
    llvm::ArrayRef<mlir::Value> coefficients;
  };
  /// For all of them the tile is read once.
  void addWeighted(llvm::ArrayRef<Weighted> all, mlir::Value tile,
                   const TileShape &shape);

  using Fetch =
      llvm::function_ref<void(const IndexExpression &block, mlir::Value stage,
                              llvm::SmallVectorImpl<TensorTiles::Held> &)>;
  using Take =
      llvm::function_ref<void(const IndexExpression &block, mlir::Value stage,
                              Values &state, bool isWhole)>;
  /// Blocks up to before `end`. In whole ones each key takes part for each
  /// query, and nothing is asked.
  struct Stretch {
    mlir::Value end;
    bool isWhole;
  };
  /// The blocks of `columns` keys that `rows` queries from `first` on look at.
  llvm::SmallVector<Stretch> stretchesOfKeys(const IndexExpression &first,
                                             int64_t rows, int64_t columns);
  /// Takes the blocks from `first` on, stretch by stretch, of which there are
  /// `count` in all. The first one has been fetched and lies or arrives in the
  /// first stage; the next one is fetched, by this function, before one is
  /// taken, and what is computed for it is stored behind that. All have arrived
  /// at the end, and nobody reads a stage.
  Values walk(mlir::Value first, llvm::ArrayRef<Stretch> stretches,
              int64_t count, mlir::Value stages, int64_t stageBytes,
              Values state, Fetch fetch, Take take);

  /// Writes the rows of a warp, from `first` on, of a result that has `sums`
  /// of features. The warps share `memory`, which nobody else uses.
  void storeRows(mlir::Value result, llvm::ArrayRef<int64_t> dims,
                 llvm::ArrayRef<mlir::Value> sums, int64_t features,
                 const IndexExpression &first, int64_t rows,
                 mlir::Value memory);

  /// sums += a b, of one instruction.
  void addProducts(llvm::MutableArrayRef<mlir::Value> sums, mlir::ValueRange a,
                   mlir::ValueRange b);

  const bool isPlain; // see arePlain
  const BlockShape shape;
  TensorTiles tiles;
  /// Of this lane's first element: its row of the warp's, and its column.
  IndexExpression row, column;
};

} // namespace tenon::codegen

#endif // TENON_LIB_CODEGEN_GPU_TENSORATTENTION_H
