//===- Device.h - The emulated device as tests use it ---------------------===//

#ifndef TENON_TEST_UNIT_EMULATEDCUDA_DEVICE_H
#define TENON_TEST_UNIT_EMULATEDCUDA_DEVICE_H

#include "tenon/EmulatedCuda/EmulatedCuda.h"
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <string>
#include <vector>

namespace tenon::test {

/// A fresh device for the lifetime of the object; settings are names without
/// the prefix.
class Device {
public:
  explicit Device(
      std::vector<std::pair<std::string, std::string>> settings = {}) {
    for (const char *name :
         {"SM", "MEMORY", "COPIES", "APPROXIMATE", "ORDER", "CUBLASLT_VERSION",
          "CUBLASLT_REFUSE", "CUBLASLT_TAILS", "CUBLASLT_TIMES", "STREAMS",
          "GPUS"})
      unsetenv((std::string("TENON_EMULATED_CUDA_") + name).c_str());
    for (auto &[name, value] : settings)
      setenv(("TENON_EMULATED_CUDA_" + name).c_str(), value.c_str(), 1);
    tenonEmulatedCudaReset();
    EXPECT_EQ(cuInit(0), CUDA_SUCCESS);
    CUcontext context;
    EXPECT_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
  }
  ~Device() { tenonEmulatedCudaReset(); }

  /// Of the only kernel `k` of the text; null, with the error's text, if it is
  /// refused.
  CUfunction load(const std::string &ptx) {
    CUmodule module;
    CUfunction function = nullptr;
    if (cuModuleLoadData(&module, ptx.c_str()) == CUDA_SUCCESS)
      EXPECT_EQ(cuModuleGetFunction(&function, module, "k"), CUDA_SUCCESS);
    return function;
  }

  template <typename T>
  CUdeviceptr upload(const std::vector<T> &values) {
    CUdeviceptr address = allocate(values.size() * sizeof(T));
    EXPECT_EQ(cuMemcpyHtoDAsync_v2(address, values.data(),
                                   values.size() * sizeof(T), nullptr),
              CUDA_SUCCESS);
    return address;
  }
  CUdeviceptr allocate(size_t bytes) {
    CUdeviceptr address = 0;
    EXPECT_EQ(cuMemAlloc_v2(&address, bytes), CUDA_SUCCESS);
    return address;
  }
  template <typename T>
  std::vector<T> download(CUdeviceptr address, size_t count) {
    std::vector<T> values(count);
    EXPECT_EQ(cuMemcpyDtoHAsync_v2(values.data(), address, count * sizeof(T),
                                   nullptr),
              CUDA_SUCCESS);
    return values;
  }

  /// Launches and waits; returns what the wait returns.
  CUresult run(CUfunction function, unsigned blocks, unsigned threads,
               std::vector<CUdeviceptr> parameters, unsigned sharedBytes = 0) {
    std::vector<void *> pointers;
    for (CUdeviceptr &parameter : parameters)
      pointers.push_back(&parameter);
    if (CUresult refused =
            cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, sharedBytes,
                           nullptr, pointers.data(), nullptr))
      return refused;
    return cuStreamSynchronize(nullptr);
  }
};

inline std::string readFile(const std::string &name) {
  std::ifstream file(std::string(TENON_TEST_DATA) + "/" + name);
  EXPECT_TRUE(file) << name;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// A kernel with pointers `p0`, `p1`, ... in %rd0, %rd1, ..., the thread's
/// index in the block in %r0, 8 times it in %rd31, and in %rd10 to %rd13 the
/// pointers moved by that.
inline std::string kernel(const std::string &body,
                          const std::string &variables = "",
                          unsigned target = 90) {
  return ".version 8.0\n.target sm_" + std::to_string(target) +
         "\n.address_size 64\n"
         ".visible .entry k(.param .u64 p0, .param .u64 p1, .param .u64 p2, "
         ".param .u64 p3)\n{\n"
         ".reg .pred %p<10>; .reg .b16 %rs<20>; .reg .b32 %r<60>; .reg .b64 "
         "%rd<40>;\n" +
         variables +
         "ld.param.b64 %rd0, [p0];\nld.param.b64 %rd1, [p1];\nld.param.b64 "
         "%rd2, [p2];\n"
         "ld.param.b64 %rd3, [p3];\nmov.u32 %r0, %tid.x;\nmul.wide.u32 %rd31, "
         "%r0, 8;\n"
         "add.s64 %rd10, %rd0, %rd31;\nadd.s64 %rd11, %rd1, %rd31;\n"
         "add.s64 %rd12, %rd2, %rd31;\nadd.s64 %rd13, %rd3, %rd31;\n" +
         body + "\nret;\n}\n";
}

} // namespace tenon::test

#endif // TENON_TEST_UNIT_EMULATEDCUDA_DEVICE_H
