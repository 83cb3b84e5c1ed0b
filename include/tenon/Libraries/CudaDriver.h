//===- CudaDriver.h - The part of the CUDA driver's ABI that Tenon uses ---===//
//
// Own declarations of the functions, structures and numbers of libcuda.so.1
// that Tenon calls, so that no header of NVIDIA is needed to build. The runtime
// opens the library by name; `lib/EmulatedCuda` exports the same symbols.
// Names, numbers and layouts follow the documentation of the CUDA driver API;
// where it versions a function, the macro-free name here is that of the
// exported symbol (`_v2`). Sizes are bytes, extents are counts of threads or
// blocks.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIBRARIES_CUDADRIVER_H
#define TENON_LIBRARIES_CUDADRIVER_H

#include <cstddef>
#include <cstdint>

extern "C" {

using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = struct CUctx_st *;
using CUmodule = struct CUmod_st *;
using CUfunction = struct CUfunc_st *;
using CUkernel = struct CUkern_st *;
using CUarray = struct CUarray_st *;
using CUstream = struct CUstream_st *;
using CUevent = struct CUevent_st *;
using CUgraph = struct CUgraph_st *;
using CUgraphNode = struct CUgraphNode_st *;
using CUgraphExec = struct CUgraphExec_st *;
using CUhostFn = void (*)(void *data); // must not call the driver

enum CUresult : int {
  CUDA_SUCCESS = 0,
  CUDA_ERROR_INVALID_VALUE = 1,
  CUDA_ERROR_OUT_OF_MEMORY = 2,
  CUDA_ERROR_NOT_INITIALIZED = 3,
  CUDA_ERROR_DEINITIALIZED = 4,
  CUDA_ERROR_NO_DEVICE = 100,
  CUDA_ERROR_INVALID_DEVICE = 101,
  CUDA_ERROR_INVALID_IMAGE = 200,
  CUDA_ERROR_INVALID_CONTEXT = 201,
  CUDA_ERROR_NO_BINARY_FOR_GPU = 209,
  CUDA_ERROR_INVALID_PTX = 218,
  CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222,
  CUDA_ERROR_INVALID_HANDLE = 400,
  CUDA_ERROR_NOT_FOUND = 500,
  CUDA_ERROR_NOT_READY = 600,
  CUDA_ERROR_ILLEGAL_ADDRESS = 700,
  CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES = 701,
  CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED = 712,
  CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED = 713,
  CUDA_ERROR_ILLEGAL_INSTRUCTION = 715,
  CUDA_ERROR_MISALIGNED_ADDRESS = 716,
  CUDA_ERROR_LAUNCH_FAILED = 719,
  CUDA_ERROR_NOT_PERMITTED = 800,
  CUDA_ERROR_NOT_SUPPORTED = 801,
  CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900,
};

enum CUdevice_attribute : int {
  CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 1,
  CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X = 2,
  CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y = 3,
  CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z = 4,
  CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X = 5,
  CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y = 6,
  CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z = 7,
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK = 8,
  CU_DEVICE_ATTRIBUTE_WARP_SIZE = 10,
  CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK = 12,
  CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
  CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING = 41,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR = 81,
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
};

enum CUfunction_attribute : int {
  CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 0,
  CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1,
  CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES = 2,
  CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES = 3,
  CU_FUNC_ATTRIBUTE_NUM_REGS = 4,
  CU_FUNC_ATTRIBUTE_PTX_VERSION = 5,
  CU_FUNC_ATTRIBUTE_BINARY_VERSION = 6,
  CU_FUNC_ATTRIBUTE_CACHE_MODE_CA = 7,
  CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
};

enum CUjit_option : int {
  CU_JIT_INFO_LOG_BUFFER = 3,
  CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES = 4,
  CU_JIT_ERROR_LOG_BUFFER = 5,
  CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6,
};

enum CUmemorytype : int {
  CU_MEMORYTYPE_HOST = 1,
  CU_MEMORYTYPE_DEVICE = 2,
  CU_MEMORYTYPE_ARRAY = 3,
  CU_MEMORYTYPE_UNIFIED = 4,
};

enum CUpointer_attribute : int {
  CU_POINTER_ATTRIBUTE_MEMORY_TYPE = 2,       // CUmemorytype
  CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9,    // int
  CU_POINTER_ATTRIBUTE_RANGE_START_ADDR = 11, // CUdeviceptr
  CU_POINTER_ATTRIBUTE_RANGE_SIZE = 12,       // size_t
};

enum CUstreamCaptureMode : int {
  CU_STREAM_CAPTURE_MODE_THREAD_LOCAL = 1,
};

enum CUgraphNodeType : int {
  CU_GRAPH_NODE_TYPE_KERNEL = 0,
  CU_GRAPH_NODE_TYPE_MEMCPY = 1,
  CU_GRAPH_NODE_TYPE_MEMSET = 2,
  CU_GRAPH_NODE_TYPE_EMPTY = 5,
};

/// Also CUDA_KERNEL_NODE_PARAMS_v3, which has the same layout.
struct CUDA_KERNEL_NODE_PARAMS {
  CUfunction func;
  unsigned gridDimX, gridDimY, gridDimZ;
  unsigned blockDimX, blockDimY, blockDimZ;
  unsigned sharedMemBytes;
  void **kernelParams;
  void **extra;
  CUkernel kern;
  CUcontext ctx;
};

struct CUDA_MEMCPY3D {
  size_t srcXInBytes, srcY, srcZ, srcLOD;
  CUmemorytype srcMemoryType;
  const void *srcHost;
  CUdeviceptr srcDevice;
  CUarray srcArray;
  void *reserved0;
  size_t srcPitch, srcHeight;
  size_t dstXInBytes, dstY, dstZ, dstLOD;
  CUmemorytype dstMemoryType;
  void *dstHost;
  CUdeviceptr dstDevice;
  CUarray dstArray;
  void *reserved1;
  size_t dstPitch, dstHeight;
  size_t WidthInBytes, Height, Depth;
};

struct CUDA_MEMCPY_NODE_PARAMS {
  int flags;
  int reserved;
  CUcontext copyCtx;
  CUDA_MEMCPY3D copyParams;
};

struct CUDA_HOST_NODE_PARAMS {
  CUhostFn fn;
  void *userData;
};

struct CUDA_MEMSET_NODE_PARAMS {
  CUdeviceptr dst;
  size_t pitch;
  unsigned value;
  unsigned elementSize;
  size_t width;
  size_t height;
};

struct CUDA_MEMSET_NODE_PARAMS_v2 {
  CUDA_MEMSET_NODE_PARAMS memset;
  CUcontext ctx;
};

struct CUgraphEdgeData {
  unsigned char from_port, to_port, type, reserved[5];
};

struct CUgraphNodeParams {
  CUgraphNodeType type;
  int reserved0[3];
  union {
    long long reserved1[29];
    CUDA_KERNEL_NODE_PARAMS kernel;
    CUDA_MEMCPY_NODE_PARAMS memcpy;
    CUDA_MEMSET_NODE_PARAMS_v2 memset;
  };
  long long reserved2;
};

static_assert(sizeof(CUDA_KERNEL_NODE_PARAMS) == 72);
static_assert(sizeof(CUDA_MEMCPY3D) == 200);
static_assert(sizeof(CUDA_HOST_NODE_PARAMS) == 16);
static_assert(sizeof(CUDA_MEMSET_NODE_PARAMS) == 40);
static_assert(sizeof(CUgraphNodeParams) == 256);
static_assert(sizeof(CUgraphEdgeData) == 8);

/// Every function that Tenon calls: FUNCTION(symbol, (parameters)). All return
/// CUresult.
#define TENON_CUDA_DRIVER_FUNCTIONS(FUNCTION)                                  \
  FUNCTION(cuInit, (unsigned flags))                                           \
  FUNCTION(cuDriverGetVersion, (int *version))                                 \
  FUNCTION(cuGetErrorName, (CUresult error, const char **text))                \
  FUNCTION(cuGetErrorString, (CUresult error, const char **text))              \
  FUNCTION(cuGetProcAddress_v2,                                                \
           (const char *symbol, void **function, int cudaVersion,              \
            uint64_t flags, int *symbolStatus))                                \
  FUNCTION(cuDeviceGet, (CUdevice * device, int ordinal))                      \
  FUNCTION(cuDeviceGetCount, (int *count))                                     \
  FUNCTION(cuDeviceGetName, (char *name, int length, CUdevice device))         \
  FUNCTION(cuDeviceGetAttribute,                                               \
           (int *value, CUdevice_attribute attribute, CUdevice device))        \
  FUNCTION(cuDeviceTotalMem_v2, (size_t *bytes, CUdevice device))              \
  FUNCTION(cuDeviceComputeCapability,                                          \
           (int *major, int *minor, CUdevice device))                          \
  FUNCTION(cuDevicePrimaryCtxRetain, (CUcontext * context, CUdevice device))   \
  FUNCTION(cuDevicePrimaryCtxRelease_v2, (CUdevice device))                    \
  FUNCTION(cuCtxSetCurrent, (CUcontext context))                               \
  FUNCTION(cuCtxGetCurrent, (CUcontext * context))                             \
  FUNCTION(cuCtxSynchronize, ())                                               \
  FUNCTION(cuModuleLoadData, (CUmodule * module, const void *image))           \
  FUNCTION(cuModuleLoadDataEx,                                                 \
           (CUmodule * module, const void *image, unsigned optionCount,        \
            CUjit_option *options, void **optionValues))                       \
  FUNCTION(cuModuleUnload, (CUmodule module))                                  \
  FUNCTION(cuModuleGetFunction,                                                \
           (CUfunction * function, CUmodule module, const char *name))         \
  FUNCTION(cuModuleGetGlobal_v2, (CUdeviceptr * address, size_t *bytes,        \
                                  CUmodule module, const char *name))          \
  FUNCTION(cuFuncGetAttribute,                                                 \
           (int *value, CUfunction_attribute attribute, CUfunction function))  \
  FUNCTION(cuFuncSetAttribute,                                                 \
           (CUfunction function, CUfunction_attribute attribute, int value))   \
  FUNCTION(cuMemGetInfo_v2, (size_t *free, size_t *total))                     \
  FUNCTION(cuMemAlloc_v2, (CUdeviceptr * address, size_t bytes))               \
  FUNCTION(cuMemFree_v2, (CUdeviceptr address))                                \
  FUNCTION(cuPointerGetAttribute,                                              \
           (void *value, CUpointer_attribute attribute, CUdeviceptr address))  \
  FUNCTION(cuMemHostAlloc, (void **pointer, size_t bytes, unsigned flags))     \
  FUNCTION(cuMemFreeHost, (void *pointer))                                     \
  FUNCTION(cuMemHostRegister_v2,                                               \
           (void *pointer, size_t bytes, unsigned flags))                      \
  FUNCTION(cuMemHostUnregister, (void *pointer))                               \
  FUNCTION(cuMemcpyHtoDAsync_v2,                                               \
           (CUdeviceptr to, const void *from, size_t bytes, CUstream stream))  \
  FUNCTION(cuMemcpyDtoHAsync_v2,                                               \
           (void *to, CUdeviceptr from, size_t bytes, CUstream stream))        \
  FUNCTION(cuMemcpyDtoDAsync_v2,                                               \
           (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream))  \
  FUNCTION(cuMemsetD8Async, (CUdeviceptr to, unsigned char value,              \
                             size_t count, CUstream stream))                   \
  FUNCTION(cuMemsetD16Async, (CUdeviceptr to, unsigned short value,            \
                              size_t count, CUstream stream))                  \
  FUNCTION(cuMemsetD32Async,                                                   \
           (CUdeviceptr to, unsigned value, size_t count, CUstream stream))    \
  FUNCTION(cuStreamCreate, (CUstream * stream, unsigned flags))                \
  FUNCTION(cuStreamDestroy_v2, (CUstream stream))                              \
  FUNCTION(cuStreamSynchronize, (CUstream stream))                             \
  FUNCTION(cuStreamQuery, (CUstream stream))                                   \
  FUNCTION(cuStreamBeginCapture_v2,                                            \
           (CUstream stream, CUstreamCaptureMode mode))                        \
  FUNCTION(cuStreamEndCapture, (CUstream stream, CUgraph * graph))             \
  FUNCTION(cuStreamWaitEvent,                                                  \
           (CUstream stream, CUevent event, unsigned flags))                   \
  FUNCTION(cuEventCreate, (CUevent * event, unsigned flags))                   \
  FUNCTION(cuEventDestroy_v2, (CUevent event))                                 \
  FUNCTION(cuEventRecord, (CUevent event, CUstream stream))                    \
  FUNCTION(cuEventSynchronize, (CUevent event))                                \
  FUNCTION(cuEventQuery, (CUevent event))                                      \
  FUNCTION(cuEventElapsedTime,                                                 \
           (float *milliseconds, CUevent start, CUevent end))                  \
  FUNCTION(cuLaunchKernel,                                                     \
           (CUfunction function, unsigned gridX, unsigned gridY,               \
            unsigned gridZ, unsigned blockX, unsigned blockY, unsigned blockZ, \
            unsigned sharedBytes, CUstream stream, void **parameters,          \
            void **extra))                                                     \
  FUNCTION(cuLaunchHostFunc, (CUstream stream, CUhostFn function, void *data)) \
  FUNCTION(cuGraphCreate, (CUgraph * graph, unsigned flags))                   \
  FUNCTION(cuGraphDestroy, (CUgraph graph))                                    \
  FUNCTION(cuGraphAddKernelNode_v2,                                            \
           (CUgraphNode * node, CUgraph graph, const CUgraphNode *after,       \
            size_t afterCount, const CUDA_KERNEL_NODE_PARAMS *what))           \
  FUNCTION(cuGraphAddMemcpyNode,                                               \
           (CUgraphNode * node, CUgraph graph, const CUgraphNode *after,       \
            size_t afterCount, const CUDA_MEMCPY3D *what, CUcontext context))  \
  FUNCTION(cuGraphAddHostNode,                                                 \
           (CUgraphNode * node, CUgraph graph, const CUgraphNode *after,       \
            size_t afterCount, const CUDA_HOST_NODE_PARAMS *what))             \
  FUNCTION(cuGraphAddMemsetNode,                                               \
           (CUgraphNode * node, CUgraph graph, const CUgraphNode *after,       \
            size_t afterCount, const CUDA_MEMSET_NODE_PARAMS *what,            \
            CUcontext context))                                                \
  FUNCTION(cuGraphAddEmptyNode, (CUgraphNode * node, CUgraph graph,            \
                                 const CUgraphNode *after, size_t afterCount)) \
  FUNCTION(cuGraphAddChildGraphNode,                                           \
           (CUgraphNode * node, CUgraph graph, const CUgraphNode *after,       \
            size_t afterCount, CUgraph child))                                 \
  FUNCTION(cuGraphAddNode,                                                     \
           (CUgraphNode * node, CUgraph graph, const CUgraphNode *after,       \
            size_t afterCount, CUgraphNodeParams *what))                       \
  FUNCTION(cuGraphAddNode_v2,                                                  \
           (CUgraphNode * node, CUgraph graph, const CUgraphNode *after,       \
            const CUgraphEdgeData *edges, size_t afterCount,                   \
            CUgraphNodeParams *what))                                          \
  FUNCTION(                                                                    \
      cuGraphInstantiateWithFlags,                                             \
      (CUgraphExec * executable, CUgraph graph, unsigned long long flags))     \
  FUNCTION(cuGraphExecDestroy, (CUgraphExec executable))                       \
  FUNCTION(cuGraphLaunch, (CUgraphExec executable, CUstream stream))

#define TENON_CUDA_DECLARE(NAME, PARAMETERS) CUresult NAME PARAMETERS;
TENON_CUDA_DRIVER_FUNCTIONS(TENON_CUDA_DECLARE)
#undef TENON_CUDA_DECLARE

} // extern "C"

#endif // TENON_LIBRARIES_CUDADRIVER_H
