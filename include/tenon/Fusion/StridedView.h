//===- StridedView.h - A tensor read through strides ---------------------===//
//
// Follows transposes, and slices that leave out the end of staggered rows, from
// an operand up to the value that lies in memory and says with which strides
// the operand reads it.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_FUSION_STRIDEDVIEW_H
#define TENON_FUSION_STRIDEDVIEW_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"

namespace tenon::fusion {

struct StridedView {
  mlir::Value source;
  llvm::SmallVector<int64_t> shape;   // as the operand sees it
  llvm::SmallVector<int64_t> strides; // elements
  llvm::SmallVector<mlir::Operation *>
      operations; // passed through, outermost first
};

/// Row-major strides of a shape, in elements.
llvm::SmallVector<int64_t> rowMajorStrides(llvm::ArrayRef<int64_t> shape);

/// What `user` reads as `operand`, through what is in front of it in its block:
/// transposes in front of a loop run once. With `throughWidening` also through
/// conversions from 16 bits to f32; then elements are those of the source.
StridedView stridedView(mlir::Operation *user, mlir::Value operand,
                        bool throughWidening = false);
/// `operand` as it lies in memory.
StridedView plainView(mlir::Value operand);

} // namespace tenon::fusion

#endif // TENON_FUSION_STRIDEDVIEW_H
