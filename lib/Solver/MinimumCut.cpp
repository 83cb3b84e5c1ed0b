//===- MinimumCut.cpp - Dinic's maximum flow -----------------------------===//
//
// See MinimumCut.h. Paths are walked with an explicit stack, since networks of
// programs are deep.
//
//===----------------------------------------------------------------------===//

#include "tenon/Solver/MinimumCut.h"

#include <algorithm>
#include <cassert>

using namespace tenon::solver;

CutGraph::CutGraph() : edges(2) {}

CutGraph::Node CutGraph::addNode() {
  edges.emplace_back();
  return static_cast<Node>(edges.size() - 1);
}

void CutGraph::addEdge(Node from, Node to, int64_t capacity) {
  assert(capacity >= 0 && capacity <= unlimited && from != to);
  edges[from].push_back(
      {to, capacity, static_cast<uint32_t>(edges[to].size())});
  edges[to].push_back({from, 0, static_cast<uint32_t>(edges[from].size() - 1)});
}

/// Distances from the source along edges with room; whether the sink has one.
bool CutGraph::findLevels() {
  levels.assign(edges.size(), -1);
  levels[source()] = 0;
  std::vector<Node> queue = {source()};
  for (size_t head = 0; head < queue.size(); ++head)
    for (const Edge &edge : edges[queue[head]])
      if (edge.residual > 0 && levels[edge.to] < 0) {
        levels[edge.to] = levels[queue[head]] + 1;
        queue.push_back(edge.to);
      }
  return levels[sink()] >= 0;
}

/// Sends flow along edges that lead one level on until no path is left.
int64_t CutGraph::blockingFlow() {
  next.assign(edges.size(), 0);
  int64_t total = 0;
  std::vector<Node> path = {source()};
  auto edgeAt = [&](size_t depth) -> Edge & {
    return edges[path[depth]][next[path[depth]]];
  };
  while (!path.empty()) {
    Node node = path.back();
    if (node == sink()) {
      int64_t amount = INT64_MAX;
      for (size_t depth = 0; depth + 1 < path.size(); ++depth)
        amount = std::min(amount, edgeAt(depth).residual);
      size_t firstFull = path.size() - 1;
      for (size_t depth = path.size() - 1; depth-- > 0;) {
        Edge &edge = edgeAt(depth);
        edge.residual -= amount;
        edges[edge.to][edge.reverse].residual += amount;
        if (edge.residual == 0)
          firstFull = depth;
      }
      total += amount;
      path.resize(firstFull + 1);
      continue;
    }
    bool moved = false;
    for (uint32_t &edge = next[node]; edge < edges[node].size(); ++edge) {
      const Edge &candidate = edges[node][edge];
      if (candidate.residual > 0 && levels[candidate.to] == levels[node] + 1) {
        path.push_back(candidate.to);
        moved = true;
        break;
      }
    }
    if (moved)
      continue;
    path.pop_back();
    if (!path.empty())
      ++next[path.back()]; // leads nowhere
  }
  return total;
}

CutGraph::Cut CutGraph::minimumCut() {
  Cut cut;
  while (cut.cost < unlimited && findLevels())
    cut.cost += blockingFlow();
  // What still reaches the sink is on its side.
  cut.sinkSide.assign(edges.size(), false);
  cut.sinkSide[sink()] = true;
  std::vector<Node> queue = {sink()};
  for (size_t head = 0; head < queue.size(); ++head)
    for (const Edge &edge : edges[queue[head]])
      if (edges[edge.to][edge.reverse].residual > 0 && !cut.sinkSide[edge.to]) {
        cut.sinkSide[edge.to] = true;
        queue.push_back(edge.to);
      }
  return cut;
}
