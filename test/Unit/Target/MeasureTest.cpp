//===- MeasureTest.cpp - Figures of the machine the tests run on ----------===//
//
// How fast the machine is cannot be tested; that figures are complete, agree
// with each other and survive being written can.
//
//===----------------------------------------------------------------------===//

#include "tenon/Target/Measure.h"

#include <gtest/gtest.h>

using namespace tenon;
using namespace tenon::target;

/// Touching what no cache holds takes seconds, and what is tested here holds of
/// any buffer.
constexpr int64_t fewBytes = 16 * 1024 * 1024;

TEST(Measure, FillsEveryFieldOfAMachine) {
  if (!hostIsa())
    GTEST_SKIP() << "this processor is below x86-64-v3";
  std::string error;
  auto target = measureTarget(
      {.threads = 2, .secondsPerFigure = 0.02, .bufferBytes = fewBytes}, error);
  ASSERT_TRUE(target) << error;
  EXPECT_EQ(target->cores, 2);
  EXPECT_EQ(target->isa, *hostIsa());
  // A file made of it is read back, so every figure is positive and finite.
  EXPECT_TRUE(fromJson(toJson(*target), "measured", error)) << error;
  // Wide bounds that a loop the compiler removed, or a wrong unit, breaks.
  EXPECT_GT(target->compute.f32.oneCore, 1e8);
  EXPECT_LT(target->compute.f32.oneCore, 1e13);
  EXPECT_LT(target->memory.copy.allCores, 1e13);
  EXPECT_LT(target->overheads.launch, 1e-5);
  EXPECT_EQ(target->compute.f16, target->compute.f32);
}

TEST(Measure, OneThreadIsAllCoresOfOne) {
  if (!hostIsa())
    GTEST_SKIP() << "this processor is below x86-64-v3";
  std::string error;
  auto target = measureTarget(
      {.threads = 1, .secondsPerFigure = 0.01, .bufferBytes = fewBytes}, error);
  ASSERT_TRUE(target) << error;
  EXPECT_EQ(target->compute.f32.oneCore, target->compute.f32.allCores);
  EXPECT_EQ(target->memory.read.oneCore, target->memory.read.allCores);
}

TEST(Measure, CachesGrowWithTheirLevel) {
  Caches caches = hostCaches();
  if (caches.level1 && caches.level2)
    EXPECT_LE(caches.level1, caches.level2);
  EXPECT_GE(caches.last(), caches.level3);
}
