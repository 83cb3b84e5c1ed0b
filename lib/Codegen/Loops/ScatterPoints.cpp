//===- ScatterPoints.cpp - Where the updates of a scatter go --------------===//
//
// See ScatterPoints.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Codegen/Loops/ScatterPoints.h"

#include "tenon/Analysis/Shapes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tenon::codegen {

ScatterShape::ScatterShape(stablehlo::ScatterOp op)
    : op(op), numbers(op.getScatterDimensionNumbers()),
      shape(shapeOf(op.getInputs().front())),
      updateShape(shapeOf(op.getUpdates().front())) {
  for (size_t dim = 0; dim < shape.size(); ++dim)
    if (!llvm::is_contained(numbers.getInsertedWindowDims(), int64_t(dim)) &&
        !llvm::is_contained(numbers.getInputBatchingDims(), int64_t(dim)))
      windowDims.push_back(dim);
}

bool ScatterShape::isWindowDim(size_t updateDim) const {
  return llvm::is_contained(numbers.getUpdateWindowDims(), int64_t(updateDim));
}

SmallVector<int64_t> ScatterShape::windowShape() const {
  SmallVector<int64_t> extents;
  for (int64_t dim : numbers.getUpdateWindowDims())
    extents.push_back(updateShape[dim]);
  return extents;
}

SmallVector<int64_t> ScatterShape::scatterShape() const {
  SmallVector<int64_t> extents;
  for (size_t dim = 0; dim < updateShape.size(); ++dim)
    if (!isWindowDim(dim))
      extents.push_back(updateShape[dim]);
  return extents;
}

Indices ScatterShape::updateAt(ArrayRef<IndexExpression> scatterIndex,
                               ArrayRef<IndexExpression> window) const {
  Indices update(updateShape.size());
  size_t nextScatter = 0, nextWindow = 0;
  for (size_t dim = 0; dim < updateShape.size(); ++dim)
    update[dim] =
        isWindowDim(dim) ? window[nextWindow++] : scatterIndex[nextScatter++];
  return update;
}

Indices ScatterShape::startOf(KernelNest &k, const Indices &scatterIndex) {
  Indices start(shape.size());
  const int64_t vectorDim = numbers.getIndexVectorDim();
  Value indices = op.getScatterIndices();
  int64_t rank = shapeOf(indices).size();
  for (auto [inputDim, indexDim] :
       llvm::zip(numbers.getInputBatchingDims(),
                 numbers.getScatterIndicesBatchingDims()))
    start[inputDim] = scatterIndex[scatterDimOf(indexDim)];
  for (auto [component, inputDim] :
       llvm::enumerate(numbers.getScatterDimsToOperandDims())) {
    Indices place;
    for (int64_t dim = 0; dim < rank; ++dim)
      place.push_back(dim == vectorDim ? IndexExpression(component)
                                       : scatterIndex[scatterDimOf(dim)]);
    Element element = k.points.at(indices, place);
    int64_t window = 1;
    for (auto [updateDim, dim] :
         llvm::zip(numbers.getUpdateWindowDims(), windowDims))
      if (int64_t(dim) == inputDim)
        window = updateShape[updateDim];
    int64_t extent = shape[inputDim];
    bool isUnsigned = elementOf(indices).isUnsignedInteger();
    Value raw = element.value;
    Value lowest = k.constantIndex(-window);
    Value highest = k.constantIndex(extent);
    Value cut = k.levels.emitAt(element.level, [&](OpBuilder &b) -> Value {
      Type type = b.getIndexType();
      if (isUnsigned) {
        Value index = arith::IndexCastUIOp::create(b, k.loc, type, raw);
        return arith::MinUIOp::create(b, k.loc, index, highest);
      }
      Value index = arith::IndexCastOp::create(b, k.loc, type, raw);
      Value raised = arith::MaxSIOp::create(b, k.loc, index, lowest);
      return arith::MinSIOp::create(b, k.loc, raised, highest);
    });
    start[inputDim] = start[inputDim] +
                      k.algebra.uniform(cut, {isUnsigned ? 0 : -window, extent},
                                        element.level);
  }
  return start;
}

SmallVector<Value> ScatterShape::combine(KernelNest &k, ArrayRef<Value> old,
                                         ArrayRef<Value> updates) {
  SmallVector<Value> arguments(old);
  llvm::append_range(arguments, updates);
  return k.points.applyRegion(op.getUpdateComputation(), arguments);
}

} // namespace tenon::codegen
