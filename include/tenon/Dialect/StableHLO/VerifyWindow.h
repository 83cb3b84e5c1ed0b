//===- VerifyWindow.h - How many windows fit -----------------------------===//
//
// The arithmetic that convolution, reduce_window and select_and_scatter share:
// the number of positions of a window along one dimension. Used by their
// verifiers, and by whoever builds such an operation.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_STABLEHLO_VERIFYWINDOW_H
#define TENON_DIALECT_STABLEHLO_VERIFYWINDOW_H

#include "tenon/Dialect/StableHLO/VerifyConditions.h"

#include "tenon/Dialect/StableHLO/VerifyConditions.h"

#include "mlir/IR/BuiltinAttributes.h"

namespace tenon::stablehlo {

/// One dimension of a windowed operation, in elements.
struct WindowDimension {
  int64_t size;
  int64_t window;
  int64_t stride = 1;
  int64_t low = 0;
  int64_t high = 0;
  int64_t baseDilation = 1;
  int64_t windowDilation = 1;
};

/// The number of windows along a dimension, 0 if none fits; the dynamic marker
/// if the size or the window is dynamic; nothing if an intermediate number
/// leaves the 64-bit range. For example 7 elements, padded by 1 on both sides,
/// under a window of 3 with stride 2: floor((9 - 3) / 2) + 1 = 4. Strides and
/// dilations must be positive. (Specification: `num_windows`.)
std::optional<int64_t> countWindows(const WindowDimension &dimension);

/// The rows of a `padding` attribute as (low, high) pairs, after checking that
/// its shape is [rows, 2]; all zeros if there is no attribute.
mlir::LogicalResult
readPadding(mlir::Operation *op, mlir::DenseIntElementsAttr padding,
            int64_t rows,
            llvm::SmallVectorImpl<std::pair<int64_t, int64_t>> &pairs);

/// An optional list of one entry per dimension with its default.
llvm::SmallVector<int64_t>
readEntries(std::optional<llvm::ArrayRef<int64_t>> entries, int64_t count,
            int64_t missing = 1);

/// `list` has one positive entry for each of `count` dimensions; `reason` says
/// which those are.
mlir::LogicalResult checkExtents(mlir::Operation *op, Subject list,
                                 llvm::ArrayRef<int64_t> entries, int64_t count,
                                 llvm::StringRef reason);

} // namespace tenon::stablehlo

#endif // TENON_DIALECT_STABLEHLO_VERIFYWINDOW_H
