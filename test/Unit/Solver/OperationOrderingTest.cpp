//===- OperationOrderingTest.cpp - orders and their bounds ----------------===//
//
// The worked example, brute force over all orders of small random problems,
// mutation of claims, and errors in files.
//
//===----------------------------------------------------------------------===//

#include "tenon/Solver/OperationOrdering.h"

#include "GraphGenerators.h"
#include "OperationOrdering/OrderingExact.h"
#include "OrderingBruteForce.h"
#include "OrderingGraphs.h"
#include "Rounds.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>

using namespace tenon::solver;
using namespace tenon::benchmark;
using tenon::solver::test::roundStride;

static OrderingProblem randomProblem(uint64_t seed) {
  Random random(seed);
  OrderingProblem problem;
  auto count = static_cast<int32_t>(random.between(1, 7));
  for (int32_t i = 0; i < count; ++i)
    problem.operations.push_back(
        {random.between(0, 20), random.chance(0.1) ? random.between(0, 10) : 0,
         random.chance(0.15)});
  if (random.chance(0.25))
    problem.extraResults.push_back(
        {static_cast<int32_t>(random.between(0, count - 1)),
         random.between(0, 9)});
  double probability = 0.1 * double(random.between(1, 5));
  for (int32_t value = 0; value < problem.valueCount(); ++value) {
    for (int32_t user = problem.producer(value) + 1; user < count; ++user)
      if (random.chance(probability))
        problem.uses.push_back({value, user});
    if (random.chance(0.1))
      problem.kept.push_back(value);
  }
  for (int32_t user = 0; user < count; ++user)
    for (auto [value, reader] : problem.uses)
      if (reader == user && random.chance(0.3)) {
        problem.inPlace.push_back({user, value, user});
        break;
      }
  for (int32_t i = 0; i + 1 < count; ++i)
    if (random.chance(0.05))
      problem.controls.push_back({i, i + 1});
  return problem;
}

/// The peak of an order by looking at every moment anew, or -1 if it is not a
/// valid order.
static int64_t slowPeak(const OrderingProblem &problem,
                        const std::vector<int32_t> &order) {
  auto count = static_cast<int32_t>(order.size());
  std::vector<int32_t> at(count);
  for (int32_t i = 0; i < count; ++i)
    at[order[i]] = i;
  int32_t effect = -1;
  for (int32_t i = 0; i < count; ++i)
    if (problem.operations[i].effect) {
      if (effect >= 0 && at[effect] > at[i])
        return -1;
      effect = i;
    }
  for (auto [value, user] : problem.uses)
    if (at[problem.producer(value)] > at[user])
      return -1;
  for (auto [before, after] : problem.controls)
    if (at[before] > at[after])
      return -1;
  auto lastUse = [&](int32_t value) {
    int32_t last = at[problem.producer(value)];
    for (auto [used, user] : problem.uses)
      if (used == value)
        last = std::max(last, at[user]);
    for (int32_t kept : problem.kept)
      if (kept == value)
        last = count;
    return last;
  };
  int64_t peak = 0;
  for (int32_t i = 0; i < count; ++i) {
    int64_t live = problem.operations[order[i]].workspace;
    for (int32_t value = 0; value < problem.valueCount(); ++value)
      if (at[problem.producer(value)] <= i && lastUse(value) >= i)
        live += problem.bytes(value);
    for (auto [operation, operand, result] : problem.inPlace)
      if (operation == order[i] && lastUse(operand) == i)
        live -= std::min(problem.bytes(operand), problem.bytes(result));
    peak = std::max(peak, live);
  }
  return peak;
}

TEST(OperationOrdering, WorkedExample) {
  OrderingProblem problem;
  problem.operations = {{6}, {4}, {1}, {2}, {0}};
  problem.uses = {{0, 2}, {1, 3}, {2, 4}, {3, 4}};
  EXPECT_EQ(slowPeak(problem, {0, 1, 2, 3, 4}), 11);
  OrderingSolution solution = solveOrdering(problem);
  EXPECT_EQ(solution.peak, 7);
  EXPECT_EQ(solution.bound, 7);
  EXPECT_EQ(checkOrdering(problem, solution), std::nullopt);
}

/// The second example of the header: one of u and v runs first.
TEST(OperationOrdering, AFrontierProvesMoreThanAnOperation) {
  OrderingProblem problem;
  // x, y, z, u, v, and a reader for each of the last two.
  problem.operations = {{5}, {5}, {0}, {9}, {9}, {0}, {0}};
  problem.uses = {{0, 1}, {1, 2}, {0, 3}, {2, 3},
                  {1, 4}, {2, 4}, {3, 5}, {4, 6}};
  OrderingSolution solution = solveOrdering(problem);
  EXPECT_EQ(solution.peak, 19);
  EXPECT_EQ(solution.bound, 19);
  EXPECT_EQ(solution.certificate.frontier, (std::vector<int32_t>{3, 4}));
  EXPECT_EQ(checkOrdering(problem, solution), std::nullopt);
  OrderingSolution changed = solution;
  changed.certificate.frontier = {3};
  EXPECT_EQ(checkOrdering(problem, changed),
            "bound 19 is claimed, the certificate proves 14");
  changed.certificate.frontier = {0, 3};
  EXPECT_EQ(checkOrdering(problem, changed),
            "certificate: operation 3 depends on another one of the frontier");
  changed.certificate.frontier = {};
  EXPECT_EQ(checkOrdering(problem, changed),
            "bound 19 is claimed without a certificate");
}

/// No set of operations proves more than the best order needs.
TEST(OperationOrdering, EveryFrontierIsSound) {
  for (uint64_t seed = 0; seed < 1000; seed += roundStride) {
    OrderingProblem problem = anyOrdering(7, seed % 2 == 1, seed);
    OrderingSolution greedy = solveOrdering(problem);
    greedy.bound = smallestPeak(problem) + 1;
    for (uint32_t set = 1; set < 1u << 7; ++set) {
      greedy.certificate.frontier.clear();
      for (int32_t i = 0; i < 7; ++i)
        if (set >> i & 1)
          greedy.certificate.frontier.push_back(i);
      ASSERT_NE(checkOrdering(problem, greedy), std::nullopt)
          << seed << " " << set;
    }
  }
}

TEST(OperationOrdering, AgainstAllOrders) {
  int64_t optimal = 0, problems = 0;
  for (uint64_t seed = 0; seed < 2000; seed += roundStride) {
    ++problems;
    OrderingProblem problem = randomProblem(seed);
    OrderingSolution solution = solveOrdering(problem);
    ASSERT_EQ(checkOrdering(problem, solution), std::nullopt) << seed;
    std::vector<int32_t> order(problem.operations.size());
    std::iota(order.begin(), order.end(), 0);
    EXPECT_LE(solution.peak, slowPeak(problem, order)) << seed;
    int64_t best = INT64_MAX;
    do {
      int64_t peak = slowPeak(problem, order);
      best = peak < 0 ? best : std::min(best, peak);
    } while (std::next_permutation(order.begin(), order.end()));
    EXPECT_LE(solution.bound, best) << seed;
    EXPECT_GE(solution.peak, best) << seed;
    optimal += solution.peak == best;
    // No certificate may prove more than the best order needs.
    OrderingSolution greedy = solution;
    greedy.bound = best + 1;
    for (size_t i = 0; i < problem.operations.size(); ++i) {
      greedy.certificate.frontier = {static_cast<int32_t>(i)};
      EXPECT_NE(checkOrdering(problem, greedy), std::nullopt) << seed;
    }
    OrderingSolution wrong = solution;
    wrong.peak += seed % 2 == 0 ? 1 : -1;
    EXPECT_NE(checkOrdering(problem, wrong), std::nullopt) << seed;
    wrong = solution;
    wrong.order.back() = wrong.order.front();
    EXPECT_EQ(checkOrdering(problem, wrong) == std::nullopt,
              problem.operations.size() == 1)
        << seed;
  }
  EXPECT_GE(optimal, problems * 99 / 100);
}

TEST(OperationOrdering, TextRoundTrip) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    OrderingProblem problem = randomProblem(seed), again;
    std::string text = printOrderingProblem(problem);
    ASSERT_EQ(parseOrderingProblem(text, again), std::nullopt) << text;
    EXPECT_EQ(printOrderingProblem(again), text);
    OrderingSolution solution = solveOrdering(problem), read;
    ASSERT_EQ(parseOrderingSolution(printOrderingSolution(solution), read),
              std::nullopt);
    EXPECT_EQ(checkOrdering(problem, read), std::nullopt);
  }
}

TEST(OperationOrdering, ErrorsNameTheLine) {
  struct Case {
    const char *text, *message;
  };
  const Case cases[] = {
      {"ordering-problem 3\n", "line 1: expected 'ordering-problem 1'"},
      {"ordering-problem 1\noperations 1\n", "line 2: operation 0 is missing"},
      {"ordering-problem 1\noperations 2\noperation 0 1\noperation 1 1\n"
       "use 1 0\n",
       "line 5: use of value 1 makes a cycle: ids are a valid order"},
      {"ordering-problem 1\noperations 1\noperation 0 1\nkeep 4\n",
       "line 4: expected 'keep VALUE'"},
  };
  for (const Case &test : cases) {
    OrderingProblem problem;
    EXPECT_EQ(parseOrderingProblem(test.text, problem).value_or("nothing"),
              test.message);
  }
}

TEST(OperationOrdering, SearchAndBoundsAgainstEverySet) {
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    OrderingProblem problem =
        anyOrdering(static_cast<int32_t>(seed % 11), seed % 2 == 1, seed);
    OrderingSolution solution = solveOrdering(problem);
    ASSERT_EQ(checkOrdering(problem, solution), std::nullopt) << seed;
    int64_t best = smallestPeak(problem);
    EXPECT_EQ(solution.peak, best) << seed;
    EXPECT_LE(solution.bound, best) << seed;
    if (solution.searchedBound != 0)
      EXPECT_EQ(solution.searchedBound, best) << seed;
  }
}

/// How many operations still run right behind the one before them.
static int64_t unmoved(const std::vector<int32_t> &order) {
  int64_t count = 0;
  for (size_t i = 1; i < order.size(); ++i)
    count += order[i] == order[i - 1] + 1;
  return count;
}

TEST(OperationOrdering, NearTheGivenOrderWithNoLargerPeak) {
  int64_t better = 0, unmovedNear = 0, unmovedBest = 0;
  for (uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    OrderingProblem problem =
        seed % 2 ? anyOrdering(static_cast<int32_t>(4 + seed % 20), true, seed)
                 : anyStep(static_cast<int32_t>(4 + seed % 30), seed);
    OrderingSolution solution = solveOrdering(problem);
    std::vector<int32_t> given(problem.operations.size());
    std::iota(given.begin(), given.end(), 0);
    EXPECT_EQ(solution.givenPeak, slowPeak(problem, given));
    std::vector<int32_t> near = nearGivenOrder(problem, solution.order);
    // Below 0 if it is no order at all.
    const int64_t peak = slowPeak(problem, near);
    EXPECT_GE(peak, 0);
    EXPECT_LE(peak, solution.peak);
    if (solution.peak == solution.givenPeak)
      EXPECT_EQ(near, given);
    EXPECT_EQ(nearGivenOrder(problem, solution.order, /*work=*/0),
              solution.order);
    better += solution.peak < solution.givenPeak;
    unmovedNear += unmoved(near);
    unmovedBest += unmoved(solution.order);
  }
  EXPECT_GT(better, 100);
  EXPECT_GT(5 * unmovedNear, 6 * unmovedBest);
}

/// It finds an order of the smallest peak from any start, and none below.
static void searchAgainstEverySet(const OrderingProblem &problem,
                                  const DeferralLimits &limits = {}) {
  const OrderingGraph graph(problem);
  const OrderingDeferral deferral(graph, limits);
  std::vector<int32_t> rank(graph.operations), order;
  std::iota(rank.begin(), rank.end(), 0);
  int64_t best = smallestPeak(problem), looks = 1'000'000;
  ASSERT_EQ(searchOrder(graph, deferral, best + 1, rank, looks, order),
            OrderSearch::Found);
  EXPECT_EQ(slowPeak(problem, order), best);
  EXPECT_EQ(searchOrder(graph, deferral, best, rank, looks, order),
            OrderSearch::Exhausted);
}

TEST(OperationOrdering, SearchAloneAgainstEverySet) {
  for (uint64_t seed = 0; seed < 3000; seed += roundStride) {
    SCOPED_TRACE(seed);
    auto size = static_cast<int32_t>(4 + seed % 8);
    searchAgainstEverySet(seed % 3 == 0 ? anyOrdering(size, seed % 2 == 1, seed)
                                        : anyStep(size, seed));
  }
}

TEST(OperationOrdering, SearchAloneWhereNotAllThatCouldWaitDo) {
  for (uint64_t seed = 0; seed < 1000; seed += roundStride) {
    SCOPED_TRACE(seed);
    searchAgainstEverySet(anyStep(static_cast<int32_t>(6 + seed % 6), seed),
                          {0, 1 + seed % 3, seed % 3});
  }
}

TEST(OperationOrdering, InALargeProblemNothingWaitsWithoutReason) {
  // Few hubs find nearly all that may wait, and nothing else.
  const OrderingGraph graph(convolutionStep(40, Weight::Balanced, 1));
  const OrderingDeferral exact(graph), limited(graph, {0, 64, 64});
  const auto waiting = [](const OrderingDeferral &deferral) {
    return std::count(deferral.waits.begin(), deferral.waits.end(), 1);
  };
  for (int32_t i = 0; i < graph.operations; ++i) {
    EXPECT_LE(limited.waits[i], exact.waits[i]) << i;
    EXPECT_LE(limited.needs.size(i), 3 * 64) << i;
  }
  EXPECT_GT(10 * waiting(limited), 9 * waiting(exact));
  EXPECT_LT(waiting(OrderingDeferral(graph, {0, 64, 0})), waiting(exact));
}

TEST(OperationOrdering, AlsoLargeProblemsAreSearched) {
  // No list order comes within 10 % of what the search finds, and proves, here.
  const OrderingProblem problem = convolutionStep(571, Weight::Gradients, 1);
  ASSERT_GT(problem.operations.size(), size_t(18'000));
  const OrderingSolution solution = solveOrdering(problem);
  EXPECT_EQ(checkOrdering(problem, solution), std::nullopt);
  EXPECT_EQ(solution.searchedBound, solution.peak);
  OrderingOptions listsOnly;
  listsOnly.searchLooks = 0;
  EXPECT_GT(10 * solveOrdering(problem, listsOnly).peak, 11 * solution.peak);
}

/// Here a state holds no more than one before it, but more than one in between:
/// it is no valley.
TEST(OperationOrdering, AValleyHoldsNoMoreThanAnythingBefore) {
  for (int32_t size = 4; size <= 14; ++size)
    searchAgainstEverySet(anyStep(size, 2206069));
}

TEST(OperationOrdering, AGradientAndItsUpdateAreNoChoice) {
  // Without running such chains at once, the search stops undecided here.
  OrderingSolution solution =
      solveOrdering(recurrentStep(6, Weight::Gradients, 202));
  EXPECT_GT(solution.peak, solution.bound);
  EXPECT_EQ(solution.searchedBound, solution.peak);
}

TEST(OperationOrdering, WhatAValleyLeavesBehindIsNoChoice) {
  // Without valleys and blocks, the search stops undecided here.
  for (const OrderingProblem &problem :
       {transformerStep(6, Weight::Gradients, 202),
        branchingStep(24, Weight::Gradients, 203),
        recurrentStep(24, Weight::Gradients, 201)}) {
    OrderingSolution solution = solveOrdering(problem);
    EXPECT_GT(solution.peak, solution.bound);
    EXPECT_EQ(solution.searchedBound, solution.peak);
  }
}

TEST(OperationOrdering, NeverAboveTheGivenOrderOfATrainingStep) {
  for (Weight weight :
       {Weight::Activations, Weight::Balanced, Weight::Gradients})
    for (auto make :
         {transformerStep, convolutionStep, recurrentStep, branchingStep}) {
      OrderingProblem problem = make(3, weight, 5);
      OrderingSolution solution = solveOrdering(problem);
      ASSERT_EQ(checkOrdering(problem, solution), std::nullopt);
      std::vector<int32_t> given(problem.operations.size());
      std::iota(given.begin(), given.end(), 0);
      EXPECT_LE(solution.peak, slowPeak(problem, given));
      EXPECT_EQ(solution.peak, slowPeak(problem, solution.order));
    }
}

/// Changes every number of a solution; what is accepted must still be true.
TEST(OperationOrdering, EveryFieldMutated) {
  int64_t refused = 0, accepted = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    OrderingProblem problem = anyOrdering(7, true, seed);
    const OrderingSolution solution = solveOrdering(problem);
    const int64_t best = smallestPeak(problem);
    auto judge = [&](const OrderingSolution &changed) {
      if (checkOrdering(problem, changed)) {
        ++refused;
        return;
      }
      ++accepted;
      EXPECT_EQ(slowPeak(problem, changed.order), changed.peak) << seed;
      EXPECT_LE(changed.bound, best) << seed;
    };
    for (int64_t by : {-7, -1, 1, 7}) {
      OrderingSolution changed = solution;
      changed.peak += by;
      judge(changed);
      changed = solution;
      changed.bound += by;
      judge(changed);
      for (size_t i = 0; i < solution.certificate.frontier.size(); ++i) {
        changed = solution;
        changed.certificate.frontier[i] += static_cast<int32_t>(by);
        judge(changed);
      }
      for (size_t i = 0; i < solution.order.size(); ++i) {
        changed = solution;
        changed.order[i] += static_cast<int32_t>(by);
        judge(changed);
      }
    }
    for (size_t i = 0; i < solution.order.size(); ++i) {
      OrderingSolution changed = solution;
      changed.order.erase(changed.order.begin() + static_cast<ptrdiff_t>(i));
      judge(changed);
      for (size_t j = 0; j < i; ++j) {
        changed = solution;
        std::swap(changed.order[i], changed.order[j]);
        judge(changed);
      }
    }
  }
  EXPECT_GT(refused, 5000);
  EXPECT_GT(accepted, 500);
}

/// Changes several numbers of a solution at once, extremes of 64 bits among
/// them, and takes any operations for a certificate.
TEST(OperationOrdering, SeveralNumbersMutated) {
  int64_t refused = 0, accepted = 0, frontiers = 0;
  for (uint64_t seed = 0; seed < 600; ++seed) {
    OrderingProblem problem = anyOrdering(7, seed % 2 == 1, seed);
    if (problem.operations.empty())
      continue;
    const OrderingSolution solution = solveOrdering(problem);
    const int64_t best = smallestPeak(problem);
    Random random(seed);
    auto amount = [&](int64_t own) {
      const int64_t any[] = {
          own, own, own - 1,   own + 1,       2 * own,   own / 2,
          0,   -1,  INT64_MAX, INT64_MAX - 1, INT64_MIN, INT64_MIN + 1};
      return any[random.between(0, std::size(any) - 1)];
    };
    auto operation = [&] {
      const auto any = static_cast<int32_t>(
          random.between(0, int64_t(problem.operations.size()) - 1));
      const int32_t beyond[] = {-1, INT32_MAX, INT32_MIN};
      return random.chance(0.95) ? any : beyond[random.between(0, 2)];
    };
    for (int attempt = 0; attempt < 100; ++attempt) {
      OrderingSolution changed = solution;
      changed.bound = random.chance(0.3) ? best + 1 : amount(best);
      if (random.chance(0.3))
        changed.peak = amount(solution.peak);
      if (random.chance(0.2))
        changed.searchedBound = amount(best);
      for (int64_t swaps = random.between(0, 2); swaps > 0; --swaps)
        std::swap(
            changed.order[random.between(0, int64_t(changed.order.size()) - 1)],
            changed.order.back());
      if (random.chance(0.05))
        changed.order.front() = operation();
      if (random.chance(0.7)) {
        changed.certificate.frontier.clear();
        for (int64_t count = random.between(1, 4); count > 0; --count)
          changed.certificate.frontier.push_back(operation());
      }
      if (checkOrdering(problem, changed)) {
        ++refused;
        continue;
      }
      ++accepted;
      frontiers += changed.certificate.frontier.size() > 1;
      EXPECT_EQ(slowPeak(problem, changed.order), changed.peak) << seed;
      EXPECT_LE(changed.bound, best) << seed;
      EXPECT_LE(changed.bound, changed.peak) << seed;
      EXPECT_LE(changed.searchedBound, changed.peak) << seed;
    }
  }
  EXPECT_GT(refused, 10000);
  EXPECT_GT(accepted, 3000);
  EXPECT_GT(frontiers, 300);
}
