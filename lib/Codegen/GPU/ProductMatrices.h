//===- ProductMatrices.h - A dot or a convolution as products of matrices -===//
//
// What schedules for products share: how the result of a dot or of a
// convolution is a batch of matrices. A convolution is a product whose rows are
// images and positions, whose columns are the features of a group, and whose
// batch is the groups; the matrix of its inputs is never written.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_GPU_PRODUCTMATRICES_H
#define TENON_LIB_CODEGEN_GPU_PRODUCTMATRICES_H

#include "tenon/Codegen/Loops/Contraction.h"

namespace tenon::codegen {

struct ProductMatrices {
  /// The extents of the result's dimensions that count matrices, their rows and
  /// their columns.
  llvm::SmallVector<int64_t> batch, rows, columns;
  /// The result's dimension that holds the group and the column, of a
  /// convolution; the dimensions of a dot are batch, rows and columns.
  std::optional<size_t> feature;

  /// Of a `dot_general` or a `convolution`, described by `c`.
  static ProductMatrices of(mlir::Operation *op, const Contraction &c);

  /// The index in the result.
  Indices outputAt(const Indices &batchAt, const Indices &rowAt,
                   const Indices &columnAt) const;
};

} // namespace tenon::codegen

#endif // TENON_LIB_CODEGEN_GPU_PRODUCTMATRICES_H
