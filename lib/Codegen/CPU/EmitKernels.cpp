//===- EmitKernels.cpp - The kernels of exec form to one shared object ----===//
//
// Emits each distinct kernel once, compiles some at a time, side by side, and
// links them.
//
//===----------------------------------------------------------------------===//

#include "tenon/Codegen/CPU/EmitKernels.h"

#include "tenon/Codegen/CPU/CompileObjects.h"
#include "tenon/Codegen/CPU/CpuSchedules.h"
#include "tenon/Codegen/CPU/LinkSharedObject.h"
#include "tenon/Codegen/LLVM/LowerLoops.h"
#include "tenon/Codegen/Loops/DistinctKernels.h"
#include "tenon/Codegen/Loops/KernelNest.h"
#include "tenon/Dialect/Exec/Exec.h"
#include "tenon/Dialect/Step/Attention.h"

#include "mlir/IR/OwningOpRef.h"

using namespace mlir;

namespace tenon::codegen {

FailureOr<func::FuncOp> emitKernel(func::FuncOp kernel, ModuleOp target,
                                   StringRef symbol, Schedules schedules) {
  auto function =
      emitKernelFunction(kernel, target, (symbol + ".body").str(), schedules);
  if (failed(function))
    return failure();
  markKernelFunction(*function, symbol);
  return *function;
}

static bool isAttention(func::FuncOp kernel) {
  return step::isAttention(KernelDescription(kernel.front()).root());
}

/// A module has costs of its own, as much as a kernel or two; but there should
/// be several for each thread. Follows from the kernels alone, so that the
/// bytes do.
static size_t kernelsPerModule(size_t kernels) {
  constexpr size_t most = 8, wantedModules = 8;
  return std::clamp<size_t>(kernels / wantedModules, 1, most);
}

FailureOr<CompiledKernels>
emitKernels(ModuleOp module, const FeatureSet &features, const CodeWork &work) {
  prepareContext(*module.getContext());
  CpuSchedules schedules(features);
  CompiledKernels result;
  auto [distinct, symbols] = distinctKernels(module);
  result.symbols = std::move(symbols);
  result.distinct = distinct.size();
  for (auto kernel : module.getOps<func::FuncOp>())
    if (kernel->hasAttr(exec::kernelKindAttrName) && !kernel.isExternal() &&
        KernelDescription(kernel.front()).isFallback())
      kernel->setAttr(exec::fallbackAttrName,
                      UnitAttr::get(module.getContext()));

  // Kernels that share functions go to one module, which then has them once.
  SmallVector<size_t> order, others;
  for (auto [index, kernel] : llvm::enumerate(distinct))
    (isAttention(kernel) ? order : others).push_back(index);
  llvm::append_range(order, others);
  size_t perModule = kernelsPerModule(distinct.size());
  SmallVector<OwningOpRef<ModuleOp>> owned;
  SmallVector<ModuleOp> modules;
  bool ok = true;
  for (auto [place, index] : llvm::enumerate(order)) {
    func::FuncOp kernel = distinct[index];
    if (place % perModule == 0) {
      owned.push_back(ModuleOp::create(kernel.getLoc()));
      modules.push_back(*owned.back());
    }
    ok &= succeeded(
        emitKernel(kernel, modules.back(), symbolOfKernel(index), schedules));
  }
  if (!ok)
    return failure();
  auto objects = compileObjects(modules, features, work);
  if (failed(objects))
    return failure();
  auto shared = linkSharedObject(*objects, [&] { return module.emitError(); });
  if (failed(shared))
    return failure();
  result.sharedObject = std::move(*shared);
  return result;
}

} // namespace tenon::codegen
