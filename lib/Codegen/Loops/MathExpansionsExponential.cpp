//===- MathExpansionsExponential.cpp - exp and what is made of it ---------===//
//
// exp(x) = 2^n * e^r with n = round(x / ln 2) and |r| <= ln(2)/2. Adding
// 1.5 * 2^23 to x / ln 2 in one fma rounds it and leaves n in the low bits;
// ln 2 is subtracted in two parts; e^r is a polynomial of degree 6. A result
// below 2^-126 needs care: the product with 2^n must be rounded once, so 2^n is
// applied as two factors (or by the instruction made for it, to the same bits).
//
//===----------------------------------------------------------------------===//

#include "Coefficients.h"
#include "Expansions.h"
#include <limits>

using namespace mlir;

namespace tenon::codegen {

static constexpr float roundingMagic = 0x1.8p23f;
static constexpr float reciprocalLn2 = 0x1.715476p0f;
/// exp is infinite above the one and zero below the other.
static constexpr float expHighest = 89.0f;
static constexpr float expLowest = -104.0f;

/// p * 2^n as one instruction, null if there is none.
static Value scaleByInstruction(const Lanes &lanes, Value p, Value n) {
  return lanes.target().scaleByPowerOfTwo(lanes.builder, lanes.loc, p, n);
}

/// 2^n as bits of f32, n an i32 within [-126, 127].
static Value powerOfTwo(const Lanes &lanes, Value n) {
  return lanes.fromBits(lanes.shiftLeft(lanes.iadd(n, lanes.i32(127)), 23));
}

static Value integerExponent(const Lanes &lanes, Value magic) {
  return lanes.isub(lanes.bits(magic), lanes.bits(lanes.f32(roundingMagic)));
}

static Value expOfReduced(const Lanes &lanes, Value r) {
  Value p = lanes.polynomial(r, coefficients::exp);
  p = lanes.fma(lanes.mul(r, r), p, r);
  return lanes.add(p, lanes.f32(1.0f));
}

ScaledExponential expandExpParts(const Lanes &lanes, Value x) {
  Value magic =
      lanes.fma(x, lanes.f32(reciprocalLn2), lanes.f32(roundingMagic));
  Value n = lanes.sub(magic, lanes.f32(roundingMagic));
  Value r = lanes.fma(n, lanes.f32(-coefficients::ln2[0]), x);
  r = lanes.fma(n, lanes.f32(-coefficients::ln2[1]), r);
  return {expOfReduced(lanes, r), n, magic};
}

ScaledExponential expandExpParts(const Lanes &lanes, Value x, Value part) {
  Value magic = lanes.fma(lanes.add(x, part), lanes.f32(reciprocalLn2),
                          lanes.f32(roundingMagic));
  Value n = lanes.sub(magic, lanes.f32(roundingMagic));
  Value r = lanes.fma(n, lanes.f32(-coefficients::ln2[0]), x);
  Value low = lanes.fma(n, lanes.f32(-coefficients::ln2[1]), part);
  return {expOfReduced(lanes, lanes.add(r, low)), n, magic};
}

Value scale(const Lanes &lanes, Value p, const ScaledExponential &by) {
  if (Value scaled = scaleByInstruction(lanes, p, by.exponent))
    return scaled;
  Value n = integerExponent(lanes, by.magic);
  Value half = lanes.shiftRight(n, 1);
  Value first = lanes.mul(p, powerOfTwo(lanes, half));
  return lanes.mul(first, powerOfTwo(lanes, lanes.isub(n, half)));
}

Value scaleNormal(const Lanes &lanes, Value p, const ScaledExponential &by) {
  if (Value scaled = scaleByInstruction(lanes, p, by.exponent))
    return scaled;
  return lanes.mul(p, powerOfTwo(lanes, integerExponent(lanes, by.magic)));
}

/// The same bits as below by fewer instructions, where subnormal results are
/// zeros: n is added to the bits of p. The limits are just beyond those of
/// normal numbers. Above, what the sum of bits makes is NaN, which a minimum
/// ignores; that of x comes back with its product.
static Value expandFlushedExp(const Lanes &lanes, Value x) {
  x = lanes.atMost(x, lanes.f32(88.72284f));
  x = lanes.atLeast(x, lanes.f32(-87.34f));
  ScaledExponential e = expandExpParts(lanes, x);
  Value sum = lanes.iadd(lanes.shiftLeft(lanes.bits(e.magic), 23),
                         lanes.bits(e.mantissa));
  Value result = lanes.minimumNumber(
      lanes.fromBits(sum), lanes.f32(std::numeric_limits<float>::infinity()));
  return lanes.fma(x, lanes.f32(0.0f), result);
}

Value expandExp(const Lanes &lanes, Value x) {
  if (lanes.target().hasMinimum &&
      lanes.target().subnormals == Subnormals::flush)
    return expandFlushedExp(lanes, x);
  x = lanes.atMost(x, lanes.f32(expHighest));
  x = lanes.atLeast(x, lanes.f32(expLowest));
  ScaledExponential e = expandExpParts(lanes, x);
  return scale(lanes, e.mantissa, e);
}

/// A number from 128 on below 256 is 128 + (n + 127) + r with 16 digits of the
/// fraction r. Without these its bits, 7 further left, are those of -2^n, or of
/// -0 where n is -127.
Value expandCoarseExp2(const Lanes &lanes, Value shifted) {
  shifted = lanes.atLeast(shifted, lanes.f32(128.0f));
  Value whole = lanes.iand(lanes.bits(shifted), lanes.i32(-0x10000));
  Value r = lanes.sub(shifted, lanes.fromBits(whole));
  Value power =
      lanes.fma(r, lanes.polynomial(r, coefficients::negativeExp2Fraction),
                lanes.f32(-1.0f));
  return lanes.mul(power, lanes.fromBits(lanes.shiftLeft(whole, 7)));
}

/// expm1(x) = 2^n (r + s) + (2^n - 1) where s = expm1(r) - r. r is carried with
/// what its rounding lost, and the sums are ordered so that the large term of r
/// meets 2^n - 1 before anything small is added. 2^(n-1) is used, since 2^128
/// does not exist.
Value expandExpm1(const Lanes &lanes, Value x) {
  // Below, the result is x; the sums would lose the sign of zero and the last
  // bit of a denormal. Half of its double is x, flushed if numbers are.
  static constexpr float tiny = 0x1p-26f;
  Value c = lanes.atMost(x, lanes.f32(expHighest));
  c = lanes.atLeast(c, lanes.f32(-30.0f));
  Value magic =
      lanes.fma(c, lanes.f32(reciprocalLn2), lanes.f32(roundingMagic));
  Value n = lanes.sub(magic, lanes.f32(roundingMagic));
  Value lowPart = lanes.f32(-coefficients::ln2[1]);
  Value exact = lanes.fma(n, lanes.f32(-coefficients::ln2[0]), c);
  Value r = lanes.fma(n, lowPart, exact);
  Value lost = lanes.fma(n, lowPart, lanes.sub(exact, r));
  Value s = lanes.polynomial(r, coefficients::expm1);
  s = lanes.fma(lanes.mul(r, r), s, lost);
  Value halfPower = lanes.fromBits(lanes.shiftLeft(
      lanes.iadd(integerExponent(lanes, magic), lanes.i32(126)), 23));
  Value large = lanes.fma(halfPower, r, lanes.sub(halfPower, lanes.f32(0.5f)));
  Value half = lanes.fma(halfPower, s, large);
  Value result = lanes.add(half, half);
  Value same = lanes.mul(lanes.add(x, x), lanes.f32(0.5f));
  return lanes.select(lanes.less(lanes.abs(x), lanes.f32(tiny)), same, result);
}

/// Below 0.625 an odd polynomial, above 1 - 2 / (exp(2a) + 1) with a = |x|.
Value expandTanh(const Lanes &lanes, Value x) {
  Value a = lanes.atMost(lanes.abs(x), lanes.f32(10.0f));
  Value square = lanes.mul(a, a);
  Value small = lanes.polynomial(square, coefficients::tanh);
  small = lanes.fma(lanes.mul(square, a), small, a);
  ScaledExponential e = expandExpParts(lanes, lanes.add(a, a));
  Value denominator =
      lanes.add(scaleNormal(lanes, e.mantissa, e), lanes.f32(1.0f));
  Value large = lanes.sub(lanes.f32(1.0f),
                          lanes.divInRange(lanes.f32(2.0f), denominator));
  Value result = lanes.select(lanes.less(a, lanes.f32(0.625f)), small, large);
  return lanes.copySign(result, x);
}

/// 1 / (1 + exp(-x)); written with exp(-|x|), so that nothing overflows and the
/// far negative side keeps its precision.
Value expandLogistic(const Lanes &lanes, Value x) {
  Value a = lanes.atLeast(lanes.neg(lanes.abs(x)), lanes.f32(expLowest));
  ScaledExponential parts = expandExpParts(lanes, a);
  Value e = scale(lanes, parts.mantissa, parts);
  Value one = lanes.f32(1.0f);
  Value numerator = lanes.select(lanes.less(x, lanes.f32(0.0f)), e, one);
  // The quotient, less what rounding the sum lost (relative to a sum of about
  // 1; where it is nearer to 2, half of that is too much, and still less than
  // it was).
  Value sum = lanes.add(e, one);
  Value lost = lanes.sub(e, lanes.sub(sum, one));
  Value quotient = lanes.div(numerator, sum);
  return lanes.fma(lanes.neg(quotient), lost, quotient);
}

//===----------------------------------------------------------------------===//
// pow
//===----------------------------------------------------------------------===//

/// |x|^y = 2^(y log2 |x|), where the logarithm has to be good to 2^-35 because
/// y magnifies its error: computed in f64, the result rounded to f32 once (also
/// where it is denormal).
static Value expandPowPositive(const Lanes &lanes, Value a, Value y) {
  // a = 2^e m with m in [2/3, 4/3); a denormal is first made normal.
  static constexpr int32_t twoThirds = 0x3f2aaaab;
  Value isDenormal = lanes.less(a, lanes.f32(0x1p-126f));
  Value normal = lanes.select(isDenormal, lanes.mul(a, lanes.f32(0x1p23f)), a);
  Value offset = lanes.select(isDenormal, lanes.f32(-23.0f), lanes.f32(0.0f));
  Value aBits = lanes.bits(normal);
  Value e = lanes.shiftRight(lanes.isub(aBits, lanes.i32(twoThirds)), 23);
  Value m = lanes.fromBits(lanes.isub(aBits, lanes.shiftLeft(e, 23)));
  Value f = lanes.toDouble(lanes.sub(m, lanes.f32(1.0f)));
  Value exponent = lanes.toDouble(lanes.add(lanes.intToFloat(e), offset));
  Value log2 =
      lanes.fma(lanes.polynomial(f, coefficients::log2Double), f, exponent);

  Value infinity = lanes.f32(std::numeric_limits<float>::infinity());
  double huge = std::numeric_limits<double>::infinity();
  log2 = lanes.select(lanes.equal(a, lanes.f32(0.0f)), lanes.f64(-huge), log2);
  log2 = lanes.select(lanes.equal(a, infinity), lanes.f64(huge), log2);

  // 2^z, z = n + r: n is left in the low bits of z + 1.5 * 2^52 and added to
  // the exponent of 2^r.
  Value z = lanes.mul(lanes.toDouble(y), log2);
  z = lanes.atMost(z, lanes.f64(160.0));
  z = lanes.atLeast(z, lanes.f64(-160.0));
  Value magic = lanes.f64(0x1.8p52);
  Value shifted = lanes.add(z, magic);
  Value r = lanes.sub(z, lanes.sub(shifted, magic));
  Value p = lanes.polynomial(r, coefficients::exp2Double);
  Value scaled = lanes.fromBits(
      lanes.iadd(lanes.bits(p), lanes.shiftLeft(lanes.bits(shifted), 52)));
  return lanes.toSingle(scaled);
}

Value expandPow(const Lanes &lanes, Value x, Value y) {
  Value zero = lanes.f32(0.0f), one = lanes.f32(1.0f);
  Value infinity = lanes.f32(std::numeric_limits<float>::infinity());
  Value nan = lanes.f32(std::numeric_limits<float>::quiet_NaN());
  Value a = lanes.abs(x);
  Value result = expandPowPositive(lanes, a, y);

  // 1 or -1 to an infinite power is 1.
  result = lanes.select(lanes.equal(a, one), one, result);

  // A negative base: the sign is that of an odd power, and a power that is no
  // whole number has no value (0 and infinity have one).
  Value halfY = lanes.mul(y, lanes.f32(0.5f));
  Value isWhole = lanes.equal(lanes.roundEven(y), y);
  Value isOdd = lanes.both(
      isWhole, lanes.negate(lanes.equal(lanes.roundEven(halfY), halfY)));
  Value withSign = lanes.copySign(result, x);
  result = lanes.select(isOdd, withSign, result);
  Value noValue =
      lanes.both(lanes.both(lanes.less(x, zero), lanes.less(a, infinity)),
                 lanes.negate(isWhole));
  result =
      lanes.select(lanes.either(noValue, lanes.unordered(x, y)), nan, result);

  // Whatever the other operand is, NaN included.
  Value isOne = lanes.either(lanes.equal(x, one), lanes.equal(y, zero));
  return lanes.select(isOne, one, result);
}

} // namespace tenon::codegen
