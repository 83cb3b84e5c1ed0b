//===- PlaceBarriers.h - Where threads wait for each other ---------------===//
//
// Private to this folder. A barrier stands behind an operation if one that may
// come next must follow one that may still be running: one that ran since the
// last barrier, on whatever path led here, so also in the round of a loop
// before this one. Barriers are placed in the order of the list and never taken
// away again, until all paths agree.
//
//   0  a -> b      L:
//   1  unless p goto E      all threads read p
//   2  b -> c               must follow 0: barrier behind 1
//   3  c -> p               must follow 1 and 2: barrier behind 2
//   4  goto L               0 may run beside 3, but not 1: barrier behind 0
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_RUNTIME_PLACEBARRIERS_H
#define TENON_LIB_RUNTIME_PLACEBARRIERS_H

#include "Program.h"

#include <functional>

namespace tenon::runtime {

/// Sets `barrierAfter` of every operation; the last has a barrier. `targets`
/// are those of selects. `mustFollow(later, earlier)` says whether one
/// operation must not start before all threads are done with another.
void placeBarriers(std::vector<Operation> &operations,
                   std::span<const uint32_t> targets,
                   const std::function<bool(size_t, size_t)> &mustFollow);

} // namespace tenon::runtime

#endif // TENON_LIB_RUNTIME_PLACEBARRIERS_H
