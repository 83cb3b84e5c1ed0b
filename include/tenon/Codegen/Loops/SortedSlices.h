//===- SortedSlices.h - The slices that a sort puts in order --------------===//
//
// What a sort's schedules on every target need to know of its operands' shape.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_CODEGEN_LOOPS_SORTEDSLICES_H
#define TENON_CODEGEN_LOOPS_SORTEDSLICES_H

#include "tenon/Analysis/Shapes.h"
#include "tenon/Codegen/Loops/IndexExpression.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"

namespace tenon::codegen {

/// The slices of the operands along the sorted dimension, which a tensor
/// without dimensions is one of.
struct SortedSlices {
  /// Of an operand, and without the sorted dimension.
  llvm::SmallVector<int64_t> shape, others;
  int64_t dim = 0, length = 1, count = 1;

  explicit SortedSlices(stablehlo::SortOp op)
      : shape(shapeOf(op.getInputs().front())), others(shape) {
    if (!shape.empty()) {
      const auto rank = int64_t(shape.size());
      dim = (op.getDimension() + rank) % rank;
      length = shape[dim];
      others.erase(others.begin() + dim);
    }
    count = elementCount(others);
  }

  /// The index of an element of the slice at the index `own` of `others`.
  Indices at(Indices own, const IndexExpression &along) const {
    if (!shape.empty())
      own.insert(own.begin() + dim, along);
    return own;
  }
};

} // namespace tenon::codegen

#endif // TENON_CODEGEN_LOOPS_SORTEDSLICES_H
