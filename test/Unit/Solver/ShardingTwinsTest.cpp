//===- ShardingTwinsTest.cpp - where a problem repeats itself -------------===//

#include "ShardingChoice/ShardingTwins.h"

#include "tenon/Solver/ShardingChoice.h"

#include <gtest/gtest.h>

using namespace tenon::solver;

namespace {

/// A chain of layers: in each, the first node leads to the second, and that to
/// the third and to the first one of the next layer.
ShardingProblem layers(int32_t count) {
  ShardingProblem problem;
  problem.tables = {{0, 5, 7, 1}, {0, 4, 4, 1}, {3, 0, 1, 9}};
  for (int32_t layer = 0; layer < count; ++layer) {
    const int32_t first = 3 * layer;
    for (int64_t cost : {1, 2, 3})
      problem.nodes.push_back({0, 0, {cost, 0}, {0, 0}});
    problem.edges.push_back({first, first + 1, 0});
    problem.edges.push_back({first + 1, first + 2, 1});
    if (layer + 1 < count)
      problem.edges.push_back({first + 1, first + 3, 2});
  }
  return problem;
}

TEST(ShardingTwins, WalksAlikeThroughEveryLayer) {
  ShardingGroups groups;
  ASSERT_EQ(groupShardings(layers(20), groups), std::nullopt);
  ShardingTwins twins(groups);
  const std::vector<int32_t> like = twins.like(31);
  EXPECT_GT(like.size(), 12u);
  EXPECT_LT(like.size(), 20u); // the ends look different
  const ShardingTwins::Walk walk = twins.walk({31, 30, 32, 33, 34, 12});
  EXPECT_EQ(walk.groups.size(), 5u); // no edge leads to 12
  int followed = 0;
  for (int32_t group : like) {
    const std::vector<int32_t> reached = twins.follow(walk, group);
    if (reached.empty())
      continue;
    ++followed;
    ASSERT_EQ(reached.size(), 5u) << group;
    for (size_t i = 0; i < reached.size(); ++i)
      EXPECT_EQ(reached[i] - group, walk.groups[i] - 31) << group;
  }
  // Beside some of them is a layer that looks different.
  EXPECT_GT(followed, 12);
  EXPECT_LT(followed, int(like.size()));
}

TEST(ShardingTwins, TellsOtherCostsAndTablesApart) {
  ShardingProblem problem = layers(20);
  problem.nodes[31].costs = {9, 0};
  problem.edges[2].table = 0;
  ShardingGroups groups;
  ASSERT_EQ(groupShardings(problem, groups), std::nullopt);
  ShardingTwins twins(groups);
  EXPECT_EQ(twins.like(31).size(), 1u);
  EXPECT_EQ(twins.like(3).size(), 1u);
  EXPECT_GT(twins.like(43).size(), 1u);
}

} // namespace
