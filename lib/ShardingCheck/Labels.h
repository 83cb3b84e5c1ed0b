//===- Labels.h - Which dimensions of an operation run together -----------===//
//
// For an operation of the whole step: dimensions with one label have to lie
// alike on every device for the operation to compute, on the parts, a part of
// what it computes on whole tensors. Dimensions without one must be whole.
//
// Where windows run over a dimension, the operand and the result have labels of
// their own: where a part of the result lies follows from where the part of the
// operand does (SlidingWindows.cpp), or what is right of it
// (ScatteredWindows.cpp).
//
// Example: dot_general of tensor<8x16xf32> and tensor<16x4xf32> has the labels
// [0, 1], [1, 2] -> [0, 2], of which 1 is summed over.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SHARDINGCHECK_LABELS_H
#define TENON_LIB_SHARDINGCHECK_LABELS_H

#include "Holding.h"

#include "tenon/Analysis/Windows.h"

#include "mlir/IR/Operation.h"

namespace tenon::shardingcheck {

inline constexpr int whole = -1;

struct Label {
  /// How results without the label are combined; without it they do not depend
  /// on the dimension.
  std::optional<Combine> combine;
  /// Whether what is outside must be the identity.
  bool readsTail = true;
  /// Whether nothing may be outside.
  bool isEven = false;
};

using TensorLabels = llvm::SmallVector<int, 4>;

struct Labels {
  std::vector<Label> labels;
  std::vector<TensorLabels> operands, results;
};

/// Windows over a dimension of the first operand make one of the result. Their
/// places are a dimension of the second operand, if that is a kernel.
struct SlidingWindow {
  int64_t operandDim = 0, resultDim = 0;
  std::optional<int64_t> kernelDim;
  Window window;
};

/// Of a convolution, a reduce_window of one operand, or a pad; in one order for
/// all operations with the same dimensions.
std::vector<SlidingWindow> slidingWindowsOf(mlir::Operation *op);

/// Nothing for operations that compute nothing on tensors: those that move
/// elements are no business of labels, nor are loops and branches.
std::optional<Labels> labelsOf(mlir::Operation *op);

/// The labels of a gather; with `isMasked` a dimension that indices choose from
/// is one whose parts are added, since a device gives zero for elements that it
/// does not hold.
Labels labelsOfGather(mlir::Operation *op, bool isMasked);

/// How a region of two arguments combines them; nothing for any other region.
std::optional<Combine> combineOf(mlir::Region &region);

} // namespace tenon::shardingcheck

#endif // TENON_LIB_SHARDINGCHECK_LABELS_H
