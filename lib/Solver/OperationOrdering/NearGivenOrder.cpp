//===- NearGivenOrder.cpp - an order of small peak near the given one -----===//
//
// What is left of the order of small peak is always a way to the end. Running
// an operation earlier than it stands there changes what is live only up to
// where it stands, so that a try ends there.
//
//===----------------------------------------------------------------------===//

#include "OrderingGraph.h"

#include <algorithm>
#include <functional>
#include <queue>

using namespace tenon::solver;

namespace {
class NearOrder {
public:
  NearOrder(const OrderingGraph &graph, std::span<const int32_t> order,
            int64_t work)
      : graph(graph), order(order), work(work), peak(peakOf(graph, order)),
        state(graph), place(graph.operations), missing(graph.operations),
        hasRun(graph.operations, 0) {
    for (int32_t i = 0; i < graph.operations; ++i) {
      place[order[i]] = i;
      missing[i] = graph.before.size(i);
      if (missing[i] == 0)
        ready.push(i);
    }
  }

  std::vector<int32_t> run();

private:
  bool mayRunNow(int32_t operation);
  void perform(int32_t operation);

  const OrderingGraph &graph;
  std::span<const int32_t> order;
  int64_t work;
  int64_t peak;
  LiveBytes state;
  std::vector<int32_t> place; // of each operation in `order`
  std::vector<int32_t> missing;
  std::vector<char> hasRun;
  /// By their place in the given order, which is their number.
  std::priority_queue<int32_t, std::vector<int32_t>, std::greater<>> ready;
  size_t next = 0; // of `order`: all before have run
  std::vector<std::pair<int32_t, LiveBytes::Step>> tried;
  std::vector<int32_t> result;
};
} // namespace

/// Whether the others can follow in their order, up to where it stands there.
bool NearOrder::mayRunNow(int32_t operation) {
  tried.clear();
  auto fits = [&](int32_t other) {
    --work;
    LiveBytes::Step step = state.look(other);
    if (step.during > peak)
      return false;
    state.run(other);
    tried.push_back({other, step});
    return true;
  };
  bool isPossible = fits(operation);
  for (size_t i = next; isPossible && order[i] != operation; ++i)
    isPossible = hasRun[order[i]] || fits(order[i]);
  for (size_t i = tried.size(); i-- > 0;)
    state.takeBack(tried[i].first, tried[i].second);
  return isPossible;
}

void NearOrder::perform(int32_t operation) {
  state.run(operation);
  hasRun[operation] = 1;
  result.push_back(operation);
  for (int32_t follower : graph.after[operation])
    if (--missing[follower] == 0)
      ready.push(follower);
  while (next < order.size() && hasRun[order[next]])
    ++next;
}

std::vector<int32_t> NearOrder::run() {
  while (next < order.size()) {
    while (hasRun[ready.top()])
      ready.pop();
    const int32_t first = ready.top();
    const bool isNext = first == order[next];
    perform(isNext || (work > 0 && mayRunNow(first)) ? first : order[next]);
  }
  return std::move(result);
}

std::vector<int32_t>
tenon::solver::nearGivenOrder(const OrderingProblem &problem,
                              const std::vector<int32_t> &order, int64_t work) {
  OrderingGraph graph(problem);
  return NearOrder(graph, order, work).run();
}
