//===- Windows.h - Operations whose windows run over a dimension ----------===//
//
// What they say of a dimension, with what they leave out filled in.
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
  bool isReversed = false; // the places of the window

  bool isTrivial() const {
    return size == 1 && stride == 1 && low == 0 && high == 0 &&
           baseDilation == 1;
  }
};

/// One per dimension of the operand.
llvm::SmallVector<Window> windowsOf(stablehlo::ReduceWindowOp op);
llvm::SmallVector<Window> windowsOf(stablehlo::SelectAndScatterOp op);
/// One element each, at `baseDilation` from the next one.
llvm::SmallVector<Window> windowsOf(stablehlo::PadOp op);
/// One per spatial dimension, in the order of these.
llvm::SmallVector<Window> windowsOf(stablehlo::ConvolutionOp op);

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
