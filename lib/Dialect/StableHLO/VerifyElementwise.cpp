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

LogicalResult ConstantOp::verify() {
  Operation *op = getOperation();
  if (failed(checkTensorTypes(op)))
    return failure();
  // constant_c1
  Type value = getValue().getType(), output = getOutput().getType();
  if (auto quantized = dyn_cast<quant::QuantizedType>(elementTypeOf(output))) {
    // A quantized constant is written with its storage type.
    if (failed(checkSameShape(op, "value", value, "output", output)))
      return failure();
    if (bitsOf(elementTypeOf(value)) != bitsOf(quantized))
      return emitOpError() << "'value' has element type "
                           << elementTypeOf(value) << ", expected "
                           << quantized.getStorageType()
                           << ", which stores 'output'";
    return success();
  }
  return checkSameType(op, "value", value, "output", output);
}

LogicalResult ConvertOp::verify() {
  // convert_c1 is the trait CompatibleShapes.
  return checkTensorTypes(*this);
}

LogicalResult IsFiniteOp::verify() {
  // is_finite_c1 is the trait CompatibleShapes.
  return checkTensorTypes(*this);
}

LogicalResult SelectOp::verify() {
  Operation *op = getOperation();
  if (failed(checkTensorTypes(op)))
    return failure();
  // select_c1
  Type onTrue = getOnTrue().getType();
  if (!shapeOf(getPred()).empty() &&
      failed(
          checkSameShape(op, "pred", getPred().getType(), "on_true", onTrue)))
    return failure();
  // select_c2
  if (failed(checkSameBaselineType(op, "on_true", onTrue, "on_false",
                                   getOnFalse().getType())))
    return failure();
  return checkSameBaselineType(op, "on_true", onTrue, "result",
                               getResult().getType());
}

LogicalResult ClampOp::verify() {
  Operation *op = getOperation();
  if (failed(checkTensorTypes(op)))
    return failure();
  Type operand = getOperand().getType();
  Type min = getMin().getType(), max = getMax().getType();
  // clamp_c1
  if (!shapeOf(min).empty() &&
      failed(checkSameShape(op, "min", min, "operand", operand)))
    return failure();
  // clamp_c2
  if (!shapeOf(max).empty() &&
      failed(checkSameShape(op, "max", max, "operand", operand)))
    return failure();
  // clamp_c3
  if (failed(
          checkSameBaselineElementType(op, "min", min, "operand", operand)) ||
      failed(checkSameBaselineElementType(op, "max", max, "operand", operand)))
    return failure();
  // clamp_c4
  return checkSameBaselineType(op, "operand", operand, "result",
                               getResult().getType());
}

LogicalResult ReducePrecisionOp::verify() {
  Operation *op = getOperation();
  if (failed(checkTensorTypes(op)))
    return failure();
  // reduce_precision_c1 is the trait CompatibleTypes.
  // reduce_precision_c2
  if (failed(checkAtLeast(op, "exponent_bits", int32_t(getExponentBits()), 1)))
    return failure();
  // reduce_precision_c3
  return checkAtLeast(op, "mantissa_bits", int32_t(getMantissaBits()), 0);
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
  Operation *op = getOperation();
  if (failed(checkTensorTypes(op)))
    return failure();
  Type lhs = getLhs().getType(), rhs = getRhs().getType();
  // compare_c1
  if (failed(checkSameBaselineElementType(op, "lhs", lhs, "rhs", rhs)))
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
  Operation *op = getOperation();
  if (failed(checkTensorTypes(op)))
    return failure();
  Type operand = getOperand().getType(), result = getResult().getType();
  Type from = elementTypeOf(operand), to = elementTypeOf(result);
  // bitcast_convert_c2
  if (isa<ComplexType>(from) != isa<ComplexType>(to))
    return emitOpError() << "converts from " << from << " to " << to
                         << ", expected both or neither to be complex";
  // bitcast_convert_c1
  int64_t fromBits = bitsOf(from), toBits = bitsOf(to);
  if (fromBits == toBits)
    return checkSameShape(op, "operand", operand, "result", result);
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
  return checkShape(op, narrow, shapeOf(narrows ? result : operand), expected,
                    "the other side's shape and the number of narrow elements "
                    "in a wide one");
}
