//===- Shapes.h - Extents and elements of tensors -------------------------===//
//
// What everything that looks at tensors asks of their types.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_ANALYSIS_SHAPES_H
#define TENON_ANALYSIS_SHAPES_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

namespace tenon {

inline llvm::ArrayRef<int64_t> shapeOf(mlir::Value tensor) {
  return llvm::cast<mlir::RankedTensorType>(tensor.getType()).getShape();
}

inline mlir::Type elementOf(mlir::Value tensor) {
  return llvm::cast<mlir::RankedTensorType>(tensor.getType()).getElementType();
}

inline int64_t elementCount(llvm::ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  return count;
}

/// Dimensions of extent other than 1.
inline llvm::SmallVector<int64_t> withoutUnits(llvm::ArrayRef<int64_t> shape) {
  return llvm::to_vector(llvm::make_filter_range(
      shape, [](int64_t extent) { return extent != 1; }));
}

/// Whether the tensors have the same dimensions but for those of extent 1.
inline bool differInUnitsAlone(mlir::Value a, mlir::Value b) {
  return withoutUnits(shapeOf(a)) == withoutUnits(shapeOf(b));
}

} // namespace tenon

#endif // TENON_ANALYSIS_SHAPES_H
