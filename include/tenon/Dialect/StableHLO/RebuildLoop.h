//===- RebuildLoop.h - A loop that carries other values ------------------===//
//
// Used by the passes that move work between loops, and that have a loop count.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_STABLEHLO_REBUILDLOOP_H
#define TENON_DIALECT_STABLEHLO_REBUILDLOOP_H

#include "tenon/Dialect/StableHLO/StableHLO.h"

#include "llvm/ADT/BitVector.h"

namespace tenon::stablehlo {

/// Replaces the loop by one that carries further values, which start as
/// `starts` and go on as `following`, values of the body that read the body's
/// last arguments; `makeFollowing` gets those. The values in `dropped` are no
/// longer carried: nothing reads their results, and in the body only operations
/// whose results are not used otherwise. The old loop is left without blocks.
WhileOp rebuildLoop(WhileOp loop, const llvm::BitVector &dropped,
                    mlir::ValueRange starts,
                    llvm::function_ref<llvm::SmallVector<mlir::Value>(
                        mlir::ValueRange carried, mlir::OpBuilder &builder)>
                        makeFollowing);

} // namespace tenon::stablehlo

#endif // TENON_DIALECT_STABLEHLO_REBUILDLOOP_H
