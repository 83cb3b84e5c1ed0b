//===- UsefulCopies.cpp - The copies of a value that can be worth it ------===//
//
// See UsefulCopies.h. What all readers can decide together is a set of sums,
// one number per way; equal ones are kept once. Where there are very many, a
// way is only compared with one other: it is not needed if the other one costs
// no more even where every reader decides what speaks most for the first.
//
//===----------------------------------------------------------------------===//

#include "tenon/Sharding/UsefulCopies.h"

#include <algorithm>
#include <optional>
#include <set>

using namespace tenon::sharding;

/// One number per way.
using Costs = std::vector<int64_t>;

/// Of sums.
static constexpr size_t mostSums = 512;

/// What a reader's decisions cost, each once, and beside what they cost without
/// a copy: which is the same for all ways.
static std::set<Costs> distinctDecisions(const std::vector<Costs> &decisions) {
  std::set<Costs> distinct;
  for (Costs costs : decisions) {
    const int64_t withoutCopy = costs.front();
    for (int64_t &cost : costs)
      cost -= withoutCopy;
    distinct.insert(std::move(costs));
  }
  return distinct;
}

/// What everything that readers can decide together costs; nothing if that is
/// too much to look at.
static std::optional<std::set<Costs>>
sumsOf(const Costs &own, const std::vector<std::set<Costs>> &readers) {
  size_t most = 1;
  for (const std::set<Costs> &decisions : readers)
    most = std::min(mostSums + 1, most * decisions.size());
  if (most > mostSums)
    return std::nullopt;
  std::set<Costs> sums{own};
  for (const std::set<Costs> &decisions : readers) {
    std::set<Costs> more;
    for (const Costs &sum : sums)
      for (const Costs &costs : decisions) {
        Costs both = sum;
        for (size_t way = 0; way < both.size(); ++way)
          both[way] += costs[way];
        more.insert(std::move(both));
      }
    sums = std::move(more);
  }
  return sums;
}

std::vector<size_t> tenon::sharding::neededWays(const WaysToHold &ways) {
  std::vector<std::set<Costs>> readers;
  for (const std::vector<Costs> &decisions : ways.reading)
    readers.push_back(distinctDecisions(decisions));
  const std::optional<std::set<Costs>> sums = sumsOf(ways.own, readers);
  std::vector<size_t> kept;
  for (size_t way = 0; way < ways.own.size(); ++way)
    kept.push_back(way);

  auto isNoDearer = [&](size_t way, size_t than) {
    int64_t more = ways.own[way] - ways.own[than];
    for (const std::set<Costs> &decisions : readers) {
      int64_t most = INT64_MIN;
      for (const Costs &costs : decisions)
        most = std::max(most, costs[way] - costs[than]);
      more += most;
    }
    return more <= 0;
  };
  auto isNeeded = [&](size_t way) {
    std::vector<size_t> others;
    for (size_t other : kept)
      if (other != way && ways.bytes[other] <= ways.bytes[way])
        others.push_back(other);
    if (!sums)
      return std::none_of(others.begin(), others.end(),
                          [&](size_t other) { return isNoDearer(other, way); });
    return std::any_of(sums->begin(), sums->end(), [&](const Costs &costs) {
      return std::all_of(others.begin(), others.end(), [&](size_t other) {
        return costs[other] > costs[way];
      });
    });
  };
  // The last ones gather most. Nothing takes fewer bytes than no copy.
  for (size_t way = ways.own.size(); way-- > 1;)
    if (!isNeeded(way))
      std::erase(kept, way);
  return kept;
}
