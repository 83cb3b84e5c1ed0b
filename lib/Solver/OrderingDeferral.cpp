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
/// Which operations depend on which, as bits; ids respect all edges.
class Descendants {
public:
  explicit Descendants(const OrderingGraph &graph)
      : words((graph.operations + 63) / 64), bits(words * graph.operations, 0) {
    for (size_t i = graph.operations; i-- > 0;)
      for (int32_t next : graph.after[static_cast<int32_t>(i)]) {
        bits[i * words + next / 64] |= uint64_t(1) << next % 64;
        for (size_t word = 0; word < words; ++word)
          bits[i * words + word] |= bits[next * words + word];
      }
  }
  bool has(int32_t operation, int32_t later) const {
    return (bits[operation * words + later / 64] >> later % 64 & 1) != 0;
  }

private:
  size_t words;
  std::vector<uint64_t> bits;
};
} // namespace

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

OrderingDeferral::OrderingDeferral(const OrderingGraph &graph) {
  const int32_t count = graph.operations;
  const Descendants descendants(graph);
  for (int32_t i = 0; i < count; ++i)
    waits.push_back(onlyAdds(graph, descendants, i));
  for (Ranges *ranges : {&before, &needs, &after})
    ranges->begin.assign(count + 1, 0);
  std::vector<int32_t> stamp(count, -1), queue;
  for (int32_t i = 0; i < count; ++i) {
    queue.clear();
    if (!waits[i])
      queue.push_back(i);
    for (size_t at = 0; at < queue.size(); ++at)
      for (int32_t other : graph.before[queue[at]]) {
        if (stamp[other] == i)
          continue;
        stamp[other] = i;
        (waits[other] ? needs : before).list.push_back(other);
        if (waits[other])
          queue.push_back(other);
        else
          ++after.begin[other + 1];
      }
    std::sort(needs.list.begin() + needs.begin[i], needs.list.end());
    needs.begin[i + 1] = static_cast<int32_t>(needs.list.size());
    before.begin[i + 1] = static_cast<int32_t>(before.list.size());
  }
  std::partial_sum(after.begin.begin(), after.begin.end(), after.begin.begin());
  after.list.resize(before.list.size());
  std::vector<int32_t> at = after.begin;
  for (int32_t i = 0; i < count; ++i)
    for (int32_t other : before[i])
      after.list[at[other]++] = i;
}
