//===- MathExpansionsError.cpp - erf, its complement and its inverse ------===//
//
// erf: below 0.9275 an odd polynomial, above 1 - exp(q(a)), a = |x|.
// erfc: below 0.9275 as 1 - erf(x), above exp(-a^2) p(t) / (a + 2) with p a
// polynomial in t = (a - 2) / (a + 2); what rounding a^2 and 1 / (a + 2) lost
// is added to the exponent. erf_inv: x times a polynomial in w = -log(1 - x^2),
// another one in sqrt(w) near +-1.
//
//===----------------------------------------------------------------------===//

#include "Coefficients.h"
#include "Expansions.h"

using namespace mlir;

namespace tenon::codegen {

Value expandErf(const Lanes &lanes, Value x) {
  // erf(4) is 1 in f32.
  Value a = lanes.atMost(lanes.abs(x), lanes.f32(4.0f));
  Value small = lanes.polynomial(lanes.mul(a, a), coefficients::erfSmall);
  small = lanes.fma(a, small, a);
  Value exponent = lanes.polynomial(a, coefficients::erfLarge);
  exponent = lanes.fma(a, exponent, lanes.neg(a));
  ScaledExponential e = expandExpParts(lanes, exponent);
  Value large = lanes.sub(lanes.f32(1.0f), scaleNormal(lanes, e.mantissa, e));
  Value result = lanes.select(lanes.less(a, lanes.f32(0.9275f)), small, large);
  return lanes.copySign(result, x);
}

Value expandErfc(const Lanes &lanes, Value x) {
  Value one = lanes.f32(1.0f), two = lanes.f32(2.0f);
  // erfc(10.1) is 0 in f32.
  Value a = lanes.atMost(lanes.abs(x), lanes.f32(10.1f));
  Value square = lanes.mul(a, a);

  // 1 - erf(x) = (1 - x) - x p(x^2), whose first difference is exact where it
  // cancels.
  Value small = lanes.polynomial(square, coefficients::erfSmall);
  small = lanes.fma(lanes.neg(x), small, lanes.sub(one, x));

  // 1 / (a + 2) and, relative to it, what both roundings lost.
  Value sum = lanes.add(a, two);
  Value inverse = lanes.div(one, sum);
  Value error = lanes.fma(lanes.neg(inverse), sum, one);
  error = lanes.fma(inverse, lanes.sub(lanes.sub(sum, two), a), error);
  Value t = lanes.mul(lanes.sub(a, two), inverse);
  Value factor = lanes.polynomial(t, coefficients::erfc);
  Value lost = lanes.fma(a, a, lanes.neg(square));
  ScaledExponential e =
      expandExpParts(lanes, lanes.neg(square), lanes.sub(error, lost));
  Value mantissa = lanes.mul(e.mantissa, lanes.mul(factor, inverse));
  Value large = scale(lanes, mantissa, e);
  large = lanes.select(lanes.less(x, lanes.f32(0.0f)), lanes.sub(two, large),
                       large);
  return lanes.select(lanes.less(a, lanes.f32(0.9275f)), small, large);
}

Value expandErfInv(const Lanes &lanes, Value x) {
  Value one = lanes.f32(1.0f);
  // Both factors are exact where the logarithm is large.
  Value complement = lanes.mul(lanes.sub(one, x), lanes.add(one, x));
  Value w = lanes.neg(expandLogNormal(lanes, complement));
  Value central = lanes.polynomial(lanes.sub(w, lanes.f32(2.5f)),
                                   coefficients::erfInvCentral);
  Value tail = lanes.polynomial(lanes.sub(lanes.sqrt(w), lanes.f32(3.0f)),
                                coefficients::erfInvTail);
  Value factor = lanes.select(lanes.less(w, lanes.f32(5.0f)), central, tail);
  Value result = lanes.mul(x, factor);

  Value a = lanes.abs(x);
  Value infinity = lanes.f32(std::numeric_limits<float>::infinity());
  result =
      lanes.select(lanes.equal(a, one), lanes.copySign(infinity, x), result);
  return lanes.select(lanes.lessOrEqual(a, one), result,
                      lanes.f32(std::numeric_limits<float>::quiet_NaN()));
}

} // namespace tenon::codegen
