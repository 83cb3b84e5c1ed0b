//===- ComplexMath.cpp - Functions of complex elements --------------------===//
//
// Formulas that avoid overflow and cancellation where the textbook ones have
// them. Quotients: Smith, "Algorithm 116: complex division", 1962. Inverse
// functions: Kahan, "Branch cuts for complex elementary functions", 1987.
//
//===----------------------------------------------------------------------===//

#include "ComplexMath.h"

#include "tenon/Dialect/CHLO/CHLO.h"

#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace tenon::stablehlo;

namespace tenon::importer {

namespace {

using Operands = ArrayRef<Parts>;
using Math = ElementMath;

Value atan2(const Math &m, Value y, Value x) {
  return Atan2Op::create(m.builder, y, x);
}
Value sine(const Math &m, Value x) { return m.unary<SineOp>(x); }
Value cosine(const Math &m, Value x) { return m.unary<CosineOp>(x); }
Value tangent(const Math &m, Value x) { return m.unary<TanOp>(x); }
Value hyperbolicTangent(const Math &m, Value x) { return m.unary<TanhOp>(x); }
/// Functions that have a formula of their own for real elements.
template <typename Op>
Value client(const Math &m, Value x) {
  return Op::create(m.builder, x.getType(), x);
}
Value sinh(const Math &m, Value x) { return client<chlo::SinhOp>(m, x); }
Value cosh(const Math &m, Value x) { return client<chlo::CoshOp>(m, x); }
Value asinh(const Math &m, Value x) { return client<chlo::AsinhOp>(m, x); }
Value zero(const Math &m) { return m.constant(0); }
Value square(const Math &m, Value x) { return m.mul(x, x); }
Value maximum(const Math &m, Value x, Value y) {
  return MaximumOp::create(m.builder, x, y);
}
Value minimum(const Math &m, Value x, Value y) {
  return MinimumOp::create(m.builder, x, y);
}
Parts select(const Math &m, Value predicate, Parts yes, Parts no) {
  return {m.select(predicate, yes.real, no.real),
          m.select(predicate, yes.imaginary, no.imaginary)};
}
Value isZero(const Math &m, Parts z) {
  return m.both(m.eq(z.real, zero(m)), m.eq(z.imaginary, zero(m)));
}
Parts conjugate(const Math &m, Parts z) { return {z.real, m.neg(z.imaginary)}; }
/// i z and -i z.
Parts timesI(const Math &m, Parts z) { return {m.neg(z.imaginary), z.real}; }
Parts overI(const Math &m, Parts z) { return {z.imaginary, m.neg(z.real)}; }
Parts one(const Math &m) { return {m.constant(1), zero(m)}; }
Parts plus(const Math &m, Parts x, Parts y) {
  return {m.add(x.real, y.real), m.add(x.imaginary, y.imaginary)};
}
Parts minus(const Math &m, Parts x, Parts y) {
  return {m.sub(x.real, y.real), m.sub(x.imaginary, y.imaginary)};
}

Parts divide(const Math &m, Parts x, Parts y) {
  Value flat = m.le(m.abs(y.imaginary), m.abs(y.real));
  Value large = m.select(flat, y.real, y.imaginary);
  Value small = m.select(flat, y.imaginary, y.real);
  Value ratio = m.div(small, large);
  Value scale = m.add(large, m.mul(small, ratio));
  Value a = m.select(flat, x.real, x.imaginary);
  Value b = m.select(flat, x.imaginary, x.real);
  Value real = m.div(m.add(a, m.mul(b, ratio)), scale);
  Value difference = m.div(m.sub(b, m.mul(a, ratio)), scale);
  return {real, m.select(flat, difference, m.neg(difference))};
}

/// e^(a/2) twice, so that it is not infinite before its product is.
Parts exponential(const Math &m, Parts z) {
  Value half = m.exp(m.mul(z.real, 0.5));
  Value imaginary = m.mul(m.mul(half, sine(m, z.imaginary)), half);
  return {m.mul(m.mul(half, cosine(m, z.imaginary)), half),
          m.select(m.eq(z.imaginary, zero(m)), z.imaginary, imaginary)};
}

/// log(max) + log1p((min / max)^2) / 2.
Parts logarithm(const Math &m, Parts z) {
  Value a = m.abs(z.real), b = m.abs(z.imaginary);
  Value large = maximum(m, a, b), small = minimum(m, a, b);
  Value ratio = m.div(small, large);
  // Equal ones may both be infinite or zero.
  ratio = m.select(m.eq(small, large), m.constant(1), ratio);
  Value real = m.add(m.log(large), m.mul(m.log1p(square(m, ratio)), 0.5));
  return {real, atan2(m, z.imaginary, z.real)};
}

Parts squareRoot(const Math &m, Parts z) {
  Value size = magnitude(m, z);
  Value larger = m.sqrt(m.add(m.mul(m.abs(z.real), 0.5), m.mul(size, 0.5)));
  Value smaller = m.div(m.mul(m.abs(z.imaginary), 0.5), larger);
  Value right = m.le(zero(m), z.real);
  Value imaginary = m.select(right, smaller, larger);
  Value negative = m.lt(atan2(m, z.imaginary, z.real), zero(m));
  Parts root{m.select(right, larger, smaller),
             m.select(negative, m.neg(imaginary), imaginary)};
  return select(m, isZero(m, z), {zero(m), z.imaginary}, root);
}

//===----------------------------------------------------------------------===//
// Rows of the table
//===----------------------------------------------------------------------===//

Parts negateParts(const Math &m, Operands z) {
  return {m.neg(z[0].real), m.neg(z[0].imaginary)};
}
Parts addParts(const Math &m, Operands z) { return plus(m, z[0], z[1]); }
Parts subtractParts(const Math &m, Operands z) { return minus(m, z[0], z[1]); }
Parts multiplyParts(const Math &m, Operands z) {
  return multiply(m, z[0], z[1]);
}
Parts divideParts(const Math &m, Operands z) { return divide(m, z[0], z[1]); }
Parts conjugateParts(const Math &m, Operands z) { return conjugate(m, z[0]); }
Parts squareParts(const Math &m, Operands z) { return multiply(m, z[0], z[0]); }
Parts exponentialParts(const Math &m, Operands z) {
  return exponential(m, z[0]);
}
Parts logarithmParts(const Math &m, Operands z) { return logarithm(m, z[0]); }
Parts squareRootParts(const Math &m, Operands z) { return squareRoot(m, z[0]); }

/// expm1(a) cos b - 2 sin^2(b / 2).
Parts expm1Parts(const Math &m, Operands z) {
  auto [a, b] = z[0];
  Value half = sine(m, m.mul(b, 0.5));
  return {m.sub(m.mul(m.expm1(a), cosine(m, b)), m.mul(square(m, half), 2.0)),
          exponential(m, z[0]).imaginary};
}

/// log1p(a (2 + a) + b^2) / 2 near zero.
Parts log1pParts(const Math &m, Operands z) {
  auto [a, b] = z[0];
  Parts shifted{m.add(a, 1.0), b};
  Value near =
      m.mul(m.log1p(m.add(m.mul(a, m.add(a, 2.0)), square(m, b))), 0.5);
  Parts far = logarithm(m, shifted);
  Value isNear = m.lt(maximum(m, m.abs(a), m.abs(b)), m.constant(0.5));
  return {m.select(isNear, near, far.real), far.imaginary};
}

Parts rsqrtParts(const Math &m, Operands z) {
  Parts root = divide(m, one(m), squareRoot(m, z[0]));
  return select(m, isZero(m, z[0]), {m.infinity(), m.nan()}, root);
}

Parts signParts(const Math &m, Operands z) {
  Value size = magnitude(m, z[0]);
  Parts unit{m.div(z[0].real, size), m.div(z[0].imaginary, size)};
  return select(m, isZero(m, z[0]), z[0], unit);
}

Parts cbrtParts(const Math &m, Operands z) {
  Value size = m.unary<CbrtOp>(magnitude(m, z[0]));
  Value angle = m.div(atan2(m, z[0].imaginary, z[0].real), m.constant(3));
  return {m.mul(size, cosine(m, angle)), m.mul(size, sine(m, angle))};
}

Parts powerParts(const Math &m, Operands z) {
  Parts power = exponential(m, multiply(m, z[1], logarithm(m, z[0])));
  // Of zero, every power is zero but the zeroth.
  Parts ofZero = select(m, isZero(m, z[1]), one(m), {zero(m), zero(m)});
  power = select(m, isZero(m, z[0]), ofZero, power);
  return select(m, isZero(m, z[1]), one(m), power);
}

Parts logisticParts(const Math &m, Operands z) {
  Parts negative = negateParts(m, z);
  return divide(m, one(m), plus(m, one(m), exponential(m, negative)));
}

Parts sineParts(const Math &m, Operands z) {
  auto [a, b] = z[0];
  return {m.mul(sine(m, a), cosh(m, b)), m.mul(cosine(m, a), sinh(m, b))};
}
Parts cosineParts(const Math &m, Operands z) {
  auto [a, b] = z[0];
  return {m.mul(cosine(m, a), cosh(m, b)),
          m.neg(m.mul(sine(m, a), sinh(m, b)))};
}
Parts sinhParts(const Math &m, Operands z) {
  auto [a, b] = z[0];
  return {m.mul(sinh(m, a), cosine(m, b)), m.mul(cosh(m, a), sine(m, b))};
}
Parts coshParts(const Math &m, Operands z) {
  auto [a, b] = z[0];
  return {m.mul(cosh(m, a), cosine(m, b)), m.mul(sinh(m, a), sine(m, b))};
}

/// With t = tan a and h = tanh b: (t (1 - h^2) + i h (1 + t^2)) / (1 + t^2
/// h^2). 1 - h^2 is 1 / cosh^2 b, which keeps its digits.
Parts tangent(const Math &m, Parts z) {
  Value t = tangent(m, z.real), h = hyperbolicTangent(m, z.imaginary);
  Value inverse = m.div(m.constant(1), cosh(m, z.imaginary));
  Value scale = m.add(square(m, m.mul(t, h)), 1.0);
  return {m.div(m.mul(t, square(m, inverse)), scale),
          m.div(m.mul(h, m.add(square(m, t), 1.0)), scale)};
}
Parts tangentParts(const Math &m, Operands z) { return tangent(m, z[0]); }
Parts tanhParts(const Math &m, Operands z) {
  return overI(m, tangent(m, timesI(m, z[0])));
}

/// The roots of 1 - z and 1 + z.
std::pair<Parts, Parts> rootsAroundOne(const Math &m, Parts z) {
  return {squareRoot(m, minus(m, one(m), z)),
          squareRoot(m, plus(m, one(m), z))};
}
Parts arcSine(const Math &m, Parts z) {
  auto [below, above] = rootsAroundOne(m, z);
  return {atan2(m, z.real, multiply(m, below, above).real),
          asinh(m, multiply(m, conjugate(m, below), above).imaginary)};
}
Parts asinParts(const Math &m, Operands z) { return arcSine(m, z[0]); }
Parts asinhParts(const Math &m, Operands z) {
  return overI(m, arcSine(m, timesI(m, z[0])));
}
Parts acosParts(const Math &m, Operands z) {
  auto [below, above] = rootsAroundOne(m, z[0]);
  return {m.mul(atan2(m, below.real, above.real), 2.0),
          asinh(m, multiply(m, conjugate(m, above), below).imaginary)};
}
Parts acoshParts(const Math &m, Operands z) {
  Parts below = squareRoot(m, minus(m, z[0], one(m)));
  Parts above = squareRoot(m, plus(m, z[0], one(m)));
  return {asinh(m, multiply(m, conjugate(m, below), above).real),
          m.mul(atan2(m, below.imaginary, above.real), 2.0)};
}
/// log1p(4 a / ((1 - a)^2 + b^2)) / 4, and half the angle of (1 + z) / (1 - z).
/// The former of |a|, because near -1 the logarithm's operand would lose
/// digits.
Parts arcTanh(const Math &m, Parts z) {
  auto [a, b] = z;
  Value size = m.abs(a);
  Value left = m.sub(m.constant(1), size);
  Value distance = m.add(square(m, left), square(m, b));
  Value real = m.mul(m.log1p(m.div(m.mul(size, 4.0), distance)), 0.25);
  real = m.mul(real, m.unary<SignOp>(a));
  Value cosine = m.sub(m.mul(left, m.add(size, 1.0)), square(m, b));
  return {real, m.mul(atan2(m, m.mul(b, 2.0), cosine), 0.5)};
}
Parts atanhParts(const Math &m, Operands z) { return arcTanh(m, z[0]); }
Parts atanParts(const Math &m, Operands z) {
  return overI(m, arcTanh(m, timesI(m, z[0])));
}

/// The operand that is larger, by real part and then by imaginary part.
Value isLess(const Math &m, Parts x, Parts y) {
  return m.either(m.lt(x.real, y.real),
                  m.both(m.eq(x.real, y.real), m.lt(x.imaginary, y.imaginary)));
}
Parts maximumParts(const Math &m, Operands z) {
  return select(m, isLess(m, z[0], z[1]), z[1], z[0]);
}
Parts minimumParts(const Math &m, Operands z) {
  return select(m, isLess(m, z[1], z[0]), z[1], z[0]);
}
/// Bounds may be one number for all elements.
Parts clampParts(const Math &m, Operands z) {
  auto spread = [&](Parts bound) -> Parts {
    if (bound.real.getType() == m.type)
      return bound;
    auto one = [&](Value part) -> Value {
      return BroadcastInDimOp::create(m.builder, m.type, part,
                                      ArrayRef<int64_t>());
    };
    return {one(bound.real), one(bound.imaginary)};
  };
  Parts raised = maximumParts(m, {z[1], spread(z[0])});
  return minimumParts(m, {raised, spread(z[2])});
}

} // namespace

Value magnitude(const ElementMath &m, Parts z) {
  Value a = m.abs(z.real), b = m.abs(z.imaginary);
  Value large = maximum(m, a, b), small = minimum(m, a, b);
  Value ratio = m.div(small, large);
  Value size = m.mul(large, m.sqrt(m.add(square(m, ratio), 1.0)));
  // Equal ones may both be infinite or zero; of two infinities is no ratio.
  Value equal = m.eq(small, large);
  return m.select(equal, m.mul(large, m.constant(1.4142135623730951)), size);
}

Parts multiply(const ElementMath &m, Parts x, Parts y) {
  return {m.sub(m.mul(x.real, y.real), m.mul(x.imaginary, y.imaginary)),
          m.add(m.mul(x.real, y.imaginary), m.mul(x.imaginary, y.real))};
}

ComplexFunction complexFunction(StringRef operation) {
  static const llvm::StringMap<ComplexFunction> table = {
      {"chlo.acos", acosParts},
      {"chlo.acosh", acoshParts},
      {"chlo.asin", asinParts},
      {"chlo.asinh", asinhParts},
      {"chlo.atan", atanParts},
      {"chlo.atanh", atanhParts},
      {"chlo.conj", conjugateParts},
      {"chlo.cosh", coshParts},
      {"chlo.sinh", sinhParts},
      {"chlo.square", squareParts},
      {"chlo.tan", tangentParts},
      {"stablehlo.add", addParts},
      {"stablehlo.cbrt", cbrtParts},
      {"stablehlo.clamp", clampParts},
      {"stablehlo.cosine", cosineParts},
      {"stablehlo.divide", divideParts},
      {"stablehlo.exponential", exponentialParts},
      {"stablehlo.exponential_minus_one", expm1Parts},
      {"stablehlo.log", logarithmParts},
      {"stablehlo.log_plus_one", log1pParts},
      {"stablehlo.logistic", logisticParts},
      {"stablehlo.maximum", maximumParts},
      {"stablehlo.minimum", minimumParts},
      {"stablehlo.multiply", multiplyParts},
      {"stablehlo.negate", negateParts},
      {"stablehlo.power", powerParts},
      {"stablehlo.rsqrt", rsqrtParts},
      {"stablehlo.sign", signParts},
      {"stablehlo.sine", sineParts},
      {"stablehlo.sqrt", squareRootParts},
      {"stablehlo.subtract", subtractParts},
      {"stablehlo.tan", tangentParts},
      {"stablehlo.tanh", tanhParts},
  };
  return table.lookup(operation);
}

} // namespace tenon::importer
