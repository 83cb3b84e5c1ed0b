//===- JoinGroups.h - Two groups that were written become one ------------===//
//
// For passes behind `fusion-form-groups`, which find two kernels that would be
// better one.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_FUSION_JOINGROUPS_H
#define TENON_FUSION_JOINGROUPS_H

#include "tenon/Dialect/Step/Step.h"
#include "tenon/Fusion/GroupLegality.h"

namespace tenon::fusion {

/// Whether a template of loops emits the group, so that it may hold more.
bool isLoopKernel(step::GroupOp group);

/// A group where `second` is that computes what both do, each value once. It
/// has the results of `first`, if these are kept, and then those of `second`,
/// which may read results of `first`. Null if no template emits it. Both groups
/// stay.
step::GroupOp joinGroups(step::GroupOp first, step::GroupOp second,
                         bool keepsFirst, Sums sums = Sums::apart);

/// Has a group that `joinGroups` made of both, results of the first one kept,
/// take their place; what waits for it runs behind it, in that order.
void replaceByJoined(step::GroupOp first, step::GroupOp second,
                     step::GroupOp joined,
                     llvm::ArrayRef<mlir::Operation *> waiting);

/// Moves what a group computes into a new one that yields these values of it.
/// The old one stays, empty, until its results are replaced.
step::GroupOp withResults(step::GroupOp group, mlir::ValueRange values);

/// What stands between the two groups and needs the first one; nothing if the
/// second one needs it, too.
std::optional<llvm::SmallVector<mlir::Operation *>>
waitingFor(step::GroupOp first, step::GroupOp second);

} // namespace tenon::fusion

#endif // TENON_FUSION_JOINGROUPS_H
