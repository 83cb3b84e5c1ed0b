//===- CublasLt.cpp - An emulated cuBLASLt --------------------------------===//
//
// The functions of cuBLASLt that Tenon calls, over the emulated driver's
// memory. It is stricter than the library: what an algorithm was not chosen for
// is refused, and what is only sometimes supported is sometimes refused. Sums
// are held in f32 and added up in an order that the product and its algorithm
// alone decide.
//
//===----------------------------------------------------------------------===//

#include "CublasLt.h"
#include "FloatFormat.h"
#include "tenon/Libraries/GpuMatmul.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace tenon::emulated;

namespace {

using Layout = cublasLtMatrixLayoutOpaque_t;

uint64_t widthOf(cudaDataType_t type) { return type == CUDA_R_32F ? 4 : 2; }

float decodeElement(const uint8_t *at, cudaDataType_t type) {
  if (type == CUDA_R_32F) {
    float value;
    memcpy(&value, at, 4);
    return value;
  }
  uint16_t bits;
  memcpy(&bits, at, 2);
  return float(decode(bits, type == CUDA_R_16F ? f16Format : bf16Format));
}

void encodeElement(float value, uint8_t *at, cudaDataType_t type) {
  if (type == CUDA_R_32F) {
    memcpy(at, &value, 4);
    return;
  }
  uint16_t bits = uint16_t(encode(
      value, type == CUDA_R_16F ? f16Format : bf16Format, Rounding::Nearest));
  memcpy(at, &bits, 2);
}

/// 10 bits of fraction, halves away from zero, as `cvt.rna.tf32.f32`.
float roundedToTf32(float value) {
  uint32_t bits;
  memcpy(&bits, &value, 4);
  constexpr uint32_t cut = 13;
  if ((bits & 0x7F800000) != 0x7F800000)
    bits = (bits + (1u << (cut - 1))) >> cut << cut;
  memcpy(&value, &bits, 4);
  return value;
}

/// Checks and notes an access to bytes of the device.
uint8_t *access(Driver &driver, uint64_t address, uint64_t bytes,
                const char *what, bool reads, bool writes) {
  auto where = [&](Region *region) {
    return std::string("cuBLASLt ") + (writes ? "writes " : "reads ") +
           std::to_string(bytes) + " bytes of " + what + " at " +
           (region ? "byte " + std::to_string(address - region->begin) +
                         " of an allocation of " +
                         std::to_string(region->bytes) + " bytes"
                   : driver.memory->describe(address));
  };
  Region *region = driver.memory->find(address);
  if (!region || !region->contains(address, bytes))
    throw Fault{CUDA_ERROR_ILLEGAL_ADDRESS, "out of bounds: " + where(region)};
  const uint64_t offset = address - region->begin;
  if (reads && !region->isWritten(offset, bytes))
    throw Fault{CUDA_ERROR_LAUNCH_FAILED,
                "uninitialised: " + where(region) +
                    ", some of which were never written"};
  if (region->footprint)
    region->markFootprint(offset, bytes, reads, writes);
  if (writes)
    region->setWritten(offset, bytes, true);
  return region->data + offset;
}

/// One matrix of a batch, column after column.
std::vector<float> readMatrix(Driver &driver, uint64_t address,
                              const Layout &layout, int32_t number,
                              const char *what) {
  std::vector<float> values(layout.rows * layout.columns);
  const uint64_t width = widthOf(layout.type);
  for (uint64_t column = 0; column < layout.columns; ++column) {
    uint64_t at = address + (number * layout.batchOffset +
                             int64_t(column) * layout.leading) *
                                int64_t(width);
    const uint8_t *from =
        access(driver, at, layout.rows * width, what, true, false);
    for (uint64_t row = 0; row < layout.rows; ++row)
      values[column * layout.rows + row] =
          decodeElement(from + row * width, layout.type);
  }
  return values;
}

/// The matrix that the product reads, with the elements of a sum side by side:
/// rows of k terms.
std::vector<float> rowsOfTerms(std::vector<float> values, const Layout &layout,
                               bool termsAreSideBySide) {
  if (termsAreSideBySide)
    return values;
  std::vector<float> turned(values.size());
  for (uint64_t column = 0; column < layout.columns; ++column)
    for (uint64_t row = 0; row < layout.rows; ++row)
      turned[row * layout.columns + column] =
          values[column * layout.rows + row];
  return turned;
}

/// What an epilogue is made of.
bool addsBias(uint32_t epilogue) {
  return epilogue == CUBLASLT_EPILOGUE_BIAS ||
         epilogue == CUBLASLT_EPILOGUE_GELU_BIAS ||
         epilogue == CUBLASLT_EPILOGUE_GELU_AUX_BIAS;
}
bool sumsFirst(uint32_t epilogue) {
  return epilogue == CUBLASLT_EPILOGUE_BGRADA;
}
bool sumsAnOperand(uint32_t epilogue) {
  return sumsFirst(epilogue) || epilogue == CUBLASLT_EPILOGUE_BGRADB;
}
bool isGelu(uint32_t epilogue) {
  return epilogue == CUBLASLT_EPILOGUE_GELU ||
         epilogue == CUBLASLT_EPILOGUE_GELU_BIAS ||
         epilogue == CUBLASLT_EPILOGUE_GELU_AUX ||
         epilogue == CUBLASLT_EPILOGUE_GELU_AUX_BIAS;
}
bool keepsInput(uint32_t epilogue) {
  return epilogue == CUBLASLT_EPILOGUE_GELU_AUX ||
         epilogue == CUBLASLT_EPILOGUE_GELU_AUX_BIAS;
}
bool readsInput(uint32_t epilogue) {
  return epilogue == CUBLASLT_EPILOGUE_DGELU;
}
bool hasInput(uint32_t epilogue) {
  return keepsInput(epilogue) || readsInput(epilogue);
}

/// In double, from the definition by the hyperbolic tangent.
constexpr double cubic = 0.044715, scale = 0.79788456080286535588;
float gelu(float x) {
  const double u = scale * (x + cubic * x * x * double(x));
  return float(0.5 * x * (1 + std::tanh(u)));
}
float derivativeOfGelu(float x) {
  const double t = std::tanh(scale * (x + cubic * x * x * double(x)));
  // Beyond, the first factor is zero.
  const double within = std::clamp(double(x), -40.0, 40.0);
  return float(0.5 * (1 + t) + 0.5 * within * (1 - t * t) * scale *
                                   (1 + 3 * cubic * within * within));
}

uint64_t termsOf(const Product &product) {
  return product.operation.transposeFirst == CUBLAS_OP_T ? product.a.rows
                                                         : product.a.columns;
}

/// Eight sums, each of every eighth term, so that the processor adds vectors.
float sumOf(const float *a, const float *b, uint64_t count) {
  float sums[8] = {};
  uint64_t term = 0;
  for (; term + 8 <= count; term += 8)
    for (int i = 0; i < 8; ++i)
      sums[i] += a[term + i] * b[term + i];
  for (; term < count; ++term)
    sums[term % 8] += a[term] * b[term];
  return ((sums[0] + sums[4]) + (sums[2] + sums[6])) +
         ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

/// Of each row of terms, as many of which are used, side by side.
void writeSums(Driver &driver, const Product &product,
               const std::vector<float> &rows, uint64_t terms, uint64_t used) {
  const uint64_t width = widthOf(product.d.type), count = rows.size() / terms;
  const std::vector<float> ones(used, 1.0f);
  uint8_t *to = access(driver, product.operation.bias, count * width,
                       "the sums of an operand", false, true);
  for (uint64_t row = 0; row < count; ++row)
    encodeElement(sumOf(&rows[row * terms], ones.data(), used),
                  to + row * width, product.d.type);
}

void runOne(Driver &driver, const ProductWork &work, int32_t number) {
  const Product &product = work.product;
  auto a =
      rowsOfTerms(readMatrix(driver, work.a, product.a, number, "A"), product.a,
                  product.operation.transposeFirst == CUBLAS_OP_T);
  auto b =
      rowsOfTerms(readMatrix(driver, work.b, product.b, number, "B"), product.b,
                  product.operation.transposeSecond == CUBLAS_OP_N);
  if (product.operation.roundsToTf32)
    for (std::vector<float> *operand : {&a, &b})
      for (float &value : *operand)
        value = roundedToTf32(value);
  std::vector<float> c, bias;
  if (work.beta != 0)
    c = readMatrix(driver, work.c, product.c, number, "C");
  const uint64_t rows = product.d.rows, terms = termsOf(product);
  const uint64_t width = widthOf(product.d.type);
  const uint32_t epilogue = product.operation.epilogue;
  if (addsBias(epilogue))
    bias = readMatrix(driver, product.operation.bias,
                      {product.d.type, rows, 1, int64_t(rows)}, 0, "the bias");
  Layout inputLayout = product.d;
  inputLayout.leading = product.operation.inputLeading;
  std::vector<float> input;
  if (readsInput(epilogue))
    input = readMatrix(driver, product.operation.input, inputLayout, number,
                       "the input of the activation");
  const uint64_t used = terms - work.forgotten;
  if (sumsAnOperand(epilogue))
    writeSums(driver, product, sumsFirst(epilogue) ? a : b, terms, used);
  const uint64_t part = (used + work.parts - 1) / work.parts;
  for (uint64_t column = 0; column < product.d.columns; ++column) {
    uint64_t at = work.d + (number * product.d.batchOffset +
                            int64_t(column) * product.d.leading) *
                               int64_t(width);
    uint8_t *to = access(driver, at, rows * width, "D", false, true);
    uint8_t *kept =
        keepsInput(epilogue)
            ? access(driver,
                     product.operation.input +
                         column * uint64_t(inputLayout.leading) * width,
                     rows * width, "the input of the activation", false, true)
            : nullptr;
    for (uint64_t row = 0; row < rows; ++row) {
      float sum = 0;
      for (uint64_t begin = 0; begin < used; begin += part)
        sum += sumOf(&a[row * terms + begin], &b[column * terms + begin],
                     std::min(part, used - begin));
      sum *= work.alpha;
      if (!c.empty())
        sum += work.beta * c[column * rows + row];
      if (!bias.empty())
        sum += bias[row];
      if (kept)
        encodeElement(sum, kept + row * width, product.d.type);
      if (isGelu(epilogue))
        sum = gelu(sum);
      if (readsInput(epilogue))
        sum *= derivativeOfGelu(input[column * rows + row]);
      encodeElement(sum, to + row * width, product.d.type);
    }
  }
}

std::string whyNot(const Product &product) {
  auto [operation, a, b, c, d] = product;
  const bool first = operation.transposeFirst == CUBLAS_OP_T,
             second = operation.transposeSecond == CUBLAS_OP_T;
  if (a.type != b.type || c.type != d.type ||
      (d.type != CUDA_R_32F && d.type != a.type))
    return "types of A, B, C and D that do not go together";
  if (operation.roundsToTf32 && a.type != CUDA_R_32F)
    return "products of tf32 of operands that are not f32";
  if ((first ? a.columns : a.rows) != d.rows ||
      (second ? b.rows : b.columns) != d.columns ||
      (first ? a.rows : a.columns) != (second ? b.columns : b.rows) ||
      c.rows != d.rows || c.columns != d.columns)
    return "extents of A, B, C and D that do not go together";
  for (const Layout *layout : {&a, &b, &c, &d})
    if (layout->leading < int64_t(layout->rows) || !layout->rows ||
        !layout->columns)
      return "a leading dimension of " + std::to_string(layout->leading) +
             " for columns of " + std::to_string(layout->rows) + " elements";
  if (a.batch != d.batch || b.batch != d.batch || c.batch != d.batch)
    return "different numbers of matrices in a batch";
  const uint32_t epilogue = operation.epilogue;
  if (epilogue != CUBLASLT_EPILOGUE_DEFAULT && !addsBias(epilogue) &&
      !isGelu(epilogue) && !readsInput(epilogue) && !sumsAnOperand(epilogue))
    return "epilogue " + std::to_string(epilogue);
  // Batches of these have strides of their own, which nobody sets.
  if ((isGelu(epilogue) || readsInput(epilogue)) && d.batch != 1)
    return "an activation of a batch";
  // What is known to work are the gradients of weights and bias.
  if (sumsAnOperand(epilogue) &&
      (d.batch != 1 || first || !second || a.type == CUDA_R_32F))
    return "sums of an operand of a batch, of f32, or where A is transposed or "
           "B is not";
  if (hasInput(epilogue) && (operation.inputLeading % 8 != 0 ||
                             operation.inputLeading < int64_t(d.rows)))
    return "a leading dimension of " + std::to_string(operation.inputLeading) +
           " for the input of an activation of " + std::to_string(d.rows) +
           " rows, expected a multiple of 8 that is no less";
  return "";
}

/// A number that depends on all that the library is asked for, pointers apart.
uint64_t numberOf(const Product &product) {
  uint64_t number = 1;
  auto add = [&](uint64_t value) { number = scramble(number, value); };
  add(uint64_t(product.operation.transposeFirst));
  add(uint64_t(product.operation.transposeSecond));
  add(product.operation.epilogue);
  add(uint64_t(product.operation.inputLeading));
  add(product.operation.roundsToTf32);
  for (const Layout *layout : {&product.a, &product.b, &product.c, &product.d})
    for (uint64_t value :
         {uint64_t(layout->type), layout->rows, layout->columns,
          uint64_t(layout->leading), uint64_t(layout->batch),
          uint64_t(layout->batchOffset)})
      add(value);
  return number;
}

/// What the emulated library stores in an algorithm.
struct Algorithm {
  uint64_t product = 0;
  uint32_t parts = 1, forgets = 0;
  uint32_t alignment[4] = {};
  uint32_t alignmentOfInput = 1;
  uint64_t workspaceBytes = 0;

  static Algorithm of(const cublasLtMatmulAlgo_t &stored) {
    Algorithm algorithm;
    memcpy(&algorithm, &stored, sizeof(algorithm));
    return algorithm;
  }
  cublasLtMatmulHeuristicResult_t result() const {
    cublasLtMatmulHeuristicResult_t result{};
    memcpy(&result.algo, this, sizeof(*this));
    result.workspaceSize = workspaceBytes;
    result.wavesCount = 1;
    return result;
  }
};
static_assert(sizeof(Algorithm) <= sizeof(cublasLtMatmulAlgo_t));

/// Terms beyond whole blocks of this many are what a faulty algorithm forgets.
constexpr uint64_t block = 32;

uint64_t bytesOfParts(const Product &product, unsigned parts) {
  return parts < 2 ? 0
                   : parts * product.d.rows * product.d.columns *
                         uint64_t(product.d.batch) * 4;
}

template <typename Value>
cublasStatus_t take(Value &into, const void *from, size_t bytes) {
  if (bytes != sizeof(Value))
    return CUBLAS_STATUS_INVALID_VALUE;
  memcpy(&into, from, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t refuse(Driver &driver, cublasStatus_t status,
                      const std::string &why) {
  driver.error(CUDA_SUCCESS, "cuBLASLt: " + why);
  return status;
}

} // namespace

void Driver::execute(const std::shared_ptr<const ProductWork> &work) {
  for (int32_t number = 0; number < work->product.d.batch; ++number)
    runOne(*this, *work, number);
  microseconds += work->microseconds;
  if (!work->workspaceBytes)
    return;
  // What it leaves in its workspace nobody may read.
  uint8_t *scratch = access(*this, work->workspace, work->workspaceBytes,
                            "the workspace", false, true);
  memset(scratch, 0xFF, work->workspaceBytes);
  Region *region = memory->find(work->workspace);
  region->setWritten(work->workspace - region->begin, work->workspaceBytes,
                     false);
}

#pragma GCC visibility push(default)

cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle) {
  Call call;
  if (call.state() != CUDA_SUCCESS || !call.driver.current)
    return CUBLAS_STATUS_NOT_INITIALIZED;
  *handle = new cublasLtContext;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}

const char *cublasLtGetStatusName(cublasStatus_t status) {
  switch (status) {
#define STATUS_NAME(NAME)                                                      \
  case NAME:                                                                   \
    return #NAME;
    STATUS_NAME(CUBLAS_STATUS_SUCCESS)
    STATUS_NAME(CUBLAS_STATUS_NOT_INITIALIZED)
    STATUS_NAME(CUBLAS_STATUS_ALLOC_FAILED)
    STATUS_NAME(CUBLAS_STATUS_INVALID_VALUE)
    STATUS_NAME(CUBLAS_STATUS_ARCH_MISMATCH)
    STATUS_NAME(CUBLAS_STATUS_EXECUTION_FAILED)
    STATUS_NAME(CUBLAS_STATUS_INTERNAL_ERROR)
    STATUS_NAME(CUBLAS_STATUS_NOT_SUPPORTED)
#undef STATUS_NAME
  }
  return nullptr;
}

size_t cublasLtGetVersion() {
  Call call;
  return call.driver.settings.cublasLtVersion;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *descriptor,
                                        cublasComputeType_t compute,
                                        cudaDataType_t scale) {
  if ((compute != CUBLAS_COMPUTE_32F &&
       compute != CUBLAS_COMPUTE_32F_FAST_TF32) ||
      scale != CUDA_R_32F)
    return CUBLAS_STATUS_NOT_SUPPORTED;
  *descriptor = new cublasLtMatmulDescOpaque_t;
  (*descriptor)->roundsToTf32 = compute == CUBLAS_COMPUTE_32F_FAST_TF32;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t descriptor) {
  delete descriptor;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t descriptor,
                               cublasLtMatmulDescAttributes_t attribute,
                               const void *value, size_t bytes) {
  switch (attribute) {
  case CUBLASLT_MATMUL_DESC_TRANSA:
    return take(descriptor->transposeFirst, value, bytes);
  case CUBLASLT_MATMUL_DESC_TRANSB:
    return take(descriptor->transposeSecond, value, bytes);
  case CUBLASLT_MATMUL_DESC_EPILOGUE:
    return take(descriptor->epilogue, value, bytes);
  case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
    return take(descriptor->bias, value, bytes);
  case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER:
    return take(descriptor->input, value, bytes);
  case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD:
    return take(descriptor->inputLeading, value, bytes);
  }
  return CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *layout,
                                          cudaDataType_t type, uint64_t rows,
                                          uint64_t columns, int64_t leading) {
  if (type != CUDA_R_32F && type != CUDA_R_16F && type != CUDA_R_16BF)
    return CUBLAS_STATUS_NOT_SUPPORTED;
  *layout = new cublasLtMatrixLayoutOpaque_t{type, rows, columns, leading};
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete layout;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                 cublasLtMatrixLayoutAttribute_t attribute,
                                 const void *value, size_t bytes) {
  switch (attribute) {
  case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT:
    return take(layout->batch, value, bytes);
  case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET:
    return take(layout->batchOffset, value, bytes);
  }
  return CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t
cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *preference) {
  *preference = new cublasLtMatmulPreferenceOpaque_t;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete preference;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(
    cublasLtMatmulPreference_t preference,
    cublasLtMatmulPreferenceAttributes_t attribute, const void *value,
    size_t bytes) {
  switch (attribute) {
  case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES:
    return take(preference->workspaceBytes, value, bytes);
  case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK:
    return take(preference->schemes, value, bytes);
  case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES:
    return take(preference->alignment[0], value, bytes);
  case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES:
    return take(preference->alignment[1], value, bytes);
  case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES:
    return take(preference->alignment[2], value, bytes);
  case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES:
    return take(preference->alignment[3], value, bytes);
  }
  return CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t handle, cublasLtMatmulDesc_t descriptor,
    cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
    cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
    cublasLtMatmulPreference_t preference, int most,
    cublasLtMatmulHeuristicResult_t *results, int *count) {
  Call call;
  Driver &driver = call.driver;
  *count = 0;
  if (!handle || !descriptor || !a || !b || !c || !d || !preference || most < 1)
    return refuse(driver, CUBLAS_STATUS_INVALID_VALUE, "a handle is null");
  const Product product{*descriptor, *a, *b, *c, *d};
  if (std::string why = whyNot(product); !why.empty())
    return refuse(driver, CUBLAS_STATUS_INVALID_VALUE, why);
  Algorithm plain{numberOf(product)};
  memcpy(plain.alignment, preference->alignment, sizeof(plain.alignment));
  // How the pointer is aligned that the descriptor has now.
  if (hasInput(descriptor->epilogue)) {
    if (!descriptor->input || descriptor->input % 16)
      return refuse(driver, CUBLAS_STATUS_INVALID_VALUE,
                    "the input of the activation is missing, or not at a "
                    "multiple of 16 bytes");
    plain.alignmentOfInput = uint32_t(
        std::min<uint64_t>(256, descriptor->input & -descriptor->input));
  }
  // An epilogue is in some kernels of the library and not in others.
  const uint64_t seed = driver.settings.refusalSeed;
  if (descriptor->epilogue != CUBLASLT_EPILOGUE_DEFAULT && seed &&
      (seed == ~uint64_t(0) || scramble(seed, plain.product) % 10 == 0))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  auto offer = [&](const Algorithm &algorithm) {
    if (*count < most && algorithm.workspaceBytes <= preference->workspaceBytes)
      results[(*count)++] = algorithm.result();
  };
  const uint64_t terms = termsOf(product);
  Algorithm forgetful = plain, split = plain;
  forgetful.forgets = 1;
  if (driver.settings.forgetful == Forgetful::FirstOffered && terms > block &&
      terms % block)
    offer(forgetful);
  split.parts = 2;
  split.workspaceBytes = bytesOfParts(product, 2);
  if ((preference->schemes & CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE) &&
      terms >= 2 * block)
    offer(split);
  offer(plain);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmulAlgoCheck(cublasLtHandle_t handle,
                        cublasLtMatmulDesc_t descriptor,
                        cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                        cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                        const cublasLtMatmulAlgo_t *stored,
                        cublasLtMatmulHeuristicResult_t *result) {
  if (!handle || !descriptor || !a || !b || !c || !d || !stored)
    return CUBLAS_STATUS_INVALID_VALUE;
  const Algorithm algorithm = Algorithm::of(*stored);
  if (algorithm.product != numberOf({*descriptor, *a, *b, *c, *d}))
    return CUBLAS_STATUS_INVALID_VALUE;
  *result = algorithm.result();
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t descriptor,
               const void *alpha, const void *a, cublasLtMatrixLayout_t aLayout,
               const void *b, cublasLtMatrixLayout_t bLayout, const void *beta,
               const void *c, cublasLtMatrixLayout_t cLayout, void *d,
               cublasLtMatrixLayout_t dLayout,
               const cublasLtMatmulAlgo_t *stored, void *workspace,
               size_t workspaceBytes, CUstream stream) {
  Call call;
  Driver &driver = call.driver;
  if (call.state() != CUDA_SUCCESS)
    return CUBLAS_STATUS_EXECUTION_FAILED;
  auto invalid = [&](const std::string &why) {
    return refuse(driver, CUBLAS_STATUS_INVALID_VALUE, why);
  };
  if (!handle || !descriptor || !aLayout || !bLayout || !cLayout || !dLayout ||
      !a || !b || !c || !d || !alpha || !beta || !stored)
    return invalid("a handle or a pointer is null");
  auto work = std::make_shared<ProductWork>();
  work->product = {*descriptor, *aLayout, *bLayout, *cLayout, *dLayout};
  if (std::string why = whyNot(work->product); !why.empty())
    return invalid(why);
  const Algorithm algorithm = Algorithm::of(*stored);
  if (algorithm.product != numberOf(work->product))
    return invalid("an algorithm of another product");
  const void *const matrices[] = {a, b, c, d};
  for (int i = 0; i < 4; ++i)
    if (reinterpret_cast<uint64_t>(matrices[i]) % algorithm.alignment[i])
      return invalid(std::string("matrix ") + "ABCD"[i] +
                     " is not aligned to " +
                     std::to_string(algorithm.alignment[i]) +
                     " bytes, which the algorithm was chosen for");
  if (workspaceBytes < algorithm.workspaceBytes ||
      reinterpret_cast<uint64_t>(workspace) %
          tenon::libraries::workspaceAlignment ||
      (algorithm.workspaceBytes && !workspace))
    return invalid("a workspace of " + std::to_string(workspaceBytes) +
                   " bytes, the algorithm needs " +
                   std::to_string(algorithm.workspaceBytes) +
                   " at a multiple of " +
                   std::to_string(tenon::libraries::workspaceAlignment));
  if ((addsBias(descriptor->epilogue) || sumsAnOperand(descriptor->epilogue)) &&
      (!descriptor->bias || descriptor->bias % widthOf(dLayout->type)))
    return invalid("the bias, or what takes its gradient, is missing or "
                   "misaligned");
  if (hasInput(descriptor->epilogue) &&
      (!descriptor->input || descriptor->input % algorithm.alignmentOfInput))
    return invalid(
        "the input of the activation is missing, or not aligned to " +
        std::to_string(algorithm.alignmentOfInput) +
        " bytes, which the algorithm was chosen for");
  if (c == d && *cLayout != *dLayout)
    return invalid("C is D, in another layout");
  work->a = reinterpret_cast<uint64_t>(a);
  work->b = reinterpret_cast<uint64_t>(b);
  work->c = reinterpret_cast<uint64_t>(c);
  work->d = reinterpret_cast<uint64_t>(d);
  work->workspace = reinterpret_cast<uint64_t>(workspace);
  work->workspaceBytes = algorithm.workspaceBytes;
  memcpy(&work->alpha, alpha, sizeof(float));
  memcpy(&work->beta, beta, sizeof(float));
  work->parts = algorithm.parts;
  const Forgetful forgetful = driver.settings.forgetful;
  if (algorithm.forgets || forgetful == Forgetful::All ||
      (forgetful == Forgetful::InParts && algorithm.parts > 1))
    work->forgotten = termsOf(work->product) % block;
  if (const uint64_t seed = driver.settings.timeSeed)
    work->microseconds =
        1 + scramble(seed, algorithm.product, algorithm.parts) % 100;
  return driver.enqueue(stream, std::shared_ptr<const ProductWork>(
                                    std::move(work))) == CUDA_SUCCESS
             ? CUBLAS_STATUS_SUCCESS
             : CUBLAS_STATUS_EXECUTION_FAILED;
}

#pragma GCC visibility pop
