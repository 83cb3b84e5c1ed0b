//===- Pairs.cpp - Numbers of twice the digits, as sums of two f64 --------===//
//
// See Pairs.h.
//
//===----------------------------------------------------------------------===//

#include "Pairs.h"

#include <cmath>

using namespace mlir;

namespace tenon::codegen {

Pair Pairs::constant(Fraction fraction) const {
  const double high = fraction.numerator / fraction.denominator;
  const double rest = std::fma(-high, fraction.denominator, fraction.numerator);
  return constant(high, rest / fraction.denominator);
}

Pair Pairs::quickSum(Value a, Value b) const {
  Value sum = l.add(a, b);
  return {sum, l.sub(b, l.sub(sum, a))};
}

Pair Pairs::sum(Value a, Value b) const {
  Value sum = l.add(a, b);
  Value part = l.sub(sum, a);
  Value lost = l.add(l.sub(a, l.sub(sum, part)), l.sub(b, part));
  return {sum, lost};
}

Pair Pairs::product(Value a, Value b) const {
  Value product = l.mul(a, b);
  return {product, l.fma(a, b, l.neg(product))};
}

Pair Pairs::add(const Pair &a, const Pair &b) const {
  Pair high = sum(a.high, b.high), low = sum(a.low, b.low);
  high = quickSum(high.high, l.add(high.low, low.high));
  return quickSum(high.high, l.add(high.low, low.low));
}

Pair Pairs::mul(const Pair &a, const Pair &b) const {
  Pair high = product(a.high, b.high);
  Value low = l.fma(a.high, b.low, l.fma(a.low, b.high, high.low));
  return quickSum(high.high, low);
}

Pair Pairs::div(const Pair &a, const Pair &b) const {
  Value first = l.div(a.high, b.high);
  Pair rest = sub(a, mul(b, first));
  return quickSum(first, l.div(rest.high, b.high));
}

Pair Pairs::sqrt(const Pair &a) const {
  Value root = l.sqrt(a.high);
  Pair rest = sub(a, product(root, root));
  return quickSum(root, l.div(rest.high, l.add(root, root)));
}

Pair Pairs::polynomial(const Pair &x, ArrayRef<Fraction> coefficients,
                       size_t exact) const {
  Value tail = l.f64(0.0);
  for (const Fraction &c : llvm::reverse(coefficients.drop_front(exact)))
    tail = l.fma(tail, x.high, l.f64(c.numerator / c.denominator));
  Pair result = number(tail);
  for (const Fraction &c : llvm::reverse(coefficients.take_front(exact)))
    result = add(mul(result, x), constant(c));
  return result;
}

} // namespace tenon::codegen
