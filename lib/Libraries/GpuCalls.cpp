//===- GpuCalls.cpp - Products that cuBLASLt runs on a GPU ----------------===//
//
// See GpuCalls.h.
//
//===----------------------------------------------------------------------===//

#include "tenon/Libraries/GpuCalls.h"

#include "tenon/Libraries/Stored.h"
#include "tenon/Support/Refuse.h"

#include <bit>
#include <dlfcn.h>
#include <numeric>

using namespace tenon;
using namespace tenon::libraries;

// NVIDIA changes the ABI with the major version.
static constexpr size_t majorVersion = 13;

//===----------------------------------------------------------------------===//
// The library
//===----------------------------------------------------------------------===//

std::shared_ptr<CublasLt> CublasLt::open(const std::string &file,
                                         const GpuDriverCalls &driver,
                                         std::string &error) {
  const std::string name =
      file.empty() ? "libcublasLt.so." + std::to_string(majorVersion) : file;
  auto fail = [&](std::string why) -> std::shared_ptr<CublasLt> {
    error = std::move(why);
    return nullptr;
  };
  void *opened = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!opened) {
    const char *reason = dlerror();
    return fail(reason ? reason : "cannot open " + name);
  }
  std::shared_ptr<CublasLt> library(new CublasLt);
  std::string missing;
#define TENON_CUBLASLT_FIND(RESULT, NAME, PARAMETERS)                          \
  library->NAME =                                                              \
      reinterpret_cast<decltype(library->NAME)>(dlsym(opened, #NAME));         \
  if (!library->NAME)                                                          \
    missing += std::string(missing.empty() ? "" : ", ") + #NAME;
  TENON_CUBLASLT_FUNCTIONS(TENON_CUBLASLT_FIND)
#undef TENON_CUBLASLT_FIND
  if (!missing.empty())
    return fail(name + " lacks " + missing);
  if (library->cublasLtGetVersion() / 10000 != majorVersion)
    return fail(name + " is version " + library->version() + ", expected " +
                std::to_string(majorVersion) + ".x");
  library->driver = driver;
  cublasStatus_t status = library->cublasLtCreate(&library->handle);
  if (status != CUBLAS_STATUS_SUCCESS)
    return fail(name + " does not start: " + library->textOf(status));
  return library;
}

CublasLt::~CublasLt() {
  if (handle)
    cublasLtDestroy(handle);
}

std::string CublasLt::version() const {
  const size_t number = cublasLtGetVersion();
  return std::to_string(number / 10000) + "." +
         std::to_string(number / 100 % 100) + "." +
         std::to_string(number % 100);
}

std::string CublasLt::textOf(cublasStatus_t status) const {
  const char *text = cublasLtGetStatusName(status);
  return text ? text : "status " + std::to_string(int(status));
}

//===----------------------------------------------------------------------===//
// A product
//===----------------------------------------------------------------------===//

static cudaDataType_t dataTypeOf(ElementType type) {
  return type == ElementType::bf16  ? CUDA_R_16BF
         : type == ElementType::f16 ? CUDA_R_16F
                                    : CUDA_R_32F;
}

/// Places are planned at multiples of as many bytes.
static constexpr int64_t placeAlignment = 64;

/// Whether the input of the activation is in memory.
static bool hasInput(Activation activation) {
  return activation == Activation::geluKeeping ||
         activation == Activation::geluGradient;
}

/// Our right operand is the library's first one.
static cublasLtEpilogue_t epilogueOf(const GpuMatmulDescription &d) {
  const bool bias = d.epilogue == Epilogue::bias;
  if (d.sums != OperandSums::none)
    return d.sums == OperandSums::rhs ? CUBLASLT_EPILOGUE_BGRADA
                                      : CUBLASLT_EPILOGUE_BGRADB;
  switch (d.activation) {
  case Activation::none:
    break;
  case Activation::gelu:
    return bias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
  case Activation::geluKeeping:
    return bias ? CUBLASLT_EPILOGUE_GELU_AUX_BIAS : CUBLASLT_EPILOGUE_GELU_AUX;
  case Activation::geluGradient:
    return CUBLASLT_EPILOGUE_DGELU;
  }
  return bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
}

static void *pointerTo(CUdeviceptr address) {
  return reinterpret_cast<void *>(address);
}

std::unique_ptr<GpuProduct>
GpuProduct::create(std::shared_ptr<const CublasLt> library,
                   const GpuMatmulDescription &description,
                   const ColumnMajorProduct &product, uint64_t workspaceBytes,
                   cublasStatus_t &status) {
  std::unique_ptr<GpuProduct> made(
      new GpuProduct(std::move(library), description, workspaceBytes));
  made->described.batch.clear();
  if (product.batched)
    made->described.batch.push_back(description.batch[*product.batched]);
  status = made->describe(product);
  if (status == CUBLAS_STATUS_SUCCESS)
    status = made->findAlgorithms(product);
  return status == CUBLAS_STATUS_SUCCESS ? std::move(made) : nullptr;
}

GpuProduct::~GpuProduct() {
  for (cublasLtMatrixLayout_t layout : {first, second, result})
    if (layout)
      library->cublasLtMatrixLayoutDestroy(layout);
  if (operation)
    library->cublasLtMatmulDescDestroy(operation);
}

cublasStatus_t GpuProduct::describe(const ColumnMajorProduct &product) {
  cublasStatus_t status = library->cublasLtMatmulDescCreate(
      &operation,
      described.factors == Factors::tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32
                                         : CUBLAS_COMPUTE_32F,
      CUDA_R_32F);
  auto set = [&](cublasLtMatmulDescAttributes_t attribute, const auto &value) {
    if (status == CUBLAS_STATUS_SUCCESS)
      status = library->cublasLtMatmulDescSetAttribute(operation, attribute,
                                                       &value, sizeof(value));
  };
  auto operationOf = [](const ColumnMajor &matrix) {
    return int32_t(matrix.isTransposed ? CUBLAS_OP_T : CUBLAS_OP_N);
  };
  set(CUBLASLT_MATMUL_DESC_TRANSA, operationOf(product.first));
  set(CUBLASLT_MATMUL_DESC_TRANSB, operationOf(product.second));
  if (const cublasLtEpilogue_t epilogue = epilogueOf(described);
      epilogue != CUBLASLT_EPILOGUE_DEFAULT)
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, uint32_t(epilogue));
  if (hasInput(described.activation))
    set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, product.result.leading);
  // What is offered depends on how they are aligned.
  void *const aligned = pointerTo(placeAlignment);
  if (described.epilogue == Epilogue::bias ||
      described.sums != OperandSums::none)
    set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, aligned);
  if (hasInput(described.activation))
    set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, aligned);

  auto layoutOf = [&](cublasLtMatrixLayout_t &layout, const ColumnMajor &matrix,
                      ElementType type, int64_t batchOffset) {
    auto setLayout = [&](cublasLtMatrixLayoutAttribute_t attribute,
                         const auto &value) {
      if (status == CUBLAS_STATUS_SUCCESS)
        status = library->cublasLtMatrixLayoutSetAttribute(
            layout, attribute, &value, sizeof(value));
    };
    if (status == CUBLAS_STATUS_SUCCESS)
      status = library->cublasLtMatrixLayoutCreate(
          &layout, dataTypeOf(type), uint64_t(matrix.rows),
          uint64_t(matrix.columns), matrix.leading);
    if (described.batch.empty())
      return;
    setLayout(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT,
              int32_t(described.batch[0].size));
    setLayout(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, batchOffset);
  };
  const MatmulDescription::BatchDimension batch =
      described.batch.empty() ? MatmulDescription::BatchDimension()
                              : described.batch[0];
  layoutOf(first, product.first, described.rhsType, batch.rhsStride);
  layoutOf(second, product.second, described.lhsType, batch.lhsStride);
  layoutOf(result, product.result, described.resultType, batch.resultStride);
  return status;
}

/// Bytes that all of these places of elements are multiples of.
static uint32_t alignmentOf(std::span<const ColumnMajorProduct::Offsets> calls,
                            int64_t ColumnMajorProduct::Offsets::*offset,
                            ElementType type) {
  int64_t alignment = placeAlignment;
  for (const ColumnMajorProduct::Offsets &call : calls)
    alignment = std::gcd(alignment, call.*offset * byteWidth(type));
  return uint32_t(alignment);
}

cublasStatus_t GpuProduct::findAlgorithms(const ColumnMajorProduct &product) {
  cublasLtMatmulPreference_t preference = nullptr;
  cublasStatus_t status = library->cublasLtMatmulPreferenceCreate(&preference);
  auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute,
                    const auto &value) {
    if (status == CUBLAS_STATUS_SUCCESS)
      status = library->cublasLtMatmulPreferenceSetAttribute(
          preference, attribute, &value, sizeof(value));
  };
  using Offsets = ColumnMajorProduct::Offsets;
  lhsAlignment = alignmentOf(product.calls, &Offsets::lhs, described.lhsType);
  rhsAlignment = alignmentOf(product.calls, &Offsets::rhs, described.rhsType);
  resultAlignment =
      alignmentOf(product.calls, &Offsets::result, described.resultType);
  prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspaceBytes);
  // Others add up partial sums in the order in which they are done, or round
  // them to 16 bits before.
  prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
         uint32_t(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, rhsAlignment);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, lhsAlignment);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, resultAlignment);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, resultAlignment);
  constexpr int most = 8;
  int count = 0;
  offered.resize(most);
  if (status == CUBLAS_STATUS_SUCCESS)
    status = library->cublasLtMatmulAlgoGetHeuristic(
        library->handle, operation, first, second, result, result, preference,
        most, offered.data(), &count);
  if (preference)
    library->cublasLtMatmulPreferenceDestroy(preference);
  offered.resize(size_t(std::max(count, 0)));
  std::erase_if(offered, [&](const cublasLtMatmulHeuristicResult_t &each) {
    return each.state != CUBLAS_STATUS_SUCCESS ||
           each.workspaceSize > workspaceBytes;
  });
  if (status == CUBLAS_STATUS_SUCCESS && offered.empty())
    status = CUBLAS_STATUS_NOT_SUPPORTED;
  if (status == CUBLAS_STATUS_SUCCESS)
    chosen = offered.front();
  return status;
}

std::string GpuProduct::question() const {
  std::string text;
  for (const format::Attribute &attribute :
       store(described, Isa(), workspaceBytes).attributes) {
    text += attribute.name + "=" + attribute.text;
    for (int64_t number : attribute.numbers)
      text += " " + std::to_string(number);
    text += "\n";
  }
  for (uint64_t number : {workspaceBytes, uint64_t(lhsAlignment),
                          uint64_t(rhsAlignment), uint64_t(resultAlignment)})
    text += std::to_string(number) + "\n";
  return text;
}

bool GpuProduct::choose(const cublasLtMatmulAlgo_t &algorithm) {
  cublasLtMatmulHeuristicResult_t found{};
  if (library->cublasLtMatmulAlgoCheck(library->handle, operation, first,
                                       second, result, result, &algorithm,
                                       &found) != CUBLAS_STATUS_SUCCESS ||
      found.workspaceSize > workspaceBytes)
    return false;
  chosen = found;
  chosen.algo = algorithm;
  return true;
}

cublasStatus_t GpuProduct::enqueue(const GpuOperands &operands,
                                   CUstream stream) const {
  auto point = [&](cublasLtMatmulDescAttributes_t attribute,
                   CUdeviceptr address) {
    void *pointer = pointerTo(address);
    return library->cublasLtMatmulDescSetAttribute(operation, attribute,
                                                   &pointer, sizeof(pointer));
  };
  cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
  if (described.epilogue == Epilogue::bias)
    status = point(CUBLASLT_MATMUL_DESC_BIAS_POINTER, operands.bias);
  if (described.sums != OperandSums::none)
    status = point(CUBLASLT_MATMUL_DESC_BIAS_POINTER, operands.sums);
  if (status == CUBLAS_STATUS_SUCCESS && hasInput(described.activation))
    status = point(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, operands.input);
  if (status != CUBLAS_STATUS_SUCCESS)
    return status;
  const float one = 1, beta = described.addend == Addend::none ? 0 : 1;
  const CUdeviceptr added =
      described.addend == Addend::operand ? operands.addend : operands.result;
  return library->cublasLtMatmul(
      library->handle, operation, &one, pointerTo(operands.rhs), first,
      pointerTo(operands.lhs), second, &beta, pointerTo(added), result,
      pointerTo(operands.result), result, &chosen.algo,
      pointerTo(chosen.workspaceSize ? operands.workspace : 0),
      chosen.workspaceSize, stream);
}

//===----------------------------------------------------------------------===//
// A call
//===----------------------------------------------------------------------===//

/// result[i, j] = 1 * bias[j] + addend[i, j], rounded to nothing: without an
/// addend each row is the bias.
static GpuMatmulDescription rowsOfBias(const GpuMatmulDescription &d) {
  GpuMatmulDescription ones = d;
  ones.k = 1;
  ones.lhsType = ones.rhsType = d.resultType;
  ones.lhsStrideM = ones.lhsStrideK = 1;
  ones.rhsStrideK = d.n;
  ones.rhsStrideN = 1;
  for (MatmulDescription::BatchDimension &dimension : ones.batch)
    dimension.lhsStride = dimension.rhsStride = 0;
  ones.factors = Factors::exact;
  ones.epilogue = Epilogue::none;
  return ones;
}

/// sums[j] = sum over k of 1 * operand[k, j]
static GpuMatmulDescription onesTimesOperand(const GpuMatmulDescription &d) {
  GpuMatmulDescription ones = d;
  ones.m = 1;
  ones.n = countOfSums(d);
  ones.lhsStrideM = d.k;
  ones.lhsStrideK = 1;
  if (d.sums == OperandSums::lhs) {
    ones.rhsStrideK = d.lhsStrideK;
    ones.rhsStrideN = d.lhsStrideM;
  }
  ones.resultStrideM = ones.n;
  ones.resultStrideN = 1;
  ones.sums = OperandSums::none;
  return ones;
}

/// Ones of the type, side by side.
static unsigned wordOfOnes(ElementType type) {
  constexpr unsigned ofBf16 = 0x3F803F80, ofF16 = 0x3C003C00;
  return type == ElementType::bf16  ? ofBf16
         : type == ElementType::f16 ? ofF16
                                    : std::bit_cast<unsigned>(1.0f);
}

cublasStatus_t GpuCall::addProducts(const GpuMatmulDescription &whole,
                                    uint64_t workspaceBytes) {
  cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
  auto add = [&](const GpuMatmulDescription &product,
                 const ColumnMajorProduct &as, uint64_t bytes) {
    if (status == CUBLAS_STATUS_SUCCESS)
      if (auto made = GpuProduct::create(library, product, as, bytes, status))
        distinct.push_back(std::move(made));
  };
  // Ones that are multiplied with something, and the product without what that
  // gives. They are in the workspace.
  auto addApart = [&](const GpuMatmulDescription &ones,
                      const GpuMatmulDescription &rest) {
    std::string ignored;
    auto onesLayout = columnMajor(ones, ignored);
    if (!onesLayout || workspaceBytes < uint64_t(bytesOfOnes(whole)))
      return;
    status = CUBLAS_STATUS_SUCCESS;
    add(ones, *onesLayout, 0);
    add(rest, layout, workspaceBytes);
  };
  add(whole, layout, workspaceBytes);
  if (status == CUBLAS_STATUS_SUCCESS)
    return status;
  GpuMatmulDescription rest = whole;
  if (whole.epilogue == Epilogue::bias &&
      whole.activation == Activation::none) {
    // The arithmetic is the same: a one times a bias is the bias, and is added
    // to the finished sum. An addend is added to the bias before.
    rest.epilogue = Epilogue::none;
    rest.addend = Addend::inPlace;
    addApart(rowsOfBias(whole), rest);
  } else if (whole.sums != OperandSums::none) {
    rest.sums = OperandSums::none;
    addApart(onesTimesOperand(whole), rest);
  }
  return status;
}

std::unique_ptr<GpuCall>
GpuCall::create(const std::shared_ptr<const CublasLt> &library,
                const GpuMatmulDescription &description, uint64_t plannedBytes,
                std::string &error) {
  const uint64_t workspaceBytes = usableWorkspace(plannedBytes);
  auto layout = columnMajor(description, error);
  if (!layout)
    return nullptr;
  std::unique_ptr<GpuCall> call(new GpuCall(library, description));
  call->layout = *layout;
  cublasStatus_t status = call->addProducts(description, workspaceBytes);
  if (status != CUBLAS_STATUS_SUCCESS &&
      description.activation != Activation::none) {
    GpuMatmulDescription product = description;
    product.activation = Activation::none;
    status = call->addProducts(product, workspaceBytes);
    CUresult loaded = CUDA_SUCCESS;
    call->activation =
        GpuActivation::load(library->driver, description.activation,
                            description.resultType, loaded);
    if (!call->activation)
      return refuse(error, "the driver does not take the kernel of its "
                           "activation: CUDA error " +
                               std::to_string(int(loaded)));
  }
  if (status != CUBLAS_STATUS_SUCCESS)
    return refuse(error, "cuBLASLt " + library->version() +
                             " has no algorithm for it in " +
                             std::to_string(workspaceBytes) +
                             " bytes of workspace: " + library->textOf(status));
  return call;
}

std::string GpuCall::enqueue(std::span<const CUdeviceptr> arguments,
                             CUstream stream) const {
  const CUdeviceptr *next = arguments.data();
  GpuOperands whole;
  whole.lhs = *next++;
  whole.rhs = *next++;
  if (description.addend == Addend::operand)
    whole.addend = *next++;
  if (description.epilogue == Epilogue::bias)
    whole.bias = *next++;
  if (description.activation == Activation::geluGradient)
    whole.input = *next++;
  whole.result = *next++;
  if (description.activation == Activation::geluKeeping)
    whole.input = *next++;
  if (description.sums != OperandSums::none)
    whole.sums = *next++;
  if (next != arguments.data() + arguments.size())
    whole.workspace = (*next + workspaceAlignment - 1) / workspaceAlignment *
                      workspaceAlignment;
  if (!activatesApart())
    return enqueueProducts(whole, stream);

  // The sums go where the activation reads them: its input if that is kept.
  GpuOperands sums = whole;
  if (description.activation == Activation::geluKeeping)
    sums.result = whole.input;
  if (std::string said = enqueueProducts(sums, stream); !said.empty())
    return said;
  const CUdeviceptr input = description.activation == Activation::geluGradient
                                ? whole.input
                                : sums.result;
  const CUresult launched = activation->enqueue(
      whole.result, input, description.m * description.n, stream);
  return launched == CUDA_SUCCESS ? ""
                                  : "CUDA error " + std::to_string(launched);
}

std::string GpuCall::enqueueOnes(GpuOperands operands, ElementType type,
                                 CUstream stream) const {
  operands.lhs = operands.workspace;
  operands.workspace = 0;
  if (CUresult filled =
          library->driver.fill(operands.lhs, wordOfOnes(type),
                               size_t(bytesOfOnes(description) / 4), stream);
      filled != CUDA_SUCCESS)
    return "CUDA error " + std::to_string(int(filled));
  const cublasStatus_t status = distinct.front()->enqueue(operands, stream);
  return status == CUBLAS_STATUS_SUCCESS ? "" : library->textOf(status);
}

std::string GpuCall::enqueueProducts(GpuOperands whole, CUstream stream) const {
  if (sumsApart()) {
    GpuOperands sums = whole;
    if (description.sums == OperandSums::lhs)
      sums.rhs = whole.lhs;
    sums.result = whole.sums;
    if (std::string said = enqueueOnes(sums, description.lhsType, stream);
        !said.empty())
      return said;
  }
  for (const ColumnMajorProduct::Offsets &at : layout.calls) {
    GpuOperands operands = whole;
    const auto result =
        CUdeviceptr(at.result * byteWidth(description.resultType));
    operands.lhs += CUdeviceptr(at.lhs * byteWidth(description.lhsType));
    operands.rhs += CUdeviceptr(at.rhs * byteWidth(description.rhsType));
    operands.addend += result;
    operands.result += result;
    if (addsBiasApart()) {
      GpuOperands rows = operands;
      rows.rhs = operands.bias;
      if (std::string said = enqueueOnes(rows, description.resultType, stream);
          !said.empty())
        return said;
    }
    if (cublasStatus_t status = distinct.back()->enqueue(operands, stream);
        status != CUBLAS_STATUS_SUCCESS)
      return library->textOf(status);
  }
  return "";
}
