//===- ElementKinds.cpp - Which elements an operand may have --------------===//
//
// Predicates behind operand constraints, and the traits that compare types.
//
//===----------------------------------------------------------------------===//

#include "tenon/Dialect/StableHLO/ElementKinds.h"

#include "tenon/Dialect/StableHLO/StableHLO.h"

#include "mlir/Dialect/Quant/IR/QuantTypes.h"

using namespace mlir;

namespace tenon::stablehlo {

static bool isIntegerWidth(unsigned bits) {
  return bits == 2 || bits == 4 || bits == 8 || bits == 16 || bits == 32 ||
         bits == 64;
}

unsigned elementKind(Type type) {
  if (auto integer = dyn_cast<IntegerType>(type)) {
    if (integer.isSignless() && integer.getWidth() == 1)
      return kBoolean;
    if (integer.isSigned() || !isIntegerWidth(integer.getWidth()))
      return 0;
    return integer.isUnsigned() ? kUnsigned : kSigned;
  }
  if (auto complex = dyn_cast<ComplexType>(type)) {
    Type part = complex.getElementType();
    return part.isF32() || part.isF64() ? kComplex : 0;
  }
  if (isa<Float4E2M1FNType, Float6E2M3FNType, Float6E3M2FNType, Float8E3M4Type,
          Float8E4M3Type, Float8E4M3FNType, Float8E4M3FNUZType,
          Float8E4M3B11FNUZType, Float8E5M2Type, Float8E5M2FNUZType,
          Float8E8M0FNUType, Float16Type, BFloat16Type, Float32Type,
          Float64Type>(type))
    return kFloat;
  if (isa<quant::UniformQuantizedType>(type))
    return kQuantized;
  if (isa<quant::UniformQuantizedPerAxisType>(type))
    return kPerAxisQuantized;
  if (isa<IndexType>(type))
    return kIndex;
  return 0;
}

bool isTensorOf(Type type, unsigned kinds) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && (elementKind(tensor.getElementType()) & kinds);
}

bool isScalarOf(Type type, unsigned kinds) {
  return isTensorOf(type, kinds) && cast<RankedTensorType>(type).getRank() == 0;
}

bool isVectorOf(Type type, unsigned kinds) {
  return isTensorOf(type, kinds) && cast<RankedTensorType>(type).getRank() == 1;
}

static bool isScalarInteger(Type type, unsigned kinds, unsigned bits) {
  return isScalarOf(type, kinds) &&
         cast<RankedTensorType>(type).getElementTypeBitWidth() == bits;
}

bool isScalarOfWidth(Type type, unsigned bits) {
  return isScalarInteger(type, kSigned, bits);
}

bool isScalarOfUnsignedWidth(Type type, unsigned bits) {
  return isScalarInteger(type, kUnsigned, bits);
}

bool isValueType(Type type) {
  if (isTensorOf(type, kTensor | kPerAxisQuantized | kIndex) ||
      isa<TokenType, FutureType, MemRefType>(type))
    return true;
  auto tuple = dyn_cast<TupleType>(type);
  return tuple && llvm::all_of(tuple.getTypes(), isValueType);
}

bool isReplicaGroups(Attribute attribute) {
  if (isa<ReplicaGroupMeshAxesAttr>(attribute))
    return true;
  auto table = dyn_cast<DenseIntElementsAttr>(attribute);
  return table && table.getElementType().isSignlessInteger(64) &&
         table.getType().getRank() == 2;
}

/// Quantized elements agree if what they store and stand for does.
static bool areCompatibleElements(Type left, Type right) {
  if (left == right)
    return true;
  auto leftQuantized = dyn_cast<quant::QuantizedType>(left);
  auto rightQuantized = dyn_cast<quant::QuantizedType>(right);
  return leftQuantized && rightQuantized &&
         leftQuantized.getStorageType() == rightQuantized.getStorageType() &&
         leftQuantized.getExpressedType() == rightQuantized.getExpressedType();
}

bool areCompatibleTypes(Type left, Type right) {
  if (left == right)
    return true;
  auto leftTensor = dyn_cast<RankedTensorType>(left);
  auto rightTensor = dyn_cast<RankedTensorType>(right);
  return leftTensor && rightTensor &&
         areCompatibleElements(leftTensor.getElementType(),
                               rightTensor.getElementType()) &&
         succeeded(verifyCompatibleShape(leftTensor, rightTensor));
}

/// Compares every operand and result type with the first operand's.
static LogicalResult
verifyTypesAgree(Operation *op, StringRef what,
                 llvm::function_ref<bool(Type, Type)> agree) {
  if (op->getNumOperands() == 0)
    return success();
  Type expected = op->getOperand(0).getType();
  for (auto [index, type] : llvm::enumerate(op->getOperandTypes()))
    if (!agree(expected, type))
      return op->emitOpError()
             << "operands 0 and " << index << " must have the same " << what
             << ", found " << expected << " and " << type;
  for (auto [index, type] : llvm::enumerate(op->getResultTypes()))
    if (!agree(expected, type))
      return op->emitOpError()
             << "operand 0 and result " << index << " must have the same "
             << what << ", found " << expected << " and " << type;
  return success();
}

LogicalResult verifyCompatibleTypes(Operation *op) {
  return verifyTypesAgree(op, "type", areCompatibleTypes);
}

LogicalResult verifyCompatibleShapes(Operation *op) {
  return verifyTypesAgree(op, "shape", [](Type left, Type right) {
    return succeeded(verifyCompatibleShape(left, right));
  });
}

} // namespace tenon::stablehlo
