//===- OrderingPeers.cpp - other systems' schedulers, written anew --------===//
//
// Two families: list schedulers, which pick among the ready operations by what
// running them does to the live bytes, and walks of the graph from its ends.
//
//===----------------------------------------------------------------------===//

#include "OrderingPeers.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <tuple>

using namespace tenon::benchmark;
using tenon::solver::OrderingProblem;

namespace {
struct Graph {
  const OrderingProblem &problem;
  int32_t count;
  std::vector<std::vector<int32_t>> reads, results, users, before, after;

  explicit Graph(const OrderingProblem &problem)
      : problem(problem), count(int32_t(problem.operations.size())),
        reads(count), results(count), users(problem.valueCount()),
        before(count), after(count) {
    auto depend = [&](int32_t first, int32_t second) {
      std::vector<int32_t> &list = before[second];
      if (std::find(list.begin(), list.end(), first) != list.end())
        return;
      list.push_back(first);
      after[first].push_back(second);
    };
    for (int32_t value = 0; value < problem.valueCount(); ++value)
      results[problem.producer(value)].push_back(value);
    for (auto [value, user] : problem.uses) {
      reads[user].push_back(value);
      users[value].push_back(user);
      depend(problem.producer(value), user);
    }
    for (auto [first, second] : problem.controls)
      depend(first, second);
    int32_t effect = -1;
    for (int32_t i = 0; i < count; ++i)
      if (problem.operations[i].effect) {
        if (effect >= 0)
          depend(effect, i);
        effect = i;
      }
  }

  int64_t defined(int32_t operation) const {
    int64_t sum = 0;
    for (int32_t value : results[operation])
      sum += problem.bytes(value);
    return sum;
  }
};

/// Readers still to run, per value; kept values never reach zero.
class Readers {
public:
  explicit Readers(const Graph &graph) : graph(graph) {
    for (const std::vector<int32_t> &list : graph.users)
      left.push_back(int32_t(list.size()));
    for (int32_t value : graph.problem.kept)
      ++left[value];
  }
  int64_t freed(int32_t operation) const {
    int64_t sum = 0;
    for (int32_t value : graph.reads[operation])
      if (left[value] == 1)
        sum += graph.problem.bytes(value);
    return sum;
  }
  void run(int32_t operation) {
    for (int32_t value : graph.reads[operation])
      --left[value];
  }

private:
  const Graph &graph;
  std::vector<int32_t> left;
};
} // namespace

/// A list scheduler: the ready operation with the smallest key runs next. Keys
/// are recomputed each time, which is slow and simple.
static std::vector<int32_t> byKey(
    const Graph &graph,
    const std::function<std::tuple<int64_t, int64_t, int64_t>(const Readers &,
                                                              int32_t)> &key) {
  Readers readers(graph);
  std::vector<int32_t> missing, ready, order;
  for (int32_t i = 0; i < graph.count; ++i) {
    missing.push_back(int32_t(graph.before[i].size()));
    if (missing[i] == 0)
      ready.push_back(i);
  }
  while (!ready.empty()) {
    auto best =
        std::min_element(ready.begin(), ready.end(), [&](int32_t a, int32_t b) {
          return std::tuple_cat(key(readers, a), std::tuple(a)) <
                 std::tuple_cat(key(readers, b), std::tuple(b));
        });
    int32_t operation = *best;
    *best = ready.back();
    ready.pop_back();
    order.push_back(operation);
    readers.run(operation);
    for (int32_t next : graph.after[operation])
      if (--missing[next] == 0)
        ready.push_back(next);
  }
  return order;
}

static std::vector<int32_t> xlaList(const OrderingProblem &problem) {
  Graph graph(problem);
  return byKey(graph, [&](const Readers &readers, int32_t operation) {
    int64_t users = 0;
    for (int32_t value : graph.results[operation])
      users += int64_t(graph.users[value].size());
    return std::tuple<int64_t, int64_t, int64_t>(
        graph.defined(operation) - readers.freed(operation), -users, 0);
  });
}

static std::vector<int32_t> inductorPeak(const OrderingProblem &problem) {
  Graph graph(problem);
  return byKey(graph, [&](const Readers &readers, int32_t operation) {
    int64_t grows = graph.defined(operation);
    return std::tuple<int64_t, int64_t, int64_t>(
        grows, grows - readers.freed(operation), 0);
  });
}

static std::vector<int32_t> inductorBreadth(const OrderingProblem &problem) {
  Graph graph(problem);
  std::vector<int32_t> missing, order;
  std::deque<int32_t> ready;
  for (int32_t i = 0; i < graph.count; ++i) {
    missing.push_back(int32_t(graph.before[i].size()));
    if (missing[i] == 0)
      ready.push_back(i);
  }
  while (!ready.empty()) {
    int32_t operation = ready.front();
    ready.pop_front();
    order.push_back(operation);
    for (int32_t next : graph.after[operation])
      if (--missing[next] == 0)
        ready.push_back(next);
  }
  return order;
}

/// Post-order from the operations that nothing follows; `sort` orders what an
/// operation waits for, first visited first.
static std::vector<int32_t>
postOrder(const Graph &graph,
          const std::function<void(std::vector<int32_t> &)> &sort) {
  std::vector<char> state(graph.count, 0);
  std::vector<int32_t> order, stack;
  for (int32_t root = 0; root < graph.count; ++root) {
    if (!graph.after[root].empty())
      continue;
    stack.push_back(root);
    while (!stack.empty()) {
      int32_t operation = stack.back();
      if (state[operation] != 0) {
        stack.pop_back();
        if (state[operation] == 1)
          order.push_back(operation);
        state[operation] = 2;
        continue;
      }
      state[operation] = 1;
      std::vector<int32_t> inputs;
      for (int32_t other : graph.before[operation])
        if (state[other] == 0)
          inputs.push_back(other);
      sort(inputs);
      stack.insert(stack.end(), inputs.rbegin(), inputs.rend());
    }
  }
  return order;
}

static std::vector<int32_t> xlaPostOrder(const OrderingProblem &problem) {
  return postOrder(Graph(problem), [](std::vector<int32_t> &) {});
}

static std::vector<int32_t> xlaDepth(const OrderingProblem &problem) {
  Graph graph(problem);
  // Extra users, then total size, over all that leads to an operation.
  std::vector<int64_t> extra(graph.count, 0), size(graph.count, 0);
  constexpr int64_t most = int64_t(1) << 60;
  for (int32_t i = 0; i < graph.count; ++i) {
    extra[i] = std::max<int64_t>(0, int64_t(graph.after[i].size()) - 1);
    size[i] = graph.defined(i);
    for (int32_t other : graph.before[i]) {
      extra[i] = std::min(most, extra[i] + extra[other]);
      size[i] = std::min(most, size[i] + size[other]);
    }
  }
  return postOrder(graph, [&](std::vector<int32_t> &inputs) {
    std::sort(inputs.begin(), inputs.end(), [&](int32_t a, int32_t b) {
      return std::tuple(-extra[a], -size[a], a) <
             std::tuple(-extra[b], -size[b], b);
    });
  });
}

static std::vector<int32_t> inductorDepth(const OrderingProblem &problem) {
  Graph graph(problem);
  std::vector<int64_t> size;
  for (int32_t i = 0; i < graph.count; ++i)
    size.push_back(graph.defined(i));
  return postOrder(graph, [&](std::vector<int32_t> &inputs) {
    std::sort(inputs.begin(), inputs.end(), [&](int32_t a, int32_t b) {
      return std::tuple(-size[a], a) < std::tuple(-size[b], b);
    });
  });
}

const std::vector<OrderingPeer> &tenon::benchmark::orderingPeers() {
  static const std::vector<OrderingPeer> peers = {
      {"XLA list", xlaList},
      {"XLA depth-first", xlaDepth},
      {"XLA post-order", xlaPostOrder},
      {"Inductor least peak", inductorPeak},
      {"Inductor breadth-first", inductorBreadth},
      {"Inductor depth-first", inductorDepth},
  };
  return peers;
}

int64_t tenon::benchmark::replayPeak(const OrderingProblem &problem,
                                     const std::vector<int32_t> &order) {
  Graph graph(problem);
  if (order.size() != size_t(graph.count))
    return -1;
  std::vector<char> ran(graph.count, 0);
  std::vector<int32_t> left(problem.valueCount(), 0);
  for (auto [value, user] : problem.uses)
    ++left[value];
  for (int32_t value : problem.kept)
    ++left[value];
  int64_t live = 0, peak = 0;
  for (int32_t operation : order) {
    for (int32_t other : graph.before[operation])
      if (!ran[other])
        return -1;
    ran[operation] = 1;
    live += graph.defined(operation);
    int64_t shared = 0;
    for (auto [where, operand, result] : problem.inPlace)
      if (where == operation && left[operand] == 1)
        shared += std::min(problem.bytes(operand), problem.bytes(result));
    peak =
        std::max(peak, live - shared + problem.operations[operation].workspace);
    for (int32_t value : graph.reads[operation])
      if (--left[value] == 0)
        live -= problem.bytes(value);
    for (int32_t value : graph.results[operation])
      if (left[value] == 0)
        live -= problem.bytes(value);
  }
  return peak;
}
