//===- FloatAttention.h - What attention without tensor cores shares ------===//
//
// Attention and its gradient by fused multiply-adds, in the order of sums of
// docs/Rationale/Attention.md. A block of threads has a tile of rows, of
// queries or of keys, and walks tiles of columns, of the other kind:
//
//   products     of the tile's rows and columns, 16 features at a time, stay in
//                the registers of the thread that has the row and the column
//   coefficients made of them (weights, slopes) go to shared memory
//   sums         of coefficients times what the columns have, 16 columns at a
//                time, stay in registers
//
// Row r belongs to the 16 threads of group r mod 8, column c to lane c mod 16
// of each group: the sums over keys of a row, by key mod 16, are one per lane.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_GPU_FLOATATTENTION_H
#define TENON_LIB_CODEGEN_GPU_FLOATATTENTION_H

#include "GpuAttention.h"
#include "SharedTiles.h"

namespace tenon::codegen {

/// Whether operands and results are floats that are computed in f32.
bool fitsFloatAttention(const KernelSource &source,
                        llvm::ArrayRef<mlir::Value> tensors);

/// How the work is cut: rows of a thread, and features of a block's sums.
struct FloatAttentionTiles {
  static constexpr int64_t groups = 8, lanes = 16, threads = groups * lanes;
  static constexpr int64_t columnsOfThread = 4,
                           columns = columnsOfThread * lanes;
  /// What is fetched at once, of features or of columns.
  static constexpr int64_t step = 16;
  static constexpr int64_t mostFeatures = 128; // of a block's sums

  int64_t rowsOfThread;

  /// As many rows as `most` per thread, or fewer, a power of two, so that
  /// `batches` of `extent` rows make enough blocks.
  FloatAttentionTiles(int64_t most, int64_t batches, int64_t extent);

  int64_t rows() const { return rowsOfThread * groups; }
  int64_t blocksOf(int64_t extent) const {
    return llvm::divideCeil(extent, rows());
  }
  /// Of a block's sums: a power of two of at least one per lane.
  static int64_t widthOf(int64_t features);
  /// Blocks that share the features of a result.
  static int64_t blocksOfFeatures(int64_t features) {
    return llvm::divideCeil(features, mostFeatures);
  }
};

/// Queries or keys with their features.
struct AttentionRows {
  mlir::Value tensor;
  llvm::ArrayRef<int64_t> dims;
  int64_t count = 1, features = 1;

  AttentionRows(mlir::Value tensor, llvm::ArrayRef<int64_t> dims);
  /// Whether four neighbouring features are neighbours in memory.
  bool isWide() const { return hasFeaturesLast(dims) && features % 4 == 0; }
  /// Whether steps can be copied as they lie in memory.
  bool isCopied() const {
    return llvm::isa<mlir::BlockArgument>(tensor) &&
           elementOf(tensor).isF32() && hasFeaturesLast(dims) &&
           features % FloatAttentionTiles::step == 0;
  }
};

class FloatAttentionKernel : protected GpuAttentionKernel {
protected:
  using Rows = AttentionRows;

  FloatAttentionKernel(const KernelSource &source, mlir::func::FuncOp function,
                       const LaunchShape &launch,
                       const GpuInstructions &instructions,
                       const step::AttentionProblem &problem,
                       const FloatAttentionTiles &layout, bool rowsAreQueries);

  /// The thread's row and column number `i` of a tile.
  IndexExpression rowOf(int64_t i) const {
    return group + i * FloatAttentionTiles::groups;
  }
  IndexExpression columnOf(int64_t i) const {
    return lane + i * FloatAttentionTiles::lanes;
  }
  int64_t rowOfElement(int64_t i) const {
    return i / FloatAttentionTiles::columnsOfThread;
  }
  int64_t columnOfElement(int64_t i) const {
    return i % FloatAttentionTiles::columnsOfThread;
  }
  int64_t elements() const {
    return layout.rowsOfThread * FloatAttentionTiles::columnsOfThread;
  }

  /// Products of the block's rows and a tile of columns.
  Values products(const Rows &rows, const Rows &columns,
                  const IndexExpression &firstColumn);
  /// Puts coefficients of a tile where all threads find them. Nobody reads
  /// others there. Those of columns that there are not count nothing.
  void share(llvm::ArrayRef<mlir::Value> coefficients,
             const IndexExpression &firstColumn);
  /// sums += what was shared times the columns' features from `firstFeature`
  /// on, `width` of them.
  void addWeighted(llvm::MutableArrayRef<mlir::Value> sums, const Rows &columns,
                   const IndexExpression &firstColumn,
                   const IndexExpression &firstFeature, int64_t width);
  /// Sums for `width` features of the thread's rows.
  size_t sumsOf(int64_t width) const {
    return size_t(layout.rowsOfThread * width / FloatAttentionTiles::lanes);
  }
  void storeRows(mlir::Value result, llvm::ArrayRef<int64_t> dims,
                 llvm::ArrayRef<mlir::Value> sums, const Rows &rows,
                 const IndexExpression &firstFeature, int64_t width);

  /// Of the 16 lanes of a row, joined as the CPU joins them, in all of them.
  mlir::Value
  overRow(mlir::Value value,
          llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> join);

  /// The tiles of columns that the block's rows take part with.
  mlir::Value firstTile(), endOfTiles();
  int64_t tilesOfColumns() const {
    return llvm::divideCeil(columnCount, FloatAttentionTiles::columns);
  }

  const FloatAttentionTiles layout;
  const bool rowsAreQueries;
  const int64_t rowCount, columnCount;
  SharedTiles tiles;
  IndexExpression group, lane;
  IndexExpression firstRow; // of the block, which a derived class sets

private:
  /// What a thread has read for a tile and not yet stored there.
  struct Held {
    mlir::Value value;
    IndexExpression place;
    IndexExpression vector; // stored where it is below
    int64_t vectors;
  };
  mlir::Value fourFeatures(const Rows &of, const IndexExpression &row,
                           const IndexExpression &feature, double padding);
  using Place = llvm::function_ref<IndexExpression(
      const IndexExpression &row, const IndexExpression &chunkOfRow)>;
  IndexExpression placeInProduct(const IndexExpression &row,
                                 const IndexExpression &chunkOfRow);
  /// Begins to bring `width` features of `rows` rows to a stage: by copies, or
  /// by what is held until it is stored.
  void fetch(const Rows &of, const IndexExpression &firstOfTile,
             const IndexExpression &firstFeature, int64_t rows, int64_t width,
             double padding, mlir::Value stage, Place place,
             llvm::SmallVectorImpl<Held> &held);
  void store(mlir::Value stage, llvm::ArrayRef<Held> held);
  using Fetch =
      llvm::function_ref<void(const IndexExpression &step, mlir::Value stage,
                              llvm::SmallVectorImpl<Held> &)>;
  using Take = llvm::function_ref<void(const IndexExpression &step,
                                       mlir::Value stage, Values &state)>;
  /// Takes steps 0 to before `end`, at most `count`, the next of which is
  /// fetched while one is taken.
  Values walk(mlir::Value end, int64_t count, Values state, Fetch fetch,
              Take take);
  /// Whether rows of pair `pair` of each thread, which are 16 rows of the
  /// tile, take part with 16 columns.
  mlir::Value takesPart(int64_t pair, const IndexExpression &firstColumn);
  mlir::Value loadFour(mlir::Value base, const IndexExpression &place);

  mlir::Value stages, shared;
};

} // namespace tenon::codegen

#endif // TENON_LIB_CODEGEN_GPU_FLOATATTENTION_H
