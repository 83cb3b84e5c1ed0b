//===- UsefulCopiesTest.cpp - Copies that are left out cost nothing -------===//

#include "tenon/Sharding/UsefulCopies.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>

using namespace tenon::sharding;

namespace {

/// A value in parts, whose readers want it in parts or whole.
WaysToHold gathered(int64_t gathering, size_t readers) {
  WaysToHold ways;
  ways.own = {0, gathering};
  ways.bytes = {0, 64};
  for (size_t reader = 0; reader < readers; ++reader)
    ways.reading.push_back({{0, 0}, {10, 0}});
  return ways;
}

TEST(UsefulCopies, AreSharedByReaders) {
  EXPECT_EQ(neededWays(gathered(10, 1)), std::vector<size_t>({0}));
  EXPECT_EQ(neededWays(gathered(10, 2)), std::vector<size_t>({0, 1}));
  EXPECT_EQ(neededWays(gathered(20, 2)), std::vector<size_t>({0}));
}

TEST(UsefulCopies, MayBeSmallerThanOthers) {
  // Both copies save alike; the one that takes more bytes is quicker to make.
  WaysToHold ways;
  ways.own = {0, 3, 2};
  ways.reading = {{{9, 0, 0}}};
  ways.bytes = {0, 4, 8};
  EXPECT_EQ(neededWays(ways), std::vector<size_t>({0, 1, 2}));
  ways.bytes = {0, 0, 0};
  EXPECT_EQ(neededWays(ways), std::vector<size_t>({0, 2}));
}

TEST(UsefulCopies, TwoOthersTogetherReplaceOne) {
  // The second copy is nearly as good as the better one of the others, which
  // is another one for each decision.
  WaysToHold ways;
  ways.own = {0, 0, 1};
  ways.bytes = {0, 0, 0};
  ways.reading = {{{0, 9, 0}, {9, 0, 0}}};
  EXPECT_EQ(neededWays(ways), std::vector<size_t>({0, 1}));
}

/// The least cost of each decision of all readers, by ways with at most some
/// bytes.
std::vector<int64_t> leastCosts(const WaysToHold &ways,
                                const std::vector<size_t> &among,
                                int64_t limit) {
  std::vector<int64_t> least;
  std::vector<size_t> decisions;
  std::function<void()> decide = [&] {
    if (decisions.size() < ways.reading.size()) {
      for (size_t i = 0; i < ways.reading[decisions.size()].size(); ++i) {
        decisions.push_back(i);
        decide();
        decisions.pop_back();
      }
      return;
    }
    int64_t cheapest = INT64_MAX;
    for (size_t way : among) {
      int64_t cost = ways.own[way];
      for (size_t reader = 0; reader < decisions.size(); ++reader)
        cost += ways.reading[reader][decisions[reader]][way];
      if (ways.bytes[way] <= limit)
        cheapest = std::min(cheapest, cost);
    }
    least.push_back(cheapest);
  };
  decide();
  return least;
}

TEST(UsefulCopies, TheLeastCostStays) {
  std::mt19937 random(7);
  auto below = [&](int64_t count) { return int64_t(random() % count); };
  size_t kept = 0, all = 0;
  for (int round = 0; round < 2000; ++round) {
    WaysToHold ways;
    const int64_t count = 2 + below(6);
    // Six readers of five decisions are too many to look at all together.
    const bool isLarge = round % 20 == 0;
    for (int64_t way = 0; way < count; ++way) {
      ways.own.push_back(way == 0 ? below(3) : below(12));
      ways.bytes.push_back(way == 0 ? 0 : below(4));
    }
    const int64_t readers = isLarge ? 6 : 1 + below(3);
    for (int64_t reader = 0; reader < readers; ++reader) {
      auto &decisions = ways.reading.emplace_back();
      const int64_t many = isLarge ? 5 : 1 + below(4);
      for (int64_t i = 0; i < many; ++i) {
        auto &costs = decisions.emplace_back();
        for (int64_t way = 0; way < count; ++way)
          costs.push_back(below(isLarge ? 1000 : 8));
      }
    }
    std::vector<size_t> everything;
    for (size_t way = 0; way < ways.own.size(); ++way)
      everything.push_back(way);
    const std::vector<size_t> needed = neededWays(ways);
    ASSERT_EQ(needed.front(), 0u);
    for (int64_t limit = 0; limit < 4; ++limit)
      ASSERT_EQ(leastCosts(ways, needed, limit),
                leastCosts(ways, everything, limit));
    kept += needed.size();
    all += everything.size();
  }
  EXPECT_LT(kept, all * 4 / 5);
}

} // namespace
