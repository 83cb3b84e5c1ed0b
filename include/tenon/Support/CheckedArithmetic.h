//===- CheckedArithmetic.h - 64-bit arithmetic that reports overflow ------===//
//
// Sums and products of sizes, costs and offsets. A size that does not fit in 64
// bits must become a diagnostic, never a wrapped number, so the functions
// return nothing instead of a wrong result. Used by every folder; needs
// nothing.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_SUPPORT_CHECKEDARITHMETIC_H
#define TENON_SUPPORT_CHECKEDARITHMETIC_H

#include <cstdint>
#include <optional>

namespace tenon {

/// a + b, or nothing when the sum leaves the 64-bit range.
[[nodiscard]] inline std::optional<int64_t> addChecked(int64_t a, int64_t b) {
  int64_t result;
  if (__builtin_add_overflow(a, b, &result))
    return std::nullopt;
  return result;
}

/// a * b, or nothing when the product leaves the 64-bit range.
[[nodiscard]] inline std::optional<int64_t> mulChecked(int64_t a, int64_t b) {
  int64_t result;
  if (__builtin_mul_overflow(a, b, &result))
    return std::nullopt;
  return result;
}

} // namespace tenon

#endif // TENON_SUPPORT_CHECKEDARITHMETIC_H
