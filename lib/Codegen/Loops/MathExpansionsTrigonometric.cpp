//===- MathExpansionsTrigonometric.cpp - Circular functions ---------------===//
//
// x = n pi/2 + r with |r| <= pi/4; sin, cos and tan of r are polynomials, and n
// says which one and with what sign. Up to 1e5 the reduction is three fma with
// pi/2 in three parts: the first is exact, so r is precise even close to a
// multiple of pi/2. If any lane is larger, all lanes are also reduced in turns
// (multiples of 2 pi) in f64: 1/(2 pi) is cut into pieces of 28 bits, each
// product with x is exact, its whole turns are dropped, and the fractions are
// added without loss. Seven pieces serve the largest f32.
//
//===----------------------------------------------------------------------===//

#include "Coefficients.h"
#include "Expansions.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <limits>

using namespace mlir;

namespace tenon::codegen {

namespace {

struct Reduced {
  Value rest;     ///< r
  Value quadrant; ///< an i32 whose low two bits are those of n
};

} // namespace

static constexpr float directLimit = 1e5f;
static constexpr unsigned turnPieces = 7;

static Reduced reduceInSingle(const Lanes &lanes, Value x) {
  Value magic = lanes.f32(0x1.8p23f);
  Value shifted = lanes.fma(x, lanes.f32(0x1.45f306p-1f), magic);
  Value n = lanes.sub(shifted, magic);
  Value r = x;
  for (float part : coefficients::halfPiDown)
    r = lanes.fma(n, lanes.f32(-part), r);
  return {r, lanes.bits(shifted)};
}

/// Half a unit better, which tan needs because it is steep.
static Reduced reduceInDouble(const Lanes &lanes, Value x) {
  Value wide = lanes.toDouble(x);
  Value magic = lanes.f64(0x1.8p52);
  Value shifted = lanes.fma(wide, lanes.f64(0x1.45f306dc9c883p-1), magic);
  Value n = lanes.sub(shifted, magic);
  Value r = lanes.fma(n, lanes.f64(-0x1.921fb54442d18p0), wide);
  r = lanes.fma(n, lanes.f64(-0x1.1a62633145c07p-54), r);
  return {lanes.toSingle(r), lanes.lowHalf(lanes.bits(shifted))};
}

static Reduced reduceInTurns(const Lanes &lanes, Value x) {
  Value wide = lanes.toDouble(x);
  Value sum, lost;
  for (double piece : ArrayRef(coefficients::turns).take_front(turnPieces)) {
    Value turns = lanes.mul(wide, lanes.f64(piece));
    Value fraction = lanes.sub(turns, lanes.roundEven(turns));
    if (!sum) {
      sum = fraction;
      lost = lanes.f64(0.0);
      continue;
    }
    // The sum and, exactly, what its rounding loses.
    Value next = lanes.add(sum, fraction);
    Value virtualFraction = lanes.sub(next, sum);
    Value error = lanes.add(lanes.sub(sum, lanes.sub(next, virtualFraction)),
                            lanes.sub(fraction, virtualFraction));
    sum = next;
    lost = lanes.add(lost, error);
  }
  Value quarters = lanes.mul(sum, lanes.f64(4.0));
  Value n = lanes.roundEven(quarters);
  Value rest = lanes.fma(lost, lanes.f64(4.0), lanes.sub(quarters, n));
  Value r = lanes.toSingle(lanes.mul(rest, lanes.f64(0x1.921fb54442d18p0)));
  Value nBits = lanes.bits(lanes.add(n, lanes.f64(0x1.8p52)));
  return {r, lanes.lowHalf(nBits)};
}

/// `direct`, or where |x| > directLimit the reduction in turns.
static Reduced reduce(const Lanes &lanes, Value x, Reduced direct) {
  Value isLarge = lanes.less(lanes.f32(directLimit), lanes.abs(x));
  OpBuilder &b = lanes.builder;
  auto choice = scf::IfOp::create(
      b, lanes.loc, lanes.any(isLarge),
      [&](OpBuilder &inner, Location loc) {
        Lanes rare(inner, loc, x.getType(), lanes.target());
        Reduced turns = reduceInTurns(rare, x);
        scf::YieldOp::create(
            inner, loc,
            ValueRange{rare.select(isLarge, turns.rest, direct.rest),
                       rare.select(isLarge, turns.quadrant, direct.quadrant)});
      },
      [&](OpBuilder &inner, Location loc) {
        scf::YieldOp::create(inner, loc,
                             ValueRange{direct.rest, direct.quadrant});
      });
  return {choice.getResult(0), choice.getResult(1)};
}

static Value isOddQuadrant(const Lanes &lanes, Value quadrant) {
  return lanes.iequal(lanes.iand(quadrant, lanes.i32(1)), lanes.i32(1));
}

/// sin(n pi/2 + r), low bits of `quadrant` n.
static Value sinOfReduced(const Lanes &lanes, Value r, Value quadrant) {
  Value square = lanes.mul(r, r);
  Value sine = lanes.polynomial(square, coefficients::sin);
  sine = lanes.fma(lanes.mul(square, r), sine, r);
  // The sum turns -0 into +0.
  sine = lanes.copySign(sine, r);
  Value cosine = lanes.polynomial(square, coefficients::cos);
  cosine = lanes.fma(lanes.mul(square, square), cosine,
                     lanes.fma(square, lanes.f32(-0.5f), lanes.f32(1.0f)));
  Value value = lanes.select(isOddQuadrant(lanes, quadrant), cosine, sine);
  Value sign = lanes.shiftLeft(lanes.iand(quadrant, lanes.i32(2)), 30);
  return lanes.fromBits(lanes.ixor(lanes.bits(value), sign));
}

Value expandSin(const Lanes &lanes, Value x) {
  Reduced reduced = reduce(lanes, x, reduceInSingle(lanes, x));
  return sinOfReduced(lanes, reduced.rest, reduced.quadrant);
}

Value expandCos(const Lanes &lanes, Value x) {
  Reduced reduced = reduce(lanes, x, reduceInSingle(lanes, x));
  return sinOfReduced(lanes, reduced.rest,
                      lanes.iadd(reduced.quadrant, lanes.i32(1)));
}

Value expandTan(const Lanes &lanes, Value x) {
  Reduced reduced = reduce(lanes, x, reduceInDouble(lanes, x));
  Value r = reduced.rest;
  Value square = lanes.mul(r, r);
  Value tangent = lanes.polynomial(square, coefficients::tan);
  tangent = lanes.fma(lanes.mul(square, r), tangent, r);
  Value result = lanes.select(isOddQuadrant(lanes, reduced.quadrant),
                              lanes.div(lanes.f32(-1.0f), tangent), tangent);
  // The sums turn -0 into +0.
  Value zero = lanes.f32(0.0f);
  return lanes.select(lanes.equal(x, zero), lanes.copySign(zero, x), result);
}

/// atan(q) for |q| <= 1.
static Value atanOfReduced(const Lanes &lanes, Value q) {
  Value square = lanes.mul(q, q);
  Value p = lanes.polynomial(square, coefficients::atan);
  return lanes.fma(lanes.mul(square, q), p, q);
}

/// Above 1, pi/2 + atan(-1/a).
Value expandAtan(const Lanes &lanes, Value x) {
  Value a = lanes.abs(x);
  Value isLarge = lanes.less(lanes.f32(1.0f), a);
  Value q = lanes.select(isLarge, lanes.div(lanes.f32(-1.0f), a), a);
  Value p = atanOfReduced(lanes, q);
  Value large = lanes.add(lanes.f32(coefficients::halfPi[0]),
                          lanes.add(p, lanes.f32(coefficients::halfPi[1])));
  return lanes.copySign(lanes.select(isLarge, large, p), x);
}

/// The angle of the point (x, y) in the first octant, then folded out by the
/// order of |x| and |y|, the sign of x (that of -0 counts) and the sign of y.
Value expandAtan2(const Lanes &lanes, Value y, Value x) {
  Value zero = lanes.f32(0.0f);
  Value infinity = lanes.f32(std::numeric_limits<float>::infinity());
  Value ax = lanes.abs(x), ay = lanes.abs(y);
  Value isSteep = lanes.less(ax, ay);
  Value larger = lanes.select(isSteep, ay, ax);
  Value smaller = lanes.select(isSteep, ax, ay);
  Value q = lanes.div(smaller, larger);
  q = lanes.select(lanes.equal(larger, zero), zero, q);
  q = lanes.select(lanes.equal(smaller, infinity), lanes.f32(1.0f), q);
  Value angle = atanOfReduced(lanes, q);
  Value steep = lanes.sub(lanes.f32(coefficients::halfPi[0]),
                          lanes.sub(angle, lanes.f32(coefficients::halfPi[1])));
  angle = lanes.select(isSteep, steep, angle);
  Value isLeft = lanes.iless(lanes.bits(x), lanes.i32(0));
  Value left = lanes.sub(lanes.f32(coefficients::pi[0]),
                         lanes.sub(angle, lanes.f32(coefficients::pi[1])));
  angle = lanes.copySign(lanes.select(isLeft, left, angle), y);
  return lanes.select(lanes.unordered(x, y),
                      lanes.f32(std::numeric_limits<float>::quiet_NaN()),
                      angle);
}

} // namespace tenon::codegen
