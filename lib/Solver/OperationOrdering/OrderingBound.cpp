//===- OrderingBound.cpp - bytes that every order must hold ---------------===//
//
// A frontier is found by taking away. At first everything waits. An operation
// that is ready and during which fewer than the wanted bytes are forced to be
// live may well be the first to run; it is taken away, what it read may die
// with it, and others become ready. What is forced only shrinks on the way, so
// no frontier that would do is lost; when every ready operation forces enough,
// they are one.
//
//===----------------------------------------------------------------------===//

#include "OrderingBound.h"

#include <algorithm>

using namespace tenon::solver;

int64_t MustLive::at(int32_t operation) {
  ++clock;
  auto reach = [&](const Ranges &next, std::vector<int32_t> &stamp) {
    queue.assign(1, operation);
    stamp[operation] = clock;
    for (size_t i = 0; i < queue.size(); ++i)
      for (int32_t other : next[queue[i]]) {
        ++work;
        if (stamp[other] == clock)
          continue;
        stamp[other] = clock;
        queue.push_back(other);
      }
  };
  reach(graph.after, waits);
  reach(graph.before, ran);
  work += static_cast<int64_t>(queue.size());
  int64_t sum = graph.workspace[operation];
  for (int32_t first : queue)
    for (int32_t value : graph.results[first]) {
      bool live = first == operation || graph.kept[value];
      for (int32_t user : graph.users[value]) {
        ++work;
        if (live)
          break;
        live = waits[user] == clock;
      }
      if (live)
        sum += graph.bytes[value];
    }
  for (const OrderingGraph::Pair &pair : graph.inPlace[operation])
    sum -= pair.shared;
  return sum;
}

namespace {
class FrontierFinder {
public:
  FrontierFinder(const OrderingGraph &graph, int64_t wanted, int64_t &work)
      : graph(graph), wanted(wanted), work(work), missing(graph.operations),
        waiting(graph.values), needed(graph.operations, 0),
        stamp(graph.operations, -1) {}

  Frontier run();

private:
  int64_t forced(int32_t operation, int64_t enough);
  void take(int32_t operation);

  const OrderingGraph &graph;
  int64_t wanted;
  int64_t &work;
  std::vector<int32_t> missing; ///< predecessors that wait
  std::vector<int32_t> waiting; ///< readers that wait, per value
  /// Of each operation taken away: bytes of its results that are still read.
  std::vector<int64_t> needed;
  std::vector<int32_t> ready, stamp, queue;
  int32_t clock = 0;
};
} // namespace

/// Bytes that are live if this ready operation is the first to run of all that
/// wait; not added up further than `enough`.
int64_t FrontierFinder::forced(int32_t operation, int64_t enough) {
  int64_t sum = graph.workspace[operation];
  for (int32_t value : graph.results[operation])
    sum += graph.bytes[value];
  for (const OrderingGraph::Pair &pair : graph.inPlace[operation])
    sum -= pair.shared;
  ++clock;
  queue.assign(1, operation);
  for (size_t i = 0; i < queue.size() && sum < enough; ++i) {
    work -= 1 + graph.before.size(queue[i]);
    for (int32_t other : graph.before[queue[i]]) {
      if (stamp[other] == clock)
        continue;
      stamp[other] = clock;
      sum += needed[other];
      queue.push_back(other);
    }
  }
  return sum;
}

void FrontierFinder::take(int32_t operation) {
  for (int32_t value : graph.operands[operation])
    if (--waiting[value] == 0)
      needed[graph.producer[value]] -= graph.bytes[value];
  for (int32_t value : graph.results[operation])
    if (waiting[value] > 0)
      needed[operation] += graph.bytes[value];
  for (int32_t next : graph.after[operation])
    if (--missing[next] == 0)
      ready.push_back(next);
}

Frontier FrontierFinder::run() {
  for (int32_t value = 0; value < graph.values; ++value)
    waiting[value] = graph.users.size(value) + graph.kept[value];
  for (int32_t i = 0; i < graph.operations; ++i)
    if ((missing[i] = graph.before.size(i)) == 0)
      ready.push_back(i);
  for (bool any = true; any;) {
    any = false;
    // Those that become ready meanwhile are looked at in the same pass.
    for (size_t i = 0; i < ready.size();) {
      if (work <= 0)
        return {};
      int32_t operation = ready[i];
      if (forced(operation, wanted) >= wanted) {
        ++i;
        continue;
      }
      ready[i] = ready.back();
      ready.pop_back();
      take(operation);
      any = true;
    }
  }
  if (ready.empty())
    return {};
  Frontier frontier;
  frontier.bytes = INT64_MAX;
  for (int32_t operation : ready)
    frontier.bytes = std::min(frontier.bytes, forced(operation, INT64_MAX));
  std::sort(ready.begin(), ready.end());
  frontier.operations = std::move(ready);
  return frontier;
}

Frontier tenon::solver::findFrontier(const OrderingGraph &graph, int64_t wanted,
                                     int64_t &work) {
  return FrontierFinder(graph, wanted, work).run();
}
