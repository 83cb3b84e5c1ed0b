//===- Nccl.h - The part of NCCL's ABI that Tenon uses --------------------===//
//
// Own declarations of the functions, types and numbers of libnccl.so.2 that
// Tenon calls, after its documentation, so that no header of NVIDIA is needed
// to build. The runtime opens the library by name; libtenon-emulated-nccl.so
// exports the same symbols. Counts are elements, as many as a rank sends, but
// those of a reduce-scatter: as many as it gets.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIBRARIES_NCCL_H
#define TENON_LIBRARIES_NCCL_H

#include "tenon/Libraries/CudaDriver.h"

extern "C" {

using ncclComm_t = struct ncclComm *;

constexpr size_t NCCL_UNIQUE_ID_BYTES = 128;
struct ncclUniqueId {
  char internal[NCCL_UNIQUE_ID_BYTES];
};
static_assert(sizeof(ncclUniqueId) == 128);

enum ncclResult_t : int {
  ncclSuccess = 0,
  ncclUnhandledCudaError = 1,
  ncclSystemError = 2,
  ncclInternalError = 3,
  ncclInvalidArgument = 4,
  ncclInvalidUsage = 5,
  ncclRemoteError = 6,
  ncclInProgress = 7,
};

enum ncclDataType_t : int {
  ncclInt8 = 0,
  ncclUint8 = 1,
  ncclInt32 = 2,
  ncclUint32 = 3,
  ncclInt64 = 4,
  ncclUint64 = 5,
  ncclFloat16 = 6,
  ncclFloat32 = 7,
  ncclFloat64 = 8,
  ncclBfloat16 = 9,
};

enum ncclRedOp_t : int { ncclSum = 0, ncclProd = 1, ncclMax = 2, ncclMin = 3 };

/// Every function that Tenon calls: FUNCTION(result, symbol, (parameters)).
#define TENON_NCCL_FUNCTIONS(FUNCTION)                                         \
  FUNCTION(ncclResult_t, ncclGetVersion, (int *version))                       \
  FUNCTION(const char *, ncclGetErrorString, (ncclResult_t result))            \
  FUNCTION(const char *, ncclGetLastError, (ncclComm_t ranks))                 \
  FUNCTION(ncclResult_t, ncclGetUniqueId, (ncclUniqueId * id))                 \
  FUNCTION(ncclResult_t, ncclCommInitRank,                                     \
           (ncclComm_t * ranks, int count, ncclUniqueId id, int rank))         \
  FUNCTION(ncclResult_t, ncclCommDestroy, (ncclComm_t ranks))                  \
  FUNCTION(ncclResult_t, ncclCommAbort, (ncclComm_t ranks))                    \
  FUNCTION(ncclResult_t, ncclCommGetAsyncError,                                \
           (ncclComm_t ranks, ncclResult_t * result))                          \
  FUNCTION(ncclResult_t, ncclAllGather,                                        \
           (const void *send, void *receive, size_t count,                     \
            ncclDataType_t type, ncclComm_t ranks, CUstream stream))           \
  FUNCTION(ncclResult_t, ncclAllReduce,                                        \
           (const void *send, void *receive, size_t count,                     \
            ncclDataType_t type, ncclRedOp_t operation, ncclComm_t ranks,      \
            CUstream stream))                                                  \
  FUNCTION(ncclResult_t, ncclReduceScatter,                                    \
           (const void *send, void *receive, size_t count,                     \
            ncclDataType_t type, ncclRedOp_t operation, ncclComm_t ranks,      \
            CUstream stream))                                                  \
  FUNCTION(ncclResult_t, ncclSend,                                             \
           (const void *send, size_t count, ncclDataType_t type, int peer,     \
            ncclComm_t ranks, CUstream stream))                                \
  FUNCTION(ncclResult_t, ncclRecv,                                             \
           (void *receive, size_t count, ncclDataType_t type, int peer,        \
            ncclComm_t ranks, CUstream stream))                                \
  FUNCTION(ncclResult_t, ncclGroupStart, ())                                   \
  FUNCTION(ncclResult_t, ncclGroupEnd, ())

#define TENON_NCCL_DECLARE(RESULT, NAME, PARAMETERS) RESULT NAME PARAMETERS;
TENON_NCCL_FUNCTIONS(TENON_NCCL_DECLARE)
#undef TENON_NCCL_DECLARE

} // extern "C"

#endif // TENON_LIBRARIES_NCCL_H
