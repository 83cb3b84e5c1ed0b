//===- MathExpansionsLogarithm.cpp - log and log1p ------------------------===//
//
// x = 2^e m with m in [2/3, 4/3), read off the bits; log(x) = e ln 2 + log(m),
// and with f = m - 1 (exact) log(m) = f - f^2/2 + f^3 P(f). The terms are added
// from the smallest up, ln 2 in two parts.
//
//===----------------------------------------------------------------------===//

#include "Coefficients.h"
#include "Expansions.h"
#include <limits>

using namespace mlir;

namespace tenon::codegen {

static constexpr float infinity = std::numeric_limits<float>::infinity();
static constexpr float nan = std::numeric_limits<float>::quiet_NaN();

namespace {

struct Split {
  Value exponent; ///< e, an i32
  Value mantissa; ///< m
};

} // namespace

/// x must be positive, normal and finite.
static Split split(const Lanes &lanes, Value x) {
  static constexpr int32_t twoThirds = 0x3f2aaaab;
  Value xBits = lanes.bits(x);
  Value e = lanes.shiftRight(lanes.isub(xBits, lanes.i32(twoThirds)), 23);
  Value m = lanes.fromBits(lanes.isub(xBits, lanes.shiftLeft(e, 23)));
  return {e, m};
}

/// e ln 2 + log(1 + f), e a whole f32 and f in [-1/3, 1/3].
static Value combine(const Lanes &lanes, Value e, Value f) {
  Value square = lanes.mul(f, f);
  Value p = lanes.polynomial(f, coefficients::log);
  Value sum = lanes.mul(e, lanes.f32(coefficients::ln2[1]));
  sum = lanes.fma(lanes.mul(square, f), p, sum);
  sum = lanes.fma(square, lanes.f32(-0.5f), sum);
  sum = lanes.add(sum, f);
  return lanes.fma(e, lanes.f32(coefficients::ln2[0]), sum);
}

Value expandLogNormal(const Lanes &lanes, Value x) {
  Split s = split(lanes, x);
  return combine(lanes, lanes.intToFloat(s.exponent),
                 lanes.sub(s.mantissa, lanes.f32(1.0f)));
}

Value expandLog(const Lanes &lanes, Value x) {
  Value isSmall = lanes.less(x, lanes.f32(0x1p-126f));
  Value normal = lanes.select(isSmall, lanes.mul(x, lanes.f32(0x1p23f)), x);
  Value offset = lanes.select(isSmall, lanes.f32(-23.0f), lanes.f32(0.0f));
  Split s = split(lanes, normal);
  Value e = lanes.add(lanes.intToFloat(s.exponent), offset);
  Value result = combine(lanes, e, lanes.sub(s.mantissa, lanes.f32(1.0f)));

  Value zero = lanes.f32(0.0f);
  result = lanes.select(lanes.equal(x, lanes.f32(infinity)), x, result);
  result = lanes.select(lanes.equal(x, zero), lanes.f32(-infinity), result);
  return lanes.select(lanes.lessOrEqual(zero, x), result, lanes.f32(nan));
}

/// u = 1 + x rounded; what the rounding lost, scaled like the mantissa of u, is
/// added to f. For small x that makes f exactly x.
Value expandLog1p(const Lanes &lanes, Value x) {
  Value one = lanes.f32(1.0f);
  Value u = lanes.add(x, one);
  Value virtualX = lanes.sub(u, one);
  Value lost =
      lanes.add(lanes.sub(one, lanes.sub(u, virtualX)), lanes.sub(x, virtualX));
  Split s = split(lanes, u);
  // 2^-e; from e = 30 on what was lost no longer matters.
  Value limit = lanes.i32(30);
  Value bounded =
      lanes.select(lanes.iless(s.exponent, limit), s.exponent, limit);
  Value scale =
      lanes.fromBits(lanes.shiftLeft(lanes.isub(lanes.i32(127), bounded), 23));
  Value f = lanes.fma(lost, scale, lanes.sub(s.mantissa, one));
  Value result = combine(lanes, lanes.intToFloat(s.exponent), f);
  // Of all sums only that of -0 loses its sign.
  result = lanes.copySign(result, x);

  Value minusOne = lanes.f32(-1.0f);
  result = lanes.select(lanes.equal(x, lanes.f32(infinity)), x, result);
  result = lanes.select(lanes.equal(x, minusOne), lanes.f32(-infinity), result);
  return lanes.select(lanes.lessOrEqual(minusOne, x), result, lanes.f32(nan));
}

} // namespace tenon::codegen
