//===- VerifyConditions.cpp - What constraints are made of ---------------===//
//
// The conditions that the verifiers of StableHLO operations are put together
// from. See VerifyConditions.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Dialect/StableHLO/VerifyConditions.h"

#include "tenon/Dialect/StableHLO/Traits.h"
#include "tenon/Support/CheckedArithmetic.h"

#include "mlir/Dialect/Quant/IR/QuantTypes.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace tenon;
using namespace tenon::stablehlo;

Diagnostic &tenon::stablehlo::operator<<(Diagnostic &diagnostic,
                                         const Subject &subject) {
  diagnostic << "'" << subject.name << "'";
  if (subject.index >= 0)
    diagnostic << " #" << subject.index;
  return diagnostic;
}

std::string tenon::stablehlo::counted(int64_t count, StringRef one,
                                      StringRef many) {
  return (std::to_string(count) + " " + (count == 1 ? one : many)).str();
}

/// A list as a reader writes it: [2, ?, 3].
static std::string format(ArrayRef<int64_t> values) {
  std::string text = "[";
  for (auto [i, value] : llvm::enumerate(values)) {
    if (i)
      text += ", ";
    text += ShapedType::isDynamic(value) ? "?" : std::to_string(value);
  }
  return text + "]";
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

bool tenon::stablehlo::agree(int64_t a, int64_t b) {
  return a == b || ShapedType::isDynamic(a) || ShapedType::isDynamic(b);
}

bool tenon::stablehlo::agree(ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
  return a.size() == b.size() && llvm::all_of(llvm::zip(a, b), [](auto pair) {
           return agree(std::get<0>(pair), std::get<1>(pair));
         });
}

bool tenon::stablehlo::agree(Type a, Type b) {
  if (a == b)
    return true;
  auto tensorA = dyn_cast<RankedTensorType>(a);
  auto tensorB = dyn_cast<RankedTensorType>(b);
  return tensorA && tensorB &&
         tensorA.getElementType() == tensorB.getElementType() &&
         agree(tensorA.getShape(), tensorB.getShape());
}

Type tenon::stablehlo::elementTypeOf(Type type) {
  return getElementTypeOrSelf(type);
}

ArrayRef<int64_t> tenon::stablehlo::shapeOf(Type type) {
  auto shaped = dyn_cast<ShapedType>(type);
  return shaped && shaped.hasRank() ? shaped.getShape() : ArrayRef<int64_t>();
}

ArrayRef<int64_t> tenon::stablehlo::shapeOf(Value value) {
  return shapeOf(value.getType());
}

Type tenon::stablehlo::baselineElementTypeOf(Type type) {
  Type element = elementTypeOf(type);
  if (auto quantized = dyn_cast<quant::UniformQuantizedType>(element))
    return quant::UniformQuantizedType::get(
        quantized.getFlags(), quantized.getStorageType(),
        quantized.getExpressedType(), /*scale=*/1.0, /*zeroPoint=*/0,
        quantized.getStorageTypeMin(), quantized.getStorageTypeMax());
  return element;
}

int64_t tenon::stablehlo::bitsOf(Type elementType) {
  if (auto quantized = dyn_cast<quant::QuantizedType>(elementType))
    return quantized.getStorageTypeIntegralWidth();
  if (auto complex = dyn_cast<ComplexType>(elementType))
    return 2 * bitsOf(complex.getElementType());
  if (elementType.isIndex())
    return 64;
  return elementType.isIntOrFloat() ? elementType.getIntOrFloatBitWidth() : 0;
}

bool tenon::stablehlo::isPromotable(Type from, Type to) {
  if (from == to)
    return true;
  auto quantizedFrom = dyn_cast<quant::QuantizedType>(from);
  auto quantizedTo = dyn_cast<quant::QuantizedType>(to);
  if (quantizedFrom || quantizedTo)
    return quantizedFrom && quantizedTo &&
           quantizedFrom.getExpressedType() == quantizedTo.getExpressedType() &&
           bitsOf(from) <= bitsOf(to);
  auto integerFrom = dyn_cast<IntegerType>(from);
  auto integerTo = dyn_cast<IntegerType>(to);
  if (integerFrom && integerTo) {
    bool isBoolFrom = integerFrom.isInteger(1);
    bool isBoolTo = integerTo.isInteger(1);
    return isBoolFrom == isBoolTo &&
           integerFrom.isUnsigned() == integerTo.isUnsigned() &&
           bitsOf(from) <= bitsOf(to);
  }
  bool areFloats = isa<FloatType>(from) && isa<FloatType>(to);
  bool areComplex = isa<ComplexType>(from) && isa<ComplexType>(to);
  return (areFloats || areComplex) && bitsOf(from) <= bitsOf(to);
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

std::optional<int64_t> tenon::stablehlo::byteSizeOf(ShapedType type,
                                                    int64_t *overflowing) {
  int64_t bytes = (bitsOf(type.getElementType()) + 7) / 8;
  if (!type.hasRank())
    return bytes;
  // A zero anywhere makes the tensor empty, whatever the others multiply to.
  if (llvm::is_contained(type.getShape(), 0))
    return 0;
  for (auto [i, size] : llvm::enumerate(type.getShape())) {
    if (ShapedType::isDynamic(size))
      continue;
    std::optional<int64_t> product = mulChecked(bytes, size);
    if (!product) {
      if (overflowing)
        *overflowing = i;
      return std::nullopt;
    }
    bytes = *product;
  }
  return bytes;
}

std::optional<int64_t> tenon::stablehlo::elementCountOf(ShapedType type) {
  if (llvm::is_contained(type.getShape(), 0))
    return 0;
  std::optional<int64_t> count = 1;
  for (int64_t size : type.getShape())
    if (count)
      count = mulChecked(*count, size);
  return count;
}

/// A tensor quantized per axis has that axis and a scale for each index.
static LogicalResult checkQuantizedAxis(Operation *op, StringRef kind,
                                        size_t index, RankedTensorType tensor) {
  auto perAxis =
      dyn_cast<quant::UniformQuantizedPerAxisType>(tensor.getElementType());
  if (!perAxis)
    return success();
  int64_t axis = perAxis.getQuantizedDimension();
  if (axis < 0 || axis >= tensor.getRank())
    return op->emitOpError()
           << kind << " #" << index << " of type " << tensor
           << " is quantized along dimension " << axis
           << ", expected at least 0 and less than " << tensor.getRank();
  int64_t scales = perAxis.getScales().size();
  if (agree(tensor.getDimSize(axis), scales))
    return success();
  return op->emitOpError() << kind << " #" << index << " of type " << tensor
                           << " has " << scales << " scales, expected "
                           << tensor.getDimSize(axis)
                           << ", the size of the quantized dimension " << axis;
}

LogicalResult tenon::stablehlo::checkTensorTypes(Operation *op) {
  auto check = [&](StringRef kind, Type type, size_t index) -> LogicalResult {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor)
      return success();
    int64_t dimension = 0;
    if (!byteSizeOf(tensor, &dimension))
      return op->emitOpError()
             << kind << " #" << index << " of type " << type
             << " needs more than 9223372036854775807 bytes: the product "
                "overflows at dimension "
             << dimension << " of size " << tensor.getDimSize(dimension);
    return checkQuantizedAxis(op, kind, index, tensor);
  };
  for (auto [i, type] : llvm::enumerate(op->getOperandTypes()))
    if (failed(check("operand", type, i)))
      return failure();
  for (auto [i, type] : llvm::enumerate(op->getResultTypes()))
    if (failed(check("result", type, i)))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Lists
//===----------------------------------------------------------------------===//

LogicalResult tenon::stablehlo::checkCount(Operation *op, Subject list,
                                           int64_t found, int64_t expected,
                                           StringRef reason) {
  if (found == expected)
    return success();
  return op->emitOpError() << list << " has "
                           << counted(found, "entry", "entries")
                           << ", expected " << expected << ", " << reason;
}

LogicalResult tenon::stablehlo::checkUnique(Operation *op, Subject list,
                                            ArrayRef<int64_t> values) {
  // Sorted rather than hashed: any 64-bit value may turn up.
  SmallVector<std::pair<int64_t, size_t>> sorted;
  for (auto [i, value] : llvm::enumerate(values))
    sorted.push_back({value, i});
  llvm::sort(sorted);
  for (size_t i = 1; i < sorted.size(); ++i)
    if (sorted[i - 1].first == sorted[i].first)
      return op->emitOpError()
             << list << " holds " << sorted[i].first << " twice, at positions "
             << sorted[i - 1].second << " and " << sorted[i].second
             << ", expected distinct values";
  return success();
}

LogicalResult tenon::stablehlo::checkUnique(Operation *op, Subject first,
                                            ArrayRef<int64_t> firstValues,
                                            Subject second,
                                            ArrayRef<int64_t> secondValues) {
  if (failed(checkUnique(op, first, firstValues)) ||
      failed(checkUnique(op, second, secondValues)))
    return failure();
  for (int64_t value : secondValues)
    if (llvm::is_contained(firstValues, value))
      return op->emitOpError()
             << first << " and " << second << " both hold dimension " << value
             << ", expected distinct dimensions";
  return success();
}

LogicalResult tenon::stablehlo::checkSorted(Operation *op, Subject list,
                                            ArrayRef<int64_t> values) {
  for (size_t i = 1; i < values.size(); ++i)
    if (values[i] < values[i - 1])
      return op->emitOpError()
             << list << " = " << format(values) << " is not sorted: found "
             << values[i] << " after " << values[i - 1] << " at position " << i;
  return success();
}

LogicalResult tenon::stablehlo::checkDimensions(Operation *op, Subject list,
                                                ArrayRef<int64_t> values,
                                                Subject tensor, int64_t rank) {
  for (auto [i, value] : llvm::enumerate(values))
    if (value < 0 || value >= rank)
      return op->emitOpError()
             << list << " holds " << value << " at position " << i
             << ", expected a dimension of " << tensor << " of rank " << rank
             << " (at least 0, less than " << rank << ")";
  return success();
}

LogicalResult tenon::stablehlo::checkDimension(Operation *op, Subject attribute,
                                               int64_t value, Subject tensor,
                                               int64_t rank) {
  if (value >= 0 && value < rank)
    return success();
  return op->emitOpError() << attribute << " is " << value
                           << ", expected a dimension of " << tensor
                           << " of rank " << rank << " (at least 0, less than "
                           << rank << ")";
}

LogicalResult tenon::stablehlo::checkAtLeast(Operation *op, Subject attribute,
                                             int64_t value, int64_t minimum) {
  if (value >= minimum)
    return success();
  return op->emitOpError() << attribute << " is " << value
                           << ", expected at least " << minimum;
}

LogicalResult tenon::stablehlo::checkAtLeast(Operation *op, Subject list,
                                             ArrayRef<int64_t> values,
                                             int64_t minimum) {
  for (auto [i, value] : llvm::enumerate(values))
    if (value < minimum)
      return op->emitOpError() << list << " holds " << value << " at position "
                               << i << ", expected at least " << minimum;
  return success();
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

LogicalResult tenon::stablehlo::checkShape(Operation *op, Subject tensor,
                                           ArrayRef<int64_t> found,
                                           ArrayRef<int64_t> expected,
                                           StringRef reason) {
  if (found.size() != expected.size())
    return op->emitOpError()
           << tensor << " has rank " << found.size() << " and shape "
           << format(found) << ", expected rank " << expected.size()
           << " and shape " << format(expected) << ", " << reason;
  for (size_t i = 0; i < found.size(); ++i)
    if (!agree(found[i], expected[i]))
      return op->emitOpError()
             << "dimension " << i << " of " << tensor << " has size "
             << found[i] << ", expected " << expected[i] << ": found shape "
             << format(found) << ", expected " << format(expected) << ", "
             << reason;
  return success();
}

LogicalResult tenon::stablehlo::checkSameShape(Operation *op, Subject a,
                                               Type typeA, Subject b,
                                               Type typeB) {
  ArrayRef<int64_t> shapeA = shapeOf(typeA), shapeB = shapeOf(typeB);
  if (agree(shapeA, shapeB))
    return success();
  InFlightDiagnostic error = op->emitOpError();
  error << "expected " << a << " and " << b << " to have the same shape, found "
        << format(shapeA) << " and " << format(shapeB);
  if (shapeA.size() == shapeB.size())
    for (size_t i = 0; i < shapeA.size(); ++i)
      if (!agree(shapeA[i], shapeB[i]))
        return error << ", which differ in dimension " << i;
  return error << " of ranks " << shapeA.size() << " and " << shapeB.size();
}

LogicalResult tenon::stablehlo::checkSameElementType(Operation *op, Subject a,
                                                     Type typeA, Subject b,
                                                     Type typeB) {
  Type elementA = elementTypeOf(typeA), elementB = elementTypeOf(typeB);
  if (elementA == elementB)
    return success();
  return op->emitOpError() << "expected " << a << " and " << b
                           << " to have the same element type, found "
                           << elementA << " and " << elementB;
}

LogicalResult tenon::stablehlo::checkSameBaselineElementType(
    Operation *op, Subject a, Type typeA, Subject b, Type typeB) {
  if (baselineElementTypeOf(typeA) == baselineElementTypeOf(typeB))
    return success();
  return checkSameElementType(op, a, typeA, b, typeB);
}

LogicalResult tenon::stablehlo::checkSameQuantizableElementType(
    Operation *op, Subject a, Type typeA, Subject b, Type typeB) {
  auto perAxisA =
      dyn_cast<quant::UniformQuantizedPerAxisType>(elementTypeOf(typeA));
  auto perAxisB =
      dyn_cast<quant::UniformQuantizedPerAxisType>(elementTypeOf(typeB));
  if (perAxisA && perAxisB &&
      perAxisA.getStorageType() == perAxisB.getStorageType() &&
      perAxisA.getExpressedType() == perAxisB.getExpressedType())
    return success();
  return checkSameElementType(op, a, typeA, b, typeB);
}

LogicalResult tenon::stablehlo::checkSameType(Operation *op, Subject a,
                                              Type typeA, Subject b,
                                              Type typeB) {
  if (agree(typeA, typeB))
    return success();
  return op->emitOpError() << "expected " << a << " and " << b
                           << " to have the same type, found " << typeA
                           << " and " << typeB;
}

LogicalResult tenon::stablehlo::checkSameBaselineType(Operation *op, Subject a,
                                                      Type typeA, Subject b,
                                                      Type typeB) {
  if (failed(checkSameShape(op, a, typeA, b, typeB)))
    return failure();
  return checkSameBaselineElementType(op, a, typeA, b, typeB);
}

LogicalResult tenon::stablehlo::checkScalar(Operation *op, Subject tensor,
                                            Type type) {
  ArrayRef<int64_t> shape = shapeOf(type);
  if (shape.empty())
    return success();
  return op->emitOpError() << tensor << " has rank " << shape.size()
                           << ", expected a tensor without dimensions";
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

LogicalResult tenon::stablehlo::checkRegionArguments(Operation *op,
                                                     Subject region,
                                                     Region &body,
                                                     ArrayRef<Type> expected) {
  if (!body.hasOneBlock())
    return op->emitOpError()
           << "region " << region << " has " << body.getBlocks().size()
           << " blocks, expected one";
  if (body.getNumArguments() != expected.size())
    return op->emitOpError()
           << "region " << region << " has "
           << counted(body.getNumArguments(), "argument", "arguments")
           << ", expected " << expected.size();
  for (auto [i, found, wanted] :
       llvm::enumerate(body.getArgumentTypes(), expected))
    if (!agree(found, wanted))
      return op->emitOpError()
             << "argument #" << i << " of region " << region << " has type "
             << found << ", expected " << wanted;
  return success();
}

FailureOr<OperandRange>
tenon::stablehlo::regionResults(Operation *op, Subject region, Region &body) {
  if (!body.hasOneBlock())
    return op->emitOpError()
           << "region " << region << " has " << body.getBlocks().size()
           << " blocks, expected one";
  Block &block = body.front();
  if (block.empty() || !block.back().hasTrait<OpTrait::IsTerminator>())
    return op->emitOpError()
           << "region " << region << " must end with stablehlo.return";
  return OperandRange(block.back().getOperands());
}

LogicalResult tenon::stablehlo::checkRegionResults(Operation *op,
                                                   Subject region, Region &body,
                                                   ArrayRef<Type> expected) {
  FailureOr<OperandRange> results = regionResults(op, region, body);
  if (failed(results))
    return failure();
  if (results->size() != expected.size())
    return op->emitOpError() << "region " << region << " returns "
                             << counted(results->size(), "value", "values")
                             << ", expected " << expected.size();
  for (auto [i, found, wanted] : llvm::enumerate(results->getTypes(), expected))
    if (!agree(found, wanted))
      return op->emitOpError()
             << "value #" << i << " returned by region " << region
             << " has type " << found << ", expected " << wanted;
  return success();
}

LogicalResult
tenon::stablehlo::checkReducer(Operation *op, Subject region, Region &body,
                               ArrayRef<Type> elementTypes,
                               SmallVectorImpl<Type> &accumulators) {
  size_t count = elementTypes.size();
  if (!body.hasOneBlock())
    return op->emitOpError()
           << "region " << region << " has " << body.getBlocks().size()
           << " blocks, expected one";
  if (body.getNumArguments() != 2 * count)
    return op->emitOpError()
           << "region " << region << " has "
           << counted(body.getNumArguments(), "argument", "arguments")
           << ", expected " << 2 * count << ", two for each of "
           << counted(count, "value", "values");
  SmallVector<Type> results;
  for (size_t i = 0; i < count; ++i) {
    Type accumulator = elementTypeOf(body.getArgument(i).getType());
    if (!isPromotable(elementTypes[i], accumulator))
      return op->emitOpError()
             << "argument #" << i << " of region " << region
             << " has element type " << accumulator << ", expected a type that "
             << elementTypes[i] << " can be promoted to";
    accumulators.push_back(accumulator);
    results.push_back(RankedTensorType::get({}, accumulator));
  }
  SmallVector<Type> arguments(results);
  arguments.append(results);
  if (failed(checkRegionArguments(op, region, body, arguments)))
    return failure();
  return checkRegionResults(op, region, body, results);
}

LogicalResult tenon::stablehlo::checkAccumulated(Operation *op, Subject tensor,
                                                 Type type, Type accumulator,
                                                 Subject region) {
  if (elementTypeOf(type) == accumulator)
    return success();
  return op->emitOpError() << tensor << " has element type "
                           << elementTypeOf(type) << ", expected "
                           << accumulator << ", which " << region << " returns";
}

LogicalResult tenon::stablehlo::checkReducedOperands(Operation *op,
                                                     ValueRange inputs,
                                                     ValueRange initValues) {
  int64_t count = inputs.size();
  // reduce_c3, reduce_window_c1
  if (count == 0)
    return op->emitOpError("has no inputs, expected at least one");
  // Both lists are cut from one list of operands, half each.
  if (failed(checkCount(op, "operands", op->getNumOperands(), 2 * count,
                        "as many 'init_values' as 'inputs'")) ||
      failed(checkCount(op, "results", op->getNumResults(), count,
                        "one for each of 'inputs'")))
    return failure();
  for (int64_t i = 0; i < count; ++i) {
    Type input = inputs[i].getType(), init = initValues[i].getType();
    // reduce_c1, reduce_window_c2
    if (failed(checkSameShape(op, {"inputs", 0}, inputs[0].getType(),
                              {"inputs", i}, input)))
      return failure();
    // reduce_c2, reduce_window_c3
    if (failed(checkSameElementType(op, {"inputs", i}, input,
                                    {"init_values", i}, init)))
      return failure();
    // reduce_i2, reduce_window_i2
    if (failed(checkScalar(op, {"init_values", i}, init)))
      return failure();
  }
  return success();
}
