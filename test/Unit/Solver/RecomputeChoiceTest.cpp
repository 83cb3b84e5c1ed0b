//===- RecomputeChoiceTest.cpp - plans, bounds and claims of recomputation ===//
//
// The worked example, brute force on random graphs, mutation of every field of
// a solution, closed forms on chains, and errors in files.
//
//===----------------------------------------------------------------------===//

#include "../../Benchmark/solvers/GraphGenerators.h"
#include "RecomputeBruteForce.h"

#include <algorithm>
#include <array>
#include <gtest/gtest.h>
#include <map>

using namespace tenon::solver;
using namespace tenon::benchmark;

static RecomputeProblem workedExample() {
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

TEST(RecomputeChoice, WorkedExample) {
  RecomputeProblem problem = workedExample();
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

TEST(RecomputeChoice, EmptyAndZeroProblems) {
  RecomputeSolution none = solveRecompute({}, 0);
  EXPECT_EQ(none.status, RecomputeStatus::Solved);
  EXPECT_EQ(checkRecompute({}, none), std::nullopt);
  RecomputeProblem zero;
  zero.nodes.resize(3);
  zero.edges = {{0, 1}, {0, 2}};
  RecomputeSolution free = solveRecompute(zero, 0);
  EXPECT_EQ(free.status, RecomputeStatus::Solved);
  EXPECT_EQ(checkRecompute(zero, free), std::nullopt);
}

/// bound <= optimum <= plan, infeasible only where nothing exists; how many
/// plans are optimal.
static void compareWithBruteForce(bool extras, uint64_t from, uint64_t to,
                                  int32_t most) {
  int64_t solved = 0, optimal = 0, missed = 0;
  for (uint64_t seed = from; seed < to; ++seed) {
    Random random(seed * 77 + 1);
    auto nodes = static_cast<int32_t>(random.between(3, most));
    RecomputeProblem problem = anyGraph(
        nodes, 0.15 + 0.05 * double(random.between(0, 10)), extras, seed);
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
  compareWithBruteForce(false, 0, 1000, 12);
}
TEST(RecomputeChoice, AgainstBruteForceWithExtras) {
  compareWithBruteForce(true, 0, 1000, 11);
}

TEST(RecomputeChoice, MutatedClaimsAreRefused) {
  int64_t refused = 0;
  for (uint64_t seed = 0; seed < 150; ++seed) {
    Random random(seed);
    RecomputeProblem problem = anyGraph(9, 0.3, true, seed);
    RecomputeOptions options;
    options.moves = 5'000;
    int64_t peak = solveRecompute(problem, int64_t(1) << 40, options).peak;
    int64_t budget = peak * random.between(60, 100) / 100;
    const RecomputeSolution solution = solveRecompute(problem, budget, options);
    if (solution.status != RecomputeStatus::Solved)
      continue;
    int64_t best = cheapestPlan(problem, budget);
    auto expectRefused = [&](RecomputeSolution changed, const char *what) {
      EXPECT_NE(checkRecompute(problem, changed), std::nullopt)
          << what << " in seed " << seed;
      ++refused;
    };
    // A change of the certificate may keep it valid; its bound must then hold.
    auto expectTrue = [&](const RecomputeSolution &changed, const char *what) {
      if (!checkRecompute(problem, changed))
        EXPECT_LE(changed.bound, best) << what << " in seed " << seed;
    };
    RecomputeSolution changed = solution;
    changed.cost += random.chance(0.5) ? 1 : -1;
    expectRefused(changed, "cost");
    changed = solution;
    changed.peak += random.chance(0.5) ? 1 : -1;
    expectRefused(changed, "peak");
    changed = solution;
    changed.budget = changed.peak - 1;
    expectRefused(changed, "budget");
    changed = solution;
    changed.order.pop_back();
    expectRefused(changed, "order");
    changed = solution;
    changed.order[random.between(0, int64_t(changed.order.size()) - 1)] = 9;
    expectRefused(changed, "order");
    changed = solution;
    changed.bound = best + 1;
    expectRefused(changed, "bound");
    changed = solution;
    changed.status = RecomputeStatus::Infeasible;
    expectRefused(changed, "status");
    RecomputeCertificate &proof = changed.certificate;
    for (int64_t by : {-1, 1}) {
      changed = solution;
      proof.cut += static_cast<int32_t>(by);
      changed.bound = best + 1;
      expectTrue(changed, "cut");
      changed = solution;
      proof.numerator += by;
      changed.bound = best + 1;
      expectTrue(changed, "numerator");
      changed = solution;
      proof.denominator += by;
      changed.bound = best + 1;
      expectTrue(changed, "denominator");
      for (size_t i = 0; i < solution.certificate.valueFlows.size(); ++i) {
        changed = solution;
        proof.valueFlows[i].amount += by * 1'000'000'000;
        changed.bound = best + 1;
        expectTrue(changed, "value flow");
        changed = solution;
        proof.valueFlows[i].value += static_cast<int32_t>(by);
        changed.bound = best + 1;
        expectTrue(changed, "value");
      }
      for (size_t i = 0; i < solution.certificate.edgeFlows.size(); ++i) {
        changed = solution;
        proof.edgeFlows[i].amount += by * 1'000'000'000;
        changed.bound = best + 1;
        expectTrue(changed, "edge flow");
      }
    }
  }
  EXPECT_GT(refused, 300);
}

TEST(RecomputeChoice, TextRoundTrip) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    RecomputeProblem problem = anyGraph(8, 0.4, true, seed), again;
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
      {"recompute-problem 2\n", "line 1: expected version 1"},
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
      {"recompute-problem 1\nnodes 1\nnode 0 -1 1\n",
       "line 3: expected 'node ID COST BYTES' with ID below 1"},
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
    for (int64_t budget = 3; budget <= 10 && budget < steps; ++budget) {
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
