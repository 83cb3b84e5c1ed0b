//===- CublasLtHeader.cpp - Our declarations against NVIDIA's -------------===//
//
// Compiled where NVIDIA's header is found, and nothing else: a number, a size
// or a parameter that differs is an error.
//
//===----------------------------------------------------------------------===//

#include <cublasLt.h>

#include <array>
#include <cstddef>
#include <cstdint>

#define TENON_CUBLASLT_TYPES_ALONE
namespace ours {
#include "tenon/Libraries/CublasLt.h"

#define TENON_TYPE(RESULT, NAME, PARAMETERS)                                   \
  using Type_##NAME = RESULT PARAMETERS;
TENON_CUBLASLT_FUNCTIONS(TENON_TYPE)
#undef TENON_TYPE
} // namespace ours

/// The sizes of a function's result and parameters.
template <typename Result, typename... Parameters>
constexpr std::array<size_t, 1 + sizeof...(Parameters)>
sizesOf(Result (*)(Parameters...)) {
  return {sizeof(Result), sizeof(Parameters)...};
}

#define TENON_CHECK(RESULT, NAME, PARAMETERS)                                  \
  static_assert(sizesOf(decltype (&::NAME)(nullptr)) ==                        \
                sizesOf((ours::Type_##NAME *)(nullptr)));
TENON_CUBLASLT_FUNCTIONS(TENON_CHECK)
#undef TENON_CHECK

static_assert(sizeof(ours::cublasLtMatmulAlgo_t) ==
              sizeof(::cublasLtMatmulAlgo_t));
static_assert(sizeof(ours::cublasLtMatmulHeuristicResult_t) ==
              sizeof(::cublasLtMatmulHeuristicResult_t));
static_assert(offsetof(ours::cublasLtMatmulHeuristicResult_t, workspaceSize) ==
              offsetof(::cublasLtMatmulHeuristicResult_t, workspaceSize));
static_assert(offsetof(ours::cublasLtMatmulHeuristicResult_t, state) ==
              offsetof(::cublasLtMatmulHeuristicResult_t, state));

#define TENON_SAME(NAME) static_assert(int(ours::NAME) == int(::NAME));
TENON_SAME(CUBLAS_STATUS_SUCCESS)
TENON_SAME(CUBLAS_STATUS_NOT_INITIALIZED)
TENON_SAME(CUBLAS_STATUS_ALLOC_FAILED)
TENON_SAME(CUBLAS_STATUS_INVALID_VALUE)
TENON_SAME(CUBLAS_STATUS_ARCH_MISMATCH)
TENON_SAME(CUBLAS_STATUS_EXECUTION_FAILED)
TENON_SAME(CUBLAS_STATUS_INTERNAL_ERROR)
TENON_SAME(CUBLAS_STATUS_NOT_SUPPORTED)
TENON_SAME(CUBLAS_COMPUTE_32F)
TENON_SAME(CUBLAS_COMPUTE_32F_FAST_TF32)
TENON_SAME(CUDA_R_32F)
TENON_SAME(CUDA_R_16F)
TENON_SAME(CUDA_R_16BF)
TENON_SAME(CUBLAS_OP_N)
TENON_SAME(CUBLAS_OP_T)
TENON_SAME(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT)
TENON_SAME(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET)
TENON_SAME(CUBLASLT_MATMUL_DESC_TRANSA)
TENON_SAME(CUBLASLT_MATMUL_DESC_TRANSB)
TENON_SAME(CUBLASLT_MATMUL_DESC_EPILOGUE)
TENON_SAME(CUBLASLT_MATMUL_DESC_BIAS_POINTER)
TENON_SAME(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER)
TENON_SAME(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD)
TENON_SAME(CUBLASLT_EPILOGUE_DEFAULT)
TENON_SAME(CUBLASLT_EPILOGUE_BIAS)
TENON_SAME(CUBLASLT_EPILOGUE_GELU)
TENON_SAME(CUBLASLT_EPILOGUE_GELU_BIAS)
TENON_SAME(CUBLASLT_EPILOGUE_GELU_AUX)
TENON_SAME(CUBLASLT_EPILOGUE_GELU_AUX_BIAS)
TENON_SAME(CUBLASLT_EPILOGUE_DGELU)
TENON_SAME(CUBLASLT_EPILOGUE_BGRADA)
TENON_SAME(CUBLASLT_EPILOGUE_BGRADB)
TENON_SAME(CUBLASLT_REDUCTION_SCHEME_NONE)
TENON_SAME(CUBLASLT_REDUCTION_SCHEME_INPLACE)
TENON_SAME(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE)
TENON_SAME(CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE)
TENON_SAME(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES)
TENON_SAME(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK)
TENON_SAME(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES)
TENON_SAME(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES)
TENON_SAME(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES)
TENON_SAME(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES)
#undef TENON_SAME
