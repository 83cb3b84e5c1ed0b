//===- OrderingBruteForce.h - the smallest peak by exhaustion -------------===//
//
// For tests on at most about 14 operations: the smallest peak over all orders,
// by looking at every set of operations that can have run. Written for
// obviousness; shares no code with the solver.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TEST_UNIT_SOLVER_ORDERINGBRUTEFORCE_H
#define TENON_TEST_UNIT_SOLVER_ORDERINGBRUTEFORCE_H

#include "tenon/Solver/OperationOrdering.h"

#include <algorithm>

namespace tenon::solver {

inline int64_t smallestPeak(const OrderingProblem &problem) {
  auto count = static_cast<int32_t>(problem.operations.size());
  const int32_t values = problem.valueCount();
  std::vector<uint32_t> needs(count, 0), readers(values, 0);
  for (auto [value, user] : problem.uses) {
    needs[user] |= 1u << problem.producer(value);
    readers[value] |= 1u << user;
  }
  for (auto [before, after] : problem.controls)
    needs[after] |= 1u << before;
  int32_t effect = -1;
  for (int32_t i = 0; i < count; ++i)
    if (problem.operations[i].effect) {
      if (effect >= 0)
        needs[i] |= 1u << effect;
      effect = i;
    }
  std::vector<char> kept(values, 0);
  for (int32_t value : problem.kept)
    kept[value] = 1;

  std::vector<int64_t> best(size_t(1) << count, INT64_MAX);
  best[0] = 0;
  for (uint32_t ran = 0; ran + 1 < (1u << count); ++ran) {
    if (best[ran] == INT64_MAX)
      continue;
    for (int32_t i = 0; i < count; ++i) {
      uint32_t bit = 1u << i;
      if ((ran & bit) != 0 || (needs[i] & ~ran) != 0)
        continue;
      int64_t live = problem.operations[i].workspace;
      for (int32_t value = 0; value < values; ++value) {
        uint32_t producer = 1u << problem.producer(value);
        if (producer == bit ||
            ((ran & producer) != 0 && (kept[value] || readers[value] & ~ran)))
          live += problem.bytes(value);
      }
      for (auto [operation, operand, result] : problem.inPlace)
        if (operation == i && !kept[operand] &&
            (readers[operand] & ~ran) == bit)
          live -= std::min(problem.bytes(operand), problem.bytes(result));
      best[ran | bit] = std::min(best[ran | bit], std::max(best[ran], live));
    }
  }
  return best.back();
}

} // namespace tenon::solver

#endif // TENON_TEST_UNIT_SOLVER_ORDERINGBRUTEFORCE_H
