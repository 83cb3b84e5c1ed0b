//===- Windows.h - The windows of reduce_window and select_and_scatter ----===//
//
// What both say of a dimension, with what they leave out filled in.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_ANALYSIS_WINDOWS_H
#define TENON_ANALYSIS_WINDOWS_H

#include "tenon/Dialect/StableHLO/StableHLO.h"

#include "llvm/ADT/SmallVector.h"

namespace tenon {

/// A window along one dimension.
struct Window {
  int64_t size = 1, stride = 1, low = 0, high = 0;
  int64_t baseDilation = 1, windowDilation = 1;

  bool isTrivial() const {
    return size == 1 && stride == 1 && low == 0 && high == 0 &&
           baseDilation == 1;
  }
};

/// One per dimension of the operand.
llvm::SmallVector<Window> windowsOf(stablehlo::ReduceWindowOp op);
llvm::SmallVector<Window> windowsOf(stablehlo::SelectAndScatterOp op);

/// Whether every result is an element of its window, or the initial value: the
/// largest or the smallest.
bool picksElements(stablehlo::ReduceWindowOp op);
/// Whether every result is an element of the source, or zero: no two windows
/// share an element, and what is picked by comparing two elements gets the
/// source added to zero.
bool placesElements(stablehlo::SelectAndScatterOp op);

llvm::SmallVector<int64_t> sizesOf(llvm::ArrayRef<Window> windows);

/// Windows of up to this many places are written out place by place.
inline constexpr int64_t mostWindowPlaces = 32;

} // namespace tenon

#endif // TENON_ANALYSIS_WINDOWS_H
