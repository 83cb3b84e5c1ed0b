//===- CublasLt.h - Products of the emulated cuBLASLt
//----------------------===//
//
// A product is work of a stream as a kernel is: while the stream captures, it
// becomes a node of the graph. What it reads and writes is checked when it
// runs.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIB_EMULATEDCUDA_CUBLASLT_H
#define TENON_LIB_EMULATEDCUDA_CUBLASLT_H

#include "Driver.h"
#include "tenon/Libraries/CublasLt.h"

// The handles of cuBLASLt are pointers to these.
struct cublasLtContext {};
struct cublasLtMatrixLayoutOpaque_t {
  cudaDataType_t type;
  uint64_t rows, columns;
  int64_t leading;
  int32_t batch = 1;
  int64_t batchOffset = 0;
  bool operator==(const cublasLtMatrixLayoutOpaque_t &) const = default;
};
struct cublasLtMatmulDescOpaque_t {
  int32_t transposeFirst = CUBLAS_OP_N, transposeSecond = CUBLAS_OP_N;
  uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  uint64_t bias = 0;
  uint64_t input = 0; // of an activation
  int64_t inputLeading = 0;
  bool roundsToTf32 = false; // operands, which are f32
};
struct cublasLtMatmulPreferenceOpaque_t {
  uint64_t workspaceBytes = 0;
  uint32_t schemes = 7;
  uint32_t alignment[4] = {256, 256, 256, 256};
};

namespace tenon::emulated {

/// A product without the places of its matrices.
struct Product {
  cublasLtMatmulDescOpaque_t operation;
  cublasLtMatrixLayoutOpaque_t a, b, c, d;
};

struct ProductWork {
  Product product;
  uint64_t a, b, c, d, workspace, workspaceBytes;
  float alpha, beta;
  /// The sum over k is cut into so many parts, each added up by itself.
  unsigned parts;
  /// How many of the last terms are forgotten, as some versions do.
  uint64_t forgotten;
  uint64_t microseconds;
};

} // namespace tenon::emulated

#endif // TENON_LIB_EMULATEDCUDA_CUBLASLT_H
