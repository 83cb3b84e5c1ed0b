//===- ShardingFoldTest.cpp - one decision for all that look alike --------===//

#include "ShardingChoice/ShardingFold.h"

#include "tenon/Solver/ShardingChoice.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>

using namespace tenon::solver;

namespace {

constexpr int32_t labelCount = 4, layerCount = 40;

/// A chain of layers of two nodes. The first one leads to the second, and that
/// to the first one of the next layer. The last layer has another cost.
ShardingProblem chain(uint32_t seed) {
  std::mt19937 random(seed);
  auto numbers = [&](int count, int64_t below) {
    std::vector<int64_t> list;
    for (int i = 0; i < count; ++i)
      list.push_back(int64_t(random() % uint32_t(below)));
    return list;
  };
  ShardingProblem problem;
  problem.tables = {numbers(labelCount * labelCount, 1000),
                    numbers(labelCount * labelCount, 1000)};
  problem.tables[1][random() % (labelCount * labelCount)] =
      ShardingProblem::forbidden;
  const std::vector<int64_t> none(labelCount);
  const std::vector<int64_t> costs[] = {numbers(labelCount, 300),
                                        numbers(labelCount, 300)};
  for (int32_t node = 0; node < 2 * layerCount; ++node) {
    problem.nodes.push_back({0, 0, costs[node % 2], none});
    if (node > 0)
      problem.edges.push_back({node - 1, node, 1 - node % 2});
  }
  problem.nodes.back().costs = numbers(labelCount, 3000);
  return problem;
}

/// By dynamic programming along the chain.
int64_t leastCost(const ShardingProblem &problem) {
  std::vector<int64_t> least = problem.nodes[0].costs;
  for (size_t node = 1; node < problem.nodes.size(); ++node) {
    const std::vector<int64_t> &table =
        problem.tables[problem.edges[node - 1].table];
    std::vector<int64_t> next;
    for (size_t label = 0; label < least.size(); ++label) {
      int64_t best = ShardingProblem::forbidden;
      for (size_t before = 0; before < least.size(); ++before)
        best =
            std::min(best, least[before] + table[before * labelCount + label]);
      next.push_back(best + problem.nodes[node].costs[label]);
    }
    least = next;
  }
  return *std::min_element(least.begin(), least.end());
}

/// Nothing for a forbidden choice.
std::optional<int64_t> costOf(const ShardingGroups &groups,
                              const std::vector<int32_t> &labels) {
  __int128 cost = groups.constant;
  for (size_t group = 0; group < labels.size(); ++group)
    cost += groups.groups[group].costs[labels[group]];
  for (const ShardingGroups::Edge &edge : groups.edges) {
    const ShardingGroups::Table &table = groups.tables[edge.table];
    cost += table.costs[size_t(labels[edge.first]) * table.columns +
                        size_t(labels[edge.second])];
  }
  if (cost >= ShardingProblem::forbidden)
    return std::nullopt;
  return int64_t(cost);
}

TEST(ShardingFold, CostsWhatAllThatIsAlikeCosts) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    ShardingGroups groups;
    ASSERT_EQ(groupShardings(chain(seed), groups), std::nullopt);
    const ShardingTwins twins(groups);
    const ShardingFold fold(groups, twins);
    const size_t count = fold.folded().groups.size();
    EXPECT_LT(count, groups.groups.size() / 3);
    std::mt19937 random(seed);
    std::vector<int32_t> labels;
    for (size_t group = 0; group < count; ++group)
      labels.push_back(int32_t(random() % labelCount));
    EXPECT_EQ(costOf(fold.folded(), labels),
              costOf(groups, fold.labels(labels)))
        << seed;
  }
}

/// A ring of layers of three nodes, without ends: all layers are alike. No
/// choice pleases all three edges of a layer.
ShardingGroups ring(uint32_t seed) {
  std::mt19937 random(seed);
  ShardingProblem problem;
  const std::vector<int64_t> none(labelCount);
  for (int32_t node = 0; node < 3 * layerCount; ++node)
    problem.nodes.push_back({0, 0, none, none});
  for (int32_t table = 0; table < 3; ++table) {
    for (int32_t layer = 0; layer < layerCount; ++layer) {
      const int32_t next = (layer + 1) % layerCount;
      const std::pair<int32_t, int32_t> ends[] = {
          {layer, layerCount + layer},
          {layerCount + layer, 2 * layerCount + layer},
          {next, 2 * layerCount + layer}};
      problem.edges.push_back({ends[table].first, ends[table].second, table});
    }
    std::vector<int64_t> &costs = problem.tables.emplace_back();
    for (int place = 0; place < labelCount * labelCount; ++place)
      costs.push_back(int64_t(random() % 1000));
  }
  ShardingGroups groups;
  EXPECT_EQ(groupShardings(problem, groups), std::nullopt);
  return groups;
}

/// What messages prove.
double boundOf(const ShardingGroups &groups,
               const ShardingBound::Messages &messages) {
  auto bound = double(groups.constant);
  for (const ShardingGroups::Group &group : groups.groups) {
    std::vector<double> costs(group.costs.begin(), group.costs.end());
    for (const ShardingGroups::Link &link : group.links)
      for (size_t label = 0; label < costs.size(); ++label)
        costs[label] += messages[2 * link.edge + (link.isFirst ? 0 : 1)][label];
    bound += *std::min_element(costs.begin(), costs.end());
  }
  for (size_t edge = 0; edge < groups.edges.size(); ++edge) {
    const ShardingGroups::Table &table =
        groups.tables[groups.edges[edge].table];
    double least = 1e18;
    for (size_t place = 0; place < table.costs.size(); ++place)
      least =
          std::min(least, double(table.costs[place]) -
                              messages[2 * edge][place / table.columns] -
                              messages[2 * edge + 1][place % table.columns]);
    bound += least;
  }
  return bound;
}

TEST(ShardingFold, SharesMessagesThatProveAsMuch) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    const ShardingGroups groups = ring(seed);
    const ShardingTwins twins(groups);
    const ShardingFold fold(groups, twins);
    ASSERT_EQ(fold.folded().groups.size(), 3u) << seed;
    ShardingBound folded(fold.folded());
    folded.settle(64);
    ASSERT_GT(folded.bound(), 1000) << seed;
    const ShardingBound::Messages messages = fold.messages(folded);
    EXPECT_NEAR(boundOf(groups, messages), folded.bound(), 0.01) << seed;
    ShardingBound bound(groups);
    bound.start(messages);
    bound.settle(4);
    EXPECT_GE(bound.bound(), folded.bound() - 0.01) << seed;
  }
}

TEST(ShardingFold, FindsWhereLayersDiffer) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    const ShardingProblem problem = chain(seed);
    const ShardingSolution solution = solveSharding(problem, {.effort = 2});
    ASSERT_TRUE(solution.valid) << seed;
    EXPECT_EQ(solution.cost, leastCost(problem)) << seed;
    EXPECT_EQ(checkSharding(problem, solution), std::nullopt) << seed;
  }
}

} // namespace
