//===- NarrowFormat.cpp - Element types that are carried in bytes ---------===//
//
// A wide float becomes a narrow one by cutting its mantissa and moving its
// exponent, both in its bits. With m mantissa bits of p kept, rounding to even
// adds half of the last kept bit, less one if that bit is zero, and cuts:
//
//   f32 1.1875 as f8E4M3FN (m = 3): ...0011000... -> 1.001|1 -> 1.010 = 1.25
//
// Below the smallest normal number all narrow numbers are equally far apart;
// the addition of a constant whose last bit has just that weight rounds there.
//
//===----------------------------------------------------------------------===//

#include "NarrowFormat.h"

#include <cmath>

using namespace mlir;
using namespace tenon::stablehlo;

namespace tenon::importer {

bool isNarrow(Type element) {
  if (auto integer = dyn_cast<IntegerType>(element))
    return integer.getWidth() == 2 || integer.getWidth() == 4;
  return isa<FloatType>(element) && element.getIntOrFloatBitWidth() <= 8;
}

Type carrierOf(Type narrow) {
  bool hasSign = narrow.isSignlessInteger();
  return IntegerType::get(narrow.getContext(), 8,
                          hasSign ? IntegerType::Signless
                                  : IntegerType::Unsigned);
}

namespace {

/// What there is to know about a narrow format.
struct Format {
  explicit Format(FloatType type)
      : semantics(type.getFloatSemantics()), width(type.getWidth()),
        mantissa(APFloat::semanticsPrecision(semantics) - 1),
        minExponent(APFloat::semanticsMinExponent(semantics)),
        hasSign(APFloat::semanticsHasSignedRepr(semantics)),
        largest(bits(APFloat::getLargest(semantics))),
        overflow(APFloat::semanticsHasInf(semantics)
                     ? bits(APFloat::getInf(semantics))
                 : APFloat::semanticsHasNaN(semantics)
                     ? bits(APFloat::getNaN(semantics))
                     : largest),
        nan(APFloat::semanticsHasNaN(semantics)
                ? bits(APFloat::getNaN(semantics))
                : signBit()) {}

  static int64_t bits(const APFloat &value) {
    return int64_t(value.bitcastToAPInt().getZExtValue());
  }
  int64_t signBit() const { return int64_t(1) << (width - 1); }
  bool hasNaN() const { return APFloat::semanticsHasNaN(semantics); }
  bool hasInfinity() const { return APFloat::semanticsHasInf(semantics); }
  /// One NaN, in the place of minus zero.
  bool nanIsMinusZero() const { return hasNaN() && nan == signBit(); }

  const llvm::fltSemantics &semantics;
  int64_t width, mantissa, minExponent;
  /// Without sign there is no zero either, and no mantissa: f8E8M0FNU.
  bool hasSign;
  /// Codes without sign: the largest number, what larger ones become, NaN.
  int64_t largest, overflow, nan;
};

Value shiftLeft(const ElementMath &math, Value x, int64_t by) {
  return ShiftLeftOp::create(math.builder, x, math.integer(by));
}
Value shiftRight(const ElementMath &math, Value x, int64_t by) {
  return ShiftRightLogicalOp::create(math.builder, x, math.integer(by));
}
Value greater(const ElementMath &math, Value x, Value y) {
  return math.lt(y, x);
}

ElementMath mathOf(ImplicitLocOpBuilder &builder, Value value) {
  return {builder, cast<RankedTensorType>(value.getType())};
}

} // namespace

Value unpackFloats(ImplicitLocOpBuilder &builder, FloatType narrow,
                   Value bytes) {
  Format format(narrow);
  ElementMath codes = mathOf(builder, bytes);
  ElementMath words = codes.on(builder.getIntegerType(32, /*isSigned=*/false));
  ElementMath floats = codes.on(builder.getF32Type());
  Value code = words.convert(bytes);
  Value magnitude = format.hasSign
                        ? words.both(code, words.integer(format.signBit() - 1))
                        : code;
  int64_t shift = 23 - format.mantissa;
  Value moved = shiftLeft(words, magnitude, shift);
  if (int64_t higher = format.minExponent + (format.hasSign ? 126 : 127))
    moved = words.add(moved, words.integer(higher << 23));
  Value number = floats.bitcast(moved);
  // No subnormal f32 on the way: processors may be told to take them for zero.
  int64_t smallest = format.hasSign ? int64_t(1) << format.mantissa : 1;
  Value least = format.hasSign
                    ? floats.mul(floats.convert(magnitude),
                                 std::ldexp(1.0, int(format.minExponent -
                                                     format.mantissa)))
                    : floats.constant(std::ldexp(1.0, int(format.minExponent)));
  number = floats.select(words.lt(magnitude, words.integer(smallest)), least,
                         number);
  if (format.hasInfinity())
    number = floats.select(words.eq(magnitude, words.integer(format.overflow)),
                           floats.infinity(), number);
  if (format.hasSign)
    number =
        floats.select(words.ne(code, magnitude), floats.neg(number), number);
  if (!format.hasNaN())
    return number;
  int64_t last = format.hasInfinity() ? format.overflow : format.largest;
  Value isNaN = format.nanIsMinusZero()
                    ? words.eq(code, words.integer(format.nan))
                    : greater(words, magnitude, words.integer(last));
  return floats.select(isNaN, floats.nan(), number);
}

Value packFloats(ImplicitLocOpBuilder &builder, FloatType narrow,
                 Value values) {
  Format format(narrow);
  ElementMath floats = mathOf(builder, values);
  auto wide = cast<FloatType>(floats.type.getElementType());
  int64_t width = wide.getWidth(), mantissa = wide.getFPMantissaWidth() - 1;
  int64_t bias = width == 32 ? 127 : 1023;
  ElementMath words =
      floats.on(builder.getIntegerType(width, /*isSigned=*/false));
  Value bits = words.bitcast(values);
  Value magnitude =
      words.both(bits, words.integer(int64_t(~uint64_t(0) >> (65 - width))));
  int64_t cut = mantissa - format.mantissa;
  // Without mantissa all numbers are odd, and ties go up.
  Value last = words.integer(1);
  if (format.mantissa)
    last = words.both(shiftRight(words, magnitude, cut), last);
  Value rounded = words.add(
      words.add(magnitude, words.integer((int64_t(1) << (cut - 1)) - 1)), last);
  // The exponent field of the smallest normal number becomes 1.
  int64_t lower = bias + format.minExponent - (format.hasSign ? 1 : 0);
  Value smallest = words.integer((bias + format.minExponent) << mantissa);
  Value code = shiftRight(words, rounded, cut);
  if (lower > 0) {
    code = words.sub(code, words.integer(lower << format.mantissa));
    Value least = words.integer(0);
    if (format.hasSign) {
      Value grid = floats.constant(std::ldexp(
          1.0, int(mantissa + format.minExponent - format.mantissa)));
      least = words.sub(words.bitcast(floats.add(floats.abs(values), grid)),
                        words.bitcast(grid));
    }
    code = words.select(words.lt(magnitude, smallest), least, code);
  } else { // the smallest number is a subnormal f32
    Value isSmallest = words.lt(magnitude, words.integer(3 << (mantissa - 2)));
    code = words.select(isSmallest, words.integer(0), code);
  }
  code = words.select(greater(words, code, words.integer(format.largest)),
                      words.integer(format.overflow), code);
  Value isNegative = words.ne(bits, magnitude);
  if (format.hasSign) {
    if (format.nanIsMinusZero())
      isNegative = words.both(isNegative, words.ne(code, words.integer(0)));
    code = words.select(
        isNegative, words.either(code, words.integer(format.signBit())), code);
  } else {
    Value belowZero =
        words.both(isNegative, words.ne(magnitude, words.integer(0)));
    code = words.select(belowZero, words.integer(format.nan), code);
  }
  code =
      words.select(floats.ne(values, values), words.integer(format.nan), code);
  return words.on(carrierOf(narrow)).convert(code);
}

Value wrapIntegers(ImplicitLocOpBuilder &builder, IntegerType narrow,
                   Value bytes) {
  ElementMath math = mathOf(builder, bytes).on(carrierOf(narrow));
  if (bytes.getType() != math.type)
    bytes = math.convert(bytes);
  int64_t unused = 8 - narrow.getWidth();
  if (narrow.isUnsigned())
    return math.both(bytes, math.integer(0xff >> unused));
  return ShiftRightArithmeticOp::create(builder, shiftLeft(math, bytes, unused),
                                        math.integer(unused));
}

Value codesOf(ImplicitLocOpBuilder &builder, Type narrow, Value carried) {
  if (!narrow.isSignlessInteger())
    return carried;
  ElementMath math =
      mathOf(builder, carried).on(builder.getIntegerType(8, false));
  int64_t unused = 8 - narrow.getIntOrFloatBitWidth();
  return math.both(math.convert(carried), math.integer(0xff >> unused));
}

Value fromCodes(ImplicitLocOpBuilder &builder, Type narrow, Value codes) {
  if (auto integer = dyn_cast<IntegerType>(narrow))
    return wrapIntegers(builder, integer, codes);
  ElementMath math = mathOf(builder, codes);
  int64_t unused = 8 - narrow.getIntOrFloatBitWidth();
  return unused ? math.both(codes, math.integer(0xff >> unused)) : codes;
}

} // namespace tenon::importer
