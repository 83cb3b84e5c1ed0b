//===- PointwiseOperations.cpp - Element-wise operations on SSA values ----===//
//
// One line per operation in the table at the end; conversions are in
// PointwiseConversions.cpp.
//
//===----------------------------------------------------------------------===//

#include "tenon/Codegen/Loops/PointwiseOperations.h"

#include "PointwiseEmission.h"

#include "tenon/Dialect/StableHLO/StableHLO.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace tenon::codegen {

//===----------------------------------------------------------------------===//
// Types and constants
//===----------------------------------------------------------------------===//

Type valueType(Type elementType) {
  if (auto integer = dyn_cast<IntegerType>(elementType))
    return IntegerType::get(integer.getContext(), integer.getWidth());
  return elementType;
}

Type storageType(Type elementType) {
  if (elementType.isInteger(1))
    return IntegerType::get(elementType.getContext(), 8);
  return valueType(elementType);
}

Type computeType(Type elementType) {
  if (stablehlo::isFloatOf16Bits(elementType))
    return Float32Type::get(elementType.getContext());
  return elementType;
}

Type withLanesOf(Type type, Type like) {
  if (auto vector = dyn_cast<VectorType>(like))
    return VectorType::get(vector.getShape(), type);
  return type;
}

static Value constantOfType(OpBuilder &b, Location loc, Type type,
                            Attribute element) {
  if (auto vector = dyn_cast<VectorType>(type))
    return arith::ConstantOp::create(b, loc,
                                     DenseElementsAttr::get(vector, element));
  return arith::ConstantOp::create(b, loc, cast<TypedAttr>(element));
}

Value numberOfType(OpBuilder &b, Location loc, Type type, double value) {
  Type element = getElementTypeOrSelf(type);
  if (isa<FloatType>(element))
    return constantOfType(b, loc, type, b.getFloatAttr(element, value));
  return constantOfType(b, loc, type,
                        b.getIntegerAttr(element, int64_t(value)));
}

Value Point::integer(Type type, const APInt &value) const {
  return constantOfType(b, loc, type,
                        b.getIntegerAttr(getElementTypeOrSelf(type), value));
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

namespace {

/// An operation that is one arith operation per class of element type.
template <typename Float, typename Signed, typename Unsigned, typename Boolean>
Value binary(const Point &p) {
  Value x = p.operands[0], y = p.operands[1];
  if (p.isFloat())
    return Float::create(p.b, p.loc, x, y);
  if (p.isBoolean())
    return Boolean::create(p.b, p.loc, x, y);
  if (p.isUnsigned())
    return Unsigned::create(p.b, p.loc, x, y);
  return Signed::create(p.b, p.loc, x, y);
}

template <typename Integer>
Value bitwise(const Point &p) {
  return Integer::create(p.b, p.loc, p.operands[0], p.operands[1]);
}

template <typename Op>
Value unaryFloat(const Point &p) {
  return Op::create(p.b, p.loc, p.operands[0]);
}

template <typename Op>
Value unaryInteger(const Point &p) {
  return Op::create(p.b, p.loc, p.operands[0]);
}

/// The bits of a float, changed; no conversion may flush what is only moved.
template <typename Change>
Value changeBits(const Point &p, Value x, Change change) {
  unsigned width = getElementTypeOrSelf(x.getType()).getIntOrFloatBitWidth();
  Type integers =
      withLanesOf(IntegerType::get(p.b.getContext(), width), x.getType());
  Value bits = p.create<arith::BitcastOp>(integers, x);
  return p.create<arith::BitcastOp>(x.getType(),
                                    change(bits, APInt::getSignMask(width)));
}

bool isBf16(Value value) {
  return getElementTypeOrSelf(value.getType()).isBF16();
}

/// Whether the sign is changed in the bits, as nothing else keeps the others.
bool changesSignInBits(const Point &p) {
  Value x = p.operands[0];
  return isBf16(x) || (p.instructions.signsFlush &&
                       getElementTypeOrSelf(x.getType()).isF32());
}

Value absolute(const Point &p) {
  Value x = p.operands[0];
  if (changesSignInBits(p))
    return changeBits(p, x, [&](Value bits, const APInt &sign) {
      return p.create<arith::AndIOp>(bits, p.integer(bits.getType(), ~sign));
    });
  if (p.isFloat())
    return p.create<math::AbsFOp>(x);
  return p.create<math::AbsIOp>(x);
}

Value negate(const Point &p) {
  Value x = p.operands[0];
  if (changesSignInBits(p))
    return changeBits(p, x, [&](Value bits, const APInt &sign) {
      return p.create<arith::XOrIOp>(bits, p.integer(bits.getType(), sign));
    });
  if (p.isFloat())
    return p.create<arith::NegFOp>(x);
  return p.create<arith::SubIOp>(p.number(0), p.operands[0]);
}

Value complement(const Point &p) {
  Type type = p.operands[0].getType();
  Value ones = p.integer(
      type,
      APInt::getAllOnes(getElementTypeOrSelf(type).getIntOrFloatBitWidth()));
  return p.create<arith::XOrIOp>(p.operands[0], ones);
}

Value sign(const Point &p) {
  Value x = p.operands[0], zero = p.number(0);
  if (p.isFloat()) {
    Value one = p.create<math::CopySignOp>(p.number(1), x);
    // Zeros and NaN are returned as they are; what counts as zero becomes one.
    Value keep = p.compare(arith::CmpFPredicate::UEQ, x, zero);
    if (p.flushes())
      x = p.create<arith::AddFOp>(x, x);
    return p.select(keep, x, one);
  }
  Value positive = p.select(p.compare(arith::CmpIPredicate::sgt, x, zero),
                            p.number(1), zero);
  return p.select(p.compare(arith::CmpIPredicate::slt, x, zero), p.number(-1),
                  positive);
}

struct Division {
  Value byZero;  // the divisor is zero
  Value divisor; // with zeros, and -1 under the smallest integer, made 1
};

Division safeDivision(const Point &p) {
  Value x = p.operands[0], y = p.operands[1];
  Value byZero = p.compare(arith::CmpIPredicate::eq, y, p.number(0));
  Value unsafe = byZero;
  if (!p.isUnsigned()) {
    Type type = x.getType();
    unsigned width = getElementTypeOrSelf(type).getIntOrFloatBitWidth();
    Value smallest = p.integer(type, APInt::getSignedMinValue(width));
    Value overflow = p.create<arith::AndIOp>(
        p.compare(arith::CmpIPredicate::eq, x, smallest),
        p.compare(arith::CmpIPredicate::eq, y, p.number(-1)));
    unsafe = p.create<arith::OrIOp>(unsafe, overflow);
  }
  return {byZero, p.select(unsafe, p.number(1), y)};
}

Value divide(const Point &p) {
  Value x = p.operands[0];
  if (p.isFloat())
    return p.create<arith::DivFOp>(x, p.operands[1]);
  Division safe = safeDivision(p);
  Value quotient = p.isUnsigned() ? p.create<arith::DivUIOp>(x, safe.divisor)
                                  : p.create<arith::DivSIOp>(x, safe.divisor);
  return p.select(safe.byZero, p.number(-1), quotient);
}

Value remainder(const Point &p) {
  Value x = p.operands[0];
  if (p.isFloat())
    return floatRemainder(p);
  Division safe = safeDivision(p);
  Value rest = p.isUnsigned() ? p.create<arith::RemUIOp>(x, safe.divisor)
                              : p.create<arith::RemSIOp>(x, safe.divisor);
  return p.select(safe.byZero, x, rest);
}

template <typename Shift>
Value shift(const Point &p) {
  Value x = p.operands[0], amount = p.operands[1];
  unsigned bits = getElementTypeOrSelf(x.getType()).getIntOrFloatBitWidth();
  Value inside = p.compare(arith::CmpIPredicate::ult, amount, p.number(bits));
  // Past the width an arithmetic shift leaves the sign everywhere.
  Value last = p.number(bits - 1);
  if constexpr (std::is_same_v<Shift, arith::ShRSIOp>)
    return p.create<Shift>(x, p.select(inside, amount, last));
  // A choice of amounts would be taken for what GPUs do with those past the
  // width; but LLVM only looks at 32 digits of them.
  Value safe = p.create<arith::AndIOp>(amount, last);
  return p.select(inside, p.create<Shift>(x, safe), p.number(0));
}

Value power(const Point &p) {
  if (p.isFloat())
    return p.math(MathFunction::pow);
  // Square and multiply over the bits of the exponent; a negative exponent
  // gives the integer part of the reciprocal, which of zero is -1, as in
  // divide.
  Value base = p.operands[0], exponent = p.operands[1];
  Value result = p.number(1), one = p.number(1), zero = p.number(0);
  Value square = base, bits = exponent;
  unsigned width = getElementTypeOrSelf(base.getType()).getIntOrFloatBitWidth();
  for (unsigned bit = 0; bit < width; ++bit) {
    Value odd = p.compare(arith::CmpIPredicate::ne,
                          p.create<arith::AndIOp>(bits, one), zero);
    Value product = p.create<arith::MulIOp>(result, square);
    result = p.select(odd, product, result);
    square = p.create<arith::MulIOp>(square, square);
    bits = p.create<arith::ShRUIOp>(bits, one);
  }
  if (p.isUnsigned())
    return result;
  Value negative = p.compare(arith::CmpIPredicate::slt, exponent, zero);
  Value isOne = p.compare(arith::CmpIPredicate::eq, base, one);
  Value isMinusOne = p.compare(arith::CmpIPredicate::eq, base, p.number(-1));
  // (-1)^n from the positive powers: the low bit of n decides.
  Value odd = p.compare(arith::CmpIPredicate::ne,
                        p.create<arith::AndIOp>(exponent, one), zero);
  Value alternating = p.select(odd, p.number(-1), one);
  Value isZero = p.compare(arith::CmpIPredicate::eq, base, zero);
  Value others = p.select(isZero, p.number(-1), zero);
  Value reciprocal =
      p.select(isOne, one, p.select(isMinusOne, alternating, others));
  return p.select(negative, reciprocal, result);
}

Value clamp(const Point &p) {
  Value low = p.operands[0], x = p.operands[1], high = p.operands[2];
  if (p.isFloat()) {
    Value raised = p.create<arith::MaximumFOp>(x, low);
    return p.create<arith::MinimumFOp>(raised, high);
  }
  if (p.isUnsigned() || p.isBoolean()) {
    Value raised = p.create<arith::MaxUIOp>(x, low);
    return p.create<arith::MinUIOp>(raised, high);
  }
  Value raised = p.create<arith::MaxSIOp>(x, low);
  return p.create<arith::MinSIOp>(raised, high);
}

Value choose(const Point &p) {
  return p.select(p.operands[0], p.operands[1], p.operands[2]);
}

Value isFinite(const Point &p) {
  Value magnitude = p.create<math::AbsFOp>(p.operands[0]);
  Value infinity = p.number(std::numeric_limits<double>::infinity());
  return p.compare(arith::CmpFPredicate::OLT, magnitude, infinity);
}

Value roundAwayFromZero(const Point &p) {
  // The fraction of |x| is exact, so comparing it with a half is, too.
  Value x = p.operands[0];
  Value magnitude = p.create<math::AbsFOp>(x);
  Value down = p.create<math::FloorOp>(magnitude);
  Value fraction = p.create<arith::SubFOp>(magnitude, down);
  Value up = p.create<arith::AddFOp>(down, p.number(1));
  Value isUp = p.compare(arith::CmpFPredicate::OGE, fraction, p.number(0.5));
  return p.create<math::CopySignOp>(p.select(isUp, up, down), x);
}

Value square(const Point &p) {
  Value x = p.operands[0];
  if (p.isFloat())
    return p.create<arith::MulFOp>(x, x);
  return p.create<arith::MulIOp>(x, x);
}

template <MathFunction which>
Value function(const Point &p) {
  return p.math(which);
}

//===----------------------------------------------------------------------===//
// Comparison
//===----------------------------------------------------------------------===//

struct Predicates {
  arith::CmpFPredicate ofFloats;
  arith::CmpIPredicate ofSigned;
  arith::CmpIPredicate ofUnsigned;
};

/// By ComparisonDirection: EQ, NE, GE, GT, LE, LT.
constexpr Predicates predicates[] = {
    {arith::CmpFPredicate::OEQ, arith::CmpIPredicate::eq,
     arith::CmpIPredicate::eq},
    {arith::CmpFPredicate::UNE, arith::CmpIPredicate::ne,
     arith::CmpIPredicate::ne},
    {arith::CmpFPredicate::OGE, arith::CmpIPredicate::sge,
     arith::CmpIPredicate::uge},
    {arith::CmpFPredicate::OGT, arith::CmpIPredicate::sgt,
     arith::CmpIPredicate::ugt},
    {arith::CmpFPredicate::OLE, arith::CmpIPredicate::sle,
     arith::CmpIPredicate::ule},
    {arith::CmpFPredicate::OLT, arith::CmpIPredicate::slt,
     arith::CmpIPredicate::ult},
};

/// Integers in the total order of floats: negative numbers have their magnitude
/// bits flipped.
Value totalOrderKey(const Point &p, Value x) {
  Type type = x.getType();
  unsigned width = getElementTypeOrSelf(type).getIntOrFloatBitWidth();
  Type integers = withLanesOf(IntegerType::get(type.getContext(), width), type);
  Value bits = p.create<arith::BitcastOp>(integers, x);
  Value shift = p.integer(integers, APInt(width, width - 1));
  Value sign = p.create<arith::ShRSIOp>(bits, shift);
  Value magnitude = p.integer(integers, APInt::getSignedMaxValue(width));
  Value flip = p.create<arith::AndIOp>(sign, magnitude);
  return p.create<arith::XOrIOp>(bits, flip);
}

/// Whether a choice between the operands follows. The code generator would make
/// one instruction of both, which flushes what it chooses.
bool choosesOperand(stablehlo::CompareOp op) {
  return llvm::any_of(op->getUsers(), [&](Operation *user) {
    return isa<stablehlo::SelectOp>(user) &&
           llvm::any_of(
               ArrayRef<Value>{user->getOperand(1), user->getOperand(2)},
               [&](Value chosen) {
                 return chosen == op.getLhs() || chosen == op.getRhs();
               });
  });
}

Value compareElements(const Point &p) {
  auto op = cast<stablehlo::CompareOp>(p.op);
  const Predicates &row =
      predicates[static_cast<unsigned>(op.getComparisonDirection())];
  Value x = p.operands[0], y = p.operands[1];
  if (!p.isFloat())
    return p.compare(
        p.isUnsigned() || p.isBoolean() ? row.ofUnsigned : row.ofSigned, x, y);
  if (op.getCompareType() == stablehlo::ComparisonType::TOTALORDER)
    return p.compare(row.ofSigned, totalOrderKey(p, x), totalOrderKey(p, y));
  if (p.flushes() && choosesOperand(op)) {
    x = flushSubnormals(p.b, p.loc, x);
    y = flushSubnormals(p.b, p.loc, y);
  }
  return p.compare(row.ofFloats, flushedIfBits(p, x), flushedIfBits(p, y));
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

enum Elements : unsigned {
  floats = 1,
  integers = 2,
  booleans = 4,
  numbers = floats | integers,
  bits = integers | booleans,
  all = floats | integers | booleans,
};

struct Rule {
  Value (*emit)(const Point &);
  unsigned elements;
  /// Whether 16-bit floats are extended before and rounded after.
  bool widens = true;
};

const llvm::StringMap<Rule> &rules() {
  using namespace arith;
  static const llvm::StringMap<Rule> table = {
      {"stablehlo.abs", {absolute, numbers}},
      {"stablehlo.add", {binary<AddFOp, AddIOp, AddIOp, OrIOp>, all}},
      {"stablehlo.and", {bitwise<AndIOp>, bits}},
      {"stablehlo.atan2", {function<MathFunction::atan2>, floats}},
      {"stablehlo.bitcast_convert", {bitcast, all, false}},
      {"stablehlo.cbrt", {function<MathFunction::cbrt>, floats}},
      {"stablehlo.ceil", {unaryFloat<math::CeilOp>, floats}},
      {"stablehlo.clamp", {clamp, all}},
      {"stablehlo.compare", {compareElements, all}},
      {"stablehlo.convert", {convert, all, false}},
      {"stablehlo.cosine", {function<MathFunction::cos>, floats}},
      {"stablehlo.count_leading_zeros",
       {unaryInteger<math::CountLeadingZerosOp>, integers}},
      {"stablehlo.divide", {divide, numbers}},
      {"stablehlo.exponential", {function<MathFunction::exp>, floats}},
      {"stablehlo.exponential_minus_one",
       {function<MathFunction::expm1>, floats}},
      {"stablehlo.floor", {unaryFloat<math::FloorOp>, floats}},
      {"stablehlo.is_finite", {isFinite, floats}},
      {"stablehlo.log", {function<MathFunction::log>, floats}},
      {"stablehlo.log_plus_one", {function<MathFunction::log1p>, floats}},
      {"stablehlo.logistic", {function<MathFunction::logistic>, floats}},
      {"stablehlo.maximum", {binary<MaximumFOp, MaxSIOp, MaxUIOp, OrIOp>, all}},
      {"stablehlo.minimum",
       {binary<MinimumFOp, MinSIOp, MinUIOp, AndIOp>, all}},
      {"stablehlo.multiply", {binary<MulFOp, MulIOp, MulIOp, AndIOp>, all}},
      {"stablehlo.negate", {negate, numbers}},
      {"stablehlo.not", {complement, bits}},
      {"stablehlo.or", {bitwise<OrIOp>, bits}},
      {"stablehlo.popcnt", {unaryInteger<math::CtPopOp>, integers}},
      {"stablehlo.power", {power, numbers}},
      {"stablehlo.reduce_precision", {reducePrecision, floats, false}},
      {"stablehlo.remainder", {remainder, numbers}},
      {"stablehlo.round_nearest_afz", {roundAwayFromZero, floats}},
      {"stablehlo.round_nearest_even", {unaryFloat<math::RoundEvenOp>, floats}},
      {"stablehlo.rsqrt", {function<MathFunction::rsqrt>, floats}},
      {"stablehlo.select", {choose, all, false}},
      {"stablehlo.shift_left", {shift<ShLIOp>, integers}},
      {"stablehlo.shift_right_arithmetic", {shift<ShRSIOp>, integers}},
      {"stablehlo.shift_right_logical", {shift<ShRUIOp>, integers}},
      {"stablehlo.sign", {sign, numbers}},
      {"stablehlo.sine", {function<MathFunction::sin>, floats}},
      {"stablehlo.sqrt", {unaryFloat<math::SqrtOp>, floats}},
      {"stablehlo.subtract", {binary<SubFOp, SubIOp, SubIOp, XOrIOp>, all}},
      {"stablehlo.tan", {function<MathFunction::tan>, floats}},
      {"stablehlo.tanh", {function<MathFunction::tanh>, floats}},
      {"stablehlo.xor", {bitwise<XOrIOp>, bits}},
      {"chlo.erf", {function<MathFunction::erf>, floats}},
      {"chlo.erfc", {function<MathFunction::erfc>, floats}},
      {"chlo.erf_inv", {function<MathFunction::erfInv>, floats}},
      {"chlo.square", {square, numbers}},
  };
  return table;
}

const Rule *ruleFor(Operation *op) {
  auto found = rules().find(op->getName().getStringRef());
  return found == rules().end() ? nullptr : &found->second;
}

unsigned classOf(Type element) {
  if (element.isF32() || element.isF64() ||
      stablehlo::isFloatOf16Bits(element))
    return floats;
  if (element.isInteger(1))
    return booleans;
  auto integer = dyn_cast<IntegerType>(element);
  return integer && integer.getWidth() % 8 == 0 && integer.getWidth() <= 64
             ? integers
             : 0;
}

/// Whether `value` is a constant that leaves the other operand of `op` alone,
/// but for its sign, or that is flushed itself: the code generator computes
/// with constants as they stand.
bool leavesAlone(Operation *op, Value value) {
  while (auto broadcast = value.getDefiningOp<stablehlo::BroadcastInDimOp>())
    value = broadcast.getOperand();
  DenseElementsAttr constant;
  if (!matchPattern(value, m_Constant(&constant)) || !constant.isSplat() ||
      !isa<FloatType>(constant.getElementType()))
    return false;
  APFloat number = constant.getSplatValue<APFloat>();
  if (number.isDenormal())
    return true;
  if (isa<stablehlo::AddOp, stablehlo::SubtractOp>(op))
    return number.isZero();
  if (isa<stablehlo::MultiplyOp, stablehlo::DivideOp>(op))
    return llvm::abs(number).convertToDouble() == 1;
  return isa<stablehlo::MaximumOp, stablehlo::MinimumOp>(op) &&
         number.isInfinity();
}

/// Whether the code generator may hand on an operand instead of computing.
bool mayFold(Operation *op) {
  if (op->getNumOperands() != 2)
    return false;
  Value x = op->getOperand(0), y = op->getOperand(1);
  return leavesAlone(op, x) || leavesAlone(op, y) ||
         (x == y && isa<stablehlo::MaximumOp, stablehlo::MinimumOp>(op));
}

/// The operand whose element type says how to compute.
Value leadingOperand(Operation *op) {
  return op->getOperand(isa<stablehlo::SelectOp>(op) ? 1 : 0);
}

} // namespace

bool isPointwise(Operation *op) { return ruleFor(op) != nullptr; }

LogicalResult checkPointwise(Operation *op) {
  const Rule *rule = ruleFor(op);
  for (Value value : {leadingOperand(op), Value(op->getResult(0))}) {
    Type element = getElementTypeOrSelf(value.getType());
    bool isOperand = value == leadingOperand(op);
    if (!(classOf(element) & (isOperand ? rule->elements : unsigned(all))))
      return op->emitOpError()
             << "has no code for elements of type " << element;
  }
  auto bitcastOp = dyn_cast<stablehlo::BitcastConvertOp>(op);
  if (bitcastOp &&
      getElementTypeOrSelf(bitcastOp.getOperand().getType())
              .getIntOrFloatBitWidth() !=
          getElementTypeOrSelf(bitcastOp.getType()).getIntOrFloatBitWidth())
    return op->emitOpError("between element types of different width is not "
                           "element-wise");
  return success();
}

Value emitPointwise(OpBuilder &b, Location loc, Operation *op,
                    ValueRange operands, const Instructions &instructions) {
  const Rule *rule = ruleFor(op);
  assert(rule && "not an element-wise operation");
  Type element = getElementTypeOrSelf(leadingOperand(op).getType());
  Type result = getElementTypeOrSelf(op->getResult(0).getType());
  SmallVector<Value> values(operands.begin(), operands.end());
  // Magnitudes and signs of bf16 are bits, and so is the total order, in which
  // NaN has a sign that a GPU does not widen.
  auto compare = dyn_cast<stablehlo::CompareOp>(op);
  bool seesBits =
      (element.isBF16() && isa<stablehlo::AbsOp, stablehlo::NegateOp>(op)) ||
      (compare &&
       compare.getCompareType() == stablehlo::ComparisonType::TOTALORDER);
  Type computed = rule->widens && !seesBits ? computeType(element) : element;
  // Accumulators of reductions are wide already and stay so.
  bool rounds = computed != element &&
                getElementTypeOrSelf(values.front().getType()) == element;
  if (rounds)
    for (Value &value : values)
      if (getElementTypeOrSelf(value.getType()) == element)
        value = widenOperand(b, loc, op, value, computed, instructions);
  if (instructions.flushes(element) && isFloatArithmetic(op) &&
      hasFlushedSubnormals(element) && mayFold(op))
    for (Value &value : values)
      value = flushSubnormals(b, loc, value);
  Point point{b, loc, op, values, computed, result, instructions};
  Value value = rule->emit(point);
  if (rounds && isa<FloatType>(result))
    value = convertFloat(b, loc, value, result);
  return value;
}

} // namespace tenon::codegen
