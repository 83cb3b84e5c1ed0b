//===- EmitGpuKernels.cpp - The kernels of exec form to PTX ---------------===//
//
// See EmitGpuKernels.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Codegen/GPU/EmitGpuKernels.h"

#include "JointLaunches.h"

#include "tenon/Codegen/Loops/DistinctKernels.h"

using namespace mlir;

namespace tenon::codegen {

FailureOr<GpuKernels>
emitGpuKernels(ModuleOp module,
               ArrayRef<const target::GpuArchitecture *> architectures,
               Subnormals subnormals, const CodeWork &work) {
  auto [distinct, symbols] = distinctKernels(module);
  GpuKernels result;
  result.symbols = std::move(symbols);
  // Launches follow from the shapes alone, so they are the same for all.
  JointLaunches launches(distinct, result.symbols,
                         {architectures.front(), subnormals});
  launches.collect(module);
  result.joint = launches.found();
  for (const target::GpuArchitecture *architecture : architectures) {
    auto ptx = emitPtx(distinct, {architecture, subnormals},
                       launches.distinct(), work);
    if (failed(ptx))
      return failure();
    result.modules.push_back(std::move(*ptx));
  }
  return result;
}

} // namespace tenon::codegen
