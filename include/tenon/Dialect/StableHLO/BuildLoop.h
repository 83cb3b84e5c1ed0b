//===- BuildLoop.h - Builds loops over tensors ----------------------------===//
//
// Most loops that passes build have a counter from zero to a constant; all
// carry values from round to round.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_STABLEHLO_BUILDLOOP_H
#define TENON_DIALECT_STABLEHLO_BUILDLOOP_H

#include "tenon/Dialect/StableHLO/StableHLO.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace tenon::stablehlo {

/// Runs `body` on the carried values for as long as `condition`, a scalar i1,
/// holds for them. Returns the last ones.
llvm::SmallVector<mlir::Value> buildLoop(
    mlir::ImplicitLocOpBuilder &builder, mlir::ValueRange starts,
    llvm::function_ref<mlir::Value(mlir::ValueRange carried)> condition,
    llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::ValueRange carried)>
        body);

/// Runs `body` for the rounds 0 to `rounds` - 1. It gets the round, a scalar
/// i32, and the carried values, and returns those of the next round. Returns
/// the carried values after the last round; without rounds, `starts`.
llvm::SmallVector<mlir::Value> buildCountedLoop(
    mlir::ImplicitLocOpBuilder &builder, int64_t rounds,
    mlir::ValueRange starts,
    llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value round,
                                                      mlir::ValueRange carried)>
        body);

/// A scalar i32.
mlir::Value scalarConstant(mlir::ImplicitLocOpBuilder &builder, int64_t value);

/// A tensor of zeros.
mlir::Value zeros(mlir::ImplicitLocOpBuilder &builder,
                  mlir::RankedTensorType type);

/// Where the slice at `index` of `dimension` starts in a tensor of that rank.
llvm::SmallVector<mlir::Value> startAt(mlir::ImplicitLocOpBuilder &builder,
                                       int64_t rank, int64_t dimension,
                                       mlir::Value index);

/// The slice of `tensor` at `index` of `dimension`, without that dimension.
mlir::Value sliceAt(mlir::ImplicitLocOpBuilder &builder, mlir::Value tensor,
                    int64_t dimension, mlir::Value index);

/// `tensor` with its slice at `index` of `dimension` replaced, or, by a shorter
/// one, the beginning of it.
mlir::Value updateAt(mlir::ImplicitLocOpBuilder &builder, mlir::Value tensor,
                     int64_t dimension, mlir::Value index, mlir::Value slice);

/// Clones what a region with one block computes from `arguments`; returns the
/// results.
llvm::SmallVector<mlir::Value> cloneBody(mlir::ImplicitLocOpBuilder &builder,
                                         mlir::Region &region,
                                         mlir::ValueRange arguments);

} // namespace tenon::stablehlo

#endif // TENON_DIALECT_STABLEHLO_BUILDLOOP_H
