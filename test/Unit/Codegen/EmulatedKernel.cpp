//===- EmulatedKernel.cpp - A kernel's PTX on the emulated driver ---------===//
//
// See EmulatedKernel.h.
//
//===----------------------------------------------------------------------===//

#include "EmulatedKernel.h"

#include "llvm/ADT/STLExtras.h"

#include <cstdlib>
#include <gtest/gtest.h>

using namespace tenon::codegen;

static void addTo(TenonEmulatedCounters &sum,
                  const TenonEmulatedCounters &more) {
  sum.launches += more.launches;
  sum.laneInstructions += more.laneInstructions;
  sum.globalSectors += more.globalSectors;
  sum.globalBytes += more.globalBytes;
  sum.globalWideBytes += more.globalWideBytes;
  sum.sharedBankConflicts += more.sharedBankConflicts;
  sum.tensorInstructions += more.tensorInstructions;
}

EmulatedRun runEmulated(const PtxModule &ptx, const std::vector<Bytes> &values,
                        size_t operands, const EmulatedSettings &settings) {
  setenv("TENON_EMULATED_CUDA_ORDER", settings.order, 1);
  setenv("TENON_EMULATED_CUDA_SM", settings.capability, 1);
  setenv("TENON_EMULATED_CUDA_COPIES", settings.copies, 1);
  tenonEmulatedCudaReset();
  EmulatedRun run;
  CUcontext device;
  CUmodule loaded;
  EXPECT_EQ(cuInit(0), CUDA_SUCCESS);
  EXPECT_EQ(cuDevicePrimaryCtxRetain(&device, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSetCurrent(device), CUDA_SUCCESS);
  if (cuModuleLoadData(&loaded, ptx.text.c_str()) != CUDA_SUCCESS) {
    run.error = tenonEmulatedCudaError();
    return run;
  }
  std::vector<CUdeviceptr> addresses(values.size());
  std::vector<void *> pointers;
  for (auto [index, bytes] : llvm::enumerate(values)) {
    EXPECT_EQ(
        cuMemAlloc_v2(&addresses[index], std::max<size_t>(bytes.size(), 1)),
        CUDA_SUCCESS);
    // What the kernel has to write is never written before.
    if (index < operands)
      EXPECT_EQ(cuMemcpyHtoDAsync_v2(addresses[index], bytes.data(),
                                     bytes.size(), nullptr),
                CUDA_SUCCESS);
    pointers.push_back(&addresses[index]);
  }
  const PtxKernel *kernel = &ptx.kernels.front();
  CUdeviceptr scratch = 0;
  if (kernel->scratchBytes) {
    EXPECT_EQ(cuMemAlloc_v2(&scratch, size_t(kernel->scratchBytes)),
              CUDA_SUCCESS);
    pointers.push_back(&scratch);
  }
  std::vector<CUfunction> launched;
  while (kernel) {
    CUfunction &function = launched.emplace_back();
    EXPECT_EQ(cuModuleGetFunction(&function, loaded, kernel->symbol.c_str()),
              CUDA_SUCCESS);
    // An error of a launch before is one of all that follow.
    CUresult result = cuLaunchKernel(function, unsigned(kernel->blocks), 1, 1,
                                     unsigned(kernel->threads), 1, 1, 0,
                                     nullptr, pointers.data(), nullptr);
    EXPECT_TRUE(result == CUDA_SUCCESS || launched.size() > 1);
    auto next = llvm::find_if(ptx.kernels, [&](const PtxKernel &other) {
      return other.symbol == kernel->followedBy;
    });
    kernel = next == ptx.kernels.end() ? nullptr : &*next;
  }
  std::vector<Bytes> results;
  for (auto [index, bytes] : llvm::enumerate(values)) {
    results.emplace_back(bytes.size());
    if (cuMemcpyDtoHAsync_v2(results.back().data(), addresses[index],
                             bytes.size(), nullptr) != CUDA_SUCCESS ||
        cuStreamSynchronize(nullptr) != CUDA_SUCCESS) {
      run.error = tenonEmulatedCudaError();
      return run;
    }
  }
  for (CUfunction function : launched) {
    TenonEmulatedCounters counters{};
    EXPECT_EQ(tenonEmulatedCudaCounters(function, &counters), CUDA_SUCCESS);
    addTo(run.counters, counters);
  }
  run.values = std::move(results);
  return run;
}
