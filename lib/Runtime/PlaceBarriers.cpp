//===- PlaceBarriers.cpp - Where threads wait for each other -------------===//
//
// See PlaceBarriers.h.
//
//===----------------------------------------------------------------------===//

#include "PlaceBarriers.h"

#include <algorithm>

using namespace tenon;
using namespace tenon::runtime;

/// What may come behind an operation; one past the last is the end.
static std::vector<size_t> successors(const std::vector<Operation> &operations,
                                      std::span<const uint32_t> targets,
                                      size_t number) {
  const Operation &operation = operations[number];
  switch (operation.kind) {
  case Operation::jump:
    return {operation.target};
  case Operation::branchUnless:
    return {number + 1, operation.target};
  case Operation::select: {
    auto first = targets.begin() + operation.target;
    return {first, first + operation.parts};
  }
  default:
    return {number + 1};
  }
}

void tenon::runtime::placeBarriers(
    std::vector<Operation> &operations, std::span<const uint32_t> targets,
    const std::function<bool(size_t, size_t)> &mustFollow) {
  size_t count = operations.size();
  std::vector<std::vector<size_t>> next(count);
  for (size_t i = 0; i < count; ++i) {
    next[i] = successors(operations, targets, i);
    operations[i].barrierAfter = i + 1 == count;
  }
  // What may still run when an operation begins, in order.
  std::vector<std::vector<size_t>> running(count);
  bool changed = true;
  while (changed) {
    changed = false;
    for (size_t i = 0; i < count; ++i) {
      std::vector<size_t> after = running[i];
      after.insert(std::ranges::lower_bound(after, i), i);
      after.erase(std::unique(after.begin(), after.end()), after.end());
      bool &barrier = operations[i].barrierAfter;
      for (size_t later : next[i])
        barrier |= later < count &&
                   std::ranges::any_of(
                       after, [&](size_t j) { return mustFollow(later, j); });
      if (barrier)
        continue;
      for (size_t later : next[i]) {
        if (later == count)
          continue;
        std::vector<size_t> merged;
        std::ranges::set_union(running[later], after,
                               std::back_inserter(merged));
        // What runs ahead in the list is looked at in this pass.
        changed |= later <= i && merged != running[later];
        running[later] = std::move(merged);
      }
    }
  }
}
