//===- PackedProduct.h - Products of matrices that a kernel keeps ---------===//
//
// A kernel of several products copies what they read into its scratch memory
// once, as f32, rows at multiples of 16 elements. Tiles of their products are
// then held in registers, without masks: 8 rows times 2 vectors with 32
// registers, 4 rows times 1 otherwise. An element of a product is one chain of
// multiply-adds over ascending indices, however it is tiled.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CPU_PACKEDPRODUCT_H
#define TENON_LIB_CODEGEN_CPU_PACKEDPRODUCT_H

#include "KernelBuilder.h"

namespace tenon::codegen {

/// f32 in scratch memory: element (row, column) lies at row * rowStride +
/// column * columnStride.
struct PackedMatrix {
  mlir::Value memref;
  int64_t rowStride = 0, columnStride = 1;

  PackedMatrix transposed() const { return {memref, columnStride, rowStride}; }
};

/// The row stride of a packed matrix of that many columns.
inline int64_t packedStride(int64_t columns) {
  return llvm::alignTo(columns, vectorLanes);
}

/// The rows that tiles are made of; stripes of a result have as many, and the
/// last one up to two more, which would leave most of a tile of their own
/// empty.
inline constexpr int64_t stripeRows = 8;
inline constexpr int64_t mostStripeRows = stripeRows + 2;

/// Reads and writes of packed matrices, at the place where the builder stands.
class PackedAccess {
public:
  explicit PackedAccess(KernelBuilder &k) : k(k) {}

  /// The f32 at (row, column).
  mlir::Value scalar(const PackedMatrix &matrix, const IndexExpression &row,
                     const IndexExpression &column) const;
  /// 16 of them from (row, column), with columnStride 1.
  mlir::Value vector(const PackedMatrix &matrix, const IndexExpression &row,
                     const IndexExpression &column) const;
  void store(const PackedMatrix &matrix, const IndexExpression &row,
             const IndexExpression &column, mlir::Value value) const;
  /// The same number in 16 lanes.
  mlir::Value broadcast(mlir::Value number) const;
  mlir::Value constant(float number) const;

private:
  mlir::Value position(const PackedMatrix &matrix, const IndexExpression &row,
                       const IndexExpression &column) const;

  KernelBuilder &k;
};

/// The indices a product sums over: from `low` to before `high`, all of them
/// within `range`.
struct SummedRange {
  mlir::Value low, high;
  IndexRange range;
};

/// 16 neighbouring f32 of a row of the right side.
using RightSide = llvm::function_ref<mlir::Value(
    const IndexExpression &row, const IndexExpression &column)>;

/// sums[row * vectors + vector] += sum over s of left(firstRow + row, s) *
/// right(s, firstColumn + 16 vector + lane). `sums` are rows * vectors vectors,
/// rows at most mostStripeRows.
KernelBuilder::Values addProduct(KernelBuilder &k, const PackedMatrix &left,
                                 RightSide right,
                                 const IndexExpression &firstRow, int64_t rows,
                                 const IndexExpression &firstColumn,
                                 int64_t vectors, const SummedRange &sum,
                                 KernelBuilder::Values sums);
KernelBuilder::Values addProduct(KernelBuilder &k, const PackedMatrix &left,
                                 const PackedMatrix &right,
                                 const IndexExpression &firstRow, int64_t rows,
                                 const IndexExpression &firstColumn,
                                 int64_t vectors, const SummedRange &sum,
                                 KernelBuilder::Values sums);

/// Runs the body for blocks of `size` that `count` items are cut into: a loop
/// over the whole ones, then what is left.
void forBlocks(
    KernelBuilder &k, int64_t count, int64_t size,
    llvm::function_ref<void(const IndexExpression &first, int64_t length)>
        body);

/// Runs the body for stripes of `count` rows. With `alike`, all rows of a
/// stripe are treated alike, so that one may have more than stripeRows.
void forStripes(
    KernelBuilder &k, int64_t count, bool alike,
    llvm::function_ref<void(const IndexExpression &first, int64_t rows)> body);

/// Runs the body for neighbouring columns in tiles of up to `most` vectors,
/// those of them only that start before `end` if it is given. The last vector,
/// if it is short, is alone in its tile and masked (PointEmitter::mask).
void forColumns(
    KernelBuilder &k, int64_t columns, int64_t most, mlir::Value end,
    llvm::function_ref<void(const IndexExpression &first, int64_t vectors)>
        body);

/// The vectors of a tile on a processor with that many registers.
inline int64_t vectorsPerTile(const CpuInstructions &processor) {
  return processor.hasAvx512 ? 2 : 1;
}

/// 16 vectors of 16 as the rows of a matrix to those of its columns.
void transposeVectors(KernelBuilder &k,
                      llvm::MutableArrayRef<mlir::Value> vectors);

} // namespace tenon::codegen

#endif // TENON_LIB_CODEGEN_CPU_PACKEDPRODUCT_H
