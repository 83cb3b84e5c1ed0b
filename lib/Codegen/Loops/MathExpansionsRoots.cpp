//===- MathExpansionsRoots.cpp - Square and cube roots --------------------===//
//
// sqrt is an exact instruction, and so is the division in 1 / sqrt(x). The cube
// root starts from a third of the exponent bits, improves that by one step of
// third order and finishes with a Newton step whose residual is computed with
// what the square lost.
//
//===----------------------------------------------------------------------===//

#include "Expansions.h"
#include <limits>

using namespace mlir;

namespace tenon::codegen {

Value expandSqrt(const Lanes &lanes, Value x) { return lanes.sqrt(x); }

Value expandRsqrt(const Lanes &lanes, Value x) {
  return lanes.div(lanes.f32(1.0f), lanes.sqrt(x));
}

Value expandCbrt(const Lanes &lanes, Value x) {
  // A small x is scaled by 2^24 and its root back by 2^-8.
  Value a = lanes.abs(x);
  Value isSmall = lanes.less(a, lanes.f32(0x1p-100f));
  a = lanes.select(isSmall, lanes.mul(a, lanes.f32(0x1p24f)), a);
  Value back = lanes.select(isSmall, lanes.f32(0x1p-8f), lanes.f32(1.0f));

  // bits / 3 + 2/3 of the bias, less what centres the error (within 3.4 %).
  Value third =
      lanes.mul(lanes.intToFloat(lanes.bits(a)), lanes.f32(1.0f / 3.0f));
  static constexpr float bias = (127.0 * 2 / 3 - 0.03306) * 0x1p23;
  Value y = lanes.fromBits(lanes.floatToInt(lanes.add(third, lanes.f32(bias))));

  // y (y^3 + 2a) / (2 y^3 + a), a quarter of both so that nothing overflows.
  Value quarter = lanes.f32(0.25f);
  Value cube = lanes.mul(lanes.mul(lanes.mul(y, quarter), y), y);
  Value upper = lanes.fma(lanes.f32(0.5f), a, cube);
  Value lower = lanes.fma(quarter, a, lanes.add(cube, cube));
  y = lanes.mul(y, lanes.div(upper, lower));

  Value square = lanes.mul(y, y);
  Value lost = lanes.fma(y, y, lanes.neg(square));
  Value residual = lanes.fma(square, y, lanes.neg(a));
  residual = lanes.fma(lost, y, residual);
  Value step = lanes.div(residual, lanes.mul(square, lanes.f32(3.0f)));
  y = lanes.mul(lanes.sub(y, step), back);

  // Zeros, infinities and NaN are their own roots, and as large as their
  // double; a sum is flushed, if numbers are.
  Value infinity = lanes.f32(std::numeric_limits<float>::infinity());
  Value isOrdinary =
      lanes.both(lanes.less(lanes.f32(0.0f), a), lanes.less(a, infinity));
  return lanes.select(isOrdinary, lanes.copySign(y, x), lanes.add(x, x));
}

} // namespace tenon::codegen
