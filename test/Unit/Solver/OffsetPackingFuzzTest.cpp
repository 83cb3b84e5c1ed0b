//===- OffsetPackingFuzzTest.cpp - packings against brute force -----------===//
//
// Random problems of at most seven buffers. The solver's plan must be valid,
// its arena the smallest there is, its bound not above it, and what it calls
// infeasible must be. Seeds are fixed; TENON_FUZZ_FIRST and TENON_FUZZ_COUNT
// widen or resume the range.
//
//===----------------------------------------------------------------------===//

#include "OffsetPackingRandom.h"
#include "Rounds.h"

#include <gtest/gtest.h>

#include <cstdlib>

using namespace tenon::solver;
using namespace tenon::solver::test;

static int64_t environment(const char *name, int64_t otherwise) {
  const char *text = std::getenv(name);
  return text ? std::strtoll(text, nullptr, 10) : otherwise;
}

static RandomShape shapeOf(uint64_t seed) {
  RandomShape shape;
  shape.maxBuffers = seed % 8 == 7 ? 5 : 7;
  shape.alignments = seed & 1;
  shape.gaps = seed & 2;
  shape.slices = (seed & 6) == 6;
  shape.groups = seed & 8;
  shape.fixed = seed & 16;
  // The brute force pays for every offset.
  if (shape.groups || shape.fixed || shape.slices)
    shape.maxBuffers = 5;
  return shape;
}

TEST(OffsetPackingFuzz, SmallestArenaOfRandomProblems) {
  int64_t first = environment("TENON_FUZZ_FIRST", 1);
  int64_t count = environment("TENON_FUZZ_COUNT", 2000 / roundStride);
  for (int64_t seed = first; seed < first + count; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(static_cast<uint64_t>(seed));
    OffsetPackingProblem problem =
        randomProblem(random, shapeOf(static_cast<uint64_t>(seed)));
    OffsetPackingSolution solution = solveOffsetPacking(problem);
    ASSERT_NE(solution.status, OffsetPackingStatus::Invalid)
        << solution.message;
    ASSERT_EQ(checkOffsetPacking(problem, solution), std::nullopt);
    if (solution.status == OffsetPackingStatus::Infeasible) {
      ASSERT_FALSE(BruteForce(problem).smallest(60));
      continue;
    }
    auto optimum = BruteForce(problem).smallest(solution.arena);
    ASSERT_TRUE(optimum);
    ASSERT_LE(solution.certificate.bound, *optimum);
    ASSERT_EQ(solution.arena, *optimum);
    ASSERT_TRUE(solution.provedSmallest());

    // At the optimum a plan exists, below it none does.
    problem.capacity = *optimum;
    solution = solveOffsetPacking(problem);
    ASSERT_EQ(solution.status, OffsetPackingStatus::Solved);
    ASSERT_EQ(checkOffsetPacking(problem, solution), std::nullopt);
    if (*optimum == 0)
      continue;
    problem.capacity = *optimum - 1;
    solution = solveOffsetPacking(problem);
    ASSERT_EQ(solution.status, OffsetPackingStatus::Infeasible);
    ASSERT_EQ(checkOffsetPacking(problem, solution), std::nullopt);
  }
}
