//===- Step.cpp - The step dialect ---------------------------------------===//
//
// Registration and verifiers of the step dialect.
//
//===----------------------------------------------------------------------===//

#include "tenon/Dialect/Step/Step.h"

#include "tenon/Dialect/Step/Attention.h"
#include "tenon/Dialect/Step/AttributeShape.h"
#include "tenon/Dialect/Step/Casts.h"
#include "tenon/Dialect/Step/HiddenState.h"
#include "tenon/Dialect/Step/Holding.h"
#include "tenon/Dialect/Step/Parts.h"
#include "tenon/Dialect/Step/ShardingConstraint.h"
#include "tenon/Dialect/Step/StochasticRounding.h"
#include "tenon/Dialect/Step/Succession.h"
#include "tenon/Format/Mesh.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/TypeSwitch.h"

#include "tenon/Dialect/Step/StepDialect.cpp.inc"
#include "tenon/Dialect/Step/StepEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "tenon/Dialect/Step/StepAttributes.cpp.inc"

#define GET_OP_CLASSES
#include "tenon/Dialect/Step/StepOps.cpp.inc"

using namespace mlir;
using namespace tenon::step;

void StepDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "tenon/Dialect/Step/StepAttributes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "tenon/Dialect/Step/StepOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "tenon/Dialect/Step/AttentionOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "tenon/Dialect/Step/StochasticRoundingOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "tenon/Dialect/Step/ShardingConstraintOps.cpp.inc"
      >();
}

bool tenon::step::isState(Role role) {
  return role != Role::batch && role != Role::hyper_parameter;
}

LogicalResult tenon::step::verifySuccession(FunctionOpInterface main) {
  llvm::DenseMap<int64_t, unsigned> known;
  for (unsigned index = 0; index < main.getNumArguments(); ++index) {
    auto successor =
        main.getArgAttrOfType<IntegerAttr>(index, successorAttrName);
    if (!successor)
      continue;
    auto role = main.getArgAttrOfType<RoleAttr>(index, roleAttrName);
    if (!role || !isState(role.getValue()))
      return main->emitError()
             << "argument " << index << " has "
             << (role ? "the role " + stringifyRole(role.getValue()).str()
                      : std::string("no role"))
             << " and a successor, expected the role of a state";
    auto [first, isNew] = known.try_emplace(successor.getInt(), index);
    if (!isNew)
      return main->emitError()
             << "arguments " << first->second << " and " << index
             << " have the same successor, result " << successor.getInt();
  }
  return failure(failed(verifyHolding(main)) ||
                 failed(verifyHiddenState(main)));
}

//===----------------------------------------------------------------------===//
// Attributes of the forms
//===----------------------------------------------------------------------===//

namespace {

bool isPlace(Attribute attribute) { return isa<PlaceAttr>(attribute); }

bool isRole(Attribute attribute) { return isa<RoleAttr>(attribute); }

/// Nodes of a problem are numbered by 32 bits.
bool isNodeNumber(int64_t number) {
  return number >= 0 && number <= std::numeric_limits<int32_t>::max();
}

bool isNode(Attribute attribute) {
  return isCount(attribute) &&
         isNodeNumber(cast<IntegerAttr>(attribute).getInt());
}

bool areNodes(Attribute attribute) {
  auto numbers = dyn_cast<DenseI64ArrayAttr>(attribute);
  return numbers && llvm::all_of(numbers.asArrayRef(), isNodeNumber);
}

bool isPart(Attribute attribute) {
  return hasEntries(attribute,
                    {{"nanoseconds", isCount}, {"scratch_bytes", isCount}});
}

bool isBytesAndTime(Attribute attribute) {
  return hasEntries(attribute, {{"bytes", isCount}, {"nanoseconds", isCount}});
}

/// Positions in a plan of a loop's body.
bool arePositions(Attribute attribute) {
  auto numbers = dyn_cast<DenseI32ArrayAttr>(attribute);
  return numbers && llvm::all_of(numbers.asArrayRef(),
                                 [](int32_t number) { return number >= 0; });
}

bool isLoopRow(Attribute attribute) {
  return hasEntries(attribute, {{"bytes", isCount},
                                {"nanoseconds", isCount},
                                {"order", arePositions},
                                {"rows", arePositions}});
}

bool areLoopRows(Attribute attribute) {
  return isArrayOf<isLoopRow>(attribute) && !cast<ArrayAttr>(attribute).empty();
}

bool areSegments(Attribute attribute) {
  auto segments = dyn_cast<DictionaryAttr>(attribute);
  return segments && llvm::all_of(segments, [](NamedAttribute entry) {
           return symbolizeSegment(entry.getName()) &&
                  isCount(entry.getValue());
         });
}

bool isExclusion(Attribute attribute) {
  return hasEntries(
      attribute, {{"bytes", isCount}, {"reason", isText}, {"source", isText}});
}

/// Which figures there are is for those who write and read them.
bool isRecomputation(Attribute attribute) {
  auto figures = dyn_cast<DictionaryAttr>(attribute);
  return figures && llvm::all_of(figures, [](NamedAttribute entry) {
           Attribute value = entry.getValue();
           auto integer = dyn_cast<IntegerAttr>(value);
           return entry.getName() == "exclusions"
                      ? isArrayOf<isExclusion>(value)
                      : isText(value) ||
                            (integer &&
                             integer.getType().isSignlessInteger(64));
         });
}

bool isFlops(Attribute attribute) {
  auto flops = dyn_cast<FloatAttr>(attribute);
  return flops && flops.getType().isF64() && flops.getValueAsDouble() >= 0;
}

bool isInitialValue(Attribute attribute) {
  return isa<SplatElementsAttr>(attribute);
}

bool castsBetweenF32And16Bits(Operation *op) {
  if (op->getName().getStringRef() != "stablehlo.convert" ||
      op->getNumOperands() != 1 || op->getNumResults() != 1)
    return false;
  Type from = getElementTypeOrSelf(op->getOperand(0)),
       to = getElementTypeOrSelf(op->getResult(0));
  return (from.isF32() && tenon::stablehlo::isFloatOf16Bits(to)) ||
         (tenon::stablehlo::isFloatOf16Bits(from) && to.isF32());
}

bool isTensorType(Attribute attribute) {
  auto type = dyn_cast<TypeAttr>(attribute);
  return type && isa<RankedTensorType>(type.getValue());
}

constexpr llvm::StringLiteral holdingShape =
    "{part, rule, tensor}: 0 or 1, \"high_and_low\", and a name; or 0, "
    "\"converted\", and a name";

bool isMesh(Attribute attribute) {
  auto text = dyn_cast<StringAttr>(attribute);
  std::string error;
  return text && tenon::format::parseMesh(text.getValue(), error);
}

constexpr AttributeShape operationShapes[] = {
    {placesAttrName, isArrayOf<isPlace>, "an array of #step.place"},
    {argumentPlacesAttrName, isArrayOf<isPlace>, "an array of #step.place"},
    {resultPlacesAttrName, isArrayOf<isPlace>, "an array of #step.place"},
    {scratchPlaceAttrName, isPlace, "a #step.place"},
    {scratchBytesAttrName, isCount, "bytes, an i64 of at least 0"},
    {nanosecondsAttrName, isCount, "an i64 of at least 0"},
    {transferNanosecondsAttrName, isCount, "an i64 of at least 0"},
    {partsAttrName, isArrayOf<isPart>,
     "an array of {nanoseconds, scratch_bytes}, each an i64 of at least 0"},
    {recomputedAttrName, isUnit, "no value"},
    {nodeAttrName, isNode, "an i64 from 0 to 2147483647"},
    {joinedNodesAttrName, areNodes,
     "an array<i64> of numbers from 0 to 2147483647"},
    {nodeValuesAttrName, isNumberList, "an array<i64>"},
    {nodeBytesAttrName, isNumberList, "an array<i64>"},
    {loopPairAttrName, isCount, "an i64 of at least 0"},
    {blockRoundsAttrName, isCount, "an i64 of at least 0"},
    {loopSavingsAttrName, isNumberList, "an array<i64>"},
    {segmentSavingsAttrName, isNumberList, "an array<i64>"},
    {segmentsCanNestAttrName, isUnit, "no value"},
    {keepingEverythingAttrName, isBytesAndTime,
     "{bytes, nanoseconds}, each an i64 of at least 0"},
    {loopRowsAttrName, areLoopRows,
     "a non-empty array of {bytes, nanoseconds, order, rows}: two i64 and two "
     "array<i32>, of numbers of at least 0"},
    {loopFloorsAttrName, isArrayOf<isBytesAndTime>,
     "an array of {bytes, nanoseconds}, each an i64 of at least 0"},
    {segmentBytesAttrName, areSegments,
     "bytes, i64 of at least 0, by the names of segments"},
    {temporariesBoundAttrName, isCount, "bytes, an i64 of at least 0"},
    {flopsAttrName, isFlops, "an f64 of at least 0"},
    {idiomAttrName, isText, "a string"},
    {castAttrName, isUnit, "no value"},
    {narrowSumsAttrName, isUnit, "no value"},
    {meshAttrName, isMesh, "axes with sizes, such as \"data=2,model=4\""},
    {layoutProofAttrName, isText, "a string"},
    {logicalShardsAttrName, isMesh, "axes with sizes, such as \"data=8\""},
    {droppedConstraintsAttrName, isCount, "an i64 of at least 0"},
    {reducerAttrName, isText, "a string"},
    {sumsByTreeAttrName, isUnit, "no value"},
    {besideAttrName, isCount, "an i64 of at least 0"},
    {layoutAttrName, isText, "a string"},
    {wholeAttrName, isTensorType, "a type of tensors"},
    {cutsAttrName, isArrayOf<isNumberList>, "an array of array<i64>"},
    {holdsAttrName, isHolding, holdingShape},
    {recomputationAttrName, isRecomputation,
     "a dictionary of i64 and strings, and 'exclusions', an array of {bytes, "
     "reason, source}"},
};

/// Of arguments and results.
constexpr AttributeShape valueShapes[] = {
    {roleAttrName, isRole, "a #step.role"},
    {roleReasonAttrName, isText, "a string"},
    {nameAttrName, isText, "a string"},
    {aliasesAttrName, isArrayOf<isText>, "an array of strings"},
    {donatedAttrName, isUnit, "no value"},
    {holdsAttrName, isHolding, holdingShape},
    {layoutAttrName, isText, "a string"},
    {wholeAttrName, isTensorType, "a type of tensors"},
    {cutsAttrName, isArrayOf<isNumberList>, "an array of array<i64>"},
    {initialAttrName, isInitialValue,
     "a dense tensor that repeats one element"},
};

/// What users see of a value has to have bytes that the stored type has, too.
LogicalResult checkSeenType(Operation *op, const Twine &where, Type stored,
                            NamedAttribute attribute) {
  auto tensor = dyn_cast<RankedTensorType>(stored);
  if (attribute.getName() == complexAttrName) {
    if (isUnit(attribute.getValue()) && tensor && tensor.getRank() > 0 &&
        tensor.getShape().back() == 2 &&
        (tensor.getElementType().isF32() || tensor.getElementType().isF64()))
      return success();
    return op->emitError() << where << "'" << complexAttrName
                           << "' stands on a value of type " << stored
                           << ", expected f32 or f64 with a last dimension of "
                              "extent 2";
  }
  if (attribute.getName() != elementTypeAttrName)
    return success();
  auto seen = dyn_cast<TypeAttr>(attribute.getValue());
  if (seen && seen.getValue().isIntOrFloat() &&
      seen.getValue().getIntOrFloatBitWidth() <= 8 && tensor &&
      tensor.getElementType().isInteger(8))
    return success();
  return op->emitError() << where << "'" << elementTypeAttrName << "' is "
                         << attribute.getValue() << " on a value of type "
                         << stored
                         << ", expected a type of at most 8 bits on elements "
                            "of 8 bits";
}

} // namespace

LogicalResult StepDialect::verifyOperationAttribute(Operation *op,
                                                    NamedAttribute attribute) {
  if (attribute.getName() == castAttrName && !castsBetweenF32And16Bits(op))
    return op->emitError()
           << "'" << castAttrName
           << "' stands on a conversion between f32 and bf16 or "
              "f16, found '"
           << op->getName() << "'";
  return checkShape(op, attribute, operationShapes);
}

LogicalResult StepDialect::verifyRegionArgAttribute(Operation *op,
                                                    unsigned regionIndex,
                                                    unsigned argIndex,
                                                    NamedAttribute attribute) {
  std::string where = "argument #" + std::to_string(argIndex) + ": ";
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (failed(checkShape(op, attribute, valueShapes, where)) ||
      (function &&
       failed(checkSeenType(op, where, function.getArgumentTypes()[argIndex],
                            attribute))))
    return failure();
  if (attribute.getName() != successorAttrName)
    return success();
  Attribute value = attribute.getValue();
  if (!function || !isCount(value) ||
      cast<IntegerAttr>(value).getInt() >= int64_t(function.getNumResults()))
    return op->emitError() << where << "'" << successorAttrName
                           << "' must be the index of a result, found "
                           << value;
  int64_t index = cast<IntegerAttr>(value).getInt();
  Type result = function.getResultTypes()[index];
  Type argument = function.getArgumentTypes()[argIndex];
  if (result != argument)
    return op->emitError() << "argument #" << argIndex << " of type "
                           << argument << " cannot be replaced by result #"
                           << index << " of type " << result;
  return success();
}

LogicalResult
StepDialect::verifyRegionResultAttribute(Operation *op, unsigned regionIndex,
                                         unsigned resultIndex,
                                         NamedAttribute attribute) {
  std::string where = "result #" + std::to_string(resultIndex) + ": ";
  auto function = dyn_cast<FunctionOpInterface>(op);
  return failure(
      failed(checkShape(op, attribute, valueShapes, where)) ||
      (function &&
       failed(checkSeenType(op, where, function.getResultTypes()[resultIndex],
                            attribute))));
}

/// Saves and loads hand on the one operand that they have.
static LogicalResult verifyTransfer(GroupOp group) {
  Block &body = group.getBody().front();
  if (body.getNumArguments() != 1 || !llvm::hasSingleElement(body) ||
      body.getTerminator()->getOperands() != body.getArguments())
    return group.emitOpError("is of kind ")
           << stringifyGroupKind(group.getKind())
           << ", expected a body that yields its only argument";
  return success();
}

LogicalResult GroupOp::verify() {
  Block &block = getBody().front();
  if (!llvm::equal(block.getArgumentTypes(), getInputs().getTypes()))
    return emitOpError("body takes ")
           << block.getArgumentTypes() << ", but the group is given "
           << getInputs().getTypes();
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!yield)
    return emitOpError("body must end with step.yield");
  if (!llvm::equal(yield.getValues().getTypes(), getOutputs().getTypes()))
    return emitOpError("body yields ")
           << yield.getValues().getTypes() << ", but the group returns "
           << getOutputs().getTypes();
  return isTransfer() ? verifyTransfer(*this) : success();
}
