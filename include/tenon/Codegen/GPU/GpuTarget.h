//===- GpuTarget.h - The GPU that kernels are compiled for ----------------===//
//
// Kernels are compiled for a stated architecture, never for the GPU at hand.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_CODEGEN_GPU_GPUTARGET_H
#define TENON_CODEGEN_GPU_GPUTARGET_H

#include "tenon/Support/Subnormals.h"
#include "tenon/Target/GpuArchitectures.h"

namespace tenon::codegen {

struct GpuTarget {
  const target::GpuArchitecture *architecture = nullptr;
  /// What is done with subnormal numbers of f32 and bf16. f64 and f16 keep
  /// them: there is no instruction that flushes those.
  Subnormals subnormals = Subnormals::flush;
};

} // namespace tenon::codegen

#endif // TENON_CODEGEN_GPU_GPUTARGET_H
