//===- ShardingChoiceTest.cpp - layouts against all choices ---------------===//
//
// The worked example, all choices of small random problems, changed claims, and
// both text forms with their errors.
//
//===----------------------------------------------------------------------===//

#include "tenon/Solver/ShardingChoice.h"

#include "Rounds.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <random>

using namespace tenon::solver;

namespace {

constexpr int64_t forbidden = ShardingProblem::forbidden;

/// The example of ShardingChoice.h.
ShardingProblem example() {
  ShardingProblem problem;
  problem.nodes = {{0, 2, {4, 1}, {10, 5}},
                   {1, 3, {4, 1}, {10, 5}},
                   {2, 4, {0, 9}, {10, 5}}};
  problem.tables = {{0, 0, 6, 0}};
  problem.edges = {{0, 1, 0}, {1, 2, 0}};
  problem.limit = 12;
  return problem;
}

/// Some tables permit one partner per strategy, some forbid single pairs, and
/// some are sums of rows and columns.
ShardingProblem randomShardings(uint32_t seed) {
  std::mt19937 random(seed);
  auto below = [&](uint32_t bound) {
    return static_cast<int32_t>(random() % bound);
  };
  ShardingProblem problem;
  const int32_t count = 1 + below(7);
  for (int32_t i = 0; i < count; ++i) {
    ShardingProblem::Node &node = problem.nodes.emplace_back();
    node.begin = below(6);
    node.end = node.begin + below(5);
    for (int32_t j = 1 + below(4); j > 0; --j) {
      node.costs.push_back(below(12) == 0 ? forbidden : below(30));
      node.bytes.push_back(below(20));
    }
  }
  for (int32_t i = count > 1 ? below(11) : 0; i > 0; --i) {
    const int32_t first = below(count);
    const int32_t second = (first + 1 + below(count - 1)) % count;
    const size_t rows = problem.nodes[first].costs.size();
    const size_t columns = problem.nodes[second].costs.size();
    const int32_t kind = below(4), shift = below(4);
    std::vector<int64_t> ofRow(rows), ofColumn(columns), table;
    for (int64_t &cost : ofRow)
      cost = below(20);
    for (int64_t &cost : ofColumn)
      cost = below(20);
    for (size_t row = 0; row < rows; ++row)
      for (size_t column = 0; column < columns; ++column) {
        const bool isPartner =
            (row + shift) % std::max(rows, columns) == column;
        table.push_back(kind == 0 ? ofRow[row] + ofColumn[column]
                        : kind == 1 && !isPartner    ? forbidden
                        : kind == 2 && below(5) == 0 ? forbidden
                                                     : below(25));
      }
    problem.edges.push_back(
        {first, second, static_cast<int32_t>(problem.tables.size())});
    problem.tables.push_back(std::move(table));
  }
  if (below(4))
    problem.limit = 10 + below(60);
  return problem;
}

/// What the definition says, or nothing for a forbidden choice.
std::optional<int64_t> costOf(const ShardingProblem &problem,
                              const std::vector<int32_t> &strategies) {
  int64_t cost = 0;
  std::map<int64_t, int64_t> taken;
  for (size_t i = 0; i < strategies.size(); ++i) {
    const ShardingProblem::Node &node = problem.nodes[i];
    if (node.costs[strategies[i]] == forbidden)
      return std::nullopt;
    cost += node.costs[strategies[i]];
    for (int64_t time = node.begin; time < node.end; ++time)
      taken[time] += node.bytes[strategies[i]];
  }
  for (const ShardingProblem::Edge &edge : problem.edges) {
    const int64_t added =
        problem.tables[edge.table][strategies[edge.first] *
                                       problem.nodes[edge.second].costs.size() +
                                   strategies[edge.second]];
    if (added == forbidden)
      return std::nullopt;
    cost += added;
  }
  for (const auto &[time, bytes] : taken)
    if (problem.limit && bytes > *problem.limit)
      return std::nullopt;
  return cost;
}

std::optional<int64_t> tryAllChoices(const ShardingProblem &problem) {
  std::optional<int64_t> best;
  std::vector<int32_t> strategies(problem.nodes.size());
  while (true) {
    if (auto cost = costOf(problem, strategies);
        cost && (!best || *cost < *best))
      best = cost;
    size_t i = 0;
    while (i < strategies.size() &&
           size_t(++strategies[i]) == problem.nodes[i].costs.size())
      strategies[i++] = 0;
    if (i == strategies.size())
      return best;
  }
}

ShardingOptions quick() {
  ShardingOptions options;
  options.effort = 2;
  return options;
}

TEST(ShardingChoice, TheWorkedExample) {
  const ShardingSolution solution = solveSharding(example(), quick());
  ASSERT_TRUE(solution.valid) << solution.message;
  EXPECT_EQ(solution.strategies, std::vector<int32_t>({1, 1, 1}));
  EXPECT_EQ(solution.cost, 11);
  EXPECT_EQ(solution.peak, 10);
  EXPECT_EQ(solution.bound, 11);
  EXPECT_EQ(checkSharding(example(), solution), std::nullopt);

  ShardingProblem free = example();
  free.limit.reset();
  EXPECT_EQ(solveSharding(free, quick()).cost, 8);
}

TEST(ShardingChoice, FindsTheCheapestOfAllChoices) {
  int solved = 0, proved = 0, impossible = 0;
  for (uint32_t seed = 0; seed < 1500; seed += test::roundStride) {
    const ShardingProblem problem = randomShardings(seed);
    const std::optional<int64_t> cheapest = tryAllChoices(problem);
    const ShardingSolution solution = solveSharding(problem, quick());
    ASSERT_EQ(solution.valid, cheapest.has_value())
        << seed << ": " << solution.message;
    if (!cheapest) {
      ++impossible;
      EXPECT_FALSE(solution.message.empty()) << seed;
      continue;
    }
    EXPECT_EQ(solution.cost, *cheapest) << seed;
    EXPECT_EQ(checkSharding(problem, solution), std::nullopt) << seed;
    ++solved;
    proved += solution.bound == solution.cost;
  }
  EXPECT_GT(impossible, solved / 20);
  EXPECT_GT(proved, solved * 3 / 4);
}

/// Prices of a fifth per byte, beside a strategy that is left without a partner
/// as the only one takes more than the limit.
TEST(ShardingChoice, ProvesSmallPricesBesideForbiddenPairs) {
  constexpr int64_t bytes = 10'000'000, step = 200'000;
  ShardingProblem problem;
  for (int64_t i = 1; i <= 20; ++i)
    problem.nodes.push_back({0, 1, {0, i * step}, {bytes, 0}});
  problem.nodes.push_back({0, 1, {0, 0, 0}, {0, 1000 * bytes, 0}});
  problem.nodes.push_back({0, 1, {0, 0, 0}, {0, 0, 0}});
  for (int reader = 0; reader < 2; ++reader)
    problem.nodes.push_back({0, 1, {0, 0}, {0, 0}});
  problem.tables = {{1, forbidden, 5, forbidden, 0, forbidden, 7, forbidden, 3},
                    {1, 0, 0, 2, 1, 3}};
  problem.edges = {{20, 21, 0}, {21, 22, 1}, {21, 23, 1}};
  problem.limit = 10 * bytes;
  const ShardingSolution solution = solveSharding(problem, {.effort = 1});
  ASSERT_TRUE(solution.valid);
  EXPECT_EQ(solution.cost, 1 + step * (10 * 11 / 2));
  EXPECT_GE(solution.bound, solution.cost / 100 * 99);
  EXPECT_EQ(checkSharding(problem, solution), std::nullopt);
}

/// A chain whose nodes are alive together in twos and threes, and whose edges
/// cost where neighbours differ: nodes give their costs away along it.
ShardingProblem randomChain(uint32_t seed) {
  std::mt19937 random(seed);
  auto between = [&](int64_t least, int64_t most) {
    return least + int64_t(random() % uint32_t(most - least + 1));
  };
  ShardingProblem problem;
  for (int64_t i = 0; i < 10; ++i) {
    const int64_t bytes = between(40, 100);
    problem.nodes.push_back({i,
                             i + between(2, 4),
                             {between(0, 200), between(500, 3000)},
                             {bytes, bytes / 4}});
    if (i == 0)
      continue;
    problem.edges.push_back({int32_t(i - 1), int32_t(i), int32_t(i - 1)});
    problem.tables.push_back(
        {0, between(100, 1000), between(100, 1000), between(0, 200)});
  }
  problem.limit = 160;
  return problem;
}

/// With steps of prices along what labels take by chance, where all look alike,
/// bounds were half of the least costs.
TEST(ShardingChoice, ProvesMostOfWhatALimitCosts) {
  double cheapest = 0, proved = 0;
  for (uint32_t seed = 0; seed < 20; ++seed) {
    const ShardingProblem problem = randomChain(seed);
    const std::optional<int64_t> least = tryAllChoices(problem);
    ASSERT_TRUE(least) << seed;
    const ShardingSolution solution = solveSharding(problem, quick());
    ASSERT_TRUE(solution.valid) << seed;
    EXPECT_LE(solution.bound, *least) << seed;
    EXPECT_EQ(checkSharding(problem, solution), std::nullopt) << seed;
    cheapest += double(*least);
    proved += double(solution.bound);
  }
  EXPECT_GE(proved, 0.65 * cheapest) << proved / cheapest;
}

TEST(ShardingChoice, SameProblemSameSolution) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    const ShardingProblem problem = randomShardings(seed);
    EXPECT_EQ(printShardingSolution(solveSharding(problem, quick())),
              printShardingSolution(solveSharding(problem, quick())));
  }
}

TEST(ShardingChoice, RefusesFalseBounds) {
  std::mt19937 random(7);
  int refused = 0;
  for (uint32_t seed = 0; seed < 400; seed += test::roundStride) {
    const ShardingProblem problem = randomShardings(seed);
    ShardingSolution solution = solveSharding(problem, quick());
    if (!solution.valid)
      continue;
    ShardingSolution above = solution;
    above.bound = above.cost + 1;
    EXPECT_NE(checkSharding(problem, above), std::nullopt) << seed;
    ShardingSolution dearer = solution;
    dearer.cost += 1;
    EXPECT_NE(checkSharding(problem, dearer), std::nullopt) << seed;
    // Whatever the messages and prices are, a bound that the checker accepts
    // is true: no choice costs less.
    const std::optional<int64_t> cheapest = tryAllChoices(problem);
    ShardingSolution changed = solution;
    for (ShardingSolution::Messages &messages : changed.messages)
      for (std::vector<int64_t> *side : {&messages.toFirst, &messages.toSecond})
        for (int64_t &message : *side)
          if (random() % 3 == 0)
            message += int64_t(random() % 41 - 20) * changed.scale;
    for (ShardingSolution::Price &price : changed.prices)
      if (random() % 2)
        price.amount += int64_t(random() % 3) * changed.scale;
    changed.cost = solution.cost;
    for (changed.bound = solution.cost; changed.bound >= 0; --changed.bound)
      if (!checkSharding(problem, changed))
        break;
    EXPECT_LE(changed.bound, *cheapest) << seed;
    refused += changed.bound < solution.bound;
  }
  EXPECT_GT(refused, 20 / test::roundStride);
}

TEST(ShardingChoice, RefusesWhatIsNotWithinTheLimit) {
  const ShardingProblem problem = example();
  ShardingSolution solution = solveSharding(problem, quick());
  solution.strategies = {0, 0, 0};
  solution.cost = 8;
  solution.peak = 20;
  EXPECT_EQ(checkSharding(problem, solution),
            "at time 1 the choice takes 20 bytes, more than the limit 12");
}

TEST(ShardingChoice, SaysWhyThereIsNoChoice) {
  ShardingProblem tight = example();
  tight.limit = 9;
  EXPECT_EQ(solveSharding(tight, quick()).message,
            "at time 1 every choice takes at least 10 bytes");
  ShardingProblem torn = example();
  torn.tables[0] = {forbidden, forbidden, forbidden, forbidden};
  EXPECT_EQ(solveSharding(torn, quick()).message,
            "node 0 has no strategy that is permitted by all others");
}

TEST(ShardingChoice, TextGoesThereAndBack) {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    const ShardingProblem problem = randomShardings(seed);
    const std::string text = printShardingProblem(problem);
    ShardingProblem again;
    ASSERT_EQ(parseShardingProblem(text, again), std::nullopt) << text;
    EXPECT_EQ(printShardingProblem(again), text);
    const ShardingSolution solution = solveSharding(problem, quick());
    if (!solution.valid)
      continue;
    const std::string solved = printShardingSolution(solution);
    ShardingSolution read;
    ASSERT_EQ(parseShardingSolution(solved, read), std::nullopt) << solved;
    EXPECT_EQ(printShardingSolution(read), solved);
  }
}

TEST(ShardingChoice, ReadsTheContestsForm) {
  ShardingProblem problem;
  ASSERT_EQ(parseShardingProblem(
                R"({"problem": {"name": "example",
  "nodes": {"intervals": [[0, 2], [1, 3], [2, 4]],
            "costs": [[4, 1], [4, 1], [0, 9]],
            "usages": [[10, 5], [10, 5], [10, 5]]},
  "edges": {"nodes": [[0, 1], [1, 2]],
            "costs": [[0, 0, 6, 0], [0, 0, 6, 0]]},
  "usage_limit": 12}})",
                problem),
            std::nullopt);
  EXPECT_EQ(problem.name, "example");
  EXPECT_EQ(printShardingProblem(problem), printShardingProblem(example()));
}

TEST(ShardingChoice, SaysWhatIsWrongWithAFile) {
  auto error = [](std::string_view text) {
    ShardingProblem problem;
    return parseShardingProblem(text, problem).value_or("none");
  };
  EXPECT_EQ(error("sharding-problem 2\n"),
            "line 1: expected 'sharding-problem 1'");
  EXPECT_EQ(error("sharding-problem 1\nnode 0 0 1  3\n"),
            "line 2: expected pairs 'COST BYTES' of whole numbers, or "
            "'forbidden' for a cost");
  EXPECT_EQ(error("sharding-problem 1\nnode 0 0 1  3 1\nedge 0 1 0\n"),
            "line 3: expected 'edge FIRST SECOND TABLE', after what it names");
  EXPECT_EQ(error("{\"problem\": {\"usage_limit\": \"x\"}}"),
            "line 1, byte 28: expected a whole number of 64 bits");
  EXPECT_EQ(error("{\"problem\": {\"nodes\": {\"colour\": []}}}"),
            "line 1, byte 32: unknown field 'colour'");
  EXPECT_EQ(error("{\"problem\": {}"), "line 1, byte 14: expected ',' or '}'");
  EXPECT_EQ(error("{\"problem\": {\"nodes\": {\"costs\": [[1]]}}}"),
            "there are 0 intervals, 1 lists of costs and 0 of usages");
}

} // namespace
