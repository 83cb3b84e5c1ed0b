//===- Exec.cpp - The exec dialect ----------------------------------------===//
//
// Registration of the exec dialect, and what its attributes have to hold.
//
//===----------------------------------------------------------------------===//

#include "tenon/Dialect/Exec/Exec.h"
#include "tenon/Dialect/Exec/EntryPoints.h"
#include "tenon/Dialect/Exec/GpuCode.h"

#include "tenon/Dialect/Step/AttributeShape.h"
#include "tenon/Dialect/Step/Step.h"
#include "tenon/Libraries/Library.h"
#include "tenon/Target/GraphNodes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

#include "tenon/Dialect/Exec/ExecDialect.cpp.inc"
#include "tenon/Dialect/Exec/ExecEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "tenon/Dialect/Exec/ExecAttributes.cpp.inc"

#define GET_OP_CLASSES
#include "tenon/Dialect/Exec/ExecOps.cpp.inc"

using namespace mlir;
using namespace tenon;
using namespace tenon::exec;

void ExecDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "tenon/Dialect/Exec/ExecAttributes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "tenon/Dialect/Exec/ExecOps.cpp.inc"
      >();
}

namespace {

bool isKind(Attribute attribute) { return isa<step::GroupKindAttr>(attribute); }

bool isDictionary(Attribute attribute) {
  return isa<DictionaryAttr>(attribute);
}

bool isSharedObject(Attribute attribute) {
  auto bytes = dyn_cast<DenseElementsAttr>(attribute);
  return bytes && bytes.getElementType().isInteger(8) && !bytes.isSplat();
}

bool isPtx(Attribute attribute) {
  auto code = dyn_cast<DictionaryAttr>(attribute);
  if (!code || !code.getAs<StringAttr>("architecture") ||
      !code.getAs<StringAttr>("text"))
    return false;
  Attribute binary = code.get("binary");
  return binary ? code.size() == 4 && code.getAs<StringAttr>("assembler") &&
                      isSharedObject(binary)
                : code.size() == 2;
}

bool isJoint(Attribute attribute) {
  auto joint = dyn_cast<DictionaryAttr>(attribute);
  auto count = joint ? joint.getAs<IntegerAttr>("invocations") : IntegerAttr();
  return joint && joint.size() == 2 &&
         joint.getAs<FlatSymbolRefAttr>("launch") && count &&
         count.getType().isSignlessInteger(64) && count.getInt() >= 2;
}

constexpr step::AttributeShape shapes[] = {
    {kernelKindAttrName, isKind, "a #step.group_kind"},
    {inPlaceAttrName, step::isNumberList, "an array<i64>"},
    {fallbackAttrName, step::isUnit, "no value"},
    {scratchBytesAttrName, step::isCount, "bytes, an i64 of at least 0"},
    {planAttrName, isDictionary, "a dictionary"},
    {plannedAttrName, isDictionary, "a dictionary"},
    {regionEndsAttrName, step::isArrayOf<step::isNumberList>,
     "an array of array<i64>"},
    {entryPointAttrName, step::isText, "a string"},
    {takesAttrName, step::isArrayOf<step::isText>, "an array of strings"},
    {givesAttrName, step::isArrayOf<step::isText>, "an array of strings"},
    {libraryAttrName, isDictionary, "a dictionary"},
    {symbolAttrName, step::isText, "a string"},
    {descriptionAttrName, step::isText, "a string"},
    {sharedObjectAttrName, isSharedObject,
     "a dense tensor of i8, the bytes of a shared object"},
    {ptxAttrName, step::isArrayOf<isPtx>,
     "an array of {architecture, text}, both strings, or {architecture, "
     "assembler, binary, text}, binary a dense tensor of i8"},
    {launchesAttrName, step::isNumberList, "an array<i64>"},
    {schedulesAttrName, step::isArrayOf<step::isText>, "an array of strings"},
    {resourcesAttrName, step::isNumberList, "an array<i64>"},
    {followedByAttrName,
     [](Attribute attribute) { return isa<FlatSymbolRefAttr>(attribute); },
     "a symbol"},
    {onHostAttrName, step::isUnit, "no value"},
    {jointAttrName, isJoint,
     "{invocations, launch}, an i64 of at least 2 and a symbol"},
};

/// A result overwrites an operand or none, and no two the same.
LogicalResult checkInPlace(FunctionOpInterface kernel,
                           ArrayRef<int64_t> operands) {
  if (operands.size() != kernel.getNumResults())
    return kernel->emitError()
           << "'" << inPlaceAttrName << "' has " << operands.size()
           << " entries, expected one for each of " << kernel.getNumResults()
           << " results";
  llvm::SmallDenseSet<int64_t> overwritten;
  for (auto [result, operand] : llvm::enumerate(operands)) {
    if (operand == -1)
      continue;
    if (operand < 0 || operand >= int64_t(kernel.getNumArguments()) ||
        !overwritten.insert(operand).second)
      return kernel->emitError()
             << "'" << inPlaceAttrName << "' has result #" << result
             << " overwrite operand #" << operand << ", expected one of "
             << kernel.getNumArguments()
             << " that no other result overwrites, or -1";
  }
  return success();
}

/// Why a dictionary describes no call that a library could be asked about;
/// empty if it does.
std::string whyNoDescription(DictionaryAttr dictionary) {
  std::string error;
  auto description = fromAttribute(dictionary, error);
  return description ? libraries::whyInvalid(*description) : error;
}

} // namespace

LogicalResult LibraryOp::verify() {
  if (std::string error = whyNoDescription(getDescription()); !error.empty())
    return emitOpError("has a damaged description: ") << error;
  if (int64_t(getWorkspaceBytes()) < 0)
    return emitOpError("has a workspace of ")
           << int64_t(getWorkspaceBytes()) << " bytes";
  return success();
}

LogicalResult CollectiveOp::verify() {
  std::string error;
  if (!collectiveOf(getDescription(), error))
    return emitOpError("has a damaged description: ") << error;
  return success();
}

LogicalResult ExecDialect::verifyOperationAttribute(Operation *op,
                                                    NamedAttribute attribute) {
  if (failed(step::checkShape(op, attribute, shapes)))
    return failure();
  if (attribute.getName() == inPlaceAttrName)
    if (auto kernel = dyn_cast<FunctionOpInterface>(op))
      return checkInPlace(
          kernel, cast<DenseI64ArrayAttr>(attribute.getValue()).asArrayRef());
  if (attribute.getName() == libraryAttrName)
    if (std::string error =
            whyNoDescription(cast<DictionaryAttr>(attribute.getValue()));
        !error.empty())
      return op->emitError() << "'" << libraryAttrName << "': " << error;
  return success();
}

bool exec::isHostCall(DictionaryAttr description) {
  std::string ignored;
  auto call = fromAttribute(description, ignored);
  return call && !libraries::libraryOf(*call).isOfGpus();
}

int64_t exec::launchesOf(InvokeOp invoke, const SymbolTable &symbols) {
  int64_t launches = 1;
  Operation *callee = symbols.lookup(invoke.getCallee());
  if (callee && callee->hasAttr(onHostAttrName))
    return target::nodesOfHostCall(int64_t(invoke.getSlices().size()));
  while (callee) {
    auto next = callee->getAttrOfType<FlatSymbolRefAttr>(followedByAttrName);
    if (!next)
      break;
    ++launches;
    callee = symbols.lookup(next.getValue());
  }
  return launches;
}
