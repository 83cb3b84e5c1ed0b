//===- PackedProduct.h - Products of matrices that a kernel keeps ---------===//
//
// A kernel of several products copies what they read into its scratch memory
// once, as f32, rows at multiples of 16 elements. The products and the copies
// that are transposed are functions with strides and extents as arguments, of
// which a module of kernels has one each: what is large about them, a tile that
// is held in registers, is compiled once. An element of a product is one chain
// of multiply-adds over ascending indices, however it is tiled.
//
// Nothing is masked: matrices have room for rows and columns up to the next
// multiple of 16, where products leave numbers that nobody reads.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_CPU_PACKEDPRODUCT_H
#define TENON_LIB_CODEGEN_CPU_PACKEDPRODUCT_H

#include "KernelBuilder.h"

#include "mlir/IR/TypeUtilities.h"

namespace tenon::codegen {

/// f32 in scratch memory: element (row, column) lies at row * stride + column.
/// Factors of products by tiles are bf16, or pairs of them (PackedTiles.h).
struct PackedMatrix {
  mlir::Value memref;
  int64_t stride = 0;

  int64_t elementBytes() const {
    return mlir::getElementTypeOrSelf(memref.getType())
               .getIntOrFloatBitWidth() /
           8;
  }
};

/// The elements of a matrix from one of them on.
struct PackedPlace {
  PackedMatrix matrix;
  IndexExpression row, column;
};

/// The row stride of a packed matrix of that many columns. Rows whose distance
/// is a multiple of 4096 bytes would share a few lines of the first cache.
inline int64_t packedStride(int64_t columns) {
  int64_t stride = llvm::alignTo(columns, vectorLanes);
  return stride % 1024 == 0 ? stride + vectorLanes : stride;
}

/// The room that a packed matrix of that many rows has.
inline int64_t packedRows(int64_t rows) {
  return llvm::alignTo(rows, vectorLanes);
}

/// Reads and writes of packed matrices, at the place where the builder stands.
class PackedAccess {
public:
  explicit PackedAccess(KernelBuilder &k) : k(k) {}

  /// The f32 at (row, column).
  mlir::Value scalar(const PackedMatrix &matrix, const IndexExpression &row,
                     const IndexExpression &column) const;
  /// 16 of them from (row, column).
  mlir::Value vector(const PackedMatrix &matrix, const IndexExpression &row,
                     const IndexExpression &column) const;
  /// Rounded, if the matrix is of bf16.
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

/// The extents of a product, of type index.
struct ProductExtents {
  mlir::Value rows, columns, terms;
};

/// to(row, column) = sum over s of left(row, s) * right(s, column), added to
/// what is there unless `isFresh` (an i1). With `isTransposed`, the left factor
/// lies as left(s, row).
void addProduct(KernelBuilder &k, const PackedPlace &left, bool isTransposed,
                const PackedPlace &right, const PackedPlace &to,
                const ProductExtents &extents, mlir::Value isFresh);

/// to(column, row) = from(row, column), for so many rows and columns and what
/// there is room for behind them; rows and columns of `from` count from its
/// place.
void transposePacked(KernelBuilder &k, const PackedPlace &from, int64_t rows,
                     int64_t columns, const PackedMatrix &to);

/// n vectors of n lanes, a power of 2, as the rows of a matrix to those of its
/// columns.
void transposeVectors(mlir::OpBuilder &builder, mlir::Location loc,
                      llvm::MutableArrayRef<mlir::Value> vectors);

} // namespace tenon::codegen

#endif // TENON_LIB_CODEGEN_CPU_PACKEDPRODUCT_H
