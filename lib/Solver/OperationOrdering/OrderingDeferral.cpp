//===- OrderingDeferral.cpp - operations that wait until they are needed --===//
//
// Finds them by who can be reached from whom, and joins the others along paths
// through them.
//
//===----------------------------------------------------------------------===//

#include "OrderingDeferral.h"

#include <algorithm>
#include <numeric>

using namespace tenon::solver;

namespace {
/// Which operations depend on which, along paths through some of them, the
/// hubs: all if there are few enough. Ids respect all edges.
class Descendants {
public:
  Descendants(const OrderingGraph &graph, const std::vector<int32_t> &hubs);
  /// Never true without reason.
  bool has(int32_t operation, int32_t later) const {
    for (size_t word = 0; operation != later && word < words; ++word)
      if ((down[operation * words + word] & up[later * words + word]) != 0)
        return true;
    return false;
  }

private:
  size_t words;
  /// Of each operation: the hubs that depend on it, and on which it depends. A
  /// hub is its own.
  std::vector<uint64_t> down, up;
};
} // namespace

/// Evenly spread over the ids; of those around, one on a longest path. In a
/// training step nearly all paths between forward and backward operations lead
/// through such.
static std::vector<int32_t> chooseHubs(const OrderingGraph &graph,
                                       size_t hubCount) {
  const size_t count = graph.operations;
  std::vector<int32_t> above(count, 0), below(count, 0), hubs;
  for (size_t i = 0; i < count; ++i)
    for (int32_t other : graph.before[static_cast<int32_t>(i)])
      above[i] = std::max(above[i], above[other] + 1);
  for (size_t i = count; i-- > 0;)
    for (int32_t next : graph.after[static_cast<int32_t>(i)])
      below[i] = std::max(below[i], below[next] + 1);
  for (size_t hub = 0; hub < hubCount; ++hub) {
    size_t best = hub * count / hubCount;
    for (size_t i = best; i < (hub + 1) * count / hubCount; ++i)
      if (above[i] + below[i] > above[best] + below[best])
        best = i;
    hubs.push_back(static_cast<int32_t>(best));
  }
  return hubs;
}

Descendants::Descendants(const OrderingGraph &graph,
                         const std::vector<int32_t> &hubs) {
  words = (hubs.size() + 63) / 64;
  down.assign(words * graph.operations, 0);
  up.assign(words * graph.operations, 0);
  for (size_t hub = 0; hub < hubs.size(); ++hub)
    for (std::vector<uint64_t> *bits : {&down, &up})
      (*bits)[hubs[hub] * words + hub / 64] |= uint64_t(1) << hub % 64;
  auto join = [&](std::vector<uint64_t> &bits, int32_t to, int32_t from) {
    for (size_t word = 0; word < words; ++word)
      bits[to * words + word] |= bits[from * words + word];
  };
  for (int32_t i = graph.operations; i-- > 0;)
    for (int32_t next : graph.after[i])
      join(down, i, next);
  for (int32_t i = 0; i < graph.operations; ++i)
    for (int32_t other : graph.before[i])
      join(up, i, other);
}

static bool onlyAdds(const OrderingGraph &graph, const Descendants &descendants,
                     int32_t operation) {
  if (graph.workspace[operation] != 0 || graph.after.size(operation) == 0)
    return false;
  auto isRead = [&](int32_t value) {
    return graph.bytes[value] == 0 || graph.kept[value] ||
           graph.users.size(value) > 0;
  };
  auto outlives = [&](int32_t value) {
    std::span<const int32_t> users = graph.users[value];
    return graph.bytes[value] == 0 || graph.kept[value] ||
           std::any_of(users.begin(), users.end(), [&](int32_t user) {
             return descendants.has(operation, user);
           });
  };
  std::span<const int32_t> results = graph.results[operation];
  std::span<const int32_t> operands = graph.operands[operation];
  return std::all_of(results.begin(), results.end(), isRead) &&
         std::all_of(operands.begin(), operands.end(), outlives);
}

OrderingDeferral::OrderingDeferral(const OrderingGraph &graph,
                                   const DeferralLimits &limits) {
  const int32_t count = graph.operations;
  const bool isLarge = size_t(count) > limits.mostExact;
  const Descendants descendants(
      graph,
      chooseHubs(graph, isLarge ? std::min<size_t>(limits.mostHubs, count)
                                : size_t(count)));
  for (int32_t i = 0; i < count; ++i)
    waits.push_back(onlyAdds(graph, descendants, i));
  for (Ranges *ranges : {&before, &needs, &after})
    ranges->begin.assign(count + 1, 0);
  std::vector<int32_t> stamp(count, -1), queue;
  for (int32_t i = 0; i < count; ++i) {
    queue.clear();
    if (!waits[i] || isLarge)
      queue.push_back(i);
    for (size_t at = 0; at < queue.size(); ++at)
      for (int32_t other : graph.before[queue[at]]) {
        if (stamp[other] == i)
          continue;
        stamp[other] = i;
        (waits[other] ? needs : before).list.push_back(other);
        if (waits[other])
          queue.push_back(other);
      }
    if (waits[i] && queue.size() > limits.mostNeeded + 1)
      waits[i] = 0;
    if (waits[i]) {
      needs.list.resize(needs.begin[i]);
      before.list.resize(before.begin[i]);
    }
    std::sort(needs.list.begin() + needs.begin[i], needs.list.end());
    needs.begin[i + 1] = static_cast<int32_t>(needs.list.size());
    before.begin[i + 1] = static_cast<int32_t>(before.list.size());
    for (int32_t at = before.begin[i]; at < before.begin[i + 1]; ++at)
      ++after.begin[before.list[at] + 1];
  }
  std::partial_sum(after.begin.begin(), after.begin.end(), after.begin.begin());
  after.list.resize(before.list.size());
  std::vector<int32_t> at = after.begin;
  for (int32_t i = 0; i < count; ++i)
    for (int32_t other : before[i])
      after.list[at[other]++] = i;
}
