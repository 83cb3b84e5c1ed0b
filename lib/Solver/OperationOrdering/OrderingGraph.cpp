//===- OrderingGraph.cpp - an ordering problem in flat arrays -------------===//
//
// Builds the adjacency, simulates orders, and holds the schedulers.
//
//===----------------------------------------------------------------------===//

#include "OrderingGraph.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>

using namespace tenon::solver;

static Ranges makeRanges(int32_t count,
                         std::vector<std::pair<int32_t, int32_t>> pairs) {
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  Ranges ranges;
  ranges.begin.assign(count + 1, 0);
  for (auto [from, to] : pairs) {
    ++ranges.begin[from + 1];
    ranges.list.push_back(to);
  }
  std::partial_sum(ranges.begin.begin(), ranges.begin.end(),
                   ranges.begin.begin());
  return ranges;
}

OrderingGraph::OrderingGraph(const OrderingProblem &problem)
    : operations(static_cast<int32_t>(problem.operations.size())),
      values(problem.valueCount()), kept(values, 0), inPlace(operations) {
  using Pairs = std::vector<std::pair<int32_t, int32_t>>;
  Pairs reads, readBy, writes, order, orderBack;
  auto need = [&](int32_t first, int32_t second) {
    order.push_back({second, first});
    orderBack.push_back({first, second});
  };
  for (int32_t value = 0; value < values; ++value) {
    bytes.push_back(problem.bytes(value));
    producer.push_back(problem.producer(value));
    writes.push_back({producer[value], value});
  }
  for (auto [value, user] : problem.uses) {
    reads.push_back({user, value});
    readBy.push_back({value, user});
    need(producer[value], user);
  }
  for (auto [first, second] : problem.controls)
    need(first, second);
  int32_t effect = -1;
  for (int32_t i = 0; i < operations; ++i) {
    workspace.push_back(problem.operations[i].workspace);
    if (!problem.operations[i].effect)
      continue;
    if (effect >= 0)
      need(effect, i);
    effect = i;
  }
  for (int32_t value : problem.kept)
    kept[value] = 1;
  for (auto [operation, operand, result] : problem.inPlace)
    inPlace[operation].push_back(
        {operand, std::min(bytes[operand], bytes[result])});
  leastRise = workspace;
  for (int32_t value = 0; value < values; ++value)
    leastRise[producer[value]] += bytes[value];
  for (int32_t i = 0; i < operations; ++i)
    for (const Pair &pair : inPlace[i])
      leastRise[i] -= pair.shared;
  operands = makeRanges(operations, std::move(reads));
  results = makeRanges(operations, std::move(writes));
  users = makeRanges(values, std::move(readBy));
  before = makeRanges(operations, std::move(order));
  after = makeRanges(operations, std::move(orderBack));
}

LiveBytes::Step LiveBytes::look(int32_t operation) const {
  int64_t defined = 0, dead = 0, freed = 0, shared = 0;
  for (int32_t value : graph.results[operation]) {
    defined += graph.bytes[value];
    if (usersLeft[value] == 0)
      dead += graph.bytes[value];
  }
  for (int32_t value : graph.operands[operation])
    if (usersLeft[value] == 1)
      freed += graph.bytes[value];
  for (const OrderingGraph::Pair &pair : graph.inPlace[operation])
    if (usersLeft[pair.operand] == 1)
      shared += pair.shared;
  return {liveBytes + defined - shared + graph.workspace[operation],
          defined - dead - freed};
}

int64_t LiveBytes::run(int32_t operation) {
  Step step = look(operation);
  for (int32_t value : graph.operands[operation])
    --usersLeft[value];
  liveBytes += step.net;
  return step.during;
}

void LiveBytes::takeBack(int32_t operation, Step step) {
  for (int32_t value : graph.operands[operation])
    ++usersLeft[value];
  liveBytes -= step.net;
}

int64_t tenon::solver::peakOf(const OrderingGraph &graph,
                              std::span<const int32_t> order) {
  LiveBytes state(graph);
  int64_t peak = 0;
  for (int32_t operation : order)
    peak = std::max(peak, state.run(operation));
  return peak;
}

std::vector<int32_t> tenon::solver::listOrder(const OrderingGraph &graph,
                                              ListRule rule) {
  LiveBytes state(graph);
  std::vector<int32_t> missing(graph.operations), order;
  // What a value's remaining users add up to: the last one, when one is left.
  std::vector<int64_t> userSum(graph.values, 0);
  for (int32_t value = 0; value < graph.values; ++value)
    for (int32_t user : graph.users[value])
      userSum[value] += user;

  using Key = std::tuple<int64_t, int64_t, int32_t>;
  std::vector<Key> keys(graph.operations);
  std::set<Key> ready;
  int64_t arrivals = 0;
  std::vector<int64_t> arrival(graph.operations, 0);
  auto keyOf = [&](int32_t operation) -> Key {
    LiveBytes::Step step = state.look(operation);
    int64_t growth = step.during - state.live();
    switch (rule) {
    case ListRule::FreesMost: {
      int64_t users = 0;
      for (int32_t value : graph.results[operation])
        users += graph.users.size(value);
      return {step.net, -users, operation};
    }
    case ListRule::SmallestPeak:
      return {growth, step.net, operation};
    case ListRule::GivenClosing:
      return {step.net <= 0 ? 0 : 1, step.net <= 0 ? step.net : 0, operation};
    case ListRule::GivenLazy: {
      if (step.net <= 0)
        return {0, step.net, operation};
      // What would be freed if every follower that becomes ready ran too.
      int64_t follow = step.net;
      for (int32_t value : graph.results[operation])
        if (graph.users.size(value) == 1) {
          int32_t user = graph.users[value][0];
          bool alone = true;
          for (int32_t other : graph.before[user])
            alone &= other == operation || missing[other] < 0;
          if (alone && graph.results[user].size() > 0) {
            follow -= graph.bytes[value];
            for (int32_t result : graph.results[user])
              if (graph.users.size(result) + graph.kept[result] > 0)
                follow += graph.bytes[result];
            for (int32_t operand : graph.operands[user])
              if (operand != value && state.left(operand) == 1)
                follow -= graph.bytes[operand];
          }
        }
      return {follow <= 0 ? 1 : 2, follow <= 0 ? follow : 0, operation};
    }
    case ListRule::BreadthFirst:
      return {arrival[operation], 0, operation};
    }
    return {};
  };
  auto enter = [&](int32_t operation) {
    arrival[operation] = arrivals++;
    ready.insert(keys[operation] = keyOf(operation));
  };
  for (int32_t operation = 0; operation < graph.operations; ++operation) {
    missing[operation] = graph.before.size(operation);
    if (missing[operation] == 0)
      enter(operation);
  }
  while (!ready.empty()) {
    int32_t operation = std::get<2>(*ready.begin());
    ready.erase(ready.begin());
    missing[operation] = -1;
    order.push_back(operation);
    state.run(operation);
    for (int32_t next : graph.after[operation])
      if (--missing[next] == 0)
        enter(next);
    // An operand's last reader now frees it.
    for (int32_t value : graph.operands[operation]) {
      userSum[value] -= operation;
      if (state.left(value) != 1 || graph.kept[value])
        continue;
      auto last = static_cast<int32_t>(userSum[value]);
      if (missing[last] != 0)
        continue;
      ready.erase(keys[last]);
      ready.insert(keys[last] = keyOf(last));
    }
  }
  return order;
}

std::vector<int32_t> tenon::solver::depthFirstOrder(const OrderingGraph &graph,
                                                    bool byUsers) {
  std::vector<int64_t> rank(graph.operations, 0);
  for (int32_t i = 0; i < graph.operations; ++i) {
    if (byUsers) {
      rank[i] = graph.after.size(i);
      continue;
    }
    int64_t size = 0;
    for (int32_t value : graph.results[i])
      size += graph.bytes[value];
    for (int32_t other : graph.before[i])
      size = std::min<int64_t>(int64_t(1) << 60, size + rank[other]);
    rank[i] = size;
  }
  std::vector<char> state(graph.operations, 0); // 1 opened, 2 done
  std::vector<int32_t> order, stack;
  for (int32_t root = 0; root < graph.operations; ++root) {
    if (graph.after.size(root) != 0)
      continue;
    stack.push_back(root);
    while (!stack.empty()) {
      int32_t operation = stack.back();
      if (state[operation] != 0) {
        stack.pop_back();
        if (state[operation] == 1) {
          state[operation] = 2;
          order.push_back(operation);
        }
        continue;
      }
      state[operation] = 1;
      std::vector<int32_t> inputs;
      for (int32_t other : graph.before[operation])
        if (state[other] == 0)
          inputs.push_back(other);
      // The last one pushed is visited first.
      std::sort(inputs.begin(), inputs.end(), [&](int32_t a, int32_t b) {
        return std::pair(rank[a], a) < std::pair(rank[b], b);
      });
      stack.insert(stack.end(), inputs.begin(), inputs.end());
    }
  }
  return order;
}
