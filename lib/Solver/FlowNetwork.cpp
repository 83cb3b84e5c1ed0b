//===- FlowNetwork.cpp - maximum flows by blocking flows ------------------===//
//
// Distances to the sink, then a flow along shortest paths that no shortest path
// extends, until the sink is out of reach.
//
//===----------------------------------------------------------------------===//

#include "FlowNetwork.h"

#include <algorithm>
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
  for (auto [from, to] : ends) {
    ++begin[from + 1];
    ++begin[to + 1];
  }
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  std::vector<int32_t> at(begin.begin(), begin.end() - 1);
  arcs.resize(2 * ends.size());
  place.clear();
  place.reserve(ends.size());
  for (auto [from, to] : ends) {
    int32_t forward = at[from]++, backward = at[to]++;
    arcs[forward] = {to, backward, 0, 0};
    arcs[backward] = {from, forward, 0, 0};
    place.push_back(forward);
  }
  std::vector<Ends>().swap(ends); // assigning {} would keep the memory
  level.resize(vertices);
  cursor.resize(vertices);
  queue.resize(vertices);
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
int64_t FlowNetwork::block() {
  std::copy(begin.begin(), begin.end() - 1, cursor.begin());
  path.clear();
  int64_t total = 0;
  int32_t vertex = source;
  while (true) {
    if (vertex == sink) {
      int64_t amount = unlimited;
      for (int32_t arc : path)
        amount = std::min(amount, arcs[arc].left);
      total += amount;
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
        return total;
      vertex = arcs[arcs[path.back()].reverse].to;
      path.pop_back();
      ++cursor[vertex];
    }
  }
}

int64_t FlowNetwork::maximize() {
  int64_t total = 0;
  while (measureLevels())
    total += block();
  return total;
}
