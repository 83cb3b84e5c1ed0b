//===- MathExpansionsPairs.cpp - The functions of f64 without a library ---===//
//
// For targets that have no library of C. Speed does not matter here, so nothing
// is tuned: arguments are reduced, and the series that define the functions are
// summed, in pairs of f64 (Pairs.h) where what is rounded would show, so that
// results are off by little more than half a unit. Terms are few enough that
// the first one left out is below 2^-70 of the result.
//
//===----------------------------------------------------------------------===//

#include "Expansions.h"
#include "Pairs.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <bit>
#include <limits>

using namespace mlir;

namespace tenon::codegen {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double notANumber = std::numeric_limits<double>::quiet_NaN();
constexpr double magic = 0x1.8p52; // plus a whole number, which is in its bits

class DoubleExpansions {
public:
  explicit DoubleExpansions(const Lanes &lanes) : l(lanes), p(lanes) {}

  Value exp(Value x) const;
  Value expm1(Value x) const;
  Value tanh(Value x) const;
  Value log(Value x) const;
  Value log1p(Value x) const;
  Value pow(Value x, Value y) const;
  Value cbrt(Value x) const;
  Value sin(Value x) const;
  Value cos(Value x) const;
  Value tan(Value x) const;
  Value atan2(Value y, Value x) const;
  Value erf(Value x) const;
  Value erfc(Value x) const;

private:
  /// expm1(r) and n of exp(x) = 2^n exp(r), |r| <= ln(2) / 2.
  struct Exponential {
    Pair fraction;
    Value exponent; // a whole f64
  };
  /// The quarter turn nearest to an angle, as the low bits of an i64, and what
  /// lies behind it.
  struct Angle {
    Value quarters;
    Pair rest;
  };

  Pair ln2() const {
    return p.constant(0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56);
  }
  Pair halfPi() const {
    return p.constant(0x1.921fb54442d18p0, 0x1.1a62633145c07p-54);
  }
  /// x within [-limit, limit], or NaN.
  Value within(Value x, double limit) const {
    return l.atLeast(l.atMost(x, l.f64(limit)), l.f64(-limit));
  }
  Value isBelow(Value x, double limit) const {
    return l.less(l.abs(x), l.f64(limit));
  }
  Value shiftLeftBy(Value a, Value by) const {
    return arith::ShLIOp::create(l.builder, l.loc, a, by);
  }
  Value shiftRightBy(Value a, Value by) const {
    return arith::ShRUIOp::create(l.builder, l.loc, a, by);
  }
  Value imul(Value a, Value b) const {
    return arith::MulIOp::create(l.builder, l.loc, a, b);
  }
  Value highBits(Value a, int64_t from) const {
    return shiftRightBy(a, l.i64(from));
  }
  /// 2^n of an i64, n within [-1022, 1023].
  Value powerOfTwo(Value n) const {
    return l.fromBits(l.shiftLeft(l.iadd(n, l.i64(1023)), 52));
  }
  /// An i64 of less than 52 digits as f64, and a whole f64 as i64.
  Value toFloat(Value n) const {
    Value sum = l.iadd(n, l.i64(std::bit_cast<int64_t>(magic)));
    return l.sub(l.fromBits(sum), l.f64(magic));
  }
  Value toInteger(Value n) const {
    return l.isub(l.bits(l.add(n, l.f64(magic))),
                  l.i64(std::bit_cast<int64_t>(magic)));
  }
  /// m * 2^n, n a whole f64 within [-2000, 2000].
  Value scaled(Value m, Value n) const {
    Value whole = toInteger(n), half = l.shiftRight(whole, 1);
    return l.mul(l.mul(m, powerOfTwo(half)), powerOfTwo(l.isub(whole, half)));
  }

  Exponential exponential(const Pair &x) const;
  Value finish(const Exponential &e) const {
    return scaled(p.add(e.fraction, l.f64(1.0)).high, e.exponent);
  }
  Pair halfOfExpm1(Value x) const;
  Pair logarithm(const Pair &x) const;
  Pair logarithmOf(Value positive) const;
  Angle quarterTurns(Value x) const;
  Pair sine(const Pair &r) const;
  Pair cosine(const Pair &r) const;
  Pair errorFunction(Value a) const;
  Value complement(Value a) const;
  Pair loop(int64_t rounds, const Pair &from,
            llvm::function_ref<Pair(Value number, const Pair &)> body) const;

  const Lanes &l;
  Pairs p;
};

} // namespace

//===----------------------------------------------------------------------===//
// Exponentials
//===----------------------------------------------------------------------===//

DoubleExpansions::Exponential
DoubleExpansions::exponential(const Pair &x) const {
  Value shifted = l.fma(x.high, l.f64(0x1.71547652b82fep0), l.f64(magic));
  Value n = l.sub(shifted, l.f64(magic));
  Pair r = p.sub(x, p.mul(ln2(), n));
  SmallVector<Fraction> coefficients; // of expm1(r) / r
  double factorial = 1;
  for (int k = 1; k <= 17; ++k)
    coefficients.push_back({1, factorial *= k});
  return {p.mul(p.polynomial(r, coefficients, 5), r), n};
}

Value DoubleExpansions::exp(Value x) const {
  return finish(exponential(p.number(within(x, 760))));
}

/// 2^(n-1) expm1(r) + (2^(n-1) - 1/2); 2^1024 does not exist.
Pair DoubleExpansions::halfOfExpm1(Value x) const {
  Exponential e = exponential(p.number(x));
  Value power = powerOfTwo(l.isub(toInteger(e.exponent), l.i64(1)));
  return p.add(p.scale(e.fraction, power), p.sum(power, l.f64(-0.5)));
}

Value DoubleExpansions::expm1(Value x) const {
  Value limited = l.atLeast(l.atMost(x, l.f64(710)), l.f64(-60));
  Value half = halfOfExpm1(limited).high;
  return l.select(isBelow(x, 0x1p-54), x, l.add(half, half));
}

/// With h = expm1(2 |x|) / 2: h / (h + 1).
Value DoubleExpansions::tanh(Value x) const {
  Value a = l.atMost(l.abs(x), l.f64(30));
  Pair h = halfOfExpm1(l.add(a, a));
  Value result = p.div(h, p.add(h, l.f64(1.0))).high;
  return l.select(isBelow(x, 0x1p-28), x, l.copySign(result, x));
}

//===----------------------------------------------------------------------===//
// Logarithms and powers
//===----------------------------------------------------------------------===//

/// x = 2^e m with m from sqrt(1/2) to sqrt(2), and log(m) = 2 artanh(s) with
/// s = (m - 1) / (m + 1). x is normal and positive.
Pair DoubleExpansions::logarithm(const Pair &x) const {
  Value bits = l.bits(x.high);
  Value e = l.shiftRight(l.isub(bits, l.i64(0x3fe6a09e667f3bcd)), 52);
  Value high = l.fromBits(l.isub(bits, l.shiftLeft(e, 52)));
  // Nothing is lost of the lesser part where it counts, which is near 1.
  Value isNear = l.both(l.iless(e, l.i64(200)), l.iless(l.i64(-200), e));
  Value scale = powerOfTwo(l.select(isNear, l.isub(l.i64(0), e), l.i64(0)));
  Pair m = {high, l.select(isNear, l.mul(x.low, scale), l.f64(0.0))};
  Pair s = p.div(p.add(m, l.f64(-1.0)), p.add(m, l.f64(1.0)));
  SmallVector<Fraction> coefficients; // of artanh(s) / s
  for (int k = 0; k <= 14; ++k)
    coefficients.push_back({1, double(2 * k + 1)});
  Pair result = p.mul(p.polynomial(p.mul(s, s), coefficients, 5), s);
  return p.add(p.mul(ln2(), toFloat(e)), p.scale(result, l.f64(2.0)));
}

/// Of a number that may be subnormal.
Pair DoubleExpansions::logarithmOf(Value positive) const {
  Value isSubnormal = l.less(positive, l.f64(0x1p-1022));
  Value normal =
      l.select(isSubnormal, l.mul(positive, l.f64(0x1p54)), positive);
  Pair result = logarithm(p.number(normal));
  return p.select(isSubnormal, p.sub(result, p.mul(ln2(), l.f64(54.0))),
                  result);
}

Value DoubleExpansions::log(Value x) const {
  Value zero = l.f64(0.0);
  Value result = logarithmOf(x).high;
  result = l.select(l.less(x, l.f64(infinity)), result, x);
  result = l.select(l.less(x, zero), l.f64(notANumber), result);
  return l.select(l.equal(x, zero), l.f64(-infinity), result);
}

Value DoubleExpansions::log1p(Value x) const {
  Value result = logarithm(p.sum(l.f64(1.0), x)).high;
  result = l.select(l.less(x, l.f64(infinity)), result, x);
  result = l.select(l.less(x, l.f64(-1.0)), l.f64(notANumber), result);
  result = l.select(l.equal(x, l.f64(-1.0)), l.f64(-infinity), result);
  return l.select(isBelow(x, 0x1p-54), x, result);
}

Value DoubleExpansions::pow(Value x, Value y) const {
  Value zero = l.f64(0.0), one = l.f64(1.0), large = l.f64(infinity);
  Value a = l.abs(x);
  // |log(a)| is at least 2^-53 unless a is 1, so larger powers change nothing.
  Pair exponent = p.mul(logarithmOf(a), within(y, 0x1p70));
  Value limited = within(exponent.high, 800);
  exponent.low = l.select(l.equal(limited, exponent.high), exponent.low, zero);
  exponent.high = limited;
  Value result = finish(exponential(exponent));
  // Powers of 0 and of infinity are the one or the other.
  Value isRising = l.less(zero, y);
  result = l.select(l.equal(a, zero), l.select(isRising, zero, large), result);
  result = l.select(l.equal(a, large), l.select(isRising, large, zero), result);
  // 1 or -1 to an infinite power is 1.
  result = l.select(l.equal(a, one), one, result);

  // A negative base: the sign is that of an odd power, and a power that is no
  // whole number has no value (0 and infinity have one).
  Value halfY = l.mul(y, l.f64(0.5));
  Value isWhole = l.equal(l.roundEven(y), y);
  Value isOdd = l.both(isWhole, l.negate(l.equal(l.roundEven(halfY), halfY)));
  result = l.select(isOdd, l.copySign(result, x), result);
  Value noValue =
      l.both(l.both(l.less(x, zero), l.less(a, large)), l.negate(isWhole));
  result =
      l.select(l.either(noValue, l.unordered(x, y)), l.f64(notANumber), result);
  // Whatever the other operand is, NaN included.
  return l.select(l.either(l.equal(x, one), l.equal(y, zero)), one, result);
}

/// |x| = 2^(3k) m with m about 1; the third of m's bits is its root to within
/// 5 %, and Newton's iteration doubles the digits four times.
Value DoubleExpansions::cbrt(Value x) const {
  Value a = l.abs(x);
  Value isSubnormal = l.less(a, l.f64(0x1p-1022));
  Value normal = l.select(isSubnormal, l.mul(a, l.f64(0x1p54)), a);
  Value bits = l.bits(normal);
  Value e = l.isub(highBits(bits, 52), l.i64(1023));
  Value k = l.shiftRight(imul(e, l.i64(21846)), 16); // e / 3
  Value m = l.fromBits(l.isub(bits, l.shiftLeft(imul(k, l.i64(3)), 52)));
  Value third = arith::DivUIOp::create(l.builder, l.loc, l.bits(m), l.i64(3));
  Value root = l.fromBits(l.iadd(third, l.i64(0x2a9f7893782da1ce)));
  for (int i = 0; i < 4; ++i) {
    Pair cube = p.mul(p.product(root, root), root);
    Value error = l.sub(l.sub(m, cube.high), cube.low);
    Value slope = l.mul(l.f64(3.0), l.mul(root, root));
    root = l.add(root, l.div(error, slope));
  }
  k = l.select(isSubnormal, l.isub(k, l.i64(18)), k);
  Value result = l.copySign(l.mul(root, powerOfTwo(k)), x);
  Value isOrdinary = l.both(l.less(l.f64(0.0), a), l.less(a, l.f64(infinity)));
  return l.select(isOrdinary, result, x);
}

//===----------------------------------------------------------------------===//
// Angles
//===----------------------------------------------------------------------===//

/// 2 / pi, 64 digits to a word, behind a word of zeros.
static constexpr uint64_t twoOverPi[] = {0,
                                         0xa2f9836e4e441529,
                                         0xfc2757d1f534ddc0,
                                         0xdb6295993c439041,
                                         0xfe5163abdebbc561,
                                         0xb7246e3a424dd2e0,
                                         0x06492eea09d1921c,
                                         0xfe1deb1cb129a73e,
                                         0xe88235f52ebb4484,
                                         0xe99c7026b45f7e41,
                                         0x3991d639835339f4,
                                         0x9c845f8bbdf9283b,
                                         0x1ff897ffde05980f,
                                         0xef2f118b5a0a6d1f,
                                         0x6d367ecf27cb09b7,
                                         0x4f463f669e5fea2d,
                                         0x7527bac7ebe5f17b,
                                         0x3d0739f78a5292ea,
                                         0x6bfb5fb11f8d5d08,
                                         0x56033046fc7b6bab};

/// x = M 2^E with a whole M of 53 digits. Of 2 / pi, digits that make whole
/// fours of quarter turns do not count, and neither do those far behind the
/// point; with the 192 between them, M times them modulo 2^192 is x 2 / pi
/// modulo 4, with 190 digits behind the point (Payne and Hanek 1983).
DoubleExpansions::Angle DoubleExpansions::quarterTurns(Value x) const {
  Value bits = l.bits(l.abs(x));
  Value biased = highBits(bits, 52);
  Value mantissa = l.either(l.iand(bits, l.i64((int64_t(1) << 52) - 1)),
                            l.i64(int64_t(1) << 52));
  // E + 62, where the digits begin: E is at least -53 here.
  Value first = l.isub(biased, l.i64(1075 - 62));
  Value isValid = l.both(l.iless(l.i64(0), first), l.iless(first, l.i64(1040)));
  first = l.select(isValid, first, l.i64(0));
  Value word = highBits(first, 6), shift = l.iand(first, l.i64(63));
  constexpr size_t starts = std::size(twoOverPi) - 3;
  Value words[4];
  for (size_t k = 0; k < 4; ++k) {
    words[k] = l.i64(int64_t(twoOverPi[k]));
    for (size_t start = 1; start < starts; ++start)
      words[k] = l.select(l.iequal(word, l.i64(int64_t(start))),
                          l.i64(int64_t(twoOverPi[start + k])), words[k]);
  }
  Value digits[3];
  for (size_t k = 0; k < 3; ++k) {
    Value rest = highBits(words[k + 1], 1);
    digits[k] = l.either(shiftLeftBy(words[k], shift),
                         shiftRightBy(rest, l.isub(l.i64(63), shift)));
  }
  // The product, its highest word first.
  auto wide = [&](Value digit) {
    auto op = arith::MulUIExtendedOp::create(l.builder, l.loc, mantissa, digit);
    return std::pair<Value, Value>(op.getHigh(), op.getLow());
  };
  auto carry = [&](Value sum, Value part) {
    Value isLess = arith::CmpIOp::create(l.builder, l.loc,
                                         arith::CmpIPredicate::ult, sum, part);
    return l.select(isLess, l.i64(1), l.i64(0));
  };
  auto [upper2, product2] = wide(digits[2]);
  auto [upper1, lower1] = wide(digits[1]);
  Value product1 = l.iadd(lower1, upper2);
  Value product0 = l.iadd(l.iadd(imul(mantissa, digits[0]), upper1),
                          carry(product1, upper2));
  // Quarter turns, rounded, and the rest as a signed fraction of 192 digits.
  Value quarters = highBits(l.iadd(product0, l.i64(int64_t(1) << 61)), 62);
  Value top = l.either(l.shiftLeft(product0, 2), highBits(product1, 62));
  Value middle = l.either(l.shiftLeft(product1, 2), highBits(product2, 62));
  Value low = l.shiftLeft(product2, 2);
  Value lower = l.i64(0xffffffff);
  Pair turns = p.number(l.mul(toFloat(l.shiftRight(top, 32)), l.f64(0x1p-32)));
  auto addHalf = [&](Value half, double unit) {
    turns = p.add(turns, l.mul(toFloat(half), l.f64(unit)));
  };
  addHalf(l.iand(top, lower), 0x1p-64);
  addHalf(highBits(middle, 32), 0x1p-96);
  addHalf(l.iand(middle, lower), 0x1p-128);
  addHalf(highBits(low, 32), 0x1p-160);
  Pair rest = p.mul(turns, halfPi());
  Value isNegative = l.less(x, l.f64(0.0));
  rest = p.select(isNegative, p.negate(rest), rest);
  quarters = l.select(isNegative, l.isub(l.i64(0), quarters), quarters);
  Value isSmall = isBelow(x, 0x1.921fb54442d18p-1);
  return {l.select(isSmall, l.i64(0), quarters),
          p.select(isSmall, p.number(x), rest)};
}

/// r (1 - r^2 / 3! + r^4 / 5! - ...)
Pair DoubleExpansions::sine(const Pair &r) const {
  SmallVector<Fraction> coefficients;
  double factorial = 1;
  for (int k = 0; k <= 10; ++k) {
    coefficients.push_back({k % 2 ? -1.0 : 1.0, factorial});
    factorial *= (2 * k + 2) * (2 * k + 3);
  }
  return p.mul(p.polynomial(p.mul(r, r), coefficients, 4), r);
}

Pair DoubleExpansions::cosine(const Pair &r) const {
  SmallVector<Fraction> coefficients;
  double factorial = 1;
  for (int k = 0; k <= 11; ++k) {
    coefficients.push_back({k % 2 ? -1.0 : 1.0, factorial});
    factorial *= (2 * k + 1) * (2 * k + 2);
  }
  return p.polynomial(p.mul(r, r), coefficients, 4);
}

Value DoubleExpansions::sin(Value x) const {
  Angle angle = quarterTurns(x);
  auto isSet = [&](int64_t bit) {
    return l.iequal(l.iand(angle.quarters, l.i64(bit)), l.i64(bit));
  };
  Value result =
      l.select(isSet(1), cosine(angle.rest).high, sine(angle.rest).high);
  result = l.select(isSet(2), l.neg(result), result);
  result = l.select(isBelow(x, infinity), result, l.f64(notANumber));
  return l.select(isBelow(x, 0x1p-28), x, result);
}

Value DoubleExpansions::cos(Value x) const {
  Angle angle = quarterTurns(x);
  Value next = l.iadd(angle.quarters, l.i64(1)); // cos(x) = sin(x + pi / 2)
  auto isSet = [&](int64_t bit) {
    return l.iequal(l.iand(next, l.i64(bit)), l.i64(bit));
  };
  Value result =
      l.select(isSet(1), cosine(angle.rest).high, sine(angle.rest).high);
  result = l.select(isSet(2), l.neg(result), result);
  return l.select(isBelow(x, infinity), result, l.f64(notANumber));
}

Value DoubleExpansions::tan(Value x) const {
  Angle angle = quarterTurns(x);
  Pair s = sine(angle.rest), c = cosine(angle.rest);
  Value isOdd = l.iequal(l.iand(angle.quarters, l.i64(1)), l.i64(1));
  Value result =
      p.div(p.select(isOdd, p.negate(c), s), p.select(isOdd, s, c)).high;
  result = l.select(isBelow(x, infinity), result, l.f64(notANumber));
  return l.select(isBelow(x, 0x1p-28), x, result);
}

/// With t the lesser of |y| and |x| divided by the other: twice the angle is
/// halved by atan(t) = 2 atan(t / (1 + sqrt(1 + t^2))).
Value DoubleExpansions::atan2(Value y, Value x) const {
  Value zero = l.f64(0.0), one = l.f64(1.0);
  Value ay = l.abs(y), ax = l.abs(x);
  Value isSteep = l.less(ax, ay);
  Value large = l.select(isSteep, ay, ax), small = l.select(isSteep, ax, ay);
  // Far from the ends of the range.
  Value scale = l.select(l.less(l.f64(0x1p500), large), l.f64(0x1p-600), one);
  scale = l.select(l.less(large, l.f64(0x1p-400)), l.f64(0x1p600), scale);
  Pair t = p.div(p.number(l.mul(small, scale)), p.number(l.mul(large, scale)));
  Value isInfinite = l.equal(large, l.f64(infinity));
  Value ofInfinite = l.select(l.equal(small, large), one, zero);
  Value isZero = l.equal(small, zero);
  t = p.select(isInfinite, p.number(ofInfinite), t);
  t = p.select(isZero, p.number(zero), t);
  for (int i = 0; i < 2; ++i) {
    Pair root = p.sqrt(p.add(p.mul(t, t), one));
    t = p.div(t, p.add(root, one));
  }
  SmallVector<Fraction> coefficients; // of atan(t) / t
  for (int k = 0; k <= 14; ++k)
    coefficients.push_back({k % 2 ? -1.0 : 1.0, double(2 * k + 1)});
  Pair angle = p.mul(p.polynomial(p.mul(t, t), coefficients, 4), t);
  angle = p.scale(angle, l.f64(4.0));
  angle = p.select(isSteep, p.sub(halfPi(), angle), angle);
  Value isLeft = l.iless(l.bits(x), l.i64(0)); // also of -0
  Pair pi = p.scale(halfPi(), l.f64(2.0));
  angle = p.select(isLeft, p.sub(pi, angle), angle);
  // So small an angle is the quotient, which may be subnormal.
  Value isTiny =
      l.both(l.less(ay, l.mul(ax, l.f64(0x1p-30))), l.negate(isLeft));
  Value result = l.select(isTiny, l.div(ay, ax), angle.high);
  result = l.select(l.both(isZero, l.negate(isSteep)),
                    l.select(isLeft, pi.high, zero), result);
  result = l.copySign(result, y);
  return l.select(l.unordered(x, y), l.f64(notANumber), result);
}

//===----------------------------------------------------------------------===//
// The error function
//===----------------------------------------------------------------------===//

/// Applies `body` to rounds, rounds - 1, ..., 1 as f64.
Pair DoubleExpansions::loop(
    int64_t rounds, const Pair &from,
    llvm::function_ref<Pair(Value number, const Pair &)> body) const {
  OpBuilder &b = l.builder;
  auto index = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(b, l.loc, value);
  };
  auto loop = scf::ForOp::create(
      b, l.loc, index(0), index(rounds), index(1),
      ValueRange{l.f64(double(rounds)), from.high, from.low});
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  ValueRange carried = loop.getRegionIterArgs();
  Pair next = body(carried[0], {carried[1], carried[2]});
  scf::YieldOp::create(
      b, l.loc, ValueRange{l.sub(carried[0], l.f64(1.0)), next.high, next.low});
  return {loop.getResult(1), loop.getResult(2)};
}

/// erf(a) = 2 / sqrt(pi) exp(-a^2) a (1 + 2 a^2 / 3 (1 + 2 a^2 / 5 (...))) for
/// a up to 2.5, where the 60th factor of 2 a^2 / (2 k + 1) makes less than
/// 2^-70 of the sum.
Pair DoubleExpansions::errorFunction(Value a) const {
  Pair square = p.product(a, a);
  Pair twice = p.scale(square, l.f64(2.0));
  Pair series = loop(60, p.number(l.f64(1.0)), [&](Value k, const Pair &inner) {
    Value odd = l.fma(k, l.f64(2.0), l.f64(1.0));
    Pair factor = p.div(p.mul(inner, twice), p.number(odd));
    return p.add(factor, l.f64(1.0));
  });
  Exponential e = exponential(p.negate(square));
  Pair power =
      p.scale(p.add(e.fraction, l.f64(1.0)), powerOfTwo(toInteger(e.exponent)));
  Pair factor = p.constant(0x1.20dd750429b6dp0, 0x1.1ae3a914fed80p-56);
  return p.mul(p.mul(p.mul(series, a), power), factor);
}

/// erfc(a) = exp(-a^2) / sqrt(pi) / (a + 1/2 / (a + 2/2 / (a + 3/2 / ...))) for
/// a from 2.5 on.
Value DoubleExpansions::complement(Value a) const {
  Value fraction = loop(60, p.number(a), [&](Value k, const Pair &inner) {
                     Value term = l.div(l.mul(k, l.f64(0.5)), inner.high);
                     return p.number(l.add(a, term));
                   }).high;
  Exponential e = exponential(p.negate(p.product(a, a)));
  Value power = p.add(e.fraction, l.f64(1.0)).high;
  Value factor = l.div(l.f64(0x1.20dd750429b6dp-1), fraction);
  return scaled(l.mul(power, factor), e.exponent);
}

static constexpr double seriesLimit = 2.5;

Value DoubleExpansions::erf(Value x) const {
  Value a = l.atMost(l.abs(x), l.f64(10));
  Value isNear = l.less(a, l.f64(seriesLimit));
  Value near = errorFunction(l.atMost(a, l.f64(seriesLimit))).high;
  Value far = l.sub(l.f64(1.0), complement(l.atLeast(a, l.f64(seriesLimit))));
  Value result = l.select(isNear, near, far);
  // Near zero only the factor is left; small products are made larger first.
  Pair large = p.mul(p.constant(0x1.20dd750429b6dp0, 0x1.1ae3a914fed80p-56),
                     l.mul(a, l.f64(0x1p600)));
  Value tiny = l.mul(large.high, l.f64(0x1p-600));
  result = l.select(isBelow(x, 0x1p-300), tiny, result);
  return l.copySign(result, x);
}

Value DoubleExpansions::erfc(Value x) const {
  Value a = l.atMost(l.abs(x), l.f64(28));
  Value isNear = l.less(a, l.f64(seriesLimit));
  Pair error = errorFunction(l.atMost(a, l.f64(seriesLimit)));
  Value isNegative = l.less(x, l.f64(0.0));
  error = p.select(isNegative, p.negate(error), error);
  Value near = p.sub(p.number(l.f64(1.0)), error).high;
  Value far = complement(l.atLeast(a, l.f64(seriesLimit)));
  far = l.select(isNegative, l.sub(l.f64(2.0), far), far);
  Value result = l.select(isNear, near, far);
  return l.select(isBelow(x, 0x1p-300), l.f64(1.0), result);
}

Value expandDouble(const Lanes &lanes, MathFunction function,
                   ValueRange operands) {
  DoubleExpansions expansions(lanes);
  Value x = operands[0];
  switch (function) {
  case MathFunction::exp:
    return expansions.exp(x);
  case MathFunction::expm1:
    return expansions.expm1(x);
  case MathFunction::log:
    return expansions.log(x);
  case MathFunction::log1p:
    return expansions.log1p(x);
  case MathFunction::tanh:
    return expansions.tanh(x);
  case MathFunction::erf:
    return expansions.erf(x);
  case MathFunction::erfc:
    return expansions.erfc(x);
  case MathFunction::cbrt:
    return expansions.cbrt(x);
  case MathFunction::sin:
    return expansions.sin(x);
  case MathFunction::cos:
    return expansions.cos(x);
  case MathFunction::tan:
    return expansions.tan(x);
  case MathFunction::atan:
    return expansions.atan2(x, lanes.f64(1.0));
  case MathFunction::pow:
    return expansions.pow(x, operands[1]);
  case MathFunction::atan2:
    return expansions.atan2(x, operands[1]);
  case MathFunction::logistic:
  case MathFunction::erfInv:
  case MathFunction::sqrt:
  case MathFunction::rsqrt:
    break;
  }
  llvm_unreachable("emitDoubleMath makes these of others");
}

} // namespace tenon::codegen
