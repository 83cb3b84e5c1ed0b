//===- ExactFunctions.cpp - Functions without rounding error --------------===//
//
// Squares, conjugates, tests for infinity, neighbours of a float and the upper
// half of an integer product.
//
//===----------------------------------------------------------------------===//

#include "ElementMath.h"

using namespace mlir;
using namespace tenon::stablehlo;

namespace tenon::importer {
namespace {

bool isComplex(Value x) {
  return isa<ComplexType>(getElementTypeOrSelf(x.getType()));
}

Value real(const ElementMath &m, Value x) {
  return RealOp::create(m.builder, x);
}
Value imaginary(const ElementMath &m, Value x) {
  return ImagOp::create(m.builder, x);
}

Value square(const ElementMath &m, ArrayRef<Value> x) {
  if (!isComplex(x[0]))
    return m.mul(x[0], x[0]);
  Value re = real(m, x[0]), im = imaginary(m, x[0]);
  ElementMath parts = m.on(getElementTypeOrSelf(re.getType()));
  return ComplexOp::create(m.builder,
                           parts.mul(parts.sub(re, im), parts.add(re, im)),
                           parts.mul(parts.mul(re, im), 2.0));
}

Value conj(const ElementMath &m, ArrayRef<Value> x) {
  if (!isComplex(x[0]))
    return x[0];
  return ComplexOp::create(m.builder, real(m, x[0]), m.neg(imaginary(m, x[0])));
}

/// Predicates get the operand's type, not the result's.
ElementMath onOperand(const ElementMath &m, Value x) {
  return m.on(getElementTypeOrSelf(x.getType()));
}

Value isInf(const ElementMath &m, ArrayRef<Value> x) {
  ElementMath operand = onOperand(m, x[0]);
  return operand.eq(operand.abs(x[0]), operand.infinity());
}
Value isPosInf(const ElementMath &m, ArrayRef<Value> x) {
  ElementMath operand = onOperand(m, x[0]);
  return operand.eq(x[0], operand.infinity());
}
Value isNegInf(const ElementMath &m, ArrayRef<Value> x) {
  ElementMath operand = onOperand(m, x[0]);
  return operand.eq(x[0], operand.neg(operand.infinity()));
}

/// Floats in order of magnitude are integers in order: the neighbour away from
/// zero has the next bit pattern, the one towards zero the previous.
Value nextAfter(const ElementMath &m, ArrayRef<Value> xy) {
  Value x = xy[0], y = xy[1];
  unsigned width = m.type.getElementTypeBitWidth();
  ElementMath bits = m.on(m.builder.getIntegerType(width));
  Value xBits = bits.bitcast(x), yBits = bits.bitcast(y);
  Value one = bits.integer(1);
  Value sign = bits.integer(int64_t(uint64_t(1) << (width - 1)));
  Value ySign = bits.both(yBits, sign);
  // By bits, since a comparison of numbers may take subnormal ones for zeros.
  Value magnitude = bits.integer(int64_t((uint64_t(1) << (width - 1)) - 1));
  Value xSize = bits.both(xBits, magnitude),
        ySize = bits.both(yBits, magnitude);
  Value away =
      bits.both(bits.eq(bits.both(xBits, sign), ySign), bits.lt(xSize, ySize));
  Value stepped = bits.add(xBits, bits.select(away, one, bits.integer(-1)));
  Value fromZero = bits.either(ySign, one);
  Value zero = bits.integer(0);
  Value next = bits.select(bits.eq(xSize, zero), fromZero, stepped);
  Value areZeros = bits.eq(bits.either(xSize, ySize), zero);
  Value areEqual = bits.either(areZeros, bits.eq(xBits, yBits));
  Value result = m.select(areEqual, y, m.bitcast(next));
  Value ordered = m.both(m.eq(x, x), m.eq(y, y));
  return m.select(ordered, result, m.add(x, y));
}

/// The upper word of a product of 64-bit integers, by halves of 32 bits.
Value mulhiOfWords(const ElementMath &m, Value a, Value b) {
  ElementMath words = m.on(m.builder.getIntegerType(64, /*isSigned=*/false));
  Value shift = words.integer(32), mask = words.integer(0xFFFFFFFF);
  Value ua = words.bitcast(a), ub = words.bitcast(b);
  auto high = [&](Value x) -> Value {
    return ShiftRightLogicalOp::create(m.builder, x, shift);
  };
  auto low = [&](Value x) { return words.both(x, mask); };
  Value ll = words.mul(low(ua), low(ub)), lh = words.mul(low(ua), high(ub));
  Value hl = words.mul(high(ua), low(ub)), hh = words.mul(high(ua), high(ub));
  Value middle = words.add(words.add(high(ll), low(lh)), low(hl));
  Value upper =
      words.add(words.add(hh, high(lh)), words.add(high(hl), high(middle)));
  Value result = m.bitcast(upper);
  if (m.type.getElementType().isUnsignedInteger())
    return result;
  // Two's complement: a negative factor counts 2^64 too much.
  Value zero = m.integer(0);
  result = m.sub(result, m.select(m.lt(a, zero), b, zero));
  return m.sub(result, m.select(m.lt(b, zero), a, zero));
}

Value mulhi(const ElementMath &m, ArrayRef<Value> ab) {
  auto element = cast<IntegerType>(m.type.getElementType());
  unsigned width = element.getWidth();
  if (width == 64)
    return mulhiOfWords(m, ab[0], ab[1]);
  ElementMath wide = m.on(element.isUnsigned()
                              ? m.builder.getIntegerType(64, /*isSigned=*/false)
                              : m.builder.getIntegerType(64));
  Value product = wide.mul(wide.convert(ab[0]), wide.convert(ab[1]));
  Value shift = wide.integer(width);
  Value upper =
      element.isUnsigned()
          ? Value(ShiftRightLogicalOp::create(m.builder, product, shift))
          : Value(ShiftRightArithmeticOp::create(m.builder, product, shift));
  return m.convert(upper);
}

} // namespace

ArrayRef<ExpansionRow> exactExpansions() {
  static const ExpansionRow rows[] = {
      {"chlo.conj", conj, false},
      {"chlo.is_inf", isInf, false},
      {"chlo.is_neg_inf", isNegInf, false},
      {"chlo.is_pos_inf", isPosInf, false},
      {"chlo.mulhi", mulhi, false},
      {"chlo.next_after", nextAfter, false},
      {"chlo.square", square, false},
  };
  return rows;
}

} // namespace tenon::importer
