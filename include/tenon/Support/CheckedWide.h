//===- CheckedWide.h - 128-bit arithmetic that remembers overflow ---------===//
//
// Sums of products of 64-bit numbers that somebody else wrote, such as the
// prices of a certificate times bytes. One product always fits in 128 bits; a
// sum of a few of them may not. A result that does not fit is not exact, and
// neither is anything computed from it. What is not exact is neither less than,
// nor equal to, nor greater than any number, so there are no comparison
// operators, whose negation would be true of it: ask for what must hold, with
// isSurelyLess and isSurelyAtMost, and refuse otherwise.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_SUPPORT_CHECKEDWIDE_H
#define TENON_SUPPORT_CHECKEDWIDE_H

#include <concepts>
#include <cstdint>
#include <optional>

namespace tenon {

class CheckedWide {
public:
  using Integer = __int128;

  constexpr CheckedWide() = default;
  template <typename Number>
    requires std::integral<Number> || std::same_as<Number, Integer>
  constexpr CheckedWide(Number number) : number(number) {}

  /// The number, or nothing where some sum or product left 128 bits.
  constexpr std::optional<Integer> exact() const {
    return fits ? std::optional(number) : std::nullopt;
  }

  friend constexpr CheckedWide operator+(CheckedWide a, CheckedWide b) {
    a.fits = !__builtin_add_overflow(a.number, b.number, &a.number) && a.fits &&
             b.fits;
    return a;
  }
  friend constexpr CheckedWide operator-(CheckedWide a, CheckedWide b) {
    a.fits = !__builtin_sub_overflow(a.number, b.number, &a.number) && a.fits &&
             b.fits;
    return a;
  }
  friend constexpr CheckedWide operator*(CheckedWide a, CheckedWide b) {
    a.fits = !__builtin_mul_overflow(a.number, b.number, &a.number) && a.fits &&
             b.fits;
    return a;
  }
  constexpr CheckedWide &operator+=(CheckedWide b) { return *this = *this + b; }
  constexpr CheckedWide &operator-=(CheckedWide b) { return *this = *this - b; }

  friend constexpr bool isSurelyLess(CheckedWide a, CheckedWide b) {
    return a.fits && b.fits && a.number < b.number;
  }
  friend constexpr bool isSurelyAtMost(CheckedWide a, CheckedWide b) {
    return a.fits && b.fits && a.number <= b.number;
  }

  /// The lesser of both, exact only if both are.
  friend constexpr CheckedWide lesser(CheckedWide a, CheckedWide b) {
    CheckedWide result = b.number < a.number ? b : a;
    result.fits = a.fits && b.fits;
    return result;
  }
  /// number / divisor, rounded up; the divisor is positive.
  friend constexpr CheckedWide dividedUp(CheckedWide wide, int64_t divisor) {
    const Integer quotient = wide.number / divisor;
    const bool isUp = wide.number > quotient * divisor;
    wide.number = quotient + (isUp ? 1 : 0);
    return wide;
  }

private:
  Integer number = 0;
  bool fits = true;
};

} // namespace tenon

#endif // TENON_SUPPORT_CHECKEDWIDE_H
