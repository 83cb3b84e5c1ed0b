//===- StridedView.cpp - A tensor read through strides -------------------===//
//
// See StridedView.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Fusion/StridedView.h"

#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Fusion/NarrowConversions.h"
#include "tenon/Fusion/StaggeredRows.h"

#include <algorithm>

using namespace mlir;
using namespace tenon;
using namespace tenon::fusion;

SmallVector<int64_t> fusion::rowMajorStrides(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (int64_t dim = int64_t(shape.size()) - 2; dim >= 0; --dim)
    strides[dim] = strides[dim + 1] * shape[dim + 1];
  return strides;
}

StridedView fusion::plainView(Value operand) {
  StridedView view;
  view.source = operand;
  view.shape =
      llvm::to_vector(cast<RankedTensorType>(operand.getType()).getShape());
  view.strides = rowMajorStrides(view.shape);
  return view;
}

StridedView fusion::stridedView(Operation *user, Value operand,
                                bool throughWidening) {
  SmallVector<Operation *> through;
  Value source = operand;
  while (Operation *op = source.getDefiningOp()) {
    auto slice = dyn_cast<stablehlo::SliceOp>(op);
    auto convert = dyn_cast<stablehlo::ConvertOp>(op);
    bool isView = isa<stablehlo::TransposeOp>(op) ||
                  (slice && leavesOutStagger(slice)) ||
                  (throughWidening && convert && widens(convert));
    if (!isView || op->getBlock() != user->getBlock())
      break;
    through.push_back(op);
    source = op->getOperand(0);
  }
  StridedView view = plainView(source);
  std::reverse(through.begin(), through.end());
  for (Operation *op : through) {
    if (isa<stablehlo::ConvertOp>(op))
      continue; // elements stay where they are
    auto transpose = dyn_cast<stablehlo::TransposeOp>(op);
    if (!transpose) {
      view.shape = llvm::to_vector(
          cast<RankedTensorType>(op->getResult(0).getType()).getShape());
      continue;
    }
    SmallVector<int64_t> shape, strides;
    for (int64_t from : transpose.getPermutation()) {
      shape.push_back(view.shape[from]);
      strides.push_back(view.strides[from]);
    }
    view.shape = shape;
    view.strides = strides;
  }
  view.operations = through;
  return view;
}
