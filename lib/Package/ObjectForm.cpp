//===- ObjectForm.cpp - Exec form with machine code -----------------------===//
//
// See ObjectForm.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Package/ObjectForm.h"

#include "tenon/Dialect/Exec/Exec.h"
#include "tenon/Dialect/Step/Step.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace tenon;

/// What a kernel computes: the template, then its operations with their counts,
/// in order of appearance.
static std::string describe(func::FuncOp kernel, step::GroupKind kind) {
  std::string text(step::stringifyGroupKind(kind));
  llvm::MapVector<StringRef, int> counts;
  for (Operation &inner : kernel.getBody().front().without_terminator())
    ++counts[inner.getName().stripDialect()];
  llvm::raw_string_ostream description(text);
  for (auto &[name, count] : counts) {
    description << ' ' << name;
    if (count > 1)
      description << " x" << count;
  }
  return text;
}

LogicalResult
package::toObjectForm(ModuleOp module, ArrayRef<char> sharedObject,
                      const llvm::StringMap<std::string> &symbols) {
  Builder builder(module.getContext());
  for (auto kernel : module.getOps<func::FuncOp>()) {
    auto kind =
        kernel->getAttrOfType<step::GroupKindAttr>(exec::kernelKindAttrName);
    if (!kind || kernel.isDeclaration())
      continue;
    auto symbol = symbols.find(kernel.getSymName());
    if (symbol == symbols.end())
      return kernel.emitOpError("has no compiled code");
    kernel->setAttr(exec::symbolAttrName,
                    builder.getStringAttr(symbol->second));
    kernel->setAttr(exec::descriptionAttrName,
                    builder.getStringAttr(describe(kernel, kind.getValue())));
    kernel.eraseBody();
  }
  if (!sharedObject.empty())
    module->setAttr(exec::sharedObjectAttrName,
                    DenseElementsAttr::getFromRawBuffer(
                        RankedTensorType::get({int64_t(sharedObject.size())},
                                              builder.getI8Type()),
                        sharedObject));
  return success();
}

FailureOr<ArrayRef<char>> package::sharedObjectOf(ModuleOp module) {
  Attribute attribute = module->getAttr(exec::sharedObjectAttrName);
  if (!attribute) {
    for (auto kernel : module.getOps<func::FuncOp>())
      if (kernel->hasAttr(exec::symbolAttrName))
        return kernel.emitOpError("has its code in '")
               << exec::sharedObjectAttrName
               << "', which the module does not have; run the stage codegen";
    return ArrayRef<char>();
  }
  return cast<DenseElementsAttr>(attribute).getRawData();
}
