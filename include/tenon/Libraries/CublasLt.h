//===- CublasLt.h - The part of cuBLASLt's ABI that Tenon uses -----------===//
//
// Own declarations of the functions, structures and numbers of
// libcublasLt.so.13 that Tenon calls, so that no header of NVIDIA is needed to
// build. The runtime opens the library by name; `lib/EmulatedCuda` exports the
// same symbols. Names, numbers and layouts follow NVIDIA's documentation; where
// its header is found, a test compares them. Sizes are bytes, leading
// dimensions and batch offsets elements.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIBRARIES_CUBLASLT_H
#define TENON_LIBRARIES_CUBLASLT_H

#include "tenon/Libraries/CudaDriver.h"

extern "C" {

enum cublasStatus_t : int {
  CUBLAS_STATUS_SUCCESS = 0,
  CUBLAS_STATUS_NOT_INITIALIZED = 1,
  CUBLAS_STATUS_ALLOC_FAILED = 3,
  CUBLAS_STATUS_INVALID_VALUE = 7,
  CUBLAS_STATUS_ARCH_MISMATCH = 8,
  CUBLAS_STATUS_EXECUTION_FAILED = 13,
  CUBLAS_STATUS_INTERNAL_ERROR = 14,
  CUBLAS_STATUS_NOT_SUPPORTED = 15,
};

enum cublasComputeType_t : int {
  CUBLAS_COMPUTE_32F = 68,
  CUBLAS_COMPUTE_32F_FAST_TF32 = 77,
};

enum cudaDataType_t : int {
  CUDA_R_32F = 0,
  CUDA_R_16F = 2,
  CUDA_R_16BF = 14,
};

enum cublasOperation_t : int {
  CUBLAS_OP_N = 0,
  CUBLAS_OP_T = 1,
};

enum cublasLtMatrixLayoutAttribute_t : int {
  CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT = 5,          // int32_t
  CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET = 6, // int64_t
};

enum cublasLtMatmulDescAttributes_t : int {
  CUBLASLT_MATMUL_DESC_TRANSA = 3,       // int32_t, cublasOperation_t
  CUBLASLT_MATMUL_DESC_TRANSB = 4,       // int32_t
  CUBLASLT_MATMUL_DESC_EPILOGUE = 7,     // uint32_t, cublasLtEpilogue_t
  CUBLASLT_MATMUL_DESC_BIAS_POINTER = 8, // void *
  // Of what an activation reads or writes beside the result.
  CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER = 11, // void *
  CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD = 12,      // int64_t
};

enum cublasLtEpilogue_t : int {
  CUBLASLT_EPILOGUE_DEFAULT = 1,
  CUBLASLT_EPILOGUE_BIAS = 4,
  CUBLASLT_EPILOGUE_GELU = 32,
  CUBLASLT_EPILOGUE_GELU_BIAS = 36,
  CUBLASLT_EPILOGUE_GELU_AUX = 160,
  CUBLASLT_EPILOGUE_GELU_AUX_BIAS = 164,
  CUBLASLT_EPILOGUE_DGELU = 192,
  CUBLASLT_EPILOGUE_BGRADA = 256,
  CUBLASLT_EPILOGUE_BGRADB = 512,
};

enum cublasLtReductionScheme_t : int {
  CUBLASLT_REDUCTION_SCHEME_NONE = 0,
  CUBLASLT_REDUCTION_SCHEME_INPLACE = 1,
  CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE = 2,
  CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE = 4,
};

enum cublasLtMatmulPreferenceAttributes_t : int {
  CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES = 1,   // uint64_t
  CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK = 3, // uint32_t
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES = 5, // uint32_t
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES = 6, // uint32_t
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES = 7, // uint32_t
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES = 8, // uint32_t
};

struct cublasLtContext;
struct cublasLtMatmulDescOpaque_t;
struct cublasLtMatrixLayoutOpaque_t;
struct cublasLtMatmulPreferenceOpaque_t;
using cublasLtHandle_t = cublasLtContext *;
using cublasLtMatmulDesc_t = cublasLtMatmulDescOpaque_t *;
using cublasLtMatrixLayout_t = cublasLtMatrixLayoutOpaque_t *;
using cublasLtMatmulPreference_t = cublasLtMatmulPreferenceOpaque_t *;

/// May be stored and given back to the same version of the library.
struct cublasLtMatmulAlgo_t {
  uint64_t data[8];
};

struct cublasLtMatmulHeuristicResult_t {
  cublasLtMatmulAlgo_t algo;
  size_t workspaceSize;
  cublasStatus_t state;
  float wavesCount;
  int reserved[4];
};

static_assert(sizeof(cublasLtMatmulAlgo_t) == 64);
static_assert(sizeof(cublasLtMatmulHeuristicResult_t) == 96);

/// Every function that Tenon calls: FUNCTION(result, symbol, (parameters)).
#define TENON_CUBLASLT_FUNCTIONS(FUNCTION)                                     \
  FUNCTION(cublasStatus_t, cublasLtCreate, (cublasLtHandle_t * handle))        \
  FUNCTION(cublasStatus_t, cublasLtDestroy, (cublasLtHandle_t handle))         \
  FUNCTION(const char *, cublasLtGetStatusName, (cublasStatus_t status))       \
  FUNCTION(size_t, cublasLtGetVersion, ())                                     \
  FUNCTION(cublasStatus_t, cublasLtMatmulDescCreate,                           \
           (cublasLtMatmulDesc_t * descriptor, cublasComputeType_t compute,    \
            cudaDataType_t scale))                                             \
  FUNCTION(cublasStatus_t, cublasLtMatmulDescDestroy,                          \
           (cublasLtMatmulDesc_t descriptor))                                  \
  FUNCTION(cublasStatus_t, cublasLtMatmulDescSetAttribute,                     \
           (cublasLtMatmulDesc_t descriptor,                                   \
            cublasLtMatmulDescAttributes_t attribute, const void *value,       \
            size_t bytes))                                                     \
  FUNCTION(cublasStatus_t, cublasLtMatrixLayoutCreate,                         \
           (cublasLtMatrixLayout_t * layout, cudaDataType_t type,              \
            uint64_t rows, uint64_t columns, int64_t leading))                 \
  FUNCTION(cublasStatus_t, cublasLtMatrixLayoutDestroy,                        \
           (cublasLtMatrixLayout_t layout))                                    \
  FUNCTION(cublasStatus_t, cublasLtMatrixLayoutSetAttribute,                   \
           (cublasLtMatrixLayout_t layout,                                     \
            cublasLtMatrixLayoutAttribute_t attribute, const void *value,      \
            size_t bytes))                                                     \
  FUNCTION(cublasStatus_t, cublasLtMatmulPreferenceCreate,                     \
           (cublasLtMatmulPreference_t * preference))                          \
  FUNCTION(cublasStatus_t, cublasLtMatmulPreferenceDestroy,                    \
           (cublasLtMatmulPreference_t preference))                            \
  FUNCTION(cublasStatus_t, cublasLtMatmulPreferenceSetAttribute,               \
           (cublasLtMatmulPreference_t preference,                             \
            cublasLtMatmulPreferenceAttributes_t attribute, const void *value, \
            size_t bytes))                                                     \
  FUNCTION(cublasStatus_t, cublasLtMatmulAlgoGetHeuristic,                     \
           (cublasLtHandle_t handle, cublasLtMatmulDesc_t descriptor,          \
            cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,                \
            cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,                \
            cublasLtMatmulPreference_t preference, int most,                   \
            cublasLtMatmulHeuristicResult_t *results, int *count))             \
  FUNCTION(cublasStatus_t, cublasLtMatmulAlgoCheck,                            \
           (cublasLtHandle_t handle, cublasLtMatmulDesc_t descriptor,          \
            cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,                \
            cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,                \
            const cublasLtMatmulAlgo_t *algorithm,                             \
            cublasLtMatmulHeuristicResult_t *result))                          \
  FUNCTION(cublasStatus_t, cublasLtMatmul,                                     \
           (cublasLtHandle_t handle, cublasLtMatmulDesc_t descriptor,          \
            const void *alpha, const void *a, cublasLtMatrixLayout_t aLayout,  \
            const void *b, cublasLtMatrixLayout_t bLayout, const void *beta,   \
            const void *c, cublasLtMatrixLayout_t cLayout, void *d,            \
            cublasLtMatrixLayout_t dLayout,                                    \
            const cublasLtMatmulAlgo_t *algorithm, void *workspace,            \
            size_t workspaceBytes, CUstream stream))

#ifndef TENON_CUBLASLT_TYPES_ALONE // test/Unit/Libraries/CublasLtHeader.cpp
#define TENON_CUBLASLT_DECLARE(RESULT, NAME, PARAMETERS) RESULT NAME PARAMETERS;
TENON_CUBLASLT_FUNCTIONS(TENON_CUBLASLT_DECLARE)
#undef TENON_CUBLASLT_DECLARE
#endif

} // extern "C"

#endif // TENON_LIBRARIES_CUBLASLT_H
