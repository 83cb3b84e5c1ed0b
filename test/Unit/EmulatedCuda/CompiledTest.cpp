//===- CompiledTest.cpp - PTX that LLVM's back end printed ----------------===//
//
// softmax.ptx and forms.ptx are what `llc -march=nvptx64 -mcpu=sm_90` of LLVM
// 22 makes of the .ll files beside them. Debug information stands in the
// second.
//
//===----------------------------------------------------------------------===//

#include "Device.h"
#include <bit>
#include <cmath>

using namespace tenon::test;

namespace {

std::vector<float> inputs(size_t count) {
  std::vector<float> x;
  for (size_t i = 0; i < count; ++i)
    x.push_back(float(i * 37 % 101) / 128 - 0.4f);
  return x;
}

TEST(Compiled, SoftmaxGivesTheBitsOfTheSameArithmetic) {
  for (const char *order : {"forward", "reverse", "5"}) {
    Device device({{"ORDER", order}});
    const unsigned blocks = 3, threads = 256;
    std::vector<float> x = inputs(blocks * threads * 4);
    CUdeviceptr in = device.upload(x), out = device.allocate(x.size() * 4);
    CUfunction function = device.load(readFile("softmax.ptx"));
    ASSERT_TRUE(function);
    ASSERT_EQ(device.run(function, blocks, threads, {in, out}), CUDA_SUCCESS)
        << tenonEmulatedCudaError();
    auto got = device.download<float>(out, x.size());
    for (unsigned block = 0; block < blocks; ++block) {
      float e[threads][4], sums[threads], next[threads];
      for (unsigned t = 0; t < threads; ++t) {
        for (unsigned j = 0; j < 4; ++j)
          e[t][j] = float(std::exp2(double(x[(block * threads + t) * 4 + j])));
        float s = (e[t][0] + e[t][1]) + (e[t][2] + e[t][3]);
        for (int n = 0; n < 16; ++n)
          s = std::fma(
              std::fma(std::fma(s, e[t][1], e[t][2]), e[t][3], e[t][0]), 0.25f,
              e[t][0]);
        sums[t] = s;
      }
      for (unsigned distance : {16, 8}) {
        for (unsigned t = 0; t < threads; ++t)
          next[t] = sums[t] + sums[t ^ distance];
        std::copy(next, next + threads, sums);
      }
      for (unsigned t = 0; t < threads; ++t)
        for (unsigned j = 0; j < 4; ++j) {
          float l = sums[t ^ 32], want = j ? e[t][j] * l : e[t][j] / l;
          ASSERT_EQ(std::bit_cast<uint32_t>(got[(block * threads + t) * 4 + j]),
                    std::bit_cast<uint32_t>(want));
        }
    }
    TenonEmulatedCounters counters;
    ASSERT_EQ(tenonEmulatedCudaCounters(function, &counters), CUDA_SUCCESS);
    EXPECT_EQ(counters.launches, 1u);
    EXPECT_EQ(counters.globalBytes, 2 * 4 * x.size());
    EXPECT_EQ(counters.globalWideBytes, counters.globalBytes);
    EXPECT_EQ(counters.globalSectors, counters.globalBytes / 32);
    EXPECT_EQ(counters.sharedBankConflicts, 0u);
  }
}

TEST(Compiled, ErrorsNameTheSource) {
  Device device;
  CUfunction function = device.load(readFile("forms.ptx"));
  ASSERT_TRUE(function) << tenonEmulatedCudaError();
  uint64_t x = device.allocate(512),
           y = device.upload(std::vector<uint8_t>(4096));
  uint32_t n = 32;
  float s = 1;
  uint8_t b = 3;
  void *parameters[] = {&x, &y, &n, &s, &b};
  ASSERT_EQ(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 1024, nullptr,
                           parameters, nullptr),
            CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(nullptr), CUDA_ERROR_LAUNCH_FAILED);
  // Sticky: whatever is called gives the error.
  CUdeviceptr more = 0;
  EXPECT_EQ(cuMemAlloc_v2(&more, 16), CUDA_ERROR_LAUNCH_FAILED);
  const std::string error = tenonEmulatedCudaError();
  EXPECT_NE(
      error.find("kernel 'k', block (0, 0, 0), thread (0, 0, 0), PTX line 50 "
                 "(ld.global.nc.v4.b32), /step.mlir:17:3: uninitialised"),
      std::string::npos)
      << error;
}

/// A kernel that adds 3 numbers, stored with a stride of `stride` words of
/// shared memory.
TEST(Compiled, BankConflictsAndSectorsAreCounted) {
  for (auto [stride, conflicts] : std::vector<std::pair<unsigned, unsigned>>{
           {4, 0}, {8, 1}, {16, 3}, {128, 31}}) {
    Device device;
    CUdeviceptr buffer = device.upload(std::vector<uint8_t>(65536));
    const std::string by = std::to_string(stride);
    CUfunction function = device.load(
        kernel("mul.wide.u32 %rd20, %r0, " + by +
                   ";\nmov.b64 %rd21, s;\nadd.s64 %rd21, %rd21, %rd20;\n"
                   "st.shared.b32 [%rd21], %r0;\nadd.s64 %rd22, %rd0, "
                   "%rd20;\nst.global.b32 [%rd22], %r0;",
               ".shared .align 16 .b8 s[8192];\n"));
    ASSERT_EQ(device.run(function, 1, 32, {buffer, buffer, buffer, buffer}),
              CUDA_SUCCESS);
    TenonEmulatedCounters counters;
    tenonEmulatedCudaCounters(function, &counters);
    EXPECT_EQ(counters.sharedBankConflicts, conflicts) << stride;
    EXPECT_EQ(counters.globalSectors, std::min(stride, 32u)) << stride;
    EXPECT_EQ(counters.globalBytes, 128u);
  }
}

TEST(Compiled, TheSecondModeOfCopiesFindsNoMissingWait) {
  const std::string ptx =
      kernel("mov.b64 %rd20, s;\nmul.wide.u32 %rd21, %r0, 16;\nadd.s64 %rd20, "
             "%rd20, %rd21;\n"
             "add.s64 %rd21, %rd21, %rd0;\ncp.async.cg.shared.global [%rd20], "
             "[%rd21], 16;\n"
             "ld.shared.b32 %r1, [%rd20];\nst.global.b32 [%rd11], %r1;",
             ".shared .align 16 .b8 s[512];\n");
  for (std::string copies : {"late", "early"}) {
    Device device({{"COPIES", copies}});
    CUdeviceptr from = device.upload(std::vector<uint32_t>(128, 42)),
                to = device.allocate(256);
    CUresult result =
        device.run(device.load(ptx), 1, 32, {from, to, from, from});
    EXPECT_EQ(result,
              copies == "late" ? CUDA_ERROR_LAUNCH_FAILED : CUDA_SUCCESS);
    if (copies == "early")
      EXPECT_EQ(device.download<uint32_t>(to, 1)[0], 42u);
  }
}

TEST(Compiled, TheDeviceIsWhatTheEnvironmentSays) {
  Device device({{"SM", "80"}, {"MEMORY", "1000000"}});
  int major = 0, minor = 0;
  EXPECT_EQ(cuDeviceComputeCapability(&major, &minor, 0), CUDA_SUCCESS);
  EXPECT_EQ(major * 10 + minor, 80);
  CUdeviceptr address = 0;
  EXPECT_EQ(cuMemAlloc_v2(&address, 1000001), CUDA_ERROR_OUT_OF_MEMORY);
  address = device.allocate(600000);
  size_t free = 0, total = 0;
  EXPECT_EQ(cuMemGetInfo_v2(&free, &total), CUDA_SUCCESS);
  EXPECT_EQ(free, 400000u);
  // PTX for a newer device is refused.
  EXPECT_FALSE(device.load(kernel("")));
  EXPECT_TRUE(device.load(kernel("", "", 80)));
  void *function = nullptr;
  EXPECT_EQ(cuGetProcAddress_v2("cuMemAlloc", &function, 13000, 0, nullptr),
            CUDA_SUCCESS);
  EXPECT_EQ(function, reinterpret_cast<void *>(&cuMemAlloc_v2));
}

TEST(Compiled, FreedMemoryStaysKnown) {
  Device device;
  CUdeviceptr freed = device.allocate(4096),
              other = device.upload(std::vector<uint8_t>(4096));
  EXPECT_EQ(cuMemFree_v2(freed), CUDA_SUCCESS);
  CUfunction function = device.load(kernel("ld.global.b32 %r1, [%rd10];"));
  EXPECT_EQ(device.run(function, 1, 32, {freed, other, other, other}),
            CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_NE(std::string(tenonEmulatedCudaError())
                .find("freed allocation of 4096 bytes"),
            std::string::npos);
}

TEST(Compiled, CopiesAndFillsStayInBounds) {
  const std::vector<uint8_t> bytes(4097);
  for (int kind = 0; kind < 3; ++kind) {
    Device device;
    CUdeviceptr buffer = device.allocate(4096), freed = device.allocate(16);
    EXPECT_EQ(cuMemFree_v2(freed), CUDA_SUCCESS);
    CUresult given =
        kind == 0   ? cuMemcpyHtoDAsync_v2(buffer, bytes.data(), 4097, nullptr)
        : kind == 1 ? cuMemcpyHtoDAsync_v2(freed, bytes.data(), 16, nullptr)
                    : cuMemsetD32Async(buffer + 4, 0, 1024, nullptr);
    EXPECT_EQ(given, CUDA_SUCCESS);
    EXPECT_EQ(cuStreamSynchronize(nullptr), CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT_NE(std::string(tenonEmulatedCudaError()).find("out of bounds"),
              std::string::npos);
  }
}

TEST(Compiled, PoisonedBytesAreNeverWrittenAgain) {
  Device device;
  CUdeviceptr buffer = device.upload(std::vector<uint8_t>(4096));
  CUfunction function = device.load(kernel("ld.global.b32 %r1, [%rd10];"));
  EXPECT_EQ(device.run(function, 1, 32, {buffer, buffer, buffer, buffer}),
            CUDA_SUCCESS);
  EXPECT_EQ(tenonEmulatedCudaPoison(buffer + 248, 4), CUDA_SUCCESS);
  EXPECT_EQ(device.run(function, 1, 32, {buffer, buffer, buffer, buffer}),
            CUDA_ERROR_LAUNCH_FAILED);
}

} // namespace
