//===- ErrorStatistics.h - How far numbers are from exact ones ------------===//
//
// What `tenon plan --error` says of a tensor: signal over noise, bias, and what
// became zero, over all elements and steps.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_TOOLS_TENON_COMPILER_ERRORSTATISTICS_H
#define TENON_TOOLS_TENON_COMPILER_ERRORSTATISTICS_H

#include <cmath>
#include <cstdint>
#include <span>

namespace tenon::tool {

class ErrorStatistics {
public:
  void add(std::span<const double> values, std::span<const double> exact) {
    for (size_t i = 0; i < exact.size(); ++i) {
      double error = errorOf(values[i], exact[i]);
      signal += exact[i] * exact[i];
      sum += error;
      squares += error * error;
      flushed += values[i] == 0 && exact[i] != 0;
    }
    count += exact.size();
  }

  /// Signal to quantization noise: 10 log10 of the sum of the squares of the
  /// exact values over that of the errors. Infinite without an error, NaN if
  /// something is not a number where it should be one.
  double decibels() const {
    return squares == 0 ? INFINITY : 10 * std::log10(signal / squares);
  }
  /// The mean error in units of its standard error, as if the errors of
  /// elements were independent; NaN for fewer than two elements.
  double bias() const {
    if (squares == 0)
      return 0;
    double mean = sum / double(count);
    double variance =
        (squares - double(count) * mean * mean) / double(count - 1);
    return mean / std::sqrt(variance / double(count));
  }
  /// Of all elements, those that are zero and should not be.
  double shareFlushed() const {
    return count ? double(flushed) / double(count) : 0;
  }

  /// The sum of the squares of the errors.
  static double noise(std::span<const double> values,
                      std::span<const double> exact) {
    double squares = 0;
    for (size_t i = 0; i < exact.size(); ++i) {
      double error = errorOf(values[i], exact[i]);
      squares += error * error;
    }
    return squares;
  }

private:
  /// Equal infinities, and two that are no numbers, are no error.
  static double errorOf(double value, double exact) {
    return value == exact || (std::isnan(value) && std::isnan(exact))
               ? 0
               : value - exact;
  }

  double signal = 0, sum = 0, squares = 0;
  uint64_t count = 0, flushed = 0;
};

} // namespace tenon::tool

#endif // TENON_TOOLS_TENON_COMPILER_ERRORSTATISTICS_H
