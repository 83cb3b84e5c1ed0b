//===- Pairs.h - Numbers of twice the digits, as sums of two f64 ----------===//
//
// A pair is the exact sum of its parts, of which the lesser one is at most half
// a unit in the last place of the other, so it has about 106 digits. Results
// are off by a few 2^-104 of themselves. Sums and products of two f64 are exact
// (Dekker 1971; Knuth, volume 2, section 4.2.2), unless something underflows.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_CODEGEN_LOOPS_PAIRS_H
#define TENON_LIB_CODEGEN_LOOPS_PAIRS_H

#include "Lanes.h"

namespace tenon::codegen {

struct Pair {
  mlir::Value high, low;
};

/// numerator / denominator, which a constant is the nearest pair to.
struct Fraction {
  double numerator, denominator;
};

class Pairs {
public:
  using Value = mlir::Value;

  explicit Pairs(const Lanes &lanes) : l(lanes) {}

  Pair constant(double high, double low) const {
    return {l.f64(high), l.f64(low)};
  }
  Pair constant(Fraction fraction) const;
  Pair number(Value a) const { return {a, l.f64(0.0)}; }

  /// Exact, with |a| >= |b| or a = 0.
  Pair quickSum(Value a, Value b) const;
  /// Exact.
  Pair sum(Value a, Value b) const;
  Pair product(Value a, Value b) const;

  Pair add(const Pair &a, const Pair &b) const;
  Pair add(const Pair &a, Value b) const { return add(a, number(b)); }
  Pair negate(const Pair &a) const { return {l.neg(a.high), l.neg(a.low)}; }
  Pair sub(const Pair &a, const Pair &b) const { return add(a, negate(b)); }
  Pair mul(const Pair &a, const Pair &b) const;
  Pair mul(const Pair &a, Value b) const { return mul(a, number(b)); }
  /// By a power of two.
  Pair scale(const Pair &a, Value power) const {
    return {l.mul(a.high, power), l.mul(a.low, power)};
  }
  Pair div(const Pair &a, const Pair &b) const;
  /// Of a positive number.
  Pair sqrt(const Pair &a) const;
  Pair select(Value condition, const Pair &a, const Pair &b) const {
    return {l.select(condition, a.high, b.high),
            l.select(condition, a.low, b.low)};
  }
  /// coefficients[0] + coefficients[1] x + ...; the first `exact` terms as
  /// pairs, what is left as f64.
  Pair polynomial(const Pair &x, llvm::ArrayRef<Fraction> coefficients,
                  size_t exact) const;

private:
  const Lanes &l;
};

} // namespace tenon::codegen

#endif // TENON_LIB_CODEGEN_LOOPS_PAIRS_H
