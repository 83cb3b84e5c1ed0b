//===- RecomputeBruteForce.h - the cheapest plan by exhaustion ------------===//
//
// For tests on at most about 14 nodes: Dijkstra over (nodes that have run for
// the first time, values in memory). Written for obviousness; shares no code
// with the solver.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TEST_UNIT_SOLVER_RECOMPUTEBRUTEFORCE_H
#define TENON_TEST_UNIT_SOLVER_RECOMPUTEBRUTEFORCE_H

#include "tenon/Solver/RecomputeChoice.h"

#include <queue>
#include <unordered_map>

namespace tenon::solver {

/// The smallest cost of a plan whose first runs follow the ids, or -1.
inline int64_t cheapestPlan(const RecomputeProblem &problem, int64_t budget) {
  auto nodes = static_cast<int32_t>(problem.nodes.size());
  std::vector<uint32_t> reads(nodes, 0), produces(nodes, 0);
  for (int32_t value = 0; value < problem.valueCount(); ++value)
    produces[problem.producer(value)] |= 1u << value;
  for (auto [value, consumer] : problem.edges)
    reads[consumer] |= 1u << value;
  // A view takes no bytes; its readers read its base, and that one's base.
  uint32_t views = 0;
  for (auto [value, base] : problem.aliases)
    views |= 1u << value;
  for (size_t round = 0; round < problem.aliases.size(); ++round)
    for (auto [value, base] : problem.aliases)
      for (uint32_t &set : reads)
        if (set >> value & 1)
          set |= 1u << base;
  auto bytesOf = [&](uint32_t set) {
    int64_t sum = 0;
    for (int32_t value = 0; value < problem.valueCount(); ++value)
      if ((set & ~views) >> value & 1)
        sum += problem.bytes(value);
    return sum;
  };
  // A value that no node reads is never worth holding.
  uint32_t useful = 0;
  for (uint32_t set : reads)
    useful |= set;

  using Key = uint64_t; // first runs done, then the set of values held
  std::unordered_map<Key, int64_t> settled;
  std::priority_queue<std::pair<int64_t, Key>,
                      std::vector<std::pair<int64_t, Key>>, std::greater<>>
      queue;
  auto push = [&](int64_t cost, int32_t done, uint32_t held) {
    Key key = uint64_t(done) << 32 | held;
    auto [place, fresh] = settled.try_emplace(key, cost);
    if (!fresh && place->second <= cost)
      return;
    place->second = cost;
    queue.push({cost, key});
  };
  push(0, 0, 0);
  while (!queue.empty()) {
    auto [cost, key] = queue.top();
    queue.pop();
    if (settled[key] < cost)
      continue;
    auto done = static_cast<int32_t>(key >> 32);
    auto held = static_cast<uint32_t>(key);
    if (done == nodes)
      return cost;
    for (int32_t value = 0; value < problem.valueCount(); ++value)
      if (held >> value & 1)
        push(cost, done, held & ~(1u << value));
    for (int32_t node = 0; node <= done; ++node) {
      if ((reads[node] & ~held) != 0 ||
          (node < done && problem.nodes[node].pinned))
        continue;
      uint32_t rest = held & ~produces[node];
      if (bytesOf(rest | produces[node]) + problem.nodes[node].workspace >
          budget)
        continue;
      push(cost + problem.nodes[node].cost, done + (node == done),
           rest | (produces[node] & useful));
    }
  }
  return -1;
}

} // namespace tenon::solver

#endif // TENON_TEST_UNIT_SOLVER_RECOMPUTEBRUTEFORCE_H
