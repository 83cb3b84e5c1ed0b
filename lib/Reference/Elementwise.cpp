//===- Elementwise.cpp - Operations on elements ---------------------------===//
//
// Operations of two and more operands, comparisons, selections and conversions.
// One line per operation: what it does to floating-point values, in double
// precision and rounded once by the caller, to complex ones and to integers.
// Rounding a double result once more is exact for + - * / and sqrt of f32 and
// narrower types, since double has more than twice their digits.
//
//===----------------------------------------------------------------------===//

#include "Evaluators.h"

#include "tenon/Dialect/CHLO/CHLO.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"

#include "llvm/ADT/APFloat.h"

#include <bit>
#include <cmath>
#include <limits>

using namespace mlir;
using namespace tenon;
using namespace tenon::reference;

namespace {

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
Complex noComplex(Complex, Complex) { return {NAN, NAN}; }

Complex addComplex(Complex x, Complex y) { return x + y; }
Complex subtractComplex(Complex x, Complex y) { return x - y; }
/// Without the C library's second thoughts about infinities.
Complex multiplyComplex(Complex x, Complex y) {
  return {x.real() * y.real() - x.imag() * y.imag(),
          x.real() * y.imag() + x.imag() * y.real()};
}
Complex divideComplex(Complex x, Complex y) { return x / y; }
/// The operand that is larger by real part, then by imaginary part.
bool isLexicographicallyLess(Complex x, Complex y) {
  return x.real() == y.real() ? x.imag() < y.imag() : x.real() < y.real();
}
bool hasNaN(Complex x) { return std::isnan(x.real()) || std::isnan(x.imag()); }
Complex maximumComplex(Complex x, Complex y) {
  if (hasNaN(x) || hasNaN(y))
    return hasNaN(x) ? x : y;
  return isLexicographicallyLess(x, y) ? y : x;
}
Complex minimumComplex(Complex x, Complex y) {
  if (hasNaN(x) || hasNaN(y))
    return hasNaN(x) ? x : y;
  return isLexicographicallyLess(y, x) ? y : x;
}
Complex powerComplex(Complex x, Complex y) {
  if (y == Complex(0))
    return 1;
  if (x == Complex(0))
    return y.real() > 0 ? Complex(0) : Complex(NAN, NAN);
  return std::pow(x, y);
}
/// -i log((x + i y) / sqrt(x^2 + y^2)), which is the angle for real operands.
Complex atan2Complex(Complex y, Complex x) {
  const Complex i(0, 1);
  return -i * std::log((x + i * y) / std::sqrt(x * x + y * y));
}

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
  return y == -1 ? int64_t(0 - uint64_t(x)) : x / y;
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
          int64_t (*integer)(int64_t, int64_t, Type) = noInteger,
          Complex (*complex)(Complex, Complex) = noComplex>
LogicalResult onPair(Operation *op, Interpreter &interpreter,
                     ArrayRef<Tensor> operands, Tensors &results) {
  Tensor result(resultType(op));
  Type type = result.elementType();
  for (int64_t i = 0; i < result.size(); ++i) {
    const Element &x = operands[0].elements[i], &y = operands[1].elements[i];
    if (isComplex(type)) {
      result.elements[i] =
          complexElement(complex(x.complex(), y.complex()), type);
      continue;
    }
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
    if (isComplex(type))
      holds = (x.complex() == y.complex()) ==
              (direction == stablehlo::ComparisonDirection::EQ);
    else if (isFloat(type))
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
        isComplex(type)
            ? complexElement(
                  minimumComplex(maximumComplex(low.complex(), x.complex()),
                                 high.complex()),
                  type)
        : isFloat(type)
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
  bool hasReal = isFloat(from) || isComplex(from);
  Type part = isComplex(to) ? cast<ComplexType>(to).getElementType() : to;
  for (int64_t i = 0; i < result.size(); ++i) {
    Element value = operands[0].elements[i];
    if (!isComplex(to) && isComplex(from))
      value.integer = value.imaginary = 0; // the real part counts
    if (to.isInteger(1))
      value.integer = hasReal ? value.real != 0 : value.integer != 0;
    else if (hasReal && !isFloat(to) && !isComplex(to))
      value.integer = toInteger(value.real, to);
    else if (!hasReal && (isFloat(to) || isComplex(to))) {
      // From 64 bits straight to f32, not by way of double: that rounds twice.
      bool single = part.isF32();
      if (single && isUnsigned(from))
        value.real = float(uint64_t(value.integer));
      else if (single)
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

/// The bits of all elements, lowest first: where the bits of a part of an
/// element begin does not depend on how wide the elements around it are.
LogicalResult evaluateBitcast(Operation *op, Interpreter &,
                              ArrayRef<Tensor> operands, Tensors &results) {
  Tensor result(resultType(op));
  const Tensor &operand = operands[0];
  Type from = partType(operand.elementType());
  Type to = partType(result.elementType());
  int64_t fromWidth = widthOf(from), toWidth = widthOf(to);
  int64_t fromParts = isComplex(operand.elementType()) ? 2 : 1;
  int64_t toParts = isComplex(result.elementType()) ? 2 : 1;
  auto bitsFrom = [&](int64_t part) {
    const Element &element = operand.elements[part / fromParts];
    return bitsOf(part % fromParts ? Element{element.imaginary} : element,
                  from);
  };
  for (int64_t part = 0; part < result.size() * toParts; ++part) {
    uint64_t bits = 0;
    if (fromWidth >= toWidth) {
      int64_t pieces = fromWidth / toWidth;
      bits = bitsFrom(part / pieces) >> (part % pieces * toWidth);
    } else {
      int64_t pieces = toWidth / fromWidth;
      for (int64_t piece = 0; piece < pieces; ++piece)
        bits |= bitsFrom(part * pieces + piece) << (piece * fromWidth);
    }
    if (toWidth < 64)
      bits &= (uint64_t(1) << toWidth) - 1;
    Element value = fromBits(bits, to);
    Element &element = result.elements[part / toParts];
    if (part % toParts)
      element.imaginary = value.real;
    else
      element = value;
  }
  results.push_back(std::move(result));
  return success();
}

LogicalResult evaluateComplex(Operation *op, Interpreter &,
                              ArrayRef<Tensor> operands, Tensors &results) {
  Tensor result(resultType(op));
  for (int64_t i = 0; i < result.size(); ++i)
    result.elements[i] = {operands[0].elements[i].real, 0,
                          operands[1].elements[i].real};
  results.push_back(std::move(result));
  return success();
}

/// The upper half of a product of twice the width.
int64_t upperHalf(int64_t x, int64_t y, Type type) {
  int64_t width = widthOf(type);
  if (isUnsigned(type))
    return int64_t((unsigned __int128)(bitsOf({0, x}, type)) *
                       bitsOf({0, y}, type) >>
                   width);
  return int64_t(__int128(x) * y >> width);
}

/// The neighbour of x in the direction of y, by counting bits.
LogicalResult evaluateNextAfter(Operation *op, Interpreter &,
                                ArrayRef<Tensor> operands, Tensors &results) {
  Tensor result(resultType(op));
  Type type = result.elementType();
  uint64_t sign = uint64_t(1) << (widthOf(type) - 1);
  for (int64_t i = 0; i < result.size(); ++i) {
    const Element &x = operands[0].elements[i], &y = operands[1].elements[i];
    Element &next = result.elements[i];
    if (std::isnan(x.real) || std::isnan(y.real))
      next.real = NAN;
    else if (x.real == y.real)
      next = y;
    else if (x.real == 0)
      next = fromBits((std::signbit(y.real) ? sign : 0) | 1, type);
    else {
      bool grows = (x.real < y.real) == (x.real > 0);
      next = fromBits(bitsOf(x, type) + (grows ? 1 : -1), type);
    }
  }
  results.push_back(std::move(result));
  return success();
}

/// Keeps `mantissaBits` digits and the exponents of `exponentBits`, rounding to
/// even; what is too large becomes infinite, what is too small for fewer bits
/// of exponent zero.
LogicalResult evaluateReducePrecision(Operation *op, Interpreter &,
                                      ArrayRef<Tensor> operands,
                                      Tensors &results) {
  auto reduce = cast<stablehlo::ReducePrecisionOp>(op);
  int mantissaBits = reduce.getMantissaBits();
  int bias = (1 << (reduce.getExponentBits() - 1)) - 1;
  auto type = cast<FloatType>(operands[0].elementType());
  int smallest = llvm::APFloat::semanticsMinExponent(type.getFloatSemantics());
  // With as many bits of exponent nothing leaves the range below.
  bool narrower = 1 - bias > smallest;
  Tensor result(resultType(op));
  for (int64_t i = 0; i < result.size(); ++i) {
    double x = operands[0].elements[i].real;
    if (std::isfinite(x) && x != 0) {
      // Subnormal numbers have fewer digits, which are rounded in their place.
      int exponent = std::max(std::ilogb(x), smallest);
      double unit = std::ldexp(1.0, exponent - mantissaBits);
      double rounded = std::nearbyint(x / unit) * unit;
      if (std::fabs(rounded) >= std::ldexp(1.0, bias + 1))
        rounded = std::copysign(INFINITY, x);
      else if (narrower && std::fabs(rounded) < std::ldexp(1.0, 1 - bias))
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
      {"stablehlo.add", onPair<addReal, addInteger, addComplex>},
      {"stablehlo.and", onPair<noReal, andInteger>},
      {"stablehlo.atan2", onPair<std::atan2, noInteger, atan2Complex>},
      {"stablehlo.bitcast_convert", evaluateBitcast},
      {"stablehlo.clamp", evaluateClamp},
      {"stablehlo.compare", evaluateCompare},
      {"stablehlo.complex", evaluateComplex},
      {"stablehlo.convert", evaluateConvert},
      {"stablehlo.divide", onPair<divideReal, divideInteger, divideComplex>},
      {"stablehlo.maximum",
       onPair<maximumReal, maximumInteger, maximumComplex>},
      {"stablehlo.minimum",
       onPair<minimumReal, minimumInteger, minimumComplex>},
      {"stablehlo.multiply",
       onPair<multiplyReal, multiplyInteger, multiplyComplex>},
      {"stablehlo.or", onPair<noReal, orInteger>},
      {"stablehlo.power", onPair<std::pow, powerInteger, powerComplex>},
      {"stablehlo.reduce_precision", evaluateReducePrecision},
      {"stablehlo.remainder", onPair<std::fmod, remainderInteger>},
      {"stablehlo.select", evaluateSelect},
      {"stablehlo.shift_left", onPair<noReal, shiftLeft>},
      {"stablehlo.shift_right_arithmetic",
       onPair<noReal, shiftRightArithmetic>},
      {"stablehlo.shift_right_logical", onPair<noReal, shiftRightLogical>},
      {"stablehlo.subtract",
       onPair<subtractReal, subtractInteger, subtractComplex>},
      {"stablehlo.xor", onPair<noReal, xorInteger>},
      {"chlo.mulhi", onPair<noReal, upperHalf>},
      {"chlo.next_after", evaluateNextAfter},
  };
  return table;
}
