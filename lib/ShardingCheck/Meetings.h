//===- Meetings.h - Where devices meet ------------------------------------===//
//
// Private to this folder: what both checks read of collectives and control.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_SHARDINGCHECK_MEETINGS_H
#define TENON_LIB_SHARDINGCHECK_MEETINGS_H

#include "Holding.h"

#include "tenon/Dialect/StableHLO/StableHLO.h"

namespace tenon::shardingcheck {

inline bool isControl(mlir::Operation *op) {
  return mlir::isa<stablehlo::WhileOp, stablehlo::CaseOp, stablehlo::IfOp>(op);
}

/// An operation that ends on a device only when others do it as well.
bool waitsForOthers(mlir::Operation *op);

/// The groups of a collective if each device is in one of them, once.
std::optional<Groups> groupsOf(mlir::Operation *op, int64_t devices);

} // namespace tenon::shardingcheck

#endif // TENON_LIB_SHARDINGCHECK_MEETINGS_H
