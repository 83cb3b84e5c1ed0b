//===- CountedLoop.h - Loops over a known number of rounds ----------------===//
//
// Builds the loops that expansions of large operations share: most have a
// counter from zero to a constant, all have values carried from round to round.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_IMPORT_COUNTEDLOOP_H
#define TENON_LIB_IMPORT_COUNTEDLOOP_H

#include "tenon/Dialect/CHLO/CHLO.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace tenon::importer {

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

/// The slice of `tensor` at `index` of `dimension`, without that dimension.
mlir::Value sliceAt(mlir::ImplicitLocOpBuilder &builder, mlir::Value tensor,
                    int64_t dimension, mlir::Value index);

/// `tensor` with its slice at `index` of `dimension` replaced.
mlir::Value updateAt(mlir::ImplicitLocOpBuilder &builder, mlir::Value tensor,
                     int64_t dimension, mlir::Value index, mlir::Value slice);

/// Clones what a region with one block computes from `arguments`; returns the
/// results.
llvm::SmallVector<mlir::Value> cloneBody(mlir::ImplicitLocOpBuilder &builder,
                                         mlir::Region &region,
                                         mlir::ValueRange arguments);

/// Replaces a scan by a loop over its dimension.
void expandScan(chlo::ScanOp op);

/// Replaces a product of groups by a loop over the groups, each round computing
/// one group's product and keeping what belongs to the group. Every element of
/// the result has the bits of the plain product it comes from.
void expandRaggedDot(chlo::RaggedDotOp op);

} // namespace tenon::importer

#endif // TENON_LIB_IMPORT_COUNTEDLOOP_H
