//===- RecomputeCertificateTest.cpp - what a certificate may prove --------===//
//
// The worked example of RecomputeChoice.h with its certificates written by
// hand, claims that are false, and many forged certificates against brute
// force.
//
//===----------------------------------------------------------------------===//

#include "RecomputeForgery.h"
#include "Rounds.h"

#include <gtest/gtest.h>

using namespace tenon::solver;
using tenon::solver::test::roundStride;

static RecomputeProblem problemOf(const char *text) {
  RecomputeProblem problem;
  EXPECT_EQ(parseRecomputeProblem(text, problem), std::nullopt);
  return problem;
}

static std::optional<std::string> check(const RecomputeProblem &problem,
                                        const std::string &text) {
  RecomputeSolution solution;
  if (auto error = parseRecomputeSolution(text, solution))
    return error;
  return checkRecompute(problem, solution);
}

/// f1 to f4, v, w, u.
static RecomputeProblem workedExample() {
  return problemOf("recompute-problem 1\n"
                   "nodes 7\n"
                   "node 0 6 1\nnode 1 4 1\nnode 2 4 2\nnode 3 1 0\n"
                   "node 4 1 0\nworkspace 4 2\n"
                   "node 5 1 0\nworkspace 5 1\n"
                   "node 6 1 0\n"
                   "edge 0 1\nedge 1 2\nedge 2 3\nedge 3 4\n"
                   "edge 4 5\nedge 2 5\nedge 5 6\nedge 0 6\nedge 1 6\n");
}

/// The certificate proves the bound for plans within 4 bytes, and no more.
static void provesExactly(const RecomputeProblem &problem, int64_t bound,
                          const std::string &certificate) {
  auto claim = [&](int64_t claimed) {
    return check(problem, "recompute-undecided 1\nbudget 4\nbound " +
                              std::to_string(claimed) + "\n" + certificate +
                              "certificate any-bound 18\n"
                              "certificate any-kind base\n");
  };
  EXPECT_EQ(claim(bound), std::nullopt);
  EXPECT_EQ(claim(bound + 1),
            "bound " + std::to_string(bound + 1) + " is claimed, found " +
                std::to_string(bound) + " in the certificate");
}

TEST(RecomputeCertificate, WorkedExample) {
  const RecomputeProblem problem = workedExample();
  RecomputeSolution solution = solveRecompute(problem, 4);
  ASSERT_EQ(solution.status, RecomputeStatus::Solved);
  EXPECT_EQ(solution.order, (std::vector<int32_t>{0, 1, 2, 3, 4, 2, 5, 1, 6}));
  EXPECT_EQ(solution.cost, 26);
  EXPECT_EQ(solution.peak, 4);
  EXPECT_EQ(solution.bound, 26);
  EXPECT_EQ(solution.anyOrderBound, 22);
  EXPECT_EQ(checkRecompute(problem, solution), std::nullopt);
  EXPECT_EQ(cheapestPlan(problem, 4), 26);
  solution = solveRecompute(problem, 6);
  EXPECT_EQ(solution.cost, 18);
  EXPECT_EQ(solution.peak, 6);
  // One moment.
  provesExactly(problem, 22,
                "certificate kind given\ncertificate cut 4\n"
                "certificate multiplier 2 1\n"
                "certificate value 2 4\ncertificate value 1 2\n"
                "certificate value 0 2\n");
  provesExactly(problem, 22,
                "certificate kind given\ncertificate cut 5\n"
                "certificate multiplier 4 1\n"
                "certificate value 1 4\ncertificate value 0 4\n");
  // A series.
  provesExactly(problem, 24,
                "certificate kind given\ncertificate cut 4\n"
                "certificate multiplier 2 1\n"
                "certificate value 2 4\ncertificate value 1 2\n"
                "certificate value 0 2\n"
                "certificate next-cut 5 2\n"
                "certificate price 1 2\ncertificate price 0 2\n"
                "certificate value 1 4\ncertificate value 0 4\n");
  // Cases, one of them seen from the later cut; at the first cut alone they
  // gain nothing.
  const std::string split = "certificate kind given\ncertificate cut 4\n"
                            "certificate multiplier 0 1\n"
                            "certificate split 2\n";
  const std::string isHeld = "certificate case 6\n"
                             "certificate value 2 12\ncertificate value 1 4\n"
                             "certificate value 0 6\n";
  provesExactly(problem, 26,
                split +
                    "certificate case 4 5\n"
                    "certificate value 1 4\ncertificate value 0 4\n" +
                    isHeld);
  provesExactly(problem, 22, split + "certificate case 0\n" + isHeld);
  // The same cases with both cuts joined.
  provesExactly(problem, 26,
                split + "certificate case 0\n"
                        "certificate joined-cut 5 4\n"
                        "certificate value 1 4\ncertificate value 0 4\n"
                        "certificate case 6\n"
                        "certificate value 2 12\ncertificate value 1 4\n"
                        "certificate value 0 6\n"
                        "certificate joined-cut 5 0\n"
                        "certificate price 1 4\ncertificate price 0 6\n"
                        "certificate value 1 4\ncertificate value 0 6\n");
}

/// Products of these numbers leave 64 bits, sums of them 128.
TEST(RecomputeCertificate, NumbersThatWrapProveNothing) {
  const RecomputeProblem problem =
      problemOf("recompute-problem 1\nnodes 4\n"
                "node 0 1 1\nnode 1 1 1\nnode 2 1 1\nnode 3 1 1\n"
                "edge 0 1\nedge 1 2\nedge 2 3\n");
  const std::string certificate =
      "certificate kind given\n"
      "certificate cut 0\n"
      "certificate multiplier 9223372036854775807 1\n"
      "certificate next-cut 1 9223372036854775807\n"
      "certificate next-cut 2 9223372036854775807\n"
      "certificate any-bound 4\n"
      "certificate any-kind base\n";
  const std::string budget = "budget 9223372036854775807\n";
  EXPECT_EQ(check(problem, "recompute-solution 1\n" + budget +
                               "cost 4\npeak 2\nbound 1000000\n" + certificate +
                               "order\n0\n1\n2\n3\n"),
            "bound 1000000 exceeds the cost 4 of a valid plan");
  for (const char *bound : {"1000000", "5", "4"})
    EXPECT_EQ(check(problem, "recompute-undecided 1\n" + budget + "bound " +
                                 bound + "\n" + certificate),
              "certificate: its numbers add up to more than 128 bits hold, so "
              "it proves nothing");
}

TEST(RecomputeCertificate, NoBoundIsAboveThePlan) {
  const RecomputeProblem problem = workedExample();
  const RecomputeSolution solution = solveRecompute(problem, 4);
  for (int64_t RecomputeSolution::*bound :
       {&RecomputeSolution::bound, &RecomputeSolution::anyOrderBound}) {
    RecomputeSolution changed = solution;
    changed.*bound = 27;
    EXPECT_EQ(checkRecompute(problem, changed),
              "bound 27 exceeds the cost 26 of a valid plan");
  }
}

TEST(RecomputeCertificate, WhatATransferHoldsIsNotWrittenOver) {
  // Node 1 writes its 10 bytes over those of node 0, which a save still moves
  // while it runs, though nobody reads them again before they are loaded.
  RecomputeProblem problem;
  problem.nodes = {{4, 10}, {4, 10, -10}, {4, 0}};
  problem.edges = {{0, 1}, {0, 2}};
  problem.overwrites = {{0, 1, 10}};
  problem.variants = {{0, 0, 1, 1, 2}};
  RecomputeSolution plan;
  plan.status = RecomputeStatus::Solved;
  plan.budget = 20;
  plan.order = {0, 3, 1, 4, 2};
  plan.cost = 14;
  plan.peak = 10;
  plan.bound = plan.anyOrderBound = 12;
  // The load ends at 4 + 1 + 4 + 1 + 2, the last node starts at 10.
  EXPECT_EQ(checkRecompute(problem, plan),
            "value 0 at position 4 is read before its load has ended");
  problem.nodes.insert(problem.nodes.begin() + 2, {4, 0});
  problem.edges = {{0, 1}, {0, 3}};
  plan.order = {0, 4, 1, 5, 2, 3};
  plan.cost = 18;
  plan.bound = plan.anyOrderBound = 16;
  EXPECT_EQ(checkRecompute(problem, plan), "peak 10 is claimed, found 20");
  plan.peak = 20;
  EXPECT_EQ(checkRecompute(problem, plan), std::nullopt);
  // So within 10 bytes node 0 runs again instead, which costs 4.
  EXPECT_EQ(cheapestPlan(problem, 10), 20);
  RecomputeSolution solution = solveRecompute(problem, 10);
  EXPECT_EQ(solution.cost, 20);
  EXPECT_EQ(checkRecompute(problem, solution), std::nullopt);
  // Once it has been moved, it may be written over.
  problem.variants[0].transfer = 0;
  plan.peak = 10;
  EXPECT_EQ(checkRecompute(problem, plan), std::nullopt);
  EXPECT_EQ(cheapestPlan(problem, 10), 18);
}

TEST(RecomputeCertificate, AShorterTransferDoesNotEndALongerOne) {
  // The value waits in two copies. The first is moved for 20; the second, which
  // is made at once, does not make it free before.
  RecomputeProblem problem;
  problem.nodes = {{1, 4}, {1, 0}, {1, 0}};
  problem.edges = {{0, 1}, {0, 2}};
  problem.variants = {{0, 1, 1, 1, 20}, {0, 1, 1, 1, 0}};
  RecomputeSolution plan;
  plan.status = RecomputeStatus::Solved;
  plan.budget = 100;
  plan.order = {0, 3, 5, 1, 0, 2};
  plan.cost = 6;
  plan.peak = 6;
  plan.bound = plan.anyOrderBound = 3;
  EXPECT_EQ(checkRecompute(problem, plan),
            "value 0 at position 4 is computed while a transfer of it goes on");
}

TEST(RecomputeCertificate, ALateReadWaitsForALoad) {
  // Node 0 runs again after node 1 has run and then reads its value, which is
  // still being loaded.
  RecomputeProblem problem;
  problem.nodes = {{1, 1}, {1, 4}, {1, 0}, {9, 0}, {1, 0}};
  problem.edges = {{0, 2}, {1, 4}};
  problem.lateReads = {{1, 0}};
  problem.variants = {{1, 0, 1, 1, 3}};
  RecomputeSolution plan;
  plan.status = RecomputeStatus::Solved;
  plan.budget = 100;
  plan.order = {0, 1, 5, 2, 3, 6, 0, 4};
  EXPECT_EQ(checkRecompute(problem, plan),
            "value 1 at position 6 is read before its load has ended");
}

/// Whatever is accepted is true, for every kind of certificate.
TEST(RecomputeCertificate, ForgedOnesProveNothingFalse) {
  Forgeries all;
  for (uint64_t seed = 0; seed < 300; seed += roundStride) {
    Forgeries one = forgeCertificates(seed, 11, 100);
    ASSERT_EQ(one.wrong.value_or(""), "") << "seed " << seed;
    for (auto [kind, count] : one.accepted)
      all.accepted[kind] += count;
  }
  for (const char *kind :
       {"given order", "any order", "working set", "held bytes", "series",
        "prices of values", "cases", "held values", "joined cuts", "views",
        "units", "transfer price"})
    EXPECT_GT(all.accepted[kind], 100 / roundStride) << kind;
}
