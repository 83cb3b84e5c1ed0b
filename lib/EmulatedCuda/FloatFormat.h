//===- FloatFormat.h - Rounding to the formats of a GPU -------------------===//
//
// All arithmetic of formats below f64 goes through one function: the exact
// result, or that rounded to odd, as a double, is rounded once to the format.
// Rounding to odd (the last bit becomes 1 if anything was lost) keeps apart
// what a second rounding with at least two bits less must keep apart (Boldo and
// Melquiond, 2008).
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_EMULATEDCUDA_FLOATFORMAT_H
#define TENON_LIB_EMULATEDCUDA_FLOATFORMAT_H

#include "Program.h"
#include <algorithm>
#include <bit>
#include <cmath>

namespace tenon::emulated {

/// `precision` counts the leading one; `lowest` is the exponent of the smallest
/// normal number; `bits` the size; `nan` what arithmetic gives.
struct FloatFormat {
  int precision, lowest, bits;
  uint32_t nan;
};
constexpr FloatFormat f32Format{24, -126, 32, 0x7FFFFFFF},
    f16Format{11, -14, 16, 0x7FFF}, bf16Format{8, -126, 16, 0x7FFF};

/// The bits of x rounded to the format.
inline uint32_t encode(double x, const FloatFormat &format, Rounding rounding) {
  uint64_t word = std::bit_cast<uint64_t>(x);
  const uint32_t sign = word >> 63;
  const uint32_t signBit = sign << (format.bits - 1);
  const int stored = format.precision - 1;
  const uint32_t infinity = ((1u << (format.bits - format.precision)) - 1)
                            << stored;
  uint64_t mantissa = word & ((uint64_t(1) << 52) - 1);
  int exponent = int(word >> 52 & 0x7FF);
  if (exponent == 0x7FF)
    return mantissa ? format.nan : signBit | infinity;
  if (exponent == 0) {
    if (!mantissa)
      return signBit;
    ++exponent;
  } else {
    mantissa |= uint64_t(1) << 52;
  }
  exponent -= 1023;
  int shift = 52 - stored + std::max(0, format.lowest - exponent);
  uint64_t kept = shift > 63 ? 0 : mantissa >> shift;
  uint64_t lost = shift > 63 ? 1 : mantissa & ((uint64_t(1) << shift) - 1);
  uint64_t half = shift > 63 ? 2 : uint64_t(1) << (shift - 1);
  bool up = false;
  switch (rounding) {
  case Rounding::None:
  case Rounding::Nearest:
    up = lost > half || (lost == half && (kept & 1));
    break;
  case Rounding::Away:
    up = lost >= half;
    break;
  case Rounding::Zero:
    break;
  case Rounding::Down:
    up = lost && sign;
    break;
  case Rounding::Up:
    up = lost && !sign;
    break;
  }
  kept += up;
  // A carry out of the mantissa counts the exponent up by itself. `kept` holds
  // the leading one of a normal number, so the exponent's field is one less
  // than it should be.
  uint64_t field = std::max(exponent, format.lowest) - format.lowest;
  uint64_t result = (field << stored) + kept;
  if (result >= infinity) {
    bool toInfinity =
        rounding == Rounding::Nearest || rounding == Rounding::Away ||
        rounding == Rounding::None || (rounding == Rounding::Up && !sign) ||
        (rounding == Rounding::Down && sign);
    result = toInfinity ? infinity : infinity - 1;
  }
  return signBit | static_cast<uint32_t>(result);
}

inline double decode(uint32_t word, const FloatFormat &format) {
  if (format.bits == 32)
    return std::bit_cast<float>(word);
  if (format.precision == 8)
    return std::bit_cast<float>(word << 16);
  const uint32_t magnitude = word & 0x7FFF, sign = word & 0x8000;
  if (magnitude >= 0x7C00)
    return std::bit_cast<float>(sign << 16 | 0x7F800000 |
                                (magnitude & 0x3FF) << 13);
  // The exponent's field moved to that of a float is 112 too small.
  float value = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
  return sign ? -value : value;
}

/// a + b rounded to odd.
inline double addToOdd(double a, double b) {
  double sum = a + b;
  if (!std::isfinite(sum))
    return sum;
  double partOfB = sum - a;
  double lost = (a - (sum - partOfB)) + (b - partOfB);
  if (lost == 0 || (std::bit_cast<uint64_t>(sum) & 1))
    return sum;
  // The other neighbour of the exact sum is the odd one.
  bool away = (lost > 0) == (sum > 0);
  return std::bit_cast<double>(std::bit_cast<uint64_t>(sum) + (away ? 1 : -1));
}

/// The bits of a + b; the exact sum of opposite numbers is -0 when rounding
/// down.
inline uint32_t addRounded(double a, double b, const FloatFormat &format,
                           Rounding rounding) {
  double sum = addToOdd(a, b);
  if (sum == 0 && rounding == Rounding::Down &&
      std::signbit(a) != std::signbit(b))
    sum = -0.0;
  return encode(sum, format, rounding);
}

inline float flushed(float x) {
  uint32_t word = std::bit_cast<uint32_t>(x);
  return word & 0x7F800000 ? x : std::bit_cast<float>(word & 0x80000000);
}
inline float flushedIf(bool flush, float x) { return flush ? flushed(x) : x; }

} // namespace tenon::emulated

#endif // TENON_LIB_EMULATEDCUDA_FLOATFORMAT_H
