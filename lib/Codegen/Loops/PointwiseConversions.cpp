//===- PointwiseConversions.cpp - Between element types -------------------===//
//
// Conversions, rounding to a narrower format, and the remainder of floats.
//
//===----------------------------------------------------------------------===//

#include "Lanes.h"
#include "PointwiseEmission.h"

#include "tenon/Dialect/StableHLO/StableHLO.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <cmath>

using namespace mlir;

namespace tenon::codegen {

Value convertFloat(OpBuilder &b, Location loc, Value value, Type elementType) {
  Type from = getElementTypeOrSelf(value.getType());
  if (from == elementType)
    return value;
  unsigned fromWidth = from.getIntOrFloatBitWidth();
  unsigned toWidth = elementType.getIntOrFloatBitWidth();
  Type single = b.getF32Type();
  // Between the two 16-bit formats, and between f64 and a 16-bit one, by way of
  // f32: no instruction does it directly.
  bool viaSingle = from != single && elementType != single &&
                   (fromWidth == 16 || toWidth == 16);
  if (viaSingle)
    return convertFloat(b, loc, convertFloat(b, loc, value, single),
                        elementType);
  Type type = withLanesOf(elementType, value.getType());
  if (fromWidth < toWidth)
    return arith::ExtFOp::create(b, loc, type, value);
  return arith::TruncFOp::create(b, loc, type, value);
}

/// Whether the processor computed a value, so that it is flushed already.
static bool isComputed(Value value) {
  Operation *op = value.getDefiningOp();
  return isa_and_present<arith::AddFOp, arith::SubFOp, arith::MulFOp,
                         arith::DivFOp, arith::SIToFPOp, arith::UIToFPOp,
                         math::FmaOp, math::SqrtOp>(op);
}

Value flushSubnormals(OpBuilder &b, Location loc, Value value) {
  if (isComputed(value))
    return value;
  auto type = cast<FloatType>(getElementTypeOrSelf(value.getType()));
  unsigned width = type.getWidth();
  Type integers =
      withLanesOf(IntegerType::get(b.getContext(), width), value.getType());
  auto constant = [&](const APInt &bits) -> Value {
    Attribute element = b.getIntegerAttr(getElementTypeOrSelf(integers), bits);
    if (auto vector = dyn_cast<VectorType>(integers))
      return arith::ConstantOp::create(b, loc,
                                       DenseElementsAttr::get(vector, element));
    return arith::ConstantOp::create(b, loc, cast<TypedAttr>(element));
  };
  Value bits = arith::BitcastOp::create(b, loc, integers, value);
  Value infinity =
      constant(APFloat::getInf(type.getFloatSemantics()).bitcastToAPInt());
  Value exponent = arith::AndIOp::create(b, loc, bits, infinity);
  Value isSmall =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, exponent,
                            constant(APInt::getZero(width)));
  Value sign =
      arith::AndIOp::create(b, loc, bits, constant(APInt::getSignMask(width)));
  Value zero = arith::BitcastOp::create(b, loc, value.getType(), sign);
  return arith::SelectOp::create(b, loc, isSmall, zero, value);
}

Value widenOperand(OpBuilder &b, Location loc, Operation *op, Value value,
                   Type computeType, const Instructions &instructions) {
  bool isBf16 = getElementTypeOrSelf(value.getType()).isBF16();
  value = convertFloat(b, loc, value, computeType);
  // LLVM would choose among bf16 instead, where there are instructions for it,
  // by comparisons that do not flush.
  if (isBf16 && instructions.subnormals == Subnormals::flush &&
      instructions.hasBf16 &&
      isa<stablehlo::MaximumOp, stablehlo::MinimumOp, stablehlo::ClampOp>(op))
    return flushSubnormals(b, loc, value);
  return value;
}

/// A conversion between floats that flushes. Narrowing f64 to f32 does, and so
/// does the instruction for vectors of bf16. Widening would be taken away
/// together with a narrowing that follows.
static Value convertAndFlush(const Point &p, Value x, Type to) {
  Type from = p.elementType, single = p.b.getF32Type();
  if (to.isF64() && !from.isF16()) {
    x = flushSubnormals(p.b, p.loc, convertFloat(p.b, p.loc, x, single));
  } else if (from.isF32() && to.isBF16()) {
    bool byInstruction = p.instructions.hasBf16 &&
                         isa<VectorType>(x.getType()) &&
                         isa_and_present<vector::LoadOp, vector::MaskedLoadOp>(
                             x.getDefiningOp());
    if (!byInstruction)
      x = flushSubnormals(p.b, p.loc, x);
  }
  return convertFloat(p.b, p.loc, x, to);
}

static Value floatToInteger(const Point &p, Value x, IntegerType to) {
  unsigned width = to.getWidth();
  bool isUnsigned = to.isUnsigned();
  double limit = std::ldexp(1.0, isUnsigned ? width : width - 1);
  Type floats = x.getType();
  Type type = withLanesOf(valueType(to), floats);
  Value high = numberOfType(p.b, p.loc, floats, limit);
  Value low = numberOfType(p.b, p.loc, floats, isUnsigned ? -1.0 : -limit);
  Value zero = numberOfType(p.b, p.loc, floats, 0);
  Value below = p.compare(arith::CmpFPredicate::OLT, x, high);
  Value above = p.compare(isUnsigned ? arith::CmpFPredicate::OGT
                                     : arith::CmpFPredicate::OGE,
                          x, low);
  Value inside = p.create<arith::AndIOp>(below, above);
  // Outside of the range the conversion is undefined: convert 0 instead.
  Value safe = p.select(inside, x, zero);
  Value value = isUnsigned ? p.create<arith::FPToUIOp>(type, safe)
                           : p.create<arith::FPToSIOp>(type, safe);
  APInt largest =
      isUnsigned ? APInt::getMaxValue(width) : APInt::getSignedMaxValue(width);
  Value tooLarge = p.compare(arith::CmpFPredicate::OGE, x, high);
  value = p.select(tooLarge, p.integer(type, largest), value);
  if (isUnsigned)
    return value;
  Value tooSmall = p.compare(arith::CmpFPredicate::OLT, x, low);
  return p.select(tooSmall, p.integer(type, APInt::getSignedMinValue(width)),
                  value);
}

Value flushedIfBits(const Point &p, Value x) {
  Type element = getElementTypeOrSelf(x.getType());
  Operation *op = x.getDefiningOp();
  return p.flushes() &&
                 (element.isF32() || element.isF64() || element.isBF16()) &&
                 isa_and_present<arith::BitcastOp, arith::SelectOp>(op)
             ? flushSubnormals(p.b, p.loc, x)
             : x;
}

static Value isNotZero(const Point &p, Value x) {
  // f16 is computed with in f32.
  if (getElementTypeOrSelf(x.getType()).isF16())
    x = convertFloat(p.b, p.loc, x, p.b.getF32Type());
  x = flushedIfBits(p, x);
  Value zero = numberOfType(p.b, p.loc, x.getType(), 0);
  if (isa<FloatType>(getElementTypeOrSelf(x.getType())))
    return p.compare(arith::CmpFPredicate::UNE, x, zero);
  return p.compare(arith::CmpIPredicate::ne, x, zero);
}

Value convert(const Point &p) {
  Value x = p.operands.front();
  Type from = p.elementType, to = p.resultType;
  if (from == to)
    return x;
  if (to.isInteger(1))
    return isNotZero(p, x);
  if (isa<FloatType>(from)) {
    if (isa<FloatType>(to))
      return p.flushes() ? convertAndFlush(p, x, to)
                         : convertFloat(p.b, p.loc, x, to);
    Value wide = convertFloat(p.b, p.loc, x, computeType(from));
    return floatToInteger(p, wide, cast<IntegerType>(to));
  }
  bool zeroExtends = from.isUnsignedInteger() || from.isInteger(1);
  if (isa<FloatType>(to)) {
    Type type = withLanesOf(computeType(to), x.getType());
    Value value = zeroExtends ? p.create<arith::UIToFPOp>(type, x)
                              : p.create<arith::SIToFPOp>(type, x);
    return convertFloat(p.b, p.loc, value, to);
  }
  unsigned fromWidth = from.getIntOrFloatBitWidth();
  unsigned toWidth = to.getIntOrFloatBitWidth();
  Type type = withLanesOf(valueType(to), x.getType());
  if (fromWidth == toWidth)
    return x;
  if (fromWidth > toWidth)
    return p.create<arith::TruncIOp>(type, x);
  if (zeroExtends)
    return p.create<arith::ExtUIOp>(type, x);
  return p.create<arith::ExtSIOp>(type, x);
}

Value bitcast(const Point &p) {
  Value x = p.operands.front();
  Type type = withLanesOf(valueType(p.resultType), x.getType());
  if (type == x.getType())
    return x;
  return p.create<arith::BitcastOp>(type, x);
}

/// Rounds the mantissa to nearest even in integer arithmetic, then sends what
/// leaves the narrower exponent range to infinity or zero. NaN stays NaN.
Value reducePrecision(const Point &p) {
  auto op = cast<stablehlo::ReducePrecisionOp>(p.op);
  Value x = p.operands.front();
  Type floats = x.getType();
  auto element = cast<FloatType>(getElementTypeOrSelf(floats));
  unsigned width = element.getWidth();
  unsigned mantissa = element.getFPMantissaWidth() - 1;
  unsigned exponent = width - 1 - mantissa;
  Type integers =
      withLanesOf(IntegerType::get(p.b.getContext(), width), floats);
  auto integer = [&](const APInt &value) { return p.integer(integers, value); };
  auto bit = [&](unsigned position) {
    return APInt::getOneBitSet(width, position);
  };
  Value bits = p.create<arith::BitcastOp>(integers, x);
  Value result = bits;
  unsigned kept = op.getMantissaBits();
  if (kept < mantissa) {
    unsigned dropped = mantissa - kept;
    Value last = p.create<arith::ShRUIOp>(bits, integer(APInt(width, dropped)));
    Value odd = p.create<arith::AndIOp>(last, integer(APInt(width, 1)));
    Value half = integer(bit(dropped - 1) - 1);
    Value bias = p.create<arith::AddIOp>(odd, half);
    Value rounded = p.create<arith::AddIOp>(bits, bias);
    result = p.create<arith::AndIOp>(
        rounded, integer(APInt::getHighBitsSet(width, width - dropped)));
  }
  unsigned keptExponent = op.getExponentBits();
  APInt infinity = APInt::getBitsSet(width, mantissa, width - 1);
  if (keptExponent < exponent) {
    uint64_t bias = (uint64_t(1) << (exponent - 1)) - 1;
    uint64_t newBias = (uint64_t(1) << (keptExponent - 1)) - 1;
    Value biased = p.create<arith::AndIOp>(result, integer(infinity));
    Value sign = p.create<arith::AndIOp>(result, integer(bit(width - 1)));
    Value largest = integer(APInt(width, bias + newBias).shl(mantissa));
    Value smallest = integer(APInt(width, bias - newBias).shl(mantissa));
    Value signedInfinity = p.create<arith::OrIOp>(sign, integer(infinity));
    result = p.select(p.compare(arith::CmpIPredicate::ugt, biased, largest),
                      signedInfinity, result);
    result = p.select(p.compare(arith::CmpIPredicate::ule, biased, smallest),
                      sign, result);
  }
  Value magnitude =
      p.create<arith::AndIOp>(bits, integer(APInt::getSignedMaxValue(width)));
  Value isNaN =
      p.compare(arith::CmpIPredicate::ugt, magnitude, integer(infinity));
  return p.create<arith::BitcastOp>(floats, p.select(isNaN, bits, result));
}

/// The remainder of f64 without a library. A divisor that is more than 52
/// binary places below the dividend is made 2^k times as large, so that 50 are
/// between them: the quotient cut to an integer then has at most 53 digits,
/// what it leaves is a multiple of the divisor's last place and less than the
/// divisor, so a fused multiply-add finds it exactly, and 42 rounds are enough.
static Value doubleRemainder(const Lanes &l, Value dividend, Value modulus) {
  OpBuilder &b = l.builder;
  const double infinity = std::numeric_limits<double>::infinity();
  Value zero = l.f64(0.0);
  Value x = l.abs(dividend), y = l.abs(modulus);
  Value valid = l.both(l.less(x, l.f64(infinity)), l.less(zero, y));
  Value divisor = l.select(valid, y, l.f64(1.0));
  auto exponentOf = [&](Value bits) { return l.shiftRight(bits, 52); };
  // The exponent as if a subnormal number had all digits.
  Value isSubnormal = l.less(divisor, l.f64(0x1p-1022));
  Value normal = l.select(isSubnormal, l.mul(divisor, l.f64(0x1p54)), divisor);
  Value digits = l.iand(l.bits(normal), l.i64((int64_t(1) << 52) - 1));
  Value exponent = exponentOf(l.bits(normal));
  exponent = l.select(isSubnormal, l.isub(exponent, l.i64(54)), exponent);
  auto loop = scf::WhileOp::create(
      b, l.loc, TypeRange(x.getType()), ValueRange(l.select(valid, x, zero)),
      [&](OpBuilder &, Location, ValueRange arguments) {
        Value isLeft = l.lessOrEqual(divisor, arguments.front());
        scf::ConditionOp::create(b, l.loc, l.any(isLeft), arguments.front());
      },
      [&](OpBuilder &, Location, ValueRange arguments) {
        Value rest = arguments.front();
        Value place = exponentOf(l.bits(rest));
        Value isFar = l.iless(l.i64(52), l.isub(place, exponent));
        Value near = l.isub(place, l.i64(50));
        near = l.select(l.iless(near, l.i64(1)), l.i64(1), near);
        Value larger = l.fromBits(l.either(digits, l.shiftLeft(near, 52)));
        Value by = l.select(isFar, larger, divisor);
        Value quotient = math::FloorOp::create(b, l.loc, l.div(rest, by));
        Value next = l.fma(l.neg(quotient), by, rest);
        // The quotient was rounded: it may be one unit too large.
        next = l.select(l.less(next, zero), l.add(next, by), next);
        // Lanes that are done stay as they are.
        next = l.select(l.lessOrEqual(divisor, rest), next, rest);
        scf::YieldOp::create(b, l.loc, ValueRange(next));
      });
  return l.select(valid, l.copySign(loop.getResult(0), dividend),
                  l.f64(std::numeric_limits<double>::quiet_NaN()));
}

/// The remainder of truncating division, exactly. Of f32 and narrower types in
/// f64: a quotient below 2^29 cut to an integer makes `x - q y` exact (24 bits
/// times 29 bits fit), so each round of the loop takes at least 28 bits off the
/// quotient. Of f64 by the C library, or without it as above.
Value floatRemainder(const Point &p) {
  OpBuilder &b = p.b;
  Location loc = p.loc;
  Type floats = p.operands.front().getType();
  Value dividend = p.operands[0], modulus = p.operands[1];
  if (p.flushes()) {
    dividend = flushSubnormals(b, loc, dividend);
    modulus = flushSubnormals(b, loc, modulus);
  }
  if (getElementTypeOrSelf(floats).isF64()) {
    Value rest =
        p.instructions.hasMathLibrary
            ? arith::RemFOp::create(b, loc, dividend, modulus).getResult()
            : doubleRemainder(Lanes(b, loc, floats, p.instructions), dividend,
                              modulus);
    return p.flushes() ? flushSubnormals(b, loc, rest) : rest;
  }
  Type wide = withLanesOf(b.getF64Type(), floats);
  auto number = [&](double value) { return numberOfType(b, loc, wide, value); };
  auto widen = [&](Value v) { return convertFloat(b, loc, v, b.getF64Type()); };
  Value x = math::AbsFOp::create(b, loc, widen(dividend));
  Value y = math::AbsFOp::create(b, loc, widen(modulus));
  Value infinity = number(std::numeric_limits<double>::infinity());
  Value xOk = p.compare(arith::CmpFPredicate::OLT, x, infinity);
  Value yOk = p.compare(arith::CmpFPredicate::OGT, y, number(0));
  Value valid = arith::AndIOp::create(b, loc, xOk, yOk);
  Value rest = p.select(valid, x, number(0));
  Value divisor = p.select(valid, y, number(1));
  auto isLeft = [&](Value r) -> Value {
    Value more = p.compare(arith::CmpFPredicate::OGE, r, divisor);
    if (!isa<VectorType>(more.getType()))
      return more;
    return vector::ReductionOp::create(b, loc, vector::CombiningKind::OR, more);
  };
  auto loop = scf::WhileOp::create(
      b, loc, TypeRange(wide), ValueRange(rest),
      [&](OpBuilder &, Location, ValueRange arguments) {
        Value r = arguments.front();
        scf::ConditionOp::create(b, loc, isLeft(r), r);
      },
      [&](OpBuilder &, Location, ValueRange arguments) {
        Value r = arguments.front();
        Value quotient = arith::DivFOp::create(b, loc, r, divisor);
        // Keep the leading 28 bits of the quotient, cut towards zero, or its
        // integer part if that is shorter.
        Type integers = withLanesOf(b.getI64Type(), wide);
        Value bits = arith::BitcastOp::create(b, loc, integers, quotient);
        Value cut = arith::AndIOp::create(
            b, loc, bits, p.integer(integers, APInt::getHighBitsSet(64, 39)));
        Value leading = arith::BitcastOp::create(b, loc, wide, cut);
        Value whole = math::FloorOp::create(b, loc, leading);
        Value product = arith::MulFOp::create(b, loc, whole, divisor);
        Value next = arith::SubFOp::create(b, loc, r, product);
        // The quotient was rounded: it may be one unit too large.
        Value negative = p.compare(arith::CmpFPredicate::OLT, next, number(0));
        Value raised = arith::AddFOp::create(b, loc, next, divisor);
        Value corrected = p.select(negative, raised, next);
        // Lanes that are done stay as they are.
        Value more = p.compare(arith::CmpFPredicate::OGE, r, divisor);
        scf::YieldOp::create(b, loc, ValueRange(p.select(more, corrected, r)));
      });
  Value magnitude =
      convertFloat(b, loc, loop.getResult(0), getElementTypeOrSelf(floats));
  Value signedRest = math::CopySignOp::create(b, loc, magnitude, dividend);
  Value nan =
      numberOfType(b, loc, floats, std::numeric_limits<double>::quiet_NaN());
  return p.select(valid, signedRest, nan);
}

} // namespace tenon::codegen
