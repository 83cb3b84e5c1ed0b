//===- RecomputeExact.cpp - the cheapest plan of a small problem ----------===//
//
// States are ordered by cost so far plus the cost of all first runs to come,
// which never overestimates. Before a node runs, any set of values that it does
// not read may be dropped; only sets that make just enough room are tried,
// because dropping later is never worse.
//
//===----------------------------------------------------------------------===//

#include "RecomputeExact.h"

#include <algorithm>
#include <queue>
#include <unordered_map>

using namespace tenon::solver;

using Variant = RecomputeProblem::Variant;

static constexpr size_t mostValues = 24;

bool tenon::solver::canSearchExactly(const RecomputeGraph &graph,
                                     std::span<const Variant> variants) {
  for (const Variant &variant : variants)
    if (variant.transfer > 0)
      return false;
  return graph.values + variants.size() <= mostValues;
}

namespace {
class ExactSearch {
public:
  ExactSearch(const RecomputeGraph &graph, std::span<const Variant> variants,
              int64_t budget, int64_t below)
      : graph(graph), budget(budget), below(below), bytes(graph.bytes),
        cost(graph.cost), reads(graph.nodes, 0), writes(graph.nodes, 0),
        toCome(graph.nodes + 1, 0) {
    for (int32_t node = 0; node < graph.nodes; ++node) {
      for (int32_t value : graph.inputs(node))
        reads[node] |= 1u << value;
      for (int32_t value : graph.outputs(node)) {
        writes[node] |= 1u << value;
        if (!graph.users(value).empty())
          useful |= 1u << value;
      }
    }
    // Saves and loads follow the nodes, copies the values.
    for (const Variant &variant : variants) {
      uint32_t value = 1u << variant.value, copy = 1u << bytes.size();
      bytes.push_back(variant.bytes);
      useful |= value | copy;
      cost.insert(cost.end(), {variant.saveCost, variant.loadCost});
      reads.insert(reads.end(), {value, copy});
      writes.insert(writes.end(), {copy, value});
    }
    for (int32_t node = graph.nodes; node-- > 0;)
      toCome[node] = toCome[node + 1] + graph.cost[node];
  }

  std::vector<int32_t> run(int64_t &states);

private:
  using Key = uint64_t; // first runs done, then the set of values
  struct Visit {
    int64_t cost;
    Key parent;
    int32_t node;
  };
  int64_t bytesOf(uint32_t set) const {
    int64_t sum = 0;
    for (; set != 0; set &= set - 1)
      sum += bytes[__builtin_ctz(set)];
    return sum;
  }
  void push(int64_t cost, int32_t done, uint32_t held, Key parent,
            int32_t node);
  void dropAndRun(int64_t sum, int32_t done, uint32_t held, uint32_t droppable,
                  int64_t excess, Key parent, int32_t node);

  const RecomputeGraph &graph;
  int64_t budget, below;
  std::vector<int64_t> bytes, cost;    // per value and copy, per operation
  std::vector<uint32_t> reads, writes; // per operation
  std::vector<int64_t> toCome;
  uint32_t useful = 0;
  std::unordered_map<Key, Visit> visits;
  std::priority_queue<std::pair<int64_t, Key>,
                      std::vector<std::pair<int64_t, Key>>, std::greater<>>
      queue;
};
} // namespace

void ExactSearch::push(int64_t cost, int32_t done, uint32_t held, Key parent,
                       int32_t node) {
  if (cost + toCome[done] >= below)
    return;
  Key key = uint64_t(done) << 32 | held;
  auto [place, fresh] = visits.try_emplace(key, Visit{cost, parent, node});
  if (!fresh) {
    if (place->second.cost <= cost)
      return;
    place->second = {cost, parent, node};
  }
  queue.push({cost + toCome[done], key});
}

/// Tries every smallest set of droppable values of at least `excess` bytes.
void ExactSearch::dropAndRun(int64_t sum, int32_t done, uint32_t held,
                             uint32_t droppable, int64_t excess, Key parent,
                             int32_t node) {
  if (excess <= 0) {
    push(sum + cost[node], done + (node == done),
         (held & ~writes[node]) | (writes[node] & useful), parent, node);
    return;
  }
  while (droppable != 0) {
    uint32_t bit = droppable & -droppable;
    droppable &= ~bit; // later choices leave this one in
    dropAndRun(sum, done, held & ~bit, droppable, excess - bytesOf(bit), parent,
               node);
  }
}

std::vector<int32_t> ExactSearch::run(int64_t &states) {
  constexpr Key root = 0;
  push(0, 0, 0, root, -1);
  while (!queue.empty() && states > 0) {
    auto [rank, key] = queue.top();
    queue.pop();
    auto done = static_cast<int32_t>(key >> 32);
    auto held = static_cast<uint32_t>(key);
    int64_t sum = visits[key].cost;
    if (rank > sum + toCome[done])
      continue;
    --states;
    if (done == graph.nodes) {
      std::vector<int32_t> order;
      for (Key at = key; visits[at].node >= 0; at = visits[at].parent)
        order.push_back(visits[at].node);
      std::reverse(order.begin(), order.end());
      return order;
    }
    for (int32_t node = 0; node < static_cast<int32_t>(cost.size()); ++node) {
      if (node > done && node < graph.nodes)
        continue;
      if ((reads[node] & ~held) != 0 || (node < done && graph.pinned[node]) ||
          (node != done && (writes[node] & useful & ~held) == 0))
        continue;
      uint32_t rest = held & ~writes[node];
      int64_t excess = bytesOf(rest | writes[node]) +
                       (node < graph.nodes ? graph.workspace[node] : 0) -
                       budget;
      dropAndRun(sum, done, held, rest & ~reads[node], excess, key, node);
    }
  }
  return {};
}

std::vector<int32_t>
tenon::solver::searchExactly(const RecomputeGraph &graph,
                             std::span<const Variant> variants, int64_t budget,
                             int64_t below, int64_t &states) {
  return ExactSearch(graph, variants, budget, below).run(states);
}
