//===- VerifyElementwise.cpp - Constraints of elementwise operations -----===//
//
// The verifiers of operations that look at one position at a time, and of
// constant and bitcast_convert. Labels are the constraint numbers of the
// StableHLO specification.
//
//===----------------------------------------------------------------------===//

#include "tenon/Dialect/StableHLO/StableHLO.h"
#include "tenon/Dialect/StableHLO/VerifyConditions.h"
#include "tenon/Support/CheckedArithmetic.h"

#include "mlir/Dialect/Quant/IR/QuantTypes.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::stablehlo;

// These have one type for operands and result, which the trait CompatibleTypes
// checks:
//   add_c1 and_c1 atan2_c1 cbrt_c1 ceil_c1 cosine_c1 count_leading_zeros_c1
//   divide_c1 exponential_c1 exponential_minus_one_c1 floor_c1 log_c1
//   log_plus_one_c1 logistic_c1 maximum_c1 minimum_c1 multiply_c1 negate_c1
//   not_c1 or_c1 popcnt_c1 power_c1 remainder_c1 round_nearest_afz_c1
//   round_nearest_even_c1 rsqrt_c1 shift_left_c1 shift_right_arithmetic_c1
//   shift_right_logical_c1 sign_c1 sine_c1 sqrt_c1 subtract_c1 tan_c1 tanh_c1
//   xor_c1
// and these one shape, which the trait CompatibleShapes checks:
//   abs_c1 complex_c2 imag_c1 real_c1

/// The type of the parts of a complex element; any other type unchanged.
static Type partType(Type element) {
  auto complex = dyn_cast<ComplexType>(element);
  return complex ? complex.getElementType() : element;
}

static LogicalResult checkPart(Operation *op) {
  Type operand = op->getOperand(0).getType();
  Type result = op->getResult(0).getType();
  Type expected = partType(baselineElementTypeOf(operand));
  if (baselineElementTypeOf(result) == expected)
    return success();
  return op->emitOpError() << "'result' has element type "
                           << elementTypeOf(result) << ", expected " << expected
                           << " for elements of type "
                           << elementTypeOf(operand);
}

LogicalResult AbsOp::verify() {
  // abs_c2
  return checkPart(*this);
}

LogicalResult RealOp::verify() {
  // real_c2
  return checkPart(*this);
}

LogicalResult ImagOp::verify() {
  // imag_c2
  return checkPart(*this);
}

LogicalResult ComplexOp::verify() {
  Type lhs = getLhs().getType();
  // complex_c1
  if (failed(checkSameType(*this, "lhs", lhs, "rhs", getRhs().getType())))
    return failure();
  // complex_c3
  Type expected = ComplexType::get(elementTypeOf(lhs));
  Type result = elementTypeOf(getResult().getType());
  if (result != expected)
    return emitOpError() << "'result' has element type " << result
                         << ", expected " << expected;
  return success();
}

// convert_c1 and is_finite_c1 are the trait CompatibleShapes; those operations
// have no verifier of their own.

LogicalResult AddOp::verify() {
  // add_c2, add_c3 and add_c4 are the trait CompatibleTypes: types agree if all
  // are quantized, and in what they store and stand for.
  auto axisOf = [](Value value) -> std::optional<int32_t> {
    auto perAxis = dyn_cast<quant::UniformQuantizedPerAxisType>(
        elementTypeOf(value.getType()));
    return perAxis ? std::optional(perAxis.getQuantizedDimension())
                   : std::nullopt;
  };
  std::optional<int32_t> lhs = axisOf(getLhs()), rhs = axisOf(getRhs());
  std::optional<int32_t> result = axisOf(getResult());
  // add_c5
  if ((lhs || rhs) != result.has_value())
    return emitOpError() << "element types are "
                         << elementTypeOf(getLhs().getType()) << ", "
                         << elementTypeOf(getRhs().getType()) << " and "
                         << elementTypeOf(getResult().getType())
                         << ", expected 'result' to be quantized per axis if "
                            "and only if an operand is";
  auto checkAxis = [&](Subject name,
                       std::optional<int32_t> axis) -> LogicalResult {
    if (!axis || axis == result)
      return success();
    return emitOpError() << name << " is quantized along dimension " << *axis
                         << " and 'result' along dimension " << *result
                         << ", expected the same";
  };
  // add_c6
  if (failed(checkAxis("lhs", lhs)))
    return failure();
  // add_c7
  return checkAxis("rhs", rhs);
}

LogicalResult ConstantOp::verify() {
  // constant_c1
  Type value = getValue().getType(), output = getOutput().getType();
  if (auto quantized = dyn_cast<quant::QuantizedType>(elementTypeOf(output))) {
    // A quantized constant is written with its storage type.
    if (failed(checkSameShape(*this, "value", value, "output", output)))
      return failure();
    if (bitsOf(elementTypeOf(value)) != bitsOf(quantized))
      return emitOpError() << "'value' has element type "
                           << elementTypeOf(value) << ", expected "
                           << quantized.getStorageType()
                           << ", which stores 'output'";
    return success();
  }
  return checkSameType(*this, "value", value, "output", output);
}

LogicalResult SelectOp::verify() {
  // select_c1
  Type onTrue = getOnTrue().getType();
  if (!shapeOf(getPred()).empty() &&
      failed(checkSameShape(*this, "pred", getPred().getType(), "on_true",
                            onTrue)))
    return failure();
  // select_c2
  if (failed(checkSameBaselineType(*this, "on_true", onTrue, "on_false",
                                   getOnFalse().getType())))
    return failure();
  return checkSameBaselineType(*this, "on_true", onTrue, "result",
                               getResult().getType());
}

LogicalResult ClampOp::verify() {
  Type operand = getOperand().getType();
  Type min = getMin().getType(), max = getMax().getType();
  // clamp_c1
  if (!shapeOf(min).empty() &&
      failed(checkSameShape(*this, "min", min, "operand", operand)))
    return failure();
  // clamp_c2
  if (!shapeOf(max).empty() &&
      failed(checkSameShape(*this, "max", max, "operand", operand)))
    return failure();
  // clamp_c3
  if (failed(checkSameBaselineElementType(*this, "min", min, "operand",
                                          operand)) ||
      failed(
          checkSameBaselineElementType(*this, "max", max, "operand", operand)))
    return failure();
  // clamp_c4
  return checkSameBaselineType(*this, "operand", operand, "result",
                               getResult().getType());
}

LogicalResult ReducePrecisionOp::verify() {
  // reduce_precision_c1 is the trait CompatibleTypes.
  // reduce_precision_c2
  if (failed(
          checkAtLeast(*this, "exponent_bits", int32_t(getExponentBits()), 1)))
    return failure();
  // reduce_precision_c3
  return checkAtLeast(*this, "mantissa_bits", int32_t(getMantissaBits()), 0);
}

/// The comparison types that values of an element type allow, for messages.
static StringRef allowedComparisons(Type element) {
  if (isa<FloatType>(element))
    return "FLOAT or TOTALORDER";
  if (isa<ComplexType>(element))
    return "FLOAT";
  if (element.isInteger(1) || element.isUnsignedInteger())
    return "UNSIGNED";
  return "SIGNED";
}

LogicalResult CompareOp::verify() {
  Type lhs = getLhs().getType(), rhs = getRhs().getType();
  // compare_c1
  if (failed(checkSameBaselineElementType(*this, "lhs", lhs, "rhs", rhs)))
    return failure();
  // compare_c2 is the trait CompatibleShapes.
  // compare_c3
  std::optional<ComparisonType> type = getCompareType();
  Type element = elementTypeOf(lhs);
  if (!type || *type == ComparisonType::NOTYPE ||
      isa<quant::QuantizedType>(element))
    return success();
  StringRef found = stringifyComparisonType(*type);
  StringRef allowed = allowedComparisons(element);
  SmallVector<StringRef> names;
  allowed.split(names, " or ");
  if (!llvm::is_contained(names, found))
    return emitOpError() << "'compare_type' is " << found << ", expected "
                         << allowed << " for elements of type " << element;
  return success();
}

LogicalResult BitcastConvertOp::verify() {
  Type operand = getOperand().getType(), result = getResult().getType();
  Type from = elementTypeOf(operand), to = elementTypeOf(result);
  // bitcast_convert_c2
  if (isa<ComplexType>(from) != isa<ComplexType>(to))
    return emitOpError() << "converts from " << from << " to " << to
                         << ", expected both or neither to be complex";
  // bitcast_convert_c1
  int64_t fromBits = bitsOf(from), toBits = bitsOf(to);
  if (fromBits == toBits)
    return checkSameShape(*this, "operand", operand, "result", result);
  // The side with the narrower elements has one dimension more, in which they
  // make up one element of the other side.
  bool narrows = toBits < fromBits;
  Subject narrow = narrows ? "result" : "operand";
  int64_t wideBits = std::max(fromBits, toBits);
  int64_t narrowBits = std::min(fromBits, toBits);
  if (wideBits % narrowBits != 0)
    return emitOpError() << "converts from " << fromBits << "-bit to " << toBits
                         << "-bit elements, expected one to be a multiple of "
                            "the other";
  SmallVector<int64_t> expected(shapeOf(narrows ? operand : result));
  expected.push_back(wideBits / narrowBits);
  return checkShape(*this, narrow, shapeOf(narrows ? result : operand),
                    expected,
                    "the other side's shape and the number of narrow elements "
                    "in a wide one");
}
