//===- ShapeOperations.cpp - Operations: arranging elements --------------===//
//
// Definitions of the operations of Shape.td.
//
//===----------------------------------------------------------------------===//

#include "Assembly.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tenon::stablehlo;

#define GET_OP_CLASSES
#include "tenon/Dialect/StableHLO/ShapeOperations.cpp.inc"

//===----------------------------------------------------------------------===//
// Builders that derive the result type
//===----------------------------------------------------------------------===//

void TransposeOp::build(OpBuilder &builder, OperationState &state,
                        Value operand, ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> shape;
  for (int64_t dimension : permutation)
    shape.push_back(typeOf(operand).getDimSize(dimension));
  build(builder, state, typeOf(operand).clone(shape), operand, permutation);
}

void SliceOp::build(OpBuilder &builder, OperationState &state, Value operand,
                    ArrayRef<int64_t> starts, ArrayRef<int64_t> limits,
                    ArrayRef<int64_t> strides) {
  SmallVector<int64_t> shape;
  for (auto [start, limit, stride] : llvm::zip_equal(starts, limits, strides))
    shape.push_back(llvm::divideCeil(limit - start, stride));
  build(builder, state, typeOf(operand).clone(shape), operand, starts, limits,
        strides);
}

void PadOp::build(OpBuilder &builder, OperationState &state, Value operand,
                  Value paddingValue, ArrayRef<int64_t> low,
                  ArrayRef<int64_t> high, ArrayRef<int64_t> interior) {
  SmallVector<int64_t> shape;
  for (auto [extent, before, after, between] :
       llvm::zip_equal(typeOf(operand).getShape(), low, high, interior)) {
    if (ShapedType::isDynamic(extent))
      shape.push_back(extent);
    else
      shape.push_back(before + extent +
                      std::max<int64_t>(extent - 1, 0) * between + after);
  }
  build(builder, state, typeOf(operand).clone(shape), operand, paddingValue,
        low, high, interior);
}

void ConcatenateOp::build(OpBuilder &builder, OperationState &state,
                          ValueRange inputs, int64_t dimension) {
  SmallVector<int64_t> shape(typeOf(inputs.front()).getShape());
  for (Value input : inputs.drop_front()) {
    int64_t extent = typeOf(input).getDimSize(dimension);
    bool known = !ShapedType::isDynamic(extent) &&
                 !ShapedType::isDynamic(shape[dimension]);
    shape[dimension] = known ? shape[dimension] + extent : ShapedType::kDynamic;
  }
  build(builder, state, typeOf(inputs.front()).clone(shape), inputs, dimension);
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

void StableHLODialect::registerShapeOperations() {
  addOperations<
#define GET_OP_LIST
#include "tenon/Dialect/StableHLO/ShapeOperations.cpp.inc"
      >();
}
