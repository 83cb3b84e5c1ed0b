//===- RecomputeGraph.cpp - a recomputation problem in flat arrays --------===//
//
// Builds the adjacency ranges and replays plans.
//
//===----------------------------------------------------------------------===//

#include "RecomputeGraph.h"

#include <algorithm>
#include <numeric>

using namespace tenon::solver;

/// The edges with those to the bases of views.
static std::vector<RecomputeProblem::Edge>
withBases(const RecomputeProblem &problem) {
  using Edge = RecomputeProblem::Edge;
  std::vector<Edge> edges = problem.edges;
  if (problem.aliases.empty())
    return edges;
  std::vector<int32_t> base(problem.valueCount(), -1);
  for (auto [value, under] : problem.aliases)
    base[value] = under;
  for (size_t i = 0; i < edges.size(); ++i) {
    auto [value, consumer] = edges[i]; // the list grows: follows chains
    if (base[value] >= 0)
      edges.push_back({base[value], consumer});
  }
  std::sort(edges.begin(), edges.end(), [](const Edge &a, const Edge &b) {
    return std::pair(a.value, a.consumer) < std::pair(b.value, b.consumer);
  });
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  return edges;
}

RecomputeGraph::RecomputeGraph(const RecomputeProblem &problem)
    : nodes(static_cast<int32_t>(problem.nodes.size())),
      values(problem.valueCount()), inputBegin(nodes + 1),
      outputBegin(nodes + 1), userBegin(values + 1) {
  for (const RecomputeProblem::Node &node : problem.nodes) {
    cost.push_back(node.cost);
    workspace.push_back(node.workspace);
    again.push_back(node.again);
    pinned.push_back(problem.runsOnce(int32_t(cost.size()) - 1));
    baseCost += node.cost;
  }
  for (int32_t value = 0; value < values; ++value) {
    bytes.push_back(problem.bytes(value));
    producer.push_back(problem.producer(value));
    ++outputBegin[producer[value] + 1];
  }
  for (auto [value, base] : problem.aliases)
    bytes[value] = 0;
  addLoops(problem);
  addForms(problem);
  addConditions(problem);
  const std::vector<RecomputeProblem::Edge> edges = withBases(problem);
  for (auto [value, consumer] : edges) {
    ++inputBegin[consumer + 1];
    ++userBegin[value + 1];
  }
  std::partial_sum(inputBegin.begin(), inputBegin.end(), inputBegin.begin());
  std::partial_sum(outputBegin.begin(), outputBegin.end(), outputBegin.begin());
  std::partial_sum(userBegin.begin(), userBegin.end(), userBegin.begin());
  inputList.resize(edges.size());
  userList.resize(edges.size());
  outputList.resize(values);
  std::vector<int32_t> atInput = inputBegin, atUser = userBegin,
                       atOutput = outputBegin;
  for (int32_t value = 0; value < values; ++value)
    outputList[atOutput[producer[value]]++] = value;
  for (auto [value, consumer] : edges) {
    inputList[atInput[consumer]++] = value;
    userList[atUser[value]++] = consumer;
  }
  for (int32_t value = 0; value < values; ++value)
    std::sort(userList.begin() + userBegin[value],
              userList.begin() + userBegin[value + 1]);
}

/// Puts items into one list, by key, with the begin of each key's range.
template <typename Item>
static void groupByKey(const std::vector<std::pair<int32_t, Item>> &pairs,
                       int32_t keys, std::vector<int32_t> &begin,
                       std::vector<Item> &list) {
  begin.assign(keys + 1, 0);
  for (const auto &[key, item] : pairs)
    ++begin[key + 1];
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  std::vector<int32_t> at = begin;
  list.resize(pairs.size());
  for (const auto &[key, item] : pairs)
    list[at[key]++] = item;
}

void RecomputeGraph::addConditions(const RecomputeProblem &problem) {
  std::vector<std::pair<int32_t, int32_t>> byNode, byValue;
  for (auto [value, consumer] : problem.lateReads) {
    byNode.push_back({consumer, value});
    byValue.push_back({value, consumer});
  }
  std::vector<std::pair<int32_t, Overwrite>> written;
  for (auto [value, node, size] : problem.overwrites)
    written.push_back({node, {value, size}});
  groupByKey(byNode, nodes, lateInputBegin, lateInputList);
  groupByKey(byValue, values, lateUserBegin, lateUserList);
  groupByKey(written, nodes, overwriteBegin, overwriteList);
}

void RecomputeGraph::addLoops(const RecomputeProblem &problem) {
  using Row = RecomputeProblem::Loop::Row;
  mostCost = cost;
  for (const RecomputeProblem::Loop &loop : problem.loops) {
    const auto [cheapest, dearest] =
        std::ranges::minmax(loop.rows, {}, &Row::cost);
    baseCost += cheapest.cost;
    cost[loop.node] += cheapest.cost;
    mostCost[loop.node] += dearest.cost;
    workspace[loop.node] += std::ranges::min(loop.rows, {}, &Row::bytes).bytes;
  }
}

void RecomputeGraph::addForms(const RecomputeProblem &problem) {
  forms.resize(values);
  for (const RecomputeProblem::Variant &variant : problem.variants) {
    std::vector<Form> &list = forms[variant.value];
    if (list.empty())
      list.push_back({bytes[variant.value], 0});
    list.push_back(
        {variant.bytes, variant.saveCost, variant.loadCost, variant.transfer});
  }
}

int64_t RecomputeGraph::workingSet(int32_t node) const {
  int64_t sum = workspace[node];
  for (int32_t value : inputs(node))
    sum += bytes[value];
  for (int32_t value : outputs(node))
    sum += bytes[value];
  return sum;
}

std::vector<int32_t> tenon::solver::orderOf(int32_t nodes,
                                            const Reruns &reruns) {
  std::vector<int32_t> order;
  order.reserve(nodes + reruns.size());
  size_t next = 0;
  for (int32_t stage = 0; stage < nodes; ++stage) {
    for (; next < reruns.size() && reruns[next].stage == stage; ++next)
      order.push_back(reruns[next].node);
    order.push_back(stage);
  }
  return order;
}

std::vector<char> tenon::solver::firstRuns(int32_t nodes,
                                           std::span<const int32_t> order) {
  std::vector<char> first(order.size(), 0);
  int32_t fresh = 0;
  for (size_t position = 0; position < order.size(); ++position) {
    first[position] = fresh < nodes && order[position] == fresh;
    fresh += first[position];
  }
  return first;
}

RecomputeMeasure tenon::solver::measure(const RecomputeGraph &graph,
                                        std::span<const int32_t> order) {
  // Backwards: a value enters at its last use and leaves at its computation.
  std::vector<char> live(graph.values, 0);
  const std::vector<char> first = firstRuns(graph.nodes, order);
  RecomputeMeasure result;
  int64_t held = 0;
  int32_t begun = graph.nodes; // nodes whose first run is before this one
  for (size_t position = order.size(); position-- > 0;) {
    int32_t node = order[position];
    begun -= first[position];
    result.cost += graph.cost[node];
    int64_t during = graph.workspace[node];
    if (!first[position])
      during += graph.again[node];
    for (auto [value, bytes] : graph.overwrites(node))
      during += live[value] ? bytes : 0;
    int64_t leaving = 0, unused = 0;
    for (int32_t value : graph.outputs(node)) {
      (live[value] ? leaving : unused) += graph.bytes[value];
      live[value] = 0;
    }
    for (int32_t value : graph.inputs(node))
      if (!live[value]) {
        live[value] = 1;
        held += graph.bytes[value];
      }
    for (int32_t value : graph.lateInputs(node))
      if (!live[value] && graph.producer[value] < begun) {
        live[value] = 1;
        held += graph.bytes[value];
      }
    result.peak = std::max(result.peak, held + unused + during);
    held -= leaving;
  }
  return result;
}
