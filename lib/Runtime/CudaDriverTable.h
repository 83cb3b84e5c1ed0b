//===- CudaDriverTable.h - NVIDIA's driver, opened when it is needed ------===//
//
// Private to this folder. The functions of the driver that the runtime calls,
// found by name in a shared library, so that nothing of NVIDIA's is linked and
// a machine without a GPU runs files for its processor.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_RUNTIME_CUDADRIVERTABLE_H
#define TENON_LIB_RUNTIME_CUDADRIVERTABLE_H

#include "tenon/Libraries/CudaDriver.h"

#include <string>

namespace tenon::runtime {

/// All of them are there since CUDA 12.0.
#define TENON_CUDA_CALLED(FUNCTION)                                            \
  FUNCTION(cuInit)                                                             \
  FUNCTION(cuDriverGetVersion)                                                 \
  FUNCTION(cuGetErrorName)                                                     \
  FUNCTION(cuGetErrorString)                                                   \
  FUNCTION(cuDeviceGet)                                                        \
  FUNCTION(cuDeviceGetCount)                                                   \
  FUNCTION(cuDeviceGetName)                                                    \
  FUNCTION(cuDeviceGetAttribute)                                               \
  FUNCTION(cuDevicePrimaryCtxRetain)                                           \
  FUNCTION(cuDevicePrimaryCtxRelease_v2)                                       \
  FUNCTION(cuCtxSetCurrent)                                                    \
  FUNCTION(cuModuleLoadDataEx)                                                 \
  FUNCTION(cuModuleUnload)                                                     \
  FUNCTION(cuModuleGetFunction)                                                \
  FUNCTION(cuMemGetInfo_v2)                                                    \
  FUNCTION(cuMemAlloc_v2)                                                      \
  FUNCTION(cuMemFree_v2)                                                       \
  FUNCTION(cuPointerGetAttribute)                                              \
  FUNCTION(cuStreamQuery)                                                      \
  FUNCTION(cuMemHostAlloc)                                                     \
  FUNCTION(cuMemFreeHost)                                                      \
  FUNCTION(cuMemcpyHtoDAsync_v2)                                               \
  FUNCTION(cuMemcpyDtoHAsync_v2)                                               \
  FUNCTION(cuMemcpyDtoDAsync_v2)                                               \
  FUNCTION(cuMemsetD8Async)                                                    \
  FUNCTION(cuMemsetD32Async)                                                   \
  FUNCTION(cuStreamCreate)                                                     \
  FUNCTION(cuStreamDestroy_v2)                                                 \
  FUNCTION(cuStreamSynchronize)                                                \
  FUNCTION(cuStreamWaitEvent)                                                  \
  FUNCTION(cuStreamBeginCapture_v2)                                            \
  FUNCTION(cuStreamEndCapture)                                                 \
  FUNCTION(cuEventCreate)                                                      \
  FUNCTION(cuEventDestroy_v2)                                                  \
  FUNCTION(cuEventRecord)                                                      \
  FUNCTION(cuEventSynchronize)                                                 \
  FUNCTION(cuEventElapsedTime)                                                 \
  FUNCTION(cuLaunchKernel)                                                     \
  FUNCTION(cuLaunchHostFunc)                                                   \
  FUNCTION(cuGraphCreate)                                                      \
  FUNCTION(cuGraphDestroy)                                                     \
  FUNCTION(cuGraphAddKernelNode_v2)                                            \
  FUNCTION(cuGraphAddMemcpyNode)                                               \
  FUNCTION(cuGraphAddHostNode)                                                 \
  FUNCTION(cuGraphAddChildGraphNode)                                           \
  FUNCTION(cuGraphInstantiateWithFlags)                                        \
  FUNCTION(cuGraphExecDestroy)                                                 \
  FUNCTION(cuGraphLaunch)

struct CudaDriverTable {
#define TENON_CUDA_MEMBER(NAME) decltype(&::NAME) NAME = nullptr;
  TENON_CUDA_CALLED(TENON_CUDA_MEMBER)
#undef TENON_CUDA_MEMBER

  /// Opens `file`, or the installed driver if that is empty, for as long as the
  /// process lives. False with a message in `error` if it is not there or lacks
  /// a function.
  bool open(const std::string &file, std::string &error);

  /// The driver's file if it brings a cuBLASLt of its own, as the emulated one
  /// does; otherwise empty.
  std::string fileWithCublasLt;
  /// Whether it is Tenon's own, which executes PTX on the processor.
  bool isEmulated = false;

  /// "an illegal memory access was encountered (CUDA_ERROR_ILLEGAL_ADDRESS)".
  std::string textOf(CUresult result) const;
};

} // namespace tenon::runtime

#endif // TENON_LIB_RUNTIME_CUDADRIVERTABLE_H
