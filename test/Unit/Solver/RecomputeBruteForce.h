//===- RecomputeBruteForce.h - the cheapest plan by exhaustion ------------===//
//
// For tests on at most about 14 nodes: Dijkstra over (nodes that have run for
// the first time, values and copies in memory, transfers under way). Written
// for obviousness; shares no code with the solver.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TEST_UNIT_SOLVER_RECOMPUTEBRUTEFORCE_H
#define TENON_TEST_UNIT_SOLVER_RECOMPUTEBRUTEFORCE_H

#include "tenon/Solver/RecomputeChoice.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <queue>
#include <unordered_map>

namespace tenon::solver {

namespace brute {
/// Per variant the time until its save and its load have moved; at most four
/// variants, transfers of which all together take less than 256.
using Moving = std::array<uint8_t, 8>;

struct State {
  uint32_t done = 0; // first runs
  uint32_t held = 0; // values, then copies
  Moving moving{};
  bool operator==(const State &) const = default;
};
struct StateHash {
  size_t operator()(const State &state) const {
    uint64_t moving;
    std::memcpy(&moving, state.moving.data(), sizeof moving);
    uint64_t key = uint64_t(state.done) << 32 | state.held;
    return (key ^ moving * 0x9E3779B97F4A7C15) * 0xBF58476D1CE4E5B9 >> 16;
  }
};

/// The cheapest plan of a problem whose loops have one row each.
inline int64_t cheapestOfRows(const RecomputeProblem &problem, int64_t budget) {
  auto nodes = static_cast<int32_t>(problem.nodes.size());
  const int32_t values = problem.valueCount();
  const int32_t operations = problem.operationCount();
  const size_t variants = problem.variants.size();
  std::vector<uint32_t> reads(operations, 0), produces(operations, 0);
  std::vector<int64_t> cost(operations), workspace(operations, 0), bytes;
  for (int32_t value = 0; value < values; ++value) {
    produces[problem.producer(value)] |= 1u << value;
    bytes.push_back(problem.bytes(value));
  }
  for (auto [value, consumer] : problem.edges)
    reads[consumer] |= 1u << value;
  // A view takes no bytes; its readers read its base, and that one's base.
  for (auto [value, base] : problem.aliases)
    bytes[value] = 0;
  for (size_t round = 0; round < problem.aliases.size(); ++round)
    for (auto [value, base] : problem.aliases)
      for (uint32_t &set : reads)
        if (set >> value & 1)
          set |= 1u << base;
  for (int32_t node = 0; node < nodes; ++node) {
    cost[node] = problem.nodes[node].cost;
    workspace[node] = problem.nodes[node].workspace;
  }
  for (const RecomputeProblem::Loop &loop : problem.loops) {
    cost[loop.node] += loop.rows[0].cost;
    workspace[loop.node] += loop.rows[0].bytes;
  }
  for (size_t i = 0; i < variants; ++i) {
    const RecomputeProblem::Variant &variant = problem.variants[i];
    int32_t save = problem.saveOf(i), load = problem.loadOf(i);
    bytes.push_back(variant.bytes);
    cost[save] = variant.saveCost;
    cost[load] = variant.loadCost;
    reads[save] = produces[load] = 1u << variant.value;
    reads[load] = produces[save] = 1u << (values + i);
  }
  auto bytesOf = [&](uint32_t set) {
    int64_t sum = 0;
    for (size_t value = 0; value < bytes.size(); ++value)
      if (set >> value & 1)
        sum += bytes[value];
    return sum;
  };
  // A value that nothing reads is never worth holding.
  uint32_t useful = 0;
  for (uint32_t set : reads)
    useful |= set;
  for (auto [value, consumer] : problem.lateReads)
    useful |= 1u << value;

  std::unordered_map<State, int64_t, StateHash> settled;
  using Entry = std::pair<int64_t, State>;
  auto later = [](const Entry &a, const Entry &b) { return a.first > b.first; };
  std::priority_queue<Entry, std::vector<Entry>, decltype(later)> queue(later);
  auto push = [&](int64_t sum, const State &state) {
    auto [place, fresh] = settled.try_emplace(state, sum);
    if (!fresh && place->second <= sum)
      return;
    place->second = sum;
    queue.push({sum, state});
  };
  push(0, {});
  while (!queue.empty()) {
    auto [sum, state] = queue.top();
    queue.pop();
    if (settled[state] < sum)
      continue;
    if (int32_t(state.done) == nodes)
      return sum;
    // What a transfer uses stays, and is not computed anew; what a load makes
    // is not read before it has arrived.
    uint32_t busy = 0, arriving = 0;
    for (size_t i = 0; i < variants; ++i) {
      uint32_t value = 1u << problem.variants[i].value;
      if (state.moving[2 * i] || state.moving[2 * i + 1])
        busy |= value | 1u << (values + i);
      if (state.moving[2 * i + 1])
        arriving |= value;
    }
    for (size_t value = 0; value < bytes.size(); ++value)
      if ((state.held & ~busy) >> value & 1) {
        State next = state;
        next.held &= ~(1u << value);
        push(sum, next);
      }
    for (int32_t operation = 0; operation < operations; ++operation) {
      bool first = operation == int32_t(state.done);
      uint32_t needed = reads[operation];
      for (auto [value, consumer] : problem.lateReads)
        if (consumer == operation &&
            problem.producer(value) < int32_t(state.done))
          needed |= 1u << value;
      if ((operation < nodes && operation > int32_t(state.done)) ||
          (needed & ~(state.held & ~arriving)) != 0 ||
          (produces[operation] & busy) != 0 ||
          (operation < int32_t(state.done) && problem.runsOnce(operation)))
        continue;
      uint32_t rest = state.held & ~produces[operation];
      // What the node reads of its own stays beside what it makes anew.
      int64_t during = bytesOf(rest | produces[operation]) +
                       bytesOf(needed & produces[operation]) +
                       workspace[operation];
      if (operation < nodes && !first)
        during += problem.nodes[operation].again;
      if (during > budget)
        continue;
      State next = state;
      next.done += first;
      next.held = rest | (produces[operation] & useful);
      for (uint8_t &time : next.moving)
        time -= std::min<int64_t>(time, cost[operation]);
      if (operation >= nodes) {
        size_t i = (operation - nodes) / 2;
        bool load = operation == problem.loadOf(i);
        if (int64_t transfer = problem.variants[i].transfer; transfer > 0) {
          uint8_t start = load ? next.moving[2 * i] : 0;
          for (size_t other = 0; other < variants; ++other)
            start = std::max(start, next.moving[2 * other + load]);
          next.moving[2 * i + load] = start + transfer;
        }
      }
      // Every choice of what it writes over; what stays needs further bytes,
      // and what a transfer uses meanwhile stays.
      uint32_t over = 0;
      for (auto [value, node, size] : problem.overwrites)
        over |= node == operation ? 1u << value & ~busy : 0;
      const uint32_t held = next.held;
      for (uint32_t dies = over;; dies = (dies - 1) & over) {
        int64_t bytes = during;
        for (auto [value, node, size] : problem.overwrites)
          bytes += node == operation && !(dies >> value & 1) ? size : 0;
        next.held = held & ~dies;
        if (bytes <= budget)
          push(sum + cost[operation], next);
        if (dies == 0)
          break;
      }
    }
  }
  return -1;
}
} // namespace brute

/// The smallest cost of a plan whose first runs follow the ids, or -1.
inline int64_t cheapestPlan(const RecomputeProblem &problem, int64_t budget) {
  for (size_t i = 0; i < problem.loops.size(); ++i) {
    if (problem.loops[i].rows.size() == 1)
      continue;
    int64_t best = -1;
    for (const RecomputeProblem::Loop::Row &row : problem.loops[i].rows) {
      RecomputeProblem one = problem;
      one.loops[i].rows = {row};
      int64_t found = cheapestPlan(one, budget);
      if (found >= 0 && (best < 0 || found < best))
        best = found;
    }
    return best;
  }
  return brute::cheapestOfRows(problem, budget);
}

} // namespace tenon::solver

#endif // TENON_TEST_UNIT_SOLVER_RECOMPUTEBRUTEFORCE_H
