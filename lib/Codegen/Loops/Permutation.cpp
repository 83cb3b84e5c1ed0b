//===- Permutation.cpp - A transpose with as few dimensions as it has -----===//
//
// See Permutation.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Codegen/Loops/Permutation.h"

#include "tenon/Analysis/Shapes.h"

using namespace mlir;

namespace tenon::codegen {

Permutation::Permutation(stablehlo::TransposeOp op) {
  ArrayRef<int64_t> full = shapeOf(op.getOperand());
  // Runs of the result's dimensions that are consecutive in the operand.
  SmallVector<std::pair<int64_t, int64_t>> runs; // first dimension, extent
  int64_t previous = -2;
  auto nextNonUnit = [&](int64_t dim) {
    do
      ++dim;
    while (dim < int64_t(full.size()) && full[dim] == 1);
    return dim;
  };
  for (int64_t dim : op.getPermutation()) {
    if (full[dim] == 1)
      continue;
    if (!runs.empty() && previous >= 0 && nextNonUnit(previous) == dim)
      runs.back().second *= full[dim];
    else
      runs.emplace_back(dim, full[dim]);
    previous = dim;
  }
  SmallVector<size_t> inOrder(runs.size());
  for (size_t i = 0; i < runs.size(); ++i)
    inOrder[i] = i;
  llvm::sort(inOrder,
             [&](size_t a, size_t b) { return runs[a].first < runs[b].first; });
  order.resize(runs.size());
  for (auto [dim, run] : llvm::enumerate(inOrder)) {
    shape.push_back(runs[run].second);
    order[run] = dim;
  }
}

SmallVector<int64_t> Permutation::resultShape() const {
  SmallVector<int64_t> result;
  for (size_t dim : order)
    result.push_back(shape[dim]);
  return result;
}

SmallVector<int64_t> Permutation::others() const {
  SmallVector<int64_t> extents;
  for (size_t dim : order)
    if (dim + 1 != shape.size() && dim != order.back())
      extents.push_back(shape[dim]);
  return extents;
}

Indices Permutation::inOperand(const IndexExpression &row,
                               const IndexExpression &column,
                               ArrayRef<IndexExpression> others) const {
  Indices indices(shape.size());
  size_t next = 0;
  for (size_t dim : order) {
    if (dim + 1 == indices.size())
      indices[dim] = row;
    else if (dim == order.back())
      indices[dim] = column;
    else
      indices[dim] = others[next++];
  }
  return indices;
}

Indices Permutation::inResult(const IndexExpression &row,
                              const IndexExpression &column,
                              ArrayRef<IndexExpression> others) const {
  Indices indices = inOperand(row, column, others), result;
  for (size_t dim : order)
    result.push_back(indices[dim]);
  return result;
}

stablehlo::TransposeOp tiledTransposeOf(const KernelSource &source) {
  auto op = dyn_cast_or_null<stablehlo::TransposeOp>(source.root);
  if (!op || !isa<BlockArgument>(op.getOperand()) || source.inPlace[0] >= 0)
    return nullptr;
  Permutation permutation(op);
  if (!permutation.movesLast() || permutation.rows() < 4 ||
      permutation.columns() < 4)
    return nullptr;
  return op;
}

} // namespace tenon::codegen
