//===- Collectives.h - What the ranks of a step exchange ------------------===//
//
// A step that the stage Sharding has cut holds StableHLO's collectives. Fusion
// gives each a group of its own, no stage computes one again, and the runtime
// carries it out by the description that is made here.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_ANALYSIS_COLLECTIVES_H
#define TENON_ANALYSIS_COLLECTIVES_H

#include "tenon/Libraries/Collective.h"
#include "tenon/Libraries/Reducer.h"

#include "mlir/IR/Operation.h"

#include <optional>
#include <string>

namespace tenon {

/// Whether ranks meet in the operation, or it tells them apart.
bool isCollective(mlir::Operation *op);

/// Whether ranks meet in the operation: any collective but the one that only
/// tells them apart.
bool exchanges(mlir::Operation *op);

/// Whether the operation or one inside of it is a collective: all ranks have to
/// run it equally often.
bool holdsCollective(mlir::Operation *op);

/// What the collective does; nothing, with the reason, if ranks do not carry
/// out such a one.
std::optional<libraries::CollectiveDescription>
describeCollective(mlir::Operation *op, std::string &whyNot);

/// The operation by which a region combines its two arguments; `none` for any
/// other region.
libraries::Combination combinationOf(mlir::Region &region);

/// What combines its elements.
libraries::Reducer reducerOf(mlir::Operation *op);

} // namespace tenon

#endif // TENON_ANALYSIS_COLLECTIVES_H
