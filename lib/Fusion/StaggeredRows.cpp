//===- StaggeredRows.cpp - Rows that do not share sets of a cache ---------===//
//
// See StaggeredRows.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Fusion/StaggeredRows.h"

#include "tenon/Analysis/Shapes.h"
#include "tenon/Dialect/StableHLO/BuildLoop.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::stablehlo;

/// Elements of f32 in a cache line, and in the distance after which lines go to
/// the same set of a first-level cache.
static constexpr int64_t elementsOfLine = 16, elementsOfPeriod = 1024;

bool fusion::shareSets(RankedTensorType type) {
  return type.getRank() >= 2 && type.getElementType().isF32() &&
         type.getShape().back() > 0 &&
         type.getShape().back() % elementsOfPeriod == 0;
}

RankedTensorType fusion::staggered(RankedTensorType type) {
  SmallVector<int64_t> shape(type.getShape());
  shape.back() += elementsOfLine;
  return type.clone(shape);
}

Value fusion::withStagger(ImplicitLocOpBuilder &builder, Value matrix) {
  auto type = cast<RankedTensorType>(matrix.getType());
  const uint64_t columns = uint64_t(type.getRank()) - 1;
  // The copy that puts parts side by side writes the zeros as well.
  SmallVector<Value> parts = {matrix};
  if (auto parted = matrix.getDefiningOp<ConcatenateOp>();
      parted && parted.getDimension() == columns)
    parts = llvm::to_vector(parted.getInputs());
  SmallVector<int64_t> shape(type.getShape());
  shape.back() = elementsOfLine;
  parts.push_back(zeros(builder, type.clone(shape)));
  return ConcatenateOp::create(builder, staggered(type), parts, columns);
}

Value fusion::withoutStagger(ImplicitLocOpBuilder &builder, Value staggered) {
  SmallVector<int64_t> limits(shapeOf(staggered));
  limits.back() -= elementsOfLine;
  SmallVector<int64_t> starts(limits.size(), 0), strides(limits.size(), 1);
  return SliceOp::create(builder, staggered, starts, limits, strides);
}

bool fusion::leavesOutStagger(SliceOp slice) {
  auto type = cast<RankedTensorType>(slice.getType());
  return shareSets(type) && slice.getOperand().getType() == staggered(type) &&
         llvm::all_of(slice.getStartIndices(),
                      [](int64_t start) { return start == 0; });
}
