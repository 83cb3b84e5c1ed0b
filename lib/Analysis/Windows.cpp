//===- Windows.cpp - Operations whose windows run over a dimension --------===//
//
// See Windows.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Analysis/Windows.h"

#include "tenon/Analysis/ReductionTree.h"
#include "tenon/Analysis/Shapes.h"

#include "mlir/IR/Matchers.h"

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

SmallVector<Window> tenon::windowsOf(stablehlo::PadOp op) {
  SmallVector<Window> windows(shapeOf(op.getOperand()).size());
  for (auto [dim, window] : llvm::enumerate(windows)) {
    window.low = op.getEdgePaddingLow()[dim];
    window.high = op.getEdgePaddingHigh()[dim];
    window.baseDilation = op.getInteriorPadding()[dim] + 1;
  }
  return windows;
}

SmallVector<Window> tenon::windowsOf(stablehlo::ConvolutionOp op) {
  auto numbers = op.getDimensionNumbers();
  ArrayRef<int64_t> kernel = numbers.getKernelSpatialDimensions();
  SmallVector<Window> windows = commonWindows(op, kernel.size());
  for (auto [at, window] : llvm::enumerate(windows)) {
    window.size = shapeOf(op.getRhs())[kernel[at]];
    if (auto dilations = op.getLhsDilation())
      window.baseDilation = (*dilations)[at];
    if (auto dilations = op.getRhsDilation())
      window.windowDilation = (*dilations)[at];
    if (auto reversal = op.getWindowReversal())
      window.isReversed = (*reversal)[at];
  }
  return windows;
}

bool tenon::picksElements(stablehlo::ReduceWindowOp op) {
  return op.getInputs().size() == 1 &&
         isa_and_nonnull<stablehlo::MaximumOp, stablehlo::MinimumOp>(
             commutativeOperation(op.getBody()));
}

bool tenon::placesElements(stablehlo::SelectAndScatterOp op) {
  Block &select = op.getSelect().front();
  auto compare = dyn_cast_or_null<stablehlo::CompareOp>(
      select.getTerminator()->getOperand(0).getDefiningOp());
  return compare && isa<BlockArgument>(compare.getLhs()) &&
         isa<BlockArgument>(compare.getRhs()) &&
         isa_and_nonnull<stablehlo::AddOp>(
             commutativeOperation(op.getScatter())) &&
         matchPattern(op.getInitValue(), m_AnyZeroFloat()) &&
         llvm::all_of(windowsOf(op), [](const Window &window) {
           return window.size <= window.stride;
         });
}

SmallVector<int64_t> tenon::sizesOf(ArrayRef<Window> windows) {
  SmallVector<int64_t> sizes;
  for (const Window &window : windows)
    sizes.push_back(window.size);
  return sizes;
}
