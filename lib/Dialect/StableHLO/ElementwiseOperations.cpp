//===- ElementwiseOperations.cpp - Operations: one element at a time -----===//
//
// Definitions of the operations of Elementwise.td.
//
//===----------------------------------------------------------------------===//

#include "Assembly.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"

using namespace mlir;
using namespace tenon::stablehlo;

#define GET_OP_CLASSES
#include "tenon/Dialect/StableHLO/ElementwiseOperations.cpp.inc"

//===----------------------------------------------------------------------===//
// Builders that derive the result type
//===----------------------------------------------------------------------===//

static RankedTensorType withElementType(Value operand, Type elementType) {
  return cast<RankedTensorType>(operand.getType()).clone(elementType);
}

/// The type of the parts of a tensor's elements, the elements' own if they have
/// none.
static RankedTensorType partTensorType(Value operand) {
  Type elementType = getElementTypeOrSelf(operand);
  if (auto complex = dyn_cast<ComplexType>(elementType))
    elementType = complex.getElementType();
  return withElementType(operand, elementType);
}

void AbsOp::build(OpBuilder &builder, OperationState &state, Value operand) {
  build(builder, state, partTensorType(operand), operand);
}

void RealOp::build(OpBuilder &builder, OperationState &state, Value operand) {
  build(builder, state, partTensorType(operand), operand);
}

void ImagOp::build(OpBuilder &builder, OperationState &state, Value operand) {
  build(builder, state, partTensorType(operand), operand);
}

void ConvertOp::build(OpBuilder &builder, OperationState &state, Value operand,
                      Type elementType) {
  build(builder, state, withElementType(operand, elementType), operand);
}

void IsFiniteOp::build(OpBuilder &builder, OperationState &state, Value x) {
  build(builder, state, withElementType(x, builder.getI1Type()), x);
}

void CompareOp::build(OpBuilder &builder, OperationState &state, Value lhs,
                      Value rhs, ComparisonDirection direction,
                      std::optional<ComparisonType> type) {
  MLIRContext *context = builder.getContext();
  build(builder, state, withElementType(lhs, builder.getI1Type()), lhs, rhs,
        ComparisonDirectionAttr::get(context, direction),
        type ? ComparisonTypeAttr::get(context, *type) : ComparisonTypeAttr());
}

void ComplexOp::build(OpBuilder &builder, OperationState &state, Value lhs,
                      Value rhs) {
  Type elementType = ComplexType::get(getElementTypeOrSelf(lhs));
  build(builder, state, withElementType(lhs, elementType), lhs, rhs);
}

void StableHLODialect::registerElementwiseOperations() {
  addOperations<
#define GET_OP_LIST
#include "tenon/Dialect/StableHLO/ElementwiseOperations.cpp.inc"
      >();
}
