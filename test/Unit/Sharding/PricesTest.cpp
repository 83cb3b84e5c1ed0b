//===- PricesTest.cpp - What moving tensors takes -------------------------===//

#include "tenon/Sharding/Prices.h"

#include <gtest/gtest.h>

using namespace tenon;
using namespace tenon::sharding;

namespace {

/// Links of 10 us, 1 GB/s along the first axis and 4 GB/s along the second.
target::Target machine() {
  target::Target target = target::builtInTarget(target::Isa::avx2);
  target.links = {{1e-5, 1e9, 1}, {1e-6, 8e9, 2}};
  return target;
}

double secondsBetween(const char *source, const char *target,
                      llvm::ArrayRef<int64_t> shape,
                      const char *axes = "slow=4,quick=2") {
  std::string error;
  Mesh mesh = *Mesh::parse(axes, error);
  Layout from = *Layout::parse(source, mesh, error);
  Layout to = *Layout::parse(target, mesh, error);
  return Prices(mesh, machine())
      .secondsOf(planReshard(mesh, shape, 4, from, to), shape, 4);
}

TEST(Prices, SumsTakeTwoRounds) {
  // Three messages and three quarters of the bytes, twice.
  const char *alone = "slow=4,quick=1";
  EXPECT_DOUBLE_EQ(secondsBetween("[-] sum(slow)", "[-]", {1 << 18}, alone),
                   6e-5 + 2 * 0.75 * (1 << 20) / 1e9);
  EXPECT_DOUBLE_EQ(secondsBetween("[-] sum(slow)", "[slow]", {1 << 18}, alone),
                   3e-5 + 0.75 * (1 << 20) / 1e9);
}

TEST(Prices, TheSlowestLinkDecides) {
  EXPECT_DOUBLE_EQ(secondsBetween("[quick]", "[-]", {1 << 18}),
                   1e-6 + 0.5 * (1 << 20) / 4e9);
  EXPECT_DOUBLE_EQ(secondsBetween("[slow quick]", "[-]", {1 << 18}),
                   7e-5 + 0.875 * (1 << 20) / 1e9);
}

TEST(Prices, SlicesTakeLittleAndSmallerOnesLess) {
  double half = secondsBetween("[-, -]", "[slow, -]", {1 << 10, 1 << 10});
  EXPECT_GT(half, 0);
  EXPECT_LT(half, 1e-6);
  EXPECT_DOUBLE_EQ(
      secondsBetween("[-, -]", "[slow, quick]", {1 << 10, 1 << 10}), half / 2);
}

TEST(Prices, StepsSayAlongWhichAxesTheyExchange) {
  std::string error;
  Mesh mesh = *Mesh::parse("a=2,b=2", error);
  auto alongOf = [&](const char *source, const char *target) {
    ReshardPlan plan =
        planReshard(mesh, {8, 8}, 4, *Layout::parse(source, mesh, error),
                    *Layout::parse(target, mesh, error));
    EXPECT_EQ(plan.steps.size(), 1u);
    Layout along;
    along.dims = {exchangedAlong(plan.steps.front())};
    return along.text(mesh);
  };
  EXPECT_EQ(alongOf("[a b, -]", "[a, -]"), "[b]");
  EXPECT_EQ(alongOf("[a, -]", "[-, a]"), "[a]");
  EXPECT_EQ(alongOf("[a b, -]", "[b a, -]"), "[a b]");
  EXPECT_EQ(alongOf("[b, -] sum(a)", "[b, -]"), "[a]");
}

} // namespace
