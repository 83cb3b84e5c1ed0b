//===- Functions.cpp - Functions of one element ---------------------------===//
//
// One line per operation: what it does to floating-point values, in double
// precision and rounded once, to complex ones and to integers.
//
//===----------------------------------------------------------------------===//

#include "Evaluators.h"
#include "SpecialFunctions.h"

#include <bit>
#include <cmath>

using namespace mlir;
using namespace tenon;
using namespace tenon::reference;

namespace {

//===----------------------------------------------------------------------===//
// Real elements
//===----------------------------------------------------------------------===//

double keep(double x) { return x; }
double negateReal(double x) { return -x; }
double absReal(double x) { return std::fabs(x); }
double roundHalfAwayFromZero(double x) { return std::round(x); }
double roundHalfToEven(double x) { return std::nearbyint(x); }
double sign(double x) {
  return std::isnan(x) || x == 0 ? x : std::copysign(1.0, x);
}
double logistic(double x) { return 1 / (1 + std::exp(-x)); }
double reciprocalSqrt(double x) { return 1 / std::sqrt(x); }
double square(double x) { return x * x; }

//===----------------------------------------------------------------------===//
// Complex elements
//===----------------------------------------------------------------------===//

Complex noComplex(Complex) { return {NAN, NAN}; }
Complex negateComplex(Complex x) { return -x; }
Complex absComplex(Complex x) { return std::abs(x); }
Complex signComplex(Complex x) {
  if (std::isnan(x.real()) || std::isnan(x.imag()))
    return {NAN, NAN};
  return x == Complex(0) ? x : x / std::abs(x);
}
Complex cbrtComplex(Complex x) {
  return std::polar(std::cbrt(std::abs(x)), std::arg(x) / 3);
}
Complex cosComplex(Complex x) { return std::cos(x); }
Complex sinComplex(Complex x) { return std::sin(x); }
Complex tanComplex(Complex x) { return std::tan(x); }
Complex coshComplex(Complex x) { return std::cosh(x); }
Complex sinhComplex(Complex x) { return std::sinh(x); }
Complex tanhComplex(Complex x) { return std::tanh(x); }
Complex acosComplex(Complex x) { return std::acos(x); }
Complex asinComplex(Complex x) { return std::asin(x); }
Complex atanComplex(Complex x) { return std::atan(x); }
Complex acoshComplex(Complex x) { return std::acosh(x); }
Complex asinhComplex(Complex x) { return std::asinh(x); }
Complex atanhComplex(Complex x) { return std::atanh(x); }
Complex expComplex(Complex x) { return std::exp(x); }
Complex logComplex(Complex x) { return std::log(x); }
Complex sqrtComplex(Complex x) { return std::sqrt(x); }
Complex rsqrtComplex(Complex x) { return 1.0 / std::sqrt(x); }
Complex logisticComplex(Complex x) { return 1.0 / (1.0 + std::exp(-x)); }
Complex squareComplex(Complex x) {
  return {(x.real() - x.imag()) * (x.real() + x.imag()),
          2 * x.real() * x.imag()};
}
Complex conjugate(Complex x) { return std::conj(x); }
/// e^a cos b - 1 = expm1(a) cos b - 2 sin^2(b / 2).
Complex expm1Complex(Complex x) {
  double half = std::sin(x.imag() / 2);
  return {std::expm1(x.real()) * std::cos(x.imag()) - 2 * half * half,
          std::exp(x.real()) * std::sin(x.imag())};
}
/// |1 + x|^2 - 1 = a (2 + a) + b^2 without cancellation.
Complex log1pComplex(Complex x) {
  double a = x.real(), b = x.imag();
  double magnitude = std::hypot(1 + a, b) > 2
                         ? std::log(std::hypot(1 + a, b))
                         : std::log1p(a * (2 + a) + b * b) / 2;
  return {magnitude, std::atan2(b, 1 + a)};
}
Complex realPart(Complex x) { return x.real(); }
Complex imaginaryPart(Complex x) { return x.imag(); }
double zero(double) { return 0; }

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

int64_t noInteger(int64_t, Type) { return 0; }
int64_t negateInteger(int64_t x, Type) { return int64_t(0 - uint64_t(x)); }
int64_t absInteger(int64_t x, Type type) {
  return !isUnsigned(type) && x < 0 ? negateInteger(x, type) : x;
}
int64_t integerSign(int64_t x, Type type) {
  return isUnsigned(type) ? x != 0 : (x > 0) - (x < 0);
}
int64_t squareInteger(int64_t x, Type) {
  return int64_t(uint64_t(x) * uint64_t(x));
}
int64_t notInteger(int64_t x, Type type) { return type.isInteger(1) ? !x : ~x; }
int64_t countBits(int64_t x, Type type) {
  return std::popcount(bitsOf({0, x}, type));
}
int64_t countLeadingZeros(int64_t x, Type type) {
  return std::countl_zero(bitsOf({0, x}, type)) - (64 - widthOf(type));
}

template <double (*real)(double), Complex (*complex)(Complex) = noComplex,
          int64_t (*integer)(int64_t, Type) = noInteger>
LogicalResult onOne(Operation *op, Interpreter &interpreter,
                    ArrayRef<Tensor> operands, Tensors &results) {
  Tensor result(resultType(op));
  Type type = operands[0].elementType();
  for (int64_t i = 0; i < result.size(); ++i) {
    const Element &x = operands[0].elements[i];
    Element value;
    if (isComplex(type)) {
      Complex found = complex(x.complex());
      value = {found.real(), 0, found.imag()};
    } else if (isFloat(type)) {
      value.real = real(x.real);
    } else {
      value.integer = integer(x.integer, type);
    }
    result.elements[i] = interpreter.roundTo(value, result.elementType());
  }
  results.push_back(std::move(result));
  return success();
}

bool isFinite(double x) { return std::isfinite(x); }
bool isInfinity(double x) { return std::isinf(x); }
bool isMinusInfinity(double x) { return x == -INFINITY; }
bool isPlusInfinity(double x) { return x == INFINITY; }

template <bool (*holds)(double)>
LogicalResult evaluatePredicate(Operation *op, Interpreter &,
                                ArrayRef<Tensor> operands, Tensors &results) {
  Tensor result(resultType(op));
  for (int64_t i = 0; i < result.size(); ++i)
    result.elements[i].integer = holds(operands[0].elements[i].real);
  results.push_back(std::move(result));
  return success();
}

/// polygamma(n, x) and zeta(s, q): functions of two real elements.
template <double (*function)(double, double)>
LogicalResult onRealPair(Operation *op, Interpreter &interpreter,
                         ArrayRef<Tensor> operands, Tensors &results) {
  Tensor result(resultType(op));
  for (int64_t i = 0; i < result.size(); ++i)
    result.elements[i] = interpreter.roundTo(
        {function(operands[0].elements[i].real, operands[1].elements[i].real)},
        result.elementType());
  results.push_back(std::move(result));
  return success();
}

} // namespace

ArrayRef<Evaluator> reference::functionEvaluators() {
  static const Evaluator table[] = {
      {"stablehlo.abs", onOne<absReal, absComplex, absInteger>},
      {"stablehlo.cbrt", onOne<std::cbrt, cbrtComplex>},
      {"stablehlo.ceil", onOne<std::ceil>},
      {"stablehlo.cosine", onOne<std::cos, cosComplex>},
      {"stablehlo.count_leading_zeros",
       onOne<keep, noComplex, countLeadingZeros>},
      {"stablehlo.exponential", onOne<std::exp, expComplex>},
      {"stablehlo.exponential_minus_one", onOne<std::expm1, expm1Complex>},
      {"stablehlo.floor", onOne<std::floor>},
      {"stablehlo.imag", onOne<zero, imaginaryPart>},
      {"stablehlo.is_finite", evaluatePredicate<isFinite>},
      {"stablehlo.log", onOne<std::log, logComplex>},
      {"stablehlo.log_plus_one", onOne<std::log1p, log1pComplex>},
      {"stablehlo.logistic", onOne<logistic, logisticComplex>},
      {"stablehlo.negate", onOne<negateReal, negateComplex, negateInteger>},
      {"stablehlo.not", onOne<keep, noComplex, notInteger>},
      {"stablehlo.popcnt", onOne<keep, noComplex, countBits>},
      {"stablehlo.real", onOne<keep, realPart>},
      {"stablehlo.round_nearest_afz", onOne<roundHalfAwayFromZero>},
      {"stablehlo.round_nearest_even", onOne<roundHalfToEven>},
      {"stablehlo.rsqrt", onOne<reciprocalSqrt, rsqrtComplex>},
      {"stablehlo.sign", onOne<sign, signComplex, integerSign>},
      {"stablehlo.sine", onOne<std::sin, sinComplex>},
      {"stablehlo.sqrt", onOne<std::sqrt, sqrtComplex>},
      {"stablehlo.tan", onOne<std::tan, tanComplex>},
      {"stablehlo.tanh", onOne<std::tanh, tanhComplex>},
      {"chlo.acos", onOne<std::acos, acosComplex>},
      {"chlo.acosh", onOne<std::acosh, acoshComplex>},
      {"chlo.asin", onOne<std::asin, asinComplex>},
      {"chlo.asinh", onOne<std::asinh, asinhComplex>},
      {"chlo.atan", onOne<std::atan, atanComplex>},
      {"chlo.atanh", onOne<std::atanh, atanhComplex>},
      {"chlo.bessel_i1e", onOne<scaledBesselI1>},
      {"chlo.conj", onOne<keep, conjugate>},
      {"chlo.cosh", onOne<std::cosh, coshComplex>},
      {"chlo.digamma", onOne<digamma>},
      {"chlo.erf", onOne<std::erf>},
      {"chlo.erf_inv", onOne<inverseErf>},
      {"chlo.erfc", onOne<std::erfc>},
      {"chlo.is_inf", evaluatePredicate<isInfinity>},
      {"chlo.is_neg_inf", evaluatePredicate<isMinusInfinity>},
      {"chlo.is_pos_inf", evaluatePredicate<isPlusInfinity>},
      {"chlo.lgamma", onOne<std::lgamma>},
      {"chlo.polygamma", onRealPair<polygamma>},
      {"chlo.sinh", onOne<std::sinh, sinhComplex>},
      {"chlo.square", onOne<square, squareComplex, squareInteger>},
      {"chlo.tan", onOne<std::tan, tanComplex>},
      {"chlo.zeta", onRealPair<hurwitzZeta>},
  };
  return table;
}
