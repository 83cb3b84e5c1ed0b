//===- Windows.cpp - The windows of reduce_window and select_and_scatter --===//
//
// See Windows.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Analysis/Windows.h"

#include "tenon/Analysis/Shapes.h"

using namespace mlir;
using namespace tenon;

template <typename Op>
static SmallVector<Window> commonWindows(Op op, size_t rank) {
  SmallVector<Window> windows(rank);
  for (auto [dim, window] : llvm::enumerate(windows)) {
    if (auto strides = op.getWindowStrides())
      window.stride = (*strides)[dim];
    if (auto padding = op.getPadding()) {
      auto values = padding->template getValues<int64_t>().begin();
      window.low = *(values + 2 * dim);
      window.high = *(values + 2 * dim + 1);
    }
  }
  return windows;
}

SmallVector<Window> tenon::windowsOf(stablehlo::ReduceWindowOp op) {
  size_t rank = shapeOf(op.getInputs().front()).size();
  SmallVector<Window> windows = commonWindows(op, rank);
  for (auto [dim, window] : llvm::enumerate(windows)) {
    window.size = op.getWindowDimensions()[dim];
    if (auto dilations = op.getBaseDilations())
      window.baseDilation = (*dilations)[dim];
    if (auto dilations = op.getWindowDilations())
      window.windowDilation = (*dilations)[dim];
  }
  return windows;
}

SmallVector<Window> tenon::windowsOf(stablehlo::SelectAndScatterOp op) {
  size_t rank = shapeOf(op.getOperand()).size();
  SmallVector<Window> windows = commonWindows(op, rank);
  if (auto sizes = op.getWindowDimensions())
    for (auto [window, size] : llvm::zip(windows, *sizes))
      window.size = size;
  return windows;
}

SmallVector<int64_t> tenon::sizesOf(ArrayRef<Window> windows) {
  SmallVector<int64_t> sizes;
  for (const Window &window : windows)
    sizes.push_back(window.size);
  return sizes;
}
