//===- DistinctKernels.cpp - The kernels of exec form that differ ---------===//
//
// See DistinctKernels.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Codegen/Loops/DistinctKernels.h"

#include "tenon/Dialect/Exec/Exec.h"
#include "tenon/Dialect/Exec/OutlineKernel.h"

#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace tenon::codegen {

/// Everything about a kernel that its code depends on, as text.
static std::string contentOf(func::FuncOp kernel) {
  OwningOpRef<func::FuncOp> copy = kernel.clone();
  SmallVector<NamedAttribute> kept;
  kept.emplace_back(copy->getSymNameAttrName(),
                    StringAttr::get(kernel.getContext(), "kernel"));
  kept.emplace_back(copy->getFunctionTypeAttrName(),
                    TypeAttr::get(kernel.getFunctionType()));
  for (StringRef name : {exec::inPlaceAttrName, exec::neverReadAttrName})
    if (Attribute value = kernel->getAttr(name))
      kept.emplace_back(StringAttr::get(kernel.getContext(), name), value);
  (*copy)->setAttrs(DictionaryAttr::get(kernel.getContext(), kept));
  std::string text;
  llvm::raw_string_ostream stream(text);
  copy->print(stream, OpPrintingFlags().useLocalScope().printGenericOpForm());
  return text;
}

std::string symbolOfKernel(size_t index) {
  return "kernel_" + std::to_string(index);
}

DistinctKernels distinctKernels(ModuleOp module) {
  DistinctKernels result;
  llvm::StringMap<std::string> symbolOfContent;
  for (auto kernel : module.getOps<func::FuncOp>()) {
    if (!kernel->hasAttr(exec::kernelKindAttrName) || kernel.isExternal())
      continue;
    auto [known, isNew] = symbolOfContent.try_emplace(contentOf(kernel));
    if (isNew) {
      known->second = symbolOfKernel(result.kernels.size());
      result.kernels.push_back(kernel);
    }
    result.symbols.emplace_back(kernel.getName().str(), known->second);
  }
  return result;
}

} // namespace tenon::codegen
