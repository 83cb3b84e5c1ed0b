//===- GpuCalls.h - Products that cuBLASLt runs on a GPU ------------------===//
//
// What the runtime makes of a GpuMatmulDescription when it loads a file for
// GPUs. The library is opened by name. It offers several algorithms for a
// product; which of them runs is chosen by whoever has run and compared them,
// and stays the same from then on.
//
// The GPU's context is current on the calling thread in all calls, and belongs
// to the caller.
//
//===----------------------------------------------------------------------===//

#ifndef TENON_LIBRARIES_GPUCALLS_H
#define TENON_LIBRARIES_GPUCALLS_H

#include "tenon/Libraries/CublasLt.h"
#include "tenon/Libraries/GpuActivations.h"
#include "tenon/Libraries/GpuMatmul.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tenon::libraries {

/// The library's functions, and its handle for the current context.
class CublasLt {
public:
  /// Opens `file`, or the installed library if that is empty, for as long as
  /// the process lives. Null with a message in `error` if it is not there, of
  /// another major version, or does not start.
  static std::shared_ptr<CublasLt> open(const std::string &file,
                                        const GpuDriverCalls &driver,
                                        std::string &error);
  ~CublasLt();
  CublasLt(const CublasLt &) = delete;
  CublasLt &operator=(const CublasLt &) = delete;

  /// `13.1.0` of 130100.
  std::string version() const;
  /// `CUBLAS_STATUS_NOT_SUPPORTED`.
  std::string textOf(cublasStatus_t status) const;

#define TENON_CUBLASLT_MEMBER(RESULT, NAME, PARAMETERS)                        \
  decltype(&::NAME) NAME = nullptr;
  TENON_CUBLASLT_FUNCTIONS(TENON_CUBLASLT_MEMBER)
#undef TENON_CUBLASLT_MEMBER
  GpuDriverCalls driver;
  cublasLtHandle_t handle = nullptr;

private:
  CublasLt() = default;
};

/// Where a product finds its matrices; the addend, the bias, the input of an
/// activation and the sums of an operand only if it has them.
struct GpuOperands {
  CUdeviceptr lhs = 0, rhs = 0, addend = 0, bias = 0, input = 0, result = 0,
              sums = 0, workspace = 0;
};

/// One product of the library, of at most one batch dimension.
class GpuProduct {
public:
  /// Null with `status` set if the library offers no algorithm for it within
  /// the workspace.
  static std::unique_ptr<GpuProduct>
  create(std::shared_ptr<const CublasLt> library,
         const GpuMatmulDescription &description,
         const ColumnMajorProduct &product, uint64_t workspaceBytes,
         cublasStatus_t &status);
  ~GpuProduct();
  GpuProduct(const GpuProduct &) = delete;
  GpuProduct &operator=(const GpuProduct &) = delete;

  /// The description without the batch dimensions that are calls of their own.
  const GpuMatmulDescription &description() const { return described; }
  /// The library's algorithms, the one that it thinks is the fastest first.
  /// None of them rounds partial sums to less than f32, or adds them up in an
  /// order that differs between runs.
  std::span<const cublasLtMatmulHeuristicResult_t> algorithms() const {
    return offered;
  }
  /// Bytes that an algorithm may use.
  uint64_t workspaceLimit() const { return workspaceBytes; }
  /// All that the library was asked for, as a text: where that is the same,
  /// with the same library and GPU, so are the algorithms that it may offer.
  std::string question() const;
  /// Which of them runs; the first unless chosen.
  void choose(size_t algorithm) { chosen = offered[algorithm]; }
  /// One that was chosen before. False if the library does not take it.
  bool choose(const cublasLtMatmulAlgo_t &algorithm);
  const cublasLtMatmulAlgo_t &algorithm() const { return chosen.algo; }

  /// Puts the product into the stream, which may be capturing.
  cublasStatus_t enqueue(const GpuOperands &operands, CUstream stream) const;

private:
  GpuProduct(std::shared_ptr<const CublasLt> library,
             const GpuMatmulDescription &description, uint64_t workspaceBytes)
      : library(std::move(library)), described(description),
        workspaceBytes(workspaceBytes) {}
  cublasStatus_t describe(const ColumnMajorProduct &product);
  cublasStatus_t findAlgorithms(const ColumnMajorProduct &product);

  std::shared_ptr<const CublasLt> library;
  GpuMatmulDescription described;
  uint64_t workspaceBytes;
  uint32_t lhsAlignment = 0, rhsAlignment = 0, resultAlignment = 0; // bytes
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t first = nullptr, second = nullptr, result = nullptr;
  std::vector<cublasLtMatmulHeuristicResult_t> offered;
  cublasLtMatmulHeuristicResult_t chosen{};
};

/// A described call: its products, one for each index of the batch dimensions
/// that the library does not run through.
class GpuCall {
public:
  /// Null with a message in `error` if the library does not run the valid
  /// `description` in a workspace that was planned with this size.
  static std::unique_ptr<GpuCall>
  create(const std::shared_ptr<const CublasLt> &library,
         const GpuMatmulDescription &description, uint64_t plannedBytes,
         std::string &error);

  /// What algorithms are to be chosen for.
  std::span<const std::unique_ptr<GpuProduct>> products() const {
    return distinct;
  }
  /// Whether the library declined to add the bias, so that a product of ones
  /// and the bias is added.
  bool addsBiasApart() const {
    return distinct.size() > 1 && description.epilogue == Epilogue::bias;
  }
  /// Whether the library declined to add up an operand, so that a product of
  /// ones and the operand does.
  bool sumsApart() const {
    return distinct.size() > 1 && description.sums != OperandSums::none;
  }
  /// Whether the library declined the activation, so that a kernel applies it.
  bool activatesApart() const { return activation != nullptr; }

  /// Puts the call into the stream, which may be capturing. The arguments are
  /// in the order of GpuMatmul.h. Nothing if it worked, otherwise what the
  /// library or the driver said.
  std::string enqueue(std::span<const CUdeviceptr> arguments,
                      CUstream stream) const;

private:
  GpuCall(std::shared_ptr<const CublasLt> library,
          const GpuMatmulDescription &description)
      : library(std::move(library)), description(description) {}
  /// Makes the products of a description that the library may decline in part.
  cublasStatus_t addProducts(const GpuMatmulDescription &whole,
                             uint64_t workspaceBytes);
  std::string enqueueProducts(GpuOperands operands, CUstream stream) const;
  /// Fills the workspace with ones and multiplies what is in `operands` by
  /// them, where the library does that apart.
  std::string enqueueOnes(GpuOperands operands, ElementType type,
                          CUstream stream) const;

  std::shared_ptr<const CublasLt> library;
  GpuMatmulDescription description;
  ColumnMajorProduct layout;
  std::unique_ptr<GpuActivation> activation; // behind the product
  /// The product, and in front of it, if there are two, the one that makes a
  /// matrix of biases, or the sums of an operand.
  std::vector<std::unique_ptr<GpuProduct>> distinct;
};

} // namespace tenon::libraries

#endif // TENON_LIBRARIES_GPUCALLS_H
