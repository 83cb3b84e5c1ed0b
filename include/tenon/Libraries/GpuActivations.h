//===- GpuActivations.h - Activations that cuBLASLt declines --------------===//
//
// cuBLASLt has a product with an activation in some of its kernels and not in
// others. Where it has none, the product is finished first, and a kernel of
// ours applies the activation where the result lies, so that it needs no memory
// beyond the call's. It is written as PTX for the oldest GPU that steps are
// compiled for, and the driver compiles it when a file is loaded that needs it.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIBRARIES_GPUACTIVATIONS_H
#define TENON_LIBRARIES_GPUACTIVATIONS_H

#include "tenon/Libraries/CudaDriver.h"
#include "tenon/Libraries/GpuMatmul.h"

#include <memory>

namespace tenon::libraries {

/// The driver's functions that calls need beside those of cuBLASLt.
struct GpuDriverCalls {
  decltype(&::cuMemsetD32Async) fill = nullptr;
  decltype(&::cuModuleLoadDataEx) load = nullptr;
  decltype(&::cuModuleUnload) unload = nullptr;
  decltype(&::cuModuleGetFunction) function = nullptr;
  decltype(&::cuLaunchKernel) launch = nullptr;
};

/// The kernel of one activation, for elements of one type of 16 bits.
class GpuActivation {
public:
  /// Null with `result` set if the driver does not take it.
  static std::unique_ptr<GpuActivation> load(const GpuDriverCalls &driver,
                                             Activation activation,
                                             ElementType type,
                                             CUresult &result);
  ~GpuActivation();
  GpuActivation(const GpuActivation &) = delete;
  GpuActivation &operator=(const GpuActivation &) = delete;

  /// to[i] = gelu(input[i]), where both may be the same, or
  /// to[i] = to[i] * gelu'(input[i]).
  CUresult enqueue(CUdeviceptr to, CUdeviceptr input, int64_t count,
                   CUstream stream) const;

private:
  explicit GpuActivation(const GpuDriverCalls &driver) : driver(driver) {}

  GpuDriverCalls driver;
  CUmodule module = nullptr;
  CUfunction function = nullptr;
};

} // namespace tenon::libraries

#endif // TENON_LIBRARIES_GPUACTIVATIONS_H
