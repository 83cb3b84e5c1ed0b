//===- StridedView.cpp - A tensor read through transposes ----------------===//
//
// See StridedView.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Fusion/StridedView.h"

#include "tenon/Dialect/StableHLO/StableHLO.h"

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

StridedView fusion::stridedView(Operation *user, Value operand) {
  SmallVector<Operation *> transposes;
  Value source = operand;
  while (auto transpose = source.getDefiningOp<stablehlo::TransposeOp>()) {
    if (transpose->getBlock() != user->getBlock())
      break;
    transposes.push_back(transpose);
    source = transpose.getOperand();
  }
  StridedView view = plainView(source);
  std::reverse(transposes.begin(), transposes.end());
  for (Operation *op : transposes) {
    SmallVector<int64_t> shape, strides;
    for (int64_t from : cast<stablehlo::TransposeOp>(op).getPermutation()) {
      shape.push_back(view.shape[from]);
      strides.push_back(view.strides[from]);
    }
    view.shape = shape;
    view.strides = strides;
  }
  view.operations = transposes;
  return view;
}
