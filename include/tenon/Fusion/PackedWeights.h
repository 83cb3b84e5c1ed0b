//===- PackedWeights.h - Weights in the order in which tiles read them ----===//
//
// Weights that a loop multiplies in every round are brought into the order of
// Libraries/PackedMatmul.h once, by a reshape and a transpose in front of it.
// In the loop the inverse of both stands in front of the dot, which a library
// call takes for a packed operand:
//
//     %p = transpose (reshape %w), dims = [3, 0, 1, 4, 2]
//     while { dot_general %x, reshape (transpose %p, dims = [1, 2, 4, 0, 3]) }
//
//===----------------------------------------------------------------------===//

#ifndef TENON_FUSION_PACKEDWEIGHTS_H
#define TENON_FUSION_PACKEDWEIGHTS_H

#include "tenon/Dialect/StableHLO/StableHLO.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <optional>

namespace tenon::fusion {

/// Whether the matrix has whole blocks alone.
bool hasWholeBlocks(mlir::RankedTensorType matrix);

/// The matrix, packed.
mlir::Value pack(mlir::ImplicitLocOpBuilder &builder, mlir::Value matrix);

/// The matrix of `type` that was packed.
mlir::Value unpack(mlir::ImplicitLocOpBuilder &builder, mlir::Value packed,
                   mlir::RankedTensorType type);

/// A matrix that `unpack` gave.
struct Unpacked {
  mlir::Value packed;
  stablehlo::TransposeOp transpose;
  stablehlo::ReshapeOp reshape;

  /// Nothing if `matrix` is none that was unpacked in the block of `user`.
  static std::optional<Unpacked> of(mlir::Value matrix, mlir::Operation *user);
};

} // namespace tenon::fusion

#endif // TENON_FUSION_PACKEDWEIGHTS_H
