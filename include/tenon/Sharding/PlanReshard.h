//===- PlanReshard.h - The cheapest way from one layout to another --------===//
//
// A tensor that lies in one layout and is read in another moves by a sequence
// of collectives. This finds one that receives the least bytes per device and,
// among those, has the fewest steps, by a shortest path over all layouts that
// the parts of axes in the two permit. Used by the partitioner.
//
// S are the bytes of a device's tensor before a step and T behind it, n is the
// number of devices in a group:
//
//   step               changes                                       receives
//   slice              cuts dimensions further                       0
//   all_gather         takes the last parts of a dimension away      (n - 1) S
//   all_to_all         moves last parts of some dimensions behind    (n - 1) T
//   / n
//                      those of other dimensions
//   collective_permute other parts, shards of the same shape         S
//   reduce_scatter     a pending reduction becomes a cut             (n - 1) T
//   all_reduce         finishes a pending reduction                  2 (n - 1)
//   S / n
//
// While it is carried out, the source (which others may read), what a step
// reads and what it writes lie in memory: no more than the source, the target
// and one buffer as large as the larger of both, unless no sequence does with
// that.
//
// Example: 16x16x16 elements of 4 bytes on the mesh x=4,y=2 go from
// [y, -, x] to [-, x y, -] in one all_to_all of all eight devices,
// which receives 1792 bytes; two, one per axis, would receive 2560.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_SHARDING_PLANRESHARD_H
#define TENON_SHARDING_PLANRESHARD_H

#include "tenon/Sharding/Layout.h"

namespace tenon::sharding {

enum class ReshardKind {
  slice,
  allGather,
  allToAll,
  permute,
  reduceScatter,
  allReduce,
};

/// A step from one layout to the next. Parts of axes are not joined, so that
/// what moves is a part of its own.
struct ReshardStep {
  ReshardKind kind;
  Layout from, to;
};

struct ReshardPlan {
  llvm::SmallVector<ReshardStep, 2> steps;
  int64_t received = 0; // bytes per device
  bool withinMemory = true;
};

/// How a tensor of this shape goes from `source` to `target`, which may have
/// only those reductions pending that the source has. An element takes
/// `elementBytes`.
ReshardPlan planReshard(const Mesh &mesh, llvm::ArrayRef<int64_t> shape,
                        int64_t elementBytes, const Layout &source,
                        const Layout &target);

/// What the devices receive in one step, in bytes per device.
int64_t receivedBy(const ReshardStep &step, llvm::ArrayRef<int64_t> shape,
                   int64_t elementBytes);

} // namespace tenon::sharding

#endif // TENON_SHARDING_PLANRESHARD_H
