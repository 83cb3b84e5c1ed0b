//===- Step.cpp - The step dialect ---------------------------------------===//
//
// Registration and verifiers of the step dialect.
//
//===----------------------------------------------------------------------===//

#include "tenon/Dialect/Step/Step.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
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
}

bool tenon::step::isState(Role role) {
  return role != Role::batch && role != Role::hyper_parameter;
}

LogicalResult StepDialect::verifyRegionArgAttribute(Operation *op,
                                                    unsigned regionIndex,
                                                    unsigned argIndex,
                                                    NamedAttribute attribute) {
  StringRef name = attribute.getName();
  Attribute value = attribute.getValue();
  if (name == roleAttrName && !isa<RoleAttr>(value))
    return op->emitError() << "argument #" << argIndex << ": '" << name
                           << "' must be a #step.role, found " << value;
  if ((name == nameAttrName || name == roleReasonAttrName) &&
      !isa<StringAttr>(value))
    return op->emitError() << "argument #" << argIndex << ": '" << name
                           << "' must be a string, found " << value;
  if (name == successorAttrName) {
    auto function = dyn_cast<FunctionOpInterface>(op);
    auto index = dyn_cast<IntegerAttr>(value);
    if (!index || !function || index.getInt() < 0 ||
        index.getInt() >= int64_t(function.getNumResults()))
      return op->emitError()
             << "argument #" << argIndex << ": '" << name
             << "' must be the index of a result, found " << value;
    Type result = function.getResultTypes()[index.getInt()];
    Type argument = function.getArgumentTypes()[argIndex];
    if (result != argument)
      return op->emitError() << "argument #" << argIndex << " of type "
                             << argument << " cannot be replaced by result #"
                             << index.getInt() << " of type " << result;
  }
  return success();
}

LogicalResult
StepDialect::verifyRegionResultAttribute(Operation *op, unsigned regionIndex,
                                         unsigned resultIndex,
                                         NamedAttribute attribute) {
  if (attribute.getName() == nameAttrName &&
      !isa<StringAttr>(attribute.getValue()))
    return op->emitError() << "result #" << resultIndex << ": '"
                           << attribute.getName() << "' must be a string";
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
  return success();
}
