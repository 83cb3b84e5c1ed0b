//===- DistinctKernels.cpp - The kernels of exec form that differ ---------===//
//
// See DistinctKernels.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Codegen/Loops/DistinctKernels.h"

#include "tenon/Dialect/Exec/Exec.h"
#include "tenon/Dialect/Exec/SameKernel.h"

#include "llvm/ADT/DenseMap.h"

using namespace mlir;

namespace tenon::codegen {

std::string symbolOfKernel(size_t index) {
  return "kernel_" + std::to_string(index);
}

DistinctKernels distinctKernels(ModuleOp module) {
  DistinctKernels result;
  llvm::DenseMap<Operation *, std::string, exec::SameKernel> symbolOf;
  for (auto kernel : module.getOps<func::FuncOp>()) {
    if (!kernel->hasAttr(exec::kernelKindAttrName) || kernel.isExternal())
      continue;
    auto [known, isNew] = symbolOf.try_emplace(kernel);
    if (isNew) {
      known->second = symbolOfKernel(result.kernels.size());
      result.kernels.push_back(kernel);
    }
    result.symbols.emplace_back(kernel.getName().str(), known->second);
  }
  return result;
}

} // namespace tenon::codegen
