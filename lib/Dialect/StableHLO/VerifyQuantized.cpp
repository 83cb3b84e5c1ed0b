//===- VerifyQuantized.cpp - Conditions on quantized element types -------===//
//
// The conditions that constraints on quantized operands are put together from.
// See VerifyQuantized.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Dialect/StableHLO/VerifyQuantized.h"

#include "mlir/Dialect/Quant/IR/QuantTypes.h"

using namespace mlir;
using namespace tenon::stablehlo;

static Type expressedType(Type type) {
  auto quantized = dyn_cast<quant::QuantizedType>(type);
  return quantized ? quantized.getExpressedType() : type;
}

bool tenon::stablehlo::hasNonzeroZeroPoint(Type elementType) {
  if (auto perTensor = dyn_cast<quant::UniformQuantizedType>(elementType))
    return perTensor.getZeroPoint() != 0;
  if (auto perAxis = dyn_cast<quant::UniformQuantizedPerAxisType>(elementType))
    return llvm::any_of(perAxis.getZeroPoints(),
                        [](int64_t point) { return point != 0; });
  return false;
}

LogicalResult tenon::stablehlo::checkStorageTypes(Operation *op, Type lhs,
                                                  Type rhs) {
  auto left = cast<quant::QuantizedType>(lhs);
  auto right = cast<quant::QuantizedType>(rhs);
  if (left.getStorageType() == right.getStorageType() &&
      left.isSigned() == right.isSigned())
    return success();
  return op->emitOpError() << "'lhs' and 'rhs' have element types " << lhs
                           << " and " << rhs << ", expected one storage type";
}

LogicalResult tenon::stablehlo::checkExpressedTypes(Operation *op, Type lhs,
                                                    Type rhs, Type result) {
  Type expected = expressedType(rhs);
  if (expressedType(lhs) == expected && expressedType(result) == expected)
    return success();
  return op->emitOpError() << "element types of 'lhs', 'rhs' and 'result' are "
                           << lhs << ", " << rhs << " and " << result
                           << ", expected all to stand for " << expected;
}

LogicalResult tenon::stablehlo::checkPerTensorResult(Operation *op, Type rhs,
                                                     Type result) {
  if (!isa<quant::UniformQuantizedType>(rhs) ||
      isa<quant::UniformQuantizedType>(result))
    return success();
  return op->emitOpError()
         << "'rhs' is quantized per tensor but 'result' has element type "
         << result << ", expected it to be quantized per tensor";
}

LogicalResult tenon::stablehlo::checkQuantizedAlong(Operation *op,
                                                    Subject tensor,
                                                    Type elementType,
                                                    int64_t dimension,
                                                    StringRef what) {
  auto perAxis = dyn_cast<quant::UniformQuantizedPerAxisType>(elementType);
  if (!perAxis || perAxis.getQuantizedDimension() == dimension)
    return success();
  return op->emitOpError() << tensor << " is quantized along dimension "
                           << perAxis.getQuantizedDimension() << ", expected "
                           << dimension << ", " << what;
}
