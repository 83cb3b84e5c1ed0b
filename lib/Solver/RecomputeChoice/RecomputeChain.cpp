//===- RecomputeChain.cpp - exact plans for chains ------------------------===//
//
// Recognises chains and runs the recursion of the header with a table keyed by
// (value held below, last value above, free bytes).
//
//===----------------------------------------------------------------------===//

#include "RecomputeChain.h"

#include <algorithm>
#include <map>
#include <tuple>

using namespace tenon::solver;

namespace {
constexpr int64_t never = int64_t(1) << 61;

class ChainPlan {
public:
  ChainPlan(const RecomputeGraph &graph, int64_t states)
      : graph(graph), statesLeft(states) {}

  bool recognise();
  std::vector<int32_t> run(int64_t budget);

private:
  struct Choice {
    int64_t cost;
    int32_t held;
  };
  Choice solve(int32_t below, int32_t last, int64_t bytes, bool first);
  void emit(int32_t below, int32_t last, int64_t bytes, bool first);
  /// Bytes at the moment a backward stage runs, without the value it reads.
  int64_t atRead(int32_t value) const {
    int32_t stage = readBy[value];
    return graph.bytes[stage - 1] + graph.bytes[stage] + graph.workspace[stage];
  }

  const RecomputeGraph &graph;
  int64_t statesLeft;
  int32_t forward = 0;         // nodes 0 .. forward - 1, the last is the loss
  std::vector<int32_t> readBy; // forward value -> backward node
  std::map<std::tuple<int32_t, int32_t, int64_t, bool>, Choice> table;
  std::vector<int32_t> order;
};
} // namespace

bool ChainPlan::recognise() {
  if (graph.values != graph.nodes || graph.nodes < 4 || graph.nodes > 2'000)
    return false;
  for (char pinned : graph.pinned)
    if (pinned)
      return false;
  // Forward nodes read the node before and nothing else. The first backward
  // node reads the loss and the value below it.
  forward = 1;
  while (forward < graph.nodes && graph.inputs(forward).size() == 1 &&
         graph.inputs(forward)[0] == forward - 1)
    ++forward;
  readBy.assign(forward, -1);
  int32_t expected = forward - 2;
  for (int32_t node = forward; node < graph.nodes; ++node) {
    bool previous = false;
    int32_t read = -1;
    for (int32_t value : graph.inputs(node)) {
      if (value == node - 1)
        previous = true;
      else if (read < 0 && value == expected)
        read = value;
      else
        return false;
    }
    if (!previous)
      return false;
    if (read >= 0) {
      readBy[read] = node;
      --expected;
    }
  }
  return forward >= 3 && expected < 0;
}

/// Reads the values last, last - 1, ..., below + 1 on the way back, with
/// `below` held and `bytes` free. In the first pass the loss runs at the top.
ChainPlan::Choice ChainPlan::solve(int32_t below, int32_t last, int64_t bytes,
                                   bool first) {
  if (last <= below)
    return {0, -1};
  auto key = std::tuple(below, last, bytes, first);
  if (auto found = table.find(key); found != table.end())
    return found->second;
  Choice best{never, -1};
  if (statesLeft-- <= 0)
    return best;
  int64_t gradient = first ? 0 : graph.bytes[readBy[last] - 1];
  int64_t cost = 0;
  for (int32_t held = below + 1; held <= last; ++held) {
    cost += graph.cost[held];
    int64_t now = graph.bytes[held] + graph.workspace[held] +
                  (held - 1 > below ? graph.bytes[held - 1] : 0);
    if (now + gradient > bytes)
      break;
    int64_t rest = bytes - graph.bytes[held];
    if (atRead(held) > rest ||
        (first && held == last &&
         graph.bytes[forward - 1] + graph.workspace[forward - 1] > rest))
      continue;
    int64_t above = solve(held, last, rest, first).cost;
    if (cost + above >= best.cost)
      continue;
    int64_t under = solve(below, held - 1, bytes, false).cost;
    if (cost + above + under < best.cost)
      best = {cost + above + under, held};
  }
  return table[key] = best;
}

void ChainPlan::emit(int32_t below, int32_t last, int64_t bytes, bool first) {
  while (last > below) {
    int32_t held = solve(below, last, bytes, first).held;
    for (int32_t node = below + 1; node <= held; ++node)
      order.push_back(node);
    if (held < last)
      emit(held, last, bytes - graph.bytes[held], first);
    else if (first)
      order.push_back(forward - 1);
    // Backward nodes without a forward value follow the one before.
    int32_t stage = readBy[held];
    order.push_back(stage);
    while (++stage < graph.nodes && graph.inputs(stage).size() == 1)
      order.push_back(stage);
    last = held - 1;
    first = false;
  }
}

std::vector<int32_t> ChainPlan::run(int64_t budget) {
  if (solve(-1, forward - 2, budget, true).cost >= never || statesLeft <= 0)
    return {};
  emit(-1, forward - 2, budget, true);
  return order;
}

std::vector<int32_t> tenon::solver::planChain(const RecomputeGraph &graph,
                                              int64_t budget, int64_t states) {
  ChainPlan plan(graph, states);
  return plan.recognise() ? plan.run(budget) : std::vector<int32_t>();
}
