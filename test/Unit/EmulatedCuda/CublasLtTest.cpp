//===- CublasLtTest.cpp - Products of cuBLASLt on the emulated driver -----===//
//
// Described products as the runtime runs them, against sums in double, and what
// the emulated library finds wrong.
//
//===----------------------------------------------------------------------===//

#include "Device.h"

#include "tenon/Libraries/GpuCalls.h"
#include "tenon/Libraries/Library.h"

#include <bit>
#include <cmath>
#include <random>

using namespace tenon;
using namespace tenon::libraries;
using tenon::test::Device;

namespace {

constexpr ElementType f32 = ElementType::f32, bf16 = ElementType::bf16,
                      f16 = ElementType::f16;

constexpr GpuDriverCalls driver{.fill = &cuMemsetD32Async,
                                .load = &cuModuleLoadDataEx,
                                .unload = &cuModuleUnload,
                                .function = &cuModuleGetFunction,
                                .launch = &cuLaunchKernel};

double decode(const uint8_t *at, ElementType type) {
  uint32_t word = 0;
  memcpy(&word, at, size_t(byteWidth(type)));
  if (type == f16) {
    const int exponent = int(word >> 10 & 31);
    const double magnitude =
        exponent ? std::ldexp(1024 + double(word & 1023), exponent - 25)
                 : std::ldexp(double(word & 1023), -24);
    return word >> 15 ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(type == bf16 ? word << 16 : word);
}

/// Elements of the type with random bits of magnitudes near one.
std::vector<uint8_t> random(int64_t count, ElementType type,
                            std::mt19937 &numbers) {
  std::vector<uint8_t> bytes(size_t(count * byteWidth(type)));
  for (int64_t i = 0; i < count; ++i) {
    float value = std::uniform_real_distribution<float>(-1, 1)(numbers);
    uint32_t word = std::bit_cast<uint32_t>(value);
    if (type == bf16)
      word >>= 16;
    if (type == f16) // a sign, an exponent from 8 to 15 and any digits
      word = (word >> 31 << 15) | (8 + (word >> 3 & 7)) << 10 | (word & 1023);
    memcpy(&bytes[size_t(i * byteWidth(type))], &word, size_t(byteWidth(type)));
  }
  return bytes;
}

/// Four times as large.
void widen(std::vector<uint8_t> &bytes, ElementType type) {
  for (size_t i = 0; type != f32 && i < bytes.size(); i += 2) {
    uint16_t word;
    memcpy(&word, &bytes[i], 2);
    word = uint16_t(word + (type == bf16 ? 2 << 7 : 2 << 10));
    memcpy(&bytes[i], &word, 2);
  }
}

double tanhOfGelu(double x) {
  return std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x));
}
double gelu(double x) { return 0.5 * x * (1 + tanhOfGelu(x)); }
double derivativeOfGelu(double x) {
  const double t = tanhOfGelu(x);
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * std::sqrt(2 / M_PI) *
                             (1 + 3 * 0.044715 * x * x);
}

struct Layouts {
  bool lhsByColumns = false, rhsByColumns = false;
};

GpuMatmulDescription product(int64_t m, int64_t n, int64_t k,
                             ElementType operands = f32,
                             ElementType result = f32, Layouts layouts = {}) {
  GpuMatmulDescription d;
  d.lhsType = d.rhsType = operands;
  d.resultType = result;
  d.m = m;
  d.n = n;
  d.k = k;
  d.lhsStrideM = layouts.lhsByColumns ? 1 : k;
  d.lhsStrideK = layouts.lhsByColumns ? m : 1;
  d.rhsStrideK = layouts.rhsByColumns ? 1 : n;
  d.rhsStrideN = layouts.rhsByColumns ? k : 1;
  d.resultStrideM = n;
  d.resultStrideN = 1;
  return d;
}

/// What a call left in its result, and in the bytes between.
struct Outcome {
  std::vector<uint8_t> result, input, sums;
  bool addsBiasApart = false, activatesApart = false, sumsApart = false;
};

class CublasLtTest : public testing::Test {
protected:
  /// Makes and runs the call in a graph, as the runtime does, and compares it.
  Outcome run(Device &device, const GpuMatmulDescription &d) {
    EXPECT_EQ(whyInvalid(d), "");
    std::string error;
    auto library = CublasLt::open(TENON_EMULATED_CUDA, driver, error);
    EXPECT_TRUE(library) << error;
    const auto workspace = uint64_t(plannedWorkspace(d));
    auto call = GpuCall::create(library, d, workspace, error);
    EXPECT_TRUE(call) << error;
    if (!call)
      return {};
    std::mt19937 numbers(unsigned(d.m * 31 + d.n * 7 + d.k));
    auto lhs = random(spanOfLhs(d), d.lhsType, numbers);
    auto rhs = random(spanOfRhs(d), d.rhsType, numbers);
    auto before = random(spanOfResult(d), d.resultType, numbers);
    auto bias = random(d.n, d.resultType, numbers);
    auto input = random(spanOfResult(d), d.resultType, numbers);
    widen(input, d.resultType);
    std::vector<CUdeviceptr> arguments = {device.upload(lhs),
                                          device.upload(rhs)};
    if (d.addend == Addend::operand)
      arguments.push_back(device.upload(before));
    if (d.epilogue == Epilogue::bias)
      arguments.push_back(device.upload(bias));
    if (d.activation == Activation::geluGradient)
      arguments.push_back(device.upload(input));
    // All bytes are there, so that those between results may be compared.
    arguments.push_back(device.upload(before));
    CUdeviceptr result = arguments.back();
    if (d.activation == Activation::geluKeeping)
      arguments.push_back(device.allocate(before.size()));
    CUdeviceptr kept = arguments.back();
    const auto bytesOfSums = size_t(countOfSums(d) * byteWidth(d.resultType));
    if (bytesOfSums)
      arguments.push_back(device.allocate(bytesOfSums));
    CUdeviceptr sums = arguments.back();
    if (workspace)
      arguments.push_back(device.allocate(workspace));
    EXPECT_EQ(runInGraph(*call, arguments), "");
    Outcome outcome{device.download<uint8_t>(result, before.size()),
                    input,
                    {},
                    call->addsBiasApart(),
                    call->activatesApart(),
                    call->sumsApart()};
    if (bytesOfSums)
      outcome.sums = device.download<uint8_t>(sums, bytesOfSums);
    compareSums(d, d.sums == OperandSums::lhs ? lhs : rhs, outcome.sums);
    if (d.activation == Activation::geluKeeping)
      outcome.input = device.download<uint8_t>(kept, before.size());
    compare(d, lhs, rhs, before, bias, outcome);
    return outcome;
  }

  static std::string runInGraph(const GpuCall &call,
                                std::span<const CUdeviceptr> arguments) {
    CUstream stream = nullptr;
    CUgraph captured = nullptr, graph = nullptr;
    CUgraphNode node = nullptr;
    CUgraphExec executable = nullptr;
    EXPECT_EQ(cuStreamCreate(&stream, 1), CUDA_SUCCESS);
    EXPECT_EQ(
        cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
        CUDA_SUCCESS);
    EXPECT_EQ(cuStreamSynchronize(stream),
              CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    std::string said = call.enqueue(arguments, stream);
    EXPECT_EQ(cuStreamEndCapture(stream, &captured), CUDA_SUCCESS);
    EXPECT_EQ(cuGraphCreate(&graph, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuGraphAddChildGraphNode(&node, graph, nullptr, 0, captured),
              CUDA_SUCCESS);
    EXPECT_EQ(cuGraphDestroy(captured), CUDA_SUCCESS);
    EXPECT_EQ(cuGraphInstantiateWithFlags(&executable, graph, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuGraphLaunch(executable, stream), CUDA_SUCCESS);
    CUresult done = cuStreamSynchronize(stream);
    cuGraphExecDestroy(executable);
    cuGraphDestroy(graph);
    cuStreamDestroy_v2(stream);
    return done == CUDA_SUCCESS ? said : tenonEmulatedCudaError();
  }

private:
  static void compareSums(const GpuMatmulDescription &d,
                          const std::vector<uint8_t> &operand,
                          const std::vector<uint8_t> &found) {
    const bool isLeft = d.sums == OperandSums::lhs;
    const ElementType type = isLeft ? d.lhsType : d.rhsType;
    const double rounding = d.resultType == f32   ? 0x1p-24
                            : d.resultType == f16 ? 0x1p-11
                                                  : 0x1p-8;
    for (int64_t i = 0; i < countOfSums(d); ++i) {
      double sum = 0, size = 0;
      for (int64_t k = 0; k < d.k; ++k) {
        const int64_t at = isLeft ? i * d.lhsStrideM + k * d.lhsStrideK
                                  : i * d.rhsStrideN + k * d.rhsStrideK;
        const double term =
            decode(&operand[size_t(at * byteWidth(type))], type);
        sum += term;
        size += std::abs(term);
      }
      EXPECT_NEAR(
          decode(&found[size_t(i * byteWidth(d.resultType))], d.resultType),
          sum,
          double(d.k) * 0x1p-24 * size + 1.01 * rounding * std::abs(sum) +
              0x1p-24)
          << i;
    }
  }

  static void
  compare(const GpuMatmulDescription &d, const std::vector<uint8_t> &lhs,
          const std::vector<uint8_t> &rhs, const std::vector<uint8_t> &before,
          const std::vector<uint8_t> &bias, const Outcome &outcome) {
    const std::vector<uint8_t> &result = outcome.result;
    const int64_t width = byteWidth(d.resultType);
    std::vector<bool> isResult(size_t(spanOfResult(d)));
    int64_t batches = 1;
    for (const auto &dimension : d.batch)
      batches *= dimension.size;
    double worst = 0;
    for (int64_t batch = 0; batch < batches; ++batch) {
      int64_t l = 0, r = 0, o = 0, rest = batch;
      for (const auto &dimension : d.batch) {
        const int64_t at = rest % dimension.size;
        rest /= dimension.size;
        l += at * dimension.lhsStride;
        r += at * dimension.rhsStride;
        o += at * dimension.resultStride;
      }
      for (int64_t i = 0; i < d.m; ++i)
        for (int64_t j = 0; j < d.n; ++j) {
          double sum = 0, size = 0;
          for (int64_t k = 0; k < d.k; ++k) {
            const int64_t a = l + i * d.lhsStrideM + k * d.lhsStrideK;
            const int64_t b = r + k * d.rhsStrideK + j * d.rhsStrideN;
            const double term =
                decode(&lhs[size_t(a * byteWidth(d.lhsType))], d.lhsType) *
                decode(&rhs[size_t(b * byteWidth(d.rhsType))], d.rhsType);
            sum += term;
            size += std::abs(term);
          }
          const int64_t at = o + i * d.resultStrideM + j * d.resultStrideN;
          if (d.addend != Addend::none)
            sum += decode(&before[size_t(at * width)], d.resultType);
          if (d.epilogue == Epilogue::bias)
            sum += decode(&bias[size_t(j * width)], d.resultType);
          const double rounding = d.resultType == f32   ? 0x1p-24
                                  : d.resultType == f16 ? 0x1p-11
                                                        : 0x1p-8;
          auto hold = [&](const std::vector<uint8_t> &found, double expected,
                          double bound) {
            worst = std::max(worst, std::abs(decode(&found[size_t(at * width)],
                                                    d.resultType) -
                                             expected) /
                                        bound);
          };
          // A sum, once rounded.
          const double bound = double(d.k + 2) * 0x1p-24 * (size + 2) +
                               1.01 * rounding * std::abs(sum) + 0x1p-24;
          isResult[size_t(at)] = true;
          // No derivative of GELU is larger than 1.13.
          const double again = 1.01 * rounding;
          if (d.activation == Activation::none) {
            hold(result, sum, bound);
          } else if (d.activation == Activation::geluGradient) {
            const double factor = derivativeOfGelu(
                decode(&outcome.input[size_t(at * width)], d.resultType));
            hold(result, sum * factor,
                 1.13 * bound + again * std::abs(sum * factor));
          } else {
            hold(result, gelu(sum), 1.13 * bound + again * std::abs(gelu(sum)));
            if (d.activation == Activation::geluKeeping)
              hold(outcome.input, sum, bound);
          }
        }
    }
    EXPECT_LE(worst, 1);
    for (size_t i = 0; i < isResult.size(); ++i)
      if (!isResult[i]) {
        EXPECT_EQ(memcmp(&result[i * size_t(width)], &before[i * size_t(width)],
                         size_t(width)),
                  0)
            << i;
      }
  }
};

} // namespace

TEST_F(CublasLtTest, MultipliesAllLayouts) {
  Device device;
  for (auto [operands, result] :
       {std::pair(f32, f32), {bf16, bf16}, {bf16, f32}, {f16, f16}, {f16, f32}})
    for (bool lhs : {false, true})
      for (bool rhs : {false, true})
        for (auto [m, n, k] : {std::tuple(5, 7, 3),
                               {1, 9, 130},
                               {9, 1, 65},
                               {4, 4, 1},
                               {33, 18, 96}})
          run(device, product(m, n, k, operands, result, {lhs, rhs}));
}

TEST_F(CublasLtTest, RunsThroughBatches) {
  Device device;
  // Heads inside [batch, time, head, feature]: one dimension is a batch of the
  // library's, the other one calls of their own.
  GpuMatmulDescription heads = product(6, 6, 4);
  heads.batch = {{3, 6 * 8, 6 * 8, 2 * 36}, {2, 4, 4, 36}};
  heads.lhsStrideM = heads.rhsStrideN = 8;
  heads.rhsStrideK = heads.lhsStrideK = 1;
  heads.resultStrideM = 6;
  run(device, heads);
  std::string why;
  auto layout = columnMajor(heads, why);
  ASSERT_TRUE(layout) << why;
  EXPECT_EQ(layout->calls.size(), 2u);
  // The same matrix for all, rows with room between them.
  GpuMatmulDescription shared = product(5, 6, 7, bf16, bf16);
  shared.batch = {{4, 35, 0, 5 * 9}};
  shared.resultStrideM = 9;
  run(device, shared);
}

TEST_F(CublasLtTest, AddsAnAddendAndABias) {
  for (const char *refuses : {"0", "all"}) {
    Device device({{"CUBLASLT_REFUSE", refuses}});
    for (Addend addend : {Addend::none, Addend::operand, Addend::inPlace}) {
      GpuMatmulDescription d = product(6, 10, 70);
      d.addend = addend;
      run(device, d);
    }
    GpuMatmulDescription d = product(6, 10, 70);
    d.batch = {{3, 6 * 70, 0, 60}};
    d.epilogue = Epilogue::bias;
    EXPECT_EQ(run(device, d).addsBiasApart, refuses[0] == 'a');
  }
}

TEST_F(CublasLtTest, ABiasAddedApartHasTheSameBits) {
  GpuMatmulDescription d = product(13, 10, 90);
  d.epilogue = Epilogue::bias;
  std::vector<Outcome> outcomes;
  for (const char *refuses : {"0", "all"}) {
    Device device({{"CUBLASLT_REFUSE", refuses}});
    outcomes.push_back(run(device, d));
  }
  EXPECT_NE(outcomes[0].addsBiasApart, outcomes[1].addsBiasApart);
  EXPECT_EQ(outcomes[0].result, outcomes[1].result);
}

TEST_F(CublasLtTest, AddsABiasOf16Bits) {
  for (const char *refuses : {"0", "all"}) {
    Device device({{"CUBLASLT_REFUSE", refuses}});
    for (ElementType type : {bf16, f16}) {
      GpuMatmulDescription d = product(7, 10, 70, type, type);
      d.epilogue = Epilogue::bias;
      EXPECT_EQ(run(device, d).addsBiasApart, refuses[0] == 'a');
    }
  }
}

TEST_F(CublasLtTest, AppliesGeluAndItsGradient) {
  for (const char *refuses : {"0", "all"}) {
    Device device({{"CUBLASLT_REFUSE", refuses}});
    for (ElementType type : {bf16, f16})
      for (Epilogue epilogue : {Epilogue::none, Epilogue::bias})
        for (Activation activation : {Activation::gelu, Activation::geluKeeping,
                                      Activation::geluGradient}) {
          GpuMatmulDescription d = product(21, 24, 70, type, type);
          d.epilogue = epilogue;
          d.activation = activation;
          if (activation == Activation::geluGradient)
            d.epilogue = Epilogue::none;
          Outcome outcome = run(device, d);
          EXPECT_EQ(outcome.activatesApart, refuses[0] == 'a');
        }
  }
}

TEST_F(CublasLtTest, AddsUpAnOperand) {
  for (const char *refuses : {"0", "all"}) {
    Device device({{"CUBLASLT_REFUSE", refuses}});
    for (auto [operands, result] :
         {std::pair(bf16, bf16), {bf16, f32}, {f16, f16}})
      for (OperandSums sums : {OperandSums::lhs, OperandSums::rhs}) {
        GpuMatmulDescription d =
            product(21, 24, 70, operands, result, {true, false});
        d.sums = sums;
        EXPECT_EQ(run(device, d).sumsApart, refuses[0] == 'a');
      }
  }
}

TEST_F(CublasLtTest, FindsAnInputThatIsNotAligned) {
  for (Activation activation :
       {Activation::geluKeeping, Activation::geluGradient}) {
    Device device({{"CUBLASLT_REFUSE", "0"}});
    GpuMatmulDescription d = product(8, 8, 8, bf16, bf16);
    d.activation = activation;
    std::string error;
    auto library = CublasLt::open(TENON_EMULATED_CUDA, driver, error);
    ASSERT_TRUE(library) << error;
    auto call = GpuCall::create(library, d, 0, error);
    ASSERT_TRUE(call) << error;
    std::vector<CUdeviceptr> arguments;
    for (int i = 0; i < 4; ++i)
      arguments.push_back(device.upload(std::vector<uint16_t>(128)));
    EXPECT_EQ(runInGraph(*call, arguments), "");
    arguments[activation == Activation::geluKeeping ? 3 : 2] += 16;
    EXPECT_EQ(runInGraph(*call, arguments), "CUBLAS_STATUS_INVALID_VALUE");
  }
}

TEST_F(CublasLtTest, ATenthOfWhatIsOptionalIsRefused) {
  Device device;
  std::string error;
  auto library = CublasLt::open(TENON_EMULATED_CUDA, driver, error);
  ASSERT_TRUE(library) << error;
  int refused = 0;
  for (int64_t m = 1; m <= 300; ++m) {
    GpuMatmulDescription d = product(m, 8, 8);
    d.epilogue = Epilogue::bias;
    auto call =
        GpuCall::create(library, d, uint64_t(plannedWorkspace(d)), error);
    ASSERT_TRUE(call) << error;
    refused += call->addsBiasApart();
  }
  EXPECT_GT(refused, 15);
  EXPECT_LT(refused, 45);
}

TEST_F(CublasLtTest, FindsWhatIsWrongWithMemory) {
  const GpuMatmulDescription d = product(8, 8, 8);
  std::string error;
  auto said = [&](auto spoil) {
    Device device;
    auto library = CublasLt::open(TENON_EMULATED_CUDA, driver, error);
    EXPECT_TRUE(library) << error;
    auto call = GpuCall::create(library, d, 0, error);
    EXPECT_TRUE(call) << error;
    std::vector<CUdeviceptr> arguments = {device.upload(std::vector<float>(64)),
                                          device.upload(std::vector<float>(64)),
                                          device.allocate(256)};
    spoil(device, arguments);
    return runInGraph(*call, arguments);
  };
  auto contains = [](const std::string &text, const char *expected) {
    EXPECT_NE(text.find(expected), std::string::npos) << text;
  };
  EXPECT_EQ(said([](Device &, auto &) {}), "");
  contains(said([](Device &device, auto &arguments) {
             arguments[0] = device.allocate(256);
           }),
           "uninitialised: cuBLASLt reads 32 bytes of B at byte 0");
  contains(said([](Device &device, auto &arguments) {
             arguments[2] = device.allocate(192);
           }),
           "out of bounds: cuBLASLt writes 32 bytes of D at byte 192");
  EXPECT_EQ(said([](Device &, auto &arguments) { arguments[1] += 16; }),
            "CUBLAS_STATUS_INVALID_VALUE");
}

TEST_F(CublasLtTest, FindsANodeThatRunsBesideAProduct) {
  Device device;
  std::string error;
  auto library = CublasLt::open(TENON_EMULATED_CUDA, driver, error);
  ASSERT_TRUE(library) << error;
  auto call = GpuCall::create(library, product(8, 8, 8), 0, error);
  ASSERT_TRUE(call) << error;
  std::vector<CUdeviceptr> arguments = {device.upload(std::vector<float>(64)),
                                        device.upload(std::vector<float>(64)),
                                        device.allocate(256)};
  for (bool isOrdered : {true, false}) {
    CUstream stream = nullptr;
    CUgraph captured = nullptr, graph = nullptr;
    CUgraphNode first = nullptr, second = nullptr;
    CUgraphExec executable = nullptr;
    ASSERT_EQ(cuStreamCreate(&stream, 1), CUDA_SUCCESS);
    ASSERT_EQ(
        cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
        CUDA_SUCCESS);
    ASSERT_EQ(call->enqueue(arguments, stream), "");
    ASSERT_EQ(cuStreamEndCapture(stream, &captured), CUDA_SUCCESS);
    ASSERT_EQ(cuGraphCreate(&graph, 0), CUDA_SUCCESS);
    CUDA_MEMSET_NODE_PARAMS fill{arguments[0], 0, 0, 4, 64, 1};
    ASSERT_EQ(cuGraphAddMemsetNode(&first, graph, nullptr, 0, &fill, nullptr),
              CUDA_SUCCESS);
    ASSERT_EQ(cuGraphAddChildGraphNode(&second, graph,
                                       isOrdered ? &first : nullptr, isOrdered,
                                       captured),
              CUDA_SUCCESS);
    ASSERT_EQ(cuGraphInstantiateWithFlags(&executable, graph, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuGraphLaunch(executable, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamSynchronize(nullptr) == CUDA_SUCCESS, isOrdered);
    if (!isOrdered) {
      EXPECT_NE(std::string(tenonEmulatedCudaError())
                    .find("fill and matrix product of cuBLASLt touch byte 0"),
                std::string::npos)
          << tenonEmulatedCudaError();
    }
    cuGraphExecDestroy(executable);
    cuGraphDestroy(graph);
    cuGraphDestroy(captured);
    cuStreamDestroy_v2(stream);
  }
}
