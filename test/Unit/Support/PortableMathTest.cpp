//===- PortableMathTest.cpp - Functions with the same bits everywhere -----===//

#include "tenon/Support/PortableMath.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>

using namespace tenon;

namespace {

/// Units in the last place of a double between `actual` and `exact`.
double unitsApart(double actual, long double exact) {
  double rounded = double(exact);
  double unit = std::nextafter(std::fabs(rounded),
                               std::numeric_limits<double>::infinity()) -
                std::fabs(rounded);
  return double(std::fabs(((long double)actual - exact) / unit));
}

TEST(PortableMath, ExponentialIsWithinAUnit) {
  double worst = 0;
  for (int i = -70'000; i <= 70'000; ++i) {
    double x = i * 0.01001 + i * 1e-7;
    worst = std::fmax(worst, unitsApart(portableExponential(x), expl(x)));
  }
  EXPECT_LT(worst, 1.0);
}

TEST(PortableMath, ExponentialAtTheEnds) {
  EXPECT_EQ(portableExponential(0), 1);
  EXPECT_EQ(portableExponential(-0.0), 1);
  EXPECT_EQ(portableExponential(-1e300), 0);
  EXPECT_EQ(portableExponential(-std::numeric_limits<double>::infinity()), 0);
  EXPECT_EQ(portableExponential(1e300),
            std::numeric_limits<double>::infinity());
  EXPECT_EQ(portableExponential(709.9),
            std::numeric_limits<double>::infinity());
  EXPECT_GT(portableExponential(709.7), 1e308);
  EXPECT_EQ(portableExponential(-745.0),
            std::numeric_limits<double>::denorm_min());
}

TEST(PortableMath, LogarithmIsWithinTwoUnits) {
  double worst = 0;
  for (int i = 1; i <= 100'000; ++i)
    for (double scale : {1e-300, 1e-5, 1.0 / 3, 1e10}) {
      double x = i * scale;
      worst = std::fmax(worst, unitsApart(portableLogarithm(x), logl(x)));
    }
  EXPECT_LT(worst, 2.0);
  EXPECT_EQ(portableLogarithm(1), 0);
  EXPECT_EQ(portableLogarithm(2), std::numbers::ln2);
}

TEST(PortableMath, TurnsAreWithinThreeUnits) {
  double worst = 0;
  for (int64_t denominator = 1; denominator < 300; ++denominator)
    for (int64_t numerator = 0; numerator < denominator; ++numerator) {
      long double angle = 2 * std::numbers::pi_v<long double> *
                          (long double)numerator / (long double)denominator;
      // Where the exact result is 0 that of the long double is not.
      if (4 * numerator % denominator != 0) {
        worst =
            std::fmax(worst, unitsApart(cosineOfTurn(numerator, denominator),
                                        cosl(angle)));
        worst = std::fmax(
            worst, unitsApart(sineOfTurn(numerator, denominator), sinl(angle)));
      }
    }
  EXPECT_LT(worst, 3.0);
}

TEST(PortableMath, QuartersOfATurnAreExact) {
  for (int64_t quarter = 0; quarter < 8; ++quarter) {
    const double cosines[] = {1, 0, -1, 0}, sines[] = {0, 1, 0, -1};
    EXPECT_EQ(cosineOfTurn(quarter * 6, 24), cosines[quarter % 4]);
    EXPECT_EQ(sineOfTurn(quarter * 6, 24), sines[quarter % 4]);
  }
}

/// A result that depends on the processor would differ on one of those that
/// tests run on.
TEST(PortableMath, BitsAreTheRecordedOnes) {
  uint64_t sum = 0;
  auto add = [&](double value) {
    sum = std::rotl(sum, 7) ^ std::bit_cast<uint64_t>(value);
  };
  for (int i = 1; i <= 1000; ++i) {
    add(portableExponential(-0.0371 * i));
    add(portableLogarithm(0.0123 * i));
    add(cosineOfTurn(i, 1009));
    add(sineOfTurn(i, 1009));
  }
  EXPECT_EQ(sum, 2957521804564598404u);
}

} // namespace
