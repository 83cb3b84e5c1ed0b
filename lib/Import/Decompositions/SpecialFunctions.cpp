//===- SpecialFunctions.cpp - Gamma, zeta and Bessel functions ------------===//
//
// Series and approximations for functions that training steps rarely use and no
// machine has instructions for. Accurate to a few units in the last place of
// f32 away from the functions' zeros. Real elements only.
//
//===----------------------------------------------------------------------===//

#include "ElementMath.h"

#include "tenon/Support/PortableMath.h"

#include <numbers>

using namespace mlir;
using namespace tenon::stablehlo;
using std::numbers::pi;

namespace tenon::importer {
namespace {

//===----------------------------------------------------------------------===//
// Gamma, after Lanczos with g = 7 and 9 terms
//===----------------------------------------------------------------------===//

constexpr double lanczosShift = 7.5; // g + 1/2
constexpr double lanczosBase = 0.99999999999980993227684700473478;
constexpr double lanczosTerms[] = {
    676.520368121885098567009190444019, -1259.13921672240287047156078755283,
    771.3234287776530788486528258894,   -176.61502916214059906584551354,
    12.507343278686904814458936853,     -0.13857109526572011689554707,
    9.984369578019570859563e-6,         1.50563273514931155834e-7,
};

/// What both functions of gamma start with. Below 1/2 they are reflected, so
/// that the series sees z >= -1/2 only.
struct Lanczos {
  Value reflects, z;
  /// t = z + g + 1/2 and its logarithm, from its relative distance to g + 1/2.
  Value t, logT;

  Lanczos(const ElementMath &m, Value x) {
    reflects = m.lt(x, m.constant(0.5));
    z = m.select(reflects, m.neg(x), m.add(x, -1.0));
    t = m.add(z, lanczosShift);
    logT = m.add(m.log1p(m.mul(z, 1 / lanczosShift)),
                 portableLogarithm(lanczosShift));
  }
};

Value isIntegerNotPositive(const ElementMath &m, Value x) {
  return m.both(m.le(x, m.constant(0)), m.eq(x, m.floor(x)));
}

Value lgamma(const ElementMath &m, ArrayRef<Value> operands) {
  Value x = operands[0];
  Lanczos l(m, x);
  Value sum = m.constant(lanczosBase);
  for (auto [index, term] : llvm::enumerate(lanczosTerms))
    sum = m.add(sum, m.div(m.constant(term), m.add(l.z, double(index + 1))));
  // log(sqrt(2 pi)) + (z + 1/2) log t - t + log(sum), with t taken into the
  // product, because the two large terms nearly cancel.
  Value power = m.mul(m.sub(m.add(l.z, 0.5), m.div(l.t, l.logT)), l.logT);
  Value result =
      m.add(m.add(power, 0.5 * portableLogarithm(2 * pi)), m.log(sum));
  // gamma(x) gamma(1 - x) = pi / sin(pi x), the sine of a reduced angle.
  Value magnitude = m.abs(x);
  Value fraction = m.sub(magnitude, m.floor(magnitude));
  fraction = m.select(m.lt(m.constant(0.5), fraction),
                      m.sub(m.constant(1), fraction), fraction);
  Value sine = m.log(m.unary<SineOp>(m.mul(fraction, pi)));
  Value reflected =
      m.select(IsFiniteOp::create(m.builder, sine),
               m.sub(m.sub(m.constant(portableLogarithm(pi)), sine), result),
               m.neg(sine));
  result = m.select(l.reflects, reflected, result);
  return m.select(m.eq(magnitude, m.infinity()), m.infinity(), result);
}

Value digamma(const ElementMath &m, ArrayRef<Value> operands) {
  Value x = operands[0];
  Lanczos l(m, x);
  Value sum = m.constant(lanczosBase), derivative = m.constant(0);
  for (auto [index, term] : llvm::enumerate(lanczosTerms)) {
    Value shifted = m.add(l.z, double(index + 1));
    Value part = m.div(m.constant(term), shifted);
    derivative = m.sub(derivative, m.div(part, shifted));
    sum = m.add(sum, part);
  }
  Value result = m.sub(m.add(l.logT, m.div(derivative, sum)),
                       m.div(m.constant(lanczosShift - 0.5), l.t));
  // digamma(1 - x) - digamma(x) = pi / tan(pi x), of a reduced angle.
  Value reduced = m.add(x, m.abs(m.floor(m.add(x, 0.5))));
  Value angle = m.mul(reduced, pi);
  Value cotangent =
      m.div(m.mul(m.unary<CosineOp>(angle), pi), m.unary<SineOp>(angle));
  result = m.select(l.reflects, m.sub(result, cotangent), result);
  return m.select(isIntegerNotPositive(m, x), m.nan(), result);
}

//===----------------------------------------------------------------------===//
// Zeta, after Euler and Maclaurin
//===----------------------------------------------------------------------===//

/// (2k)! / B(2k) for k = 1, 2, ...
constexpr double zetaDenominators[] = {
    12.0,
    -720.0,
    30240.0,
    -1209600.0,
    47900160.0,
    -1.8924375803183791606e9,
    7.47242496e10,
    -2.950130727918164224e12,
    1.1646782814350067249e14,
    -4.5979787224074726105e15,
    1.8152105401943546773e17,
    -7.1661652561756670113e18,
};

/// The sum of (q + n)^-x: nine terms as they are, the rest as an integral with
/// corrections.
Value zeta(const ElementMath &m, ArrayRef<Value> operands) {
  Value x = operands[0], q = operands[1];
  Value one = m.constant(1), minusX = m.neg(x);
  Value sum = m.pow(q, minusX), a = q;
  for (int term = 0; term < 9; ++term) {
    a = m.add(a, one);
    sum = m.add(sum, m.pow(a, minusX));
  }
  // The last term counts half in the integral's trapezoid.
  Value last = m.pow(a, minusX);
  sum = m.sub(sum, m.mul(last, 0.5));
  sum = m.add(sum, m.div(m.mul(last, a), m.sub(x, one)));
  Value factor = x, power = m.div(last, a), square = m.mul(a, a);
  for (auto [k, denominator] : llvm::enumerate(zetaDenominators)) {
    sum = m.add(sum, m.div(m.mul(factor, power), m.constant(denominator)));
    double next = 2.0 * double(k) + 1;
    factor = m.mul(m.mul(factor, m.add(x, next)), m.add(x, next + 1));
    power = m.div(power, square);
  }
  // Poles and what lies outside the domain.
  Value wholeX = m.eq(x, m.floor(x));
  Value pole = isIntegerNotPositive(m, q);
  Value even = m.eq(x, m.mul(m.floor(m.mul(x, 0.5)), 2.0));
  Value atPole = m.select(m.both(wholeX, even), m.infinity(), m.nan());
  Value negative = m.both(m.lt(q, m.constant(0)), m.ne(x, m.floor(x)));
  sum = m.select(negative, m.nan(), sum);
  sum = m.select(pole, atPole, sum);
  sum = m.select(m.lt(x, one), m.nan(), sum);
  return m.select(m.eq(x, one), m.infinity(), sum);
}

/// (-1)^(n+1) n! zeta(n + 1, x) for n > 0, digamma(x) for n = 0.
Value polygamma(const ElementMath &m, ArrayRef<Value> operands) {
  Value n = operands[0], x = operands[1];
  Value order = m.add(n, 1.0);
  Value half = m.mul(n, 0.5);
  Value sign =
      m.select(m.eq(half, m.floor(half)), m.constant(-1), m.constant(1));
  Value result =
      m.mul(m.mul(sign, m.exp(lgamma(m, order))), zeta(m, {order, x}));
  result = m.select(m.eq(n, m.constant(0)), digamma(m, x), result);
  Value valid = m.both(m.le(m.constant(0), n), m.eq(n, m.floor(n)));
  return m.select(valid, result, m.nan());
}

//===----------------------------------------------------------------------===//
// Bessel function of order 1, scaled by e^-|x|
//===----------------------------------------------------------------------===//

/// Chebyshev coefficients of e^-x I1(x) / x for x in [0, 8], in x / 4 - 1.
constexpr double besselNear[] = {
    0.12629359322181682,     -0.17641651835783406,    0.10264365868984709,
    -0.052945981208094989,   0.024726449030626516,    -0.010564084894626197,
    0.0041564229443128882,   -0.0015135724506312532,  0.00051228595616857576,
    -0.00016176081582589674, 4.7815651075500515e-05,  -1.3273163656039431e-05,
    3.4702513081377068e-06,  -8.5687202646956813e-07, 2.0032947535520654e-07,
    -4.4450591288031202e-08, 9.3815373865330156e-09,  -1.8872497517592626e-09,
    3.6255902822679366e-10,  -6.6634897246005669e-11, 1.1736186275471214e-11,
    -1.9839743827562272e-12, 3.2237925911139491e-13,  -5.0421875740424768e-14,
    7.6007036154865891e-15,  -1.1056431174793525e-15, 1.5535092472412221e-16,
    -2.116227115420144e-17,  2.7426926832094245e-18,
};
/// Chebyshev coefficients of e^-x I1(x) sqrt(x) for x >= 8, in 16 / x - 1.
constexpr double besselFar[] = {
    0.38928811750914005,     -0.0097610974913614687,  -0.00011058893876262371,
    -3.882564808877705e-06,  -2.5122362378700558e-07, -2.6314688468858982e-08,
    -3.8353803859376283e-09, -5.5897434621887752e-10, -1.8974958054409323e-11,
    3.2526035863837026e-11,  1.4125807424832463e-11,  2.0356285559096354e-12,
    -7.1985516611880386e-13, -4.0835513274864801e-13, -2.1015403687960543e-14,
    4.2724341859506909e-14,  1.0420334842393963e-14,  -3.8144671882928138e-15,
    -1.8802763470835652e-15, 3.3080363535248347e-16,  2.9624098533536378e-16,
    -3.1995822549583941e-17, -4.65849592144144e-17,   4.4172768199311763e-18,
    7.4826890560444892e-18,
};

/// A Chebyshev series by Clenshaw's recurrence.
Value chebyshev(const ElementMath &m, ArrayRef<double> series, Value at) {
  Value twice = m.mul(at, 2.0);
  Value current = m.constant(0), previous = m.constant(0);
  for (double coefficient : llvm::reverse(series.drop_front())) {
    Value next = m.add(m.sub(m.mul(twice, current), previous), coefficient);
    previous = current;
    current = next;
  }
  return m.add(m.sub(m.mul(at, current), previous), series.front());
}

Value besselI1e(const ElementMath &m, ArrayRef<Value> operands) {
  Value x = operands[0], a = m.abs(x);
  Value near = m.mul(chebyshev(m, besselNear, m.add(m.mul(a, 0.25), -1.0)), a);
  Value ratio = m.add(m.div(m.constant(16), a), -1.0);
  Value far = m.div(chebyshev(m, besselFar, ratio), m.sqrt(a));
  Value result = m.select(m.le(a, m.constant(8)), near, far);
  return m.mul(m.unary<SignOp>(x), result);
}

} // namespace

ArrayRef<ExpansionRow> specialExpansions() {
  static const ExpansionRow rows[] = {
      {"chlo.bessel_i1e", besselI1e},
      {"chlo.digamma", digamma},
      {"chlo.lgamma", lgamma},
      {"chlo.polygamma", polygamma},
      {"chlo.zeta", zeta},
  };
  return rows;
}

} // namespace tenon::importer
