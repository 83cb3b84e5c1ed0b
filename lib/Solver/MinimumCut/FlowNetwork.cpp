//===- FlowNetwork.cpp - maximum flows by blocking flows ------------------===//
//
// Distances to the sink, then a flow along shortest paths that no shortest path
// extends, until the sink is out of reach.
//
//===----------------------------------------------------------------------===//

#include "FlowNetwork.h"

#include <algorithm>
#include <cassert>
#include <numeric>

using namespace tenon::solver;

void FlowNetwork::reset(int32_t count) {
  vertices = count;
  ends.clear();
}

int32_t FlowNetwork::addArc(int32_t from, int32_t to) {
  ends.push_back({from, to});
  return static_cast<int32_t>(ends.size()) - 1;
}

void FlowNetwork::build() {
  begin.assign(vertices + 1, 0);
  std::vector<int32_t> leaving(vertices, 0);
  for (auto [from, to] : ends) {
    ++begin[from + 1];
    ++begin[to + 1];
    ++leaving[from];
  }
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  std::vector<int32_t> at(begin.begin(), begin.end() - 1);
  entering.resize(vertices);
  for (int32_t vertex = 0; vertex < vertices; ++vertex)
    entering[vertex] = begin[vertex] + leaving[vertex];
  std::vector<int32_t> atEntering = entering;
  arcs.resize(2 * ends.size());
  place.clear();
  place.reserve(ends.size());
  excess.assign(vertices, 0);
  isBroken = false;
  sorted.clear();
  for (auto [from, to] : ends) {
    int32_t forward = at[from]++, backward = atEntering[to]++;
    arcs[forward] = {to, backward, 0, 0};
    arcs[backward] = {from, forward, 0, 0};
    place.push_back(forward);
  }
  std::vector<Ends>().swap(ends); // assigning {} would keep the memory
  level.resize(vertices);
  cursor.resize(vertices);
  queue.resize(vertices);
}

void FlowNetwork::sortVertices() {
  std::vector<int32_t> open(vertices, 0);
  for (int32_t vertex = 0; vertex < vertices; ++vertex) {
    open[vertex] = begin[vertex + 1] - entering[vertex];
    if (open[vertex] == 0)
      sorted.push_back(vertex);
  }
  for (size_t i = 0; i < sorted.size(); ++i)
    for (int32_t arc = begin[sorted[i]]; arc < entering[sorted[i]]; ++arc)
      if (--open[arcs[arc].to] == 0)
        sorted.push_back(arcs[arc].to);
  assert(static_cast<int32_t>(sorted.size()) == vertices &&
         "a flow around a cycle cannot be repaired");
}

/// Takes back part of what flows along an arc.
void FlowNetwork::takeBack(int32_t arc, int64_t amount) {
  Arc &forward = arcs[arc];
  Arc &backward = arcs[forward.reverse];
  forward.left += amount;
  forward.back -= amount;
  backward.left -= amount;
  backward.back += amount;
  excess[backward.to] += amount;
  excess[forward.to] -= amount;
}

/// Conserves the flow again. From the source on, what leaves a vertex but no
/// longer enters it is taken back; then, from the sink on, what enters a vertex
/// and no longer leaves it.
void FlowNetwork::repair() {
  if (sorted.empty())
    sortVertices();
  excess[source] = excess[sink] = 0;
  auto part = [](__int128 wanted, int64_t flow) {
    return int64_t(std::min<__int128>(wanted, flow));
  };
  for (int32_t vertex : sorted)
    for (int32_t i = begin[vertex]; excess[vertex] < 0 && vertex > sink; ++i)
      takeBack(i, part(-excess[vertex], arcs[i].back));
  for (size_t i = sorted.size(); i-- > 0;)
    for (int32_t vertex = sorted[i], arc = entering[vertex];
         excess[vertex] > 0 && vertex > sink; ++arc)
      takeBack(arcs[arc].reverse, part(excess[vertex], arcs[arc].left));
  isBroken = false;
}

/// Distances to the sink in the residual network.
bool FlowNetwork::measureLevels() {
  std::fill(level.begin(), level.end(), -1);
  level[sink] = 0;
  int32_t head = 0, tail = 0;
  queue[tail++] = sink;
  while (head < tail) {
    int32_t vertex = queue[head++];
    for (int32_t i = begin[vertex]; i < begin[vertex + 1]; ++i) {
      if (level[arcs[i].to] < 0 && arcs[i].back > 0) {
        level[arcs[i].to] = level[vertex] + 1;
        // No shortest path leads through what is farther than the source.
        if (arcs[i].to == source)
          return true;
        queue[tail++] = arcs[i].to;
      }
    }
  }
  return false;
}

/// A blocking flow along arcs that lead one step closer to the sink.
void FlowNetwork::block() {
  std::copy(begin.begin(), begin.end() - 1, cursor.begin());
  path.clear();
  int32_t vertex = source;
  while (true) {
    if (vertex == sink) {
      int64_t amount = unlimited;
      for (int32_t arc : path)
        amount = std::min(amount, arcs[arc].left);
      size_t keep = path.size();
      for (size_t i = path.size(); i-- > 0;) {
        Arc &arc = arcs[path[i]];
        arc.left -= amount;
        arc.back += amount;
        Arc &opposite = arcs[arc.reverse];
        opposite.left += amount;
        opposite.back -= amount;
        if (arc.left == 0)
          keep = i;
      }
      vertex = arcs[arcs[path[keep]].reverse].to;
      path.resize(keep);
    }
    int32_t &arc = cursor[vertex];
    while (arc < begin[vertex + 1] &&
           (arcs[arc].left == 0 || level[arcs[arc].to] != level[vertex] - 1))
      ++arc;
    if (arc < begin[vertex + 1]) {
      path.push_back(arc);
      vertex = arcs[arc].to;
    } else {
      level[vertex] = -1;
      if (path.empty())
        return;
      vertex = arcs[arcs[path.back()].reverse].to;
      path.pop_back();
      ++cursor[vertex];
    }
  }
}

int64_t FlowNetwork::maximize() {
  if (isBroken)
    repair();
  while (measureLevels())
    block();
  int64_t total = 0;
  for (int32_t i = begin[source]; i < entering[source]; ++i)
    total += arcs[i].back;
  return total;
}
