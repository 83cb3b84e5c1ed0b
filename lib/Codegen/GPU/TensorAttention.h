//===- TensorAttention.h - What attention on tensor cores shares ----------===//
//
// Attention and its gradient, of 16-bit operands. Each warp of a block has 16
// rows, of queries or of keys, and walks blocks of columns, of the other kind.
// Tiles of what the columns have go to shared memory, one block ahead.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_GPU_TENSORATTENTION_H
#define TENON_LIB_CODEGEN_GPU_TENSORATTENTION_H

#include "GpuAttention.h"
#include "TensorTiles.h"

namespace tenon::codegen {

/// Rows of a warp, columns of one instruction's result, and terms of its sum.
inline constexpr int64_t rowsOfWarp = 16, columnsAtOnce = 8, sumsAtOnce = 16;
inline constexpr int64_t stagesOfAttention = 2;

/// Whether the tensors are of one 16-bit type, or widened from it in the
/// kernel, and the results of floats; and whether the extents use most of each
/// instruction and fit in registers.
bool fitsTensorAttention(const KernelSource &source,
                         const step::AttentionProblem &problem,
                         llvm::ArrayRef<mlir::Value> tensors,
                         llvm::ArrayRef<mlir::Value> results);

/// A power of two, of at least one instruction's sum.
int64_t paddedFeatures(int64_t features);

class TensorAttentionKernel : protected GpuAttentionKernel {
protected:
  TensorAttentionKernel(const KernelSource &source, mlir::func::FuncOp function,
                        const LaunchShape &launch,
                        const GpuInstructions &instructions,
                        const step::AttentionProblem &problem);

  using Combine = llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)>;
  /// All of them, in pairs and pairs of pairs.
  mlir::Value joined(Values values, Combine combine);
  /// Of the four lanes that have a row, in all of them.
  mlir::Value overRow(mlir::Value value, Combine combine);
  mlir::Value largerOrNaN(mlir::Value a, mlir::Value b);
  mlir::Value multiplyAdd(mlir::Value a, mlir::Value b, mlir::Value c);
  mlir::Value coarseExp2(mlir::Value exponent);

  /// Rows of queries or keys with their features as the sum.
  TensorOperand operandOf(mlir::Value tensor, llvm::ArrayRef<int64_t> dims,
                          int64_t rows, int64_t features);

  /// Which row of a warp's rows and column of a block's columns this lane has
  /// as element `i` of a result.
  IndexExpression rowOf(int64_t i) const { return row + 8 * (i / 2 % 2); }
  IndexExpression columnOf(int64_t i) const {
    return column + (i / 4 * columnsAtOnce + i % 2);
  }
  /// Of the elements of a result in this lane, those of one of its two rows.
  Values ofRow(llvm::ArrayRef<mlir::Value> elements, int64_t half) const;
  /// The registers of the warp's rows of a tile, 16 features from `sum` on.
  Values loadRows(mlir::Value tile, const TileShape &shape, int64_t sum);
  /// Products of rows, 16 features of which `rowsAt` gives, and the columns of
  /// a tile.
  Values productsOf(llvm::function_ref<Values(int64_t sum)> rowsAt,
                    mlir::Value tile, const TileShape &shape);
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

  /// Writes the rows of a warp, from `first` on, of a result with features
  /// last in `sums`. The warps share `memory`, which nobody else uses.
  void storeRows(mlir::Value result, llvm::ArrayRef<int64_t> dims,
                 llvm::ArrayRef<mlir::Value> sums, int64_t features,
                 const IndexExpression &first, int64_t rows,
                 mlir::Value memory);

  /// sums += a b, of one instruction.
  void addProducts(llvm::MutableArrayRef<mlir::Value> sums, mlir::ValueRange a,
                   mlir::ValueRange b);

  /// Whether a score is a product times a positive number and nothing else.
  const bool isPlain;
  TensorTiles tiles;
  /// Of this lane's first element: its row of the warp's, and its column.
  IndexExpression row, column;
};

} // namespace tenon::codegen

#endif // TENON_LIB_CODEGEN_GPU_TENSORATTENTION_H
