//===- Elementwise.cpp - Operations on one element at a time
//---------------===//
//
// One line per operation: what it does to floating-point values, in double
// precision and rounded once by the caller, and what it does to integers.
// Rounding a double result once more is exact for + - * / and sqrt of f32 and
// narrower types, since double has more than twice their digits.
//
//===----------------------------------------------------------------------===//

#include "Evaluators.h"

#include "tenon/Dialect/CHLO/CHLO.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"

#include <bit>
#include <cmath>
#include <limits>

using namespace mlir;
using namespace tenon;
using namespace tenon::reference;

namespace {

//===----------------------------------------------------------------------===//
// One operand
//===----------------------------------------------------------------------===//

/// The inverse of the error function by Newton's method on erfc, which keeps
/// its digits where erf is close to 1.
double inverseErf(double y) {
  if (y == 0 || std::isnan(y))
    return y;
  if (std::fabs(y) >= 1)
    return std::fabs(y) == 1 ? std::copysign(INFINITY, y) : NAN;
  double a = std::fabs(y);
  double w = -std::log((1 - a) * (1 + a));
  double x = w < 5 ? a * 0.8862269254527580 : std::sqrt(w);
  for (int i = 0; i < 60; ++i) {
    double residual = a < 0.5 ? std::erf(x) - a : (1 - a) - std::erfc(x);
    double step = residual * 0.8862269254527580 * std::exp(x * x);
    // Halley's correction keeps the iteration from overshooting.
    x -= step / (1 + x * step);
    if (std::fabs(step) <= 1e-17 * std::fabs(x))
      break;
  }
  return std::copysign(x, y);
}

double roundHalfAwayFromZero(double x) { return std::round(x); }
double roundHalfToEven(double x) { return std::nearbyint(x); }
double sign(double x) {
  return std::isnan(x) || x == 0 ? x : std::copysign(1.0, x);
}

int64_t integerSign(int64_t x, Type type) {
  return isUnsigned(type) ? x != 0 : (x > 0) - (x < 0);
}

template <double (*function)(double)>
LogicalResult onFloat(Operation *op, Interpreter &interpreter,
                      ArrayRef<Tensor> operands, Tensors &results) {
  Tensor result(resultType(op));
  for (int64_t i = 0; i < result.size(); ++i)
    result.elements[i] = interpreter.roundTo(
        {function(operands[0].elements[i].real), 0}, result.elementType());
  results.push_back(std::move(result));
  return success();
}

template <double (*function)(double), int64_t (*integerFunction)(int64_t, Type)>
LogicalResult onAny(Operation *op, Interpreter &interpreter,
                    ArrayRef<Tensor> operands, Tensors &results) {
  Tensor result(resultType(op));
  Type type = operands[0].elementType();
  for (int64_t i = 0; i < result.size(); ++i) {
    const Element &x = operands[0].elements[i];
    result.elements[i] = interpreter.roundTo(
        {function(x.real),
         isFloat(type) ? 0 : integerFunction(x.integer, type)},
        result.elementType());
  }
  results.push_back(std::move(result));
  return success();
}

double negateReal(double x) { return -x; }
int64_t negateInteger(int64_t x, Type) { return int64_t(0 - uint64_t(x)); }
double absReal(double x) { return std::fabs(x); }
int64_t absInteger(int64_t x, Type type) {
  return !isUnsigned(type) && x < 0 ? negateInteger(x, type) : x;
}
double logistic(double x) { return 1 / (1 + std::exp(-x)); }
double reciprocalSqrt(double x) { return 1 / std::sqrt(x); }
double square(double x) { return x * x; }
int64_t squareInteger(int64_t x, Type) {
  return int64_t(uint64_t(x) * uint64_t(x));
}
double keep(double x) { return x; }
int64_t notInteger(int64_t x, Type type) { return type.isInteger(1) ? !x : ~x; }
int64_t countBits(int64_t x, Type type) {
  return std::popcount(bitsOf({0, x}, type));
}
int64_t countLeadingZeros(int64_t x, Type type) {
  return std::countl_zero(bitsOf({0, x}, type)) - (64 - widthOf(type));
}

LogicalResult evaluateIsFinite(Operation *op, Interpreter &,
                               ArrayRef<Tensor> operands, Tensors &results) {
  Tensor result(resultType(op));
  for (int64_t i = 0; i < result.size(); ++i)
    result.elements[i].integer = std::isfinite(operands[0].elements[i].real);
  results.push_back(std::move(result));
  return success();
}

//===----------------------------------------------------------------------===//
// Two operands
//===----------------------------------------------------------------------===//

double addReal(double x, double y) { return x + y; }
double subtractReal(double x, double y) { return x - y; }
double multiplyReal(double x, double y) { return x * y; }
double divideReal(double x, double y) { return x / y; }
double maximumReal(double x, double y) {
  if (std::isnan(x) || std::isnan(y))
    return NAN;
  if (x == 0 && y == 0)
    return std::signbit(x) ? y : x;
  return x > y ? x : y;
}
double minimumReal(double x, double y) {
  if (std::isnan(x) || std::isnan(y))
    return NAN;
  if (x == 0 && y == 0)
    return std::signbit(x) ? x : y;
  return x < y ? x : y;
}
double noReal(double, double) { return NAN; }

int64_t noInteger(int64_t, int64_t, Type) { return 0; }

int64_t addInteger(int64_t x, int64_t y, Type type) {
  return type.isInteger(1) ? x | y : int64_t(uint64_t(x) + uint64_t(y));
}
int64_t subtractInteger(int64_t x, int64_t y, Type) {
  return int64_t(uint64_t(x) - uint64_t(y));
}
int64_t multiplyInteger(int64_t x, int64_t y, Type) {
  return int64_t(uint64_t(x) * uint64_t(y));
}
/// Division by zero gives all bits set, the overflow wraps.
int64_t divideInteger(int64_t x, int64_t y, Type type) {
  if (y == 0)
    return -1;
  if (isUnsigned(type))
    return int64_t(uint64_t(x) / uint64_t(y));
  return y == -1 ? negateInteger(x, type) : x / y;
}
int64_t remainderInteger(int64_t x, int64_t y, Type type) {
  if (y == 0)
    return x;
  if (isUnsigned(type))
    return int64_t(uint64_t(x) % uint64_t(y));
  return y == -1 ? 0 : x % y;
}
bool isLess(int64_t x, int64_t y, Type type) {
  return isUnsigned(type) ? uint64_t(x) < uint64_t(y) : x < y;
}
int64_t maximumInteger(int64_t x, int64_t y, Type type) {
  return isLess(x, y, type) ? y : x;
}
int64_t minimumInteger(int64_t x, int64_t y, Type type) {
  return isLess(x, y, type) ? x : y;
}
int64_t andInteger(int64_t x, int64_t y, Type) { return x & y; }
int64_t orInteger(int64_t x, int64_t y, Type) { return x | y; }
int64_t xorInteger(int64_t x, int64_t y, Type) { return x ^ y; }
/// Shifts by the width or more leave zero, or the sign.
int64_t shiftLeft(int64_t x, int64_t y, Type type) {
  return uint64_t(y) < uint64_t(widthOf(type)) ? int64_t(uint64_t(x) << y) : 0;
}
int64_t shiftRightLogical(int64_t x, int64_t y, Type type) {
  return uint64_t(y) < uint64_t(widthOf(type))
             ? int64_t(bitsOf({0, x}, type) >> y)
             : 0;
}
int64_t shiftRightArithmetic(int64_t x, int64_t y, Type type) {
  bool inside = uint64_t(y) < uint64_t(widthOf(type));
  int64_t narrow = x;
  if (isUnsigned(type)) { // the top bit counts as the sign all the same
    int64_t unused = 64 - widthOf(type);
    narrow = int64_t(uint64_t(x) << unused) >> unused;
  }
  return narrow >> (inside ? y : 63);
}
int64_t powerInteger(int64_t x, int64_t y, Type type) {
  if (!isUnsigned(type) && y < 0) {
    if (x == 1)
      return 1;
    if (x == -1)
      return y % 2 ? -1 : 1;
    return x == 0 ? -1 : 0;
  }
  uint64_t result = 1, base = x, exponent = y;
  for (; exponent; exponent >>= 1, base *= base)
    if (exponent & 1)
      result *= base;
  return int64_t(result);
}

template <double (*real)(double, double),
          int64_t (*integer)(int64_t, int64_t, Type)>
LogicalResult onPair(Operation *op, Interpreter &interpreter,
                     ArrayRef<Tensor> operands, Tensors &results) {
  Tensor result(resultType(op));
  Type type = result.elementType();
  for (int64_t i = 0; i < result.size(); ++i) {
    const Element &x = operands[0].elements[i], &y = operands[1].elements[i];
    Element value = isFloat(type)
                        ? Element{real(x.real, y.real), 0}
                        : Element{0, integer(x.integer, y.integer, type)};
    result.elements[i] = interpreter.roundTo(value, type);
  }
  results.push_back(std::move(result));
  return success();
}

//===----------------------------------------------------------------------===//
// Comparisons, selections, conversions
//===----------------------------------------------------------------------===//

/// The key by which the total order of floating-point values sorts their bits.
int64_t totalOrderKey(double value) {
  auto bits = std::bit_cast<int64_t>(value);
  return bits < 0 ? std::numeric_limits<int64_t>::min() - bits : bits;
}

template <typename T>
bool compares(stablehlo::ComparisonDirection direction, T x, T y) {
  using Direction = stablehlo::ComparisonDirection;
  switch (direction) {
  case Direction::EQ:
    return x == y;
  case Direction::NE:
    return x != y;
  case Direction::GE:
    return x >= y;
  case Direction::GT:
    return x > y;
  case Direction::LE:
    return x <= y;
  case Direction::LT:
    return x < y;
  }
  return false;
}

LogicalResult evaluateCompare(Operation *op, Interpreter &,
                              ArrayRef<Tensor> operands, Tensors &results) {
  auto compare = cast<stablehlo::CompareOp>(op);
  Type type = operands[0].elementType();
  bool totalOrder =
      compare.getCompareType() &&
      *compare.getCompareType() == stablehlo::ComparisonType::TOTALORDER;
  Tensor result(resultType(op));
  for (int64_t i = 0; i < result.size(); ++i) {
    const Element &x = operands[0].elements[i], &y = operands[1].elements[i];
    auto direction = compare.getComparisonDirection();
    bool holds;
    if (isFloat(type))
      holds = totalOrder ? compares(direction, totalOrderKey(x.real),
                                    totalOrderKey(y.real))
                         : compares(direction, x.real, y.real);
    else if (isUnsigned(type))
      holds = compares(direction, uint64_t(x.integer), uint64_t(y.integer));
    else
      holds = compares(direction, x.integer, y.integer);
    result.elements[i].integer = holds;
  }
  results.push_back(std::move(result));
  return success();
}

LogicalResult evaluateSelect(Operation *op, Interpreter &,
                             ArrayRef<Tensor> operands, Tensors &results) {
  Tensor result(resultType(op));
  for (int64_t i = 0; i < result.size(); ++i) {
    bool predicate =
        operands[0].elements[operands[0].rank() ? i : 0].integer != 0;
    result.elements[i] = operands[predicate ? 1 : 2].elements[i];
  }
  results.push_back(std::move(result));
  return success();
}

LogicalResult evaluateClamp(Operation *op, Interpreter &,
                            ArrayRef<Tensor> operands, Tensors &results) {
  Tensor result(resultType(op));
  Type type = result.elementType();
  for (int64_t i = 0; i < result.size(); ++i) {
    const Element &low = operands[0].elements[operands[0].rank() ? i : 0];
    const Element &x = operands[1].elements[i];
    const Element &high = operands[2].elements[operands[2].rank() ? i : 0];
    result.elements[i] =
        isFloat(type)
            ? Element{minimumReal(maximumReal(low.real, x.real), high.real), 0}
            : Element{0, minimumInteger(
                             maximumInteger(low.integer, x.integer, type),
                             high.integer, type)};
  }
  results.push_back(std::move(result));
  return success();
}

/// A floating-point value towards zero, at the ends of the type where it does
/// not fit, NaN as zero: what XLA's CPU backend does.
int64_t toInteger(double value, Type type) {
  if (std::isnan(value))
    return 0;
  int64_t width = widthOf(type);
  if (isUnsigned(type)) {
    double limit = std::ldexp(1.0, width);
    if (value <= 0)
      return 0;
    return value >= limit ? -1 : int64_t(uint64_t(value));
  }
  double limit = std::ldexp(1.0, width - 1);
  if (value >= limit)
    return int64_t((uint64_t(1) << (width - 1)) - 1);
  return value < -limit ? int64_t(~uint64_t(0) << (width - 1)) : int64_t(value);
}

LogicalResult evaluateConvert(Operation *op, Interpreter &interpreter,
                              ArrayRef<Tensor> operands, Tensors &results) {
  Tensor result(resultType(op));
  Type from = operands[0].elementType(), to = result.elementType();
  for (int64_t i = 0; i < result.size(); ++i) {
    Element value = operands[0].elements[i];
    if (to.isInteger(1))
      value.integer = isFloat(from) ? value.real != 0 : value.integer != 0;
    else if (isFloat(from) && !isFloat(to))
      value.integer = toInteger(value.real, to);
    else if (!isFloat(from) && isFloat(to)) {
      // From 64 bits straight to f32, not by way of double: that rounds twice.
      if (to.isF32() && isUnsigned(from))
        value.real = float(uint64_t(value.integer));
      else if (to.isF32())
        value.real = float(value.integer);
      else
        value.real = isUnsigned(from) ? double(uint64_t(value.integer))
                                      : double(value.integer);
    }
    result.elements[i] = interpreter.roundTo(value, to);
  }
  results.push_back(std::move(result));
  return success();
}

LogicalResult evaluateBitcast(Operation *op, Interpreter &,
                              ArrayRef<Tensor> operands, Tensors &results) {
  Tensor result(resultType(op));
  Type from = operands[0].elementType(), to = result.elementType();
  int64_t fromWidth = widthOf(from), toWidth = widthOf(to);
  if (fromWidth >= toWidth) {
    int64_t pieces = fromWidth / toWidth;
    uint64_t mask = toWidth == 64 ? ~uint64_t(0) : (uint64_t(1) << toWidth) - 1;
    for (int64_t i = 0; i < result.size(); ++i)
      result.elements[i] =
          fromBits((bitsOf(operands[0].elements[i / pieces], from) >>
                    (i % pieces * toWidth)) &
                       mask,
                   to);
  } else {
    int64_t pieces = toWidth / fromWidth;
    for (int64_t i = 0; i < result.size(); ++i) {
      uint64_t bits = 0;
      for (int64_t piece = 0; piece < pieces; ++piece)
        bits |= bitsOf(operands[0].elements[i * pieces + piece], from)
                << (piece * fromWidth);
      result.elements[i] = fromBits(bits, to);
    }
  }
  results.push_back(std::move(result));
  return success();
}

/// Keeps `mantissaBits` digits and the exponents of `exponentBits`, rounding to
/// even; what is too large becomes infinite, what is too small zero.
LogicalResult evaluateReducePrecision(Operation *op, Interpreter &,
                                      ArrayRef<Tensor> operands,
                                      Tensors &results) {
  auto reduce = cast<stablehlo::ReducePrecisionOp>(op);
  int mantissaBits = reduce.getMantissaBits();
  int bias = (1 << (reduce.getExponentBits() - 1)) - 1;
  Tensor result(resultType(op));
  for (int64_t i = 0; i < result.size(); ++i) {
    double x = operands[0].elements[i].real;
    if (std::isfinite(x) && x != 0) {
      int exponent;
      std::frexp(x, &exponent);
      double unit = std::ldexp(1.0, exponent - 1 - mantissaBits);
      double rounded = std::nearbyint(x / unit) * unit;
      if (std::fabs(rounded) >= std::ldexp(1.0, bias + 1))
        rounded = std::copysign(INFINITY, x);
      else if (std::fabs(rounded) < std::ldexp(1.0, 1 - bias))
        rounded = std::copysign(0.0, x);
      x = rounded;
    }
    result.elements[i] = realElement(x, result.elementType());
  }
  results.push_back(std::move(result));
  return success();
}

} // namespace

ArrayRef<Evaluator> reference::elementwiseEvaluators() {
  static const Evaluator table[] = {
      {"stablehlo.abs", onAny<absReal, absInteger>},
      {"stablehlo.add", onPair<addReal, addInteger>},
      {"stablehlo.and", onPair<noReal, andInteger>},
      {"stablehlo.atan2", onPair<std::atan2, noInteger>},
      {"stablehlo.bitcast_convert", evaluateBitcast},
      {"stablehlo.cbrt", onFloat<std::cbrt>},
      {"stablehlo.ceil", onFloat<std::ceil>},
      {"stablehlo.clamp", evaluateClamp},
      {"stablehlo.compare", evaluateCompare},
      {"stablehlo.convert", evaluateConvert},
      {"stablehlo.cosine", onFloat<std::cos>},
      {"stablehlo.count_leading_zeros", onAny<keep, countLeadingZeros>},
      {"stablehlo.divide", onPair<divideReal, divideInteger>},
      {"stablehlo.exponential", onFloat<std::exp>},
      {"stablehlo.exponential_minus_one", onFloat<std::expm1>},
      {"stablehlo.floor", onFloat<std::floor>},
      {"stablehlo.is_finite", evaluateIsFinite},
      {"stablehlo.log", onFloat<std::log>},
      {"stablehlo.log_plus_one", onFloat<std::log1p>},
      {"stablehlo.logistic", onFloat<logistic>},
      {"stablehlo.maximum", onPair<maximumReal, maximumInteger>},
      {"stablehlo.minimum", onPair<minimumReal, minimumInteger>},
      {"stablehlo.multiply", onPair<multiplyReal, multiplyInteger>},
      {"stablehlo.negate", onAny<negateReal, negateInteger>},
      {"stablehlo.not", onAny<keep, notInteger>},
      {"stablehlo.or", onPair<noReal, orInteger>},
      {"stablehlo.popcnt", onAny<keep, countBits>},
      {"stablehlo.power", onPair<std::pow, powerInteger>},
      {"stablehlo.reduce_precision", evaluateReducePrecision},
      {"stablehlo.remainder", onPair<std::fmod, remainderInteger>},
      {"stablehlo.round_nearest_afz", onFloat<roundHalfAwayFromZero>},
      {"stablehlo.round_nearest_even", onFloat<roundHalfToEven>},
      {"stablehlo.rsqrt", onFloat<reciprocalSqrt>},
      {"stablehlo.select", evaluateSelect},
      {"stablehlo.shift_left", onPair<noReal, shiftLeft>},
      {"stablehlo.shift_right_arithmetic",
       onPair<noReal, shiftRightArithmetic>},
      {"stablehlo.shift_right_logical", onPair<noReal, shiftRightLogical>},
      {"stablehlo.sign", onAny<sign, integerSign>},
      {"stablehlo.sine", onFloat<std::sin>},
      {"stablehlo.sqrt", onFloat<std::sqrt>},
      {"stablehlo.subtract", onPair<subtractReal, subtractInteger>},
      {"stablehlo.tan", onFloat<std::tan>},
      {"stablehlo.tanh", onFloat<std::tanh>},
      {"stablehlo.xor", onPair<noReal, xorInteger>},
      {"chlo.erf", onFloat<std::erf>},
      {"chlo.erf_inv", onFloat<inverseErf>},
      {"chlo.erfc", onFloat<std::erfc>},
      {"chlo.square", onAny<square, squareInteger>},
  };
  return table;
}
