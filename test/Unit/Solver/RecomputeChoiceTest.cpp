//===- RecomputeChoiceTest.cpp - plans, bounds and claims of recomputation ===//
//
// Small examples, brute force on random graphs, mutation of every field of
// a solution, closed forms on chains, and errors in files.
//
//===----------------------------------------------------------------------===//

#include "GraphGenerators.h"
#include "RecomputeBruteForce.h"
#include "RecomputeChoice/RecomputeChain.h"
#include "RecomputeChoice/RecomputeSearch.h"
#include "RecomputeChoice/RecomputeSolver.h"
#include "Rounds.h"

#include "tenon/Solver/RecomputeClaim.h"

#include <algorithm>
#include <array>
#include <gtest/gtest.h>
#include <map>

using namespace tenon::solver;
using tenon::solver::test::roundStride;
using namespace tenon::benchmark;

/// Every third graph plain, with extras, or with loops and variants.
static RecomputeProblem anyKind(int32_t nodes, double edgeProbability,
                                uint64_t seed) {
  return seed % 3 == 2 ? anyGraphWithChoices(nodes, edgeProbability, seed)
                       : anyGraph(nodes, edgeProbability, seed % 3 == 1, seed);
}

static RecomputeProblem shortChain() {
  RecomputeProblem problem;
  EXPECT_EQ(parseRecomputeProblem("recompute-problem 1\n"
                                  "nodes 6\n"
                                  "loss 3\n"
                                  "node 0 2 4\nnode 1 3 4\nnode 2 4 4\n"
                                  "node 3 1 1\nnode 4 0 0\nnode 5 0 0\n"
                                  "edge 0 1\nedge 1 2\nedge 2 3\n"
                                  "edge 3 4\nedge 1 4\nedge 4 5\nedge 0 5\n",
                                  problem),
            std::nullopt);
  return problem;
}

TEST(RecomputeChoice, TheCheaperOneRunsAgain) {
  RecomputeProblem problem = shortChain();
  RecomputeSolution all = solveRecompute(problem, 13);
  EXPECT_EQ(all.cost, 10);
  EXPECT_EQ(all.peak, 13);
  RecomputeSolution tight = solveRecompute(problem, 10);
  ASSERT_EQ(tight.status, RecomputeStatus::Solved);
  EXPECT_EQ(tight.cost, 12);
  EXPECT_EQ(tight.bound, 12);
  EXPECT_EQ(tight.peak, 9);
  EXPECT_EQ(tight.order, (std::vector<int32_t>{0, 1, 2, 3, 4, 0, 5}));
  EXPECT_EQ(checkRecompute(problem, tight), std::nullopt);
}

/// Six values wait when the node after next reads the first of them.
static RecomputeProblem sixWaiting(const std::array<int64_t, 6> &bytes) {
  RecomputeProblem problem;
  for (size_t i = 0; i < bytes.size(); ++i)
    problem.nodes.push_back({40 + 4 * static_cast<int64_t>(i), bytes[i]});
  problem.nodes.push_back({1, 0});
  for (int32_t value = 0; value < 6; ++value) {
    problem.nodes.push_back({1, 0});
    problem.edges.push_back({value, 7 + value});
  }
  return problem;
}

TEST(RecomputeChoice, WholeValuesCloseWhatAPriceOfBytesCannot) {
  // 55 of 60 bytes fit: a price of bytes drops half of a value, a plan a whole
  // one, node 1 being the cheapest that is read later.
  RecomputeProblem problem = sixWaiting({10, 10, 10, 10, 10, 10});
  RecomputeSolution solution = solveRecompute(problem, 55);
  ASSERT_EQ(solution.status, RecomputeStatus::Solved);
  EXPECT_EQ(solution.cost, 307 + 44);
  EXPECT_EQ(solution.bound, solution.cost);
  EXPECT_EQ(checkRecompute(problem, solution), std::nullopt);
  EXPECT_EQ(solution.certificate.unit, 10);
  EXPECT_TRUE(solution.certificate.cases.empty());
  for (int64_t unit : {1, 9, 11, 20}) {
    RecomputeSolution other = solution;
    other.certificate.unit = unit;
    EXPECT_NE(checkRecompute(problem, other), std::nullopt) << unit;
  }
  RecomputeSolution other = solution;
  other.certificate.unit = 0;
  EXPECT_EQ(checkRecompute(problem, other),
            "certificate: the unit 0 is below 1, or not of a bound without "
            "variants and loops");
}

TEST(RecomputeChoice, CasesCloseWhatAPriceCannot) {
  // Values of several sizes, so that no unit tells what a plan drops.
  RecomputeProblem problem = sixWaiting({10, 9, 14, 23, 17, 12});
  RecomputeSolution solution = solveRecompute(problem, 74);
  ASSERT_EQ(solution.status, RecomputeStatus::Solved);
  EXPECT_EQ(solution.bound, solution.cost);
  EXPECT_EQ(checkRecompute(problem, solution), std::nullopt);
  ASSERT_FALSE(solution.certificate.cases.empty());
  RecomputeSolution missing = solution;
  missing.certificate.cases.pop_back();
  EXPECT_EQ(checkRecompute(problem, missing), "certificate: a case is missing");
  missing = solution;
  missing.certificate.cases.push_back({});
  EXPECT_EQ(checkRecompute(problem, missing),
            "certificate: cases follow the last one");
  ++solution.bound;
  EXPECT_NE(checkRecompute(problem, solution), std::nullopt);
}

TEST(RecomputeChoice, CasesAreSeenFromSeveralCuts) {
  // Nodes 0 to 4 run in turn; 5 reads the large value 4 and makes little, 6
  // reads nothing and needs room, 7 reads 4 again and needs less room, then the
  // others are read. At 6 it seems cheap to drop 4; at 7 it is back.
  RecomputeProblem problem;
  for (auto [cost, bytes] :
       {std::pair(50, 10), std::pair(54, 11), std::pair(46, 9),
        std::pair(58, 12), std::pair(70, 40)})
    problem.nodes.push_back({cost, bytes});
  for (int64_t room : {0, 50, 30})
    problem.nodes.push_back({1, 1, room});
  problem.edges = {{4, 5}, {4, 7}, {5, 6}, {6, 7}};
  for (int32_t value : {3, 2, 1, 0}) {
    problem.edges.push_back({static_cast<int32_t>(problem.nodes.size()) - 1,
                             static_cast<int32_t>(problem.nodes.size())});
    problem.edges.push_back(
        {value, static_cast<int32_t>(problem.nodes.size())});
    problem.nodes.push_back({1, 0});
  }
  RecomputeSolution solution = solveRecompute(problem, 105);
  ASSERT_EQ(solution.status, RecomputeStatus::Solved);
  EXPECT_EQ(solution.bound, solution.cost);
  EXPECT_EQ(checkRecompute(problem, solution), std::nullopt);
  RecomputeCertificate &certificate = solution.certificate;
  ASSERT_EQ(certificate.cut, 6);
  ASSERT_EQ(certificate.cases.size(), 3u);
  EXPECT_EQ(certificate.cases[0].split, 4);
  EXPECT_EQ(certificate.cases[1].at, 7);
  EXPECT_EQ(certificate.cases[2].at, -1);
  // What is paid for at 7 is so because of the cut before it.
  certificate.cases[1].at = 6;
  EXPECT_EQ(checkRecompute(problem, solution),
            "certificate: a case at node 6 does not belong to a single cut "
            "before it");
  certificate.cases[1].at = 7;
  certificate.later.emplace_back().cut = 8;
  EXPECT_EQ(checkRecompute(problem, solution),
            "certificate: a case at node 7 does not belong to a single cut "
            "before it");
  certificate.later.clear();
  std::swap(certificate.cases[1], certificate.cases[2]);
  EXPECT_NE(checkRecompute(problem, solution), std::nullopt);
}

TEST(RecomputeChoice, WhatRunsOnceMaySpareTime) {
  // Nodes 1 and 2 run for the first time as one kernel, 3 sooner than apart.
  RecomputeProblem problem = shortChain();
  problem.nodes.push_back({-3, 0, 0, /*pinned=*/true});
  RecomputeSolution solution = solveRecompute(problem, 10);
  ASSERT_EQ(solution.status, RecomputeStatus::Solved);
  EXPECT_EQ(solution.cost, 12 - 3);
  EXPECT_EQ(solution.bound, 12 - 3);
  EXPECT_EQ(checkRecompute(problem, solution), std::nullopt);
  problem.nodes.front().cost = -8;
  EXPECT_EQ(validateRecomputeProblem(problem),
            "node 0 has a negative cost or size");
  problem.nodes.front().cost = 2;
  problem.nodes.back().cost = -11;
  EXPECT_EQ(validateRecomputeProblem(problem),
            "the sum of all costs is negative");
  problem.nodes.back().cost = -3;
  problem.variants.push_back({0, 0, 1, 1, 1});
  EXPECT_EQ(validateRecomputeProblem(problem),
            "costs are negative where transfers need a clock");
  // At the very start, too.
  RecomputeProblem first;
  first.nodes = {{-3, 0, 0, /*pinned=*/true}, {5, 1}};
  solution = solveRecompute(first, 1);
  EXPECT_EQ(solution.cost, 2);
  EXPECT_EQ(checkRecompute(first, solution), std::nullopt);
}

TEST(RecomputeChoice, ViewsCountOnce) {
  // Node 1 is a view of node 0; node 2 reads the view, so node 0 is live.
  RecomputeProblem problem;
  problem.nodes = {{1, 10}, {0, 10}, {1, 3}};
  problem.edges = {{0, 1}, {1, 2}};
  problem.aliases = {{1, 0}};
  RecomputeSolution solution = solveRecompute(problem, 100);
  EXPECT_EQ(solution.peak, 13);
  EXPECT_EQ(checkRecompute(problem, solution), std::nullopt);
}

TEST(RecomputeChoice, AnOutputOverAnInputCountsOnce) {
  // The second node writes its 4 bytes over the first one's.
  RecomputeProblem problem;
  problem.nodes = {{1, 4}, {1, 4, -4}, {1, 1}};
  problem.edges = {{0, 1}, {1, 2}};
  RecomputeSolution solution = solveRecompute(problem, 5);
  EXPECT_EQ(solution.status, RecomputeStatus::Solved);
  EXPECT_EQ(solution.peak, 5);
  EXPECT_EQ(checkRecompute(problem, solution), std::nullopt);
  solution = solveRecompute(problem, 4);
  EXPECT_EQ(solution.status, RecomputeStatus::Infeasible);
  EXPECT_EQ(checkRecompute(problem, solution), std::nullopt);
}

TEST(RecomputeChoice, EmptyAndZeroProblems) {
  RecomputeSolution none = solveRecompute({}, 0);
  EXPECT_EQ(none.status, RecomputeStatus::Solved);
  EXPECT_EQ(checkRecompute({}, none), std::nullopt);
  none = solveRecompute({}, INT64_MIN);
  EXPECT_EQ(none.status, RecomputeStatus::Invalid);
  EXPECT_EQ(none.message, "a budget of -9223372036854775808 is negative");
  RecomputeProblem zero;
  zero.nodes.resize(3);
  zero.edges = {{0, 1}, {0, 2}};
  RecomputeSolution free = solveRecompute(zero, 0);
  EXPECT_EQ(free.status, RecomputeStatus::Solved);
  EXPECT_EQ(checkRecompute(zero, free), std::nullopt);
  RecomputeSolution tight = solveRecompute(zero, INT64_MIN);
  EXPECT_EQ(tight.status, RecomputeStatus::Infeasible);
  EXPECT_EQ(checkRecompute(zero, tight), std::nullopt);
}

/// bound <= optimum <= plan, infeasible only where nothing exists; how many
/// plans are optimal.
static void compareWithBruteForce(int kind, uint64_t from, uint64_t to,
                                  int32_t most) {
  int64_t solved = 0, optimal = 0, missed = 0;
  for (uint64_t seed = from; seed < to; seed += roundStride) {
    Random random(seed * 77 + 1);
    auto nodes = static_cast<int32_t>(random.between(3, most));
    double density = 0.15 + 0.05 * double(random.between(0, 10));
    RecomputeProblem problem =
        anyKind(nodes, density, 3 * seed + static_cast<uint64_t>(kind));
    RecomputeOptions options;
    options.moves = 20'000;
    int64_t peak = solveRecompute(problem, int64_t(1) << 40, options).peak;
    int64_t budget = random.between(peak / 2, peak);
    RecomputeSolution solution = solveRecompute(problem, budget, options);
    int64_t best = cheapestPlan(problem, budget);
    ASSERT_EQ(checkRecompute(problem, solution), std::nullopt) << seed;
    if (solution.status == RecomputeStatus::Infeasible) {
      EXPECT_EQ(best, -1) << seed;
      continue;
    }
    if (best < 0) {
      EXPECT_EQ(solution.status, RecomputeStatus::Undecided) << seed;
      continue;
    }
    EXPECT_LE(solution.bound, best) << seed;
    EXPECT_LE(solution.anyOrderBound, best) << seed;
    if (solution.status == RecomputeStatus::Undecided) {
      ++missed;
      continue;
    }
    EXPECT_GE(solution.cost, best) << seed;
    ++solved;
    optimal += solution.cost == best;
  }
  EXPECT_GE(20 * optimal, 19 * (solved + missed))
      << solved << " solved, " << optimal << " optimal, " << missed
      << " missed";
}

TEST(RecomputeChoice, AgainstBruteForce) {
  compareWithBruteForce(0, 0, 1000, 12);
}
TEST(RecomputeChoice, AgainstBruteForceWithExtras) {
  compareWithBruteForce(1, 0, 1000, 11);
}
TEST(RecomputeChoice, AgainstBruteForceWithLoopsAndVariants) {
  compareWithBruteForce(2, 0, 1000, 8);
}

TEST(RecomputeChoice, VariantsWaitElsewhere) {
  // Node 0 must not run again and is read first and last; node 2 needs the
  // memory in between. In the host's memory it makes room: the save takes 1 and
  // moves for 3 while node 1 runs, the load takes 2 and moves while node 4
  // does.
  RecomputeProblem problem;
  problem.nodes = {{4, 10}, {4, 1}, {4, 8}, {4, 1}, {4, 1}, {4, 1}};
  problem.nodes[0].pinned = true;
  problem.edges = {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {0, 5}};
  EXPECT_EQ(solveRecompute(problem, 13).status, RecomputeStatus::Infeasible);
  problem.variants = {{0, 0, 1, 2, 3}};
  RecomputeSolution solution = solveRecompute(problem, 13);
  ASSERT_EQ(solution.status, RecomputeStatus::Solved) << solution.message;
  EXPECT_EQ(solution.cost, 24 + 1 + 2);
  // 4 of its 10 bytes fit, so a price pays for part of the 3.
  EXPECT_EQ(solution.bound, 26);
  EXPECT_EQ(solution.order, (std::vector<int32_t>{0, 6, 1, 2, 3, 7, 4, 5}));
  EXPECT_EQ(transferEnds(problem, {}, solution.order),
            (std::vector<size_t>{0, 2, 2, 3, 4, 6, 6, 7}));
  EXPECT_EQ(checkRecompute(problem, solution), std::nullopt);
  // An engine too slow for the time between.
  problem.variants[0].transfer = 50;
  EXPECT_NE(solveRecompute(problem, 13).status, RecomputeStatus::Solved);
}

TEST(RecomputeChoice, TheEngineHasItsLimit) {
  // Neither node 0 nor 1 fits beside node 2. Waiting in the host's memory is
  // free, but two loads of 6 do not fit into the 8 units that follow; with half
  // a unit per unit of its time the engine's limit is part of the bound.
  RecomputeProblem problem;
  problem.nodes = {{8, 10}, {8, 10}, {4, 20}, {2, 1}, {2, 1}, {0, 1}};
  problem.edges = {{2, 3}, {3, 4}, {4, 5}, {0, 5}, {1, 5}};
  problem.variants = {{0, 0, 0, 0, 6}, {1, 0, 0, 0, 6}};
  RecomputeSolution solution = solveRecompute(problem, 22);
  ASSERT_EQ(solution.status, RecomputeStatus::Solved) << solution.message;
  EXPECT_GE(solution.cost, 24 + 8); // one of the two runs again
  EXPECT_GE(solution.bound, 24 + 2);
  EXPECT_GT(solution.certificate.transferNumerator, 0);
  EXPECT_EQ(checkRecompute(problem, solution), std::nullopt);
}

TEST(RecomputeChoice, RowsOfALoop) {
  // A loop needs 100 bytes while it runs, or 20 for 7 more units of time.
  RecomputeProblem problem;
  problem.nodes = {{5, 10}, {0, 4}, {1, 1}};
  problem.edges = {{0, 1}, {1, 2}};
  problem.loops = {{1, {{100, 5}, {20, 12}}, {}}};
  RecomputeSolution roomy = solveRecompute(problem, 200);
  EXPECT_EQ(roomy.cost, 11);
  EXPECT_EQ(roomy.peak, 114);
  EXPECT_EQ(roomy.rows, std::vector<int32_t>{0});
  RecomputeSolution tight = solveRecompute(problem, 60);
  ASSERT_EQ(tight.status, RecomputeStatus::Solved);
  EXPECT_EQ(tight.cost, 18);
  EXPECT_EQ(tight.peak, 34);
  // The first row does not fit by itself.
  EXPECT_EQ(tight.bound, 18);
  EXPECT_EQ(tight.rows, std::vector<int32_t>{1});
  EXPECT_EQ(checkRecompute(problem, tight), std::nullopt);
  // Nor does any plan with less than the second one needs.
  RecomputeSolution none = solveRecompute(problem, 33);
  EXPECT_EQ(none.status, RecomputeStatus::Infeasible);
  EXPECT_EQ(checkRecompute(problem, none), std::nullopt);
}

TEST(RecomputeChoice, ALoopRunsAgainInItsRow) {
  // What the loop makes waits for the last node, while node 1 needs all of the
  // memory: it runs again, and pays and needs its row each time.
  RecomputeProblem problem;
  problem.nodes = {{0, 10}, {9, 1}, {1, 1}};
  problem.nodes[1].workspace = 28;
  problem.edges = {{1, 2}, {0, 2}};
  problem.loops = {{0, {{20, 2}, {15, 3}}, {}}};
  RecomputeSolution solution = solveRecompute(problem, 30);
  ASSERT_EQ(solution.status, RecomputeStatus::Solved) << solution.message;
  EXPECT_EQ(solution.order, (std::vector<int32_t>{0, 1, 0, 2}));
  // The second run finds one byte less.
  EXPECT_EQ(solution.rows, std::vector<int32_t>{1});
  EXPECT_EQ(solution.cost, 16);
  EXPECT_EQ(solution.peak, 29);
  EXPECT_EQ(cheapestPlan(problem, 30), 16);
  EXPECT_EQ(checkRecompute(problem, solution), std::nullopt);
  solution.rows = {0};
  EXPECT_NE(checkRecompute(problem, solution), std::nullopt);
}

TEST(RecomputeChoice, BoundsHoldForWaysThatAreNotListed) {
  // A plan may run each loop in its cheapest way only, the bound allows for all
  // of them.
  int64_t solved = 0, wrongWithoutFloors = 0;
  for (uint64_t seed = 0; seed < 600; ++seed) {
    Random random(seed * 77 + 1);
    const RecomputeProblem all =
        anyKind(static_cast<int32_t>(random.between(4, 8)), 0.3, 3 * seed + 2);
    if (all.loops.empty())
      continue;
    RecomputeProblem few = all;
    for (RecomputeProblem::Loop &loop : few.loops) {
      loop.floors = loop.rows;
      loop.rows = {
          std::ranges::min(loop.rows, {}, &RecomputeProblem::Loop::Row::cost)};
    }
    RecomputeOptions options;
    options.moves = 5'000;
    const int64_t peak = solveRecompute(few, int64_t(1) << 40, options).peak;
    const int64_t budget = peak * random.between(60, 99) / 100;
    const RecomputeSolution solution = solveRecompute(few, budget, options);
    EXPECT_EQ(checkRecompute(few, solution), std::nullopt) << seed;
    RecomputeProblem again;
    ASSERT_EQ(parseRecomputeProblem(printRecomputeProblem(few), again),
              std::nullopt);
    EXPECT_EQ(checkRecompute(again, solution), std::nullopt) << seed;
    const int64_t best = cheapestPlan(all, budget);
    if (solution.status == RecomputeStatus::Infeasible)
      EXPECT_EQ(best, -1) << seed;
    for (RecomputeProblem::Loop &loop : few.loops)
      loop.floors.clear();
    const RecomputeSolution narrow = solveRecompute(few, budget, options);
    if (best < 0)
      continue;
    ++solved;
    EXPECT_LE(solution.bound, best) << seed;
    EXPECT_LE(solution.anyOrderBound, best) << seed;
    wrongWithoutFloors +=
        narrow.status == RecomputeStatus::Infeasible || narrow.bound > best;
  }
  EXPECT_GT(solved, 80);
  EXPECT_GT(wrongWithoutFloors, 5);
}

TEST(RecomputeChoice, BoundsAreForAllThatIsAllowed) {
  // Three values forward, a loss, and two readers on the way back. It costs 12
  // within 10 bytes, and 10 within 13: what was proved for less says nothing of
  // that.
  RecomputeProblem problem;
  ASSERT_EQ(parseRecomputeProblem("recompute-problem 1\n"
                                  "nodes 6\n"
                                  "loss 3\n"
                                  "node 0 2 4\nnode 1 3 4\nnode 2 4 4\n"
                                  "node 3 1 1\nnode 4 0 0\nnode 5 0 0\n"
                                  "edge 0 1\nedge 1 2\nedge 2 3\n"
                                  "edge 3 4\nedge 1 4\nedge 4 5\nedge 0 5\n",
                                  problem),
            std::nullopt);
  RecomputeOptions options;
  options.boundBudget = 13;
  const RecomputeSolution wide = solveRecompute(problem, 10, options);
  ASSERT_EQ(wide.status, RecomputeStatus::Solved);
  EXPECT_LE(wide.peak, 10);
  EXPECT_EQ(wide.cost, 12);
  EXPECT_EQ(wide.budget, 13);
  EXPECT_EQ(wide.bound, 10);
  EXPECT_EQ(solveRecompute(problem, 10).bound, 12);
  EXPECT_EQ(checkRecompute(problem, wide), std::nullopt);
}

TEST(RecomputeChoice, ClaimsAreSharesOfThePlan) {
  const RecomputeClaim claim{/*once=*/100, /*cost=*/130, /*bound=*/127};
  EXPECT_EQ(describe(claim),
            "at most 2.31 % of the predicted time and 10.00 % of the extra "
            "could be saved with these kernels, first run in this order");
  // Nothing is divided by a bound that may be 0.
  EXPECT_EQ((RecomputeClaim{0, 5, 0}.percentOfExtra()), 100);
  EXPECT_EQ((RecomputeClaim{5, 5, 5}.percentOfExtra()), 0);
  EXPECT_EQ((RecomputeClaim{0, 0, 0}.percentOfWhole()), 0);
}

TEST(RecomputeChoice, CollectivesRunAgainOnlyIfAllowed) {
  RecomputeProblem problem = shortChain();
  problem.nodes[0].collective = problem.nodes[1].collective = true;
  EXPECT_EQ(solveRecompute(problem, 10).status, RecomputeStatus::Infeasible);
  problem.mayRepeatCollectives = true;
  RecomputeSolution solution = solveRecompute(problem, 10);
  EXPECT_EQ(solution.cost, 12);
  problem.mayRepeatCollectives = false;
  EXPECT_NE(checkRecompute(problem, solution), std::nullopt);
}

/// What a plan costs and needs, by looking at every moment anew; nothing if it
/// is not valid.
static std::optional<std::pair<int64_t, int64_t>>
slowMeasure(const RecomputeProblem &problem,
            const RecomputeSolution &solution) {
  auto nodes = static_cast<int32_t>(problem.nodes.size());
  const std::vector<int32_t> &order = solution.order;
  auto size = static_cast<int32_t>(order.size());
  if (solution.rows.size() != problem.loops.size())
    return std::nullopt;
  for (size_t i = 0; i < problem.loops.size(); ++i)
    if (size_t(solution.rows[i]) >= problem.loops[i].rows.size())
      return std::nullopt;
  for (int32_t operation : order)
    if (operation < 0 || operation >= problem.operationCount())
      return std::nullopt;
  /// Which variant an operation saves or loads, and which of the two.
  auto variantOf = [&](int32_t operation, bool load) {
    for (size_t i = 0; i < problem.variants.size(); ++i)
      if (operation == (load ? problem.loadOf(i) : problem.saveOf(i)))
        return int32_t(i);
    return -1;
  };
  const int32_t values = problem.valueCount();
  const auto all = values + static_cast<int32_t>(problem.variants.size());
  auto reads = [&](int32_t value, int32_t operation) {
    if (int32_t save = variantOf(operation, false); save >= 0)
      return value == problem.variants[save].value;
    if (int32_t load = variantOf(operation, true); load >= 0)
      return value == values + load;
    for (auto [read, consumer] : problem.edges)
      for (int32_t under = read; under >= 0 && consumer == operation;) {
        if (under == value)
          return true;
        int32_t view = under;
        under = -1;
        for (auto [viewed, base] : problem.aliases)
          if (viewed == view)
            under = base;
      }
    return false;
  };
  auto makes = [&](int32_t value, int32_t operation) {
    if (int32_t save = variantOf(operation, false); save >= 0)
      return value == values + save;
    if (int32_t load = variantOf(operation, true); load >= 0)
      return value == problem.variants[load].value;
    return value < values && problem.producer(value) == operation;
  };
  auto bytes = [&](int32_t value) {
    if (value >= values)
      return problem.variants[value - values].bytes;
    for (auto [viewed, base] : problem.aliases)
      if (viewed == value)
        return int64_t(0);
    return problem.bytes(value);
  };
  auto numbers = [&](int32_t operation) -> std::pair<int64_t, int64_t> {
    if (int32_t save = variantOf(operation, false); save >= 0)
      return {problem.variants[save].saveCost, 0};
    if (int32_t load = variantOf(operation, true); load >= 0)
      return {problem.variants[load].loadCost, 0};
    std::pair<int64_t, int64_t> sum{problem.nodes[operation].cost,
                                    problem.nodes[operation].workspace};
    for (size_t i = 0; i < problem.loops.size(); ++i) {
      const auto &row = problem.loops[i].rows[solution.rows[i]];
      if (problem.loops[i].node == operation)
        sum = {sum.first + row.cost, sum.second + row.bytes};
    }
    return sum;
  };
  // Whether a late read finds its value at a place of the order.
  auto readsLate = [&](int32_t value, int32_t at) {
    for (auto [read, consumer] : problem.lateReads)
      if (read == value && consumer == order[at])
        for (int32_t before = 0; before < at; ++before)
          if (order[before] == problem.producer(value))
            return true;
    return false;
  };
  std::vector<int64_t> starts(size + 1, 0), ends(size, 0);
  for (int32_t at = 0; at < size; ++at) {
    starts[at + 1] = starts[at] + numbers(order[at]).first;
    ends[at] = starts[at + 1];
  }
  int32_t fresh = 0;
  for (int32_t at = 0; at < size; ++at) {
    int32_t operation = order[at];
    if (operation < nodes) {
      if (operation > fresh ||
          (operation < fresh && problem.runsOnce(operation)))
        return std::nullopt;
      fresh += operation == fresh;
    }
    // Transfers: after all earlier ones the same way, and after the save.
    int32_t save = variantOf(operation, false);
    int32_t load = variantOf(operation, true);
    int32_t variant = std::max(save, load);
    if (variant >= 0) {
      int64_t transfer = problem.variants[variant].transfer;
      for (int32_t before = 0; before < at; ++before) {
        int32_t other = variantOf(order[before], load >= 0);
        if (transfer > 0 && other >= 0 && problem.variants[other].transfer > 0)
          ends[at] = std::max(ends[at], ends[before]);
      }
      for (int32_t before = at; load >= 0 && before-- > 0;)
        if (variantOf(order[before], false) == load) {
          ends[at] = std::max(ends[at], ends[before]);
          break;
        }
      ends[at] += transfer;
    }
    for (int32_t value = 0; value < all; ++value) {
      int32_t last = -1; // the computation that is read
      for (int32_t before = 0; before < at; ++before)
        if (makes(value, order[before]))
          last = before;
      if ((reads(value, operation) || readsLate(value, at)) &&
          (last < 0 ||
           (variantOf(order[last], true) >= 0 && ends[last] > starts[at])))
        return std::nullopt;
      for (int32_t before = 0; before < at && makes(value, operation); ++before)
        if (order[before] >= nodes && ends[before] > starts[at] &&
            (makes(value, order[before]) || reads(value, order[before])))
          return std::nullopt;
    }
  }
  if (fresh != nodes)
    return std::nullopt;
  int64_t peak = 0;
  for (int32_t at = 0; at < size; ++at) {
    int64_t live = numbers(order[at]).second;
    for (int32_t before = 0; before < at && order[at] < nodes; ++before)
      if (order[before] == order[at]) {
        live += problem.nodes[order[at]].again;
        break;
      }
    /// Whether a transfer that goes on when an operation starts reads or makes
    /// the value.
    auto isMoving = [&](int32_t value) {
      bool any = false;
      for (int32_t before = 0; before < at; ++before)
        any |= order[before] >= nodes && ends[before] > starts[at] &&
               (makes(value, order[before]) || reads(value, order[before]));
      return any;
    };
    for (auto [value, node, more] : problem.overwrites) {
      bool stays = isMoving(value);
      for (int32_t later = at + 1; !stays && later < size; ++later) {
        stays = reads(value, order[later]) || readsLate(value, later);
        if (makes(value, order[later]))
          break;
      }
      live += node == order[at] && stays ? more : 0;
    }
    for (int32_t value = 0; value < all; ++value) {
      bool there = makes(value, order[at]) || reads(value, order[at]) ||
                   readsLate(value, at);
      // Another run of the node that makes it replaces what it reads.
      if (makes(value, order[at]) && readsLate(value, at))
        live += bytes(value);
      there |= isMoving(value);
      // Or computed before, and read later before it is computed again.
      bool computed = false;
      for (int32_t before = 0; before < at; ++before)
        computed |= makes(value, order[before]);
      for (int32_t later = at + 1; computed && !there && later < size;
           ++later) {
        there = reads(value, order[later]) || readsLate(value, later);
        if (makes(value, order[later]))
          break;
      }
      if (there)
        live += bytes(value);
    }
    peak = std::max(peak, live);
  }
  return std::pair(starts[size], peak);
}

/// Changes every number in the text of many solutions, one at a time, and drops
/// every line; what is accepted must still be true.
TEST(RecomputeChoice, EveryNumberMutated) {
  int64_t refused = 0, accepted = 0, series = 0, cases = 0, proofs = 0;
  int64_t casesOfSeries = 0, held = 0, units = 0, joined = 0, views = 0;
  for (uint64_t seed = 0; seed < 480; ++seed) {
    Random random(seed);
    bool choices = seed % 3 == 2;
    RecomputeProblem problem = anyKind(
        static_cast<int32_t>(random.between(choices ? 4 : 6, choices ? 8 : 11)),
        0.3, seed);
    RecomputeOptions options;
    options.moves = 5'000;
    int64_t peak = solveRecompute(problem, int64_t(1) << 40, options).peak;
    int64_t budget = peak * random.between(40, 95) / 100;
    const RecomputeSolution solution = solveRecompute(problem, budget, options);
    series += !solution.certificate.later.empty();
    cases += !solution.certificate.cases.empty();
    bool laterCases = false, isHeld = false, isWhole = false;
    bool isView = false;
    auto look = [&](const auto &cut) {
      isWhole |= cut.unit > 1;
      for (const RecomputeCertificate::Case &one : cut.cases) {
        isHeld |= one.held >= 0;
        isWhole |= one.unit > 1;
        isView |= one.at >= 0 && one.split < 0 && one.held < 0;
      }
    };
    look(solution.certificate);
    for (const RecomputeCertificate::Cut &cut : solution.certificate.later) {
      look(cut);
      laterCases |= !cut.cases.empty();
    }
    casesOfSeries += laterCases;
    held += isHeld;
    units += isWhole;
    views += isView;
    proofs += solution.status == RecomputeStatus::Infeasible;
    std::map<int64_t, int64_t> cheapest; // by budget
    auto judge = [&](const std::string &text) {
      RecomputeSolution changed;
      if (parseRecomputeSolution(text, changed) ||
          checkRecompute(problem, changed)) {
        ++refused;
        return;
      }
      ++accepted;
      auto [place, fresh] = cheapest.try_emplace(changed.budget, 0);
      if (fresh)
        place->second = cheapestPlan(problem, changed.budget);
      int64_t best = place->second;
      if (changed.status == RecomputeStatus::Infeasible) {
        EXPECT_LT(best, 0) << "seed " << seed << "\n" << text;
        return;
      }
      if (best >= 0) {
        EXPECT_LE(changed.bound, best) << "seed " << seed << "\n" << text;
        EXPECT_LE(changed.anyOrderBound, best) << "seed " << seed << "\n"
                                               << text;
      }
      if (changed.status != RecomputeStatus::Solved)
        return;
      auto found = slowMeasure(problem, changed);
      ASSERT_TRUE(found) << "seed " << seed << "\n" << text;
      EXPECT_EQ(found->first, changed.cost);
      EXPECT_EQ(found->second, changed.peak);
      EXPECT_LE(found->second, changed.budget);
    };
    auto mutate = [&](const std::string &text) {
      const int64_t before = accepted;
      judge(text);
      EXPECT_EQ(accepted, before + 1) << "seed " << seed << "\n" << text;
      for (size_t at = 0; at < text.size();) {
        bool digit = text[at] >= '0' && text[at] <= '9';
        size_t end = at;
        while (end < text.size() && text[end] >= '0' && text[end] <= '9')
          ++end;
        if (!digit) {
          ++at;
          continue;
        }
        int64_t number = std::stoll(text.substr(at, end - at));
        for (int64_t changed :
             {number - 1, number + 1, number / 2, 2 * number + 3,
              number + number / 3, int64_t(0), INT64_MAX})
          if (changed != number)
            judge(text.substr(0, at) + std::to_string(changed) +
                  text.substr(end));
        at = end;
      }
      for (size_t at = 0; at < text.size();) {
        size_t end = text.find('\n', at) + 1;
        judge(text.substr(0, at) + text.substr(end));
        judge(text.substr(0, end) + text.substr(at));
        at = end;
      }
    };
    mutate(printRecomputeSolution(solution));
    if (solution.certificate.later.empty() || laterCases ||
        !solution.certificate.cases.empty())
      continue;
    // The same series as the only case of its first cut.
    RecomputeSolution other = solution;
    RecomputeCertificate &certificate = other.certificate;
    RecomputeCertificate::Case &one = certificate.cases.emplace_back();
    std::swap(one.numerator, certificate.numerator);
    std::swap(one.unit, certificate.unit);
    one.valueFlows.swap(certificate.valueFlows);
    one.edgeFlows.swap(certificate.edgeFlows);
    one.joined.assign(certificate.later.begin(), certificate.later.end());
    certificate.later.clear();
    mutate(printRecomputeSolution(other));
    ++joined;
  }
  EXPECT_GT(refused, 10000);
  EXPECT_GT(accepted, 500);
  EXPECT_GT(series, 3);
  EXPECT_GT(cases, 3);
  EXPECT_GT(casesOfSeries, 3);
  EXPECT_GT(held, 2);
  EXPECT_GT(units, 3);
  EXPECT_GT(joined, 3);
  EXPECT_GT(views, 3);
  EXPECT_GT(proofs, 3);
}

TEST(RecomputeChoice, TextRoundTrip) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    RecomputeProblem problem = anyKind(8, 0.4, seed), again;
    std::string text = printRecomputeProblem(problem);
    ASSERT_EQ(parseRecomputeProblem(text, again), std::nullopt);
    EXPECT_EQ(printRecomputeProblem(again), text);
    int64_t peak = solveRecompute(problem, int64_t(1) << 40).peak;
    for (int64_t budget : {peak / 3, peak * 3 / 4, peak}) {
      RecomputeOptions options;
      options.moves = 2'000;
      RecomputeSolution solution = solveRecompute(problem, budget, options);
      RecomputeSolution read;
      text = printRecomputeSolution(solution);
      ASSERT_EQ(parseRecomputeSolution(text, read), std::nullopt) << text;
      EXPECT_EQ(printRecomputeSolution(read), text);
      EXPECT_EQ(checkRecompute(problem, read), std::nullopt) << text;
    }
  }
}

TEST(RecomputeChoice, ErrorsNameTheLine) {
  struct Case {
    const char *text, *message;
  };
  const Case cases[] = {
      {"", "line 0: expected 'recompute-problem 1'"},
      {"recompute-problem 3\n", "line 1: expected version 1 or 2"},
      {"recompute-problem 1\nnodes 1\nnode 0 1 1\nnode 0 1 1\n",
       "line 4: node 0 appears twice"},
      {"recompute-problem 1\nnodes 2\nnode 0 1 1\n",
       "line 3: node 1 is missing"},
      {"recompute-problem 1\n# why\nnodes 1\nnode 0 99999999999999999999 1\n",
       "line 4: expected 'node ID COST BYTES' with ID below 1"},
      {"recompute-problem 1\nnodes 2\nnode 0 1 1\nnode 1 1 1\nedge 1 0\n",
       "line 5: edge from node 1 to node 0 makes a cycle: ids are the "
       "execution "
       "order"},
      {"recompute-problem 1\nnodes 1\nnode 0 1 1\nedge 7 0\n",
       "line 4: found value 7, expected one below 1"},
      {"recompute-problem 1\nnodes 2\nnode 0 1 1\nnode 1 0 1\nalias 1 0\n",
       "line 5: alias 1 0 names a base that the value's node does not read"},
      {"recompute-problem 1\nnodes 1\nnode 0 1 1\nalias 0 7\n",
       "line 4: expected 'alias VALUE BASE' with values below 1"},
      {"recompute-problem 1\nnodes 1\nnode 0 1 4\nworkspace 0 -5\n",
       "line 4: node 0 saves more than there is: a workspace of -5"},
      {"recompute-problem 1\nnodes 1\nnode 0 1 -1\n",
       "line 3: expected 'node ID COST BYTES' with ID below 1"},
      {"recompute-problem 1\nnodes 1\nnode 0 -1 1\n",
       "line 3: node 0 has a negative cost or size"},
      {"recompute-problem 2\nnodes 2\nnode 0 1 1\nnode 1 1 1\nedge 0 1\n"
       "loop 0\nrow 5 3\nfloor 6 3\n",
       "line 8: loop 0 has a row that is below each of its floors"},
      {"recompute-problem 2\nnodes 2\nnode 0 1 1\nnode 1 1 1\nedge 0 1\n"
       "loop 0\nrow 5 3\nfloor 5 2\n",
       "line 8: loop 0 has no floor that costs what its cheapest row does, 3"},
      {"recompute-problem 2\nnodes 1\nnode 0 1 1\nloop 1\nrow 5 3\n",
       "line 4: expected 'loop NODE' with NODE below 1"},
      {"recompute-problem 2\nnodes 1\nnode 0 1 1\nloop 0\nrow 5\n",
       "line 5: expected 'row BYTES COST' after a loop"},
      {"recompute-problem 2\nnodes 1\nnode 0 1 1\nloop 0\n",
       "line 4: loop 0 has no row"},
      {"recompute-problem 2\nnodes 1\nnode 0 1 1\n"
       "loop 0\nrow 5 3\nloop 0\nrow 5 3\n",
       "line 7: loop 1 names node 0, which does not exist or is a loop "
       "already"},
  };
  for (const Case &test : cases) {
    RecomputeProblem problem;
    EXPECT_EQ(parseRecomputeProblem(test.text, problem).value_or("nothing"),
              test.message);
  }
}

TEST(RecomputeChoice, FrontierIsMonotone) {
  RecomputeProblem problem = residual(8, 3);
  RecomputeOptions options;
  options.moves = 200'000;
  std::vector<RecomputeSolution> points;
  solveRecomputeFrontier(
      problem, 9, options, [&](const RecomputeSolution &solution) {
        EXPECT_EQ(checkRecompute(problem, solution), std::nullopt);
        points.push_back(solution);
      });
  ASSERT_EQ(points.size(), 9u);
  for (size_t i = 1; i < points.size(); ++i) {
    EXPECT_LT(points[i - 1].budget, points[i].budget);
    EXPECT_GE(points[i - 1].cost, points[i].cost);
    EXPECT_LE(points[i - 1].peak, points[i].peak);
    EXPECT_LE(points[i].bound, points[i].cost);
  }
  EXPECT_EQ(points.back().cost, points.back().bound);
}

TEST(RecomputeChoice, GoingOnFromAQuickSolve) {
  int improved = 0;
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    RecomputeProblem problem = anyKind(60, 0.05, seed);
    RecomputeOptions options;
    options.moves = 20'000;
    options.quick = true;
    const int64_t everything = solveRecompute(problem, INT64_MAX / 4).peak;
    RecomputeSolution quick =
        solveRecompute(problem, everything * 4 / 5, options);
    if (quick.status != RecomputeStatus::Solved)
      continue;
    options.quick = false;
    options.known = &quick;
    RecomputeSolution one = solveRecompute(problem, quick.budget, options);
    EXPECT_EQ(checkRecompute(problem, one), std::nullopt) << seed;
    EXPECT_LE(one.cost, quick.cost);
    EXPECT_GE(one.bound, quick.bound);
    improved += one.bound > quick.bound;
    options.parallel = true;
    RecomputeSolution two = solveRecompute(problem, quick.budget, options);
    EXPECT_EQ(printRecomputeSolution(one), printRecomputeSolution(two));
  }
  EXPECT_GT(improved, 0);
}

TEST(RecomputeChoice, NothingIsLookedForThatIsUseless) {
  RecomputeProblem problem = shortChain();
  RecomputeOptions options;
  options.quick = true;
  options.useless = 13; // the bound says 12
  EXPECT_EQ(solveRecompute(problem, 10, options).cost, 12);
  options.useless = 12;
  RecomputeSolution none = solveRecompute(problem, 10, options);
  EXPECT_EQ(none.status, RecomputeStatus::Undecided);
  EXPECT_EQ(none.message, "every plan costs at least 12");
  EXPECT_TRUE(none.order.empty());
}

TEST(RecomputeChoice, AKnownPlanIsAStart) {
  // A plan for fewer bytes fits in more, and the result is never dearer, also
  // where almost nothing may be searched; what is no order is left alone.
  for (uint64_t seed = 0; seed < 30; seed += roundStride) {
    RecomputeProblem problem = anyKind(24, 0.1, 3 * seed + seed % 2);
    RecomputeOptions options;
    options.moves = 20'000;
    int64_t peak = solveRecompute(problem, int64_t(1) << 40, options).peak;
    RecomputeSolution known = solveRecompute(problem, peak * 4 / 5, options);
    if (known.status != RecomputeStatus::Solved)
      continue;
    options.moves = 10;
    options.start = known.order;
    RecomputeSolution solution =
        solveRecompute(problem, peak * 9 / 10, options);
    ASSERT_EQ(solution.status, RecomputeStatus::Solved) << seed;
    EXPECT_LE(solution.cost, known.cost) << seed;
    EXPECT_EQ(checkRecompute(problem, solution), std::nullopt) << seed;
    options.start = {2, 1, 0};
    EXPECT_EQ(checkRecompute(problem,
                             solveRecompute(problem, peak * 9 / 10, options)),
              std::nullopt)
        << seed;
  }
}

TEST(RecomputeChoice, ASearchTakesOverStagesOfAnotherPlan) {
  // From keeping everything, few moves lead to a dear plan, but with parts of a
  // cheap one to one that is nearly as cheap.
  RecomputeProblem problem = transformer(4, 1);
  const RecomputeGraph graph(problem);
  RecomputeOptions options;
  options.moves = 20'000;
  const int64_t budget =
      solveRecompute(problem, int64_t(1) << 40, options).peak / 2;
  RecomputeSolution solution = solveRecompute(problem, budget, options);
  ASSERT_EQ(solution.status, RecomputeStatus::Solved);
  std::vector<Reruns> guides(1);
  std::vector<char> first = firstRuns(graph.nodes, solution.order);
  int32_t stage = 0;
  for (size_t i = 0; i < solution.order.size(); ++i) {
    stage += first[i];
    if (!first[i])
      guides.front().push_back({stage, solution.order[i]});
  }
  std::sort(guides.front().begin(), guides.front().end());
  int64_t guidedCost = 0, aloneCost = 0;
  for (uint64_t seed = 1; seed <= 8; ++seed)
    for (bool guided : {false, true}) {
      PlanSearch search(graph, budget, seed);
      search.load({});
      PlanSearch::Schedule schedule;
      schedule.moves = 300;
      schedule.weight = double(graph.baseCost);
      if (guided)
        schedule.guides = guides;
      search.anneal(schedule);
      RecomputeMeasure now =
          measure(graph, orderOf(graph.nodes, search.plan()));
      EXPECT_EQ(search.cost(), now.cost) << seed;
      EXPECT_EQ(search.feasible(), now.peak <= budget) << seed;
      ASSERT_TRUE(search.hasBest()) << seed;
      (guided ? guidedCost : aloneCost) +=
          search.bestPlanCost() - graph.baseCost;
      RecomputeMeasure best =
          measure(graph, orderOf(graph.nodes, search.bestPlan()));
      EXPECT_EQ(search.bestPlanCost(), best.cost) << seed;
      EXPECT_LE(best.peak, budget) << seed;
    }
  EXPECT_LT(guidedCost, 9 * (solution.cost - graph.baseCost));
  EXPECT_GT(aloneCost, 16 * (solution.cost - graph.baseCost));
}

TEST(RecomputeChoice, SeedsComeFromSeveralMoments) {
  RecomputeProblem problem = transformer(4, 1);
  RecomputeSolver solver(problem, {});
  const int64_t budget = solver.everything.peak / 2;
  std::vector<Reruns> seeds;
  std::optional<RecomputePlan> best = solver.seedPlan(budget, &seeds);
  // Without a list, only the best moment is looked at.
  std::optional<RecomputePlan> alone = solver.seedPlan(budget, nullptr);
  ASSERT_TRUE(best && alone);
  EXPECT_LE(best->cost, alone->cost);
  RecomputeMeasure found =
      measure(solver.graph, orderOf(solver.graph.nodes, best->reruns));
  EXPECT_EQ(found.cost, best->cost);
  EXPECT_EQ(found.peak, best->peak);
  EXPECT_LE(found.peak, budget);
  std::sort(seeds.begin(), seeds.end());
  auto distinct = std::unique(seeds.begin(), seeds.end()) - seeds.begin();
  EXPECT_GE(distinct, 4);
}

TEST(RecomputeChoice, SameSeedSamePlan) {
  RecomputeProblem problem = inception(4, 1);
  int64_t peak = solveRecompute(problem, int64_t(1) << 40).peak;
  RecomputeOptions options;
  options.moves = 50'000;
  EXPECT_EQ(solveRecompute(problem, peak / 2, options).order,
            solveRecompute(problem, peak / 2, options).order);
}

/// The recursion of the uniform chain: `steps` values above a held one, to be
/// read from the top, with `free` bytes of memory; all sizes and costs 1.
static int64_t uniformChain(int64_t steps, int64_t free, bool first,
                            std::map<std::array<int64_t, 3>, int64_t> &table) {
  constexpr int64_t never = int64_t(1) << 40;
  if (steps == 0)
    return first && free < 1 ? never : 0;
  if (free <= 0)
    return never;
  auto [place, fresh] = table.try_emplace({steps, free, first}, never);
  if (!fresh)
    return place->second;
  int64_t best = never;
  for (int64_t held = 1; held <= steps && std::min<int64_t>(2, held) <= free;
       ++held)
    best = std::min(best,
                    held + uniformChain(steps - held, free - 1, first, table) +
                        uniformChain(held - 1, free, false, table));
  return table[{steps, free, first}] = best;
}

TEST(RecomputeChoice, UniformChainsEqualTheRecursion) {
  for (int64_t steps : {5, 8, 15, 30, 60})
    for (int64_t budget = 3; budget <= 10 && budget < steps;
         budget += roundStride) {
      std::vector<int64_t> ones(steps, 1);
      RecomputeProblem problem = chain(ones, ones, 0);
      RecomputeOptions options;
      options.moves = 100'000;
      RecomputeSolution solution = solveRecompute(problem, budget, options);
      std::map<std::array<int64_t, 3>, int64_t> table;
      EXPECT_EQ(checkRecompute(problem, solution), std::nullopt);
      EXPECT_EQ(solution.cost,
                uniformChain(steps - 1, budget, true, table) + 1 + steps)
          << steps << " steps, budget " << budget;
    }
}

TEST(RecomputeChoice, ChainsAreNoDearerThanTheRecursion) {
  int64_t found = 0;
  for (uint64_t seed = 0; seed < 60; seed += roundStride) {
    Random random(seed);
    std::vector<int64_t> costs, bytes;
    for (int64_t steps = random.between(4, 24); steps > 0; --steps) {
      costs.push_back(random.between(1, 9));
      bytes.push_back(random.between(1, 5));
    }
    RecomputeProblem problem = chain(costs, bytes, random.between(0, 2));
    const RecomputeGraph graph(problem);
    RecomputeOptions options;
    options.moves = 20'000;
    const int64_t peak = measure(graph, orderOf(graph.nodes, {})).peak;
    const int64_t budget = peak * random.between(30, 90) / 100;
    const std::vector<int32_t> order = planChain(graph, budget, 200'000);
    if (order.empty())
      continue;
    ++found;
    const RecomputeMeasure nested = measure(graph, order);
    EXPECT_LE(nested.peak, budget) << seed;
    RecomputeSolution solution = solveRecompute(problem, budget, options);
    ASSERT_EQ(checkRecompute(problem, solution), std::nullopt) << seed;
    EXPECT_LE(solution.cost, nested.cost) << seed;
    EXPECT_LE(solution.bound, nested.cost) << seed;
  }
  EXPECT_GT(found, 40 / roundStride);
}
