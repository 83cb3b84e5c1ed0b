//===- SpecialFunctions.cpp - Functions the C library does not have -------===//
//
// Recurrences bring an argument to where an asymptotic series is exact to the
// last digits. Formulas: NIST Digital Library of Mathematical Functions, 5.5,
// 5.11, 5.15, 10.40 and 25.11.
//
//===----------------------------------------------------------------------===//

#include "SpecialFunctions.h"

#include <cmath>
#include <iterator>
#include <numbers>

namespace tenon::reference {

/// The inverse of the error function by Newton's method on erfc, which keeps
/// its digits where erf is close to 1.
double inverseErf(double y) {
  if (y == 0 || std::isnan(y))
    return y;
  if (std::fabs(y) >= 1)
    return std::fabs(y) == 1 ? std::copysign(INFINITY, y) : NAN;
  double a = std::fabs(y);
  double w = -std::log((1 - a) * (1 + a));
  double x = w < 5 ? a * 0.8862269254527580 : std::sqrt(w);
  for (int i = 0; i < 60; ++i) {
    double residual = a < 0.5 ? std::erf(x) - a : (1 - a) - std::erfc(x);
    double step = residual * 0.8862269254527580 * std::exp(x * x);
    // Halley's correction keeps the iteration from overshooting.
    x -= step / (1 + x * step);
    if (std::fabs(step) <= 1e-17 * std::fabs(x))
      break;
  }
  return std::copysign(x, y);
}

/// The Bernoulli numbers B2, B4, ...
static constexpr double bernoulli[] = {
    1.0 / 6,       -1.0 / 30, 1.0 / 42,      -1.0 / 30,     5.0 / 66,
    -691.0 / 2730, 7.0 / 6,   -3617.0 / 510, 43867.0 / 798, -174611.0 / 330};

double digamma(double x) {
  if (std::isnan(x) || x == INFINITY)
    return x;
  if (x <= 0 && x == std::floor(x))
    return NAN;
  if (x < 0.5) { // the angle from the nearest pole keeps its digits
    double angle = std::numbers::pi * (x - std::round(x));
    return digamma(1 - x) - std::numbers::pi / std::tan(angle);
  }
  double result = 0;
  for (; x < 12; ++x)
    result -= 1 / x;
  double inverse = 1 / (x * x), power = inverse, series = 0;
  for (int k = 1; k <= 8; ++k, power *= inverse)
    series += bernoulli[k - 1] / (2 * k) * power;
  return result + std::log(x) - 1 / (2 * x) - series;
}

double hurwitzZeta(double s, double q) {
  if (std::isnan(s) || std::isnan(q) || s < 1)
    return NAN;
  if (s == 1)
    return INFINITY;
  if (q <= 0 && q == std::floor(q))
    return std::fmod(s, 2) == 0 ? INFINITY : NAN;
  if (q <= 0 && s != std::floor(s))
    return NAN;
  // Terms one by one until the Euler-Maclaurin series takes over.
  double sum = 0, x = q;
  for (; x < 12; ++x)
    sum += std::pow(x, -s);
  double term = std::pow(x, -s);
  sum += x * term / (s - 1) + term / 2;
  double factor = s * term / x, factorial = 2;
  for (size_t k = 0; k < std::size(bernoulli); ++k) {
    sum += bernoulli[k] / factorial * factor;
    factor *= (s + 2 * k + 1) * (s + 2 * k + 2) / (x * x);
    factorial *= (2 * k + 3) * (2 * k + 4);
  }
  return sum;
}

double polygamma(double n, double x) {
  if (n < 0 || n != std::floor(n))
    return NAN;
  if (n == 0)
    return digamma(x);
  double sign = std::fmod(n, 2) == 1 ? 1 : -1;
  return sign * std::exp(std::lgamma(n + 1)) * hurwitzZeta(n + 1, x);
}

double scaledBesselI1(double x) {
  double a = std::fabs(x), result = 0;
  if (std::isnan(x))
    return x;
  if (a < 30) {
    // The power series: all terms are positive, nothing cancels.
    double term = a / 2, square = a * a / 4;
    for (int k = 1; term > 0 && term > 1e-18 * result; ++k) {
      result += term;
      term *= square / (double(k) * (k + 1));
    }
    result *= std::exp(-a);
  } else if (!std::isinf(a)) {
    double term = 1;
    for (int k = 1; k <= 20; ++k) {
      result += term;
      term *= -(4 - std::pow(2.0 * k - 1, 2)) / (8 * a * k);
    }
    result /= std::sqrt(2 * std::numbers::pi * a);
  }
  return std::copysign(result, x);
}

} // namespace tenon::reference
