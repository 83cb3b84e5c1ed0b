//===- PortableMath.cpp - Functions with the same bits on every machine ---===//
//
// Each function brings its argument near 0 and sums the Taylor series there,
// the smallest terms first. frexp, ldexp and floor are exact by definition.
//
//===----------------------------------------------------------------------===//

#include "tenon/Support/PortableMath.h"

#include <cmath>
#include <limits>
#include <numbers>

namespace tenon {

/// The logarithm of 2 in two parts. The first has 32 bits, so that its products
/// with exponents of doubles are exact.
static constexpr double logarithmOf2 = 0x1.62e42feep-1;
static constexpr double restOfLogarithmOf2 = 0x1.a39ef35793c76p-33;

double portableExponential(double x) {
  // e^x = 2^n e^r with r = x - n log 2 in about [-log(2)/2, log(2)/2]. Beyond
  // these limits the result is infinity or 0.
  if (x > 710)
    return std::numeric_limits<double>::infinity();
  if (x < -746)
    return 0;
  const double n = std::floor(x * std::numbers::log2e + 0.5);
  const double first = x - n * logarithmOf2;
  const double rest = n * restOfLogarithmOf2;
  const double r = first - rest;
  const double lost = (first - r) - rest; // what rounding took from r
  constexpr int lastTerm = 14;
  double sum = 1.0;
  // e^r - 1 - r = r^2 / 2 (1 + r / 3 (1 + r / 4 (...))).
  for (int k = lastTerm; k > 2; --k)
    sum = 1.0 + r / k * sum;
  const double afterFirst = r * r * 0.5 * sum + lost;
  return std::ldexp(1.0 + (r + afterFirst), int(n));
}

double portableLogarithm(double x) {
  // x = 2^n m with m in [sqrt(1/2), sqrt(2)); with s = (m - 1) / (m + 1),
  // log m = 2 s (1 + s^2 / 3 + s^4 / 5 + ...).
  int exponent = 0;
  double m = std::frexp(x, &exponent);
  if (m < std::numbers::sqrt2 / 2) {
    m *= 2;
    --exponent;
  }
  const double f = m - 1;
  const double s = f / (m + 1);
  const double square = s * s;
  constexpr int lastTerm = 25;
  double sum = 0;
  for (int k = lastTerm; k > 1; k -= 2)
    sum = square * (sum + 1.0 / k);
  // 2 s = f - f^2 / 2 + s f^2 / 2, whose first part is exact.
  const double half = 0.5 * f * f;
  const double logarithm = f - (half - s * (half + 2 * sum));
  return exponent * logarithmOf2 + (exponent * restOfLogarithmOf2 + logarithm);
}

/// The sine of an eighth of a turn times `share`, from 0 to 1.
static double sineInEighth(double share) {
  const double x = share * (std::numbers::pi / 4);
  constexpr int lastTerm = 19;
  double sum = 1.0;
  for (int k = lastTerm; k > 3; k -= 2)
    sum = 1.0 - x * x / (k * (k - 1)) * sum;
  return x - x * x * x / 6 * sum;
}

/// The same of the cosine.
static double cosineInEighth(double share) {
  const double x = share * (std::numbers::pi / 4);
  constexpr int lastTerm = 20;
  double sum = 1.0;
  for (int k = lastTerm; k > 2; k -= 2)
    sum = 1.0 - x * x / (k * (k - 1)) * sum;
  return 1.0 - x * x / 2 * sum;
}

double cosineOfTurn(int64_t numerator, int64_t denominator) {
  const int64_t eighths = 8 * (numerator % denominator);
  const int64_t whole = eighths / denominator;
  const int64_t rest = eighths % denominator;
  // In every other eighth the angle is counted back from its end.
  const bool isBackward = whole % 2 == 1;
  const double share =
      double(isBackward ? denominator - rest : rest) / double(denominator);
  // The eighths next to the sides of the turn, where the cosine is 1 or -1, and
  // those next to its top and bottom, where it is 0.
  const bool nearSides = (whole + 1) / 2 % 2 == 0;
  const bool isNegative = whole >= 2 && whole < 6;
  const double magnitude =
      nearSides ? cosineInEighth(share) : sineInEighth(share);
  return isNegative && magnitude != 0 ? -magnitude : magnitude;
}

double sineOfTurn(int64_t numerator, int64_t denominator) {
  // A quarter of a turn behind the cosine, in quarters of the unit.
  const int64_t quarters = 4 * (numerator % denominator);
  return cosineOfTurn(quarters + 3 * denominator, 4 * denominator);
}

} // namespace tenon
