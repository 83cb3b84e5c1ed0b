//===- ShardingConstraint.h - Where an author wants a value to lie --------===//
//
// The operation of ShardingConstraint.td. Import keeps it for a step that is
// cut over a mesh, and the stage `shard` reads it.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_DIALECT_STEP_SHARDINGCONSTRAINT_H
#define TENON_DIALECT_STEP_SHARDINGCONSTRAINT_H

#include "tenon/Dialect/Step/Step.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"

#define GET_OP_CLASSES
#include "tenon/Dialect/Step/ShardingConstraintOps.h.inc"

namespace tenon::step {

/// Module attribute, i64: so many constraints were dropped, since the step was
/// imported for one device.
inline constexpr llvm::StringLiteral droppedConstraintsAttrName =
    "step.dropped_constraints";

/// Takes out all constraints below an operation, and gives their number.
int64_t dropShardingConstraints(mlir::Operation *within);

} // namespace tenon::step

#endif // TENON_DIALECT_STEP_SHARDINGCONSTRAINT_H
