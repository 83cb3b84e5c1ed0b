//===- ObjectForm.cpp - Exec form with machine code -----------------------===//
//
// See ObjectForm.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Package/ObjectForm.h"

#include "tenon/Dialect/Exec/Exec.h"
#include "tenon/Dialect/Exec/GpuCode.h"
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

/// Makes declarations of the kernels; `describeCode` says more of each, given
/// its symbol.
static LogicalResult
declareKernels(ModuleOp module, const llvm::StringMap<std::string> &symbols,
               llvm::function_ref<void(func::FuncOp, StringRef)> describeCode) {
  Builder builder(module.getContext());
  for (auto kernel : module.getOps<func::FuncOp>()) {
    auto kind =
        kernel->getAttrOfType<step::GroupKindAttr>(exec::kernelKindAttrName);
    if (!kind || kernel->hasAttr(exec::symbolAttrName))
      continue;
    auto symbol = symbols.find(kernel.getSymName());
    if (symbol == symbols.end())
      return kernel.emitOpError("has no compiled code");
    kernel->setAttr(exec::symbolAttrName,
                    builder.getStringAttr(symbol->second));
    describeCode(kernel, symbol->second);
    // What launches other kernels has no body of its own.
    if (kernel.isDeclaration())
      continue;
    kernel->setAttr(exec::descriptionAttrName,
                    builder.getStringAttr(describe(kernel, kind.getValue())));
    kernel.eraseBody();
  }
  return success();
}

static Attribute bytesAttribute(Builder &builder, ArrayRef<char> bytes) {
  return DenseElementsAttr::getFromRawBuffer(
      RankedTensorType::get({int64_t(bytes.size())}, builder.getI8Type()),
      bytes);
}

LogicalResult
package::toObjectForm(ModuleOp module, ArrayRef<char> sharedObject,
                      const llvm::StringMap<std::string> &symbols) {
  Builder builder(module.getContext());
  if (failed(declareKernels(module, symbols, [](func::FuncOp, StringRef) {})))
    return failure();
  if (!sharedObject.empty())
    module->setAttr(exec::sharedObjectAttrName,
                    bytesAttribute(builder, sharedObject));
  return success();
}

LogicalResult
package::toObjectForm(ModuleOp module, ArrayRef<PtxCode> codes,
                      const llvm::StringMap<std::string> &symbols) {
  Builder builder(module.getContext());
  auto addFacts = [&](func::FuncOp kernel, StringRef symbol) {
    SmallVector<int64_t> launches, resources;
    SmallVector<StringRef> schedules;
    for (const PtxCode &code : codes) {
      PtxKernelFacts facts = code.kernels.lookup(symbol);
      llvm::append_range(launches, facts.launch);
      llvm::append_range(resources, facts.resources);
      schedules.push_back(facts.schedule);
    }
    kernel->setAttr(exec::launchesAttrName,
                    builder.getDenseI64ArrayAttr(launches));
    kernel->setAttr(exec::schedulesAttrName,
                    builder.getStrArrayAttr(schedules));
    if (llvm::any_of(resources, [](int64_t each) { return each != 0; }))
      kernel->setAttr(exec::resourcesAttrName,
                      builder.getDenseI64ArrayAttr(resources));
  };
  if (failed(declareKernels(module, symbols, addFacts)))
    return failure();
  SmallVector<Attribute> texts;
  for (const PtxCode &code : codes) {
    NamedAttrList entries;
    entries.set("architecture", builder.getStringAttr(code.architecture));
    entries.set("text", builder.getStringAttr(code.text));
    if (!code.binary.empty()) {
      entries.set("assembler", builder.getStringAttr(code.assembler));
      entries.set("binary", bytesAttribute(builder, code.binary));
    }
    texts.push_back(entries.getDictionary(module.getContext()));
  }
  module->setAttr(exec::ptxAttrName, builder.getArrayAttr(texts));
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
