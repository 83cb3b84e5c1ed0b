//===- CudaLibraries.cpp - Calls of cuBLASLt, tried before they are used --===//
//
// See CudaLibraries.h.
//
//===----------------------------------------------------------------------===//

#include "CudaLibraries.h"

#include "Communicator.h"

#include "tenon/Format/Hash.h"
#include "tenon/Libraries/Library.h"
#include "tenon/Libraries/Stored.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

using namespace tenon;
using namespace tenon::runtime;
using libraries::Activation;
using libraries::GpuMatmulDescription;
using libraries::GpuProduct;

namespace {

/// Memory of the GPU for as long as it lives.
class Block {
public:
  explicit Block(const CudaContext &gpu) : gpu(gpu) {}
  ~Block() {
    if (address)
      gpu.driver.cuMemFree_v2(address);
  }
  Block(const Block &) = delete;
  Block &operator=(const Block &) = delete;

  CUresult allocate(int64_t bytes) {
    return bytes == 0 ? CUDA_SUCCESS
                      : gpu.driver.cuMemAlloc_v2(&address, size_t(bytes));
  }
  /// Each four bytes are the word.
  CUresult allocate(int64_t bytes, uint32_t word) {
    const int64_t words = (bytes + 3) / 4;
    CUresult done = allocate(4 * words);
    return done == CUDA_SUCCESS ? gpu.driver.cuMemsetD32Async(
                                      address, word, size_t(words), gpu.stream)
                                : done;
  }
  CUresult allocate(std::span<const std::byte> bytes) {
    CUresult done = allocate(int64_t(bytes.size()));
    return done == CUDA_SUCCESS
               ? gpu.finish(gpu.driver.cuMemcpyHtoDAsync_v2(
                     address, bytes.data(), bytes.size(), gpu.stream))
               : done;
  }

  CUdeviceptr address = 0;

private:
  const CudaContext &gpu;
};

/// The bits of a number that the type holds exactly.
uint32_t bitsOf(float value, ElementType type) {
  const auto word = std::bit_cast<uint32_t>(value);
  if (type == ElementType::bf16)
    return word >> 16;
  // The exponent counts from 15, and 10 of its 23 digits are kept.
  if (type == ElementType::f16)
    return (word >> 13) - ((127 - 15) << 10);
  return word;
}

/// The other way round, of what is no subnormal number.
float valueOf(uint32_t bits, ElementType type) {
  if (type == ElementType::bf16)
    return std::bit_cast<float>(bits << 16);
  if (type == ElementType::f16)
    return std::bit_cast<float>((bits & 0x8000) << 16 |
                                ((bits & 0x7FFF) + ((127 - 15) << 10)) << 13);
  return std::bit_cast<float>(bits);
}

/// Ones side by side, in four bytes.
uint32_t wordOfOnes(ElementType type) {
  const uint32_t one = bitsOf(1, type);
  return byteWidth(type) == 4 ? one : one << 16 | one;
}

/// A product of ones.
class OnesTest {
public:
  OnesTest(const CudaContext &gpu, const GpuProduct &product)
      : gpu(gpu), product(product), d(product.description()) {
    if (!d.batch.empty())
      batch = d.batch[0];
    // Sums that all types hold exactly, up to the last term: what is forgotten
    // is at the end.
    terms = std::min<int64_t>(d.k,
                              d.resultType == ElementType::f32 ? 1 << 23 : 128);
  }

  /// Makes the operands.
  CUresult prepare();
  /// Whether the product comes out right, if the driver has not failed.
  CUresult run(bool &isRight);
  /// What it takes, which has run before.
  CUresult time(float &milliseconds);

private:
  libraries::GpuOperands operands() const {
    return {.lhs = lhs.address,
            .rhs = rhs.address,
            .addend = addend.address,
            .bias = bias.address,
            .input = input.address,
            .result = result.address,
            .sums = sums.address,
            .workspace = workspace.address};
  }
  CUresult prepareFactors();
  int64_t bytesOfSums() const {
    return libraries::countOfSums(d) * byteWidth(d.resultType);
  }
  CUresult compare(bool &isRight);
  CUresult compareSums(bool &isRight);
  /// Whether all elements are that number but for `mostOff`.
  CUresult compareWith(CUdeviceptr matrix, float expected, float mostOff,
                       bool &isRight);

  const CudaContext &gpu;
  const GpuProduct &product;
  const GpuMatmulDescription &d;
  libraries::MatmulDescription::BatchDimension batch;
  int64_t terms;
  Block lhs{gpu}, rhs{gpu}, addend{gpu}, bias{gpu}, input{gpu}, result{gpu},
      sums{gpu}, workspace{gpu};
};

/// The larger operand is all ones, the smaller one, or the one that is added
/// up, where terms count.
CUresult OnesTest::prepareFactors() {
  struct Factor {
    Block *block;
    int64_t elements, rows, rowStride, termStride, batchStride;
  };
  Factor smaller{&lhs,         libraries::spanOfLhs(d), d.m, d.lhsStrideM,
                 d.lhsStrideK, batch.lhsStride},
      larger{&rhs,         libraries::spanOfRhs(d), d.n, d.rhsStrideN,
             d.rhsStrideK, batch.rhsStride};
  if (d.sums == libraries::OperandSums::none
          ? smaller.elements > larger.elements
          : d.sums == libraries::OperandSums::rhs)
    std::swap(smaller, larger);
  const int64_t width = byteWidth(d.lhsType);
  const uint32_t one = bitsOf(1, d.lhsType);
  std::vector<std::byte> bytes(size_t(smaller.elements * width));
  for (int64_t matrix = 0; matrix < batch.size; ++matrix)
    for (int64_t row = 0; row < smaller.rows; ++row)
      for (int64_t term = d.k - terms; term < d.k; ++term)
        std::memcpy(bytes.data() + width * (matrix * smaller.batchStride +
                                            row * smaller.rowStride +
                                            term * smaller.termStride),
                    &one, size_t(width));
  CUresult done = smaller.block->allocate(bytes);
  return done == CUDA_SUCCESS ? larger.block->allocate(larger.elements * width,
                                                       wordOfOnes(d.lhsType))
                              : done;
}

CUresult OnesTest::prepare() {
  const int64_t resultBytes =
      libraries::spanOfResult(d) * byteWidth(d.resultType);
  CUresult done = prepareFactors();
  if (done == CUDA_SUCCESS && d.addend == libraries::Addend::operand)
    done = addend.allocate(resultBytes, wordOfOnes(d.resultType));
  if (done == CUDA_SUCCESS && d.epilogue == libraries::Epilogue::bias)
    done =
        bias.allocate(d.n * byteWidth(d.resultType), wordOfOnes(d.resultType));
  // The gradient of an activation at zero is a half.
  if (done == CUDA_SUCCESS && d.activation != Activation::none)
    done = input.allocate(resultBytes, 0);
  if (done == CUDA_SUCCESS)
    done = result.allocate((resultBytes + 3) / 4 * 4);
  if (done == CUDA_SUCCESS && d.sums != libraries::OperandSums::none)
    done = sums.allocate((bytesOfSums() + 3) / 4 * 4);
  if (done == CUDA_SUCCESS)
    done = workspace.allocate(int64_t(product.workspaceLimit()));
  return done;
}

CUresult OnesTest::run(bool &isRight) {
  isRight = false;
  const int64_t bytes = libraries::spanOfResult(d) * byteWidth(d.resultType);
  // Not-a-numbers where nothing is added to them, so that what is not written
  // is seen.
  CUresult done = gpu.driver.cuMemsetD32Async(
      result.address,
      d.addend == libraries::Addend::inPlace ? wordOfOnes(d.resultType) : ~0u,
      size_t((bytes + 3) / 4), gpu.stream);
  if (done == CUDA_SUCCESS && sums.address)
    done = gpu.driver.cuMemsetD32Async(
        sums.address, ~0u, size_t((bytesOfSums() + 3) / 4), gpu.stream);
  if (done != CUDA_SUCCESS)
    return done;
  const cublasStatus_t status = product.enqueue(operands(), gpu.stream);
  done = gpu.driver.cuStreamSynchronize(gpu.stream);
  return done == CUDA_SUCCESS && status == CUBLAS_STATUS_SUCCESS
             ? compare(isRight)
             : done;
}

/// The shortest of some rounds of several products: the first of a round waits
/// for the process, and others may use the GPU.
CUresult OnesTest::time(float &milliseconds) {
  constexpr int rounds = 5, products = 8;
  milliseconds = std::numeric_limits<float>::infinity();
  CUevent marks[2] = {};
  CUresult done = CUDA_SUCCESS;
  for (CUevent &mark : marks)
    if (done == CUDA_SUCCESS)
      done = gpu.driver.cuEventCreate(&mark, /*flags=*/0);
  for (int round = 0; round < rounds && done == CUDA_SUCCESS; ++round) {
    done = gpu.driver.cuEventRecord(marks[0], gpu.stream);
    for (int i = 0; i < products; ++i)
      if (product.enqueue(operands(), gpu.stream) != CUBLAS_STATUS_SUCCESS)
        done = CUDA_ERROR_LAUNCH_FAILED;
    if (done == CUDA_SUCCESS)
      done = gpu.driver.cuEventRecord(marks[1], gpu.stream);
    done = gpu.finish(done);
    float taken = 0;
    if (done == CUDA_SUCCESS)
      done = gpu.driver.cuEventElapsedTime(&taken, marks[0], marks[1]);
    milliseconds = std::min(milliseconds, taken / products);
  }
  for (CUevent mark : marks)
    if (mark)
      gpu.driver.cuEventDestroy_v2(mark);
  return done;
}

CUresult OnesTest::compareSums(bool &isRight) {
  isRight = false;
  const int64_t width = byteWidth(d.resultType);
  std::vector<std::byte> found;
  found.resize(size_t(bytesOfSums()));
  CUresult done = gpu.finish(gpu.driver.cuMemcpyDtoHAsync_v2(
      found.data(), sums.address, found.size(), gpu.stream));
  if (done != CUDA_SUCCESS)
    return done;
  isRight = true;
  for (int64_t i = 0; i < libraries::countOfSums(d); ++i) {
    uint32_t bits = 0;
    std::memcpy(&bits, found.data() + i * width, size_t(width));
    isRight &= valueOf(bits, d.resultType) == float(terms);
  }
  return CUDA_SUCCESS;
}

/// Looks at 256 rows at most, the last one among them: an algorithm that is
/// wrong is so in all tiles.
CUresult OnesTest::compareWith(CUdeviceptr matrix, float expected,
                               float mostOff, bool &isRight) {
  isRight = false;
  const int64_t width = byteWidth(d.resultType), rows = d.m * batch.size;
  const int64_t step = (rows + 255) / 256;
  std::vector<std::byte> row(size_t(d.n * width));
  for (int64_t number = rows - 1; number >= 0; number -= step) {
    const int64_t at =
        number / d.m * batch.resultStride + number % d.m * d.resultStrideM;
    CUresult done = gpu.finish(gpu.driver.cuMemcpyDtoHAsync_v2(
        row.data(), matrix + CUdeviceptr(at * width), row.size(), gpu.stream));
    if (done != CUDA_SUCCESS)
      return done;
    for (int64_t column = 0; column < d.n; ++column) {
      uint32_t bits = 0;
      std::memcpy(&bits, row.data() + column * width, size_t(width));
      // Not so for what is no number.
      if (!(std::abs(valueOf(bits, d.resultType) - expected) <= mostOff))
        return CUDA_SUCCESS;
    }
  }
  isRight = true;
  return CUDA_SUCCESS;
}

CUresult OnesTest::compare(bool &isRight) {
  if (sums.address)
    if (CUresult done = compareSums(isRight); done != CUDA_SUCCESS || !isRight)
      return done;
  const auto sum = float(terms + (d.addend == libraries::Addend::none ? 0 : 1) +
                         (d.epilogue == libraries::Epilogue::bias ? 1 : 0));
  // A sum without its last term is farther off than an activation may be.
  const float gelu =
      sum / (1 + std::exp(-1.5957691f * (sum + 0.044715f * sum * sum * sum)));
  switch (d.activation) {
  case Activation::none:
    break;
  case Activation::geluGradient:
    return compareWith(result.address, sum / 2, 0, isRight);
  case Activation::geluKeeping:
    if (CUresult done = compareWith(input.address, sum, 0, isRight);
        done != CUDA_SUCCESS || !isRight)
      return done;
    [[fallthrough]];
  case Activation::gelu:
    return compareWith(result.address, gelu, gelu / 256, isRight);
  }
  return compareWith(result.address, sum, 0, isRight);
}

} // namespace

/// An algorithm that was chosen before.
struct RememberedAlgorithm {
  cublasLtMatmulAlgo_t algorithm{};
  uint64_t isFastest = false; // of those that were timed
};

/// `tenon/cublaslt` in the user's folder of caches; empty if there is none.
static std::string usualFolder() {
  const char *caches = std::getenv("XDG_CACHE_HOME");
  const char *home = std::getenv("HOME");
  if (caches && *caches == '/')
    return std::string(caches) + "/tenon/cublaslt";
  return home && *home == '/' ? std::string(home) + "/.cache/tenon/cublaslt"
                              : "";
}

static std::string folderOf(const ExecutorOptions &options, bool isEmulated) {
  if (options.algorithmCache == "none")
    return "";
  if (!options.algorithmCache.empty() || isEmulated)
    return options.algorithmCache;
  return usualFolder();
}

CudaLibraries::CudaLibraries(std::shared_ptr<CudaContext> gpu,
                             const ExecutorOptions &options,
                             Communicator *ranks, int64_t count)
    : context(std::move(gpu)), ranks(ranks), count(count),
      file(options.cublasLt),
      // A step has some ten distinct products, of 88 bytes each.
      remembered(folderOf(options, context->driver.isEmulated), ".algorithm",
                 uint64_t(1) << 18),
      tune(options.tune) {}

bool CudaLibraries::open(Error &error) {
  if (cublasLt)
    return true;
  std::string why;
  cublasLt = libraries::CublasLt::open(
      file.empty() ? context->driver.fileWithCublasLt : file,
      {.fill = context->driver.cuMemsetD32Async,
       .load = context->driver.cuModuleLoadDataEx,
       .unload = context->driver.cuModuleUnload,
       .function = context->driver.cuModuleGetFunction,
       .launch = context->driver.cuLaunchKernel},
      why);
  return cublasLt ||
         refuse(error, Failure::machine,
                "the file's matrix products are calls of cuBLASLt 13, which "
                "cannot be called here: " +
                    why +
                    "; install it (the package nvidia-cublas has it), name its "
                    "file (--cublaslt, TENON_CUBLASLT), or compile the step "
                    "again with --no-libraries");
}

std::string CudaLibraries::questionOf(const GpuProduct &product) const {
  return "cuBLASLt " + cublasLt->version() + "\n" + context->model + "\n" +
         std::to_string(context->multiprocessors) + "\n" +
         std::to_string(context->cuda) + "\n" + product.question();
}

bool CudaLibraries::agree(GpuProduct &product, Error &error) {
  struct Choice {
    cublasLtMatmulAlgo_t algorithm{};
    format::Hash question;
  } chosen;
  const std::string question = questionOf(product);
  const format::Hash own = format::hashOf(std::as_bytes(std::span(question)));
  const bool isFirst = ranks->rank() == 0;
  if (isFirst)
    chosen = {product.algorithm(), own};
  std::vector<OutgoingMessage> outgoing;
  std::vector<IncomingMessage> incoming;
  for (int64_t rank = 1; isFirst && rank < count; ++rank)
    outgoing.push_back({rank, std::as_bytes(std::span(&chosen, 1))});
  if (!isFirst)
    incoming.push_back({0, std::as_writable_bytes(std::span(&chosen, 1))});
  ranks->await("the choice of cuBLASLt's algorithms");
  if (!ranks->exchange(outgoing, incoming))
    return refuse(error, Failure::run, ranks->whyEnded());
  const std::string who = "rank " + std::to_string(ranks->rank());
  if (!(chosen.question == own))
    return refuse(error, Failure::machine,
                  who + " has another GPU, driver or cuBLASLt than rank 0 (" +
                      context->name + ", cuBLASLt " + cublasLt->version() +
                      "), so that they would compute other bits; run the step "
                      "on equal GPUs, or compile it with --no-libraries");
  bool isRight = isFirst || product.choose(chosen.algorithm);
  if (isRight && !isFirst) {
    OnesTest test(*context, product);
    CUresult done = test.prepare();
    if (done == CUDA_SUCCESS)
      done = test.run(isRight);
    isRight &= done == CUDA_SUCCESS;
  }
  return isRight ||
         refuse(error, Failure::machine,
                "the algorithm of cuBLASLt that rank 0 chose for a " +
                    libraries::describe(product.description()) +
                    " does not multiply right on " + who +
                    "; compile the step again with --no-libraries");
}

bool CudaLibraries::choose(GpuProduct &product, Error &error) {
  const std::string question = questionOf(product);
  OnesTest test(*context, product);
  CUresult done = test.prepare();
  auto isRight = [&] {
    bool right = false;
    if (done == CUDA_SUCCESS)
      done = test.run(right);
    return right;
  };
  RememberedAlgorithm known;
  if (auto bytes = remembered.find(question);
      bytes && bytes->size() == sizeof(known)) {
    std::memcpy(&known, bytes->data(), sizeof(known));
    if ((known.isFastest || !tune) && product.choose(known.algorithm) &&
        isRight()) {
      ++found.remembered;
      return true;
    }
  }
  std::optional<size_t> best;
  float shortest = 0;
  for (size_t i = 0; i < product.algorithms().size(); ++i) {
    product.choose(i);
    if (!isRight())
      continue;
    float milliseconds = 0;
    if (tune)
      done = test.time(milliseconds);
    if (!best || milliseconds < shortest) {
      best = i;
      shortest = milliseconds;
    }
    if (!tune)
      break;
  }
  if (best && done == CUDA_SUCCESS) {
    product.choose(*best);
    known = {product.algorithm(), tune};
    remembered.keep(question, std::as_bytes(std::span(&known, 1)));
    ++(tune ? found.timed : found.offered);
    return true;
  }
  const std::string what = libraries::describe(product.description());
  if (done != CUDA_SUCCESS)
    return context->check(done, "cuBLASLt's " + what + " cannot be tried",
                          done == CUDA_ERROR_OUT_OF_MEMORY ? Failure::memory
                                                           : Failure::machine,
                          error);
  return refuse(error, Failure::machine,
                "cuBLASLt " + cublasLt->version() +
                    " gives a wrong result for a " + what + " of ones on " +
                    context->name +
                    ", with all algorithms that it offers; install another "
                    "version, or compile the step again with --no-libraries");
}

bool CudaLibraries::make(const format::Callee &callee, CudaCallees::Call &call,
                         Error &error) {
  std::string why;
  auto description = libraries::restore(callee, why);
  if (!description)
    return refuse(error, Failure::file, "the file is damaged: " + why);
  auto *matmul = std::get_if<GpuMatmulDescription>(&*description);
  if (!matmul)
    return refuse(error, Failure::file,
                  "the file is damaged: it calls " + callee.library +
                      ", which GPUs do not have");
  // What the plan has to hold does not depend on the library.
  call.planned = libraries::Call::create(*description, {}, why);
  if (!call.planned)
    return refuse(error, Failure::file, "the file is damaged: " + why);
  if (!open(error))
    return false;
  call.ready =
      libraries::GpuCall::create(cublasLt, *matmul, callee.workspaceBytes, why);
  if (!call.ready)
    return refuse(error, Failure::machine,
                  "the file calls cuBLASLt for a " + callee.description +
                      ", which cannot run here: " + why +
                      "; compile the step again with --no-libraries");
  return std::ranges::all_of(call.ready->products(),
                             [&](const auto &product) {
                               return (ranks && ranks->rank() > 0) ||
                                      choose(*product, error);
                             }) &&
         std::ranges::all_of(call.ready->products(), [&](const auto &product) {
           return !ranks || agree(*product, error);
         });
}
