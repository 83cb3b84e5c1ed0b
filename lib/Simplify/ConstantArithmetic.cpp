//===- ConstantArithmetic.cpp - Element-wise operations on constants ------===//
//
// A table from operations to functions of one element. Floats are computed in
// their own format, rounded once to nearest even. That is what a kernel does,
// also for the 16-bit formats, which it computes in f32 and rounds: f32 has
// more than twice their digits, so that the second rounding of a sum, product,
// quotient or root never changes the first.
//
//===----------------------------------------------------------------------===//

#include "ConstantArithmetic.h"

#include "tenon/Analysis/FloatArithmetic.h"
#include "tenon/Dialect/StableHLO/StableHLO.h"

#include "llvm/ADT/StringMap.h"
#include <cmath>
#include <variant>

using namespace mlir;
using namespace tenon::stablehlo;
using llvm::APFloat;
using llvm::APInt;

namespace tenon::simplify {
namespace {

/// One element. A boolean is an integer of one bit.
using Element = std::variant<APInt, APFloat>;
using Result = std::optional<Element>;
/// Computes one element of the result of `op`.
using Compute = Result (*)(Operation *op, ArrayRef<Element> operands);

bool isUnsigned(Operation *op) {
  Type element = getElementTypeOrSelf(op->getOperand(0).getType());
  return element.isUnsignedInteger() || element.isInteger(1);
}

/// What a kernel certainly agrees on, small numbers apart (see settleSmall):
/// not NaN.
Result settled(APFloat value) {
  if (value.isNaN())
    return std::nullopt;
  return Element(std::move(value));
}

const APInt *integers(ArrayRef<Element> operands, size_t index) {
  return std::get_if<APInt>(&operands[index]);
}
const APFloat &real(ArrayRef<Element> operands, size_t index) {
  return std::get<APFloat>(operands[index]);
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

Result add(Operation *op, ArrayRef<Element> operands) {
  if (const APInt *lhs = integers(operands, 0)) {
    const APInt &rhs = *integers(operands, 1);
    return Element(lhs->getBitWidth() == 1 ? *lhs | rhs : *lhs + rhs);
  }
  return settled(real(operands, 0) + real(operands, 1));
}

Result subtract(Operation *op, ArrayRef<Element> operands) {
  if (const APInt *lhs = integers(operands, 0))
    return Element(*lhs - *integers(operands, 1));
  return settled(real(operands, 0) - real(operands, 1));
}

Result multiply(Operation *op, ArrayRef<Element> operands) {
  if (const APInt *lhs = integers(operands, 0)) {
    const APInt &rhs = *integers(operands, 1);
    return Element(lhs->getBitWidth() == 1 ? *lhs & rhs : *lhs * rhs);
  }
  return settled(real(operands, 0) * real(operands, 1));
}

Result divide(Operation *op, ArrayRef<Element> operands) {
  if (const APInt *lhs = integers(operands, 0)) {
    const APInt &rhs = *integers(operands, 1);
    if (rhs.isZero() || (lhs->isMinSignedValue() && rhs.isAllOnes()))
      return std::nullopt;
    return Element(isUnsigned(op) ? lhs->udiv(rhs) : lhs->sdiv(rhs));
  }
  return settled(real(operands, 0) / real(operands, 1));
}

Result remainder(Operation *op, ArrayRef<Element> operands) {
  const APInt *lhs = integers(operands, 0);
  if (!lhs)
    return std::nullopt;
  const APInt &rhs = *integers(operands, 1);
  if (rhs.isZero() || (lhs->isMinSignedValue() && rhs.isAllOnes()))
    return std::nullopt;
  return Element(isUnsigned(op) ? lhs->urem(rhs) : lhs->srem(rhs));
}

template <bool larger>
Result choose(Operation *op, ArrayRef<Element> operands) {
  if (const APInt *lhs = integers(operands, 0)) {
    const APInt &rhs = *integers(operands, 1);
    bool less = isUnsigned(op) ? lhs->ult(rhs) : lhs->slt(rhs);
    return Element(less == larger ? rhs : *lhs);
  }
  const APFloat &lhs = real(operands, 0), &rhs = real(operands, 1);
  if (lhs.isNaN() || rhs.isNaN())
    return std::nullopt;
  if (lhs.isZero() && rhs.isZero() && lhs.isNegative() != rhs.isNegative())
    return std::nullopt;
  return Element((lhs < rhs) == larger ? rhs : lhs);
}

Result negate(Operation *op, ArrayRef<Element> operands) {
  if (const APInt *value = integers(operands, 0))
    return Element(-*value);
  return Element(llvm::neg(real(operands, 0)));
}

Result absolute(Operation *op, ArrayRef<Element> operands) {
  if (const APInt *value = integers(operands, 0))
    return Element(value->abs());
  return Element(llvm::abs(real(operands, 0)));
}

/// Correctly rounded: by the machine for f32 and f64, through f32 for less.
Result squareRoot(Operation *op, ArrayRef<Element> operands) {
  APFloat value = real(operands, 0);
  const llvm::fltSemantics &format = value.getSemantics();
  if (&format == &APFloat::IEEEdouble())
    return settled(APFloat(std::sqrt(value.convertToDouble())));
  bool inexact;
  value.convert(APFloat::IEEEsingle(), APFloat::rmNearestTiesToEven, &inexact);
  APFloat root(std::sqrt(value.convertToFloat()));
  root.convert(format, APFloat::rmNearestTiesToEven, &inexact);
  return settled(root);
}

template <APFloat::roundingMode mode>
Result toIntegral(Operation *op, ArrayRef<Element> operands) {
  APFloat value = real(operands, 0);
  if (value.isNaN())
    return std::nullopt;
  value.roundToIntegral(mode);
  return Element(value);
}

Result isFinite(Operation *op, ArrayRef<Element> operands) {
  return Element(APInt(1, real(operands, 0).isFinite()));
}

//===----------------------------------------------------------------------===//
// Bits
//===----------------------------------------------------------------------===//

Result bitAnd(Operation *op, ArrayRef<Element> operands) {
  return Element(*integers(operands, 0) & *integers(operands, 1));
}
Result bitOr(Operation *op, ArrayRef<Element> operands) {
  return Element(*integers(operands, 0) | *integers(operands, 1));
}
Result bitXor(Operation *op, ArrayRef<Element> operands) {
  return Element(*integers(operands, 0) ^ *integers(operands, 1));
}
Result bitNot(Operation *op, ArrayRef<Element> operands) {
  return Element(~*integers(operands, 0));
}

template <int direction> // -1 left, 0 right with sign, 1 right with zeros
Result shift(Operation *op, ArrayRef<Element> operands) {
  const APInt &value = *integers(operands, 0), &amount = *integers(operands, 1);
  if (amount.uge(value.getBitWidth()))
    return std::nullopt;
  return Element(direction < 0   ? value.shl(amount)
                 : direction > 0 ? value.lshr(amount)
                                 : value.ashr(amount));
}

Result populationCount(Operation *op, ArrayRef<Element> operands) {
  const APInt &value = *integers(operands, 0);
  return Element(APInt(value.getBitWidth(), value.popcount()));
}

Result leadingZeros(Operation *op, ArrayRef<Element> operands) {
  const APInt &value = *integers(operands, 0);
  return Element(APInt(value.getBitWidth(), value.countl_zero()));
}

//===----------------------------------------------------------------------===//
// Comparison, choice, conversion
//===----------------------------------------------------------------------===//

Result compare(Operation *operation, ArrayRef<Element> operands) {
  auto op = cast<CompareOp>(operation);
  int order; // -1, 0, 1; 2 if unordered
  if (const APInt *lhs = integers(operands, 0)) {
    const APInt &rhs = *integers(operands, 1);
    order = *lhs == rhs                                        ? 0
            : (isUnsigned(op) ? lhs->ult(rhs) : lhs->slt(rhs)) ? -1
                                                               : 1;
  } else {
    if (op.getCompareType() == ComparisonType::TOTALORDER)
      return std::nullopt;
    switch (real(operands, 0).compare(real(operands, 1))) {
    case APFloat::cmpLessThan:
      order = -1;
      break;
    case APFloat::cmpEqual:
      order = 0;
      break;
    case APFloat::cmpGreaterThan:
      order = 1;
      break;
    default:
      order = 2;
    }
  }
  bool holds = false;
  switch (op.getComparisonDirection()) {
  case ComparisonDirection::EQ:
    holds = order == 0;
    break;
  case ComparisonDirection::NE:
    holds = order != 0;
    break;
  case ComparisonDirection::LT:
    holds = order == -1;
    break;
  case ComparisonDirection::LE:
    holds = order == -1 || order == 0;
    break;
  case ComparisonDirection::GT:
    holds = order == 1;
    break;
  case ComparisonDirection::GE:
    holds = order == 1 || order == 0;
    break;
  }
  return Element(APInt(1, holds));
}

Result select(Operation *op, ArrayRef<Element> operands) {
  return integers(operands, 0)->isZero() ? operands[2] : operands[1];
}

Result convertInteger(const APInt &value, bool fromUnsigned, Type to) {
  if (to.isInteger(1))
    return Element(APInt(1, !value.isZero()));
  if (auto integer = dyn_cast<IntegerType>(to))
    return Element(fromUnsigned ? value.zextOrTrunc(integer.getWidth())
                                : value.sextOrTrunc(integer.getWidth()));
  auto format = dyn_cast<FloatType>(to);
  if (!format)
    return std::nullopt;
  APFloat converted(format.getFloatSemantics());
  auto status = converted.convertFromAPInt(value, !fromUnsigned,
                                           APFloat::rmNearestTiesToEven);
  // A kernel may go to 16 bits through f32; only exact values are sure to
  // agree.
  if (status != APFloat::opOK && format.getWidth() < 32)
    return std::nullopt;
  return Element(converted);
}

Result convert(Operation *op, ArrayRef<Element> operands) {
  Type from = getElementTypeOrSelf(op->getOperand(0).getType());
  Type to = getElementTypeOrSelf(op->getResult(0).getType());
  if (const APInt *value = integers(operands, 0))
    return convertInteger(*value, isUnsigned(op), to);
  APFloat value = real(operands, 0);
  if (value.isNaN())
    return std::nullopt;
  if (auto integer = dyn_cast<IntegerType>(to)) {
    if (integer.getWidth() == 1)
      return Element(APInt(1, !value.isZero()));
    llvm::APSInt converted(integer.getWidth(), integer.isUnsigned());
    bool exact;
    if (value.convertToInteger(converted, APFloat::rmTowardZero, &exact) ==
        APFloat::opInvalidOp)
      return std::nullopt;
    return Element(APInt(converted));
  }
  auto format = dyn_cast<FloatType>(to);
  auto source = dyn_cast<FloatType>(from);
  // Formats below 16 bits differ in what becomes of large numbers.
  if (!format || !source || format.getWidth() < 16 || source.getWidth() < 16)
    return std::nullopt;
  // From f64 a kernel may round twice on its way to 16 bits.
  bool inexact;
  value.convert(format.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                &inexact);
  if (inexact && source.getWidth() == 64 && format.getWidth() == 16)
    return std::nullopt;
  return settled(value);
}

Result bitcast(Operation *op, ArrayRef<Element> operands) {
  Type to = getElementTypeOrSelf(op->getResult(0).getType());
  APInt bits = integers(operands, 0) ? *integers(operands, 0)
                                     : real(operands, 0).bitcastToAPInt();
  if (!to.isIntOrFloat() || to.getIntOrFloatBitWidth() != bits.getBitWidth())
    return std::nullopt;
  if (auto format = dyn_cast<FloatType>(to))
    return Element(APFloat(format.getFloatSemantics(), bits));
  return Element(bits);
}

struct Row {
  StringLiteral operation;
  Compute compute;
};

constexpr Row rows[] = {
    {"stablehlo.abs", absolute},
    {"stablehlo.add", add},
    {"stablehlo.and", bitAnd},
    {"stablehlo.bitcast_convert", bitcast},
    {"stablehlo.ceil", toIntegral<APFloat::rmTowardPositive>},
    {"stablehlo.compare", compare},
    {"stablehlo.convert", convert},
    {"stablehlo.count_leading_zeros", leadingZeros},
    {"stablehlo.divide", divide},
    {"stablehlo.floor", toIntegral<APFloat::rmTowardNegative>},
    {"stablehlo.is_finite", isFinite},
    {"stablehlo.maximum", choose<true>},
    {"stablehlo.minimum", choose<false>},
    {"stablehlo.multiply", multiply},
    {"stablehlo.negate", negate},
    {"stablehlo.not", bitNot},
    {"stablehlo.or", bitOr},
    {"stablehlo.popcnt", populationCount},
    {"stablehlo.remainder", remainder},
    {"stablehlo.round_nearest_even", toIntegral<APFloat::rmNearestTiesToEven>},
    {"stablehlo.select", select},
    {"stablehlo.shift_left", shift<-1>},
    {"stablehlo.shift_right_arithmetic", shift<0>},
    {"stablehlo.shift_right_logical", shift<1>},
    {"stablehlo.sqrt", squareRoot},
    {"stablehlo.subtract", subtract},
    {"stablehlo.xor", bitXor},
};

/// The function of one element for an operation; null if it has none.
Compute lookUp(Operation *op) {
  static const llvm::StringMap<Compute> byName = [] {
    llvm::StringMap<Compute> map;
    for (const Row &row : rows)
      map[row.operation] = row.compute;
    return map;
  }();
  return byName.lookup(op->getName().getStringRef());
}

/// Reads the elements of a constant one by one; a splat or a scalar repeats.
class Reader {
public:
  explicit Reader(DenseElementsAttr values)
      : values(values), repeats(values.isSplat()),
        floating(isa<FloatType>(values.getElementType())) {}

  Element read(int64_t index) const {
    if (repeats)
      index = 0;
    if (floating)
      return Element(*(values.value_begin<APFloat>() + index));
    return Element(*(values.value_begin<APInt>() + index));
  }
  bool repeating() const { return repeats; }

private:
  DenseElementsAttr values;
  bool repeats, floating;
};

} // namespace

SmallVector<StringRef> foldedOperations() {
  return llvm::map_to_vector(
      rows, [](const Row &row) { return StringRef(row.operation); });
}

static void flush(APFloat &value) {
  if (value.isDenormal())
    value = APFloat::getZero(value.getSemantics(), value.isNegative());
}

/// Whether a result that was rounded to the smallest normal number is flushed:
/// it is, if it is smaller with all the digits of a normal one. `operands` are
/// computed with in a format that has digits and exponents for both.
static bool isFlushedBeforeRounding(Operation *op, Compute compute,
                                    ArrayRef<Element> operands,
                                    const APFloat &smallest) {
  bool inexact;
  auto widened = [&](APFloat value) {
    value.convert(APFloat::IEEEquad(), APFloat::rmNearestTiesToEven, &inexact);
    return value;
  };
  SmallVector<Element, 3> wide;
  for (const Element &operand : operands) {
    const auto *number = std::get_if<APFloat>(&operand);
    wide.push_back(number ? Element(widened(*number)) : operand);
  }
  Result exact = isa<ConvertOp>(op) ? wide.front() : compute(op, wide);
  const auto *number = exact ? std::get_if<APFloat>(&*exact) : nullptr;
  if (!number)
    return false;
  // bf16 is computed in f32.
  const llvm::fltSemantics &computed =
      &smallest.getSemantics() == &APFloat::BFloat() ? APFloat::IEEEsingle()
                                                     : smallest.getSemantics();
  constexpr int up = 64; // where rounding is that of normal numbers
  APFloat rounded = scalbn(*number, up, APFloat::rmNearestTiesToEven);
  rounded.convert(computed, APFloat::rmNearestTiesToEven, &inexact);
  APFloat limit = scalbn(widened(smallest), up, APFloat::rmNearestTiesToEven);
  limit.convert(computed, APFloat::rmNearestTiesToEven, &inexact);
  return llvm::abs(rounded) < llvm::abs(limit);
}

/// What a kernel makes of a small result of arithmetic, where that is certain:
/// subnormal ones that are kept may round twice on their way to 16 bits.
static Result settleSmall(Operation *op, Compute compute,
                          ArrayRef<Element> operands, APFloat value,
                          bool flushes) {
  if (!flushes && value.isDenormal())
    return std::nullopt;
  if (value.isDenormal() ||
      (flushes && value.isSmallestNormalized() &&
       isFlushedBeforeRounding(op, compute, operands, value)))
    value = APFloat::getZero(value.getSemantics(), value.isNegative());
  return Element(std::move(value));
}

DenseElementsAttr foldElementwise(Operation *op,
                                  ArrayRef<DenseElementsAttr> operands,
                                  Subnormals subnormals) {
  Compute compute = lookUp(op);
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!compute || !type || !type.getElementType().isIntOrFloat())
    return {};
  bool computes = isFloatArithmetic(op);
  auto flushes = [&](Type element) {
    return computes && subnormals == Subnormals::flush &&
           hasFlushedSubnormals(element);
  };
  SmallVector<Reader, 3> readers;
  bool splat = true;
  for (DenseElementsAttr operand : operands) {
    if (!operand.getElementType().isIntOrFloat())
      return {};
    splat &= readers.emplace_back(operand).repeating();
  }
  int64_t count = splat ? 1 : type.getNumElements();
  if (count > foldedElements || count == 0)
    return {};
  bool floating = isa<FloatType>(type.getElementType());
  SmallVector<APFloat> floats;
  SmallVector<APInt> integers;
  SmallVector<Element, 3> elements;
  for (int64_t index = 0; index < count; ++index) {
    elements.clear();
    for (auto [reader, operand] : llvm::zip_equal(readers, operands)) {
      elements.push_back(reader.read(index));
      if (flushes(operand.getElementType()))
        flush(std::get<APFloat>(elements.back()));
    }
    Result result = compute(op, elements);
    if (result && floating && computes)
      result = settleSmall(op, compute, elements, std::get<APFloat>(*result),
                           flushes(type.getElementType()));
    if (!result)
      return {};
    if (floating)
      floats.push_back(std::get<APFloat>(*result));
    else
      integers.push_back(std::get<APInt>(*result));
  }
  return floating ? DenseElementsAttr::get(type, floats)
                  : DenseElementsAttr::get(type, integers);
}

} // namespace tenon::simplify
