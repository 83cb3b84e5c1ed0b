//===- VerifyQuantized.h - Conditions on quantized element types ---------===//
//
// What the constraints on quantized operands are made of. As in
// VerifyConditions.h each function agrees or emits an error.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_STABLEHLO_VERIFYQUANTIZED_H
#define TENON_DIALECT_STABLEHLO_VERIFYQUANTIZED_H

#include "tenon/Dialect/StableHLO/VerifyConditions.h"

namespace tenon::stablehlo {

/// Whether a quantized element type has a zero point other than 0.
bool hasNonzeroZeroPoint(mlir::Type elementType);

/// Quantized `lhs` and `rhs` are stored in one integer type.
mlir::LogicalResult checkStorageTypes(mlir::Operation *op, mlir::Type lhs,
                                      mlir::Type rhs);

/// All three stand for values of one floating-point type, which is the type
/// itself where it is not quantized.
mlir::LogicalResult checkExpressedTypes(mlir::Operation *op, mlir::Type lhs,
                                        mlir::Type rhs, mlir::Type result);

/// A result whose `rhs` is quantized per tensor is so too.
mlir::LogicalResult checkPerTensorResult(mlir::Operation *op, mlir::Type rhs,
                                         mlir::Type result);

/// A type quantized per axis is quantized along `dimension`, called `what`.
mlir::LogicalResult checkQuantizedAlong(mlir::Operation *op, Subject tensor,
                                        mlir::Type elementType,
                                        int64_t dimension,
                                        llvm::StringRef what);

} // namespace tenon::stablehlo

#endif // TENON_DIALECT_STABLEHLO_VERIFYQUANTIZED_H
