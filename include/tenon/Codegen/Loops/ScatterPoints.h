//===- ScatterPoints.h - Where the updates of a scatter go ----------------===//
//
// Updates are applied one after the other in row-major order of the scatter
// indices, so that several to one place add up in a fixed order. A scatter
// index has a window, each of whose elements goes to another place, so that at
// most one update of a window meets an element. Which loops walk them is the
// schedule's affair.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_CODEGEN_LOOPS_SCATTERPOINTS_H
#define TENON_CODEGEN_LOOPS_SCATTERPOINTS_H

#include "tenon/Codegen/Loops/KernelNest.h"

namespace tenon::codegen {

/// The dimensions of a scatter.
struct ScatterShape {
  explicit ScatterShape(stablehlo::ScatterOp op);

  stablehlo::ScatterOp op;
  stablehlo::ScatterDimensionNumbersAttr numbers;
  llvm::ArrayRef<int64_t> shape, updateShape;
  llvm::SmallVector<size_t> windowDims; // of the operand, one per window dim of
                                        // the updates, in order

  bool isWindowDim(size_t updateDim) const;
  /// Extents of the dimensions of the updates that are in windows, and of those
  /// that are not.
  llvm::SmallVector<int64_t> windowShape() const;
  llvm::SmallVector<int64_t> scatterShape() const;
  /// Which dimension of a scatter index is dimension `dim` of the tensor of
  /// indices.
  int64_t scatterDimOf(int64_t dim) const {
    return dim > numbers.getIndexVectorDim() ? dim - 1 : dim;
  }

  /// The index of an update.
  Indices updateAt(llvm::ArrayRef<IndexExpression> scatterIndex,
                   llvm::ArrayRef<IndexExpression> window) const;
  /// The index where the window of a scatter index starts: what is read from
  /// the indices, cut to where it makes no difference, and the batching
  /// dimensions.
  Indices startOf(KernelNest &k, const Indices &scatterIndex);
  /// Elements of the results and of the updates, all scalars or all vectors, to
  /// the next elements of the results.
  llvm::SmallVector<mlir::Value> combine(KernelNest &k,
                                         llvm::ArrayRef<mlir::Value> old,
                                         llvm::ArrayRef<mlir::Value> updates);
};

} // namespace tenon::codegen

#endif // TENON_CODEGEN_LOOPS_SCATTERPOINTS_H
