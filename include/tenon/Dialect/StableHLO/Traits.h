//===- Traits.h - Traits of stablehlo operations --------------------------===//
//
// What operations of the dialect have in common beyond MLIR's own traits.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_STABLEHLO_TRAITS_H
#define TENON_DIALECT_STABLEHLO_TRAITS_H

#include "mlir/IR/OpDefinition.h"

namespace tenon::stablehlo {

/// Report operand or result types of an operation that do not agree with the
/// first operand's, as a whole or in shape only.
llvm::LogicalResult verifyCompatibleTypes(mlir::Operation *op);
llvm::LogicalResult verifyCompatibleShapes(mlir::Operation *op);

/// Every ranked tensor among the operands and results of `op` has a byte size
/// that fits in 64 bits, and one quantized per axis has that axis, with a scale
/// for each index.
llvm::LogicalResult checkTensorTypes(mlir::Operation *op);

/// checkTensorTypes() for an operation, before its own verifier.
template <typename ConcreteOp>
struct TensorTypes : mlir::OpTrait::TraitBase<ConcreteOp, TensorTypes> {
  static llvm::LogicalResult verifyTrait(mlir::Operation *op) {
    return checkTensorTypes(op);
  }
};

/// Operands and results have one type, up to dynamic extents and encodings.
template <typename ConcreteOp>
struct CompatibleTypes : mlir::OpTrait::TraitBase<ConcreteOp, CompatibleTypes> {
  static llvm::LogicalResult verifyTrait(mlir::Operation *op) {
    return verifyCompatibleTypes(op);
  }
};

/// Operands and results have one shape, up to dynamic extents.
template <typename ConcreteOp>
struct CompatibleShapes
    : mlir::OpTrait::TraitBase<ConcreteOp, CompatibleShapes> {
  static llvm::LogicalResult verifyTrait(mlir::Operation *op) {
    return verifyCompatibleShapes(op);
  }
};

/// The two operands may be exchanged. Not MLIR's trait of that name: that one
/// lets canonicalization reorder operands.
template <typename ConcreteOp>
struct Commutative : mlir::OpTrait::TraitBase<ConcreteOp, Commutative> {};

} // namespace tenon::stablehlo

#endif // TENON_DIALECT_STABLEHLO_TRAITS_H
